"""Tells changes that mean something from those that every visit brings: dates, counters, adverts.

Nothing is known of a page but its own versions. Where few blocks of it are new, each run of them
stands between two blocks that are not: its place. A place whose blocks are other ones visit after
visit is volatile, and what stands in it is left out of the comparison; one that stays the same
often enough is so no longer. A place is small: it is left out only while it holds no more blocks
than were seen to change there, three at most, and all places together not more than a quarter of
the page. So whatever else changes is a change, however small it is, and so is what is written
beside an advert.

The price: a part that changes at every visit for its own sake, the newest headline or a price,
counts no more after three visits if it is as small as a date. It counts again once visits see it
unchanged.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy

from gossamer.text.difference import TABLE_SIZE, make_table, subtract_tables

MAX_PLACE_BLOCKS = 3
"""Most blocks of a place."""
VOLATILE_SCORE = 3
"""How many more visits must have seen a place changed than unchanged until it is volatile."""
MAX_SCORE = 5
"""Beyond this more changes do not count: a place that stays the same is soon believed."""
MAX_PLACES = 12
"""Places that are remembered of a page."""
MAX_IGNORED_DIVISOR = 4
"""One part in so many of a page may be left out."""

_DIGEST_SIZE = 8
_PLACE_LAYOUT = struct.Struct("<IB")
MAX_STATE_SIZE = _DIGEST_SIZE + TABLE_SIZE + MAX_PLACES * _PLACE_LAYOUT.size
"""Most bytes that are kept of a page."""
_MIX, _SPREAD = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9
_START, _END = 0, 1
"""Stand before the first block and behind the last one."""


class Place(NamedTuple):
    """How often what stands between two blocks was another one."""

    score: int
    run: int
    """The most blocks that were seen to change in it."""


class Comparison(NamedTuple):
    """What a version of a page is beside the one before it."""

    same: bool
    """Whether nothing differs but what is volatile; False for the first version."""
    state: bytes
    """What is to be kept for the next version: at most 284 bytes."""


class _State(NamedTuple):
    digest: bytes
    """Of what is not volatile."""
    table: bytes
    """Of all blocks."""
    places: dict[int, Place]


def compare(state: bytes, blocks: Sequence[int]) -> Comparison:
    """Compare the version of *blocks* with those that left *state*; b"" if there was none.

    A version without blocks is the same as none, and nothing is kept of it. Blocks are integers of
    32 bits, in the order of the page. The same arguments have the same result, so a version that is
    judged again, with the state from before it, is judged alike.
    """
    if not blocks:
        return Comparison(False, b"")
    numbered = _number_repeats(blocks)
    table = make_table(numbered)
    if not state:
        return Comparison(False, _pack_state(_State(_digest_blocks(numbered), table, {})))
    known = _unpack_state(state)
    same = known.digest == _digest_blocks(_drop_volatile(numbered, known.places))
    places = _learn_places(known, numbered, table)
    return Comparison(
        same, _pack_state(_State(_digest_blocks(_drop_volatile(numbered, places)), table, places))
    )


def _number_repeats(blocks: Sequence[int]) -> list[int]:
    """Tell equal blocks apart by which of them they are."""
    seen, nths = dict[int, int](), list[int]()
    for block in blocks:
        seen[block] = nth = seen.get(block, 0) + 1
        nths.append(nth)
    # What `_pair` does, of all at once.
    pairs = numpy.array(blocks, numpy.uint64) << numpy.uint64(32) | numpy.array(nths, numpy.uint64)
    mixed = pairs * numpy.uint64(_MIX)
    mixed = (mixed ^ mixed >> numpy.uint64(29)) * numpy.uint64(_SPREAD)
    numbered: list[int] = (mixed >> numpy.uint64(32)).tolist()
    return numbered


def _learn_places(known: _State, numbered: Sequence[int], table: bytes) -> dict[int, Place]:
    found = subtract_tables(known.table, table)
    if found is None:
        return known.places
    changed = dict(_find_runs(numbered, found.added))
    places = {key: _score(known.places.get(key), run) for key, run in changed.items()}
    for key, place in known.places.items():
        if key not in changed and place.score > 1:
            places[key] = place._replace(score=place.score - 1)
    kept = sorted(places.items(), key=lambda one: (-one[1].score, one[0]))
    return dict(kept[:MAX_PLACES])


def _score(place: Place | None, run: int) -> Place:
    # What is longer than before holds something else besides: it is learnt anew.
    if place is None or run > place.run:
        return Place(1, run)
    return place._replace(score=min(MAX_SCORE, place.score + 1))


def _find_runs(numbered: Sequence[int], added: frozenset[int]) -> Iterator[tuple[int, int]]:
    """Yield where new blocks stand, and how many there."""
    before, run = _START, 0
    for block in (*numbered, _END):
        if block in added:
            run += 1
            continue
        if 0 < run <= MAX_PLACE_BLOCKS:
            yield _hash_pair(before, block), run
        before, run = block, 0


def _drop_volatile(numbered: Sequence[int], places: Mapping[int, Place]) -> Sequence[int]:
    """Return *numbered* without what stands in volatile places, unless that is too much of it."""
    volatile = {key: place.run for key, place in places.items() if place.score >= VOLATILE_SCORE}
    if not volatile:
        return numbered
    framed = [_START, *numbered, _END]
    kept, at = [], 0
    while at < len(framed):
        kept.append(framed[at])
        at = _skip_volatile(framed, at, volatile)
    hidden = len(framed) - len(kept)
    return kept[1:-1] if hidden * MAX_IGNORED_DIVISOR <= len(numbered) else numbered


def _skip_volatile(framed: Sequence[int], at: int, volatile: Mapping[int, int]) -> int:
    """Return where to go on behind the block *at*: behind the longest volatile place there."""
    for run in range(min(MAX_PLACE_BLOCKS, len(framed) - at - 2), 0, -1):
        end = at + run + 1
        if volatile.get(_hash_pair(framed[at], framed[end]), 0) >= run:
            return end
    return at + 1


def _hash_pair(first: int, second: int) -> int:
    mixed = (first << 32 | second) * _MIX & (1 << 64) - 1
    return (mixed ^ mixed >> 29) * _SPREAD >> 32 & 0xFFFFFFFF


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
