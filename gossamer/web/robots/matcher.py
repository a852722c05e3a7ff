"""Which of very many patterns decides about a path: the one with the most octets (RFC 9309, 2.2.2).

A robots.txt may have 40,000 rules, and a page 10,000 links to their host. Patterns without a star
before their end, which nearly all are, match what begins with them: they are sorted, and each knows
the heaviest of those that begin it, so that one bisection finds the answer. Each of the others is
looked up by the rarest four octets without which it cannot match, and is tried in one pass over the
path however many stars it has. A file in which very many come into question all the same was made
to hold us up: they are not tried.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from gossamer.web.robots.octets import SLASH, octets, slashes_undone

GRAMS = (4, 2, 1)
"""By how many octets a pattern is looked up: the first of these that it has in a row."""


TRIES = 500
"""How many patterns with stars are tried on one path."""


class Undecided(Exception):
    """More patterns come into question than are tried."""


class Patterned(Protocol):
    """A rule."""

    @property
    def allow(self) -> bool:
        """Whether it is an Allow, which goes before a Disallow of as many octets."""

    @property
    def pattern(self) -> str:
        """A path, in which `*` stands for anything, and `$` at the end for the end."""


R = TypeVar("R", bound=Patterned)
Weight = tuple[int, bool]
"""Octets, and whether it allows: the heaviest rule that matches decides."""


class Pattern(NamedTuple):
    """A rule's path, compiled: the octets between its stars."""

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
        at, last = len(first), others.pop() if self.to_the_end else ""
        for piece in others:
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
    """Yield how *piece* may be spelt in *path*, and from where on: the star before it may have
    reached into the query, where an escaped slash is the same as a bare one."""
    yield piece, at
    if SLASH in piece and (query := path.find("?")) >= 0:
        yield slashes_undone(piece), max(at, query)


def _first_of(piece: str, path: str, at: int) -> tuple[int, int]:
    found = [(path.find(form, start), len(form)) for form, start in _forms(piece, path, at)]
    return min((one for one in found if one[0] >= 0), key=sum, default=(-1, 0))


def compiled(pattern: str) -> Pattern:
    """Return the pattern of a rule, ready to match the octets of a URL."""
    bare = pattern.removesuffix("$")
    if "*" not in bare:
        only = octets(bare)
        return Pattern((only,), bare != pattern, len(only) + len(pattern) - len(bare))
    pieces = tuple(octets(piece) for piece in bare.split("*"))
    count = sum(map(len, pieces)) + len(pieces) - 1 + len(pattern) - len(bare)
    return Pattern(pieces, bare != pattern, count)


class Matcher(Generic[R]):
    """The rules of one file, ready to be asked about any number of paths."""

    def __init__(self, rules: Sequence[R]) -> None:
        prefixes: dict[str, tuple[Weight, R]] = {}
        self._exact: dict[str, tuple[Weight, R]] = {}
        wild: list[tuple[Weight, Pattern, R]] = []
        for rule in rules:
            pattern = compiled(rule.pattern)
            weight = (pattern.octets, rule.allow)
            first, *others = pattern.pieces
            if any(others):
                wild.append((weight, pattern, rule))
                continue
            known = self._exact if pattern.to_the_end and not others else prefixes
            if first not in known or weight > known[first][0]:
                known[first] = weight, rule
        self._prefixes = _Prefixes(prefixes)
        self._wild = sorted(wild, key=lambda one: one[0], reverse=True)
        self._grams = _grams([pattern for _weight, pattern, _rule in self._wild])
        self._sizes = {len(gram) for gram in self._grams if gram}

    def deciding(self, path: str) -> R | None:
        """Return the heaviest rule that matches the octets *path*, or None; raise Undecided if too
        many come into question."""
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
                if len(ranks) > TRIES:
                    raise Undecided
        return sorted(ranks)


class _Prefixes(Generic[R]):
    """Patterns that match whatever begins with them."""

    def __init__(self, rules: dict[str, tuple[Weight, R]]) -> None:
        self._texts = sorted(rules)
        self._parents: list[int] = []
        """Of each the longest other one that begins it; -1: none does."""
        self._best: list[tuple[Weight, R]] = []
        """Of each the heaviest among itself and all that begin it."""
        open_ = [-1]
        for at, text in enumerate(self._texts):
            while (parent := open_[-1]) >= 0 and not text.startswith(self._texts[parent]):
                open_.pop()
            above = [self._best[parent]] if parent >= 0 else []
            self._best.append(max([rules[text], *above], key=lambda one: one[0]))
            self._parents.append(parent)
            open_.append(at)

    def find(self, path: str) -> tuple[Weight, R] | None:
        """Return the heaviest that begins *path*, with its weight."""
        # What lies between a text and one that it begins begins with it, too.
        at = bisect_right(self._texts, path) - 1
        while at >= 0 and not path.startswith(self._texts[at]):
            at = self._parents[at]
        return self._best[at] if at >= 0 else None


def _grams(patterns: Sequence[Pattern]) -> dict[str, list[int]]:
    """Return under which octets to look for each of *patterns*: the rarest of its own."""
    each = [_grams_of(pattern) for pattern in patterns]
    counts = Counter(gram for grams in each for gram in grams)
    index: defaultdict[str, list[int]] = defaultdict(list)
    for rank, grams in enumerate(each):
        index[min(grams, key=lambda gram: (counts[gram], gram), default="")].append(rank)
    return dict(index)


def _grams_of(pattern: Pattern) -> set[str]:
    # Those that every spelling of the pattern has.
    parts = [part for piece in pattern.pieces for part in piece.split(SLASH)]
    longest = max(map(len, parts))
    size = next((size for size in GRAMS if size <= longest), 0)
    return {part[at : at + size] for part in parts for at in range(len(part) - size + 1) if size}
