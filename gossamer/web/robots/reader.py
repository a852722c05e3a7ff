"""Reads a robots.txt: which of its groups are ours, and what they say."""

import math
import re
from typing import NamedTuple

from gossamer.web.robots.rules import USAGE_LENGTH, RobotsRules, Rule, Usage, written
from gossamer.web.robots.spelling import Key, Line, lines, narrowed, whole_lines
from gossamer.web.url import BadUrl, canonicalize

LIMIT = 500 << 10
"""Octets of a file that are parsed (section 2.5)."""
SITEMAPS = 100
"""Sitemaps that are taken from one file."""
USAGES = 32
"""Lines on the use of pages that are taken from one file, none longer than USAGE_LENGTH."""

ALLOW, DISALLOW = Key.ALLOW, Key.DISALLOW
BEGINS = (b"/", b"*", b"$", b"")
"""What a path begins with."""

_token = re.compile(rb"[A-Za-z_-]+")
_between_names = re.compile(rb"[\s,;|]+")
_plain = re.compile(rb"[\x21-\x7e]*")
_unprintable = re.compile(r"[^\x21-\x7e]")
_stars = re.compile(r"\*{2,}")


class RobotsFile(NamedTuple):
    """What a robots.txt says, to us and to everybody."""

    rules: RobotsRules
    sitemaps: tuple[str, ...] = ()
    """Canonical URLs, in their order; they may be of any host."""
    malformed: int = 0
    """How many of its lines are not as the standard has them."""


def parse_robots(
    body: bytes, product: str, now: float, age: float, url: str = "", cut: bool = False
) -> RobotsFile:
    """Return what *body* says to the crawler whose token is *product*, valid *age* seconds.

    *now* is when it was fetched, in epoch seconds, and *url* from where; *cut*: its end is missing.
    Never fails: what cannot be parsed is skipped.
    """
    text, odd = narrowed(body[:LIMIT])
    if cut or len(body) > LIMIT:
        text = whole_lines(text)
    file = _File(product.lower().encode(), url)
    for line in lines(text):
        file.add(line)
    group = file.ours if file.ours.named else file.everyones
    rules = RobotsRules(
        lines=written(group.rules),
        crawl_delay=group.delay,
        fetched_at=now,
        expires_at=now + age,
        status=200,
        usage=tuple(group.usage),
    )
    return RobotsFile(rules, tuple(file.sitemaps), file.malformed + odd)


def is_token(product: str) -> bool:
    """Whether a robots.txt can name *product* (2.2.1)."""
    return _token.fullmatch(product.encode()) is not None


class _File:
    """What has been read so far, and which groups the next line belongs to."""

    def __init__(self, product: bytes, url: str) -> None:
        self.ours, self.everyones = _Group(), _Group()
        self.sitemaps: dict[str, None] = {}
        self.malformed = 0
        self._product, self._url = product, url
        self._current: list[_Group] = []
        self._naming = self._named = False

    def add(self, line: Line) -> None:
        """Take one line in, and whether it is as it should be."""
        sound, key = line.sound, line.key
        if key is DISALLOW or key is ALLOW:
            sound &= self._add_rule(line)
        elif key is Key.USER_AGENT:
            self._name(line.value)
        elif key is Key.SITEMAP:
            sound &= self._add_sitemap(line.value)
        else:
            # A line that is no rule of the standard does not end the list of names (2.2.4).
            sound &= key is not Key.CRAWL_DELAY or _seconds(line.value) is not None
            for group in self._current:
                group.add(line)
        self.malformed += not sound

    def _add_rule(self, line: Line) -> bool:
        # One without a path has no effect.
        if line.value and self._current:
            rule = Rule(line.key is ALLOW, _printable(line.value), line.number)
            for group in self._current:
                group.rules.append(rule)
        self._naming = False
        return self._named and line.value[:1] in BEGINS

    def _name(self, value: bytes) -> None:
        # RFC 9309, 2.2.1: groups that name the same crawler are one group.
        names = _between_names.split(value)
        current = self._current if self._naming else []
        if any(_names(name, self._product) for name in names):
            current = [*current, self.ours]
            self.ours.named = True
        if b"*" in names:
            current = [*current, self.everyones]
        self._current, self._naming, self._named = current, True, True

    def _add_sitemap(self, value: bytes) -> bool:
        if len(self.sitemaps) >= SITEMAPS:
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
    """The rules for one name, collected from the whole file."""

    def __init__(self) -> None:
        self.named = False
        self.rules: list[Rule] = []
        self.usage: list[Usage] = []
        self.delay = 0.0

    def add(self, line: Line) -> None:
        """Add a line that is no rule; an unknown key has no effect."""
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
        if value and short and len(self.usage) < USAGES:
            self.usage.append(Usage(str(line.key), value, path))


def _printable_words(value: bytes) -> str:
    return " ".join(_printable(word) for word in value.split())


def _printable(value: bytes) -> str:
    if _plain.fullmatch(value) and b"**" not in value:
        return value.decode("ascii")
    return _stars.sub("*", _unprintable.sub(_escaped, value.decode("latin-1")))


def _escaped(octet: re.Match[str]) -> str:
    return f"%{ord(octet[0]):02X}"
