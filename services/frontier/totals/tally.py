"""The totals of a partition: of each crawl (`Tally`), of what the crawls share
(`PartitionTallyRow`), and of plans (`RevisitTotals`).

Totals are written together with the hosts, so that no crash makes them wrong. People and metrics
read them from the store, summed over all partitions.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Annotated

from msgspec import Struct, field

from gossamer.erasures import is_about
from gossamer.events import Discovery, Outcome, PageDeduplicated, Purpose, Verdict, VisitEnded
from gossamer.events.hazards import Hazard, hazards_of
from gossamer.events.outcomes import FAILURES, GONE_VERDICTS, OUTCOMES, Fate, Wait
from gossamer.policies import NEVER
from gossamer.services.frontier import revisit
from gossamer.services.frontier.revisit import CrawlState
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.harvest import CURVE, Harvest, HarvestPoint
from gossamer.services.frontier.tables.hosts import AppliedRecords, HostRow, OffsetAndTime
from gossamer.services.frontier.tables.plans import PartitionPlansRow
from gossamer.services.frontier.tables.totals import (
    DIVIDED,
    MAX,
    MIN,
    OWN,
    Counted,
    Totals,
    count,
    entries_at,
    pick,
)
from gossamer.services.frontier.totals.daily import DAY, DailyTally, DailyTallyRow
from gossamer.store import Store
from gossamer.web.url import HostKey, Site

MAX_LISTED = 10
"""The length of the lists of hosts and visits."""


class TallyRow(Totals):  # type: ignore[misc]
    """Totals of a crawl in a partition since the crawl's beginning, for report and live view."""

    table = "tallies"
    partition_key, sort_key = "partition", "crawl"
    decides = True
    about = "latest", "failed_urls"

    crawl: str
    partition: str
    admitted: int = 0
    """URLs that were admitted, without sitemaps."""
    queued: Annotated[int, DIVIDED] = 0
    """URLs in the queues of hosts."""
    pages: int = 0
    """Visits that ended with a page."""
    received: int = 0
    """Bytes of bodies, as received."""
    outcomes: dict[str, int] = field(default_factory=dict)
    """Outcome, or label of a purpose (`LABELS`) → visits."""
    refused: dict[str, int] = field(default_factory=dict)
    """Rule → URLs that it refused."""
    verdicts: dict[str, int] = field(default_factory=dict)
    """Verdict → pages."""
    hazards: dict[str, int] = field(default_factory=dict)
    """Hazard → URLs that met it."""
    parked: dict[str, int] = field(default_factory=dict)
    """Rule → URLs that are parked now because of it, about: in a part of a site, or over a budget.
    In some partitions it may be below 0, after a change of their number."""
    latest: Annotated[tuple[tuple[str, str], ...], entries_at(0, MAX_LISTED)] = ()
    """The last few visits: URL and outcome."""
    failed_urls: Annotated[dict[str, str], entries_at(1)] = field(default_factory=dict)
    """Outcome → the last URL that finished with this failure, after its retries."""
    hours: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Hour since 1970 → pages fetched in it that were new, changed, unchanged; the last 24 hours.
    """
    harvest: Annotated[tuple[HarvestPoint, ...], CURVE] = ()
    """The harvest curve: what the visits have brought, over time. At most 64 points."""
    applied_verdicts: Annotated[AppliedRecords, OWN] = AppliedRecords()
    """The records of `pages.deduplicated` that are in the totals: verdicts and parked links."""
    today: Annotated[DailyTallyRow | None, OWN] = None
    """The counts of the last day on which anything was counted. They are in no other row before
    the end of the day."""


class PartitionTallyRow(Totals):  # type: ignore[misc]
    """Totals of a partition that its crawls share: its hosts, its orders, and its scheduled
    waits."""

    table = "partition_tallies"
    partition_key = "partition"
    decides = True
    about = "slowest", "largest"

    partition: str
    last_number: Annotated[int, MAX] = 0
    """The largest request number that was given out. Request numbers grow, whatever the clock does.
    """
    orders: Annotated[int, MAX] = 0
    """Orders that were made; the number of the last one is in its id."""
    orders_before_claim: Annotated[int, OWN] = 0
    """Orders that were made before the newest claim on the partition."""
    conditions: Annotated[dict[str, int], DIVIDED] = field(default_factory=dict)
    """Condition → number of hosts."""
    slowest: Annotated[dict[str, float], entries_at(0)] = field(default_factory=dict)
    """Host → its longest visit, in seconds; the slowest few hosts."""
    largest: Annotated[dict[str, float], entries_at(0)] = field(default_factory=dict)
    """Host → bytes received; the largest few hosts."""
    next_due_at: Annotated[float | None, MIN] = None
    """When the next URL or host is due; null if not within the hour."""
    due_count: Annotated[int, DIVIDED] = 0
    """URLs and hosts that wait for a time."""
    sent: Annotated[dict[str, int], OWN] = field(default_factory=dict)
    """Partition of `visits.ordered` → unanswered orders of this partition's sites there; empty with
    one fetcher."""
    checked_out: Annotated[dict[HostKey, Site], entries_at(0)] = field(default_factory=dict)
    """Host → site, of all checked-out hosts. A frontier that takes the partition over loads these
    hosts before it makes orders."""

    def record_condition(self, row: HostRow, before: Condition | None) -> None:
        """Count a change of condition; *before*: the former condition, or None for a new host."""
        if before is not None:
            count(self.conditions, before, -1)
        count(self.conditions, row.condition, 1)
        if row.condition is Condition.CHECKED_OUT:
            self.checked_out[row.host] = row.site
        else:
            self.checked_out.pop(row.host, None)

    def record_visit(self, host: HostKey, took: float, received: int) -> None:
        """Record a visit that *took* seconds, and the bytes that its *host* has sent in all."""
        _keep_largest(self.slowest, host, max(took, self.slowest.get(host, 0.0)))
        _keep_largest(self.largest, host, received)


LABELS = {
    Purpose.ROBOTS: "robots.txt",
    Purpose.PROBE: "probe",
    Purpose.USAGE: "usage file",
    Purpose.USUAL_SITEMAP: "usual sitemap",
    Purpose.REQUISITE: "requisite",
}
"""Purpose → the label under which its visits are counted, unless their outcome is a failure."""
HOURS = 24
"""Hours for which pages are counted by the hour."""


class Tally(Counted[TallyRow]):
    """The totals of a crawl in a partition, of all days and of the present one."""

    def __init__(self, crawl: str, partition: str, store: Store, now: float) -> None:
        super().__init__(store.table(TallyRow), TallyRow(crawl, partition))
        self.daily = DailyTally(crawl, partition, store, now, self.row.today)
        self.harvest = Harvest(self.row.harvest)

    def count_admitted(self, urls: Sequence[Discovery], now: float) -> None:
        """Count *urls* that were admitted, without sitemaps."""
        admitted = sum(not url.purpose.is_sitemap for url in urls)
        self.row.admitted += admitted
        self.daily.count_admitted(admitted)
        # The URLs of seeds and of sitemaps have no page with a score.
        self.harvest.count_found(sum(url.score is not None for url in urls), now)

    def count_visit(self, event: VisitEnded) -> list[str]:
        """Count a visit that ended; return the hazards that were counted."""
        if OUTCOMES[event.outcome].fate is Fate.STAY:
            return []
        if event.visit.purpose is not Purpose.PAGE and event.outcome is Outcome.PRIVATE_ADDRESS:
            return []  # No request was made. The URLs of the host get the same outcome, and count.
        if event.visit.purpose is Purpose.PAGE:
            self.harvest.count_visit(event.at)
            self.row.pages += event.outcome is Outcome.PAGE
        # A failed visit to a robots.txt is counted under its outcome, or nobody would see why the
        # host is not visited.
        failed = OUTCOMES[event.outcome].wait is not Wait.NONE
        if event.visit.purpose is Purpose.USUAL_SITEMAP:
            failed = OUTCOMES[event.outcome].fate is Fate.WAIT
        name = str(event.outcome)
        if not failed:
            name = LABELS.get(event.visit.purpose, name)
        count(self.row.outcomes, name, 1)
        self.row.received += event.received
        hazards = hazards_of("fetcher", event.hazards)
        self._add_hazards(hazards)
        self.daily.count_visit(event)
        self.row.latest = (*self.row.latest[1 - MAX_LISTED :], (event.visit.url, name))
        return hazards

    def record_finished(self, event: VisitEnded) -> None:
        """Count the URL of *event*, which is not retried. Make it the example of its outcome if
        that is a failure, and of no other failure."""
        url = event.visit.url
        if event.visit.purpose.is_collected and not event.visit.earlier:
            self.harvest.count_first_visit(event.at)
        failed = self.row.failed_urls
        self.row.failed_urls = {name: one for name, one in failed.items() if one != url}
        if event.outcome in FAILURES and event.visit.purpose is not Purpose.USUAL_SITEMAP:
            self.row.failed_urls[str(event.outcome)] = url

    def count_parked(self, rule: str, urls: int) -> None:
        """Count *urls* more that *rule* has parked; below 0 for URLs that were released."""
        count(self.row.parked, rule, urls)
        if not self.row.parked[rule]:
            del self.row.parked[rule]

    def apply_record(self, record: OffsetAndTime | None) -> bool:
        """Return whether a verdict or the parked links of *record* are yet to be counted, and note
        that they are."""
        if record and self.row.applied_verdicts.covers(record):
            return False
        if record:
            self.row.applied_verdicts = self.row.applied_verdicts.through(record)
        return True

    def count_verdict(
        self, event: PageDeduplicated, record: OffsetAndTime | None
    ) -> set[str] | None:
        """Count a verdict; return the hazards that were counted, or None if the verdict was counted
        before, from the same *record*."""
        if not self.apply_record(record):
            return None
        count(self.row.verdicts, event.verdict, 1)
        self.harvest.count_verdict(event)
        self.daily.count_verdict(event)
        hazards = {*hazards_of("parser", event.hazards), *hazards_of("dedup", event.hazards)}
        self._add_hazards(hazards)
        if event.verdict not in GONE_VERDICTS and event.verdict is not Verdict.UNREADABLE:
            self._count_change(event.change, event.fetched_at or event.at)
        return hazards

    def _count_change(self, change: float | None, at: float) -> None:
        """Count a page fetched *at* by how much of it had changed; None for a new page."""
        is_new, hours = change is None, self.row.hours
        of_page = int(is_new), int(bool(change)), int(not is_new and not change)
        count(hours, str(hour_of(at)), of_page)
        while len(hours) > HOURS:
            del hours[min(hours, key=int)]

    def erase(self, target: str) -> None:
        """Remove the URLs of the erased *target*."""
        is_erased = partial(is_about, target=target)
        self.row.remove_entries(is_erased)
        self.daily.remove_examples(is_erased)

    def drop(self) -> None:
        """Drop the rows of the crawl in the partition."""
        super().drop()
        self.daily.drop()

    def count_refused(self, rule: Hazard) -> list[str]:
        """Count a URL that *rule* refuses; return the hazards that were counted."""
        hazards = hazards_of("frontier", [rule])
        count(self.row.refused, rule, 1)
        self._add_hazards(hazards)
        self.daily.count_refused(rule)
        return hazards

    def count_hazard(self, hazard: Hazard) -> list[str]:
        """Count a hazard that the frontier counts, and that refuses no URL; return it."""
        hazards = hazards_of("frontier", [hazard])
        self._add_hazards(hazards)
        return hazards

    def _add_hazards(self, hazards: Iterable[str]) -> None:
        for name in hazards:
            count(self.row.hazards, name, 1)

    def write(self) -> None:
        """Put the totals into the store if they have changed."""
        self.row.harvest, self.row.today = self.harvest.points, self.daily.row_if_any
        if self.row.today and self.has_changed:
            self.row.today.freshness = self.daily.freshness
        super().write()


def scan_days(store: Store, crawl: str, partition: str, since: float = 0.0) -> list[DailyTallyRow]:
    """Return the days of a partition that begin at or after *since*, the oldest first."""
    rows, after = list[DailyTallyRow](), since - DAY
    while more := store.table(DailyTallyRow).scan((crawl, partition), after):
        rows += more
        after = more[-1].at
    days = {row.at: row for row in rows}
    if (totals := store.table(TallyRow).get(partition, crawl)) and totals.today:
        days[totals.today.at] = totals.today
    return [days[at] for at in sorted(days) if at >= since]


def _keep_largest(values: dict[str, float], host: HostKey, value: float) -> None:
    # The smallest value may be dropped: values only grow, so its host returns if it grows enough.
    values[host] = value
    if len(values) > MAX_LISTED:
        del values[min(values, key=values.__getitem__)]


def hour_of(at: float) -> int:
    """Return the hours since 1970."""
    return int(at // 3600)


ACTIVE_POLICY = OWN._replace(
    merge=lambda policies: next((one for one in reversed(policies) if one != NEVER), NEVER)
)


class RevisitTotals(Struct, frozen=True):
    """The revisits of a crawl in a partition, or in several of them merged."""

    policy: Annotated[str, ACTIVE_POLICY] = NEVER
    """The active policy. During a change, the policy of at least one partition."""
    budget: float = 0.0
    """The visits a day that the crawl may make; 0 for as many as politeness allows."""
    planned: int = 0
    """The planned visits; under the policy `none`, the pages with a state."""
    next_at: Annotated[float | None, MIN] = None
    """The time of the next planned visit; None if none is due within the hour."""
    spent: dict[str, int] = field(default_factory=dict)
    """Basis (`gossamer.services.frontier.revisit.Basis`) → the number of ordered visits."""
    distrusted_hosts: int = 0
    """The number of hosts whose validators are distrusted."""
    weights: float = 0.0
    """The sum of the weights of pages with planned visits."""
    fresh: float = 0.0
    """The sum of weights times expected freshness."""
    age: float = 0.0
    """The sum of weights times expected age in days."""
    price: float = 0.0
    """The sum of weights times the price in days of freshness."""
    pages: float = 0.0
    """The number of visited pages."""
    unseen: float = 0.0
    """The number of pages that were visited once."""
    waiting: int = 0
    """The number of first visits that wait for the budget."""

    @classmethod
    def of(cls, row: PartitionPlansRow, crawl: CrawlState | None = None) -> "RevisitTotals":
        """Return the totals in *row*; *crawl* is its decoded statistics, if available."""
        crawl = crawl or revisit.unpack_crawl(row.statistics)
        return pick(cls, crawl, row, price=crawl.price * crawl.weights)

    @property
    def active(self) -> bool:
        """Whether any revisit is planned."""
        return self.policy != NEVER and bool(self.planned)

    @property
    def learning(self) -> bool:
        """Whether most pages were visited only once, so that change rates are not yet known."""
        return self.unseen > self.pages / 2

    @property
    def expected_freshness(self) -> float | None:
        """The expected fraction of pages, by weight, whose copy equals the page: 0 to 1.

        None without planned visits, or if change rates are not yet known.
        """
        return self.fresh / self.weights if self.weights and not self.learning else None

    @property
    def expected_age(self) -> float | None:
        """The expected mean age of copies, in seconds.

        None without planned visits, or if change rates are not yet known.
        """
        return self.age / self.weights * revisit.DAY if self.weights and not self.learning else None

    @property
    def mean_price(self) -> float | None:
        """The mean price of a visit, in seconds of freshness of a page of weight 1; None without a
        price."""
        return self.price / self.weights * revisit.DAY if self.price else None
