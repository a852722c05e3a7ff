"""Links between pages in few bytes: how many sites link to a page, and the pages that it links to.

The sketch of the sites that link to a page has four bytes. It is a HyperLogLog (Flajolet et al.
2007) with eight registers of four bits. A site counts once, however often it links. Two sketches
can be merged, and repeated links change nothing. The error of the estimate is about a third, which
is enough for the importance of a page.

The sample of a page's internal links contains at most 32 pages of its site, in four bytes each:
those with the smallest fingerprints (bottom-k sampling, Cohen and Kaplan 2007). So a site that
stores only pages with small fingerprints stores some pages of every sample.
"""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from math import log

from gossamer.web.url import Site, fingerprint, site_of

REGISTERS, REGISTER_BITS = 8, 4
MAX_LEVEL = (1 << REGISTER_BITS) - 1
_FACTOR = 0.626
"""Bias correction for eight registers; measured, and checked by a test."""
Sketch = int
MAX_SAMPLE = 32
"""Links. With this size, an estimated fraction of 40 % has a mean error of 9 percentage points."""
FINGERPRINT_BITS = 32


def add_link(sketch: Sketch, site: Site, url: str) -> Sketch:
    """Return the *sketch* of *url* with a link from *site* added."""
    shift, level = _register(site, url)
    before = sketch >> shift & MAX_LEVEL
    return sketch + (level - before << shift) if level > before else sketch


@lru_cache(maxsize=8192)
def _register(site: Site, url: str) -> tuple[int, int]:
    """Return the position of the register of a link from *site* to *url*, and the link's level."""
    digest = int.from_bytes(blake2b(f"{site} {url}".encode(), digest_size=8).digest(), "big")
    register, rest = digest % REGISTERS, digest // REGISTERS
    return REGISTER_BITS * register, min((rest & -rest).bit_length(), MAX_LEVEL)


def linking_site(via: str, site: Site) -> Site | None:
    """Return the site of the page on which the visit *via* discovered links to *site*.

    Return None if that is the same site, or if there was no visit, as for a seed.
    """
    _, _, page = via.partition("@")
    linking = site_of(page) if "://" in page else site
    return None if linking == site else linking


def merge_sketches(one: Sketch, other: Sketch) -> Sketch:
    """Return the sketch of the sites of both sketches."""
    return sum(
        max(one >> shift & MAX_LEVEL, other >> shift & MAX_LEVEL) << shift
        for shift in range(0, REGISTER_BITS * REGISTERS, REGISTER_BITS)
    )


def estimate_sites(sketch: Sketch) -> float:
    """Return the estimated number of sites in *sketch*."""
    levels = [sketch >> REGISTER_BITS * n & MAX_LEVEL for n in range(REGISTERS)]
    if empty := levels.count(0):
        return REGISTERS * log(REGISTERS / empty)
    return _FACTOR * REGISTERS**2 / sum(2.0**-level for level in levels)


def short_fingerprint(url: str) -> int:
    """Return 32 bits of the fingerprint of a canonical *url*."""
    return int(fingerprint(url)[: FINGERPRINT_BITS // 4], 16)


def sample_links(urls: Iterable[str]) -> tuple[int, ...]:
    """Return the sample of the pages at *urls*: at most 32 short fingerprints, in order."""
    return tuple(sorted({short_fingerprint(url) for url in urls})[:MAX_SAMPLE])
