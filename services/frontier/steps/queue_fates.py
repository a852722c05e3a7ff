"""What happens to the URLs at the head of a queue when their host is checked out.

The URLs are examined one after another. The first row of `QUEUE_FATES` that has a fate for a URL
decides; a URL for which no row has one is visited.

`gossamer why` examines a queued URL in another process, as if it were at the head of its queue now,
with inputs from the store and from the control state (`stored_head_inputs`). Rows do not show the
fates without `is_shown`. They do not show either that a URL is moved because a worse rank is
explored, and which suffixes have a DNS wildcard. The stored counters of a part lack up to a
sixteenth of the visits to its site.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import Exclusion
from gossamer.events import CrawlDefined, RobotsAnswered
from gossamer.services.frontier.features.replicas import find_target, is_expired
from gossamer.services.frontier.features.slow_start import find_full_part
from gossamer.services.frontier.partition.awaited_visits import PartKey, SlowStart
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.parts import Parts
from gossamer.services.frontier.partition.queue import is_revisit, is_surplus
from gossamer.services.frontier.partition.share import CrawlShare, rank_by_parts
from gossamer.services.frontier.partition.workbench import FrontierCaches, Host
from gossamer.services.frontier.steps.refusals import find_exclusion
from gossamer.services.frontier.steps.robots import find_cached_answer
from gossamer.services.frontier.tables.hosts import HostRow, RobotsRow
from gossamer.services.frontier.tables.ordering import (
    Strategy,
    is_urgent,
    rank_of_number,
    strategy_row,
    with_rank,
)
from gossamer.services.frontier.tables.sites import SiteRow
from gossamer.services.frontier.tables.urls import QueuedUrl, UrlRow
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.links import linking_site
from gossamer.web.url import Site

MAX_MOVED = 200
"""URLs that one check-out moves to the queue of another rank."""


class Fate(Enum):
    """What a check-out does with a URL at the head of a queue."""

    VISIT = auto()
    SKIP = auto()
    DROP = auto()
    """Skip it as surplus: another entry of the URL is or was visited."""
    MOVE = auto()
    """Move it to the queue of its rank, which has changed."""
    FORWARD = auto()
    """Send it to the original of its host, a replica, or without its session id."""
    WAIT = auto()
    """Delay the host until the verdicts on other visits have come."""


class QueueHead(NamedTuple):
    """A URL at the head of a queue, and its fate."""

    fate: Fate
    url: QueuedUrl
    answer: RobotsAnswered | None = None
    """The cached answer for which a robots.txt is not visited."""
    exclusion: Exclusion | None = None
    """Why the URL is skipped; None if nothing excludes it."""
    rank: int | None = None
    """The new rank of a URL that is moved; None for other fates."""
    target: str | None = None
    """The URL that is visited instead of a URL that is forwarded; None for other fates."""
    part: PartKey | None = None
    """The part whose verdicts the URL waits for."""

    @property
    def ranked_url(self) -> QueuedUrl:
        """The URL with its new rank, and its age."""
        assert self.rank is not None, "a URL that is moved has a rank"
        return replace(self.url, number=with_rank(self.url.number, self.rank))


@dataclass(slots=True, kw_only=True)
class HeadInputs:
    """The data that decide the fates of URLs at the head of the queues that *crawl* has at a
    host."""

    crawl: CrawlDefined
    strategy: Strategy
    """The strategy of the crawl."""
    blocklist: Blocklist
    settings: FrontierSettings
    parts: Parts
    slow_start: SlowStart
    has_seed: Callable[[Site], bool]
    """Returns whether a seed of a site was admitted."""
    robots: Callable[[], RobotsRow | None]
    """Returns the rules of the host."""
    now: float
    row: HostRow
    """The row of the host. In a check-out, it is without the URLs that were skipped and moved."""
    explores: bool = False
    """Whether the URLs are of a worse rank than the best one."""
    moved: int = 0
    """URLs that were moved."""
    promoted: Mapping[str, UrlRow] = field(default_factory=dict)
    """URL → its row, of the URLs at the head, if the host has surplus entries."""
    probed: Counter[str] = field(default_factory=Counter)
    """Parked part → the URLs at the head that are visited nevertheless, as probes."""
    ordered: Counter[PartKey] = field(default_factory=Counter)
    """Part → the URLs at the head that are visited, and whose verdicts are then awaited."""

    def begin(self, promoted: Mapping[str, UrlRow]) -> None:
        """Begin with the URLs that are now at the head."""
        self.promoted, self.probed, self.ordered = promoted, Counter(), Counter()

    def examine(self, url: QueuedUrl) -> QueueHead:
        """Return *url*, at the head of the queue, with its fate."""
        if (found := self.find_fate(url)) is None:
            return QueueHead(Fate.VISIT, url)
        _, head = found
        # An entry that promotes a URL is dropped: the entry of its admission follows.
        is_promotion = url.good_links and head.fate in (Fate.SKIP, Fate.FORWARD)
        return QueueHead(Fate.DROP, url) if is_promotion else head

    def find_fate(self, url: QueuedUrl) -> "tuple[QueueFate, QueueHead] | None":
        """Return the first row of `QUEUE_FATES` that has a fate for *url*, and that fate; None to
        visit the URL."""
        for row in QUEUE_FATES:
            if head := row.examine(self, url):
                return row, head
        return None


@dataclass(slots=True, kw_only=True)
class QueueWalk(HeadInputs):
    """A check-out of *host*, while the URLs at the head of its queues are examined."""

    partition: Partition
    share: CrawlShare
    host: Host


class QueueFate(NamedTuple):
    """One reason not to visit a URL at the head of a queue now."""

    name: str
    text: str
    """What happens to the URL, for people."""
    examine: Callable[[HeadInputs, QueuedUrl], QueueHead | None]
    """Returns the URL with its fate; None if this is not its fate."""
    is_shown: bool = True
    """Whether rows show the fate, so that `gossamer why` prints it."""


def _find_surplus(walk: HeadInputs, url: QueuedUrl) -> QueueHead | None:
    is_one = is_surplus(url, walk.promoted.get(url.url))
    return QueueHead(Fate.DROP, url) if is_one else None


def _find_erased(walk: HeadInputs, url: QueuedUrl) -> QueueHead | None:
    return None if url.url else QueueHead(Fate.SKIP, url)


def _find_target(walk: HeadInputs, url: QueuedUrl) -> QueueHead | None:
    target = find_target(walk.row, url, walk.crawl, walk.blocklist)
    return QueueHead(Fate.FORWARD, url, target=target) if target else None


def _find_answer(walk: HeadInputs, url: QueuedUrl) -> QueueHead | None:
    if not url.on_behalf_of:
        return None
    answer = find_cached_answer(url, walk.robots(), walk.now)
    return QueueHead(Fate.SKIP, url, answer=answer) if answer else None


def _find_exclusion(walk: HeadInputs, url: QueuedUrl) -> QueueHead | None:
    exclusion = find_exclusion(
        walk.settings, walk.parts, walk.blocklist, walk.row.site, url, walk.crawl, walk.probed
    )
    return QueueHead(Fate.SKIP, url, exclusion=exclusion) if exclusion else None


def _find_other_rank(walk: HeadInputs, url: QueuedUrl) -> QueueHead | None:
    """Return a URL whose rank is worse now, or has changed in any direction while its queue is
    explored."""
    if walk.moved >= MAX_MOVED or is_revisit(url) or is_urgent(url.number):
        return None
    before = rank_of_number(url.number)
    rank = _rank_again(walk, url)
    is_moved = rank > before or (walk.explores and rank < before)
    return QueueHead(Fate.MOVE, url, rank=rank) if is_moved else None


def _rank_again(walk: HeadInputs, url: QueuedUrl) -> int:
    """Return the present rank of a queued URL. A random walk does not change it."""
    strategy, site, origin = walk.strategy, walk.row.site, url.origin
    if strategy.is_walk or url.on_behalf_of:
        return rank_of_number(url.number)
    is_linked = bool(strategy.in_links and linking_site(origin.via, site))
    return rank_by_parts(
        walk.parts,
        walk.has_seed,
        site,
        url.url,
        origin,
        strategy,
        is_linked,
        good_links=url.good_links,
    )


def _find_wait(walk: HeadInputs, url: QueuedUrl) -> QueueHead | None:
    part = find_full_part(
        walk.settings, walk.parts, walk.slow_start, walk.row.site, url, walk.ordered
    )
    return QueueHead(Fate.WAIT, url, part=part) if part else None


QUEUE_FATES = (
    QueueFate(
        "surplus",
        "is skipped, because another entry of the URL is or was visited",
        _find_surplus,
        # The other entry is the one that is looked up.
        is_shown=False,
    ),
    QueueFate(
        "erased",
        "is skipped, because the URL was erased on demand",
        _find_erased,
        # The entry has no URL any more.
        is_shown=False,
    ),
    QueueFate(
        "forwarded",
        "is sent to the original of its host, or without its session id, and parked",
        # Before the exclusion: at the original, the URL may not be excluded.
        _find_target,
    ),
    QueueFate(
        "answered",
        "is a robots.txt on behalf of another host, and is answered from the cached rules",
        _find_answer,
    ),
    QueueFate(
        "excluded",
        "is parked, because the scope, the blocklist or the worth of its part excludes it now",
        _find_exclusion,
    ),
    QueueFate("moved", "is moved to the queue of its rank, which has changed", _find_other_rank),
    QueueFate(
        "slow start",
        "waits with its host for the verdicts on earlier visits to its part of the site",
        # Last: only a URL that would be visited counts among the visits to its part.
        _find_wait,
        # Awaited verdicts are in memory. A host that waits for them is delayed, with the reason.
        is_shown=False,
    ),
)
"""The reasons not to visit a URL at the head of a queue now, in the order in which they are
examined. A comment says why the place of a row matters."""


def stored_head_inputs(
    store: Store,
    crawl: CrawlDefined,
    row: HostRow,
    robots: RobotsRow | None,
    blocklist: Blocklist,
    settings: FrontierSettings,
    now: float,
) -> HeadInputs:
    """Return the inputs of the fates of URLs that *crawl* has in the queues of the host *row*, in a
    process that is not the frontier.

    No verdict on another visit is awaited and no zone is known, as after a restart, and nothing is
    written.
    """
    caches = FrontierCaches().open_partition()
    site = store.table(SiteRow).get(row.site) or SiteRow(row.site)
    return HeadInputs(
        crawl=crawl,
        strategy=strategy_row(crawl),
        blocklist=blocklist,
        settings=settings,
        parts=Parts(
            crawl.crawl,
            store,
            caches,
            schedule=lambda site, at: None,
            count_parked=lambda rule, urls: None,
        ),
        slow_start=SlowStart(),
        has_seed=lambda _: site.of(crawl.crawl).has_seed,
        robots=lambda: robots,
        now=now,
        row=replace(row, original=None, original_until=None) if is_expired(row, now) else row,
    )
