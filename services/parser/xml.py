"""XML from the Web, without entities, external documents or deep trees.

libxml2 repairs errors (`recover`), and stops at 256 nested elements and 10 MB of text in one node.
Entities are never expanded, whether they are internal or external.
"""

from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from typing import Any, TypeAlias

from lxml import etree

from gossamer.events import PageParsed
from services.parser.received import ReceivedDocument

SAFE_OPTIONS: dict[str, Any] = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": False,
    "encoding": "utf-8",
}
PROLOG_SIZE = 1 << 16
"""Bytes in which the root element must begin."""

Element: TypeAlias = Any


def decode_to_utf_8(received: ReceivedDocument) -> tuple[PageParsed, bytes]:
    """Return the result with the encoding, and the body in UTF-8 without leading white space."""
    parsed, decoded = received.decode(is_html=True)
    return parsed, decoded.text.lstrip("\ufeff \t\r\n").encode(errors="replace")


def root_name(body: bytes) -> str:
    """Return the local name of the root element of *body*; "" if there is none."""
    for element in _iterate_events(body[:PROLOG_SIZE], events=("start",)):
        return local_name(element)
    return ""


def iterate_elements(body: bytes, *names: str) -> Iterator[Element]:
    """Yield each element with one of the local *names*, and clear it afterwards."""
    tags = ["{*}" + name for name in names]
    for element in _iterate_events(body, events=("end",), tag=tags):
        yield element
        element.clear(keep_tail=False)


def _iterate_events(body: bytes, **selection: Any) -> Iterator[Element]:
    try:
        for _, element in etree.iterparse(BytesIO(body), recover=True, **SAFE_OPTIONS, **selection):
            yield element
    except etree.LxmlError:
        return  # The document, or the rest of it, is not XML.


def local_name(element: Element) -> str:
    """Return the local name of *element*; "" for a comment or a processing instruction."""
    return _strip_namespace(element.tag)


@lru_cache(maxsize=1000)
def _strip_namespace(tag: object) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2] if isinstance(tag, str) else ""


def text_of(element: Element) -> str:
    """Return the text in *element*, stripped."""
    if not len(element):
        return (element.text or "").strip()
    return "".join(map(str, element.itertext())).strip()


def child_texts(element: Element) -> dict[str, str]:
    """Return the text of each child of *element* by local name; the first text of a name wins."""
    texts = dict[str, str]()
    for child in element:
        if (name := local_name(child)) and not texts.get(name):
            texts[name] = text_of(child)
    return texts


def first_text(element: Element, *names: str) -> str:
    """Return the text of the child of *element* with the first of *names*; "" if there is none."""
    texts = child_texts(element)
    return next((texts[name] for name in names if texts.get(name)), "")


def children(element: Element, name: str) -> Iterator[Element]:
    """Yield the children of *element* with a local name."""
    return (child for child in element if local_name(child) == name)
