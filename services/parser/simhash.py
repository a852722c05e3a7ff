"""The simhash of a text: 64 bits, few of which differ where texts do in little.

By the definition of the package `simhash`: of the lower-case letters and digits of a text every
four in a row are a feature, which votes on each bit as often as it comes, by its MD5. The package
fails where a feature comes more than 255 times (under NumPy 2), and takes twice the time.
"""

import re
from collections import Counter
from hashlib import md5

import numpy

LIMIT = 200_000
"""Characters of a text that are looked at: 0.1 s at worst."""
WIDTH = 4
BYTES = 8
LETTERS = 6
"""Of which one word is taken for granted, in scripts that set no spaces between them."""

_letters = re.compile(r"[\w\u4e00-\u9fcc]+")


def simhash_of(text: str, least: int) -> str:
    """Return the simhash of *text*, 16 hexadecimal digits; "" if it has fewer words than *least*.

    Also "" if *least* is 0. Short texts of one site have more in common than apart: menus, and what
    a template says.
    """
    if not least:
        return ""
    letters = "".join(_letters.findall(text[:LIMIT].lower()))
    if max(len(text.split()), len(letters) // LETTERS) < least:
        return ""
    starts = range(max(len(letters) - WIDTH + 1, 1))
    return _bits(Counter([letters[at : at + WIDTH] for at in starts])).hex()


def _bits(features: Counter[str]) -> bytes:
    """Return the bits for which more than half of all votes are."""
    hashes = b"".join([md5(one.encode()).digest()[-BYTES:] for one in features])
    rows = numpy.frombuffer(hashes, numpy.uint8).reshape(-1, BYTES)
    counts = numpy.fromiter(features.values(), numpy.int64, len(features))
    votes = numpy.einsum("i,ij", counts, numpy.unpackbits(rows, axis=1))
    return numpy.packbits(2 * votes > features.total()).tobytes()
