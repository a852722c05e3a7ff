"""Parses a robots.txt: the rules of the groups that apply to us, and the sitemaps.

Two thirds of the files have mistakes (Silva, section 4.5, found 64 %). A line is read as intended
if the intention is beyond doubt: a key with one typo, a missing colon, a `<br>` of an HTML editor
in place of a line end, a file in UTF-16. A key that is not in the standard is not a mistake
(2.2.4).
"""

import math
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import lru_cache
from string import ascii_lowercase
from typing import NamedTuple

from gossamer.web.http import escape_octet, escape_octets
from gossamer.web.robots.rules import LicenseLine, RobotsRules, Rule, Usage, format_rules
from gossamer.web.url import BadUrl, canonicalize, host_name
from gossamer.web.usage import Category, Source, Statement, read_line, reserve

LIMIT = 500 << 10
"""Maximum octets of a file that are parsed (section 2.5)."""
MAX_RULES_BYTES, NEWLINE = 600_000, 2
"""Maximum number of bytes of the rules in JSON, and the bytes of a line's end. Escaped octets, and
groups that name a crawler twice, can make the rules longer than the file. The rest is ignored, as
beyond `LIMIT`, so that an order with the rules fits into a record."""
MAX_SITEMAPS = 100
"""Maximum number of sitemaps of one file. Further lines count as malformed."""
MAX_USAGE_LINES = 100
"""Maximum number of usage lines of one group that are evaluated for each URL."""
MAX_USAGE_LENGTH = 1000
"""Octets of a usage line that is evaluated for each URL. A use that any line mentions is reserved
at the whole host if one of the lines is longer, or if there are more."""
MAX_LICENSES = 4
"""Maximum number of license files of one file. Those of the host itself come first."""
BLANK = b" \t\f\v\0"
MAX_CACHED_KEY_LENGTH = 40
"""Octets. Longer keys are not cached, because they do not occur twice."""
PATH_STARTS = (b"/", b"*", b"$", b"")
"""Valid first octets of a path."""
_token = re.compile(rb"[A-Za-z_-]+")
_between_names = re.compile(rb"[\s,;|]+")
_plain = re.compile(rb"[\x21-\x7e]*")
_unprintable = re.compile(r"[^\x21-\x7e]")
_stars = re.compile(r"\*{2,}")


class Key(StrEnum):
    """The keys of lines that we evaluate."""

    USER_AGENT = "user-agent"
    ALLOW = "allow"
    DISALLOW = "disallow"
    CRAWL_DELAY = "crawl-delay"
    SITEMAP = "sitemap"
    CONTENT_USAGE = "content-usage"
    CONTENT_SIGNAL = "content-signal"
    LICENSE = "license"


MISSPELLINGS = {
    "desalow": Key.DISALLOW,
    "disallowed": Key.DISALLOW,
    "dissallowed": Key.DISALLOW,
    "dissalow": Key.DISALLOW,
    "dissalaw": Key.DISALLOW,
}
"""Frequent misspellings with more than one typo."""
_marks = re.compile(rb"\A(?:\xef(?:\xbb\xbf?)?)+")
"""UTF-8's byte order mark, or a part of it."""
_wide = (
    (re.compile(rb"\xff\xfe\0\0"), "utf-32"),
    (re.compile(rb"\0\0\xfe\xff"), "utf-32"),
    (re.compile(rb"\xff\xfe|\xfe\xff"), "utf-16"),
    (re.compile(rb"(?:[^\0]\0){2}"), "utf-16-le"),
    (re.compile(rb"(?:\0[^\0]){2}"), "utf-16-be"),
)
_line_end = re.compile(rb"\r\n|\r|\n")
_break = re.compile(rb"<br\s*/?>", re.IGNORECASE)
_key = re.compile(r"[a-z_-]+")
_unit = re.compile(
    rb"(?<=[0-9.])\s*(?:(ms|msecs?|milliseconds?)|(s|secs?|seconds?)|(m|mins?|minutes?)|(h|hours?))?[.;]?$",
    re.IGNORECASE,
)
_number = re.compile(rb"[0-9.eE+-]+")
UNITS = (1.0, 0.001, 1.0, 60.0, 3600.0)
"""Seconds of no unit, and of the units that `_unit` has groups for."""
_separators = str.maketrans("", "", "-_. \t")


class Line(NamedTuple):
    """A line of the file. *key* is None if we do not evaluate it; *is_valid*: it has no mistake."""

    number: int
    key: Key | None
    value: bytes
    is_valid: bool


ALLOW, DISALLOW = Key.ALLOW, Key.DISALLOW
USAGE_KEYS = (Key.CONTENT_USAGE, Key.CONTENT_SIGNAL)


class RobotsFile(NamedTuple):
    """The content of a robots.txt for us."""

    rules: RobotsRules
    sitemaps: tuple[str, ...] = ()
    """Canonical URLs of any host, in their order."""
    malformed: int = 0
    """Number of lines that do not follow the standard, or that exceed a limit."""


def parse_robots(
    body: bytes, product: str, now: float, age: float, url: str = "", cut: bool = False
) -> RobotsFile:
    """Parse *body* for the crawler whose token is *product*; the rules are valid *age* seconds.

    The file was fetched at *now*, in epoch seconds, from *url*. *cut*: its end is missing. Never
    fails: invalid lines are skipped.
    """
    text, was_converted = to_utf8(body[:LIMIT])
    if cut or len(body) > LIMIT:
        text = whole_lines(text)
    file = _File(product.lower().encode(), url)
    for line in lines(text):
        file.add(line)
    group = file.our_group if file.our_group.is_named else file.default_group
    unread = [*group.unread_usage(), *file.unread_licenses(group)]
    if (cut or len(body) > LIMIT) and _states_usage(body):
        unread.append(reserve(Source.ROBOTS, "end", "not read (the file was cut)", Category))
    rules = RobotsRules(
        lines=format_rules(_limit_size(group.rules)),
        crawl_delay=group.delay,
        fetched_at=now,
        expires_at=now + age,
        status=200,
        usage=tuple(group.usage),
        unread_usage=tuple(unread),
        licenses=tuple(file.licenses_of(group)[:MAX_LICENSES]),
    )
    return RobotsFile(rules, tuple(file.sitemaps), file.malformed + was_converted)


def _states_usage(body: bytes) -> bool:
    """Return whether any group of *body* has lines about usage, or names a license file."""
    return any(
        line.key in USAGE_KEYS or (line.key is Key.LICENSE and b"://" in line.value)
        for line in lines(to_utf8(body)[0])
    )


def _limit_size(rules: Iterable[Rule]) -> Iterator[Rule]:
    """Yield *rules* up to MAX_RULES_BYTES of JSON."""
    size = 0
    for rule in rules:
        line = rule.as_line
        size += len(line) + line.count('"') + line.count("\\") + NEWLINE
        if size > MAX_RULES_BYTES:
            return
        yield rule


def is_token(product: str) -> bool:
    """Return whether *product* is a valid token for a robots.txt (2.2.1)."""
    return _token.fullmatch(product.encode()) is not None


class _File:
    """The parsed part of a file, and the groups of the next line."""

    def __init__(self, product: bytes, url: str) -> None:
        self.our_group, self.default_group = _Group(), _Group()
        self.sitemaps: dict[str, None] = {}
        self.licenses: list[LicenseLine] = []
        """Before the first group: they are for all crawlers."""
        self.malformed = 0
        self._product, self._url = product, url
        self._current: list[_Group] = []
        self._naming = self._has_name = False

    def add(self, line: Line) -> None:
        """Add one line, and count it if it is malformed."""
        is_valid, key = line.is_valid, line.key
        if key is DISALLOW or key is ALLOW:
            is_valid &= self._add_rule(line)
        elif key is Key.USER_AGENT:
            self._name(line.value)
        elif key is Key.SITEMAP:
            is_valid &= self._add_sitemap(line.value)
        elif key is Key.LICENSE:
            is_valid &= self._add_license(line)
        else:
            # A line that is not a rule of the standard does not end the list of names (2.2.4).
            # Content-Usage is a rule (draft-ietf-aipref-attach-04).
            is_valid &= key is not Key.CRAWL_DELAY or _is_number(line.value)
            for group in self._current:
                group.add(line)
            self._naming &= key is not Key.CONTENT_USAGE
        self.malformed += not is_valid

    def _add_rule(self, line: Line) -> bool:
        # A rule without a path has no effect.
        if line.value and self._current:
            rule = Rule(line.key is ALLOW, _printable(line.value), line.number)
            for group in self._current:
                group.rules.append(rule)
        self._naming = False
        return self._has_name and line.value[:1] in PATH_STARTS

    def _name(self, value: bytes) -> None:
        # RFC 9309, 2.2.1: groups that name the same crawler are one group.
        names = _between_names.split(value)
        current = self._current if self._naming else []
        if any(_names(name, self._product) for name in names):
            current = [*current, self.our_group]
            self.our_group.is_named = True
        if b"*" in names:
            current = [*current, self.default_group]
        self._current, self._naming, self._has_name = current, True, True

    def _add_sitemap(self, value: bytes) -> bool:
        """Add a sitemap, if the line names one; return whether the line is valid and was read."""
        if not value:
            return True
        url = self._url_of(value)
        if not url:
            return False
        if url not in self.sitemaps and len(self.sitemaps) >= MAX_SITEMAPS:
            return False
        self.sitemaps[url] = None
        return b"://" in value

    def _url_of(self, value: bytes) -> str:
        """Return the canonical URL in a line; "" if it has none. Its octets are kept."""
        try:
            url = escape_octets(value.decode("latin-1"))
            return canonicalize(url, self._url) if url else ""
        except BadUrl:
            return ""

    def _add_license(self, line: Line) -> bool:
        """Add a license file, if the line names one, of the current groups or of all (RSL 1.0)."""
        if not line.value:
            return True
        url = self._url_of(line.value)
        if not url:
            return False
        found = LicenseLine(url, line.number)
        for licenses in (
            [one.licenses for one in self._current] if self._has_name else [self.licenses]
        ):
            licenses.append(found)
        return True

    def licenses_of(self, group: "_Group") -> list[LicenseLine]:
        """Return the license files for *group*, those of the host itself first."""
        found = {one.url: one for one in (*self.licenses, *group.licenses)}
        return sorted(found.values(), key=lambda one: not self._is_own(one))

    def unread_licenses(self, group: "_Group") -> Iterator[Statement]:
        """Yield a statement that reserves all uses for each license file of the host itself beyond
        MAX_LICENSES."""
        reason = f"not read (more than {MAX_LICENSES} license files)"
        for one in self.licenses_of(group)[MAX_LICENSES:]:
            if self._is_own(one):
                yield reserve(Source.ROBOTS, f"line {one.line}", reason, Category)

    def _is_own(self, line: LicenseLine) -> bool:
        return bool(self._url) and host_name(line.url) == host_name(self._url)


def _names(name: bytes, product: bytes) -> bool:
    token = _token.match(name)
    return token is not None and token[0].lower() == product


def _is_number(value: bytes) -> bool:
    return _seconds(value) is not None and _number.fullmatch(value) is not None


def _seconds(value: bytes) -> float | None:
    """Return the seconds in *value*, which may have a unit: `10`, `10s`, `1,5 sec`, `2 min`."""
    unit = _unit.search(value)
    number = value[: unit.start()] if unit else value
    try:
        seconds = float(number.replace(b",", b".")) * UNITS[unit.lastindex or 0 if unit else 0]
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


class _Group:
    """The rules for one name, from the whole file."""

    def __init__(self) -> None:
        self.is_named = False
        self.rules: list[Rule] = []
        self.usage: list[Usage] = []
        self.more_usage: list[Usage] = []
        """Lines that are too long, or beyond MAX_USAGE_LINES."""
        self.licenses: list[LicenseLine] = []
        self.delay = 0.0

    def add(self, line: Line) -> None:
        """Add a line that is not a rule. An unknown key has no effect."""
        match line.key:
            case Key.CRAWL_DELAY:
                self.delay = max(self.delay, _seconds(line.value) or 0.0)
            case Key.CONTENT_USAGE | Key.CONTENT_SIGNAL:
                self._add_usage(line)

    def _add_usage(self, line: Line) -> None:
        path, value = b"/", line.value
        # Only a slash begins a path, unlike in an Allow line (draft-ietf-aipref-attach-04, 3.2).
        if value.startswith(b"/"):
            path, value = (*value.split(None, 1), b"")[:2]
        if value:
            text = value.decode("utf-8", "replace")
            is_read = len(line.value) <= MAX_USAGE_LENGTH and len(self.usage) < MAX_USAGE_LINES
            found = self.usage if is_read else self.more_usage
            found.append(Usage(str(line.key), text, _printable(path), line.number))

    def unread_usage(self) -> Iterator[Statement]:
        """Yield a statement for each key with lines that are not evaluated for each URL.

        Their patterns may be the longest, so the statement reserves every use that a line with this
        key mentions.
        """
        for name in dict.fromkeys(line.name for line in self.more_usage):
            said = (
                read_line(line.name, line.value, "", line.line).says
                for line in (*self.usage, *self.more_usage)
                if line.name == name
            )
            mentioned = {Category(category) for says in said for category in says}
            numbers = [line.line for line in self.more_usage if line.name == name]
            place = f"lines {numbers[0]} to {numbers[-1]}" if numbers[1:] else f"line {numbers[0]}"
            reason = f"not read (over {MAX_USAGE_LINES} lines or {MAX_USAGE_LENGTH} octets)"
            if mentioned:
                yield reserve(Source.ROBOTS, place, reason, sorted(mentioned))


def _printable(value: bytes) -> str:
    if _plain.fullmatch(value) and b"**" not in value:
        return value.decode("ascii")
    return _stars.sub("*", _unprintable.sub(escape_octet, value.decode("latin-1")))


def to_utf8(body: bytes) -> tuple[bytes, bool]:
    """Return *body* as UTF-8 without a byte order mark, and whether that changed it."""
    for start, encoding in _wide:
        if start.match(body):
            body = body.decode(encoding, "ignore").encode("utf-8", "ignore")
            return _marks.sub(b"", body, 1), True
    bare = _marks.sub(b"", body, 1)
    return bare, len(bare) < len(body)


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
