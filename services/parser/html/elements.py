"""The elements of a document with links or metadata, found in one pass, and the way from an element
to others."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain, islice
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.events.pages import LinkPosition
from gossamer.text.blocks import words_of

Attributes = dict[str, str | None]

CARD_SELECTOR = ".author.vcard .fn, .p-author"
"""Elements with the name of an author (microformats)."""
SELECTOR = (
    "a, area, base, link, meta, iframe, frame, object, embed, form, img, source, video, audio, "
    "track, script, time, [onclick], [onchange], [onsubmit], [onmousedown], "
    f"[data-nosnippet], title, abbr.published, abbr.updated, {CARD_SELECTOR}, "
    "[itemprop], [itemtype], [property]"
)
"""Each part is tested at each element, so one part for all properties is faster than one each."""
LAZY_BACKGROUNDS = words_of("""
    data-bg data-bg-hidpi data-bg-multi data-bg-image data-background data-background-image
    data-lazy-background
""")
"""Attributes from which scripts take the URL of a background."""
STYLED_SELECTOR = ", ".join(
    (
        SELECTOR,
        "input[type=image], svg image, use, amp-img, style, [style], [background]",
        "[data-src], [data-original], [data-srcset], [data-bgset]",
        *(f"[{name}]" for name in LAZY_BACKGROUNDS),
    )
)
"""Selects the elements with requisites, too."""
POSITION_BY_PART = {
    "main": LinkPosition.MAIN,
    "article": LinkPosition.MAIN,
    "nav": LinkPosition.NAVIGATION,
    "aside": LinkPosition.ASIDE,
    "header": LinkPosition.HEADER,
    "footer": LinkPosition.FOOTER,
}
PAGE_ENDS = (LinkPosition.HEADER, LinkPosition.FOOTER)
"""Positions that count only outside other parts: an article may have a header of its own."""
MAX_PARTS = 50
"""Most parts of a page that are searched for links."""
MAX_LINKS = 20_000
"""Most links that are found in parts. A link in nested parts counts once per part."""


class Element(NamedTuple):
    """An element with its attributes, whose names are in lower case."""

    tag: str
    attributes: Attributes
    node: LexborNode

    def get(self, name: str) -> str:
        """Return the value of an attribute; "" if it has none."""
        return self.attributes.get(name) or ""

    @property
    def properties(self) -> list[str]:
        """The properties of microdata and RDFa that it has the value of, without prefixes."""
        named = self.get("property").split() if self.tag != "meta" else ()
        return [*self.get("itemprop").split(), *(name.rpartition(":")[2] for name in named)]

    @property
    def relations(self) -> list[str]:
        """The words of `rel`, in lower case."""
        # Most elements have none, and a page has hundreds.
        stated = self.attributes.get("rel")
        return stated.lower().split() if stated else []


class Elements:
    """The elements of a document, in document order."""

    def __init__(self, tree: LexborHTMLParser, requisites: bool = False) -> None:
        """*requisites*: whether elements with requisites only are included."""
        selector = STYLED_SELECTOR if requisites else SELECTOR
        elements = _find_elements(tree, selector)
        self.all = elements
        self.names = frozenset[str]().union(*[element.attributes for element in elements])
        """The names of all attributes."""
        self.items = [
            element
            for element in elements
            if "itemprop" in element.attributes
            or ("property" in element.attributes and element.tag != "meta")
        ]
        """The elements with a property of microdata or RDFa."""
        self._positions = find_positions(tree)
        self._by_tag = defaultdict[str, list[Element]](list)
        for element in elements:
            self._by_tag[element.tag].append(element)

    def position_of(self, element: Element) -> str:
        """Return the position of *element*, a link, on the page; "" if the markup has none."""
        return self._positions.get(element.node.mem_id, "") if self._positions else ""

    def of(self, *tags: str) -> Iterator[Element]:
        """Return the elements of the first of *tags*, then those of the next."""
        return chain.from_iterable(self._by_tag.get(tag, ()) for tag in tags)


def ancestors(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the elements around *node*, the inner ones first. A page may nest any number."""
    at = node.parent
    while at is not None and at.is_element_node:
        yield at
        at = at.parent


def next_element(node: LexborNode) -> LexborNode | None:
    """Return the element behind *node*; None if it is the last one."""
    at = node.next
    while at is not None and not at.is_element_node:
        at = at.next
    return at


def classes_of(node: LexborNode) -> list[str]:
    """Return the classes of *node*."""
    return (node.attributes.get("class") or "").split()


def _find_elements(tree: LexborHTMLParser, selector: str) -> list[Element]:
    # An element that several parts of the selector match is found several times.
    nodes = {node.mem_id: node for node in tree.css(selector)}
    return [Element(node.tag or "", node.attributes, node) for node in nodes.values()]


def find_positions(tree: LexborHTMLParser) -> dict[int, str]:
    """Return the positions of links by the address of their node; the innermost part counts.

    A link in the text describes its target better than a link in the site's menu. HTML has elements
    for these parts (HTML standard, 4.3). Reading them takes 0.2 ms per page. ARIA roles would add
    half of that, and few pages have roles but not these elements.
    """
    positions: dict[int, str] = {}
    link_count = 0
    for part in islice(tree.css(",".join(POSITION_BY_PART)), MAX_PARTS):
        position = POSITION_BY_PART[part.tag or ""]
        links = [node.mem_id for node in part.css("a, area")]
        link_count += len(links)
        if position in PAGE_ENDS:
            links = [link for link in links if link not in positions]
        positions.update(dict.fromkeys(links, position.value))
        if link_count > MAX_LINKS:
            break
    return positions
