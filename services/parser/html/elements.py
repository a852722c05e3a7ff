"""The elements of a document that more than its text is read from, found in one pass.

A shadow tree that the markup declares is shown in place of its host's own content, so what is in it
is read like the rest: it takes the place of its template. Of the other templates a reader sees
nothing.


In which part of a page its links stand, as far as the page's elements say so.

A link in the text says more of what it leads to than one of a menu, which all pages of a site have.
HTML has elements for these parts (HTML standard, 4.3). To look at them takes 0.2 ms a page; roles
of ARIA would take half as much again, and say so on few pages that have no such elements.
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.events.pages import Position

Attributes = dict[str, str | None]

SELECTOR = (
    "a, area, base, link, meta, iframe, frame, object, embed, form, img, source, video, audio, "
    "script, time, template[shadowrootmode], [onclick], [onchange], [onsubmit], [onmousedown], "
    "[data-nosnippet], title"
)
MAX_SHADOW_DEPTH = 8
"""How deep shadow trees are looked for in each other."""


class Element(NamedTuple):
    """An element with its attributes, whose names are in lower case."""

    tag: str
    attributes: Attributes
    node: LexborNode

    def get(self, name: str) -> str:
        """Return the value of an attribute; "" if it has none."""
        return self.attributes.get(name) or ""

    def tokens(self, name: str) -> list[str]:
        """Return the words of an attribute, in lower case."""
        value = self.attributes.get(name)
        return value.lower().split() if value else []


class Elements:
    """The elements of a document, in its order."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        found = _find_elements(tree)
        for _ in range(MAX_SHADOW_DEPTH):
            if not _expand_shadow_trees(found):
                break
            found = _find_elements(tree)
        self.every = found
        self._positions = find_positions(tree)
        self._by_tag: dict[str, list[Element]] = {}
        for element in found:
            self._by_tag.setdefault(element.tag, []).append(element)

    def position_of(self, element: Element) -> str:
        """Return in which part of the document *element*, a link, stands; "" if nothing says so."""
        return self._positions.get(element.node.mem_id, "") if self._positions else ""

    def of(self, *tags: str) -> Iterator[Element]:
        """Yield the elements of the first of *tags*, then those of the next."""
        for tag in tags:
            yield from self._by_tag.get(tag, ())


def _find_elements(tree: LexborHTMLParser) -> list[Element]:
    return [Element(node.tag or "", node.attributes, node) for node in tree.css(SELECTOR)]


def _expand_shadow_trees(found: list[Element]) -> bool:
    """Put the shadow trees that are *found* in the place of their templates; say if any was."""
    templates = [element.node for element in found if element.tag == "template"]
    for template in templates:
        for fragment in template.template_fragments()[:1]:
            for child in list(fragment.iter(include_text=True)):
                template.insert_before(child, move=True)
        template.decompose()
    return bool(templates)


POSITION_BY_PART = {
    "main": Position.MAIN,
    "article": Position.MAIN,
    "nav": Position.NAVIGATION,
    "aside": Position.ASIDE,
    "header": Position.HEADER,
    "footer": Position.FOOTER,
}
PAGE_ENDS = (Position.HEADER, Position.FOOTER)
"""Other parts have such ends, too: within those they say nothing of the page."""
MAX_PARTS = 50
"""Parts that are looked at."""
MAX_LINKS = 20_000
"""Links that are looked at, each for every part around it."""


def find_positions(tree: LexborHTMLParser) -> dict[int, str]:
    """Return the positions of links by the addresses of their nodes: the innermost part counts."""
    found: dict[int, str] = {}
    looked_at = 0
    for part in islice(tree.css(",".join(POSITION_BY_PART)), MAX_PARTS):
        position = POSITION_BY_PART[part.tag or ""]
        links = [node.mem_id for node in part.css("a, area")]
        looked_at += len(links)
        if position in PAGE_ENDS:
            links = [link for link in links if link not in found]
        found.update(dict.fromkeys(links, position.value))
        if looked_at > MAX_LINKS:
            break
    return found
