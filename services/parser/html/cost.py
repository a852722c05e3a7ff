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

RAW = ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
"""Elements whose content is text up to their end tag (13.2.5.2 to 13.2.5.4)."""
FOREIGN = ("math", "svg")
"""Elements in which those hold markup like any other, and CDATA sections are possible."""
FORMATTING = ("b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u")
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
_begun = re.compile(rf"<(/?)([a-zA-Z][^{_S}/>]*+)")
_ends = {name: re.compile(rf"</{_any_case(name)}(?=[{_S}/>])") for name in RAW}
_in_script = re.compile(rf"<!--(?:-?>)?|-->|</?{_any_case('script')}(?=[{_S}/>])")

_few = rf"""(?:[^=>]{{0,60}}+(?<![{_S}/"'=])=(?:"[^"]*+"|'[^']*+')){{0,40}}+[^=>]{{0,60}}+>"""
_special = "|".join(map(_any_case, (*RAW, *FOREIGN, "plaintext")))
_formatting = "|".join(map(_any_case, FORMATTING))
_usual = (
    "p(?![lL])|s(?=[aeopu])|i(?=[mns])|t(?=[abdhr])|u(?=l)|b(?=[a-hj-z])|f(?=[ir])|m(?=e)|n(?=a)"
    "|c(?=[aei])"
)
"""How most of the other names begin that are neither special nor formatting: by two letters that
is seen in half of the time that it takes to look for those one after another."""
_glances = [
    rf"/?+(?:[adghj-loqrvwyz]|{_usual}"
    rf"|(?!(?:{_special})[{_S}/>]|(?:{_formatting})[{_S}])[a-zA-Z])[^{_S}/>]*+(?:>|{_few})",
    r"!--(?!-?>)(?:[^-]++|-(?!-!?>))*+--!?>",
    *(
        rf"{name}(?=[{_S}/>]){_few}[^<]*+(?:<(?!/{name}[{_S}/>]|!--)[^<]*+)*+</{name}{_few}"
        for name in map(_any_case, ("script", "style", "title"))
    ),
]


def _run_of(kinds: list[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:[^<]*+<(?:{'|'.join(kinds)}))*+[^<]*+")


_ordinary = {False: _run_of(_glances), True: _run_of(_glances[:2])}
"""What can be passed over with a glance, by whether it is in foreign elements: tags whose
attributes are few, and written with quotes around their values; comments; elements of text."""


def tags(text: str, ordinary: bool = True) -> Iterator[Tag]:
    """Yield the tags of *text*; without *ordinary*, only those of formatting elements that have
    attributes, those with many, and some that it takes more than a glance to know."""
    position, foreign = 0, 0
    while True:
        if not ordinary and (passed := _ordinary[foreign > 0].match(text, position)):
            position = passed.end()
        if (position := text.find("<", position)) < 0:
            return
        start, tag = position, _tag.match(text, position)
        if not tag:
            if begun := _begun.match(text, start):
                # Nothing follows a tag that does not end (13.2.5.32 and others).
                yield Tag(start, begun[2].lower(), bool(begun[1]), text[begun.end() :])
                return
            position = _past_other(text, start, foreign > 0)
            continue
        name, ends = tag[2].lower(), bool(tag[1])
        yield Tag(start, name, ends, tag[3])
        position = tag.end()
        if name in FOREIGN and not tag[3].endswith("/"):
            foreign = max(0, foreign - 1) if ends else foreign + 1
        elif not (foreign or ends):
            position = _past_content(text, position, name)


def count_attributes(attributes: str) -> int:
    """Return how many there are."""
    count = position = 0
    # One after the other: to search for them would look at white space again from each place in it.
    while attribute := _attributes.match(attributes, position):
        count, position = count + 1, attribute.end()
    return count


def _past_other(text: str, start: int, foreign: bool) -> int:
    if text.startswith("<!--", start):
        comment = _comment.match(text, start)
        return comment.end() if comment else len(text)
    if not text.startswith(("</", "<!", "<?"), start):
        return start + 1
    closing = "]]>" if foreign and text.startswith("<![CDATA[", start) else ">"
    end = text.find(closing, start)
    return end + len(closing) if end >= 0 else len(text)


def _past_content(text: str, position: int, name: str) -> int:
    if name == "plaintext":
        return len(text)
    if name not in _ends:
        return position
    end = _ends[name].search(text, position)
    if name == "script" and text.find("<!--", position, end.start() if end else len(text)) >= 0:
        return _past_script(text, position)
    return end.start() if end else len(text)


def _past_script(text: str, position: int) -> int:
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


OPEN, REOPENED, COMPARED, REARRANGED, ATTRIBUTE = 4e-9, 400e-9, 60e-9, 15e-9, 4e-9
"""Seconds: for each open element at a tag, each formatting element that is opened anew, each
attribute of one compared with another, each open element that is looked at to rearrange them, each
pair of attributes."""
ROUNDS = 8
"""How often a misnested end tag rearranges (13.2.6.4.7, the outer loop)."""
REACH = 24
"""How far out an end tag is looked for."""
IDENTICAL = 3
"""Formatting elements that are the same, of which the last are kept (13.2.4.3)."""
SHORT = 200
"""Characters of attributes that are too few to cost anything."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID = _names("area base br col embed hr img input keygen link meta param source track wbr")
SCOPE = _names("applet caption html marquee object table td template th")
"""What an end tag outside does not reach."""
CELLS = _names("caption td th")
ROWS = CELLS | _names("tbody tfoot thead tr")
"""In a table, they close all that is open there; elsewhere they are nothing."""
HEADINGS = _names("h1 h2 h3 h4 h5 h6")
BLOCKS = HEADINGS | _names(
    "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form header hgroup li listing main menu nav ol p plaintext pre search section "
    "summary ul xmp"
)
"""They close a paragraph."""
SPECIAL = BLOCKS | SCOPE | ROWS | _names("body button frameset head iframe select")
"""What an end tag of a formatting or unknown element does not reach (13.2.4.2)."""
ITEMS = {
    "li": frozenset({"li"}), "dd": frozenset({"dd", "dt"}), "dt": frozenset({"dd", "dt"}),
}  # fmt: skip
"""What their start tags close, ..."""
AROUND_ITEMS = SPECIAL - {"address", "div", "p"}
"""... unless one of these is in between."""
PARAGRAPH = frozenset({"p"})
TABLES = frozenset({"table", "template"})


class Effort:
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
        self.seconds += len(self._open) * OPEN + lost * REOPENED
        if tag.ends:
            self._end(tag.name)
        else:
            self._attributes(tag)
            self._begin(tag)

    def _attributes(self, tag: Tag) -> None:
        if len(tag.attributes) <= SHORT and tag.name not in ("body", "html"):
            return
        count = count_attributes(tag.attributes)
        before = self._merged.get(tag.name, 0)
        if tag.name in ("body", "html"):
            # Of several such tags the attributes become those of one element.
            self._merged[tag.name] = before + count
        self.seconds += count * (before + count) * ATTRIBUTE

    def _begin(self, tag: Tag) -> None:
        name = tag.name
        if name in BLOCKS:
            if name in ITEMS:
                self._close(ITEMS[name], AROUND_ITEMS)
            self._close(PARAGRAPH, SPECIAL)
        elif name in ROWS:
            if not self._tables:
                return
            self._drop(len(self._open) - self._tables[-1] - 1)
        if name in VOID or tag.attributes.endswith("/"):
            return
        if name in TABLES:
            self._tables.append(len(self._open))
        self._kept.append(len(self._formats))
        self._open.append(name)
        if name in FORMATTING:
            self._format((name, tag.attributes))

    def _format(self, element: tuple[str, str]) -> None:
        self._standing += 1
        if self._formats[-IDENTICAL:] != [element] * IDENTICAL:
            self._formats.append(element)
        attributes = 1 + (count_attributes(element[1]) if element[1] else 0)
        self.seconds += len(self._formats) * attributes * COMPARED

    def _end(self, name: str) -> None:
        if name in FORMATTING:
            self._end_format(name)
        elif name in TABLES:
            if self._tables:
                self._drop(len(self._open) - self._tables[-1])
        elif name in HEADINGS:
            self._close(HEADINGS, SCOPE)
        else:
            self._close(frozenset((name,)), SCOPE if name in SPECIAL else SPECIAL)

    def _end_format(self, name: str) -> None:
        for back in range(1, min(REACH, len(self._formats)) + 1):
            if self._formats[-back][0] == name:
                del self._formats[-back]
                break
        if not self._close(frozenset((name,)), SPECIAL):
            self.seconds += ROUNDS * (len(self._open) + len(self._formats)) * REARRANGED

    def _close(self, names: frozenset[str], limits: frozenset[str]) -> bool:
        """Close the innermost element of *names*, and what is in it; return whether there is one.

        It is not looked for beyond others of *limits*.
        """
        for back in range(1, min(REACH, len(self._open)) + 1):
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
            self._standing -= name in FORMATTING
            if name in TABLES:
                self._tables.pop()
            if name in CELLS:
                # What was opened in a cell is not opened anew in the next one.
                del self._formats[kept:]


SECONDS = 1.0
"""That lexbor may take for a document by our estimate; real pages take less than a millisecond."""
FEW_TAGS, FEW_UNUSUAL = 4000, 200
"""However these are put together, they take 0.1 s but for their attributes."""


def sane(text: str) -> str:
    """Return *text* up to where it becomes absurd; nearly always that is all of it."""
    effort = Effort()
    for tag in _which_cost(text):
        effort.add(tag)
        if effort.seconds > SECONDS:
            return text[: tag.start]
    return text


def _which_cost(text: str) -> Iterable[Tag]:
    if text.count("<") <= FEW_TAGS:
        unusual = [*tags(text, ordinary=False)]
        if len(unusual) <= FEW_UNUSUAL:
            return unusual
    return tags(text)
