"""The simhash of a text: 64 bits, few of which differ between similar texts.

Each four consecutive lower-case letters or digits of a text are a feature, which votes on each bit
by its hash, as often as it occurs (Charikar, *Similarity Estimation Techniques from Rounding
Algorithms*, 2002).

The package `simhash` defines it: given our hash of the features, it returns the same, as a test
shows. Dedup asks it for the distance of two simhashes (`dedup.content.distance`). The simhash of a
text is computed here, because the package hashes each feature by MD5, one after the other, and
fails under NumPy 2 if one occurs more than 255 times. splitmix64 (Steele, Lea and Flood, *Fast
Splittable Pseudorandom Number Generators*, 2014) hashes all features of a text at once: four
letters are 64 bits.
"""

import re
from typing import Any

import numpy
from numpy.typing import NDArray

_Array = NDArray[Any]

MAX_CHARACTERS = 200_000
"""Most characters of a text that are hashed: 0.1 s at worst."""
FEATURE_LENGTH = 4
"""Letters of a feature, in UTF-16: a letter of an ancient script or an emoji counts as two."""
HASH_SIZE = 8
"""Bytes of a hash."""
MAX_COUNT = 255
"""Most hashes that are counted in a byte."""
LETTERS_PER_WORD = 6
"""Letters that count as a word in scripts without spaces."""

_UNIT, _PAIR = numpy.uint64(16), numpy.uint64(32)
_GAMMA = numpy.uint64(0x9E3779B97F4A7C15)
_SPREAD, _STEP = numpy.uint64(0xBF58476D1CE4E5B9), numpy.uint64(0x94D049BB133111EB)
_SHIFTS = numpy.uint64(30), numpy.uint64(27), numpy.uint64(31)
"""The constants of splitmix64."""

_LOWEST_BITS, _BITS = numpy.uint64(0x0101010101010101), numpy.arange(8, dtype=numpy.uint64)
"""The lowest bit of each byte, and the bits of a byte."""

_SURROGATES = slice(0xD800, 0xE000)


def _find_letters() -> NDArray[numpy.bool_]:
    """Return a table of the units of UTF-16: whether each is a letter, a digit, or a surrogate."""
    units = numpy.delete(numpy.arange(1 << 16, dtype="<u2"), _SURROGATES)
    letters = re.findall(r"[\w\u4e00-\u9fcc]+", units.tobytes().decode("utf-16-le"))
    is_letter = numpy.zeros(1 << 16, numpy.bool_)
    is_letter[_units_of("".join(letters))] = is_letter[_SURROGATES] = True
    return is_letter


def _units_of(text: str) -> _Array:
    return numpy.frombuffer(text.encode("utf-16-le", errors="replace"), "<u2")


_IS_LETTER = _find_letters()


def simhash_of(text: str, min_words: int) -> str:
    """Return the simhash of *text*, 16 hexadecimal digits; "" if it has fewer than *min_words*.

    Also "" if *min_words* is 0. Short texts of one site are too similar: they are mostly menus and
    template text.
    """
    if not min_words:
        return ""
    letters = _keep_letters(text[:MAX_CHARACTERS].lower())
    if len(letters) // LETTERS_PER_WORD < min_words and len(text.split()) < min_words:
        return ""
    hashes = _hash_features(letters)
    return numpy.packbits(2 * _count_votes(hashes) > len(hashes)).tobytes().hex()


def _keep_letters(text: str) -> _Array:
    """Return the letters and digits of *text* as units of UTF-16."""
    units = _units_of(text)
    return units.compress(_IS_LETTER.take(units))


def _hash_features(letters: _Array) -> _Array:
    """Return the hash of each feature of *letters*; of one feature if there are fewer letters."""
    padding = numpy.full(max(0, FEATURE_LENGTH - letters.size), ord(" "), "<u2")
    wide = numpy.append(letters, padding).astype(numpy.uint64)
    pairs = wide[:-1] << _UNIT | wide[1:]
    hashes = (pairs[:-2] << _PAIR | pairs[2:]) + _GAMMA
    first, second, last = _SHIFTS
    hashes = (hashes ^ hashes >> first) * _SPREAD
    hashes = (hashes ^ hashes >> second) * _STEP
    return hashes ^ hashes >> last


def _count_votes(hashes: _Array) -> _Array:
    """Return the number of *hashes* with each bit, the highest bit first.

    A bit of all bytes of a hash is added at once, each in a byte of a sum.
    """
    starts = numpy.arange(0, hashes.size, MAX_COUNT)
    sums = [numpy.add.reduceat(hashes >> bit & _LOWEST_BITS, starts) for bit in _BITS]
    octets = numpy.array(sums, "<u8").view(numpy.uint8).reshape(_BITS.size, -1, HASH_SIZE)
    votes: _Array = octets.sum(axis=1, dtype=numpy.int64)
    return votes.T.ravel()[::-1]
