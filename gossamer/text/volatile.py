"""Ignores changes that every visit brings: dates, counters, advertisements.

A page is compared only with its own versions. If few of its blocks are new, each run of new blocks
is between two old blocks, which are its place. A place whose blocks differ visit after visit is
volatile, and its content is ignored in the comparison. A place that stays equal often enough is no
longer volatile. At most as many blocks of a place are ignored as were seen to change there, three
at most, and at most a quarter of the page in all. So any other change counts, however small, also
next to an advertisement.

The cost: a part that really changes at every visit, such as the newest headline or a price, is
ignored after three visits if it is as small as a date. It counts again once visits see it
unchanged. So this decides when a page is visited again, and not whether its text is published.

The new and the old blocks are found although only 216 bytes of the old version's blocks are left:
an invertible Bloom lookup table. It adds each element to one cell in each of three parts. A cell
stores the number of its elements and their exclusive or. After a subtraction of two tables,
elements of both sets cancel out. A cell with a single element names it, and removing that element
from its other cells may leave single elements there. Up to about fifteen differences are found,
whatever the size of the sets (Eppstein, Goodrich, Uyeda and Varghese, *What's the difference?
Efficient set reconciliation without prior context*, 2011).
"""

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
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
_MIX, _SPREAD = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9
_START, _END = 0, 1
"""Stand for the blocks before the first and after the last."""
MAX_PLACE_BLOCKS = 3
"""Most blocks of a place."""
VOLATILE_SCORE = 3
"""A place is volatile if this many more visits saw it changed than unchanged."""
MAX_SCORE = 5
"""Highest score of a place, so that a place that stays equal soon is not volatile."""
MAX_PLACES = 12
"""Most places that are stored of a page."""
MAX_IGNORED_DIVISOR = 4
"""At most one of this many blocks of a page is ignored."""
_DIGEST_SIZE = 8
_PLACE_LAYOUT = struct.Struct("<IB")
MAX_STATE_SIZE = _DIGEST_SIZE + TABLE_SIZE + MAX_PLACES * _PLACE_LAYOUT.size
"""Most bytes that are stored of a page."""


class Place(NamedTuple):
    """The history of the blocks between two given blocks."""

    score: int
    run: int
    """The most blocks that were seen to change."""


class Comparison(NamedTuple):
    """The result of a comparison with the previous version."""

    same: bool
    """Whether all differences are volatile; False for the first version."""
    state: bytes
    """The state for the comparison with the next version: at most 284 bytes."""


class _State(NamedTuple):
    digest: bytes
    """The digest of all blocks that are not volatile."""
    table: bytes
    """The table of all blocks."""
    places: dict[int, Place]


def compare(state: bytes, blocks: Sequence[int]) -> Comparison:
    """Compare a version with the previous versions, which left *state*; b"" for the first version.

    *blocks* are integers of 32 bits, in the order of the page. A version without blocks equals no
    other and leaves no state. Equal arguments yield equal results, so a version that is processed
    again with its previous state gets the same verdict.
    """
    if not blocks:
        return Comparison(False, b"")
    numbered = _number_repeats(blocks)
    table = make_table(numbered)
    if not state:
        return Comparison(False, _pack_state(_State(_digest_blocks(numbered), table, {})))
    previous = _unpack_state(state)
    same = previous.digest == _digest_blocks(_drop_volatile(numbered, previous.places))
    places = _learn_places(previous, numbered, table)
    digest = _digest_blocks(_drop_volatile(numbered, places))
    return Comparison(same, _pack_state(_State(digest, table, places)))


def _number_repeats(blocks: Sequence[int]) -> list[int]:
    """Return hashes of the blocks and their occurrence numbers, so that equal blocks differ."""
    counts, numbers = dict[int, int](), list[int]()
    for block in blocks:
        counts[block] = number = counts.get(block, 0) + 1
        numbers.append(number)
    # `_hash_pair` of all blocks at once.
    high, low = numpy.array(blocks, numpy.uint64), numpy.array(numbers, numpy.uint64)
    hashes: list[int] = _scramble_all(high << numpy.uint64(32) | low).tolist()
    return hashes


def _learn_places(previous: _State, numbered: Sequence[int], table: bytes) -> dict[int, Place]:
    difference = subtract_tables(previous.table, table)
    if difference is None:
        return previous.places
    changed = dict(_find_runs(numbered, difference.added))
    places = {key: _score(previous.places.get(key), run) for key, run in changed.items()}
    for key, place in previous.places.items():
        if key not in changed and place.score > 1:
            places[key] = place._replace(score=place.score - 1)
    ranked = sorted(places.items(), key=lambda item: (-item[1].score, item[0]))
    return dict(ranked[:MAX_PLACES])


def _score(place: Place | None, run: int) -> Place:
    # A longer run contains something else, so the place is learned from the beginning.
    if place is None or run > place.run:
        return Place(1, run)
    return place._replace(score=min(MAX_SCORE, place.score + 1))


def _find_runs(numbered: Sequence[int], added: frozenset[int]) -> Iterator[tuple[int, int]]:
    """Yield the places of new blocks, and the number of blocks in each."""
    before, run = _START, 0
    for block in (*numbered, _END):
        if block in added:
            run += 1
            continue
        if 0 < run <= MAX_PLACE_BLOCKS:
            yield _hash_pair(before, block), run
        before, run = block, 0


def _drop_volatile(numbered: Sequence[int], places: Mapping[int, Place]) -> Sequence[int]:
    """Return *numbered* without the blocks in volatile places, unless these are too many."""
    volatile = {key: place.run for key, place in places.items() if place.score >= VOLATILE_SCORE}
    if not volatile:
        return numbered
    framed = [_START, *numbered, _END]
    lasting, at = [], 0
    while at < len(framed):
        lasting.append(framed[at])
        at = _skip_volatile(framed, at, volatile)
    ignored = len(framed) - len(lasting)
    return lasting[1:-1] if ignored * MAX_IGNORED_DIVISOR <= len(numbered) else numbered


def _skip_volatile(framed: Sequence[int], at: int, volatile: Mapping[int, int]) -> int:
    """Return the index after block *at* and after the longest volatile place that follows it."""
    for run in range(min(MAX_PLACE_BLOCKS, len(framed) - at - 2), 0, -1):
        end = at + run + 1
        if volatile.get(_hash_pair(framed[at], framed[end]), 0) >= run:
            return end
    return at + 1


def _hash_pair(first: int, second: int) -> int:
    return _scramble(first << 32 | second)


def _digest_blocks(blocks: Sequence[int]) -> bytes:
    packed = struct.pack(f"<{len(blocks)}I", *blocks)
    return blake2b(packed, digest_size=_DIGEST_SIZE).digest()


def _pack_state(state: _State) -> bytes:
    places = (
        _PLACE_LAYOUT.pack(key, place.score << 4 | place.run) for key, place in state.places.items()
    )
    return state.digest + state.table + b"".join(places)


def _unpack_state(state: bytes) -> _State:
    table = state[_DIGEST_SIZE : _DIGEST_SIZE + TABLE_SIZE]
    pairs = _PLACE_LAYOUT.iter_unpack(state[_DIGEST_SIZE + TABLE_SIZE :])
    places = {key: Place(packed >> 4, packed & 15) for key, packed in pairs}
    return _State(state[:_DIGEST_SIZE], table, places)


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
    # `mix` of all elements, in one row per salt.
    hashes = _scramble_all(values + _SALTS)
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


def mix(element: int, salt: int) -> int:
    """Return a hash of 32 bits of *element* and *salt*."""
    return _scramble(element + 1 + (salt << 32))


def _scramble(value: int) -> int:
    """Return a hash of 32 bits of *value*, which has 64 bits."""
    mixed = value * _MIX & (1 << 64) - 1
    return (mixed ^ mixed >> 29) * _SPREAD >> 32 & 0xFFFFFFFF


def _scramble_all(values: Elements) -> Elements:
    """Return `_scramble` of all *values*. 64-bit integers overflow as intended."""
    mixed = values * numpy.uint64(_MIX)
    mixed = (mixed ^ mixed >> numpy.uint64(29)) * numpy.uint64(_SPREAD)
    return mixed >> numpy.uint64(32)
