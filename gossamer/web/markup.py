"""Repairs XML of the Web before a parser reads it, as browsers read HTML.

A parser of XML that recovers from errors guesses: libxml2 reads `?a=1&b=2` as `?a=1=2`, drops the
text behind a bare `<`, and cannot express the surrogates of `&#55357;`. Such guesses make URLs that
nobody wrote, so the errors are repaired here, by the rules of the HTML standard:

- A reference is read as in an attribute (13.2.5.73): `&copy;` is its character in HTML, and also
  `&copy` if neither `=` nor a letter nor a digit follows. Any other `&` is text.
- `<` begins a tag before an ASCII letter, `/`, `!` or `?`, and is text elsewhere.
- The names of elements are in lower case.

`</` and `<!` that begin nothing that HTML knows are marked by U+FFFD, since a part of a text is
missing there.

Sections of CDATA, comments and processing instructions stay as they are. A character that XML
cannot contain becomes U+FFFD: its place is known, and a URL with it is not a URL.

A reference to an entity that the document declares (XML 1.0, 4.2.1) is the text of the entity. It
is U+FFFD if the entity is external, long, or contains elements or other entities: nothing is loaded
or nested.
"""

import re
from html import unescape
from html.entities import html5
from typing import NamedTuple

REPLACEMENT = "\ufffd"
PROLOG_LENGTH = 1 << 16
"""Characters in which the root element must begin."""
_noise = (
    "a abbr b big br center code div em font h1 h2 h3 h4 h5 h6 hr i img li meta ol p pre small "
    "span strong table tbody td th thead tr tt u ul"
)
NOISE_ELEMENTS = frozenset(_noise.split())
"""Elements of messages that servers print before a document, such as notices of PHP."""
BLANKS = " \t\r\n\ufeff"
"""White space of XML, and the byte order mark."""
MAX_CODE_POINT = 0x10FFFF
MAX_DIGITS = 8
"""Most digits of a numeric reference without zeros before them."""
XML_REFERENCES = "amp|lt|gt|quot|apos"
MAX_ENTITY_LENGTH = 1_000
"""Most characters of a declared entity."""
MAX_EXPANDED = 4_000_000
"""Most characters of the declared entities in a document together."""

_opaque = r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)"
_hidden = re.compile(_opaque, re.DOTALL)
_token = re.compile(
    rf"(?P<opaque>{_opaque})|&(?:(?P<hex>\#[xX][0-9a-fA-F]+;?)|(?P<number>\#[0-9]+;?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9]*)(?P<end>;?)(?P<equals>(?:=)?))?"
    r"|<(?P<tag>[A-Za-z_:][^\s/<>]*|/[A-Za-z_:][^\s/<>]*(?=\s*>))|(?P<torn></|<!)"
    r"|(?P<less><)(?![A-Za-z_:?])|(?P<close>\]\]>)",
    re.DOTALL,
)
_surrogates = re.compile(
    r"&#(?:[xX]0*([dD][89abAB][0-9a-fA-F]{2})|0*(5[56]\d{3}));"
    r"&#(?:[xX]0*([dD][c-fC-F][0-9a-fA-F]{2})|0*(5[67]\d{3}));"
)
_forbidden = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_faulty = re.compile(
    rf"&(?!(?:{XML_REFERENCES});)|<(?![a-z/!?])|</(?![^\s/<>]+\s*>)|<!(?!--|\[CDATA\[)|</?[^\s/<>]*[A-Z]|\]\]>"
)
_prolog = re.compile(
    rf"(?P<opaque>{_opaque})|(?P<type><!doctype[^<>\[]*(?:\[[^\]]*\]\s*)?>)|<(?:script|style)\b.*?</(?:script|style)\s*>"
    r"|<(?P<name>[a-z_][^\s/>]*)",
    re.DOTALL | re.IGNORECASE,
)
_name = r"[A-Za-z_:][^\s\"'<>&;]*"
_declaration = re.compile(
    rf"""<!ENTITY\s+({_name})\s+(?:"([^"]*)"|'([^']*)'|(?:SYSTEM|PUBLIC)\b)"""
)
_declared = re.compile(rf"{_opaque}|&(?P<name>{_name});", re.DOTALL)
_number = re.compile(r"&#[0-9a-fA-FxX]+;")
_windows_1252 = {
    code: bytes([code]).decode("windows-1252", "replace") for code in range(0x80, 0xA0)
}


_escapes = {ord(one): f"&#{ord(one)};" for one in "&<>\"'\t\n\r"}
"""In an attribute, a parser of XML reads white space that is not escaped as blanks."""


class Markup(NamedTuple):
    """A repaired document, from its root element on."""

    text: str
    root: str
    """The local name of the root element, in lower case; "" without one."""
    is_repaired: bool
    """Whether the document had errors other than the case of its names."""


def repair_markup(text: str) -> Markup:
    """Return *text* without errors of references, and without what precedes its root element."""
    start, root, is_noisy = _find_root(text)
    if not root:
        return Markup("", "", is_repaired=False)
    entities = _read_entities(without_hidden(text[:start]))
    written = _expand(text[start:], entities) if entities else text[start:]
    repaired = repair_references(written)
    return Markup(repaired, root, is_noisy or repaired.lower() != written.lower())


def expand_entities(text: str) -> str:
    """Return *text* with the text of the entities that it declares, and without their declarations.

    A document without declarations is returned as it is.
    """
    start, root, _ = _find_root(text)
    entities = _read_entities(without_hidden(text[:start])) if root else {}
    return f"<!DOCTYPE {root}>{_expand(text[start:], entities)}" if entities else text


def repair_references(text: str) -> str:
    """Return *text* with repaired references, bare `<`, and element names in lower case."""
    text = _forbidden.sub(REPLACEMENT, text)
    if _faulty.search(text):
        text = _token.sub(_repair, _surrogates.sub(_join_surrogates, text))
    return text


def without_hidden(text: str) -> str:
    """Return *text* with blanks in place of CDATA, comments and processing instructions."""
    return _hidden.sub(lambda match: " " * len(match[0]), text)


def _find_root(text: str) -> tuple[int, str, bool]:
    """Return the place and name of the root element, and whether text or elements precede it."""
    end, is_noisy = 0, False
    for match in _prolog.finditer(text, 0, PROLOG_LENGTH):
        is_noisy |= bool(text[end : match.start()].strip(BLANKS))
        end = match.end()
        if name := match["name"]:
            local = name.rpartition(":")[2].lower()
            if local not in NOISE_ELEMENTS:
                return match.start(), local, is_noisy
        is_noisy |= not (match["opaque"] or match["type"])
    return 0, "", False


def _read_entities(prolog: str) -> dict[str, str]:
    """Return the text of each entity that *prolog* declares; U+FFFD for one that is not read."""
    entities = dict[str, str]()
    for name, *values in _declaration.findall(prolog):
        text = _number.sub(lambda number: unescape(number[0]), "".join(values))
        is_text = 0 < len(text) <= MAX_ENTITY_LENGTH and not re.search("[<\"']", text)
        is_flat = all(f"{match['name']};" in html5 for match in _declared.finditer(text))
        entities.setdefault(name, text if is_text and is_flat else REPLACEMENT)
    return entities


def _expand(text: str, entities: dict[str, str]) -> str:
    """Return *text* with *entities* in place of the references to them."""
    left = MAX_EXPANDED

    def expand(match: re.Match[str]) -> str:
        nonlocal left
        name = match["name"] or ""
        if name not in entities or re.fullmatch(XML_REFERENCES, name):
            return match[0]
        left -= len(entities[name])
        return entities[name] if left >= 0 else REPLACEMENT

    return _declared.sub(expand, text)


def _repair(match: re.Match[str]) -> str:
    kind, written = match.lastgroup, match[0]
    if kind == "opaque":
        return written
    if kind == "tag":
        return written.lower()
    if kind == "torn":
        return REPLACEMENT
    if kind == "less":
        return "&lt;"
    if kind == "close":
        return "]]&gt;"
    if match["hex"] or match["number"]:
        digits = written.strip("&#xX;").lstrip("0")
        code = int(digits or "0", 16 if match["hex"] else 10) if len(digits) <= MAX_DIGITS else 0
        code = code if code <= MAX_CODE_POINT else 0
        character = _character(code)
        is_valid = written.endswith(";") and written[:3] != "&#X" and character == chr(code)
        return written if is_valid else _escape(character)
    name, end, equals = match["name"] or "", match["end"] or "", match["equals"] or ""
    if end and re.fullmatch(XML_REFERENCES, name):
        return written
    found = html5.get(name + end, "") if end or not equals else ""
    return (_escape(found) if found else f"&amp;{name}{end}") + equals


def _character(code: int) -> str:
    """Return the character of a numeric reference (13.2.5.80)."""
    if code in _windows_1252:
        return _windows_1252[code]
    if not code:
        return REPLACEMENT
    return _forbidden.sub(REPLACEMENT, chr(code))


def _join_surrogates(match: re.Match[str]) -> str:
    """Return the character whose surrogates are written as two references."""
    high, low = (int(match[at], 16) if match[at] else int(match[at + 1]) for at in (1, 3))
    if not (0xD800 <= high < 0xDC00 <= low < 0xE000):
        return match[0]
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


def _escape(text: str) -> str:
    return text.translate(_escapes)
