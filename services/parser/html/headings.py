"""What a document sets off from its other words: headings, and what only looks like some.

Pages were made of font sizes, bold type and centring long before style sheets, and for a search
engine such a line means what an `h1` does (Castillo, *Practical issues of crawling large Web
collections*, 6.2). How much it weighs is read off the sizes that the HTML standard gives headings.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.events import Heading
from gossamer.text.folding import fold_whitespace

MAX_HEADINGS = 100
MAX_CANDIDATES = 500
"""Elements that are looked at."""
MAX_HEADING_LENGTH = 200
"""Characters of a heading. What is longer is no heading, whatever it looks like."""
MAX_CHARACTERS = 200_000
"""Characters of all elements that are looked at together: they may be within each other."""
MAX_STEPS = 20
"""How far is looked for the end of a line."""

LOGICAL_WEIGHTS = {**{f"h{level}": 7 - level for level in range(1, 7)}, "em": 1}
PHYSICAL_SELECTORS = ("b", "strong", "big", "font[size]", "center", "[align]", "[style*=font-]")
SELECTOR = ", ".join([*LOGICAL_WEIGHTS, *PHYSICAL_SELECTORS])
INLINE_ELEMENTS = frozenset(
    ["a", "b", "big", "em", "font", "i", "small", "span", "strong", "tt", "u"]
)
PARAGRAPH_ELEMENTS = frozenset({"article", "body", "center", "div", "p", "section"})
"""Where a line in bold type is a heading: in lists and tables it is a label."""
WEIGHT_BY_SIZE = ((2.0, 6), (1.5, 5), (1.12, 4))
"""HTML standard, 15.3.6: an h1 has twice the size of the text, an h2 one and a half times, an h3
nearly as much as the next size of the font element."""
FONT_SIZES = {4: 1.125, 5: 1.5, 6: 2.0, 7: 3.0}
"""The same, 15.3.4 and CSS Fonts: how large the sizes of a font element are."""
UNITS_PER_EM = {"px": 16.0, "pt": 12.0, "em": 1.0, "rem": 1.0, "%": 100.0}
"""How many of a unit are the size of the text."""
NAMED_SIZES = {"large": 1.2, "larger": 1.2, "x-large": 1.5, "xx-large": 2.0}

_size = re.compile(r"font-size\s*:\s*(?:(\d{1,4}(?:\.\d{1,9})?)(px|pt|em|rem|%)|([a-z-]+))", re.I)
_bold = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)", re.I)
_centred = re.compile(r"text-align\s*:\s*center", re.I)


class Look(NamedTuple):
    """How an element looks beside the text around it."""

    size: float = 1.0
    bold: bool = False
    centred: bool = False

    def and_(self, other: "Look") -> "Look":
        """Return the look of what is in both."""
        return Look(
            max(self.size, other.size), self.bold or other.bold, self.centred or other.centred
        )


class Candidate(NamedTuple):
    """A candidate."""

    text: str
    weight: int
    """Of what says what it is, else 0."""
    look: Look
    place: str
    """The element in which it is alone on its line, or ""."""


def find_headings(tree: LexborHTMLParser, physical: bool) -> tuple[Heading, ...]:
    """Return the headings of a document, and what it emphasises; the *physical* ones if wanted."""
    made = (_make_heading(found) for found in _merge_nested(_find_candidates(tree)))
    wanted = (one for one in made if one and (physical or not one.physical))
    return tuple(islice(wanted, MAX_HEADINGS))


def _find_candidates(tree: LexborHTMLParser) -> Iterator[Candidate]:
    left = MAX_CHARACTERS
    for node in islice(tree.css(SELECTOR), MAX_CANDIDATES):
        text = node.text()
        left -= len(text)
        if left < 0:
            return
        words = fold_whitespace(text)
        if 0 < len(words) <= MAX_HEADING_LENGTH:
            weight = LOGICAL_WEIGHTS.get(node.tag or "", 0)
            yield Candidate(words, weight, _read_look(node), "" if weight else _line_element(node))


def _merge_nested(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield one for those that are within each other: the same words."""
    last: Candidate | None = None
    for found in candidates:
        if last and last.text == found.text:
            weight, place = max(last.weight, found.weight), last.place or found.place
            last = Candidate(last.text, weight, last.look.and_(found.look), place)
            continue
        if last:
            yield last
        last = found
    if last:
        yield last


def _make_heading(found: Candidate) -> Heading | None:
    if not any(map(str.isalnum, found.text)):
        return None
    if found.weight:
        return Heading(found.text, found.weight)
    size, bold, centred = found.look
    weight = next((weight for least, weight in WEIGHT_BY_SIZE if size >= least), 0)
    if found.place and (weight or (bold and found.place in PARAGRAPH_ELEMENTS)):
        return Heading(found.text, min((weight or 3) + centred, 6), physical=True)
    return Heading(found.text, 1) if bold or weight else None


def _read_look(node: LexborNode) -> Look:
    attributes, tag = node.attributes, node.tag
    style = attributes.get("style") or ""
    size = max(
        _font_size(attributes.get("size") or "") if tag == "font" else 1.0, _style_size(style)
    )
    bold = tag in ("b", "strong") or bool(_bold.search(style))
    align = (attributes.get("align") or "").lower()
    centred = tag == "center" or align == "center" or bool(_centred.search(style))
    return Look(1.2 if tag == "big" else size, bold, centred)


def _font_size(size: str) -> float:
    found = re.fullmatch(r"\s*([+-]?)(\d)\s*", size)
    if not found or found[1] == "-":
        return 1.0
    number = int(found[2]) + (3 if found[1] else 0)
    return FONT_SIZES.get(min(number, 7), 1.0)


def _style_size(style: str) -> float:
    found = _size.search(style)
    if not found:
        return 1.0
    number, measure, name = found.groups()
    return (
        float(number) / UNITS_PER_EM[measure.lower()]
        if number
        else NAMED_SIZES.get(name.lower(), 1.0)
    )


def _line_element(node: LexborNode) -> str:
    """Return the element on whose line there is nothing but *node*; "" if there is more."""
    at = None if node.css_first("a") else node
    for _ in range(MAX_STEPS):
        if at is None or at.tag not in INLINE_ELEMENTS:
            return (at.tag or "") if at else ""
        if at.tag == "a":
            # Bold in menus; and nothing is a heading that leads somewhere else.
            return ""
        if any(
            _shares_a_line(one)
            for one in (_find_neighbour(at, "prev"), _find_neighbour(at, "next"))
        ):
            return ""
        at = at.parent
    return ""


def _find_neighbour(node: LexborNode, direction: str) -> LexborNode | None:
    """Return what stands before or after *node*, but for white space and comments."""
    at: LexborNode | None = getattr(node, direction)
    for _ in range(MAX_STEPS):
        if at is None or not _is_blank(at):
            break
        at = getattr(at, direction)
    return at


def _is_blank(node: LexborNode) -> bool:
    return node.is_comment_node or (node.is_text_node and not (node.text_content or "").strip())


def _shares_a_line(node: LexborNode | None) -> bool:
    return node is not None and (node.is_text_node or node.tag in INLINE_ELEMENTS)
