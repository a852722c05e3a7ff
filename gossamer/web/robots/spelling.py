"""What the lines of a robots.txt are meant to say, however they are spelt.

Two thirds of these files have mistakes (Silva, section 4.5, found 64 %). A line is read as it was
meant where that is beyond doubt: a key that is one slip of the keyboard away, a missing colon, a
`<br>` that an editor of HTML left for a line's end, a file in UTF-16. A key of which the standard
says nothing is no mistake (2.2.4).
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from string import ascii_lowercase
from typing import NamedTuple


class Key(StrEnum):
    """What a line is about that we read."""

    USER_AGENT = "user-agent"
    ALLOW = "allow"
    DISALLOW = "disallow"
    CRAWL_DELAY = "crawl-delay"
    SITEMAP = "sitemap"
    CONTENT_USAGE = "content-usage"
    CONTENT_SIGNAL = "content-signal"


FURTHER_OFF = {
    "desalow": Key.DISALLOW,
    "disallowed": Key.DISALLOW,
    "dissallowed": Key.DISALLOW,
    "dissalow": Key.DISALLOW,
    "dissalaw": Key.DISALLOW,
}
"""Spellings that are more than one slip away, and are met all the same."""

BLANK = b" \t\f\v\0"
_marks = re.compile(rb"\A(?:\xef(?:\xbb\xbf?)?)+")
"""UTF-8's byte order mark, or what is left of it."""
_wide = (
    (re.compile(rb"\xff\xfe\0\0"), "utf-32"),
    (re.compile(rb"\0\0\xfe\xff"), "utf-32"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "utf-16"),
    (re.compile(rb"(?:[^\0]\0){2}"), "utf-16-le"),
    (re.compile(rb"(?:\0[^\0]){2}"), "utf-16-be"),
)
_binary = re.compile(rb"[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_line_end = re.compile(rb"\r\n|\r|\n")
_break = re.compile(rb"<br\s*/?>", re.IGNORECASE)
_key = re.compile(r"[a-z_-]+")
LONG = 40
"""Octets of a key beyond which what it means is not remembered: nobody writes it again."""
_separators = str.maketrans("", "", "-_. \t")


class Line(NamedTuple):
    """A line that says something, to us if it has a *key*. *sound*: it is spelt as it should be."""

    number: int
    key: Key | None
    value: bytes
    sound: bool


def narrowed(body: bytes) -> tuple[bytes, bool]:
    """Return *body* as UTF-8 without a byte order mark, and whether it was anything else."""
    for start, encoding in _wide:
        if start.match(body):
            body = body.decode(encoding, "ignore").encode("utf-8", "ignore")
            return _marks.sub(b"", body, 1), True
    bare = _marks.sub(b"", body, 1)
    return bare, len(bare) < len(body)


def is_text(body: bytes) -> bool:
    """Whether *body*, perhaps cut, is Unicode without the octets of a binary file (the MIME
    Sniffing standard, section 7, calls these binary data bytes)."""
    text, _odd = narrowed(body)
    try:
        text.decode()
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return False
    return _binary.search(text) is None


def whole_lines(body: bytes) -> bytes:
    """Return *body*, whose end is missing, without its last line: half a rule is another rule."""
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]


def lines(body: bytes) -> Iterator[Line]:
    """Yield the lines of *body* that are not empty, nor comments."""
    for number, physical in enumerate(_line_end.split(body), 1):
        parts = _break.split(physical) if b"<" in physical else (physical,)
        for part in parts:
            # Stripped as octets: what Latin-1 calls white space may be part of a UTF-8 character.
            text = part.partition(b"#")[0].strip(BLANK)
            if text:
                name, value, colon = _split(text)
                key, sound = _meant(name) if len(name) <= LONG else _spelt(name)
                sound = sound and colon and len(parts) == 1
                yield Line(number, key, value.strip(BLANK), sound)


def _split(line: bytes) -> tuple[bytes, bytes, bool]:
    key, colon, value = line.partition(b":")
    if colon:
        return key, value, True
    words = line.split()
    return (words[0], words[1], False) if len(words) == 2 else (b"", b"", False)


def _spelt(name: bytes) -> tuple[Key | None, bool]:
    """Return what a key with this *name* means, and whether it is spelt as it should be."""
    spelt = name.strip(BLANK).decode("latin-1").lower()
    key = _spellings.get(_letters(spelt))
    return key, _key.fullmatch(spelt) is not None and key in (spelt, None)


_meant = lru_cache(maxsize=1024)(_spelt)


def _letters(key: str) -> str:
    return key.translate(_separators)


def _slips(word: str) -> Iterator[str]:
    """Yield *word*, and what a letter too few, too many, mistaken or out of place makes of it."""
    yield word
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        for letter in ascii_lowercase:
            yield before + letter + after
            yield before + letter + after[1:]


_spellings = {slip: key for key in Key for slip in _slips(_letters(key))} | FURTHER_OFF
