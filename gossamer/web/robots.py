"""robots.txt as RFC 9309 defines it: one crawler's rules, in a form that travels with an order.

A file is parsed once, where it was fetched, and only the groups that apply to us are kept; every
URL of the host is checked against those. Parsing is tolerant: 64 % of these files have mistakes,
and one bad line says nothing about the next. Paths are compared as octets, with escapes undone
(section 2.2.2), so that `/%7Ejoe` equals `/~joe`, and `/caf\u00e9` equals `/caf%C3%A9`. Only an
escaped `?`, `&`, `=`, `+` or `#` stays escaped: in a URL it is data, where the bare character is a
delimiter.

Choices where the RFC is silent: a misspelt key or a missing colon is read as it was meant, as
Google's parser does; Google's `index.html` rule (allowing it allows its folder) is left out,
because it grants a permission that nobody wrote; of several Crawl-delays the longest holds.
"""

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct

LIMIT = 500 << 10
"""Octets of a file that are parsed (section 2.5)."""
PATH = "/robots.txt"
REDIRECTS = 5
"""How many in a row are followed (2.3.1.2), to any host."""
BLANK = b" \t\f\v\0"

USER_AGENT = {"user-agent", "useragent", "user agent"}
ALLOW = {"allow"}
DISALLOW = {"disallow", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"}
CRAWL_DELAY = {"crawl-delay", "crawldelay", "crawl delay"}

_line_end = re.compile(rb"\r\n|\r|\n")
_partial_mark = re.compile(rb"\xef(\xbb\xbf?)?")
_token = re.compile(rb"[A-Za-z_-]+")
_escape = re.compile("%([0-9A-Fa-f]{2})")
_unprintable = re.compile(r"[^\x21-\x7e]")
_delimiters = frozenset("?&=+#")


class Rule(Struct, frozen=True):
    """One Allow or Disallow line of the groups that apply to us."""

    allow: bool
    pattern: str
    """As in the file, except that what is not printable ASCII is escaped."""
    line: int

    def __str__(self) -> str:
        """Return the rule with its line number, for a person to find it."""
        return f"line {self.line}: {'Allow' if self.allow else 'Disallow'}: {self.pattern}"


class RobotsRules(Struct, frozen=True):
    """The rules in force for one host, and until when."""

    rules: tuple[Rule, ...] = ()
    crawl_delay: float = 0.0
    forbidden: str = ""
    """Why everything is forbidden, if the file could not be fetched (2.3.1.4); else empty."""
    fetched_at: float = 0.0
    expires_at: float = 0.0

    def allows(self, url: str) -> bool:
        """Whether we may visit *url*."""
        if _is_robots_txt(url):
            return True
        rule = self.deciding_rule(url)
        return not self.forbidden and (rule is None or rule.allow)

    def deciding_rule(self, url: str) -> Rule | None:
        """Return the matching rule with the most octets, Allow before Disallow (2.2.2), or None."""
        if _is_robots_txt(url):
            return None
        path = _path(url)
        best, weight = None, (0, False)
        for rule in self.rules:
            pattern = _compiled(rule.pattern)
            heavier = (pattern.octets, rule.allow)
            if heavier > weight and pattern.matches(path):
                best, weight = rule, heavier
        return best

    def explain(self, url: str) -> str:
        """Return for a person what decides about *url*."""
        if _is_robots_txt(url):
            return f"{PATH} itself may always be visited"
        return self.forbidden or str(self.deciding_rule(url) or "no rule of robots.txt applies")


class Pattern(NamedTuple):
    """A rule's path, compiled: the literal octets between its stars, as Latin-1."""

    pieces: tuple[str, ...]
    to_the_end: bool
    octets: int

    def matches(self, path: str) -> bool:
        """Whether it matches *path* from its start, in one pass however many stars there are."""
        first, *others = self.pieces
        if not others:
            return path == first if self.to_the_end else path.startswith(first)
        if not path.startswith(first):
            return False
        at = len(first)
        last = others.pop() if self.to_the_end else ""
        for piece in others:
            found = path.find(piece, at)
            if found < 0:
                return False
            at = found + len(piece)
        return at + len(last) <= len(path) and path.endswith(last)


@lru_cache(maxsize=8192)
def _compiled(pattern: str) -> Pattern:
    bare = pattern.removesuffix("$")
    pieces = tuple(_octets(piece) for piece in bare.split("*"))
    octets = sum(map(len, pieces)) + len(pieces) - 1 + len(pattern) - len(bare)
    return Pattern(pieces, bare != pattern, octets)


@lru_cache(maxsize=1024)
def _path(url: str) -> str:
    parts = urlsplit(url)
    query = f"?{parts.query}" if "?" in url.partition("#")[0] else ""
    return _octets((parts.path or "/") + query)


def _is_robots_txt(url: str) -> bool:
    return _path(url) == PATH


def _octets(text: str) -> str:
    return _escape.sub(_unescaped, text.encode("utf-8", "surrogatepass").decode("latin-1"))


def _unescaped(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return escape[0].upper() if character in _delimiters else character


def parse_robots(body: bytes, product: str, now: float, age: float) -> RobotsRules:
    """Return the rules of *body* for the crawler whose token is *product*, valid *age* seconds.

    *now* is when it was fetched, in epoch seconds. Never fails: what cannot be parsed is skipped.
    """
    ours, everyones = _Group(), _Group()
    current: list[_Group] = []
    naming = False
    for line, key, value in _lines(body):
        if key in USER_AGENT:
            # RFC 9309, 2.2.1: groups that name the same crawler are one group.
            current = current if naming else []
            current += [ours] if _names(value, product) else []
            current += [everyones] if value.split()[:1] == [b"*"] else []
            naming = True
            ours.named |= ours in current
        else:
            # A line that is no rule of the standard does not end the list of names (2.2.4).
            naming = naming and key not in ALLOW | DISALLOW
            for group in current:
                group.add(line, key, value)
    group = ours if ours.named else everyones
    return RobotsRules(tuple(group.rules), group.delay, "", now, now + age)


def is_token(product: str) -> bool:
    """Whether a robots.txt can name *product* (2.2.1)."""
    return _token.fullmatch(product.encode()) is not None


def _names(value: bytes, product: str) -> bool:
    token = _token.match(value)
    return token is not None and token[0].lower() == product.lower().encode()


class _Group:
    """The rules for one name, collected from the whole file."""

    def __init__(self) -> None:
        self.named = False
        self.rules: list[Rule] = []
        self.delay = 0.0

    def add(self, line: int, key: str, value: bytes) -> None:
        """Add a line; a rule without a path has no effect, nor has an unknown key."""
        if key in CRAWL_DELAY:
            self._add_delay(value)
        elif value and key in ALLOW | DISALLOW:
            self.rules.append(Rule(key in ALLOW, _printable(value), line))

    def _add_delay(self, value: bytes) -> None:
        try:
            delay = float(value)
        except ValueError:
            return
        if math.isfinite(delay):
            self.delay = max(self.delay, delay)


def whole_lines(body: bytes) -> bytes:
    """Return *body*, whose end is missing, without its last line: half a rule is another rule."""
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]


def _lines(body: bytes) -> Iterator[tuple[int, str, bytes]]:
    if len(body) > LIMIT:
        body = whole_lines(body[:LIMIT])
    if mark := _partial_mark.match(body):
        body = body[mark.end() :]
    for number, line in enumerate(_line_end.split(body), 1):
        # Stripped as octets: what Latin-1 calls white space may be part of a UTF-8 character.
        key, value = _split(line.partition(b"#")[0].strip(BLANK))
        yield number, key.strip(BLANK).decode("latin-1").lower(), value.strip(BLANK)


def _split(line: bytes) -> tuple[bytes, bytes]:
    key, colon, value = line.partition(b":")
    if colon:
        return key, value
    words = line.split()
    return (words[0], words[1]) if len(words) == 2 else (b"", b"")


def _printable(value: bytes) -> str:
    return _unprintable.sub(_escaped, value.decode("latin-1"))


def _escaped(octet: re.Match[str]) -> str:
    return f"%{ord(octet[0]):02X}"
