"""The simhash of a text: 64 bits, few of which differ where texts do in little.

By the definition of the package `simhash`: of the lower-case letters and digits of a text every
four in a row are a feature, which votes on each bit as often as it comes, by its MD5. The package
fails where a feature comes more than 255 times (under NumPy 2), so such a feature is given to it in
parts, whose votes add up to the same. It counts them itself by sorting all; here they are counted.
"""

import re
from collections import Counter
from collections.abc import Iterator

from simhash import Simhash

LIMIT = 200_000
"""Characters of a text that are looked at: 0.4 s at worst."""
WIDTH = 4
MOST = 255
"""Votes that the package counts for one feature."""
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
    return f"{Simhash([*_features(letters)]).value:016x}"


def _features(letters: str) -> Iterator[tuple[str, int]]:
    starts = range(max(len(letters) - WIDTH + 1, 1))
    for feature, count in Counter(letters[at : at + WIDTH] for at in starts).items():
        for counted in range(0, count, MOST):
            yield feature, min(MOST, count - counted)
