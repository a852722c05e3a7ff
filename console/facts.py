"""What is known of one URL: everything that `gossamer why` puts into sentences, as data.

Read in one consistent view, from the store and the log of a crawl, whether that is a folder or a
fleet.
"""

from dataclasses import dataclass, field
from math import inf

from console.open_crawl import OpenCrawl
from gossamer.blocklist import Blocklist
from gossamer.crawl import blocklist_of, host_overrides_of, last_definition, overrides_of, speed_of
from gossamer.erasures import ErasureRow, is_about
from gossamer.events import CrawlDefined, HostOverridden, SiteOverridden, SpeedSet
from gossamer.log import partition_of
from gossamer.speed import Speeds
from gossamer.store import Store
from gossamer.web.url import fingerprint, host_key, host_name, site_of
from gossamer.web.validators import Trust
from services.archive.rows import CaptureRow
from services.dedup.rows import DocumentRow
from services.dedup.seen import SeenRow, SeenTable
from services.frontier.conditions import Condition
from services.frontier.gates import GateInputs
from services.frontier.overrides import Overrides
from services.frontier.queue import HostQueues, is_revisit
from services.frontier.revisit import States, unpack_crawl, unpack_page, unpack_site
from services.frontier.rows import (
    HistoryRow,
    HostRow,
    PartitionPlansRow,
    PartitionTallyRow,
    PlanRow,
    QueuedUrl,
    RobotsRow,
    SiteRow,
    UrlRow,
    VerdictRow,
    partition_key,
)
from services.frontier.sites import MAX_REFUSED_ROWS

EARLIER = 10
"""The most visits, and captures, that are read."""
READ = (
    UrlRow,
    HistoryRow,
    VerdictRow,
    DocumentRow,
    HostRow,
    SiteRow,
    RobotsRow,
    QueuedUrl,
    CaptureRow,
    PlanRow,
    PartitionPlansRow,
    PartitionTallyRow,
    ErasureRow,
)


@dataclass(frozen=True)
class UrlFacts:
    """All that is known of a URL; what is not known is None or empty."""

    url: str
    fleet: bool = False
    """A fleet's URL-seen set is in dedup, not in the store: what was met may be unknown there."""
    definition: CrawlDefined | None = None
    blocklist: Blocklist = field(default_factory=Blocklist)
    override: SiteOverridden | None = None
    """What is different at its site …"""
    own: HostOverridden | None = None
    """… and at its host alone."""
    speed: SpeedSet | None = None
    """How fast the crawl may be."""
    via: str = ""
    visit: UrlRow | None = None
    """The last visit, or why there was none."""
    history: tuple[HistoryRow, ...] = ()
    """Visits, the newest first."""
    verdict: VerdictRow | None = None
    document: DocumentRow | None = None
    """Whether `pages` has it; None if it never had."""
    captures: tuple[CaptureRow, ...] = ()
    robots: RobotsRow | None = None
    host: HostRow | None = None
    neighbours: tuple[str, ...] = ()
    """The other hosts of its site that are checked out."""
    site: SiteRow | None = None
    plan: PlanRow | None = None
    """When it is visited again, once it was visited."""
    shared: PartitionPlansRow | None = None
    """What the pages of its partition have in common."""
    ahead: int | None = None
    """URLs before it in its queue of its host; None if it is in neither."""
    again: bool = False
    """Whether that is the queue of URLs to visit again."""
    erased: ErasureRow | None = None
    """The last erasure on demand that it was part of."""
    met: bool = False
    """Whether anything but its scope is known of it."""

    @property
    def host_key(self) -> str:
        """The host that it belongs to."""
        return host_key(self.url)

    @property
    def states(self) -> States:
        """What the revisit policies go by."""
        return States(
            unpack_page(self.plan.statistics if self.plan else b""),
            unpack_site(self.site.statistics if self.site else b""),
            unpack_crawl(self.shared.statistics if self.shared else b""),
        )

    @property
    def trust(self) -> Trust:
        """What is thought of the validators of its host."""
        return (self.site.validators if self.site else {}).get(self.host_key, Trust())

    @property
    def unlisted(self) -> dict[str, int]:
        """Rule → how many URLs of its site it refused, where this may be one that has no row."""
        if self.site is None or self.visit or self.ahead is not None:
            return {}
        return {rule: n for rule, n in self.site.refused.items() if n > MAX_REFUSED_ROWS}

    def gate_inputs(self, host: HostRow, now: float) -> GateInputs:
        """Return what may keep *host*, the host of the URL, from being visited *now*."""
        overrides = Overrides()
        for event in (self.override, self.own):
            if event:
                overrides.change(event)
        rate = Speeds(self.speed).at(now)
        return GateInputs(
            now=now,
            host=host,
            crawl=self.definition,
            overrides=overrides,
            speed_from=inf if 0 in (rate.pages, rate.bytes) else 0.0,
            neighbours=self.neighbours,
        )

    @property
    def ordered(self) -> bool:
        """Whether a fetcher holds it now."""
        if self.host is None or self.ahead is None:
            return False
        in_turn = self.again == self.host.is_again_next and self.ahead < self.host.lease.outstanding
        return self.host.condition is Condition.CHECKED_OUT and in_turn


def read_facts(crawl: OpenCrawl, url: str) -> UrlFacts:
    """Return what *crawl* knows of a canonical *url*."""
    store = crawl.store()
    for row in READ if crawl.fleet else (*READ, SeenRow):
        store.table(row)  # Made where it is missing, while nothing is being read.
    with crawl.reading():
        return _facts(crawl, store, url)


def _facts(crawl: OpenCrawl, store: Store, url: str) -> UrlFacts:
    host = host_key(url)
    visit = store.table(UrlRow).get((crawl.id, host), url)
    site = site_of(url)
    met = not crawl.fleet and SeenTable(store).contains(crawl.id, site, fingerprint(url))
    row = store.table(HostRow).get(site, host)
    queues = HostQueues(store.table(QueuedUrl), crawl.id)
    ahead, queued = (row and queues.find(row, url)) or (None, None)
    in_all = crawl.log.partitions
    partition = partition_key(partition_of(site, in_all), in_all)
    tally = store.table(PartitionTallyRow).get(partition)
    out = tally.checked_out if tally else {}
    visits = store.table(HistoryRow)
    log = store.table(ErasureRow).scan(crawl.id, limit=1_000_000)
    return UrlFacts(
        url=url,
        erased=next((row for row in reversed(log) if is_about(url, row.target)), None),
        fleet=crawl.fleet,
        definition=last_definition(crawl.log),
        blocklist=blocklist_of(crawl.log),
        override=overrides_of(crawl.log).get(site),
        own=host_overrides_of(crawl.log).get(host_name(url)),
        speed=speed_of(crawl.log),
        via=visit.origin.via if visit else queued.origin.via if queued else "",
        visit=visit,
        history=tuple(visits.scan((crawl.id, url), limit=EARLIER)) if visit else (),
        verdict=store.table(VerdictRow).get((crawl.id, host), url) if visit else None,
        document=store.table(DocumentRow).get((crawl.id, url)),
        captures=tuple(store.table(CaptureRow).scan((crawl.id, url), limit=EARLIER)),
        robots=store.table(RobotsRow).get(host),
        host=row,
        neighbours=tuple(o for o, its in out.items() if its == site and o != host),
        site=store.table(SiteRow).get(site),
        plan=store.table(PlanRow).get((crawl.id, host), url),
        shared=store.table(PartitionPlansRow).get((crawl.id, partition)),
        ahead=ahead,
        again=queued is not None and is_revisit(queued),
        met=bool(met or visit or ahead is not None),
    )
