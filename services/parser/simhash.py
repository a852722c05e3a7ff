"""The simhash of a text: 64 bits, few of which differ where texts do in little.

By the definition of the package `simhash`: of the lower-case letters and digits of a text every
four in a row are a feature, which votes on each bit as often as it comes, by its MD5. The package
fails where a feature comes more than 255 times (under NumPy 2), and takes ten times as long: most
features of a page were met on pages before it, and what they hash to is kept.
"""

import re
from collections.abc import Sequence
from hashlib import md5
from typing import Any

import numpy
from numpy.typing import NDArray

_Array = NDArray[Any]

MAX_CHARACTERS = 200_000
"""Characters of a text that are looked at: 0.1 s at worst."""
FEATURE_LENGTH = 4
HASH_SIZE = 8
MIN_ADDER_HASHES = 768
"""Numbers of which it takes less time to add up a third than to look at each bit."""
CACHE_SIZE = 1 << 19
"""Features that are kept, in 8 MB: of pages in one language they are nine in ten of the next."""
LETTERS_PER_WORD = 6
"""Of which one word is taken for granted, in scripts that set no spaces between them."""

_UNIT, _PAIR = numpy.uint64(16), numpy.uint64(32)
_MIX = numpy.uint64(0x9E3779B97F4A7C15)
_INDEX_SHIFT = numpy.uint64(64 - 19)

_letters = re.compile(r"[\w\u4e00-\u9fcc]+")
_ASCII_NON_LETTERS = bytes(code for code in range(128) if not _letters.match(chr(code)))


def simhash_of(text: str, least: int) -> str:
    """Return the simhash of *text*, 16 hexadecimal digits; "" if it has fewer words than *least*.

    Also "" if *least* is 0. Short texts of one site have more in common than apart: menus, and what
    a template says.
    """
    if not least:
        return ""
    letters = _keep_letters(text[:MAX_CHARACTERS].lower())
    if len(letters) // LETTERS_PER_WORD < least and len(text.split()) < least:
        return ""
    if len(letters) < FEATURE_LENGTH:
        return _hash_feature(letters).hex()
    return _pack_majority(_cache.hashes(letters)).hex()


def _keep_letters(text: str) -> str:
    if text.isascii():
        return text.encode().translate(None, _ASCII_NON_LETTERS).decode()
    return "".join(_letters.findall(text))


def _hash_feature(feature: str) -> bytes:
    return md5(feature.encode()).digest()[-HASH_SIZE:]


def _pack_majority(hashes: _Array) -> bytes:
    """Return the bits that more than half of *hashes* have."""
    return numpy.packbits(2 * _count_votes(hashes) > len(hashes)).tobytes()


def _count_votes(hashes: _Array) -> _Array:
    """Return how many of *hashes* have each bit.

    As adders do it: three numbers are one of sums and one of carries, which count twice.
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
    """What the features that were met last hash to: a cache of fixed size, one place for each."""

    def __init__(self) -> None:
        # Each beside its hash: to find both misses the processor's caches once.
        self._known = numpy.zeros((CACHE_SIZE, 2), numpy.uint64)

    def hashes(self, letters: str) -> _Array:
        """Return the hash of each feature of *letters*."""
        units = numpy.frombuffer(letters.encode("utf-16-le"), numpy.uint16)
        if units.size > len(letters):
            # Letters of ancient scripts take two units, so that four do not fit a number.
            return _hash_features(
                [
                    letters[at : at + FEATURE_LENGTH]
                    for at in range(len(letters) - FEATURE_LENGTH + 1)
                ]
            )
        wide = units.astype(numpy.uint64)
        pairs = wide[:-1] << _UNIT | wide[1:]
        features = pairs[:-2] << _PAIR | pairs[2:]
        places = (features * _MIX >> _INDEX_SHIFT).view(numpy.intp)
        known = self._known.take(places, axis=0)
        found: _Array = known[:, 1].copy()
        fresh = numpy.flatnonzero(known[:, 0] != features)
        if fresh.size:
            found[fresh] = _hash_features(
                [letters[at : at + FEATURE_LENGTH] for at in fresh.tolist()]
            )
            self._known[places[fresh]] = numpy.stack((features[fresh], found[fresh]), axis=1)
        return found


def _hash_features(features: Sequence[str]) -> _Array:
    hashed = {feature: _hash_feature(feature) for feature in dict.fromkeys(features)}
    return numpy.frombuffer(b"".join([hashed[one] for one in features]), numpy.uint64)


_cache = _HashCache()
