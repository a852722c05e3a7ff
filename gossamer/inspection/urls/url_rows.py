"""The rows about one URL, from which `urls.py` explains it.

They are read in one consistent view from the store and the log of a crawl, in a folder or a fleet.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gossamer.blocklist import Blocklist
from gossamer.crawl import blocklist_of, host_overrides_of, overrides_of, speed_of
from gossamer.erasures import ErasureRow, is_about
from gossamer.events import DEFAULT_CRAWL, FLEET, CrawlDefined, HostOverridden, SiteOverridden
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import Purpose
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.hosts.hosts import NO_RUN, effective_override, find_idle_reason
from gossamer.log import partition_of
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.dedup.seen import SeenRow, SeenTable
from gossamer.services.frontier.partition.gates import (
    Closure,
    GateInputs,
    closed_gates,
    stored_gate_inputs,
)
from gossamer.services.frontier.partition.parked import ParkedLimitRow, ParkedRow, find_parked
from gossamer.services.frontier.partition.politeness import Overrides
from gossamer.services.frontier.partition.queue import (
    FoundUrl,
    HostQueues,
    is_requisite,
    is_revisit,
)
from gossamer.services.frontier.partition.sites import MAX_REFUSED_ROWS
from gossamer.services.frontier.revisit import States, unpack_crawl, unpack_page, unpack_site
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow, RobotsRow
from gossamer.services.frontier.tables.ordering import rank_of_number
from gossamer.services.frontier.tables.partitions import partition_key, partition_keys
from gossamer.services.frontier.tables.plans import PartitionPlansRow, PlanRow
from gossamer.services.frontier.tables.sites import ParkedPartsRow, SiteRow, SiteWorthRow
from gossamer.services.frontier.tables.urls import (
    HistoryRow,
    QueuedUrl,
    RequisiteRow,
    UrlRow,
    VerdictRow,
)
from gossamer.services.frontier.totals.tally import PartitionTallyRow, TallyRow
from gossamer.speed import Speeds
from gossamer.store import Store
from gossamer.store.claims import ClaimRow
from gossamer.web.url import fingerprint, host_key, host_name, site_of
from gossamer.web.validators import Trust

if TYPE_CHECKING:
    # Imported where it is needed, because the import takes longer than most commands.
    from gossamer.services.frontier.steps.queue_fates import QueueFate, QueueHead
    from gossamer.settings import ArchiveSettings

MAX_VISITS = 10
"""Visits, and captures, that are read."""
MAX_ERASURES = 1_000_000
LINK_RULES = (Hazard.TRAP_DEPTH, Hazard.NOT_FOLLOWED)
"""Rules that park links of pages, before their URLs are admitted."""
MAX_PARKED_ROWS = 5_000
"""Pages with links that a rule has parked, which are searched for a URL."""
STOPPED_GATE = "run"
"""The gate that is closed while no crawl runs in the folder."""
BRIEF_GATES = frozenset({"lease", "delay", "name", "site", "name delay", "takeover"})
"""Gates that open by themselves after a visit or a delay: estimates of the time left hold."""
READ_TABLES = (
    UrlRow,
    RequisiteRow,
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
    TallyRow,
    ClaimRow,
    ErasureRow,
    SiteWorthRow,
    ParkedPartsRow,
    ParkedRow,
    ParkedLimitRow,
)


@dataclass(frozen=True)
class UrlFacts:
    """The facts about a URL; a fact that is not known is None or empty."""

    url: str
    crawl: str = DEFAULT_CRAWL
    is_fleet: bool = False
    """Whether the crawl is a fleet, whose URL-seen set cannot be read from here."""
    definition: CrawlDefined | None = None
    are_all_paused: bool = False
    is_stopped: bool = False
    """Whether no crawl runs in the folder."""
    why_idle: str = ""
    """Why the crawl visits no host now; "" if it may visit some."""
    blocklist: Blocklist = field(default_factory=Blocklist)
    site_override: SiteOverridden | None = None
    """The settings of `gossamer site` for its site."""
    host_override: HostOverridden | None = None
    """The settings of `gossamer site --host` for its host."""
    discovered_by: str = ""
    visit: UrlRow | None = None
    """The last visit, or the refusal of the URL."""
    history: tuple[HistoryRow, ...] = ()
    """Visits, newest first."""
    verdict: VerdictRow | None = None
    document: DocumentRow | None = None
    """The state of the document in `pages`; None if it was never published."""
    requisite: RequisiteRow | None = None
    """The last visit to the URL as a requisite of a page, or its refusal as one."""
    archive: "ArchiveSettings | None" = None
    """The settings of the archive that were given; None if all have their defaults."""
    has_requisites: bool = False
    """Whether the crawl has visited requisites, with whatever settings. False in a fleet."""
    captures: tuple[CaptureRow, ...] = ()
    robots: RobotsRow | None = None
    host: HostRow | None = None
    gates: GateInputs | None = None
    """The inputs of the gates of its host; None if the URL is not queued."""
    site: SiteRow | None = None
    plan: PlanRow | None = None
    """The plan of the next visit; None if no visit is planned."""
    shared: PartitionPlansRow | None = None
    """The state that all plans of its partition share."""
    queued: FoundUrl | None = None
    """The URL in a queue of its host; None if it is not queued."""
    fate: "tuple[QueueFate, QueueHead] | None" = None
    """Its fate at the head of that queue now; None if it would be visited, and if it is not queued.
    """
    erased: ErasureRow | None = None
    """The last erasure that included the URL."""
    is_seen: bool = False
    """Whether the crawl has seen the URL."""
    parked: dict[Hazard, ParkedRow] = field(default_factory=dict)
    """Rule of `LINK_RULES` → a link to the URL that it has parked, in the rows that are read."""

    @property
    def host_key(self) -> str:
        """The key of its host."""
        return host_key(self.url)

    @property
    def states(self) -> States:
        """The state that the revisit policies use."""
        return States(
            unpack_page(self.plan.statistics if self.plan else b""),
            unpack_site(self.site.of(self.crawl).statistics if self.site else b""),
            unpack_crawl(self.shared.statistics if self.shared else b""),
        )

    @property
    def trust(self) -> Trust:
        """The trust in the validators of its host, as stored; it may have ended."""
        return (self.site.validators if self.site else {}).get(self.host_key, Trust())

    @property
    def refusals(self) -> dict[str, int]:
        """Rule → refused URLs of its site, if the URL may be one of those without a row."""
        if self.site is None or self.visit or self.ahead is not None:
            return {}
        refused = self.site.of(self.crawl).refused
        return {rule: n for rule, n in refused.items() if n > MAX_REFUSED_ROWS}

    @property
    def closed_gates(self) -> list[tuple[str, Closure]]:
        """The closed gates of its host, by name; empty if the URL is not queued."""
        return find_closed_gates(self.gates, self.is_stopped) if self.gates else []

    @property
    def override(self) -> SiteOverridden | None:
        """The settings of `gossamer site` that hold for its host; None without any."""
        return effective_override(site_of(self.url), self.site_override, self.host_override)

    @property
    def ahead(self) -> int | None:
        """URLs of its host before it; None if it is not queued."""
        return self.queued.ahead if self.queued else None

    @property
    def is_in_revisit_queue(self) -> bool:
        """Whether it is in the queue of URLs to visit again."""
        return self.queued is not None and is_revisit(self.queued.url)

    @property
    def is_revisit(self) -> bool:
        """Whether it waits to be visited again."""
        if self.queued is None or self.is_queued_requisite:
            return False
        return self.queued.url.earlier > 0

    @property
    def is_queued_requisite(self) -> bool:
        """Whether it is in a queue as a requisite of a page."""
        return self.queued is not None and is_requisite(self.queued.url)

    @property
    def rank(self) -> int | None:
        """Its rank among the URLs that were never visited; None if it is not one of them."""
        if self.queued is None or self.is_in_revisit_queue:
            return None
        return rank_of_number(self.queued.url.number)

    @property
    def is_ordered(self) -> bool:
        """Whether a fetcher has an order for it now."""
        if self.host is None or self.queued is None or self.is_stopped:
            return False
        lease, own = self.host.lease, self.host.of(self.queued.url.crawl)
        return (
            self.host.condition is Condition.CHECKED_OUT
            and lease.crawl == self.queued.url.crawl
            and self.is_in_revisit_queue == own.is_again_next
            and self.queued.rank == (None if own.is_again_next else own.new.ordered)
            and self.queued.position < lease.outstanding
        )


def read_facts(crawl: OpenCrawl, url: str, now: float) -> UrlFacts:
    """Return the facts about a canonical *url*."""
    rows = READ_TABLES if crawl.fleet else (*READ_TABLES, SeenRow)
    with crawl.view(*rows) as store:
        return _facts(crawl, store, url, now)


def _facts(crawl: OpenCrawl, store: Store, url: str, now: float) -> UrlFacts:
    host = host_key(url)
    visit = store.table(UrlRow).get((crawl.id, host), url)
    requisite = store.table(RequisiteRow).get((crawl.id, host), url)
    site = site_of(url)
    is_seen = not crawl.fleet and SeenTable(store).contains(crawl.id, site, fingerprint(url))
    row = store.table(HostRow).get(site, host)
    queues = HostQueues(store.table(QueuedUrl), crawl.id)
    queued = queues.find(row, url, visit) if row else None
    partitions = crawl.log.partitions
    partition = partition_key(partition_of(site, partitions), partitions)
    visits = store.table(HistoryRow)
    erasures = store.table(ErasureRow).scan(FLEET, limit=MAX_ERASURES)
    is_known = bool(is_seen or visit or queued or requisite)
    overridden = overrides_of(crawl.log).get(site), host_overrides_of(crawl.log).get(host_name(url))
    return UrlFacts(
        url=url,
        crawl=crawl.id,
        erased=next((row for row in reversed(erasures) if is_about(url, row.target)), None),
        is_fleet=crawl.fleet,
        definition=crawl.definition(),
        are_all_paused=crawl.are_all_paused,
        is_stopped=crawl.is_stopped,
        why_idle=find_idle_reason(crawl, store, crawl.id, now),
        blocklist=blocklist_of(crawl.log),
        site_override=overridden[0],
        host_override=overridden[1],
        discovered_by=next(
            (one.origin.via for one in (visit, queued and queued.url, requisite) if one), ""
        ),
        visit=visit,
        history=tuple(visits.scan((crawl.id, url), limit=MAX_VISITS)) if visit else (),
        verdict=store.table(VerdictRow).get((crawl.id, host), url) if visit else None,
        document=store.table(DocumentRow).get((crawl.id, url)),
        requisite=requisite,
        archive=crawl.settings.archive if crawl.settings else None,
        has_requisites=not (is_known or crawl.fleet) and _has_requisites(crawl, store),
        captures=tuple(store.table(CaptureRow).scan((crawl.id, url), limit=MAX_VISITS)),
        robots=store.table(RobotsRow).get(host),
        host=row,
        gates=read_gate_inputs(crawl, store, row, overridden, now) if row and queued else None,
        site=store.table(SiteRow).get(site),
        plan=store.table(PlanRow).get((crawl.id, host), url),
        shared=store.table(PartitionPlansRow).get(partition, crawl.id),
        queued=queued,
        fate=_find_fate(crawl, store, row, queued.url, now) if row and queued else None,
        is_seen=is_known,
        parked={
            rule: link
            for rule in (() if is_known else LINK_RULES)
            if (link := find_parked(store, crawl.id, url, rule, MAX_PARKED_ROWS))
        },
    )


def _has_requisites(crawl: OpenCrawl, store: Store) -> bool:
    keys = [(key, crawl.id) for key in partition_keys(crawl.log.partitions)]
    return any(row.outcomes.get(Purpose.REQUISITE) for row in store.table(TallyRow).get_all(keys))


def _find_fate(
    crawl: OpenCrawl, store: Store, host: HostRow, url: QueuedUrl, now: float
) -> "tuple[QueueFate, QueueHead] | None":
    if (definition := crawl.definition()) is None:
        return None
    from gossamer.services.frontier.steps.queue_fates import stored_head_inputs

    inputs = stored_head_inputs(
        store,
        definition,
        host,
        store.table(RobotsRow).get(host.host),
        blocklist_of(crawl.log),
        crawl.frontier,
        now,
    )
    return inputs.find_fate(url)


def find_closed_gates(inputs: GateInputs, is_stopped: bool) -> list[tuple[str, Closure]]:
    """Return the closed gates of a host, by name. *is_stopped*: whether no crawl runs in the
    folder; the visits and delays of the last run are then not reasons."""
    closed = [(gate.name, found) for gate, found in closed_gates(inputs)]
    if not is_stopped:
        return closed
    now, stopped = inputs.host.now, (STOPPED_GATE, Closure(None, NO_RUN))
    # A backoff lasts in the row until the next run.
    lasting = (one for one in closed if one[1].until is None or one[1].until > now)
    return [*(one for one in lasting if one[0] not in BRIEF_GATES), stopped]


def read_gate_inputs(
    crawl: OpenCrawl,
    store: Store,
    host: HostRow,
    overridden: tuple[SiteOverridden | None, HostOverridden | None],
    now: float,
) -> GateInputs:
    """Return the inputs of all gates of *host*; *overridden*: the settings of its site, and its
    own."""
    overrides = Overrides()
    for event in overridden:
        if event:
            overrides.change(event)
    definition, speeds = crawl.definition(), Speeds(speed_of(crawl.log))
    return stored_gate_inputs(
        store,
        crawl.id,
        crawl.log.partitions,
        host,
        definition,
        overrides,
        speeds,
        lambda: crawl.frontier,
        now,
        crawl.are_all_paused,
    )
