"""The simhash of a text: 64 bits, few of which differ between similar texts.

The result equals that of the package `simhash`. Each four consecutive lower-case letters or digits
are a feature, which votes on each bit by its MD5, as often as it occurs. The package fails under
NumPy 2 if a feature occurs more than 255 times, and takes ten times as long. Most features of a
page occur on earlier pages, so their hashes are cached.
"""

import re
from collections.abc import Sequence
from hashlib import md5
from typing import Any

import numpy
from numpy.typing import NDArray

_Array = NDArray[Any]

MAX_CHARACTERS = 200_000
"""Most characters of a text that are hashed: 0.1 s at worst."""
FEATURE_LENGTH = 4
HASH_SIZE = 8
"""Bytes of a hash."""
MIN_ADDER_HASHES = 768
"""Fewest hashes that are added by threes. Fewer are counted faster bit by bit."""
CACHE_SIZE = 1 << 19
"""Features in the cache, which takes 8 MB. Pages of one language share nine of ten features."""
LETTERS_PER_WORD = 6
"""Letters that count as a word in scripts without spaces."""

_UNIT, _PAIR = numpy.uint64(16), numpy.uint64(32)
_MIX = numpy.uint64(0x9E3779B97F4A7C15)
_INDEX_SHIFT = numpy.uint64(64 - 19)

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
    if len(letters) < FEATURE_LENGTH:
        return _hash_feature(letters).hex()
    return _pack_majority(_cache.hash_all(letters)).hex()


def _keep_letters(text: str) -> str:
    if text.isascii():
        return text.encode().translate(None, _ASCII_NON_LETTERS).decode()
    return "".join(_letters.findall(text))


def _hash_feature(feature: str) -> bytes:
    return md5(feature.encode()).digest()[-HASH_SIZE:]


def _pack_majority(hashes: _Array) -> bytes:
    """Return the bits that are set in more than half of *hashes*."""
    return numpy.packbits(2 * _count_votes(hashes) > len(hashes)).tobytes()


def _count_votes(hashes: _Array) -> _Array:
    """Return the number of *hashes* with each bit.

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
        bits = numpy.unpackbits(hashes.view(numpy.uint8)).reshape(-1, votes.size)
        votes += weight * bits.sum(axis=0, dtype=numpy.int64)
        hashes, weight = numpy.concatenate(carries), 2 * weight
    return votes


class _HashCache:
    """The hashes of recent features, in a table of fixed size with one entry per index."""

    def __init__(self) -> None:
        # Each feature beside its hash, so that a lookup costs one cache miss of the processor.
        self._table = numpy.zeros((CACHE_SIZE, 2), numpy.uint64)

    def hash_all(self, letters: str) -> _Array:
        """Return the hash of each feature of *letters*."""
        units = numpy.frombuffer(letters.encode("utf-16-le"), numpy.uint16)
        if units.size > len(letters):
            # Letters of ancient scripts take two units, so that four do not fit 64 bits.
            starts = range(len(letters) - FEATURE_LENGTH + 1)
            return _hash_features([letters[at : at + FEATURE_LENGTH] for at in starts])
        wide = units.astype(numpy.uint64)
        pairs = wide[:-1] << _UNIT | wide[1:]
        features = pairs[:-2] << _PAIR | pairs[2:]
        indexes = (features * _MIX >> _INDEX_SHIFT).view(numpy.intp)
        entries = self._table.take(indexes, axis=0)
        hashes: _Array = entries[:, 1].copy()
        missing = numpy.flatnonzero(entries[:, 0] != features)
        if missing.size:
            texts = [letters[at : at + FEATURE_LENGTH] for at in missing.tolist()]
            hashes[missing] = _hash_features(texts)
            self._table[indexes[missing]] = numpy.stack(
                (features[missing], hashes[missing]), axis=1
            )
        return hashes


def _hash_features(features: Sequence[str]) -> _Array:
    hashes = {feature: _hash_feature(feature) for feature in dict.fromkeys(features)}
    return numpy.frombuffer(b"".join([hashes[feature] for feature in features]), numpy.uint64)


_cache = _HashCache()
