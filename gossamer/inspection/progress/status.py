"""The status of a crawl as data: definition, totals, failures with examples, and waiting hosts."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from gossamer.crawl import (
    blocklist_of,
    host_overrides_of,
    overrides_of,
    speed_of,
    why_idle,
)
from gossamer.events import CrawlDefined, Outcome, Speed, SpeedSet
from gossamer.events.hazards import Hazard
from gossamer.inspection.basics.archives import ArchiveBuffer, read_buffers
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.basics.labels import LABELS, failures, is_expected_failure
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.hosts.hosts import Host
from gossamer.inspection.progress.progress import Progress, read_totals
from gossamer.inspection.progress.workload import ScheduledUrl, Waiting, read_waiting
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.partitions import PartitionRow
from gossamer.services.frontier.tables.plans import DueRow, PartitionPlansRow, PlanRow
from gossamer.services.frontier.tables.sites import ParkedPartsRow
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.services.frontier.totals.tally import PartitionTallyRow, TallyRow
from gossamer.services.frontier.worth.budgets import BUDGETS
from gossamer.store import Store
from gossamer.web.url import Site

STATUS_TABLES = (
    TallyRow,
    PartitionTallyRow,
    ParkedPartsRow,
    PartitionRow,
    PartitionPlansRow,
    DueRow,
    HostRow,
    PlanRow,
    UrlRow,
)
"""The tables that the status is read from."""
MAX_PARKED_SITES = 100
"""Sites with parked URLs in a report for programs."""
MAX_READ_URLS = 50_000
"""Rows of the table of URLs that are searched for examples; some 0.3 s."""


class Failure(msgspec.Struct, frozen=True):
    """A kind of failure of visits, or a reason for which URLs were refused."""

    label: str
    """The failure in words, by its status code if it has one."""
    count: int
    example: str = ""
    """A URL or a host with this failure; "" if the searched rows have none."""


class RevisitReport(msgspec.Struct, frozen=True, kw_only=True):
    """The revisits of a crawl."""

    policy: str
    budget: float
    """Visits a day that the crawl may make; 0 for as many as politeness allows."""
    planned: int
    """URLs with a planned visit."""
    waiting: int
    """URLs without a visit that wait for the budget."""
    next_at: float | None
    """When the next planned visit is due; null if not within the hour."""
    spent: dict[str, int]
    """Basis of a revisit → ordered visits."""
    not_modified: int
    """Responses 304."""
    distrusted_hosts: int
    """Hosts whose ETags and Last-Modified are distrusted."""
    expected_freshness: float | None
    """The expected share of copies that equal their pages, by weight; null if it is not known."""
    expected_age: float | None
    """The expected mean age of copies, in seconds; null if it is not known."""
    price: float | None
    """The mean price of a visit, in seconds of freshness; null without a price."""


class HarvestReport(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the harvest curve. The numbers are of this part alone."""

    until: float
    """When the part ended, in epoch seconds."""
    visits: int
    """Visits to pages, with any outcome."""
    new: int
    """Pages with a new text."""
    good: int
    """Pages with a new text and a score of at least 0.5."""


class CrawlReport(msgspec.Struct, frozen=True, kw_only=True):
    """The status of a crawl for programs: `gossamer status --json`, and `/v1/status`."""

    crawl: str
    """The name of the folder or of the fleet."""
    definition: CrawlDefined | None
    is_running: bool | None
    """Whether a crawl runs in the folder; null for a fleet."""
    idle: str
    """Why no page is fetched, and the remedy; "" if the crawl is active."""
    blocklist_rules: int
    overridden_sites: int
    """Sites with settings of `gossamer site`."""
    overridden_hosts: int
    """Hosts with settings of `gossamer site --host`."""
    speeds: tuple[Speed, ...]
    """The speed limits of `gossamer speed`."""
    admitted: int
    """URLs that were admitted, without sitemaps. Like all totals, it counts from the beginning of
    the crawl."""
    queued: int
    pages: int
    received: int
    """Bytes received."""
    outcomes: dict[str, int]
    """Outcome → visits."""
    refused: dict[str, int]
    """Rule → refused URLs."""
    verdicts: dict[str, int]
    """Verdict → pages."""
    hazards: dict[str, int]
    """Hazard → occurrences."""
    conditions: dict[str, int]
    """Condition → hosts."""
    slowest: dict[str, float]
    """Host → its longest visit in seconds; the slowest few hosts of each partition."""
    largest: dict[str, float]
    """Host → bytes received; the largest few hosts of each partition."""
    latest: tuple[tuple[str, str], ...]
    """The last few visits: URL and outcome."""
    hours: dict[str, tuple[int, int, int]]
    """Hours since 1970 → new, changed and unchanged pages; at least the last 24 hours."""
    harvest: tuple[HarvestReport, ...]
    """What the visits have brought, from the first to the last: at most 64 parts with about as many
    visits."""
    visited: int
    """URLs without sitemaps whose first visit ended, after retries. `refused.duphost` counts the
    URLs that were sent to the original of their host."""
    unvisited: int
    """Admitted URLs that wait for their first visit."""
    new_urls_lately: float | None
    """New URLs that pages linked to, per 100 visits of the newest eighth of all visits; null before
    100 visits. Near 0 means that the crawl finds hardly any more URLs."""
    lags: dict[str, dict[str, int]]
    """Group → topic → records that the group has not consumed."""
    dead_letters: int
    due_count: int
    """Hosts and URLs that wait for a time."""
    next_due_at: float | None
    """When the first waiting host or URL is due; null if none waits, and in a fleet if none is due
    within the hour."""
    failures: tuple[Failure, ...]
    """The most frequent failure first."""
    backing_off: tuple[Host, ...]
    """The first few hosts that back off; empty for a fleet."""
    scheduled: tuple[ScheduledUrl, ...]
    """The first few URLs that are fetched at a later time; empty for a fleet."""
    revisiting: RevisitReport
    buffers: tuple[ArchiveBuffer, ...]
    """Archives with WARC files that wait to be uploaded to a volume."""
    parked: dict[Site, int]
    """Site → its parked URLs, of the sites with most; empty for a fleet, where `gossamer sites` has
    them. `failures` has the number by reason."""


@dataclass(frozen=True)
class CrawlStatus:
    """The status of a crawl. A field without a text means what it means in `CrawlReport`."""

    crawl: str
    fleet: bool
    is_running: bool | None
    definition: CrawlDefined | None
    progress: Progress
    waiting: Waiting
    """Empty in a fleet, where the calendar may be long, and each of its entries costs a read."""
    failures: tuple[Failure, ...] = ()
    blocklist_rules: int = 0
    overridden_sites: int = 0
    overridden_hosts: int = 0
    speed: SpeedSet = field(default_factory=lambda: SpeedSet(at=0.0))
    buffers: tuple[ArchiveBuffer, ...] = ()
    are_all_paused: bool = False
    """Whether an operator has paused all crawls together."""
    parked: dict[Site, int] = field(default_factory=dict)
    """Site → its parked URLs. Empty in a fleet, whose rows are on all nodes."""

    @property
    def parked_urls(self) -> int:
        """The number of parked URLs: of the sites, or as the frontiers of a fleet have counted."""
        return sum((self.progress.parked if self.fleet else self.parked).values())

    @property
    def idle(self) -> str:
        """Why no page is fetched, and the remedy; "" if the crawl is active."""
        return why_idle(self.definition, self.progress.queued, self.are_all_paused)

    @property
    def due_at(self) -> float | None:
        """When the first waiting host or URL is due.

        None if nothing waits, and in a fleet if nothing is due within the hour.
        """
        at = self.progress.next_due_at
        return self.waiting.first_at if at is None else at

    def report(self) -> CrawlReport:
        """Return the status for programs."""
        progress, revisiting = self.progress, self.progress.revisiting
        return view_of(
            CrawlReport,
            self,
            progress,
            speeds=self.speed.speeds,
            harvest=tuple(view_of(HarvestReport, point) for point in progress.harvest),
            next_due_at=self.due_at,
            backing_off=self.waiting.hosts,
            scheduled=self.waiting.urls,
            revisiting=view_of(
                RevisitReport,
                revisiting,
                not_modified=progress.outcomes[Outcome.NOT_MODIFIED],
                price=revisiting.mean_price,
            ),
            parked=dict(Counter(self.parked).most_common(MAX_PARKED_SITES)),
        )


def read_status(crawl: OpenCrawl) -> CrawlStatus:
    """Return the status of *crawl*."""
    buffers = read_buffers(crawl.store())
    with crawl.view(*STATUS_TABLES) as store:
        progress = read_totals(crawl.log, store, crawl.id)
        backing_off = progress.conditions[Condition.BACKING_OFF]
        waiting = Waiting() if crawl.fleet else read_waiting(store, backing_off, progress.due_count)
        return CrawlStatus(
            crawl=crawl.name,
            fleet=crawl.fleet,
            is_running=crawl.is_running(),
            definition=crawl.definition(),
            are_all_paused=crawl.are_all_paused,
            progress=progress,
            overridden_sites=len(overrides_of(crawl.log)),
            overridden_hosts=len(host_overrides_of(crawl.log)),
            speed=speed_of(crawl.log),
            blocklist_rules=len(blocklist_of(crawl.log).rules),
            failures=read_failures(None if crawl.fleet else store, crawl.id, progress, waiting),
            waiting=waiting,
            buffers=buffers,
            parked={} if crawl.fleet else read_parked(store, crawl.id),
        )


def parked_text(
    parked: Mapping[Site, int], command: str = "gossamer", options: str = "", in_fleet: int = 0
) -> str:
    """Return how many URLs are *parked*, where most of them are, and the *command* with its
    *options* that explains and releases them; "" if none is. *in_fleet*: the parked URLs of a
    fleet, whose sites are not known here."""
    if in_fleet:
        return f"{plural(in_fleet, 'URL')}: {command} sites{options} SITE says why for a site"
    if not parked:
        return ""
    site, urls = max(parked.items(), key=lambda item: item[1])
    count = f"{plural(sum(parked.values()), 'URL')} of {plural(len(parked), 'site')}"
    return (
        f"{count}, {urls:,} of {site}: {command} sites{options} {site} says why, "
        f"{command} release{options} {site} visits them"
    )


def read_parked(store: Store, *crawls: str) -> dict[Site, int]:
    """Return how many URLs of each site *crawls* have parked: of parts with hardly any new text, or
    over a budget. The rows of at most `MAX_READ_URLS` sites are read."""
    parked = Counter[Site]()
    for row in islice(store.table(ParkedPartsRow).everything(), MAX_READ_URLS):
        if row.crawl in crawls:
            parked[row.site] += sum(part.urls for part in row.parts.values())
    return {site: urls for site, urls in parked.items() if urls}


def read_replicas(store: Store, progress: Progress) -> dict[str, str]:
    """Return each mirror, with the host where its URLs are visited. The rows of at most
    `MAX_READ_URLS` hosts are read, and none if no mirror was proven."""
    if not (progress.refused[Hazard.DUPHOST] or progress.hazards[Hazard.DUPHOST]):
        return {}
    rows = islice(store.table(HostRow).everything(), MAX_READ_URLS)
    return {row.host: row.original for row in rows if row.original is not None}


def without_released(progress: Progress) -> Counter[str]:
    """Return the hazards of *progress* without the URLs that were parked and then released."""
    still = progress.hazards.copy()
    for rule in (Hazard.LOW_WORTH, *BUDGETS):
        still[rule] = min(progress.hazards[rule], progress.parked[rule])
    return +still


def read_failures(
    store: Store | None, crawl_id: str, progress: Progress, waiting: Waiting
) -> tuple[Failure, ...]:
    """Return the failures of *progress*, the most frequent first, with an example URL or host.

    The best example is a URL that is not retried, then one of the latest visits, then a host of
    *waiting*. If there is none, the rows of *store* are searched. In a fleet *store* is None,
    because the search would read from all nodes.
    """
    counted = failures(progress.outcomes, without_released(progress))
    examples = _find_examples(set(counted), store, crawl_id, progress, waiting)
    ordered = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Failure(label, count, examples.get(label, "")) for label, count in ordered)


def _find_examples(
    labels: set[str], store: Store | None, crawl_id: str, progress: Progress, waiting: Waiting
) -> dict[str, str]:
    examples = dict[str, str]()
    hosts = [(host.host, host.backoff_cause or "") for host in waiting.hosts]
    finished = [(url, outcome) for outcome, url in progress.failed_urls.items()]
    # The newest visit to a URL decides: an earlier failure may be repaired.
    for url, outcome in (*hosts, *dict(progress.latest).items(), *finished):
        label = LABELS.get(outcome, "")
        if label in labels:
            examples[label] = url
    if store is not None:
        found = find_failed_urls(store, crawl_id, labels - examples.keys(), 1)
        examples |= {label: urls[0] for label, urls in found.items() if urls}
    return examples


def find_failed_urls(
    store: Store, crawl_id: str, labels: Collection[str], most: int
) -> dict[str, list[str]]:
    """Return label → at most *most* URLs with this last outcome. The first `MAX_READ_URLS` rows of
    the table of URLs are searched, until each of *labels* has *most*."""
    found: dict[str, list[str]] = {label: [] for label in labels}
    missing = len(found) * most
    for row in islice(store.table(UrlRow).everything(), MAX_READ_URLS if missing else 0):
        of_label = found.get(LABELS.get(row.outcome, ""))
        is_expected = is_expected_failure(row.outcome, row.origin.purpose)
        if row.crawl != crawl_id or of_label is None or len(of_label) == most or is_expected:
            continue
        of_label.append(row.url)
        missing -= 1
        if not missing:
            break
    return found
