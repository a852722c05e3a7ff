"""How many other sites link to a page, counted in four bytes.

A sketch of the sites (HyperLogLog, Flajolet et al. 2007) with eight registers of four bits: a site
counts once however often it links, two sketches of a page can be united, and what is told twice
changes nothing. The estimate is off by a third, which is enough for an importance.
"""

from hashlib import blake2b
from math import log

from gossamer.web.url import site_of

REGISTERS, BITS = 8, 4
MOST = (1 << BITS) - 1
_FACTOR = 0.626
"""Of the estimate with eight registers; measured, and so checked by a test."""

Sketch = int


def linked(sketch: Sketch, site: str, url: str) -> Sketch:
    """Return *sketch* with a link from *site* to *url*, whose sketch it is."""
    drawn = int.from_bytes(blake2b(f"{site} {url}".encode(), digest_size=8).digest(), "big")
    register, rest = drawn % REGISTERS, drawn // REGISTERS
    level = min((rest & -rest).bit_length(), MOST)
    shift = BITS * register
    return sketch + (max(0, level - (sketch >> shift & MOST)) << shift)


def linking_site(via: str, site: str) -> str:
    """Return the site whose page the visit *via* has found links to *site* on.

    "" if that is the same site, or if there was no visit, as for a seed.
    """
    _, _, finder = via.partition("@")
    linking = site_of(finder) if "://" in finder else site
    return "" if linking == site else linking


def united(one: Sketch, other: Sketch) -> Sketch:
    """Return the sketch of the sites of both."""
    return sum(
        max(one >> shift & MOST, other >> shift & MOST) << shift
        for shift in range(0, BITS * REGISTERS, BITS)
    )


def sites_in(sketch: Sketch) -> float:
    """Return about how many sites there are in *sketch*."""
    levels = [sketch >> BITS * n & MOST for n in range(REGISTERS)]
    if empty := levels.count(0):
        return REGISTERS * log(REGISTERS / empty)
    return _FACTOR * REGISTERS**2 / sum(2.0**-level for level in levels)
