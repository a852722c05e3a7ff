"""Bytes to characters, in the order of the HTML standard: BOM, header, meta, and then a guess.

HTML standard, 13.2.3.2 (determining the character encoding). Where nothing is declared, the bytes
are UTF-8 if they are valid as that, and else what they look like (`guessing`); its last resort
depends on the reader's locale, ours is windows-1252.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from services.parser.guessing import ENOUGH, ESCAPE, guessed
from services.parser.labels import codec_of, encoding_of

PRESCAN = 1024
LATE = 1 << 16
LAST_RESORT = "windows-1252"
NOT_IN_META = {"utf-16be": "utf-8", "utf-16le": "utf-8", "x-user-defined": LAST_RESORT}
"""What a meta element cannot mean, since it could be read, and what it is taken for."""
CONTROLS = range(0x80, 0xA0)
BOMS = {b"\xef\xbb\xbf": "utf-8", b"\xfe\xff": "utf-16be", b"\xff\xfe": "utf-16le"}

_header = re.compile(r"""charset\s*=\s*["']?([^\s"',;]+)""", re.IGNORECASE)
_tag = re.compile(
    rb"<(?:(!--)|(meta)(?=[\t\n\f\r /])|(/?[a-z][^\t\n\f\r >]*)|[!/?])", re.IGNORECASE
)
_attribute = re.compile(
    rb"""[\t\n\f\r /]*(=?[^\t\n\f\r /=>]*)[\t\n\f\r ]*(?:=[\t\n\f\r ]*"""
    rb"""(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r >"'][^\t\n\f\r >]*)(?=[\t\n\f\r >])|))?"""
)
_in_content = re.compile(
    rb"""charset[\t\n\f\r ]*=[\t\n\f\r ]*(?:"([^"]*)"|'([^']*)'|([^\t\n\f\r ;"'][^\t\n\f\r ;]*))""",
    re.IGNORECASE,
)
_xml = re.compile(rb"""<\?xml[^>]*?[\t\n\r ]encoding[\t\n\r ]*=[\t\n\r ]*["']([^"'>]*)""")


class Source(StrEnum):
    """What says in which encoding a text is."""

    BOM = "bom"
    HEADER = "header"
    META = "meta"
    BYTES = "bytes"
    """Nothing, but they are valid UTF-8."""
    GUESS = "guess"
    """Nothing, but they look like it."""
    DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Characters:
    """A decoded text, and the WHATWG name of its encoding."""

    text: str
    encoding: str
    source: Source
    """What says that it is this one."""
    conflict: bool
    """Whether BOM, header, meta element and bytes disagree about the encoding."""


def characters(body: bytes, content_type: str, is_html: bool) -> Characters:
    """Decode *body*. Never fails: what cannot be decoded becomes U+FFFD."""
    bom = next((name for mark, name in BOMS.items() if body.startswith(mark)), "")
    parameter = _header.search(content_type)
    header = encoding_of(parameter[1]) if parameter else ""
    meta = declared(body[:PRESCAN]) if is_html else ""
    named = {Source.BOM: bom, Source.HEADER: header, Source.META: meta}
    said = {source: name for source, name in named.items() if name}
    source, encoding = next(iter(said.items()), None) or _undeclared(body, is_html)
    text = _strictly(body, encoding)
    conflict = len(set(said.values())) > 1 or (bool(said) and _contradicts(body, encoding, text))
    if text is None:
        text = body.decode(codec_of(encoding), "control or replacement")
    return Characters(text.removeprefix("\ufeff"), encoding, source, conflict)


def _contradicts(body: bytes, encoding: str, text: str | None) -> bool:
    """Return whether *body* is in no such *encoding*, in which it is *text*, if it is any."""
    # Windows-1252 stands for Latin-1 and ASCII as well: what is undefined in it says nothing.
    if text is None and encoding != LAST_RESORT:
        return True
    if encoding.startswith("utf-") or body.isascii():
        return False
    # Texts in other encodings are hardly ever valid UTF-8: it has one way to go on after a byte.
    decoded = _strictly(body, "utf-8")
    return decoded is not None and len(body) - len(decoded) >= ENOUGH


def _undeclared(body: bytes, is_html: bool) -> tuple[Source, str]:
    if ESCAPE not in body and _strictly(body, "utf-8") is not None:
        return Source.BYTES, "utf-8"
    # A browser that meets a meta element later starts over (13.2.3.4).
    if is_html and (late := declared(body[:LATE])):
        return Source.META, late
    if encoding := guessed(body):
        return Source.GUESS, encoding
    return Source.DEFAULT, LAST_RESORT


def _strictly(body: bytes, encoding: str) -> str | None:
    try:
        # Not final: a body that was cut may end within a character.
        return codecs.getincrementaldecoder(codec_of(encoding))("control").decode(body)
    except UnicodeDecodeError:
        return None


def _control(error: UnicodeError) -> tuple[str, int]:
    # In the standard's tables of single bytes those without a character are controls.
    if isinstance(error, UnicodeDecodeError) and error.encoding == "charmap":
        byte = error.object[error.start]
        if byte in CONTROLS:
            return chr(byte), error.start + 1
    raise error


def _control_or_replacement(error: UnicodeError) -> tuple[str, int]:
    try:
        return _control(error)
    except UnicodeDecodeError as undefined:
        return "\ufffd", undefined.end


codecs.register_error("control", _control)
codecs.register_error("control or replacement", _control_or_replacement)


def declared(head: bytes) -> str:
    """Return the encoding that a meta element of *head* declares, or "" (13.2.3.2, prescan)."""
    position = 0
    while tag := _tag.search(head, position):
        position = _end(head, tag)
        if tag[2] and (encoding := _of_meta(head, tag.end())):
            return NOT_IN_META.get(encoding, encoding)
    xml = _xml.match(head)
    return encoding_of(xml[1].decode("latin-1")) if xml else ""


def _end(head: bytes, tag: re.Match[bytes]) -> int:
    if tag[1]:
        closed = head.find(b"-->", tag.start() + 2)
        return closed + 3 if closed >= 0 else len(head)
    if tag[2] or tag[3]:
        ends = [end for _, _, end in _attributes(head, tag.end())]
        return ends[-1] if ends else tag.end()
    closed = head.find(b">", tag.end())
    return closed + 1 if closed >= 0 else len(head)


def _attributes(head: bytes, position: int) -> Iterator[tuple[bytes, bytes, int]]:
    while (found := _attribute.match(head, position)) and found[1]:
        position = found.end()
        yield found[1].lower(), found[2] or found[3] or found[4] or b"", position


def _of_meta(head: bytes, position: int) -> str:
    attributes: dict[bytes, bytes] = {}
    for name, value, _ in _attributes(head, position):
        attributes.setdefault(name, value)
    if b"charset" in attributes:
        return encoding_of(attributes[b"charset"].decode("latin-1"))
    if attributes.get(b"http-equiv", b"").lower() != b"content-type":
        return ""
    found = _in_content.search(attributes.get(b"content", b""))
    return encoding_of((found[1] or found[2] or found[3] or b"").decode("latin-1")) if found else ""
