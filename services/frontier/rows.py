"""The frontier's tables: hosts, sites, URLs, queues, plans and totals. An operator may read all."""

from typing import NamedTuple

from msgspec import field
from msgspec.structs import asdict

from gossamer.events import Discovery, OrderId, Purpose, Visit
from gossamer.store import ColumnGroup, Row
from gossamer.web.cookies import Cookie
from gossamer.web.robots import RobotsRules
from gossamer.web.soft_404 import Signature
from gossamer.web.validators import NO_VALIDATORS, Trust, Validators
from services.frontier.bucketed_log import BucketEnds, BucketList, BucketRange
from services.frontier.conditions import Condition

BUCKETS = 16
"""Cassandra's partitions for the URLs of a host: a million URLs are 16 of some 20 MB."""


class UnreadablePages(NamedTuple):
    """The last pages of a host, none of which could be read."""

    pages: int = 0
    at: float = 0.0
    """When the last of them was judged."""


class Applied(NamedTuple):
    """Up to which record of a partition a row has applied all records that are about it.

    Records of a partition come in order, and come again after a crash, or when the offsets of the
    group are lost: then they must not be counted again.
    """

    until: int = 0
    """The offset after the last one applied."""
    at: float = 0.0
    """The time of the last event applied: a topic that was recreated counts from 0 again, and its
    events are later."""

    def covers(self, record: "Position") -> bool:
        """Return whether the event of *record* was applied."""
        return record.offset < self.until and record.at <= self.at

    def through(self, record: "Position") -> "Applied":
        """Return what is applied once *record* is, too."""
        return Applied(record.offset + 1, max(self.at, record.at))


class Position(NamedTuple):
    """Where an event lies in its partition, and its time."""

    offset: int
    at: float


class Lease(ColumnGroup, frozen=True):
    """The last order of a host, and the lease under which a fetcher has the host.

    The lease ends with the last outcome, or when it expires; the order is kept until the next one.
    """

    order: OrderId | None = None
    """The id of the last order; null if the host was never ordered."""
    ordered_at: float | None = None
    """When the last order was made, by the clock of the frontier that made it."""
    expires_at: float | None = None
    """When the lease of the last order expires, by the clock of the frontier that made it."""
    ordered: int = 0
    """Visits in the last order."""
    done: int = 0
    """Visits of the last order that have ended."""
    sent_to: int | None = None
    """The partition of `visits.ordered` with the last order; null for the partition of the site."""

    @property
    def outstanding(self) -> int:
        """Visits of the last order that have not ended."""
        return self.ordered - self.done


class Origin(ColumnGroup, frozen=True):
    """How a URL came to be visited: the same on everything that is written of it.

    How often it was visited and tried is no part of it: that changes with each visit.
    """

    depth: int = 0
    """Links followed from a seed."""
    hops: int = 0
    """Redirects followed in a row."""
    via: str = ""
    """The visit that discovered the URL, or where its seed stands."""
    trace: str = ""
    """Identifies the URL in the events and logs of all services."""
    duplicates: int = 0
    """Duplicates in a row on the way to the URL."""
    purpose: Purpose = Purpose.PAGE
    """What the URL is visited for."""
    party: str = ""
    """The party that the URL was found for; "" if it has none."""

    @staticmethod
    def of(found: Visit | Discovery, via: str) -> "Origin":
        """Return the origin of a URL that is visited, or was *found* by *via*."""
        return Origin(
            found.depth,
            found.hops,
            via,
            found.trace,
            found.duplicates,
            found.purpose,
            found.party,
        )

    def discovery(self, url: str) -> Discovery:
        """Return *url* as it was discovered."""
        found = asdict(self)
        del found["via"]
        return Discovery(url, **found)


class QueueEnds(BucketEnds, frozen=True):
    """The first and the last URL of one of a host's two queues, as positions in its buckets."""

    cursor: int = 0
    """The position of the first waiting URL of this queue, in the head bucket."""
    queued: int = 0
    """URLs that wait in this queue."""

    def readable(self, count: int) -> int:
        """Return how many of *count* rows belong to the queue.

        A flush that a crash cut short may have left rows beyond the end.
        """
        return min(count, self.queued)


class ErasedQueues(ColumnGroup, frozen=True):
    """The first buckets of an erased host's queues that are still to be dropped.

    They end before the head.
    """

    new: int | None = None
    """Of the queue of URLs that were never visited; null if none is to be dropped."""
    again: int | None = None
    """Of the queue of URLs to visit again; null if none is to be dropped."""


class HostTotals(ColumnGroup, frozen=True):
    """What was admitted and visited of a host, since its first URL and on its last day."""

    admitted: int = 0
    """URLs of the host that were admitted."""
    visits: int = 0
    """Visits to the host that sent a request."""
    pages: int = 0
    """Visits to the host that ended with a page."""
    received: int = 0
    """Bytes received from the host."""
    seconds: float = 0.0
    """Seconds that all visits to the host took together."""
    day: int | None = None
    """The day of the last visit, in days since 1970, UTC; null if the host was never visited."""
    day_visits: int = 0
    """Visits on the day of the last visit."""


class Politeness(ColumnGroup, frozen=True):
    """What the last visits showed of a host's server, and the delay that follows."""

    delay: float = 0.0
    """The courtesy delay after the last visit, in seconds."""
    last_took: float | None = None
    """Seconds that the last visit took; null if the host was never visited."""
    usual_took: float | None = None
    """Seconds that a visit to a page of the host usually takes; null if no page was visited."""
    strain: int = 0
    """How many times the courtesy delay is doubled because the server seemed strained."""
    busy_until: float | None = None
    """The end of the Retry-After in a report that came after the next order; null without one."""
    troubles: dict[str, int] = field(default_factory=dict)
    """Kind of trouble → failures in a row; a success ends all but those of robots.txt."""
    refused: int = 0
    """Orders in a row that fetchers returned without a request."""


class HostRow(Row, frozen=True):
    """A host: its condition, its two queues, its last order, its totals and its politeness."""

    table = "hosts"
    partition_key, sort_key = "site", "host"
    decides = True

    site: str
    """The registrable domain of the host, by the Public Suffix List."""
    host: str
    """The host key: scheme, name and port."""
    condition: Condition = Condition.IDLE
    """idle, ready, delayed, checked out or backing off."""
    ready_at: float = 0.0
    """The time before which the host is not visited."""
    backoff_reason: str | None = None
    """Why the host backs off, or why its last order was returned."""
    backoff_cause: str | None = None
    """The outcome that caused the backoff or returned the last order; `site` if its site's settings
    or unreadable pages did."""
    new: QueueEnds = QueueEnds()
    """The queue of URLs that were never visited."""
    again: QueueEnds = QueueEnds()
    """The queue of URLs to visit again."""
    is_again_next: bool = False
    """Whether the next order takes its URLs from the queue `again`."""
    owed: float = 0.0
    """Visits that the queue `again` is behind its share; 0 unless URLs wait in both queues."""
    number: int = 0
    """The request number of the first URL of the next order."""
    listed: int | None = None
    """The request number of the host's entry in the directory; null if it is not listed."""

    lease: Lease = Lease()
    totals: HostTotals = HostTotals()
    politeness: Politeness = Politeness()
    cookies: tuple[Cookie, ...] = ()
    """Cookies that go to this host alone."""
    applied: Applied = Applied()
    """The records of `urls.admitted` that are in the host's queues and totals."""
    is_erased: bool = False
    """Whether what was known of the host was erased on demand, but for its last order and its rest:
    the row goes when both are over, unless the host is admitted again."""
    erased: ErasedQueues = ErasedQueues()
    signature: Signature | None = None
    """The host's answer to a URL that cannot exist; None if the host was not asked."""

    @property
    def may_go(self) -> bool:
        """Whether nothing but the host's rest keeps an erased host's row."""
        waits = self.condition is not Condition.IDLE or self.queued or self.erased.new is not None
        return self.is_erased and not waits

    @property
    def queued(self) -> int:
        """URLs that wait in both queues."""
        return self.new.queued + self.again.queued


class SiteRow(Row, frozen=True):
    """A site: how many of its hosts were admitted, and how many of its URLs were refused."""

    table = "sites"
    partition_key = "site"
    decides = True

    site: str
    hosts: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    """Rule → how many URLs it has refused for good; the first hundred of them are in `urls`."""
    unreadable: dict[str, UnreadablePages] = field(default_factory=dict)
    """Host → its last pages, if none of them could be read."""
    validators: dict[str, Trust] = field(default_factory=dict)
    """Host → what is thought of its ETags and Last-Modified; a host that is not here is trusted."""
    statistics: bytes = b""
    """As `services.frontier.revisit` packs what it knows of a site."""
    wildcard: bool = False
    """Whether any name below it resolves, as was found out with one that nobody has."""
    cookies: tuple[Cookie, ...] = ()
    """Those that go to all hosts of the site, or of a domain in it."""
    applied: Applied = Applied()
    """The records of `urls.admitted` that are in `hosts` and `refused`."""


class RobotsRow(Row, frozen=True):
    """The rules of a host's robots.txt, and since when it cannot be read."""

    table = "robots"
    partition_key = "host"

    host: str
    rules: RobotsRules
    unreachable_since: float | None = None
    """Since when the file cannot be read; null if it can."""
    asked: str | None = None
    """Where the file lies at another host, while the answer from there is awaited."""
    copy: RobotsRules | None = None
    """The rules that were last read from the file, while others are in force; None if none were."""


class QueuedUrl(Row, frozen=True):
    """A URL in one of a host's two queues."""

    table = "queues"
    partition_key, sort_key = ("crawl", "bucket"), "position"

    crawl: str
    bucket: str
    position: int
    url: str
    """"" if it was erased on demand: the entry is skipped."""
    number: int
    origin: Origin = Origin()
    attempt: int = 0
    """How often the URL was tried before, in vain and in a row."""
    earlier: int = 0
    """How many visits to the URL had come to an end when it was queued."""
    on_behalf_of: str = ""
    """The host that it is an errand for: whose robots.txt lies here."""
    validators: Validators = NO_VALIDATORS
    conditional: bool = False
    """Whether it is asked for only if it has changed."""
    statistics: bytes = b""
    """What is known of the page, as `services.frontier.revisit` packs it."""
    basis: str = ""
    """What decided that it is visited again: `services.frontier.revisit.Basis`; "" if it is new, or
    is tried once more."""


class UrlRow(Row, frozen=True):
    """The last outcome of a URL, or why it was refused."""

    table = "urls"
    partition_key, sort_key = ("crawl", "host"), "url"
    buckets = BUCKETS

    crawl: str
    host: str
    url: str
    outcome: str
    at: float
    status: int = 0
    reason: str = ""
    location: str = ""
    origin: Origin = Origin()
    attempt: int = 0
    """How often it was tried since its last visit that came to an end, as far as that counts: a
    host in trouble is not the URL's doing."""
    earlier: int = 0
    """How many visits to it have come to an end."""
    queued: bool = False
    """Whether the URL is still the first of its queue: its host is left alone before it is tried
    once more."""


class VerdictRow(Row, frozen=True):
    """The last verdict on a URL's content."""

    table = "verdicts"
    partition_key, sort_key = ("crawl", "host"), "url"
    buckets = BUCKETS

    crawl: str
    host: str
    url: str
    verdict: str
    at: float
    digest: str = ""
    duplicate_of: str = ""
    """Or nearly: the verdict says so."""
    redirects_to: str = ""
    """Where the URL of a document that is gone leads now."""
    links: int = 0
    """How many were released."""
    reason: str = ""
    """Which rule held others back, or the document."""
    change: float | None = None
    """How much had changed since the visit before, from 0 to 1; null if there was no document."""


class HistoryRow(Row, frozen=True):
    """One visit to a URL, in the history of that page."""

    table = "page_history"
    partition_key, sort_key = ("crawl", "url"), "at"
    newest_first = True
    kept_for, aged_by = "frontier.history_age", "at"

    crawl: str
    url: str
    at: float
    """When the request was made."""
    outcome: str
    status: int = 0
    reason: str = ""
    size: int = 0
    """Of the body: decoded if it was judged, else as received."""
    verdict: str = ""
    digest: str = ""
    duplicate_of: str = ""
    redirects_to: str = ""
    """Where a redirect points."""
    change: float | None = None
    """How much had changed since the visit before, from 0 to 1; null if there was no document."""


class ListedHost(Row, frozen=True):
    """A host with work, in the directory; stale unless its row says it is listed here."""

    table = "directory"
    partition_key, sort_key = "bucket", "key"

    bucket: str
    key: str
    """The number in 20 digits, and the host: no two hosts overwrite each other."""
    number: int
    site: str
    host: str


class DueRow(Row, frozen=True):
    """A host whose backoff ends, or a URL to visit, at a time. A calendar (`calendar.py`) sets the
    bucket, and puts the time before the key.

    The row that it is about says whether it still holds: the host's, or the URL's plan.
    """

    table = "due"
    partition_key, sort_key = "bucket", "key"

    bucket: str
    key: str
    at: float
    site: str
    host: str
    crawl: str | None = None
    """The crawl of the URL; null if the entry is about a host."""
    url: str | None = None

    @property
    def plan(self) -> tuple[tuple[str, str], str] | None:
        """The keys of the URL's plan; None if the entry is about a host."""
        if self.crawl is None or self.url is None:
            return None
        return (self.crawl, self.host), self.url


def partition_key(number: int, partitions: int) -> str:
    """Return the key of what is stored of one of so many partitions: `3/12`.

    Where their number changes, the new rows are written beside the old ones.
    """
    return f"{number}/{partitions}"


def partition_keys(partitions: int) -> list[str]:
    """Return the keys of all of so many partitions."""
    return [partition_key(number, partitions) for number in range(partitions)]


class PartitionRow(Row, frozen=True):
    """Where a partition's directory, its calendar of retries and of hosts that back off, and its
    parked URLs are."""

    table = "partitions"
    partition_key = "partition"

    partition: str
    directory: BucketList = BucketList()
    """The buckets of the directory."""
    due: BucketRange = BucketRange()
    """The buckets of the calendar of retries and of hosts that back off."""
    parked: tuple[int, ...] = ()
    """The key groups whose URLs were parked."""


class TallyRow(Row, frozen=True):
    """Totals of a crawl in a partition since its beginning: what report and live view show."""

    table = "tallies"
    partition_key = "crawl", "partition"
    decides = True

    crawl: str
    partition: str
    admitted: int = 0
    queued: int = 0
    pages: int = 0
    received: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    verdicts: dict[str, int] = field(default_factory=dict)
    hazards: dict[str, int] = field(default_factory=dict)
    latest: tuple[tuple[str, str], ...] = ()
    """The last few visits: URL and outcome."""
    hours: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Hour, since 1970 → pages fetched in it that were new, changed, unchanged; the last 24."""
    judged: Applied = Applied()
    """The records of `pages.judged` that are in the totals."""


class PartitionTallyRow(Row, frozen=True):
    """Totals of a partition that its crawls share: its hosts, its orders, and what waits for its
    time."""

    table = "partition_tallies"
    partition_key = "partition"
    decides = True

    partition: str
    last_number: int = 0
    """The largest request number given out: they grow, whatever the clock does."""
    orders: int = 0
    """Orders that were made; the number of the last one is in its id."""
    conditions: dict[str, int] = field(default_factory=dict)
    """Condition → how many hosts are in it."""
    slowest: dict[str, float] = field(default_factory=dict)
    """Host → its longest visit in seconds; the slowest few."""
    largest: dict[str, float] = field(default_factory=dict)
    """Host → bytes received; the largest few."""
    next_due_at: float | None = None
    """When the next URL or host is due; null if not within the hour."""
    due_count: int = 0
    """How many URLs and hosts wait for their time."""
    sent: dict[str, int] = field(default_factory=dict)
    """Partition of `visits.ordered` → how many orders of this partition's sites are unanswered
    there; where there are several fetchers."""
    checked_out: dict[str, str] = field(default_factory=dict)
    """Host → site, of all hosts that are checked out: a frontier that takes the partition over
    loads them before it orders anything."""


class PlanRow(Row, frozen=True):
    """The next visit to a URL: when, why, and all that its order needs; and what is known of its
    changes.

    The calendar has an entry for it, which holds as long as the plan has the entry's time.
    """

    table = "plans"
    partition_key, sort_key = ("crawl", "host"), "url"
    buckets = BUCKETS

    crawl: str
    host: str
    url: str
    at: float | None = None
    """When; None: never, under the crawl's policy."""
    queued: bool = False
    """Whether its time has come, and the URL was put into its host's queue."""
    why: str = ""
    basis: str = ""
    """What decided the time, in a word: `services.frontier.revisit.Basis`; "" for a retry, or where
    nothing is planned."""
    policy: str = ""
    """The crawl's policy at that time."""
    visited_at: float | None = None
    """When the visit was made after which it was planned; null for a retry or a first visit."""
    number: int | None = None
    """The request number of a URL that was never visited and waits for the budget; null for all
    others, which are given one when they are queued."""
    origin: Origin = Origin()
    attempt: int = 0
    """How often the URL was tried before, in vain and in a row."""
    earlier: int = 0
    """How many visits to the URL had come to an end when this one was planned."""
    validators: Validators = NO_VALIDATORS
    statistics: bytes = b""
    """As `services.frontier.revisit` packs what it knows of a page."""

    @property
    def waits_until(self) -> float | None:
        """The time of the plan's entry in the calendar; None: the URL is in the queue.

        What is never visited has the time of its last visit: another policy may plan it.
        """
        if self.queued:
            return None
        return self.visited_at if self.at is None else self.at

    @property
    def is_retry(self) -> bool:
        """Whether the last attempt has failed, and the next has a time."""
        return self.at is not None and self.attempt > 0

    def is_outdated(self, last: UrlRow) -> bool:
        """Return whether the planned visit has been made: *last* is the URL's last outcome."""
        return (last.earlier, last.attempt) > (self.earlier, self.attempt)


class PartitionPlansRow(Row, frozen=True):
    """Which plans a partition has, and what all of its pages have in common."""

    table = "partition_plans"
    partition_key = "crawl", "partition"
    decides = True

    crawl: str
    partition: str
    policy: str = "none"
    """The policy of all plans, but for those that are still to be made again."""
    generation: int = 0
    """How many times the policy has changed; the calendar of revisits begins again then."""
    revisits: BucketRange = BucketRange()
    """The buckets of the calendar of revisits."""
    moving: BucketRange = BucketRange()
    """The buckets of the former policy's calendar, until all pages in it are planned again."""
    new: BucketRange = BucketRange()
    """The buckets of URLs that were never visited, and wait for the budget."""
    waiting: int = 0
    """URLs that were never visited, and wait for the budget; a crash may count some twice."""
    planned: int = 0
    """How many URLs have a plan; a crash may count a few of them twice."""
    next_at: float | None = None
    """When the next planned visit is due; null if not within the hour."""
    spent: dict[str, int] = field(default_factory=dict)
    """What decided when (`services.frontier.revisit.Basis`) → how many visits were ordered."""
    liars: int = 0
    """Hosts whose validators have lied, and are not sent back any more."""
    statistics: bytes = b""
    """As `services.frontier.revisit` packs what it knows of a crawl."""
