"""The simhash of a text: 64 bits, few of which differ where texts do in little.

By the definition of the package `simhash`: of the lower-case letters and digits of a text every
four in a row are a feature, which votes on each bit as often as it comes, by its MD5. The package
fails where a feature comes more than 255 times (under NumPy 2), and takes ten times as long: most
features of a page were met on pages before it, and what they hash to is kept.
"""

import re
from hashlib import md5
from typing import Any

import numpy
from numpy.typing import NDArray

_Array = NDArray[Any]

LIMIT = 200_000
"""Characters of a text that are looked at: 0.1 s at worst."""
WIDTH = 4
BYTES = 8
FEW = 255
"""Bits whose sum fits a byte."""
PLACES = 1 << 18
"""Features that are kept, in 6 MB: of pages in one language they are nine in ten of the next."""
LETTERS = 6
"""Of which one word is taken for granted, in scripts that set no spaces between them."""

_HALF = numpy.uint64(32)
_MIX, _SPREAD = numpy.uint64(0x9E3779B97F4A7C15), numpy.uint64(0xBF58476D1CE4E5B9)
_TO_PLACE = numpy.uint64(64 - 18)
_SHIFTS = numpy.arange(7, -1, -1, dtype=numpy.uint64)
_LOWEST = numpy.uint64(0x0101010101010101)

_letters = re.compile(r"[\w\u4e00-\u9fcc]+")


def simhash_of(text: str, least: int) -> str:
    """Return the simhash of *text*, 16 hexadecimal digits; "" if it has fewer words than *least*.

    Also "" if *least* is 0. Short texts of one site have more in common than apart: menus, and what
    a template says.
    """
    if not least:
        return ""
    letters = "".join(_letters.findall(text[:LIMIT].lower()))
    if len(letters) // LETTERS < least and len(text.split()) < least:
        return ""
    if len(letters) < WIDTH:
        return _hash(letters).hex()
    return _packed(_met.hashes(letters)).hex()


def _hash(feature: str) -> bytes:
    return md5(feature.encode()).digest()[-BYTES:]


def _packed(hashes: _Array) -> bytes:
    """Return the bits that more than half of *hashes* have."""
    # One bit of each byte at a time, so that eight of them are added up at once.
    lanes = hashes[:, None] >> _SHIFTS & _LOWEST
    starts = numpy.arange(0, len(hashes), FEW)
    votes = numpy.add.reduceat(lanes, starts).view(numpy.uint8).reshape(-1, 8, BYTES)
    counts = votes.sum(axis=0, dtype=numpy.int64).T
    return numpy.packbits(2 * counts > len(hashes)).tobytes()


class _Met:
    """What the features that were met last hash to: a cache of fixed size, one place for each."""

    def __init__(self) -> None:
        # Two letters in each number.
        self._first = numpy.zeros(PLACES, numpy.uint64)
        self._last = numpy.zeros(PLACES, numpy.uint64)
        self._hashes = numpy.zeros(PLACES, numpy.uint64)

    def hashes(self, letters: str) -> _Array:
        """Return the hash of each feature of *letters*."""
        codes = numpy.frombuffer(letters.encode("utf-32-le"), numpy.uint32).astype(numpy.uint64)
        pairs = codes[:-1] << _HALF | codes[1:]
        first, last = pairs[:-2], pairs[2:]
        places = (first * _MIX ^ last * _SPREAD) * _MIX >> _TO_PLACE
        found: _Array = self._hashes[places]
        is_known = (self._first[places] == first) & (self._last[places] == last)
        fresh = numpy.flatnonzero(~is_known)
        if fresh.size:
            said = [letters[at : at + WIDTH] for at in fresh.tolist()]
            hashed = {feature: _hash(feature) for feature in dict.fromkeys(said)}
            found[fresh] = numpy.frombuffer(b"".join([hashed[one] for one in said]), numpy.uint64)
            at = places[fresh]
            self._first[at], self._last[at] = first[fresh], last[fresh]
            self._hashes[at] = found[fresh]
        return found


_met = _Met()
