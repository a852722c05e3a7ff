"""The order of URLs that were never visited: the strategies, and the rank of a URL.

Each URL has a rank: the smaller, the sooner. It is the URL's priority plus a penalty of 0 to 30
points for what a visit is expected to bring less than the best one. A strategy is a row of weights,
which say how many points each disadvantage costs. Priorities of seeds count exactly, inherited ones
and penalties in steps of five, because a host has one FIFO queue for each rank in use (`queue.py`).
Among URLs of one rank, the first one that was admitted is the first one that is visited.

**Later links promote.** A link of a good page is evidence for its URL, and links of several good
pages are more. A URL that waits is queued once more, under its new rank, when dedup finds such a
link (`Admission.promote`).

**No prediction starves a URL.** The best rank gets nine of ten orders of a host. Every tenth goes
to the next worse rank in turn, as far as a penalty can explain the difference: a worse priority
does wait. The same holds among hosts: every tenth order goes to the ready host with the oldest
URL, and every tenth host is loaded for its age (`dispatch.py`).

**The strategy `sample` is a random walk with restarts.** Of the links of one page to one site, a
hash chooses one that is next, and spreads the others over the worse ranks. Every tenth order goes
to one of these: a restart.

**Urgent URLs precede all others.** `gossamer fetch` requests them (`urgent.py`). Their rank is
better than any priority, no other rank is explored while they wait, and no other crawl is served
first.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple
from zlib import crc32

from gossamer.crawl import strategy_of
from gossamer.events import PRIORITY_LIMIT, CrawlDefined, Discovery, Purpose
from gossamer.events.pages import LinkPosition
from gossamer.policies import LINK_STRATEGIES, MAX_GOOD_LINKS, STRATEGIES
from gossamer.services.frontier.tables.urls import Origin

STEP = 5
"""Points between two penalties, and between two inherited priorities."""
MAX_PENALTY = 30
"""The largest penalty in points."""
MAX_RANK = PRIORITY_LIMIT + MAX_PENALTY
URGENT_RANK = -PRIORITY_LIMIT - 1
"""The rank of all urgent URLs. No priority reaches it."""
REQUISITE_RANK = MAX_RANK + MAX_PENALTY + 1
"""The rank of all requisites. No penalty explains the difference from a page, so every page of a
host, and every ready host with a page, comes first."""
MAX_DEPTH = 8
"""The depth in links that costs the whole weight of depth."""
MAX_RANKS = 16
"""Ranks of one host that have a queue of their own. A URL of another rank enters the queue of the
nearest one."""
EXPLORATION_INTERVAL = 10
"""Orders of which one goes to a worse rank."""
NUMBERS_PER_RANK = 10**16
"""Request numbers of one rank: microseconds of 300 years. The largest number fits in 64 bits."""


class Strategy(NamedTuple):
    """The points that each disadvantage of a URL costs."""

    worth: int = 0
    """If a visit is expected to yield nothing new."""
    score: int = 0
    """If the linking page is worthless."""
    good_links: int = 0
    """If it was not promoted by links of several good pages."""
    in_links: int = 0
    """If a page of the URL's own site linked to it."""
    depth: int = 0
    """If the URL is `MAX_DEPTH` links from a seed."""
    guess: int = 0
    """If the URL is a guess."""
    expansion: int = 0
    """If the URL's site has no seed."""
    is_walk: bool = False
    """Whether a hash decides instead."""

    @property
    def predicts(self) -> bool:
        """Whether the rank depends on more than the priority."""
        return any(self)


BREADTH = Strategy()
"""The rank is the priority."""
TABLE = {
    "breadth": BREADTH,
    "best": Strategy(worth=20, score=10, good_links=10, in_links=2, depth=3, guess=20),
    "seeds-first": Strategy(expansion=20),
    "focused": Strategy(score=20, good_links=10, guess=20),
    "sample": Strategy(is_walk=True),
}
if TABLE.keys() != {*STRATEGIES}:
    raise AssertionError("each strategy has a row")
if {name for name, row in TABLE.items() if row.good_links} != LINK_STRATEGIES:
    raise AssertionError("dedup promotes URLs for the strategies that weigh good links")


class Prospect(NamedTuple):
    """What is known about a visit that was not made yet."""

    worth: float = 1.0
    """The expected worth, from 0 to 1: 1 means that a visit surely yields a new text."""
    is_linked: bool = False
    """Whether a page of another site linked to the URL."""
    has_seed: bool = True
    """Whether the URL's site has a seed."""
    is_next: bool = False
    """Whether the random walk goes on with the URL."""
    good_links: int = 0
    """Links of good pages that promoted the URL; 0 if it was not promoted."""


def strategy_row(crawl: CrawlDefined | None) -> Strategy:
    """Return the strategy of *crawl*; `breadth` before the crawl is defined."""
    return TABLE[strategy_of(crawl)] if crawl else BREADTH


def rank_of(strategy: Strategy, url: str, origin: Origin, prospect: Prospect) -> int:
    """Return the rank of a URL that was never visited: the smaller, the sooner."""
    if origin.purpose is Purpose.REQUISITE:
        return REQUISITE_RANK
    priority = origin.priority
    if origin.depth:
        priority = int(priority / STEP) * STEP
    penalty = 0
    if origin.purpose is Purpose.PAGE:
        penalty = _walk(url, prospect) if strategy.is_walk else _penalty(strategy, origin, prospect)
    return max(-PRIORITY_LIMIT, min(priority + penalty, MAX_RANK))


def _penalty(strategy: Strategy, origin: Origin, prospect: Prospect) -> int:
    points = strategy.worth * (1.0 - prospect.worth)
    points += strategy.score * (1.0 - origin.score)
    if origin.depth:
        points += strategy.depth * min(origin.depth, MAX_DEPTH) / MAX_DEPTH
        if not prospect.is_linked:
            points += strategy.in_links
        further = min(max(0, prospect.good_links - 1), MAX_GOOD_LINKS - 1)
        points += strategy.good_links * (1 - further / (MAX_GOOD_LINKS - 1))
    if origin.position == LinkPosition.SCRIPT:
        points += strategy.guess
    if not prospect.has_seed:
        points += strategy.expansion
    return min(int(points / STEP + 0.5) * STEP, MAX_PENALTY)


def _walk(url: str, prospect: Prospect) -> int:
    return 0 if prospect.is_next else STEP * (1 + crc32(url.encode()) % (MAX_PENALTY // STEP))


def next_of_walk(urls: Iterable[Discovery], via: str) -> str | None:
    """Return the URL with which a random walk leaves the page of *via*; None without *urls*."""
    return min(
        (one.url for one in urls), key=lambda url: crc32(f"{via} {url}".encode()), default=None
    )


def request_number(rank: int, moment: int) -> int:
    """Return the request number of a URL that was requested at *moment*, in microseconds: it sorts
    by rank, then age."""
    return (rank - URGENT_RANK) * NUMBERS_PER_RANK + moment


def rank_of_number(number: int) -> int:
    """Return the rank in a request number."""
    return number // NUMBERS_PER_RANK + URGENT_RANK


def is_urgent(number: int) -> bool:
    """Return whether a request number is that of an urgent URL."""
    return rank_of_number(number) == URGENT_RANK


def moment_of(number: int) -> int:
    """Return the moment in a request number, in microseconds."""
    return number % NUMBERS_PER_RANK


def with_rank(number: int, rank: int) -> int:
    """Return a request number with another *rank* and the moment of *number*."""
    return request_number(rank, moment_of(number))


def choose_explored_rank(waiting: Collection[int], last: int | None) -> int | None:
    """Return the rank that is explored next, of the ranks in which URLs are *waiting*; None if
    there is none worse than the best by at most a penalty, or if the best is that of urgent URLs.

    *last*: the rank that was explored last. The ranks take turns, from better to worse.
    """
    if (best := min(waiting)) == URGENT_RANK:
        return None
    worse = sorted(rank for rank in waiting if best < rank <= best + MAX_PENALTY)
    after = [rank for rank in worse if last is not None and rank > last]
    return next(iter(after or worse), None)
