"""Which elements of a set are new, and which are gone, when of the old set 216 bytes were kept.

An invertible Bloom lookup table: each element is added to a cell in each of three parts, where only
the number of the elements and their exclusive or are kept. Two tables are subtracted; what was in
both is then nowhere, a cell with one element left names it, and without that element others name
theirs. It works whatever the size of the sets, up to about fifteen differences (Eppstein, Goodrich,
Uyeda and Varghese, *What's the difference? Efficient set reconciliation without prior context*,
2011).
"""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy
from numpy.typing import NDArray

Elements = NDArray[numpy.uint64]
PART_COUNT, CELLS_PER_PART = 3, 12
CELL_COUNT = PART_COUNT * CELLS_PER_PART
TABLE_LAYOUT = struct.Struct(f"<{CELL_COUNT}B{CELL_COUNT}B{CELL_COUNT}I")
TABLE_SIZE = TABLE_LAYOUT.size
"""Bytes of a table."""

_SALTS = numpy.array([[1 + (salt << 32)] for salt in range(PART_COUNT + 1)], numpy.uint64)
_FIRST_CELLS = numpy.array([[part * CELLS_PER_PART] for part in range(PART_COUNT)], numpy.uint64)
"""Of each part, its first cell."""
_ADDED, _REMOVED = 1, 255
"""What a cell counts, modulo 256, in which one element is left."""


class Difference(NamedTuple):
    """What two sets do not share."""

    added: frozenset[int]
    removed: frozenset[int]


class _Cells(NamedTuple):
    counts: list[int]
    checks: list[int]
    elements: list[int]

    def add(self, element: int, times: int) -> None:
        check = mix(element, PART_COUNT) & 255
        for cell in _cells_of(element):
            self.counts[cell] = (self.counts[cell] + times) & 255
            self.checks[cell] ^= check
            self.elements[cell] ^= element

    def single(self, cell: int) -> bool:
        """Return whether exactly one element is in *cell*, as far as can be seen."""
        element = self.elements[cell]
        counted = self.counts[cell] in (_ADDED, _REMOVED)
        return counted and self.checks[cell] == mix(element, PART_COUNT) & 255


def make_table(elements: Iterable[int]) -> bytes:
    """Return the table of *elements*, a set of integers of 32 bits."""
    given = numpy.fromiter(elements, numpy.uint64)
    mixed = _mix_all(given)
    places = (mixed[:PART_COUNT] % numpy.uint64(CELLS_PER_PART) + _FIRST_CELLS).astype(numpy.intp)
    checks, sums = numpy.zeros(CELL_COUNT, numpy.uint64), numpy.zeros(CELL_COUNT, numpy.uint64)
    numpy.bitwise_xor.at(checks, places, mixed[PART_COUNT])
    numpy.bitwise_xor.at(sums, places, given)
    counts = numpy.bincount(places.ravel(), minlength=CELL_COUNT)
    return (
        counts.astype("u1").tobytes() + checks.astype("u1").tobytes() + sums.astype("<u4").tobytes()
    )


def subtract_tables(before: bytes, after: bytes) -> Difference | None:
    """Return how the set of the table *after* differs from that of *before*; None if by much.

    What it returns may be wrong once in millions of times: nothing must hang on one answer.
    """
    cells = _subtract(TABLE_LAYOUT.unpack(before), TABLE_LAYOUT.unpack(after))
    found: dict[int, set[int]] = {_ADDED: set(), _REMOVED: set()}
    waiting = list(range(CELL_COUNT))
    while waiting:
        if cells.single(cell := waiting.pop()):
            element, sign = cells.elements[cell], cells.counts[cell]
            if element in found[_ADDED] or element in found[_REMOVED]:
                # One of the two was seen wrongly, and they would come and go for ever.
                return None
            found[sign].add(element)
            cells.add(element, -1 if sign == _ADDED else 1)
            waiting.extend(_cells_of(element))
        if len(found[_ADDED]) + len(found[_REMOVED]) > CELL_COUNT:
            return None
    if any(map(any, cells)):
        return None
    return Difference(frozenset(found[_ADDED]), frozenset(found[_REMOVED]))


def _subtract(before: tuple[int, ...], after: tuple[int, ...]) -> _Cells:
    counts = [
        (new - old) & 255 for old, new in zip(before[:CELL_COUNT], after[:CELL_COUNT], strict=True)
    ]
    rest = [old ^ new for old, new in zip(before[CELL_COUNT:], after[CELL_COUNT:], strict=True)]
    return _Cells(counts, rest[:CELL_COUNT], rest[CELL_COUNT:])


def _cells_of(element: int) -> Iterator[int]:
    for part in range(PART_COUNT):
        yield part * CELLS_PER_PART + mix(element, part) % CELLS_PER_PART


def _mix_all(elements: Elements) -> Elements:
    """Return what `mixed` does of all *elements*, a row for each salt; numbers of 64 bits lose what
    is beyond."""
    mixed = (elements + _SALTS) * numpy.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> numpy.uint64(29)) * numpy.uint64(0xBF58476D1CE4E5B9)
    return mixed >> numpy.uint64(32)


def mix(element: int, salt: int) -> int:
    """Return 32 bits that say nothing of *element*, others for each *salt*."""
    mixed = (element + 1 + (salt << 32)) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
    return (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9 >> 32 & 0xFFFFFFFF
