"""Finds the pattern that decides about a path: the one with the most octets (RFC 9309, 2.2.2).

The rules of robots.txt and the statements of usage files have such patterns.

A robots.txt may have 40,000 rules, and a page 10,000 links to their host. Nearly all patterns have
no star before their end and match as prefixes. They are sorted, and each stores the heaviest of its
own prefixes, so that one bisection finds the rule. Any other pattern is indexed by its rarest four
octets, and is tried in one pass over the path, however many stars it has. A file with very many
candidates for one path was made to slow crawlers down; its candidates are not tried.

Paths and patterns are compared as octets, one Latin-1 character each. Escapes are decoded, so that
`/%7Ejoe` equals `/~joe`, and `/caf\u00e9` equals `/caf%C3%A9`. An escape stays if the bare
character would be a delimiter: `?`, `&`, `=`, `+`, `#`, `%`, and in a path `/`. In a query a slash
is data in both forms (the table in 2.2.2 has both), so it is decoded there. A `%` that does not
begin an escape is escaped, so that each `%` of the result begins an escape.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

GRAM_SIZES = (4, 2, 1)
"""Octets by which a pattern is indexed: the first of these sizes that it has in one piece."""
MAX_TRIES = 500
"""Maximum number of patterns with stars that are tried for one path."""
SLASH = "%2F"
"""An escaped slash, which is data, in the octets of a path."""
_escape = re.compile("%(?:([0-9A-Fa-f]{2}))?")
_special = re.compile(r"[^\x21-\x7e]|[*$]")
_still_escaped = frozenset("?&=+#%/")


class TooManyPatterns(Exception):
    """More than MAX_TRIES patterns are candidates for a path."""


class Patterned(Protocol):
    """A rule."""

    @property
    def allow(self) -> bool:
        """Whether it is an Allow, which wins over a Disallow with as many octets."""

    @property
    def pattern(self) -> str:
        """A path in which `*` matches anything, and a final `$` the end."""


R = TypeVar("R", bound=Patterned)
Weight = tuple[int, bool]
"""Octets of the pattern, and whether the rule allows. The heaviest matching rule decides."""


class Pattern(NamedTuple):
    """A compiled pattern: the octets between its stars."""

    pieces: tuple[str, ...]
    to_the_end: bool
    octets: int

    def matches(self, path: str) -> bool:
        """Return whether *path* matches, in one pass however many stars there are."""
        first, *rest = self.pieces
        if not rest:
            return path == first if self.to_the_end else path.startswith(first)
        if not path.startswith(first):
            return False
        at, last = len(first), rest.pop() if self.to_the_end else ""
        for piece in rest:
            if SLASH in piece:
                found, length = _first_of(piece, path, at)
            else:
                found, length = path.find(piece, at), len(piece)
            if found < 0:
                return False
            at = found + length
        return not last or any(
            len(path) - len(form) >= start and path.endswith(form)
            for form, start in _forms(last, path, at)
        )


def _forms(piece: str, path: str, at: int) -> Iterator[tuple[str, int]]:
    """Yield the forms of *piece* that may match in *path*, each with the first offset.

    The star before the piece may have matched into the query, where an escaped slash equals a bare
    slash.
    """
    yield piece, at
    if SLASH in piece and (query := path.find("?")) >= 0:
        yield unescape_slashes(piece), max(at, query)


def _first_of(piece: str, path: str, at: int) -> tuple[int, int]:
    found = [(path.find(form, start), len(form)) for form, start in _forms(piece, path, at)]
    return min((one for one in found if one[0] >= 0), key=sum, default=(-1, 0))


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> Pattern:
    """Compile the pattern of a rule, to match the octets of a URL."""
    bare = pattern.removesuffix("$")
    if "*" not in bare:
        only = octets(bare)
        return Pattern((only,), bare != pattern, len(only) + len(pattern) - len(bare))
    pieces = tuple(octets(piece) for piece in bare.split("*"))
    count = sum(map(len, pieces)) + len(pieces) - 1 + len(pattern) - len(bare)
    return Pattern(pieces, bare != pattern, count)


class Matcher(Generic[R]):
    """The indexed rules of one file."""

    def __init__(self, rules: Sequence[R]) -> None:
        prefixes: dict[str, tuple[Weight, R]] = {}
        self._exact: dict[str, tuple[Weight, R]] = {}
        wild: list[tuple[Weight, Pattern, R]] = []
        for rule in rules:
            pattern = compile_pattern(rule.pattern)
            weight = (pattern.octets, rule.allow)
            first, *rest = pattern.pieces
            if any(rest):
                wild.append((weight, pattern, rule))
                continue
            table = self._exact if pattern.to_the_end and not rest else prefixes
            if first not in table or weight > table[first][0]:
                table[first] = weight, rule
        self._prefixes = _Prefixes(prefixes)
        self._wild = sorted(wild, key=lambda one: one[0], reverse=True)
        self._grams = _grams([pattern for _weight, pattern, _rule in self._wild])
        self._sizes = {len(gram) for gram in self._grams if gram}

    def find_rule(self, path: str) -> R | None:
        """Return the heaviest rule that matches the octets *path*, or None.

        Raise TooManyPatterns if there are too many candidates.
        """
        found = [one for one in (self._prefixes.find(path), self._exact.get(path)) if one]
        weight, best = max(found, key=lambda one: one[0], default=((-1, False), None))
        for rank in self._candidates(path):
            heavier, pattern, rule = self._wild[rank]
            if heavier <= weight:
                break
            if pattern.matches(path):
                return rule
        return best

    def _candidates(self, path: str) -> list[int]:
        ranks = set(self._grams.get("", ()))
        for size in self._sizes:
            for at in range(len(path) - size + 1):
                ranks.update(self._grams.get(path[at : at + size], ()))
                if len(ranks) > MAX_TRIES:
                    raise TooManyPatterns
        return sorted(ranks)


class _Prefixes(Generic[R]):
    """Patterns that match as prefixes."""

    def __init__(self, rules: dict[str, tuple[Weight, R]]) -> None:
        self._texts = sorted(rules)
        self._parents: list[int] = []
        """Index of the longest other text that is a prefix of each text; -1: none."""
        self._best: list[tuple[Weight, R]] = []
        """The heaviest rule among each text and its prefixes."""
        open_ = [-1]
        for at, text in enumerate(self._texts):
            while (parent := open_[-1]) >= 0 and not text.startswith(self._texts[parent]):
                open_.pop()
            above = [self._best[parent]] if parent >= 0 else []
            self._best.append(max([rules[text], *above], key=lambda one: one[0]))
            self._parents.append(parent)
            open_.append(at)

    def find(self, path: str) -> tuple[Weight, R] | None:
        """Return the heaviest rule that is a prefix of *path*, with its weight."""
        # All texts between a prefix and a text that it begins have that prefix, too.
        at = bisect_right(self._texts, path) - 1
        while at >= 0 and not path.startswith(self._texts[at]):
            at = self._parents[at]
        return self._best[at] if at >= 0 else None


def _grams(patterns: Sequence[Pattern]) -> dict[str, list[int]]:
    """Index each of *patterns* by the rarest of its octet groups."""
    each = [_grams_of(pattern) for pattern in patterns]
    counts = Counter(gram for grams in each for gram in grams)
    index: defaultdict[str, list[int]] = defaultdict(list)
    for rank, grams in enumerate(each):
        index[min(grams, key=lambda gram: (counts[gram], gram), default="")].append(rank)
    return dict(index)


def _grams_of(pattern: Pattern) -> set[str]:
    # Only octets that are in every form of the pattern.
    parts = [part for piece in pattern.pieces for part in piece.split(SLASH)]
    longest = max(map(len, parts))
    size = next((size for size in GRAM_SIZES if size <= longest), 0)
    return {part[at : at + size] for part in parts for at in range(len(part) - size + 1) if size}


@lru_cache(maxsize=1024)
def url_octets(url: str) -> str:
    """Return the octets of the path and query of *url*."""
    parts = urlsplit(url)
    query = f"?{parts.query}" if "?" in url.partition("#")[0] else ""
    return octets((parts.path or "/") + query)


def octets(text: str) -> str:
    """Return the octets of *text*, a path with an optional query."""
    if not text.isascii():
        text = text.encode("utf-8", "surrogatepass").decode("latin-1")
    if "%" not in text:
        return text
    path, mark, query = _escape.sub(_unescape, text).partition("?")
    return path + mark + unescape_slashes(query)


def literal_pattern(path: str) -> str:
    """Return a pattern that matches only the octets *path*."""
    return _special.sub(lambda octet: f"%{ord(octet[0]):02X}", path) + "$"


def unescape_slashes(octets: str) -> str:
    """Return *octets* in the form of a query, with bare slashes."""
    return octets.replace(SLASH, "/")


def _unescape(escape: re.Match[str]) -> str:
    if not escape[1]:
        return "%25"
    character = chr(int(escape[1], 16))
    return escape[0].upper() if character in _still_escaped else character
