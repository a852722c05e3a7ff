"""XML from the Web, without nested entities, external documents or deep trees.

Errors are repaired before libxml2 reads a document (`gossamer.web.markup`), because libxml2's own
repairs change URLs. It stops at 256 nested elements and 10 MB of text in one node. A document type
is dropped before: libxml2 expands no entity, and the repair only those that are a short text.

Names of elements and attributes are compared in lower case and without their namespaces and
prefixes, which are often wrong.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from typing import Any, TypeAlias

from lxml import etree

from gossamer.events import PageParsed
from gossamer.services.parser.charset import CharsetSource
from gossamer.services.parser.received import ReceivedDocument
from gossamer.text.blocks import word_set
from gossamer.web.http import decode_urls
from gossamer.web.markup import REPLACEMENT, Markup, repair_markup, without_hidden

SAFE_OPTIONS: dict[str, Any] = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": False,
    "encoding": "utf-8",
}

_url = re.compile(
    rb"""https?://[^\s<>"']+|\bhref\s*=\s*(?:"[^"<>]*|'[^'<>]*)|<(?:loc|link|guid)\s*>[^<>]*""",
    re.IGNORECASE,
)
FOLLOWING_NAMES = word_set("""
    url loc lastmod changefreq priority sitemap channel item entry link title description guid
    id pubdate date published updated author category content summary source comments
""")
"""Names of elements that may follow the URL of an entry."""

Element: TypeAlias = Any


class XmlDocument(Markup):
    """A repaired document."""

    def without_torn_entry(self, *names: str) -> "XmlDocument":
        """Return the document up to the end of its last whole element with one of *names*.

        A document with the end of its root is returned as it is. One that has no such element ends
        behind its last tag.
        """
        seen = without_hidden(self.text)
        root = rf"</(?:[^\s/<>:]*:)?{re.escape(self.root)}\s*>|\A<[^<>]*/>\s*\Z"
        if re.search(root, seen):
            return self
        ends = [*re.finditer(rf"</(?:[^\s/<>:]*:)?(?:{'|'.join(names)})\s*>", seen)]
        end = ends[-1].end() if ends else seen.rfind(">") + 1
        return self._replace(text=self.text[:end], is_repaired=True)

    def iterate_elements(self, *names: str) -> Iterator[Element]:
        """Yield each element with one of the local *names*, and clear it afterwards."""
        # A further root element is read, too, because the first one has siblings here.
        source = BytesIO(f"<roots>{self.text}</roots>".encode(errors="replace"))
        try:
            for _, element in etree.iterparse(source, recover=True, **SAFE_OPTIONS):
                if local_name(element) in names:
                    yield element
                    element.clear(keep_tail=False)
        except etree.LxmlError:
            return  # The document, or the rest of it, is not XML.

    def tree(self) -> Element | None:
        """Return the root element; None if the document is not XML."""
        parser = etree.XMLParser(recover=True, **SAFE_OPTIONS)
        return etree.fromstring(self.text.encode(errors="replace"), parser) if self.text else None


def decode_markup(received: ReceivedDocument) -> tuple[PageParsed, str]:
    """Return the result with the encoding, and the decoded text without leading white space.

    XML is UTF-8 unless it declares another encoding (XML 1.0, 4.3.3). Other octets in its URLs are
    those of a file's name, and stay as they are, percent-encoded.
    """
    parsed, decoded = received.decode(is_html=True)
    is_undeclared = decoded.source in (CharsetSource.GUESS, CharsetSource.DEFAULT)
    if is_undeclared or (decoded.encoding == "utf-8" and REPLACEMENT in decoded.text):
        body = _url.sub(lambda url: decode_urls(url[0]).encode(), received.body)
        parsed, decoded = received._replace(body=body).decode(is_html=True)
    return parsed, decoded.text.lstrip("\ufeff \t\r\n")


def read_document(text: str) -> XmlDocument:
    """Return the document in *text*, repaired."""
    return XmlDocument(*repair_markup(text))


def local_name(element: Element) -> str:
    """Return the local name of *element*; "" for a comment or a processing instruction."""
    return strip_namespace(element.tag)


@lru_cache(maxsize=1000)
def strip_namespace(tag: object) -> str:
    """Return the local name in a *tag* or the name of an attribute; "" if it is not a text."""
    return tag.rpartition("}")[2].rpartition(":")[2].lower() if isinstance(tag, str) else ""


def prefix_of(element: Element) -> str:
    """Return the namespace of *element*, or its prefix if that is not declared."""
    tag = element.tag if isinstance(element.tag, str) else ""
    return tag[: -len(local_name(element))] if tag else ""


def attribute(element: Element, name: str) -> str:
    """Return the value of the attribute of *element* with a local *name*; "" if there is none."""
    found = (value for key, value in element.items() if strip_namespace(key) == name)
    return str(next(found, "")).strip()


def text_of(element: Element) -> str:
    """Return the text in *element*, stripped."""
    if not len(element):
        return (element.text or "").strip()
    return "".join(map(str, element.itertext())).strip()


def target_of(element: Element) -> str:
    """Return the URL that is the text of *element*; U+FFFD if elements divide the text.

    An element without its end contains the elements that follow it: its own text is the URL. Text
    behind an element may be the rest of a URL that a stray tag has divided.
    """
    if (element.tail or "").strip():
        return REPLACEMENT
    names = {local_name(child) for child in element if isinstance(child.tag, str)}
    own = "".join(map(str, [element.text or "", *(child.tail or "" for child in element)])).strip()
    if not names or (own and names <= FOLLOWING_NAMES):
        return own
    pieces = list(filter(None, map(str.strip, map(str, element.itertext()))))
    return "".join(pieces) if len(pieces) < 2 and not own else REPLACEMENT


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
