"""Headings of a document, and text that only looks like a heading.

Pages were made of font sizes, bold type and centring long before style sheets, and search engines
treat such a line like an `h1` (Castillo, *Practical issues of crawling large Web collections*,
6.2). Its weight follows from the sizes that the HTML standard gives headings.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from gossamer.events import Heading
from gossamer.services.parser.html.elements import classes_of
from gossamer.text.blocks import fold_whitespace, letters_of, word_set

MAX_HEADINGS = 100
MAX_LINKS = 20_000
"""Most links of headings that are examined. A link in nested headings counts once for each."""
MAX_CANDIDATES = 500
"""Most elements that are examined."""
MAX_HEADING_LENGTH = 200
"""Most characters of a heading: longer text is never a heading."""
MAX_CHARACTERS = 200_000
"""Most characters of all candidates together. Candidates may be nested."""
MAX_STEPS = 20
"""Most nodes that are visited to find the ends of a line."""
PERMALINK_CLASSES = word_set("""
    anchor anchor-link anchorjs-link direct-link hash-link header-anchor header headerlink
    heading-anchor heading-link headline-anchor permalink Documentation-idLink detail-link
    doc-anchor plugin-anchor sl-anchor-link subheading-anchor td-heading-self-link
    tsd-anchor-icon
""")
"""Classes of links of headings to themselves."""
HEADING_SELECTOR = (
    "h1, h2, h3, h4, h5, h6, dt, caption, figcaption, summary, .rubric, .code-block-caption, "
    ".sl-heading-wrapper"
)
"""Elements that may have a link to themselves."""
TOOLS_SELECTOR = (
    ".mw-editsection, .viewcode-link, summary > a.src, summary > section > a.src, "
    ".mw-cite-backlink, a.footnote-backref, a.footnote-back, a.reversefootnote, "
    "a[data-footnote-backref], a[role=doc-backlink]"
)
"""Links in headings to other views of the page, and back from footnotes: of MediaWiki, Sphinx,
rustdoc, Markdown in Python, PHP and JavaScript, and pandoc."""

LOGICAL_WEIGHTS = {**{f"h{level}": 7 - level for level in range(1, 7)}, "em": 1}
PHYSICAL_SELECTORS = ("b", "strong", "big", "font[size]", "center", "[align]", "[style*=font-]")
SELECTOR = ", ".join([*LOGICAL_WEIGHTS, *PHYSICAL_SELECTORS])
INLINE_ELEMENTS = frozenset(
    ["a", "b", "big", "em", "font", "i", "small", "span", "strong", "tt", "u"]
)
PARAGRAPH_ELEMENTS = frozenset({"article", "body", "center", "div", "p", "section"})
"""Elements in which a line of bold type is a heading. In lists and tables it is a label."""
WEIGHT_BY_SIZE = ((2.0, 6), (1.5, 5), (1.12, 4))
"""Least size relative to the text, and the weight of the heading. HTML standard, 15.3.6: an h1 has
twice the size of the text, an h2 1.5 times. An h3 has nearly the next size of a font element."""
FONT_SIZES = {4: 1.125, 5: 1.5, 6: 2.0, 7: 3.0}
"""Relative size by the size attribute of a font element (HTML standard, 15.3.4; CSS Fonts)."""
UNITS_PER_EM = {"px": 16.0, "pt": 12.0, "em": 1.0, "rem": 1.0, "%": 100.0}
"""The size of the text in each unit."""
NAMED_SIZES = {"large": 1.2, "larger": 1.2, "x-large": 1.5, "xx-large": 2.0}

_size = re.compile(r"font-size\s*:\s*(?:(\d{1,4}(?:\.\d{1,9})?)(px|pt|em|rem|%)|([a-z-]+))", re.I)
_bold = re.compile(r"font-weight\s*:\s*(?:bold|[6-9]00)", re.I)
_centred = re.compile(r"text-align\s*:\s*center", re.I)


class Look(NamedTuple):
    """The look of an element relative to the text around it."""

    size: float = 1.0
    bold: bool = False
    centred: bool = False

    def combine(self, other: "Look") -> "Look":
        """Return the look of text that is in both elements."""
        return Look(
            max(self.size, other.size), self.bold or other.bold, self.centred or other.centred
        )


class Candidate(NamedTuple):
    """An element that may be a heading."""

    text: str
    weight: int
    """The weight of a logical element such as h1; 0 for another element."""
    look: Look
    container: str
    """The element whose line contains only this text; "" if the line has other text."""


def remove_permalinks(tree: LexborHTMLParser) -> bool:
    """Remove links of headings to themselves, such as ¶, from *tree*; return whether there are any.

    The text of a link that is the whole heading is kept.
    """
    found = False
    # Few links are in headings: a search from the links up would take three times as long.
    in_headings = (link for one in tree.css(HEADING_SELECTOR) for link in one.css("a[href*='#']"))
    found_links = chain(islice(in_headings, MAX_LINKS), tree.css(TOOLS_SELECTOR))
    links = {link.mem_id: link for link in found_links}
    for link in links.values():
        classes = classes_of(link)
        if link.tag != "a" or "src" in classes:
            link.decompose()
            continue
        text = link.text()
        is_sign = not any(map(str.isalnum, text))
        is_permalink = not PERMALINK_CLASSES.isdisjoint(classes)
        found = found or is_permalink
        is_whole = link.parent is None or letters_of(link.parent.text()) == letters_of(text)
        if is_sign or (is_permalink and not is_whole):
            link.decompose()
        elif is_whole and (link.attributes.get("href") or "").startswith("#"):
            link.unwrap()
    return found


def find_headings(tree: LexborHTMLParser, physical: bool) -> tuple[Heading, ...]:
    """Return the headings and the emphasis of a document; *physical*: also lookalikes."""
    headings = (_make_heading(candidate) for candidate in _merge_nested(_find_candidates(tree)))
    selected = (heading for heading in headings if heading and (physical or not heading.physical))
    return tuple(islice(selected, MAX_HEADINGS))


def _find_candidates(tree: LexborHTMLParser) -> Iterator[Candidate]:
    characters_left = MAX_CHARACTERS
    for node in islice(tree.css(SELECTOR), MAX_CANDIDATES):
        text = node.text()
        characters_left -= len(text)
        if characters_left < 0:
            return
        words = fold_whitespace(text)
        if 0 < len(words) <= MAX_HEADING_LENGTH:
            weight = LOGICAL_WEIGHTS.get(node.tag or "", 0)
            yield Candidate(words, weight, _read_look(node), "" if weight else _line_element(node))


def _merge_nested(candidates: Iterable[Candidate]) -> Iterator[Candidate]:
    """Yield one candidate for nested elements, which have the same text."""
    last: Candidate | None = None
    for candidate in candidates:
        if last and last.text == candidate.text:
            weight = max(last.weight, candidate.weight)
            container = last.container or candidate.container
            last = Candidate(last.text, weight, last.look.combine(candidate.look), container)
            continue
        if last:
            yield last
        last = candidate
    if last:
        yield last


def _make_heading(candidate: Candidate) -> Heading | None:
    text, container = candidate.text, candidate.container
    if not any(map(str.isalnum, text)):
        return None
    if candidate.weight:
        return Heading(text, candidate.weight)
    size, bold, centred = candidate.look
    weight = next((weight for min_size, weight in WEIGHT_BY_SIZE if size >= min_size), 0)
    if container and (weight or (bold and container in PARAGRAPH_ELEMENTS)):
        return Heading(text, min((weight or 3) + centred, 6), physical=True)
    return Heading(text, 1) if bold or weight else None


def _read_look(node: LexborNode) -> Look:
    attributes, tag = node.attributes, node.tag
    style = attributes.get("style") or ""
    font_size = _font_size(attributes.get("size") or "") if tag == "font" else 1.0
    size = max(font_size, _style_size(style))
    bold = tag in ("b", "strong") or bool(_bold.search(style))
    align = (attributes.get("align") or "").lower()
    centred = tag == "center" or align == "center" or bool(_centred.search(style))
    return Look(1.2 if tag == "big" else size, bold, centred)


def _font_size(size: str) -> float:
    match = re.fullmatch(r"\s*([+-]?)(\d)\s*", size)
    if not match or match[1] == "-":
        return 1.0
    number = int(match[2]) + (3 if match[1] else 0)
    return FONT_SIZES.get(min(number, 7), 1.0)


def _style_size(style: str) -> float:
    match = _size.search(style)
    if not match:
        return 1.0
    number, unit, name = match.groups()
    return (
        float(number) / UNITS_PER_EM[unit.lower()] if number else NAMED_SIZES.get(name.lower(), 1.0)
    )


def _line_element(node: LexborNode) -> str:
    """Return the element whose line contains only *node*; "" if the line contains more."""
    at = None if node.css_first("a") else node
    for _ in range(MAX_STEPS):
        if at is None or at.tag not in INLINE_ELEMENTS:
            return (at.tag or "") if at else ""
        if at.tag == "a":
            # Menus have bold links, and a heading is not a link.
            return ""
        neighbours = (_find_neighbour(at, "prev"), _find_neighbour(at, "next"))
        if any(_shares_a_line(neighbour) for neighbour in neighbours):
            return ""
        at = at.parent
    return ""


def _find_neighbour(node: LexborNode, direction: str) -> LexborNode | None:
    """Return the node before or after *node*; skip white space and comments."""
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
