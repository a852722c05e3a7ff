"""The elements of a document that more than its text is read from, found in one pass.

A shadow tree that the markup declares is shown in place of its host's own content, so what is in it
is read like the rest: it takes the place of its template. Of the other templates a reader sees
nothing.
"""

from collections.abc import Iterator
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from services.parser.positions import positions

Attributes = dict[str, str | None]

SELECTOR = (
    "a, area, base, link, meta, iframe, frame, object, embed, form, img, source, video, audio, "
    "script, time, template[shadowrootmode], [onclick], [onchange], [onsubmit], [onmousedown], "
    "[data-nosnippet], title"
)
NESTED = 8
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
        found = _found(tree)
        for _ in range(NESTED):
            if not _shown(found):
                break
            found = _found(tree)
        self.every = found
        self._positions = positions(tree)
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


def _found(tree: LexborHTMLParser) -> list[Element]:
    return [Element(node.tag or "", node.attributes, node) for node in tree.css(SELECTOR)]


def _shown(found: list[Element]) -> bool:
    """Put the shadow trees that are *found* in the place of their templates; say if any was."""
    templates = [element.node for element in found if element.tag == "template"]
    for template in templates:
        for fragment in template.template_fragments()[:1]:
            for child in list(fragment.iter(include_text=True)):
                template.insert_before(child, move=True)
        template.decompose()
    return bool(templates)
