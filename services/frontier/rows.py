"""The frontier's tables: hosts, sites, URLs, queues, plans and totals."""

from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from gossamer.events import Discovery, OrderId, Purpose, Visit
from gossamer.store import ColumnGroup, Row
from gossamer.web.cookies import Cookie
from gossamer.web.robots import RobotsRules
from gossamer.web.soft_404 import Signature
from gossamer.web.usage.files import UsageFile
from gossamer.web.validators import NO_VALIDATORS, Trust, Validators
from services.frontier.bucketed_log import BucketEnds, BucketList, BucketRange
from services.frontier.conditions import Condition
from services.frontier.harvest import HarvestPoint

BUCKETS = 16
"""Cassandra partitions of one host's URLs: a million URLs are 16 partitions of some 20 MB."""
NO_HOST = "-"
"""The host of an entry of the calendar that is about the parked parts of a site."""


class UnreadablePages(NamedTuple):
    """The last pages of a host, all of them unreadable."""

    pages: int = 0
    at: float = 0.0
    """The time of the last verdict on these pages."""


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


class Downloads(NamedTuple):
    """Responses of one kind."""

    responses: int = 0
    received: int = 0
    """Bytes of their bodies, as received."""


class HazardCount(NamedTuple):
    """How often a hazard was met on a day."""

    urls: int = 0
    """URLs that met it. A retried or revisited URL may count again."""
    sites: int = 0
    """Sites that met it for the first time."""
    productive_urls: int = 0
    """URLs that met it, of sites whose last pages mostly had new texts."""
    links: int = 0
    """Links that were parked because of it. A link counts on each page."""
    productive_links: int = 0
    """Parked links on pages of sites whose last pages mostly had new texts."""


class HazardExample(NamedTuple):
    """A URL that met a hazard."""

    url: str
    site: str


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

    @property
    def outstanding(self) -> int:
        """Visits of the last order that have not ended."""
        return self.ordered - self.done


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


class Origin(ColumnGroup, frozen=True):
    """The origin of a URL, which is the same in all rows about it.

    The numbers of visits and attempts are not part of it, because each visit changes them.
    """

    depth: int = 0
    """Links followed from a seed."""
    hops: int = 0
    """Redirects followed in a row."""
    via: str = ""
    """The visit that discovered the URL, or the position of its seed."""
    trace: str = ""
    """The id of the URL in the events and logs of all services."""
    duplicates: int = 0
    """Duplicates in a row on the way to the URL."""
    purpose: Purpose = Purpose.PAGE
    """The purpose of visits to the URL."""
    party: str = ""
    """The party that the URL belongs to; "" without one."""
    priority: int = 0
    """The priority of the URL, from -100 (visited first) to 100."""
    score: float = 1.0
    """The score of the page that linked to the URL; 1 without such a page."""
    position: str = ""
    """The part of that page with the link; "" if its markup does not say."""

    @staticmethod
    def of(found: Visit | Discovery, via: str) -> "Origin":
        """Return the origin of a URL that is visited, or was discovered by *via*."""
        return Origin(
            found.depth,
            found.hops,
            via,
            found.trace,
            found.duplicates,
            found.purpose,
            found.party,
            found.priority,
            1.0 if found.score is None else found.score,
            found.position,
        )

    def discovery(self, url: str) -> Discovery:
        """Return *url* as it was discovered."""
        found = asdict(self)
        del found["via"]
        return Discovery(url, **found)


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

    site: str
    """The registrable domain of the host, by the Public Suffix List."""
    host: str
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
    walls: dict[str, int] = field(default_factory=dict)
    """Kind and name of a wall, as `challenge: Anubis` → visits that it answered."""
    signing: HostSigning = HostSigning()
    cookies: tuple[Cookie, ...] = ()
    """Cookies that go to this host alone."""
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


class SiteCrawl(Struct, frozen=True, omit_defaults=True, gc=False):
    """What one crawl has met at a site."""

    hosts: int = 0
    """Hosts of the site at which URLs of the crawl were admitted."""
    refused: dict[str, int] = field(default_factory=dict)
    """Rule → the number of URLs that it has refused permanently; the first hundred are in `urls`.
    """
    hazards: tuple[str, ...] = ()
    """The hazards that URLs of the site have met, in the order of their first occurrence."""
    latest_new: tuple[bool, ...] = ()
    """Whether each of the last few pages of the site had a new text, in the order of their
    verdicts."""
    statistics: bytes = b""
    """The revisit policies' state of the site, as `services.frontier.revisit` packs it."""
    requisites: int = 0
    """Requisites of the site that were admitted on the day `requisites_day`."""
    requisites_day: int | None = None
    """In days since 1970, UTC; null before the first requisite."""
    has_seed: bool = False
    """Whether a seed of the site was admitted."""


NEW_SITE = SiteCrawl()
"""What a crawl without URLs has met at a site."""


class SiteRow(Row, frozen=True):
    """A site: the number of its hosts, the state that they share, and what each crawl has there."""

    table = "sites"
    partition_key = "site"
    decides = True

    site: str
    hosts: int = 0
    """Hosts of the site with a row, of all crawls."""
    crawls: dict[str, SiteCrawl] = field(default_factory=dict)
    """Crawl → what it has met at the site."""
    unreadable: dict[str, UnreadablePages] = field(default_factory=dict)
    """Host → its last pages, if all of them are unreadable."""
    validators: dict[str, Trust] = field(default_factory=dict)
    """Host → the trust in its ETags and Last-Modified; a host without an entry is trusted."""
    wildcard: bool = False
    """Whether any name below the site resolves, as a made-up name showed."""
    cookies: tuple[Cookie, ...] = ()
    """Cookies that go to all hosts of the site, or of a domain in it."""
    applied: AppliedRecords = AppliedRecords()
    """The records of `urls.admitted` that the counts above include, also the counts of crawls."""

    def of(self, crawl: str) -> SiteCrawl:
        """Return what *crawl* has met at the site."""
        return self.crawls.get(crawl, NEW_SITE)

    def with_crawl(self, crawl: str, own: SiteCrawl) -> "SiteRow":
        """Return the row with *own* as what *crawl* has met at the site."""
        return replace(self, crawls={**self.crawls, crawl: own})

    def without_crawl(self, crawl: str) -> "SiteRow":
        """Return the row without what *crawl* has met at the site."""
        return replace(self, crawls={one: own for one, own in self.crawls.items() if one != crawl})


class SiteWorthRow(Row, frozen=True):
    """The counters of the parts of a site, from which the worth of its URLs is estimated.

    A site with many visits is stored at each sixteenth of them. A crash forgets the later ones.
    """

    table = "site_worth"
    partition_key = "crawl", "site"

    crawl: str
    site: str
    counters: bytes = b""
    """As `services.frontier.worth` packs them."""


class ParkedPart(NamedTuple):
    """The parked URLs of a part of a site, or of one of its budgets."""

    rule: str
    """The hazard that the URLs were refused by."""
    since: float
    head: int = 0
    """The first bucket of `parked` with URLs of the part."""
    tail: int = 0
    """The bucket that URLs are appended to."""
    tail_size: int = 0
    """Rows of the tail bucket."""
    urls: int = 0
    """URLs of the part, about."""
    probes: int = 0
    """Probes so far: visits that show whether the part has recovered."""
    probe_at: float = 0.0
    """The time of the next probe."""
    probe_visits: int = 0
    """The number of the site's visits at which the next probe is made before its time."""
    to_admit: int = 0
    """URLs of the part that may be queued now, although it is parked."""
    to_order: int = 0
    """URLs of the part that may be visited now, although it is parked."""
    releasing: bool = False
    """Whether its URLs are admitted again, a bucket at a time."""
    released_at: float | None = None
    """The limit of the budget at the last release; null before."""
    is_limited: bool = False
    """Whether the release ends with the bucket after which `to_admit` is used up."""


class ParkedPartsRow(Row, frozen=True):
    """The parts of a site with parked URLs."""

    table = "parked_parts"
    partition_key = "crawl", "site"

    crawl: str
    site: str
    parts: dict[str, ParkedPart] = field(default_factory=dict)
    """The name of a part, as in `services.frontier.worth`, with `~` before it for URLs that were
    found on pages without a new text; or the hazard of a budget."""


class RobotsRow(Row, frozen=True):
    """The rules of a host's robots.txt, since when it cannot be read, and its usage files."""

    table = "robots"
    partition_key = "host"

    host: str
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


class QueuedUrl(Row, frozen=True):
    """A URL in one of a host's queues."""

    table = "queues"
    partition_key, sort_key = ("crawl", "bucket"), "bucket_index"

    crawl: str
    bucket: str
    bucket_index: int
    url: str
    """"" if the URL was erased on demand: the entry is skipped."""
    number: int
    origin: Origin = Origin()
    attempt: int = 0
    """Failed attempts in a row before this one."""
    earlier: int = 0
    """Visits to the URL that had ended when it was queued."""
    on_behalf_of: str = ""
    """The host on whose behalf its robots.txt is visited here; "" for other visits."""
    validators: Validators = NO_VALIDATORS
    conditional: bool = False
    """Whether the request is conditional."""
    statistics: bytes = b""
    """The revisit policies' state of the page, as `services.frontier.revisit` packs it."""
    basis: str = ""
    """The basis of the revisit: `services.frontier.revisit.Basis`; "" for a new URL or a retry."""
    good_links: int = 0
    """Links of good pages to the URL, if the entry promotes it; 0 for the entry of its
    admission."""


class UrlRow(Row, frozen=True):
    """The last outcome of a URL, or the reason why it was refused."""

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
    """Attempts since the URL's last visit that ended. Failures of the host do not count."""
    earlier: int = 0
    """Visits to the URL that have ended."""
    queued: bool = False
    """Whether the URL is still the first of its queue: its host backs off before the next attempt.
    """


class SharedCaptureRow(Row, frozen=True):
    """The last capture of a page at a host of several crawls, which other crawls may take."""

    table = "shared_captures"
    partition_key, sort_key = "host", "url"
    buckets = BUCKETS
    kept_for, aged_by = "frontier.shared_age", "at"

    host: str
    url: str
    crawl: str
    """The crawl that made the visit."""
    at: float
    """When the request was made."""
    blob: str
    """The name of the capture in the volume `blobs.volume`."""


class RequisiteRow(Row, frozen=True):
    """The last visit to a requisite, or the reason why it was refused.

    A URL may be a page and a requisite, so it has no row in `urls`.
    """

    table = "requisites"
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
    """Where the requisite was found; `via` is the visit to the page or the style that needs it."""
    earlier: int = 0
    """Visits to the requisite that have ended."""
    validators: Validators = NO_VALIDATORS
    """The validators of the last version."""


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
    """The leader of a duplicate or near duplicate, depending on the verdict."""
    redirects_to: str = ""
    """The target of the redirect that replaced the document."""
    links: int = 0
    """Links of the page that were released."""
    reason: str = ""
    """The rule that kept other links, or the document, from being released."""
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
    """Bytes of the body: decoded if the visit got a verdict, else as received."""
    verdict: str = ""
    digest: str = ""
    duplicate_of: str = ""
    redirects_to: str = ""
    """The target of a redirect."""
    change: float | None = None
    """How much had changed since the visit before, from 0 to 1; null if there was no document."""


class ListedHost(Row, frozen=True):
    """A host with URLs of a crawl, in the directory of that crawl; stale unless the host's row has
    this number as the crawl's `listed`."""

    table = "directory"
    partition_key, sort_key = "bucket", "key"

    bucket: str
    key: str
    """The number in 20 digits, and the host: no two hosts overwrite each other."""
    number: int
    site: str
    host: str


class DueRow(Row, frozen=True):
    """A host whose backoff ends, or a URL to visit, at a time.

    A calendar (`plans.py`) sets the bucket, and puts the time before the key. The row of the
    host, or the plan of the URL, decides whether the entry still holds.
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
    """Return the key of the rows of one partition: `3/12` is the fourth of twelve.

    When the number of partitions changes, the new rows are written beside the old ones.
    """
    return f"{number}/{partitions}"


def partition_keys(partitions: int) -> list[str]:
    """Return the keys of all *partitions*."""
    return [partition_key(number, partitions) for number in range(partitions)]


class PartitionRow(Row, frozen=True):
    """The buckets of a partition's directories and of its calendar, and the key groups of its
    parked URLs."""

    table = "partitions"
    partition_key = "partition"

    partition: str
    directories: dict[str, BucketList] = field(default_factory=dict)
    """Crawl → the buckets of its directory."""
    due: BucketRange = BucketRange()
    """The buckets of the calendar of retries and of hosts that back off."""
    parked: tuple[int, ...] = ()
    """The key groups with parked URLs."""


class TallyRow(Row, frozen=True):
    """Totals of a crawl in a partition since the crawl's beginning, for report and live view."""

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
    failed_urls: dict[str, str] = field(default_factory=dict)
    """Outcome → the last URL that finished with this failure, after its retries."""
    hours: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Hour since 1970 → pages fetched in it that were new, changed, unchanged; the last 24 hours.
    """
    harvest: tuple[HarvestPoint, ...] = ()
    """The harvest curve: what the visits have brought, over time. At most 64 points."""
    applied_verdicts: AppliedRecords = AppliedRecords()
    """The records of `pages.deduplicated` that are in the totals: verdicts and parked links."""


class FreshnessSums(ColumnGroup, frozen=True):
    """The sums from which the expected freshness of a crawl's copies is computed, at one time."""

    planned: int = 0
    """URLs with a plan."""
    pages: float = 0.0
    """Visited pages."""
    unseen: float = 0.0
    """Pages that were visited once, so that nothing is known about their changes."""
    weights: float = 0.0
    """The sum of the weights of pages with planned visits."""
    fresh: float = 0.0
    """The sum of weights times expected freshness."""
    age: float = 0.0
    """The sum of weights times expected age in days."""


class DailyTallyRow(Row, frozen=True):
    """Totals of a crawl in a partition on one day, for `gossamer report`."""

    table = "daily_tallies"
    partition_key, sort_key = ("crawl", "partition"), "at"
    decides = True
    kept_for, aged_by = "frontier.report_age", "at"

    crawl: str
    partition: str
    at: float
    """The beginning of the day, in UTC. A count belongs to the day on which the frontier made it.
    """
    admitted: int = 0
    """URLs that were admitted."""
    refused: dict[str, int] = field(default_factory=dict)
    """Rule → URLs that it refused."""
    sites: int = 0
    """Sites whose first URL was admitted or met a hazard on the day."""
    visits: int = 0
    """Visits that sent a request."""
    pages: int = 0
    """Visits that ended with a page."""
    shared: int = 0
    """Pages that were taken from another crawl, without a request."""
    statuses: dict[str, Downloads] = field(default_factory=dict)
    """Status code → responses. Visits without a response are under their outcome, and rare statuses
    under `other`."""
    requisites: Downloads = Downloads()
    """Responses to visits to requisites. They are in no other count of visits."""
    types: dict[str, Downloads] = field(default_factory=dict)
    """Media type → 2xx responses, without robots.txt files. Rare types are under `other`."""
    verdicts: dict[str, int] = field(default_factory=dict)
    """Verdict → pages."""
    new_texts: int = 0
    """Pages whose text no other page had before, and changed pages. Listings do not count."""
    hazards: dict[str, HazardCount] = field(default_factory=dict)
    """Hazard → how often it was met."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Stage of a visit (`services.frontier.daily.Stage`) → seconds of all visits together."""
    freshness: FreshnessSums = FreshnessSums()
    """The sums after the last count of the day. They do not add up over days."""


class HazardExamplesRow(Row, frozen=True):
    """A few URLs of a partition that met a hazard, for `gossamer report`."""

    table = "hazard_examples"
    partition_key, sort_key = ("crawl", "partition"), "hazard"

    crawl: str
    partition: str
    hazard: str
    at: float
    """When the newest example was added."""
    urls: tuple[HazardExample, ...] = ()
    """The newest example first."""


class PartitionTallyRow(Row, frozen=True):
    """Totals of a partition that its crawls share: its hosts, its orders, and its scheduled
    waits."""

    table = "partition_tallies"
    partition_key = "partition"
    decides = True

    partition: str
    last_number: int = 0
    """The largest request number that was given out. Request numbers grow, whatever the clock does.
    """
    orders: int = 0
    """Orders that were made; the number of the last one is in its id."""
    orders_before_claim: int = 0
    """Orders that were made before the newest claim on the partition."""
    conditions: dict[str, int] = field(default_factory=dict)
    """Condition → number of hosts."""
    slowest: dict[str, float] = field(default_factory=dict)
    """Host → its longest visit, in seconds; the slowest few hosts."""
    largest: dict[str, float] = field(default_factory=dict)
    """Host → bytes received; the largest few hosts."""
    next_due_at: float | None = None
    """When the next URL or host is due; null if not within the hour."""
    due_count: int = 0
    """URLs and hosts that wait for a time."""
    sent: dict[str, int] = field(default_factory=dict)
    """Partition of `visits.ordered` → unanswered orders of this partition's sites there; empty with
    one fetcher."""
    checked_out: dict[str, str] = field(default_factory=dict)
    """Host → site, of all checked-out hosts. A frontier that takes the partition over loads these
    hosts before it makes orders."""


class PlanRow(Row, frozen=True):
    """The next visit to a URL: its time, its reason, and all data that its order needs.

    The calendar has an entry for it, which holds as long as the plan has the entry's time.
    """

    table = "plans"
    partition_key, sort_key = ("crawl", "host"), "url"
    buckets = BUCKETS

    crawl: str
    host: str
    url: str
    at: float | None = None
    """When the URL is visited next; null for never, under the crawl's policy."""
    queued: bool = False
    """Whether the visit was due, and the URL was queued."""
    reason: str = ""
    basis: str = ""
    """The basis of the time: `services.frontier.revisit.Basis`; "" for a retry, or if no visit is
    planned."""
    policy: str = ""
    """The crawl's policy when the visit was planned."""
    visited_at: float | None = None
    """The time of the visit before the plan; null for a retry or a first visit."""
    number: int | None = None
    """The request number of a URL that was never visited and waits for the budget; null for other
    URLs, which get a number when they are queued."""
    origin: Origin = Origin()
    attempt: int = 0
    """Failed attempts in a row before this one."""
    earlier: int = 0
    """Visits to the URL that had ended when this one was planned."""
    validators: Validators = NO_VALIDATORS
    statistics: bytes = b""
    """The revisit policies' state of the page, as `services.frontier.revisit` packs it."""

    @property
    def waits_until(self) -> float | None:
        """The time of the plan's entry in the calendar; None if the URL is queued.

        A URL that is never visited has the time of its last visit, so that another policy can plan
        it.
        """
        if self.queued:
            return None
        return self.visited_at if self.at is None else self.at

    @property
    def is_retry(self) -> bool:
        """Whether the last attempt has failed, and the next one has a time."""
        return self.at is not None and self.attempt > 0

    def is_outdated(self, last: UrlRow) -> bool:
        """Return whether the planned visit was made; *last*: the last outcome of the URL."""
        return (last.earlier, last.attempt) > (self.earlier, self.attempt)


class PartitionPlansRow(Row, frozen=True):
    """The calendars of a partition's plans, and the revisit policies' state of its pages."""

    table = "partition_plans"
    partition_key = "crawl", "partition"
    decides = True

    crawl: str
    partition: str
    policy: str = "none"
    """The policy of all plans, except those in the calendar `moving`."""
    generation: int = 0
    """The number of policy changes. Each starts a new calendar of revisits."""
    revisits: BucketRange = BucketRange()
    """The buckets of the calendar of revisits."""
    moving: BucketRange = BucketRange()
    """The buckets of the former policy's calendar, until all pages in it are planned again."""
    first_visits: BucketRange = BucketRange()
    """The buckets of the calendar of first visits that wait for the budget."""
    waiting: int = 0
    """First visits that wait for the budget. A crash may count some twice."""
    planned: int = 0
    """URLs with a plan. A crash may count a few twice."""
    next_at: float | None = None
    """When the next planned visit is due; null if not within the hour."""
    spent: dict[str, int] = field(default_factory=dict)
    """Basis of a revisit (`services.frontier.revisit.Basis`) → ordered visits."""
    distrusted_hosts: int = 0
    """Hosts whose validators are distrusted, and not sent back any more."""
    statistics: bytes = b""
    """The revisit policies' state of the crawl, as `services.frontier.revisit` packs it."""
