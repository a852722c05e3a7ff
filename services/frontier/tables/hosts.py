"""The rows of hosts, with the columns of each subject, of robots.txt, and of directories."""

from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from gossamer.events import OrderId, Purpose
from gossamer.services.frontier.tables.bucketed_log import BucketEnds
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.store import ColumnGroup, Row
from gossamer.web.robots import RobotsRules
from gossamer.web.soft_404 import Signature
from gossamer.web.url import HostKey, Site
from gossamer.web.usage.files import UsageFile

NO_HOST = HostKey("-")
"""The host of an entry of the calendar that is about the parked parts of a site."""


class AppliedRecords(NamedTuple):
    """The records of a log partition that a row has applied.

    The records of a partition come in order. They come again after a crash, or when the offsets of
    the group are lost, and must not be counted twice.
    """

    until: int = 0
    """The offset after the last applied record."""
    at: float = 0.0
    """The time of the last applied event. A topic that was recreated counts offsets from 0 again,
    and its events are later."""

    def covers(self, record: "OffsetAndTime") -> bool:
        """Return whether the event of *record* was applied."""
        return record.offset < self.until and record.at <= self.at

    def through(self, record: "OffsetAndTime") -> "AppliedRecords":
        """Return the applied records including *record*."""
        return AppliedRecords(record.offset + 1, max(self.at, record.at))


class OffsetAndTime(NamedTuple):
    """The offset of an event in its partition, and its time."""

    offset: int
    at: float


class Lease(ColumnGroup, frozen=True):
    """The last order of a host, and the lease under which a fetcher holds the host.

    The lease ends with the last outcome, or when it expires; the order stays until the next one.
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
    purpose: Purpose = Purpose.PAGE
    """`robots`, `probe` or `usage` for an order of such visits; `page` for an order of queued URLs.
    """
    counts_if_expired: bool = True
    """Whether the lease is evidence against the host if it expires: when the order was made, the
    fetchers had made a visit since the host's previous lease expired."""
    crawl: str | None = None
    """The crawl of the last order; null if the host was never ordered."""
    begun_by: str | None = None
    """The name of the fetcher that has reported the last order as begun; "" if several have, null
    without a report."""
    begun_offset: int | None = None
    """The offset of the last such report on `visits.ended`; null without a report."""
    order_offset: int | None = None
    """The offset of the last order on `visits.ordered`; null before it is reported as begun."""

    @property
    def outstanding(self) -> int:
        """Visits of the last order that have not ended."""
        return self.ordered - self.done

    def lacks(self, order: OrderId, index: int) -> bool:
        """Return whether the visit *index* of *order* is of a later order than the last one, or of
        a later visit of the last one than were ordered.

        An order is in the store before it is on the log, so the store was restored since.
        """
        if order == self.order:
            return index >= self.ordered
        return self.order is None or _place(order) > _place(self.order)

    def was_begun_before(self, fetcher: str, offset: int, committed: int) -> bool:
        """Return whether an earlier process of *fetcher* alone has begun the last order.

        The report precedes the *offset* at which the present process reports its start, so a start
        that is read again ends no later order. And the order precedes the *committed* offset of its
        partition, so no fetcher reads it again.
        """
        if self.begun_by != fetcher or self.begun_offset is None or self.order_offset is None:
            return False
        return self.begun_offset < offset and self.order_offset < committed

    def is_fenced(self, epoch: int) -> bool:
        """Return whether the last order is of a claim before *epoch*, and nobody has begun it.

        Fetchers report that they begin an order before they ask which claim is in force. So once
        all reports from before the claim were applied, nobody begins the order any more.
        """
        return self.order is not None and self.begun_by is None and _place(self.order)[0] < epoch


def _place(order: OrderId) -> tuple[int, int]:
    """Return the epoch and the number of *order*: both only grow in a partition."""
    epoch, _, number = order.partition(".")
    return int(epoch), int(number)


class LostVisits(ColumnGroup, frozen=True):
    """The visits to a host whose orders the store lacks, because it was restored. Their outcomes
    were on the log."""

    ended_at: float | None = None
    """When the last of these visits ended; null without one."""
    queued_until: int | None = None
    """The moment of the last request number whose URL these visits may have visited; null without
    one."""

    def may_include(self, moment: int) -> bool:
        """Return whether these visits may have visited a URL that was requested at *moment*."""
        return self.queued_until is not None and moment <= self.queued_until


class Suspect(ColumnGroup, frozen=True):
    """The expired leases in a row of a host whose visits may stop the fetchers."""

    expired_at: float | None = None
    """When the last of these leases expired; null without one."""
    url: str | None = None
    """The first URL of its order that was not visited; null without one."""
    leases: int = 0
    """Counted leases in a row that expired at this URL."""


class SigningState(StrEnum):
    """What became of a host that asked for signatures."""

    TRIED = "tried"
    """Requests are signed, and the URL that was refused is visited again."""
    ADMITTED = "admitted"
    """Signed requests are answered, so all requests are signed."""
    REFUSED = "refused"
    """Signed requests are refused, so no request is signed."""


class HostSigning(ColumnGroup, frozen=True):
    """The trial of a host that asked for signatures."""

    state: SigningState | None = None
    """The state of the trial; null if the host has not asked."""
    url: str | None = None
    """The URL whose signed visit decides; null without a trial."""


class QueueEnds(BucketEnds, frozen=True, array_like=True):
    """The first and the last URL of one of a host's queues, as positions in its buckets."""

    cursor: int = 0
    """The position of the first waiting URL of this queue, in the head bucket."""
    queued: int = 0
    """URLs that wait in this queue."""

    def readable(self, count: int) -> int:
        """Return the number of *count* rows that belong to the queue.

        A flush that a crash interrupted may have left rows after the end.
        """
        return min(count, self.queued)


class NewQueues(Struct, frozen=True, omit_defaults=True, gc=False):
    """A host's URLs that were never visited: a queue for each rank (`ordering.py`)."""

    ranks: dict[int, QueueEnds] = field(default_factory=dict)
    """Rank → its queue. Empty queues stay while few ranks are in use."""
    queued: int = 0
    """Entries of these queues. A promoted URL has several."""
    surplus: int = 0
    """Entries that will be skipped, because another entry of their URL is or was visited."""
    next_bucket: int = 0
    """The first bucket of the next new queue. Earlier queues of its rank have not used it."""
    ordered: int | None = None
    """The rank of the last order's URLs, until the order has ended or its last URL left the queue;
    null if its URLs came from the queue `again`."""
    orders: int = 0
    """Orders since a worse rank than the best was explored."""
    explored: int | None = None
    """The worse rank that was explored last."""

    @property
    def waiting(self) -> list[int]:
        """The ranks in which URLs wait."""
        return [rank for rank, ends in self.ranks.items() if ends.queued]

    @property
    def rank(self) -> int:
        """The rank that the next URLs are taken from: that of the last order, or the best one.
        Some URL must wait."""
        return min(self.waiting) if self.ordered is None else self.ordered


class ErasedQueues(Struct, frozen=True, omit_defaults=True, gc=False):
    """The buckets of an erased host's queues that are still to be dropped."""

    new: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Rank → the first and the last bucket of its queue of URLs that were never visited."""
    again: int | None = None
    """The first bucket of the queue of URLs to visit again; null if no queue is to be dropped. The
    last one is before the head."""


class HostCrawl(Struct, frozen=True, omit_defaults=True, gc=False):
    """What one crawl has at a host: its queues."""

    new: NewQueues = NewQueues()
    """The queues of URLs that were never visited."""
    again: QueueEnds = QueueEnds()
    """The queue of URLs to visit again."""
    is_again_next: bool = False
    """Whether the crawl's next order takes its URLs from the queue `again`."""
    owed: float = 0.0
    """Visits that the queue `again` is behind its share; 0 unless new URLs wait, too."""
    number: int = 0
    """The request number of the first URL of the crawl's next order: its rank, then its age."""
    erased: ErasedQueues = ErasedQueues()
    listed: int | None = None
    """The request number of the host's entry in the directory of the crawl; null if it is not
    listed there."""
    used: float = 0.0
    """The visits of the crawl's orders at the host, divided by its weight. Of the crawls with
    waiting URLs, the one with the least is next (`shares.py`)."""
    waits_until: float = 0.0
    """The time before which the crawl gets no order of the host, because its next URL waits for
    verdicts, or its URLs were sent to the original of the host."""
    requests: AppliedRecords = AppliedRecords()
    """The applied requests for urgent URLs (`urgent.py`), by their offsets on `visits.ended`."""
    is_seeded: bool = False
    """Whether a seed of the crawl, or the target of its redirect, is at the host."""

    @property
    def queued(self) -> int:
        """Entries of all queues."""
        return self.new.queued + self.again.queued

    @property
    def queued_urls(self) -> int:
        """URLs that wait in all queues."""
        return max(0, self.queued - self.new.surplus)


NO_CRAWL = HostCrawl()
"""What a crawl without URLs has at a host."""


class HostTotals(ColumnGroup, frozen=True):
    """The numbers of a host's URLs and visits, since its first URL and on the day of its last
    visit."""

    admitted: int = 0
    """URLs of the host that were admitted."""
    visits: int = 0
    """Visits to the host that sent a request."""
    pages: int = 0
    """Visits to the host that ended with a page, without robots.txt, sitemaps and probes."""
    received: int = 0
    """Bytes received from the host."""
    seconds: float = 0.0
    """Seconds that all visits to the host took together."""
    day: int | None = None
    """The day of the last visit, in days since 1970, UTC; null if the host was never visited."""
    day_visits: int = 0
    """Visits on the day of the last visit."""


class Politeness(ColumnGroup, frozen=True):
    """The state of a host's server as its last visits showed it, and the courtesy delay that
    follows."""

    delay: float = 0.0
    """The courtesy delay after the last visit, in seconds."""
    delay_until: float | None = None
    """The end of the courtesy delay after the last visit; null if the host was never visited."""
    last_took: float | None = None
    """Seconds that the last visit took; null if the host was never visited."""
    usual_took: float | None = None
    """Seconds that a visit to a page of the host usually takes; null if no page was visited."""
    strain: int = 0
    """How many times the courtesy delay is doubled because the server seemed strained."""
    busy_until: float | None = None
    """The end of the Retry-After of an outcome that came after the next order; null without one."""
    failures: dict[str, int] = field(default_factory=dict)
    """Kind of failure → failures in a row; a success resets all but the failures of robots.txt."""
    returned_orders: int = 0
    """Orders in a row that fetchers returned without a request, or whose leases expired while no
    fetcher made a visit."""


class HostRow(Row, frozen=True):
    """A host: its condition, the queues of all crawls, its last order, its totals and its
    politeness."""

    table = "hosts"
    partition_key, sort_key = "site", "host"
    decides = True
    about = ("host",)

    site: Site
    """The registrable domain of the host, by the Public Suffix List."""
    host: HostKey
    """The host key: scheme, name and port."""
    condition: Condition = Condition.IDLE
    """The condition of the host: idle, ready, delayed, checked out or backing off."""
    ready_at: float = 0.0
    """The time before which the host is not visited."""
    backoff_reason: str | None = None
    """Why the host backs off, or why its last order was returned."""
    backoff_cause: str | None = None
    """The outcome that caused the backoff or returned the last order; `site` if its site's settings
    or unreadable pages did, `lease` if expired leases did."""
    crawls: dict[str, HostCrawl] = field(default_factory=dict)
    """Crawl → its queues at the host. One row has those of all crawls, because a check-in changes
    the lease and a queue, and no store writes two rows at once."""

    lease: Lease = Lease()
    totals: HostTotals = HostTotals()
    politeness: Politeness = Politeness()
    suspect: Suspect = Suspect()
    lost: LostVisits = LostVisits()
    walls: dict[str, int] = field(default_factory=dict)
    """Kind and name of a wall, as `challenge: Anubis` → visits that it answered."""
    signing: HostSigning = HostSigning()
    certificate_fault: str = ""
    """Why the host's certificate is invalid, although it is visited; "" if it is valid."""
    applied: AppliedRecords = AppliedRecords()
    """The records of `urls.admitted` that are in the host's queues and totals."""
    is_erased: bool = False
    """Whether the host was erased on demand. Its row stays for its last order and its delay, and is
    erased when both are over, unless the host is admitted again."""
    signature: Signature | None = None
    """The host's answer to a URL that cannot exist; null before the probe."""
    original: str | None = None
    """The host whose pages are visited instead of this host's; null if it is not a replica."""
    original_until: float | None = None
    """When the host is no longer treated as a replica; null if it is not one."""
    url_rules: dict[str, str] = field(default_factory=dict)
    """Rules about session ids that rewrite queued URLs → the token that replaces all others, or
    ""."""
    is_compared: bool = False
    """Whether the next pages of the host decide if it is a replica."""
    has_copies: bool = False
    """Whether two URLs of the host had the same text, or similar ones, before the probe."""

    def has_times_of(self, epoch: int) -> bool:
        """Return whether the times in the row are of the clock of the owner with *epoch*.

        They are if the host has no order, or if its last order was made under that claim.
        """
        return self.lease.order is None or self.lease.order.startswith(f"{epoch}.")

    @property
    def is_removable(self) -> bool:
        """Whether the row of an erased host may be erased when its delay is over."""
        is_cleared = any(one.erased.again is not None for one in self.crawls.values())
        waits = self.condition is not Condition.IDLE or self.queued or is_cleared
        return self.is_erased and not waits

    def of(self, crawl: str) -> HostCrawl:
        """Return what *crawl* has at the host."""
        return self.crawls.get(crawl, NO_CRAWL)

    def with_crawl(self, crawl: str, own: HostCrawl) -> "HostRow":
        """Return the row with *own* as what *crawl* has at the host."""
        return replace(self, crawls={**self.crawls, crawl: own})

    def change_crawl(self, crawl: str, **changes: Any) -> "HostRow":
        """Return the row with *changes* of what *crawl* has at the host."""
        return self.with_crawl(crawl, replace(self.of(crawl), **changes))

    def without_crawl(self, crawl: str) -> "HostRow":
        """Return the row without what *crawl* has at the host."""
        return replace(self, crawls={one: own for one, own in self.crawls.items() if one != crawl})

    @property
    def number(self) -> int:
        """The least request number of the crawls with waiting URLs. Without such a crawl, the least
        one of all."""
        waiting = [one.number for one in self.crawls.values() if one.queued]
        return min(waiting or [one.number for one in self.crawls.values()], default=0)

    @property
    def queued(self) -> int:
        """Entries of all queues of all crawls."""
        return sum(one.queued for one in self.crawls.values())

    @property
    def queued_urls(self) -> int:
        """URLs that wait in all queues of all crawls."""
        return sum(one.queued_urls for one in self.crawls.values())


class RobotsRow(Row, frozen=True):
    """The rules of a host's robots.txt, since when it cannot be read, and its usage files."""

    table = "robots"
    partition_key = "host"
    about = ("host",)

    host: HostKey
    rules: RobotsRules
    unreachable_since: float | None = None
    """Since when the file cannot be read; null if it can."""
    awaited_url: str | None = None
    """The URL of the file at another host, while the answer from there is awaited."""
    copy: RobotsRules | None = None
    """The rules that were last read from the file, while others are in force; null if none were."""
    usage_files: tuple[UsageFile, ...] = ()
    """The host's usage files that were visited, also those that say nothing."""
    sitemaps: tuple[str, ...] = ()
    """The URLs of the sitemaps that the file names, for crawls that come later."""


class ListedHost(Row, frozen=True):
    """A host with URLs of a crawl, in the directory of that crawl; stale unless the host's row has
    this number as the crawl's `listed`."""

    table = "directory"
    partition_key, sort_key = "bucket", "key"
    about = ("host",)

    bucket: str
    key: str
    """The number in 20 digits, and the host: no two hosts overwrite each other."""
    number: int
    site: Site
    host: HostKey
