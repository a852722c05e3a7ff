"""XML from the Web: read as far as it goes, without entities, external documents or deep trees.

libxml2 repairs what it can (`recover`), and stops at 256 nested elements and 10 MB of text in one
place. What an entity stands for is never looked up, neither inside the document nor outside.
"""

from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from typing import Any, TypeAlias

from lxml import etree

from gossamer.events import PageParsed
from services.parser.readers.base import ReceivedDocument

SAFE_OPTIONS: dict[str, Any] = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": False,
    "encoding": "utf-8",
}
PROLOG_SIZE = 1 << 16
"""Bytes in which the first element must begin."""

Element: TypeAlias = Any


def decode_to_utf_8(received: ReceivedDocument) -> tuple[PageParsed, bytes]:
    """Return what is known with the encoding, and the body in UTF-8, without blanks before it."""
    parsed, found = received.decoded(is_html=True)
    return parsed, found.text.lstrip("\ufeff \t\r\n").encode(errors="replace")


def root_name(body: bytes) -> str:
    """Return the local name of the outermost element of *body*; "" if there is none."""
    for element in _iterate_events(body[:PROLOG_SIZE], events=("start",)):
        return local_name(element)
    return ""


def iterate_elements(body: bytes, *names: str) -> Iterator[Element]:
    """Yield the elements with these local names, each whole, and forget them one by one."""
    for element in _iterate_events(body, events=("end",), tag=["{*}" + name for name in names]):
        yield element
        element.clear(keep_tail=False)


def _iterate_events(body: bytes, **wanted: Any) -> Iterator[Element]:
    try:
        for _, element in etree.iterparse(BytesIO(body), recover=True, **SAFE_OPTIONS, **wanted):
            yield element
    except etree.LxmlError:
        return  # Nothing of it is XML, or nothing from here on.


def local_name(element: Element) -> str:
    """Return the local name of *element*; "" if it is a comment or the like."""
    return _strip_namespace(element.tag)


@lru_cache(maxsize=1000)
def _strip_namespace(tag: object) -> str:
    return tag.rpartition("}")[2].rpartition(":")[2] if isinstance(tag, str) else ""


def text_of(element: Element) -> str:
    """Return the text in *element*, without blanks around it."""
    if not len(element):
        return (element.text or "").strip()
    return "".join(map(str, element.itertext())).strip()


def child_texts(element: Element) -> dict[str, str]:
    """Return the texts of the children of *element* by their local names; of several the first."""
    found = dict[str, str]()
    for one in element:
        if (name := local_name(one)) and not found.get(name):
            found[name] = text_of(one)
    return found


def first_text(element: Element, *names: str) -> str:
    """Return the text of the first of *names* that a child of *element* has; "" if none has."""
    found = child_texts(element)
    return next((found[name] for name in names if found.get(name)), "")


def children(element: Element, name: str) -> Iterator[Element]:
    """Yield the children of *element* with a local name."""
    return (one for one in element if local_name(one) == name)
