"""The elements that were added to a set, and removed from it, if 216 bytes of the old set are left.

An invertible Bloom lookup table adds each element to one cell in each of three parts. A cell stores
the number of its elements and their exclusive or. After a subtraction of two tables, elements of
both sets cancel out. A cell with a single element names it, and removing that element from its
other cells may leave single elements there. Up to about fifteen differences are found, whatever the
size of the sets (Eppstein, Goodrich, Uyeda and Varghese, *What's the difference? Efficient set
reconciliation without prior context*, 2011).
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
"""The first cell of each part."""
_ADDED, _REMOVED = 1, 255
"""Counts, modulo 256, of a cell with a single element."""


class Difference(NamedTuple):
    """The elements that two sets do not share."""

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

    def has_single(self, cell: int) -> bool:
        """Return whether *cell* seems to contain a single element."""
        element = self.elements[cell]
        is_counted = self.counts[cell] in (_ADDED, _REMOVED)
        return is_counted and self.checks[cell] == mix(element, PART_COUNT) & 255


def make_table(elements: Iterable[int]) -> bytes:
    """Return the table of *elements*, a set of integers of 32 bits."""
    values = numpy.fromiter(elements, numpy.uint64)
    hashes = _mix_all(values)
    cells = (hashes[:PART_COUNT] % numpy.uint64(CELLS_PER_PART) + _FIRST_CELLS).astype(numpy.intp)
    checks, sums = numpy.zeros(CELL_COUNT, numpy.uint64), numpy.zeros(CELL_COUNT, numpy.uint64)
    numpy.bitwise_xor.at(checks, cells, hashes[PART_COUNT])
    numpy.bitwise_xor.at(sums, cells, values)
    counts = numpy.bincount(cells.ravel(), minlength=CELL_COUNT)
    return (
        counts.astype("u1").tobytes() + checks.astype("u1").tobytes() + sums.astype("<u4").tobytes()
    )


def subtract_tables(before: bytes, after: bytes) -> Difference | None:
    """Return the difference of the sets of two tables; None if there are too many differences.

    The result is wrong once in millions of times, so a single result must not matter.
    """
    cells = _subtract(TABLE_LAYOUT.unpack(before), TABLE_LAYOUT.unpack(after))
    found: dict[int, set[int]] = {_ADDED: set(), _REMOVED: set()}
    pending = list(range(CELL_COUNT))
    while pending:
        if cells.has_single(cell := pending.pop()):
            element, sign = cells.elements[cell], cells.counts[cell]
            if element in found[_ADDED] or element in found[_REMOVED]:
                # One of the two is a hash collision, and the loop would not end.
                return None
            found[sign].add(element)
            cells.add(element, -1 if sign == _ADDED else 1)
            pending.extend(_cells_of(element))
        if len(found[_ADDED]) + len(found[_REMOVED]) > CELL_COUNT:
            return None
    if any(map(any, cells)):
        return None
    return Difference(frozenset(found[_ADDED]), frozenset(found[_REMOVED]))


def _subtract(before: tuple[int, ...], after: tuple[int, ...]) -> _Cells:
    old_counts, new_counts = before[:CELL_COUNT], after[:CELL_COUNT]
    counts = [(new - old) & 255 for old, new in zip(old_counts, new_counts, strict=True)]
    rest = [old ^ new for old, new in zip(before[CELL_COUNT:], after[CELL_COUNT:], strict=True)]
    return _Cells(counts, rest[:CELL_COUNT], rest[CELL_COUNT:])


def _cells_of(element: int) -> Iterator[int]:
    for part in range(PART_COUNT):
        yield part * CELLS_PER_PART + mix(element, part) % CELLS_PER_PART


def _mix_all(elements: Elements) -> Elements:
    """Return `mix` of all *elements*, in one row per salt. 64-bit integers overflow as intended."""
    mixed = (elements + _SALTS) * numpy.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> numpy.uint64(29)) * numpy.uint64(0xBF58476D1CE4E5B9)
    return mixed >> numpy.uint64(32)


def mix(element: int, salt: int) -> int:
    """Return a hash of 32 bits of *element* and *salt*."""
    mixed = (element + 1 + (salt << 32)) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
    return (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9 >> 32 & 0xFFFFFFFF
