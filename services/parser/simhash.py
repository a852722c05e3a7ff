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
"""Letters of a feature, in UTF-16: a letter of an ancient script counts as two."""
HASH_SIZE = 8
"""Bytes of a hash."""
MIN_ADDER_HASHES = 768
"""Fewest hashes that are added by threes. Fewer are counted faster bit by bit."""
LETTERS_PER_WORD = 6
"""Letters that count as a word in scripts without spaces."""

_UNIT, _PAIR = numpy.uint64(16), numpy.uint64(32)
_GAMMA = numpy.uint64(0x9E3779B97F4A7C15)
_SPREAD, _STEP = numpy.uint64(0xBF58476D1CE4E5B9), numpy.uint64(0x94D049BB133111EB)
_SHIFTS = numpy.uint64(30), numpy.uint64(27), numpy.uint64(31)
"""The constants of splitmix64."""

_letters = re.compile(r"[\w\u4e00-\u9fcc]+")
_ASCII_NON_LETTERS = bytes(code for code in range(128) if not _letters.match(chr(code)))


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


def _keep_letters(text: str) -> str:
    if text.isascii():
        return text.encode().translate(None, _ASCII_NON_LETTERS).decode()
    return "".join(_letters.findall(text))


def _hash_features(letters: str) -> _Array:
    """Return the hash of each feature of *letters*; of one feature if there are fewer letters."""
    units = numpy.frombuffer(letters.ljust(FEATURE_LENGTH).encode("utf-16-le"), "<u2")
    wide = units.astype(numpy.uint64)
    pairs = wide[:-1] << _UNIT | wide[1:]
    hashes = (pairs[:-2] << _PAIR | pairs[2:]) + _GAMMA
    first, second, last = _SHIFTS
    hashes = (hashes ^ hashes >> first) * _SPREAD
    hashes = (hashes ^ hashes >> second) * _STEP
    return hashes ^ hashes >> last


def _count_votes(hashes: _Array) -> _Array:
    """Return the number of *hashes* with each bit, the highest bit first.

    A carry-save adder replaces three numbers by their sum and their carries, which count twice.
    """
    votes, weight = numpy.zeros(8 * HASH_SIZE, numpy.int64), 1
    while len(hashes):
        carries = [hashes[:0]]
        while len(hashes) >= MIN_ADDER_HASHES:
            third = len(hashes) // 3
            one, two, three = hashes[:third], hashes[third : 2 * third], hashes[2 * third :][:third]
            differ = one ^ two
            carries.append(one & two | differ & three)
            hashes = numpy.concatenate((differ ^ three, hashes[3 * third :]))
        octets = hashes.astype(">u8").view(numpy.uint8)
        bits = numpy.unpackbits(octets).reshape(-1, votes.size)
        votes += weight * bits.sum(axis=0, dtype=numpy.int64)
        hashes, weight = numpy.concatenate(carries), 2 * weight
    return votes
