"""How much the freshness of a page is worth beside that of others: its weight.

What is known of a URL when it is first planned: how many links it lies from a seed, and the
priority that was asked for. A reader who goes from page to page follows one more link with a
likelihood of some 2/3: on the sites that Baeza-Yates and Castillo looked at (*Crawling the infinite
Web: five levels are enough*, 2004), nine of ten page views lay within three to five links of the
start, which is 0.56 to 0.68 a link. So weights halve every 1.7 links, and stay there from the
eighth on: what lies deep is worth little, and not nothing.

To that come what is learnt later: the weight grows with the square root of the number of other
sites that link to the page (a page that many link to is read by many, and more links are made to
what is read), and with each time that it was asked for, which counts for half a month later. A
weight changes when the page is visited: sums over pages hold it.
"""

from math import sqrt

from msgspec.structs import replace

from gossamer.web.in_links import Sketch, sites_in, united
from services.frontier.revisit.evidence import promised
from services.frontier.revisit.numbers import rounded
from services.frontier.revisit.sharing import uncounted
from services.frontier.revisit.state import DAY, Known, PageState

FOLLOWED = 2 / 3
DEEPEST = 7
"""Links from a seed, beyond which all pages weigh the same."""
STEP = 2
"""Steps of priority that double a weight; the lower the priority's number, the sooner."""
MOST = 8
"""Steps of priority that count."""
TOO_FEW = 0.01
"""Of a request: it is forgotten."""


def weight_of(depth: int, priority: int) -> float:
    """Return the weight of a page *depth* links from a seed; a seed of priority 0 has weight 1."""
    asked = -min(max(priority, -MOST), MOST) / STEP
    return float(FOLLOWED ** min(max(depth, 0), DEEPEST) * 2**asked)


MOST_LINKED, MOST_ASKED = 16.0, 4.0
"""By which links from other sites, and requests, multiply a weight at most."""
MONTH = 30 * DAY


def found(depth: int, priority: int, in_links: Sketch = 0, every: float = 0.0) -> PageState:
    """Return what is known of a page that was found *depth* links from a seed, and is said to
    change *every* so many seconds; 0: that is not said."""
    base = rounded(weight_of(depth, priority))
    return _weighed(promised(PageState(base=base, in_links=in_links), every))


def asked_for(page: PageState) -> PageState:
    """Return the page with one request more; it counts from the next visit on."""
    return replace(page, requests=rounded(page.requests + 1))


def reweighted(known: Known, at: float, in_links: Sketch = 0) -> Known:
    """Return what is known with the page's weight as it is *at* a visit, with more *in_links*."""
    page = known.page
    faded = 0.5 ** (max(0.0, at - page.at) / MONTH) if page.at else 1.0
    page = replace(
        page,
        in_links=united(page.in_links, in_links) if in_links else page.in_links,
        requests=rounded(page.requests * faded) if page.requests > TOO_FEW else 0.0,
    )
    weighed = _weighed(replace(page, base=page.base or page.weight))
    if weighed.weight == page.weight:
        return known._replace(page=page)
    known = uncounted(known._replace(page=page))
    return known._replace(page=replace(known.page, base=weighed.base, weight=weighed.weight))


def _weighed(page: PageState) -> PageState:
    if not (page.in_links or page.requests):
        return replace(page, weight=page.base)  # Nearly all.
    linked = min(sqrt(1 + sites_in(page.in_links)), MOST_LINKED)
    return replace(page, weight=rounded(page.base * linked * min(1 + page.requests, MOST_ASKED)))
