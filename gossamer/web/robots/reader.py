"""Parses a robots.txt: the rules of the groups that apply to us, and the sitemaps."""

import math
import re
from typing import NamedTuple

from gossamer.web.robots.rules import USAGE_LENGTH, RobotsRules, Rule, Usage, format_rules
from gossamer.web.robots.spelling import Key, Line, lines, to_utf8, whole_lines
from gossamer.web.url import BadUrl, canonicalize

LIMIT = 500 << 10
"""Maximum octets of a file that are parsed (section 2.5)."""
MAX_SITEMAPS = 100
"""Maximum number of sitemaps of one file."""
MAX_USAGES = 32
"""Maximum number of usage lines of one file; none is longer than USAGE_LENGTH."""

ALLOW, DISALLOW = Key.ALLOW, Key.DISALLOW
PATH_STARTS = (b"/", b"*", b"$", b"")
"""Valid first octets of a path."""

_token = re.compile(rb"[A-Za-z_-]+")
_between_names = re.compile(rb"[\s,;|]+")
_plain = re.compile(rb"[\x21-\x7e]*")
_unprintable = re.compile(r"[^\x21-\x7e]")
_stars = re.compile(r"\*{2,}")


class RobotsFile(NamedTuple):
    """The content of a robots.txt for us."""

    rules: RobotsRules
    sitemaps: tuple[str, ...] = ()
    """Canonical URLs of any host, in their order."""
    malformed: int = 0
    """Number of lines that do not follow the standard."""


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
    rules = RobotsRules(
        lines=format_rules(group.rules),
        crawl_delay=group.delay,
        fetched_at=now,
        expires_at=now + age,
        status=200,
        usage=tuple(group.usage),
    )
    return RobotsFile(rules, tuple(file.sitemaps), file.malformed + was_converted)


def is_token(product: str) -> bool:
    """Return whether *product* is a valid token for a robots.txt (2.2.1)."""
    return _token.fullmatch(product.encode()) is not None


class _File:
    """The parsed part of a file, and the groups of the next line."""

    def __init__(self, product: bytes, url: str) -> None:
        self.our_group, self.default_group = _Group(), _Group()
        self.sitemaps: dict[str, None] = {}
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
        else:
            # A line that is not a rule of the standard does not end the list of names (2.2.4).
            is_valid &= key is not Key.CRAWL_DELAY or _seconds(line.value) is not None
            for group in self._current:
                group.add(line)
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
        if len(self.sitemaps) >= MAX_SITEMAPS:
            return True
        try:
            url = canonicalize(value.decode("utf-8", "replace"), self._url)
        except BadUrl:
            return False
        self.sitemaps[url] = None
        return b"://" in value


def _names(name: bytes, product: bytes) -> bool:
    token = _token.match(name)
    return token is not None and token[0].lower() == product


def _seconds(value: bytes) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


class _Group:
    """The rules for one name, from the whole file."""

    def __init__(self) -> None:
        self.is_named = False
        self.rules: list[Rule] = []
        self.usage: list[Usage] = []
        self.delay = 0.0

    def add(self, line: Line) -> None:
        """Add a line that is not a rule. An unknown key has no effect."""
        match line.key:
            case Key.CRAWL_DELAY:
                self.delay = max(self.delay, _seconds(line.value) or 0.0)
            case Key.CONTENT_USAGE | Key.CONTENT_SIGNAL:
                self._add_usage(line)

    def _add_usage(self, line: Line) -> None:
        path, _, value = _printable_words(line.value).partition(" ")
        if not path.startswith(("/", "*")):
            path, value = "/", f"{path} {value}".strip()
        short = len(path) + len(value) <= USAGE_LENGTH
        if value and short and len(self.usage) < MAX_USAGES:
            self.usage.append(Usage(str(line.key), value, path))


def _printable_words(value: bytes) -> str:
    return " ".join(_printable(word) for word in value.split())


def _printable(value: bytes) -> str:
    if _plain.fullmatch(value) and b"**" not in value:
        return value.decode("ascii")
    return _stars.sub("*", _unprintable.sub(_escape_octet, value.decode("latin-1")))


def _escape_octet(octet: re.Match[str]) -> str:
    return f"%{ord(octet[0]):02X}"
