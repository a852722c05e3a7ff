"""The tags of a document, without its tree: as the HTML standard's tokenizer has them (13.2.5).

What stands in comments, scripts, style sheets and the like is no tag, whatever it looks like. The
work is linear in the length of the document, whatever it is: the regular expressions never go back
(possessive quantifiers), and no token begins before the end of the one before.


How long lexbor takes for a document, estimated from its tags.

Building a tree takes more than linear time in four ways. Start and end tags look through the
elements that are open, so depth costs. Formatting elements that nobody closes are opened anew in
whatever follows, and compared with each other. A misnested end tag of one rearranges what is open.
And each attribute of a tag is compared with those before it. What that costs was measured with
lexbor; what is open is followed roughly: an end tag is looked for among the innermost few, and
where a browser would find it farther out it is taken for lost. So a document that is not nested
properly seems deeper here than it is, by no more than a page for people can afford.


Cuts a document off where parsing on would take quadratic time.

No page made for people is nested so deep, or has so many attributes in a tag, that lexbor would
take a second for its tree; documents made to hurt do. Most pages have so few tags that only their
attributes could: there, all but the unusual are passed over with a glance. It is an estimate, and
what slips through meets the time limit.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

RAW_TEXT_ELEMENTS = ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
"""Elements whose content is text up to their end tag (13.2.5.2 to 13.2.5.4)."""
FOREIGN_ELEMENTS = ("math", "svg")
"""Elements in which those hold markup like any other, and CDATA sections are possible."""
FORMATTING_ELEMENTS = (
    "b",
    "big",
    "code",
    "em",
    "font",
    "i",
    "s",
    "small",
    "strike",
    "strong",
    "tt",
    "u",
)
"""Elements that are opened anew in the paragraphs that follow until they are closed (13.2.4.3);
without a and nobr, of which there is one at a time."""


class Tag(NamedTuple):
    """A start or an end tag."""

    start: int
    """Where its `<` is."""
    name: str
    """In lower case."""
    ends: bool
    """Whether it is an end tag."""
    attributes: str
    """All between the name and the `>`; of a tag without one all that follows."""


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
"""How most of the other names begin that are neither special nor formatting: by two letters that
is seen in half of the time that it takes to look for those one after another."""
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
"""What can be passed over with a glance, by whether it is in foreign elements: tags whose
attributes are few, and written with quotes around their values; comments; elements of text."""


def scan_tags(text: str, ordinary: bool = True) -> Iterator[Tag]:
    """Yield the tags of *text*; without *ordinary*, only those of formatting elements that have
    attributes, those with many, and some that it takes more than a glance to know."""
    position, foreign = 0, 0
    while True:
        if not ordinary and (passed := _ordinary_runs[foreign > 0].match(text, position)):
            position = passed.end()
        if (position := text.find("<", position)) < 0:
            return
        start, tag = position, _tag.match(text, position)
        if not tag:
            if begun := _unfinished_tag.match(text, start):
                # Nothing follows a tag that does not end (13.2.5.32 and others).
                yield Tag(start, begun[2].lower(), bool(begun[1]), text[begun.end() :])
                return
            position = _skip_other(text, start, foreign > 0)
            continue
        name, ends = tag[2].lower(), bool(tag[1])
        yield Tag(start, name, ends, tag[3])
        position = tag.end()
        if name in FOREIGN_ELEMENTS and not tag[3].endswith("/"):
            foreign = max(0, foreign - 1) if ends else foreign + 1
        elif not (foreign or ends):
            position = _skip_content(text, position, name)


def count_attributes(attributes: str) -> int:
    """Return how many there are."""
    count = position = 0
    # One after the other: to search for them would look at white space again from each place in it.
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
    # 13.2.5.16 to 13.2.5.29: in what looks like a comment, a script in a script has its own end.
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


OPEN_COST, REOPENED_COST, COMPARED_COST, REARRANGED_COST, ATTRIBUTE_COST = (
    4e-9,
    400e-9,
    60e-9,
    15e-9,
    4e-9,
)
"""Seconds: for each open element at a tag, each formatting element that is opened anew, each
attribute of one compared with another, each open element that is looked at to rearrange them, each
pair of attributes."""
MAX_REARRANGEMENTS = 8
"""How often a misnested end tag rearranges (13.2.6.4.7, the outer loop)."""
MAX_SEARCH_DEPTH = 24
"""How far out an end tag is looked for."""
MAX_IDENTICAL = 3
"""Formatting elements that are the same, of which the last are kept (13.2.4.3)."""
CHEAP_ATTRIBUTES_LENGTH = 200
"""Characters of attributes that are too few to cost anything."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID_ELEMENTS = _names(
    "area base br col embed hr img input keygen link meta param source track wbr"
)
SCOPE_ELEMENTS = _names("applet caption html marquee object table td template th")
"""What an end tag outside does not reach."""
CELL_ELEMENTS = _names("caption td th")
TABLE_ELEMENTS = CELL_ELEMENTS | _names("tbody tfoot thead tr")
"""In a table, they close all that is open there; elsewhere they are nothing."""
HEADING_ELEMENTS = _names("h1 h2 h3 h4 h5 h6")
BLOCK_ELEMENTS = HEADING_ELEMENTS | _names(
    "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form header hgroup li listing main menu nav ol p plaintext pre search section "
    "summary ul xmp"
)
"""They close a paragraph."""
SPECIAL_ELEMENTS = (
    BLOCK_ELEMENTS
    | SCOPE_ELEMENTS
    | TABLE_ELEMENTS
    | _names("body button frameset head iframe select")
)
"""What an end tag of a formatting or unknown element does not reach (13.2.4.2)."""
CLOSED_BY_ITEM = {
    "li": frozenset({"li"}), "dd": frozenset({"dd", "dt"}), "dt": frozenset({"dd", "dt"}),
}  # fmt: skip
"""What their start tags close, ..."""
ITEM_LIMITS = SPECIAL_ELEMENTS - {"address", "div", "p"}
"""... unless one of these is in between."""
PARAGRAPH = frozenset({"p"})
TABLE_ROOTS = frozenset({"table", "template"})


class CostEstimate:
    """Adds up what tags cost."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._open: list[str] = []
        self._formats: list[tuple[str, str]] = []
        """Of formatting elements that were not closed: name and attributes."""
        self._kept: list[int] = []
        """For each open element, how many of them there were when it began."""
        self._standing = 0
        """Formatting elements that are open."""
        self._tables: list[int] = []
        """Where among the open elements tables and templates are."""
        self._merged: dict[str, int] = {}

    def add(self, tag: Tag) -> None:
        """Add what *tag* costs; the number of steps does not depend on the tags before it."""
        lost = max(0, len(self._formats) - self._standing)
        self.seconds += len(self._open) * OPEN_COST + lost * REOPENED_COST
        if tag.ends:
            self._end(tag.name)
        else:
            self._attributes(tag)
            self._begin(tag)

    def _attributes(self, tag: Tag) -> None:
        if len(tag.attributes) <= CHEAP_ATTRIBUTES_LENGTH and tag.name not in ("body", "html"):
            return
        count = count_attributes(tag.attributes)
        before = self._merged.get(tag.name, 0)
        if tag.name in ("body", "html"):
            # Of several such tags the attributes become those of one element.
            self._merged[tag.name] = before + count
        self.seconds += count * (before + count) * ATTRIBUTE_COST

    def _begin(self, tag: Tag) -> None:
        name = tag.name
        if name in BLOCK_ELEMENTS:
            if name in CLOSED_BY_ITEM:
                self._close(CLOSED_BY_ITEM[name], ITEM_LIMITS)
            self._close(PARAGRAPH, SPECIAL_ELEMENTS)
        elif name in TABLE_ELEMENTS:
            if not self._tables:
                return
            self._drop(len(self._open) - self._tables[-1] - 1)
        if name in VOID_ELEMENTS or tag.attributes.endswith("/"):
            return
        if name in TABLE_ROOTS:
            self._tables.append(len(self._open))
        self._kept.append(len(self._formats))
        self._open.append(name)
        if name in FORMATTING_ELEMENTS:
            self._format((name, tag.attributes))

    def _format(self, element: tuple[str, str]) -> None:
        self._standing += 1
        if self._formats[-MAX_IDENTICAL:] != [element] * MAX_IDENTICAL:
            self._formats.append(element)
        attributes = 1 + (count_attributes(element[1]) if element[1] else 0)
        self.seconds += len(self._formats) * attributes * COMPARED_COST

    def _end(self, name: str) -> None:
        if name in FORMATTING_ELEMENTS:
            self._end_format(name)
        elif name in TABLE_ROOTS:
            if self._tables:
                self._drop(len(self._open) - self._tables[-1])
        elif name in HEADING_ELEMENTS:
            self._close(HEADING_ELEMENTS, SCOPE_ELEMENTS)
        else:
            self._close(
                frozenset((name,)), SCOPE_ELEMENTS if name in SPECIAL_ELEMENTS else SPECIAL_ELEMENTS
            )

    def _end_format(self, name: str) -> None:
        for back in range(1, min(MAX_SEARCH_DEPTH, len(self._formats)) + 1):
            if self._formats[-back][0] == name:
                del self._formats[-back]
                break
        if not self._close(frozenset((name,)), SPECIAL_ELEMENTS):
            self.seconds += (
                MAX_REARRANGEMENTS * (len(self._open) + len(self._formats)) * REARRANGED_COST
            )

    def _close(self, names: frozenset[str], limits: frozenset[str]) -> bool:
        """Close the innermost element of *names*, and what is in it; return whether there is one.

        It is not looked for beyond others of *limits*.
        """
        for back in range(1, min(MAX_SEARCH_DEPTH, len(self._open)) + 1):
            name = self._open[-back]
            if name in names:
                self._drop(back)
                return True
            if name in limits:
                break
        return False

    def _drop(self, back: int) -> None:
        for _ in range(back):
            name, kept = self._open.pop(), self._kept.pop()
            self._standing -= name in FORMATTING_ELEMENTS
            if name in TABLE_ROOTS:
                self._tables.pop()
            if name in CELL_ELEMENTS:
                # What was opened in a cell is not opened anew in the next one.
                del self._formats[kept:]


MAX_SECONDS = 1.0
"""That lexbor may take for a document by our estimate; real pages take less than a millisecond."""
MANY_TAGS_FROM, MAX_UNUSUAL_TAGS = 4000, 200
"""However these are put together, they take 0.1 s but for their attributes."""


def truncate_costly(text: str) -> str:
    """Return *text* up to where it becomes absurd; nearly always that is all of it."""
    effort = CostEstimate()
    for tag in _costly_tags(text):
        effort.add(tag)
        if effort.seconds > MAX_SECONDS:
            return text[: tag.start]
    return text


def _costly_tags(text: str) -> Iterable[Tag]:
    if text.count("<") <= MANY_TAGS_FROM:
        unusual = [*scan_tags(text, ordinary=False)]
        if len(unusual) <= MAX_UNUSUAL_TAGS:
            return unusual
    return scan_tags(text)
