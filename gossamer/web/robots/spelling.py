"""Splits a robots.txt into lines, and corrects misspelt keys.

Two thirds of the files have mistakes (Silva, section 4.5, found 64 %). A line is read as intended
if the intention is beyond doubt: a key with one typo, a missing colon, a `<br>` of an HTML editor
in place of a line end, a file in UTF-16. A key that is not in the standard is not a mistake
(2.2.4).
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from string import ascii_lowercase
from typing import NamedTuple


class Key(StrEnum):
    """The keys of lines that we evaluate."""

    USER_AGENT = "user-agent"
    ALLOW = "allow"
    DISALLOW = "disallow"
    CRAWL_DELAY = "crawl-delay"
    SITEMAP = "sitemap"
    CONTENT_USAGE = "content-usage"
    CONTENT_SIGNAL = "content-signal"


MISSPELLINGS = {
    "desalow": Key.DISALLOW,
    "disallowed": Key.DISALLOW,
    "dissallowed": Key.DISALLOW,
    "dissalow": Key.DISALLOW,
    "dissalaw": Key.DISALLOW,
}
"""Frequent misspellings with more than one typo."""

BLANK = b" \t\f\v\0"
_marks = re.compile(rb"\A(?:\xef(?:\xbb\xbf?)?)+")
"""UTF-8's byte order mark, or a part of it."""
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
MAX_CACHED_KEY_LENGTH = 40
"""Octets. Longer keys are not cached, because they do not occur twice."""
_separators = str.maketrans("", "", "-_. \t")


class Line(NamedTuple):
    """A line of the file. *key* is None if we do not evaluate it; *is_valid*: it has no mistake."""

    number: int
    key: Key | None
    value: bytes
    is_valid: bool


def to_utf8(body: bytes) -> tuple[bytes, bool]:
    """Return *body* as UTF-8 without a byte order mark, and whether that changed it."""
    for start, encoding in _wide:
        if start.match(body):
            body = body.decode(encoding, "ignore").encode("utf-8", "ignore")
            return _marks.sub(b"", body, 1), True
    bare = _marks.sub(b"", body, 1)
    return bare, len(bare) < len(body)


def is_text(body: bytes) -> bool:
    """Return whether *body*, which may be cut, is Unicode text.

    Text has no binary data bytes (the MIME Sniffing standard, section 7).
    """
    text, _was_converted = to_utf8(body)
    try:
        text.decode()
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return False
    return _binary.search(text) is None


def whole_lines(body: bytes) -> bytes:
    """Return *body*, whose end is missing, without its last line: half a rule is a wrong rule."""
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]


def lines(body: bytes) -> Iterator[Line]:
    """Yield the lines of *body* that are neither empty nor comments."""
    for number, physical in enumerate(_line_end.split(body), 1):
        parts = _break.split(physical) if b"<" in physical else (physical,)
        for part in parts:
            # Stripped as octets: Latin-1's white space may be part of a UTF-8 character.
            text = part.partition(b"#")[0].strip(BLANK)
            if text:
                name, value, colon = _split(text)
                key, is_valid = (
                    _parse_key_cached(name)
                    if len(name) <= MAX_CACHED_KEY_LENGTH
                    else _parse_key(name)
                )
                is_valid = is_valid and colon and len(parts) == 1
                yield Line(number, key, value.strip(BLANK), is_valid)


def _split(line: bytes) -> tuple[bytes, bytes, bool]:
    key, colon, value = line.partition(b":")
    if colon:
        return key, value, True
    words = line.split()
    return (words[0], words[1], False) if len(words) == 2 else (b"", b"", False)


def _parse_key(name: bytes) -> tuple[Key | None, bool]:
    """Return the key that *name* means, and whether it is spelt correctly."""
    text = name.strip(BLANK).decode("latin-1").lower()
    key = _spellings.get(_letters(text))
    return key, _key.fullmatch(text) is not None and key in (text, None)


_parse_key_cached = lru_cache(maxsize=1024)(_parse_key)


def _letters(key: str) -> str:
    return key.translate(_separators)


def _typos(word: str) -> Iterator[str]:
    """Yield *word* and its variants with one letter missing, added, replaced or transposed."""
    yield word
    for at in range(len(word) + 1):
        before, after = word[:at], word[at:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        for letter in ascii_lowercase:
            yield before + letter + after
            yield before + letter + after[1:]


_spellings = {typo: key for key in Key for typo in _typos(_letters(key))} | MISSPELLINGS
