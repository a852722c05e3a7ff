"""The tags of a document, without its tree: as the HTML standard's tokenizer has them (13.2.5).

What stands in comments, scripts, style sheets and the like is no tag, whatever it looks like. The
work is linear in the length of the document, whatever it is: the regular expressions never go back
(possessive quantifiers), and no token begins before the end of the one before.
"""

import re
from collections.abc import Iterator
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
