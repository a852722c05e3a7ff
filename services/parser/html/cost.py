"""Truncates documents whose tree would take lexbor quadratic time.

Lexbor takes more than linear time in four ways:

- Each tag searches the open elements, so depth costs time.
- Formatting elements that are never closed are reopened in later paragraphs, and compared with
  each other.
- A misnested end tag of a formatting element rearranges the open elements.
- Each attribute of a tag is compared with the attributes before it.

The costs were measured with lexbor. `CostEstimate` follows the open elements only roughly: it
searches an end tag's element among the innermost few, and ignores the end tag otherwise. So a
misnested document seems deeper than it is, by less than real pages need.

No real page is nested so deep, or has so many attributes, that its tree takes a second; malicious
documents are. Most pages have so few tags that only attributes could cost much, and a fast scan
skips all ordinary tags. Documents that are underestimated meet the time limit of the child.

`scan_tags` finds tags without a tree, like the tokenizer of the HTML standard (13.2.5). It skips
comments, scripts and style sheets. It is linear in the length of any document: the regular
expressions never backtrack (possessive quantifiers), and tokens do not overlap.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gossamer.text.blocks import word_set, words_of

MAX_SECONDS = 1.0
"""Most seconds that lexbor may take for a document, as estimated. Real pages take less than a
millisecond."""
MAX_CHEAP_TAGS, MAX_UNUSUAL_TAGS = 4000, 200
"""A document with at most this many tags, and unusual tags, takes 0.1 s without its attributes."""
RAW_TEXT_ELEMENTS = words_of("iframe noembed noframes script style textarea title xmp")
"""Elements whose content is text up to their end tag (13.2.5.2 to 13.2.5.4)."""
FOREIGN_ELEMENTS = ("math", "svg")
"""Elements in which raw text elements contain markup, and CDATA sections are allowed."""
FORMATTING_ELEMENTS = words_of("b big code em font i s small strike strong tt u")
"""Elements that are reopened in later paragraphs until they are closed (13.2.4.3). The elements a
and nobr are omitted, because only one of each can be open."""


class Tag(NamedTuple):
    """A start or an end tag."""

    start: int
    """The index of its `<`."""
    name: str
    """In lower case."""
    is_end: bool
    attributes: str
    """The text between the name and the `>`; the rest of the document if there is no `>`."""


def _any_case(name: str) -> str:
    return "".join(f"[{letter}{letter.upper()}]" for letter in name)


_S = r" \t\n\f\r"
_attribute = (
    rf"[{_S}/]*+[^{_S}/>][^{_S}/>=]*+"
    rf"""(?:[{_S}]*+=[{_S}]*+(?:"[^"]*+"|'[^']*+'|[^{_S}>"'][^{_S}>]*+|(?=>)))?+"""
)
_attributes = re.compile(_attribute)
_tag = re.compile(rf"<(/?)([a-zA-Z][^{_S}/>]*+)((?:{_attribute})*+[{_S}/]*+)>")
_comment = re.compile(r"<!--(?:-?>|(?:[^-]++|-(?!-!?>))*+(?:--!?>|\Z))")
_unfinished_tag = re.compile(rf"<(/?)([a-zA-Z][^{_S}/>]*+)")
_end_tags = {name: re.compile(rf"</{_any_case(name)}(?=[{_S}/>])") for name in RAW_TEXT_ELEMENTS}
_in_script = re.compile(rf"<!--(?:-?>)?|-->|</?{_any_case('script')}(?=[{_S}/>])")

_few_attributes = (
    rf"""(?:[^=>]{{0,60}}+(?<![{_S}/"'=])=(?:"[^"]*+"|'[^']*+')){{0,40}}+[^=>]{{0,60}}+>"""
)
_special = "|".join(map(_any_case, (*RAW_TEXT_ELEMENTS, *FOREIGN_ELEMENTS, "plaintext")))
_formatting = "|".join(map(_any_case, FORMATTING_ELEMENTS))
_usual_starts = (
    "p(?![lL])|s(?=[aeopu])|i(?=[mns])|t(?=[abdhr])|u(?=l)|b(?=[a-hj-z])|f(?=[ir])|m(?=e)|n(?=a)"
    "|c(?=[aei])"
)
"""First letters of most other names. Two letters are matched in half of the time that it takes to
exclude the special and the formatting elements one by one."""
_ordinary_patterns = [
    rf"/?+(?:[adghj-loqrvwyz]|{_usual_starts}"
    rf"|(?!(?:{_special})[{_S}/>]|(?:{_formatting})[{_S}])[a-zA-Z])[^{_S}/>]*+(?:>|{_few_attributes})",
    r"!--(?!-?>)(?:[^-]++|-(?!-!?>))*+--!?>",
    *(
        rf"{name}(?=[{_S}/>]){_few_attributes}[^<]*+(?:<(?!/{name}[{_S}/>]|!--)[^<]*+)*+</{name}{_few_attributes}"
        for name in map(_any_case, ("script", "style", "title"))
    ),
]


def _run_pattern(kinds: list[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:[^<]*+<(?:{'|'.join(kinds)}))*+[^<]*+")


_ordinary_runs = {
    False: _run_pattern(_ordinary_patterns),
    True: _run_pattern(_ordinary_patterns[:2]),
}
"""Runs of ordinary markup outside of (False) and within (True) foreign elements: tags with few
attributes, all quoted; comments; and, outside, raw text elements."""


def scan_tags(text: str, ordinary: bool = True) -> Iterator[Tag]:
    """Yield the tags of *text*; without *ordinary*, only the unusual tags.

    Unusual are formatting elements with attributes, tags with many attributes, and some tags that
    the fast patterns do not recognize.
    """
    position, foreign = 0, 0
    while True:
        if not ordinary and (run := _ordinary_runs[foreign > 0].match(text, position)):
            position = run.end()
        if (position := text.find("<", position)) < 0:
            return
        start, tag = position, _tag.match(text, position)
        if not tag:
            if unfinished := _unfinished_tag.match(text, start):
                # An unfinished tag takes the rest of the document (13.2.5.32 and others).
                rest = text[unfinished.end() :]
                yield Tag(start, unfinished[2].lower(), bool(unfinished[1]), rest)
                return
            position = _skip_other(text, start, foreign > 0)
            continue
        name, is_end = tag[2].lower(), bool(tag[1])
        yield Tag(start, name, is_end, tag[3])
        position = tag.end()
        if name in FOREIGN_ELEMENTS and not tag[3].endswith("/"):
            foreign = max(0, foreign - 1) if is_end else foreign + 1
        elif not (foreign or is_end):
            position = _skip_content(text, position, name)


def count_attributes(attributes: str) -> int:
    """Return the number of attributes in the text of a tag."""
    count = position = 0
    # match() and not findall(): a search would rescan a run of white space from each position.
    while attribute := _attributes.match(attributes, position):
        count, position = count + 1, attribute.end()
    return count


def _skip_other(text: str, start: int, foreign: bool) -> int:
    if text.startswith("<!--", start):
        comment = _comment.match(text, start)
        return comment.end() if comment else len(text)
    if not text.startswith(("</", "<!", "<?"), start):
        return start + 1
    closing = "]]>" if foreign and text.startswith("<![CDATA[", start) else ">"
    end = text.find(closing, start)
    return end + len(closing) if end >= 0 else len(text)


def _skip_content(text: str, position: int, name: str) -> int:
    if name == "plaintext":
        return len(text)
    if name not in _end_tags:
        return position
    end = _end_tags[name].search(text, position)
    if name == "script" and text.find("<!--", position, end.start() if end else len(text)) >= 0:
        return _skip_script(text, position)
    return end.start() if end else len(text)


def _skip_script(text: str, position: int) -> int:
    # 13.2.5.16 to 13.2.5.29: within `<!-- -->`, a nested script has an end tag of its own.
    escaped = inner = False
    for mark in _in_script.finditer(text, position):
        match mark[0][:4].lower():
            case "<!--":
                escaped = escaped or not mark[0].endswith(">")
            case "-->":
                escaped = inner = False
            case "<scr":
                inner = escaped
            case _ if inner:
                inner = False
            case _:
                return mark.start()
    return len(text)


OPEN_COST = 4e-9
"""Seconds per tag and open element."""
REOPENED_COST = 400e-9
"""Seconds per formatting element that is reopened."""
COMPARED_COST = 60e-9
"""Seconds per attribute of a formatting element that is compared with another element."""
REARRANGED_COST = 15e-9
"""Seconds per open element that is examined to rearrange the open elements."""
ATTRIBUTE_COST = 4e-9
"""Seconds per pair of attributes of a tag."""
MAX_REARRANGEMENTS = 8
"""Most rearrangements by a misnested end tag (13.2.6.4.7, the outer loop)."""
MAX_SEARCH_DEPTH = 24
"""Most open elements that are searched for the element of an end tag."""
MAX_IDENTICAL = 3
"""Most identical formatting elements that are reopened (13.2.4.3)."""
CHEAP_ATTRIBUTES_LENGTH = 200
"""Attributes with at most this many characters cost nothing."""


VOID_ELEMENTS = word_set("""
    area base br col embed hr img input keygen link meta param source track wbr
""")
SCOPE_ELEMENTS = word_set("applet caption html marquee object table td template th")
"""Elements whose open content an end tag outside cannot close."""
CELL_ELEMENTS = word_set("caption td th")
TABLE_ELEMENTS = CELL_ELEMENTS | word_set("tbody tfoot thead tr")
"""Elements that close all open content of their table. Outside of tables they are ignored."""
HEADING_ELEMENTS = word_set("h1 h2 h3 h4 h5 h6")
BLOCK_ELEMENTS = HEADING_ELEMENTS | word_set("""
    address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption
    figure footer form header hgroup li listing main menu nav ol p plaintext pre search section
    summary ul xmp
""")
"""Elements that close a paragraph."""
SPECIAL_ELEMENTS = (
    BLOCK_ELEMENTS
    | SCOPE_ELEMENTS
    | TABLE_ELEMENTS
    | word_set("body button frameset head iframe select")
)
"""Elements beyond which the end tag of a formatting or unknown element is ignored (13.2.4.2)."""
CLOSED_BY_ITEM = {
    "li": frozenset({"li"}), "dd": frozenset({"dd", "dt"}), "dt": frozenset({"dd", "dt"}),
}  # fmt: skip
"""Elements that the start tag of a list item closes."""
ITEM_LIMITS = SPECIAL_ELEMENTS - {"address", "div", "p"}
"""Elements beyond which the start tag of a list item closes nothing."""
PARAGRAPH = frozenset({"p"})
TABLE_ROOTS = frozenset({"table", "template"})


class CostEstimate:
    """Estimates the seconds that lexbor takes for a sequence of tags."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._open: list[str] = []
        self._formats: list[tuple[str, str]] = []
        """Name and attributes of each formatting element without an end tag."""
        self._formats_before: list[int] = []
        """The length of `_formats` at the start of each open element."""
        self._open_formats = 0
        """The number of open formatting elements."""
        self._tables: list[int] = []
        """The indexes of tables and templates in `_open`."""
        self._merged_attributes: dict[str, int] = {}
        """The number of attributes of all html tags, and of all body tags."""

    def add(self, tag: Tag) -> None:
        """Add the cost of *tag*, in a number of steps that does not depend on earlier tags."""
        reopened = max(0, len(self._formats) - self._open_formats)
        self.seconds += len(self._open) * OPEN_COST + reopened * REOPENED_COST
        if tag.is_end:
            self._add_end(tag.name)
        else:
            self._add_attributes(tag)
            self._add_start(tag)

    def _add_attributes(self, tag: Tag) -> None:
        if len(tag.attributes) <= CHEAP_ATTRIBUTES_LENGTH and tag.name not in ("body", "html"):
            return
        count = count_attributes(tag.attributes)
        before = self._merged_attributes.get(tag.name, 0)
        if tag.name in ("body", "html"):
            # The attributes of repeated tags are merged into one element.
            self._merged_attributes[tag.name] = before + count
        self.seconds += count * (before + count) * ATTRIBUTE_COST

    def _add_start(self, tag: Tag) -> None:
        name = tag.name
        if name in BLOCK_ELEMENTS:
            if name in CLOSED_BY_ITEM:
                self._close(CLOSED_BY_ITEM[name], ITEM_LIMITS)
            self._close(PARAGRAPH, SPECIAL_ELEMENTS)
        elif name in TABLE_ELEMENTS:
            if not self._tables:
                return
            self._pop(len(self._open) - self._tables[-1] - 1)
        if name in VOID_ELEMENTS or tag.attributes.endswith("/"):
            return
        if name in TABLE_ROOTS:
            self._tables.append(len(self._open))
        self._formats_before.append(len(self._formats))
        self._open.append(name)
        if name in FORMATTING_ELEMENTS:
            self._add_format((name, tag.attributes))

    def _add_format(self, element: tuple[str, str]) -> None:
        self._open_formats += 1
        if self._formats[-MAX_IDENTICAL:] != [element] * MAX_IDENTICAL:
            self._formats.append(element)
        attributes = 1 + (count_attributes(element[1]) if element[1] else 0)
        self.seconds += len(self._formats) * attributes * COMPARED_COST

    def _add_end(self, name: str) -> None:
        if name in FORMATTING_ELEMENTS:
            self._add_format_end(name)
        elif name in TABLE_ROOTS:
            if self._tables:
                self._pop(len(self._open) - self._tables[-1])
        elif name in HEADING_ELEMENTS:
            self._close(HEADING_ELEMENTS, SCOPE_ELEMENTS)
        else:
            limits = SCOPE_ELEMENTS if name in SPECIAL_ELEMENTS else SPECIAL_ELEMENTS
            self._close(frozenset((name,)), limits)

    def _add_format_end(self, name: str) -> None:
        for depth in range(1, min(MAX_SEARCH_DEPTH, len(self._formats)) + 1):
            if self._formats[-depth][0] == name:
                del self._formats[-depth]
                break
        if not self._close(frozenset((name,)), SPECIAL_ELEMENTS):
            examined = len(self._open) + len(self._formats)
            self.seconds += MAX_REARRANGEMENTS * examined * REARRANGED_COST

    def _close(self, names: frozenset[str], limits: frozenset[str]) -> bool:
        """Close the innermost element of *names* with its content; return whether there is one.

        The search ends at an element of *limits*.
        """
        for depth in range(1, min(MAX_SEARCH_DEPTH, len(self._open)) + 1):
            name = self._open[-depth]
            if name in names:
                self._pop(depth)
                return True
            if name in limits:
                break
        return False

    def _pop(self, count: int) -> None:
        for _ in range(count):
            name, formats_before = self._open.pop(), self._formats_before.pop()
            self._open_formats -= name in FORMATTING_ELEMENTS
            if name in TABLE_ROOTS:
                self._tables.pop()
            if name in CELL_ELEMENTS:
                # Formatting that was opened in a cell is not reopened in the next cell.
                del self._formats[formats_before:]


def truncate_costly(text: str) -> str:
    """Return *text* up to the tag where its tree becomes too costly; mostly all of it."""
    estimate = CostEstimate()
    for tag in _costly_tags(text):
        estimate.add(tag)
        if estimate.seconds > MAX_SECONDS:
            return text[: tag.start]
    return text


def _costly_tags(text: str) -> Iterable[Tag]:
    if text.count("<") <= MAX_CHEAP_TAGS:
        unusual = [*scan_tags(text, ordinary=False)]
        if len(unusual) <= MAX_UNUSUAL_TAGS:
            return unusual
    return scan_tags(text)
