"""Compares two stored texts: lines first, then the words of the lines that differ.

The algorithm is Myers' (*An O(ND) Difference Algorithm and Its Variations*, 1986): its time grows
with the number of differences. A page may be hostile, so a comparison has a budget of steps. A part
whose comparison needs more steps counts as replaced as a whole.
"""

import re
from array import array
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from msgspec import Struct

MAX_STEPS = 1_000_000
"""Steps of a comparison: at most half a second."""
SPACELESS_SCRIPTS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\uabff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Chinese, Japanese and Yi: each character counts as a word."""
_word = rf"(?:(?![{SPACELESS_SCRIPTS}])\w)+|[^\s]"
WORDS = re.compile(rf"(?:{_word})\s*|\s+")
"""The words of a text, each with the white space behind it."""
MARKUP = re.compile(rf"(?:<[^<>\s][^<>]*>|{_word})\s*|\s+")
"""The tags and words of markup."""


class Kind(StrEnum):
    """Which of the two texts has a piece."""

    EQUAL = "equal"
    REMOVED = "removed"
    ADDED = "added"


class Piece(Struct, frozen=True):
    """Words in a row that both texts have, or one of them."""

    kind: Kind
    text: str


class Difference(Struct, frozen=True):
    """The pieces of two texts, in order; removed ones come before those that replace them."""

    pieces: tuple[Piece, ...]
    change: float
    """The share of words that differ, from 0 (equal) to 1 (no word is equal)."""
    is_complete: bool
    """Whether all words were compared; false if a part counts as replaced to save time."""


class Run(NamedTuple):
    """Equal items: where they begin in both lists, and their number."""

    old: int
    new: int
    length: int


class Budget:
    """The steps that a comparison may still take."""

    def __init__(self, steps: int) -> None:
        self.steps = steps
        self.is_exceeded = False


def compare_texts(
    old: str, new: str, words: re.Pattern[str] = WORDS, max_steps: int = MAX_STEPS
) -> Difference:
    """Return the difference of two texts in *words*, which match all of a text."""
    budget = Budget(max_steps)
    tokens = [*_compare_lines(old.splitlines(True), new.splitlines(True), words, budget)]
    pieces, count = list[Piece](), dict.fromkeys(Kind, 0)
    for kind, group in groupby(tokens, key=lambda token: token[0]):
        parts = [text for _, text in group]
        count[kind] += sum(bool(part.strip()) for part in parts)
        pieces.append(Piece(kind, "".join(parts)))
    total = 2 * count[Kind.EQUAL] + count[Kind.REMOVED] + count[Kind.ADDED]
    change = 1 - 2 * count[Kind.EQUAL] / total if total else 0.0
    return Difference(tuple(pieces), change, not budget.is_exceeded)


def _compare_lines(
    old: list[str], new: list[str], words: re.Pattern[str], budget: Budget
) -> Iterator[tuple[Kind, str]]:
    for kind, removed, added in _blocks(old, new, budget):
        if kind is Kind.EQUAL:
            yield from ((kind, word) for line in added for word in words.findall(line))
            continue
        parts = words.findall("".join(removed)), words.findall("".join(added))
        for part, before, after in _blocks(*parts, budget):
            if part is Kind.EQUAL:
                yield from ((part, word) for word in after)
            else:
                yield from ((Kind.REMOVED, word) for word in before)
                yield from ((Kind.ADDED, word) for word in after)


def _blocks(
    old: list[str], new: list[str], budget: Budget
) -> Iterator[tuple[Kind, list[str], list[str]]]:
    """Yield equal items, and the items between them, as the kind and the items of both lists.

    The kind of items that differ is `removed`, whichever list they are in.
    """
    at_old = at_new = 0
    for run in [*find_runs(old, new, budget), Run(len(old), len(new), 0)]:
        if at_old < run.old or at_new < run.new:
            yield Kind.REMOVED, old[at_old : run.old], new[at_new : run.new]
        at_old, at_new = run.old + run.length, run.new + run.length
        if run.length:
            yield Kind.EQUAL, old[run.old : at_old], new[run.new : at_new]


def find_runs(old: Sequence[str], new: Sequence[str], budget: Budget) -> list[Run]:
    """Return the runs of equal items, in order. White space around an item does not count.

    If *budget* is exceeded, only the equal items at both ends are found.
    """
    numbers: dict[str, int] = {}
    left = [numbers.setdefault(item.strip(), len(numbers)) for item in old]
    right = [numbers.setdefault(item.strip(), len(numbers)) for item in new]
    shorter = min(len(left), len(right))
    start = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    rest = shorter - start
    end = next((at for at in range(rest) if left[-1 - at] != right[-1 - at]), rest)
    middle = left[start : len(left) - end], right[start : len(right) - end]
    inner = _myers(*middle, budget) if all(middle) else []
    found = [
        Run(0, 0, start),
        *(Run(run.old + start, run.new + start, run.length) for run in inner),
        Run(len(left) - end, len(right) - end, end),
    ]
    return [run for run in found if run.length]


def _myers(old: list[int], new: list[int], budget: Budget) -> list[Run]:
    ends = {1: 0}
    """Diagonal (index in *old* minus index in *new*) → the furthest index in *old* on it."""
    trace: list[tuple[int, array[int]]] = []
    for edits in range(len(old) + len(new) + 1):
        # Diagonals beyond the ends of a list have no items.
        low = -edits + 2 * max(0, edits - len(new))
        high = edits - 2 * max(0, edits - len(old))
        furthest = array("q")
        for diagonal in range(low, high + 1, 2):
            begin = x = max(ends.get(diagonal + 1, -1), ends.get(diagonal - 1, -2) + 1)
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            ends[diagonal] = x
            furthest.append(x)
            budget.steps -= 1 + x - begin
            if x >= len(old) and y >= len(new):
                return _trace_back(len(old), len(new), trace)
            if budget.steps < 0:
                budget.is_exceeded = True
                return []
        trace.append((low, furthest))
    return []


def _trace_back(x: int, y: int, trace: list[tuple[int, "array[int]"]]) -> list[Run]:
    """Return the runs on the shortest path to the ends *x* and *y* of both lists."""
    runs = list[Run]()
    for low, furthest in reversed(trace):
        diagonal = x - y
        places = (diagonal + 1 - low) // 2, (diagonal - 1 - low) // 2
        down, right = (furthest[at] if 0 <= at < len(furthest) else -2 for at in places)
        begin = max(down, right + 1)
        runs.append(Run(begin, begin - diagonal, x - begin))
        x = down if down >= right + 1 else right
        y = x - diagonal - 1 if down >= right + 1 else x - diagonal + 1
    runs.append(Run(0, 0, x))
    return [run for run in reversed(runs) if run.length]
