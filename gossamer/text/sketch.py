"""The amount of change between two texts, from a sketch of 64 bytes of each.

The words of a text are a set. The third occurrence of a word is another element than the second.
For each of 512 random orders of all elements, the sketch stores a bit of the text's first element.
Two texts agree in a bit if they share that element, and otherwise in half of the cases: b-bit
minwise hashing with b = 1, which has the smallest error for its size if texts are similar (Li and
König, *b-Bit Minwise Hashing*, 2010). One hash deals the elements into 512 bins to make the orders
(Li, Owen and Zhang, *One Permutation Hashing*, 2012). Bins that stay empty are filled in later
rounds with another hash, so that short texts fill them, too. The standard deviation of the estimate
is 0.015 if a tenth of the words differ, and at most 0.075.

All words are hashed at once: counting and hashing them one by one takes three times as long.
"""

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.typing import NDArray

_Array = NDArray[Any]

SKETCH_BITS = 512
MIN_CHANGE = 1 / SKETCH_BITS
"""The estimate for a change that is too small to measure. It is never 0."""

MAX_EMPTY_BINS = SKETCH_BITS // 64
"""Most bins that may stay empty. Filling the last bins would take a round each."""

MIN_DEALT_ELEMENTS = 8 * SKETCH_BITS
"""Elements that nearly always fill enough bins. Fewer are dealt in several rounds at once."""

_MIX, _SPREAD = numpy.uint64(0x9E3779B97F4A7C15), numpy.uint64(0xBF58476D1CE4E5B9)
_STEP = numpy.uint64(0x94D049BB133111EB)
_LAST = numpy.uint64((1 << 64) - 1)
_HALF, _RANK = numpy.uint64(32), numpy.uint64(55)
"""Shifts of a hash. The bits from _RANK are the bin, and those below are the order in the bin."""
_SPACE = ord(" ")


def make_sketch(pieces: Sequence[str]) -> bytes:
    """Return the sketch of a text with these *pieces* in 64 bytes; b"" if it has no words.

    The white space of the pieces is folded.
    """
    if not any(pieces):
        return b""
    elements = _make_elements(_hash_words(" ".join((*pieces, "")).encode(errors="replace")))
    rounds = 1 + MIN_DEALT_ELEMENTS // elements.size
    while True:
        first, since = _deal_elements(elements, rounds)
        if numpy.count_nonzero(since < rounds) >= SKETCH_BITS - MAX_EMPTY_BINS:
            return _pack_sketch(first, since)
        rounds *= 2


def _pack_sketch(first: _Array, since: _Array) -> bytes:
    """Return the sketch of bins with their *first* element, which they have *since* a round."""
    last = numpy.sort(since)[SKETCH_BITS - MAX_EMPTY_BINS - 1]
    sketch = (first & 1).astype(bool) & (since <= last)
    return numpy.packbits(sketch, bitorder="little").tobytes()


def estimate_change(before: bytes, after: bytes) -> float:
    """Return the amount of change between two texts that differ, by their sketches.

    The result is the share of the words that are in one text only, from nearly 0 to 1. It is never
    0, because the order of the words may have changed.
    """
    if not before or not after:
        return 1.0
    differing = (int.from_bytes(before, "big") ^ int.from_bytes(after, "big")).bit_count()
    # The share of common elements. Without any, half of the bits agree by chance.
    shared = max(0.0, 1 - 2 * differing / SKETCH_BITS)
    return max(MIN_CHANGE, 1 - 2 * shared / (1 + shared))


def _hash_words(text: bytes) -> _Array:
    """Return the hash of each word of *text*, in which a space follows each word.

    A word is read by eight octets, and its hash is the sum of their hashes.
    """
    ends = numpy.flatnonzero(numpy.frombuffer(text, numpy.uint8) == _SPACE) + 1
    starts = numpy.append(0, ends[:-1])
    counts = (ends - starts + 7) // 8
    firsts = counts.cumsum() - counts
    places = 8 * numpy.arange(counts.sum()) + numpy.repeat(starts - 8 * firsts, counts)
    left = numpy.repeat(ends, counts) - places
    octets = numpy.ndarray(len(text), "<u8", text + bytes(7), strides=(1,))[places]
    # Octets of the next words are shifted out.
    word = octets << (64 - 8 * numpy.minimum(left, 8)).astype(numpy.uint64)
    mixed = word + left.astype(numpy.uint64) * _STEP
    mixed = (mixed ^ mixed >> _HALF) * _MIX
    hashes: _Array = numpy.add.reduceat((mixed ^ mixed >> _HALF) * _SPREAD, firsts)
    return hashes


def _make_elements(hashes: _Array) -> _Array:
    """Return an element for each of *hashes*, another one for each occurrence of a hash."""
    hashes, at = numpy.sort(hashes), numpy.arange(hashes.size, dtype=numpy.uint64)
    firsts = at.copy()
    firsts[1:][hashes[1:] == hashes[:-1]] = 0
    elements: _Array = hashes + (at - numpy.maximum.accumulate(firsts)) * _MIX
    return elements


def _deal_elements(elements: _Array, rounds: int) -> tuple[_Array, _Array]:
    """Return the first element of each bin, and its round; *rounds* for an empty bin."""
    salts = numpy.arange(1, rounds + 1, dtype=numpy.uint64) * _STEP
    mixed = (elements + salts[:, None]) * _MIX
    dealt = ((mixed ^ mixed >> _HALF) * _SPREAD).ravel()
    bins = (dealt >> _RANK).astype(numpy.intp)
    # Finding the minimum of each bin takes a fifth of the time of sorting.
    nth, since = numpy.repeat(numpy.arange(rounds), elements.size), numpy.full(SKETCH_BITS, rounds)
    numpy.minimum.at(since, bins, nth)
    earliest, first = nth == since[bins], numpy.full(SKETCH_BITS, _LAST)
    numpy.minimum.at(first, bins[earliest], dealt[earliest])
    return first, since
