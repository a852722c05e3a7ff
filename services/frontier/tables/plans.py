"""The rows of planned visits, of the calendar, and of the plans that a crawl has in a partition."""

from typing import Annotated

from msgspec import field

from gossamer.services.frontier.tables.bucketed_log import RANGE, BucketRange
from gossamer.services.frontier.tables.totals import DIVIDED, MAX, MIN, OWN
from gossamer.services.frontier.tables.urls import BUCKETS, Origin, UrlRow
from gossamer.store import Row
from gossamer.web.url import HostKey, Site
from gossamer.web.validators import NO_VALIDATORS, Validators


class DueRow(Row, frozen=True):
    """A host whose backoff ends, or a URL to visit, at a time.

    A calendar (`plans.py`) sets the bucket, and puts the time before the key. The row of the
    host, or the plan of the URL, decides whether the entry still holds.
    """

    table = "due"
    partition_key, sort_key = "bucket", "key"
    about = "url", "host", "site"

    bucket: str
    key: str
    at: float
    site: Site
    host: HostKey
    crawl: str | None = None
    """The crawl of the URL; null if the entry is about a host."""
    url: str | None = None

    @property
    def plan(self) -> tuple[tuple[str, str], str] | None:
        """The keys of the URL's plan; None if the entry is about a host."""
        if self.crawl is None or self.url is None:
            return None
        return (self.crawl, self.host), self.url


class PlanRow(Row, frozen=True):
    """The next visit to a URL: its time, its reason, and all data that its order needs.

    The calendar has an entry for it, which holds as long as the plan has the entry's time.
    """

    table = "plans"
    partition_key, sort_key = ("crawl", "host"), "url"
    buckets = BUCKETS
    about = ("url",)

    crawl: str
    host: HostKey
    url: str
    at: float | None = None
    """When the URL is visited next; null for never, under the crawl's policy."""
    queued: bool = False
    """Whether the visit was due, and the URL was queued."""
    reason: str = ""
    basis: str = ""
    """The basis of the time: `gossamer.services.frontier.revisit.Basis`; "" for a retry, or if no
    visit is planned."""
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
    """The revisit policies' state of the page, as `gossamer.services.frontier.revisit` packs it."""

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
    partition_key, sort_key = "partition", "crawl"
    decides = True
    about = ()

    crawl: str
    partition: str
    policy: Annotated[str, OWN] = "none"
    """The policy of all plans, except those in the calendar `moving`."""
    generation: Annotated[int, MAX] = 0
    """The number of policy changes. Each starts a new calendar of revisits."""
    revisits: Annotated[BucketRange, RANGE] = BucketRange()
    """The buckets of the calendar of revisits."""
    moving: Annotated[BucketRange, RANGE] = BucketRange()
    """The buckets of the former policy's calendar, until all pages in it are planned again."""
    first_visits: Annotated[BucketRange, RANGE] = BucketRange()
    """The buckets of the calendar of first visits that wait for the budget."""
    waiting: Annotated[int, DIVIDED] = 0
    """First visits that wait for the budget. A crash may count some twice."""
    planned: Annotated[int, DIVIDED] = 0
    """URLs with a plan. A crash may count a few twice."""
    next_at: Annotated[float | None, MIN] = None
    """When the next planned visit is due; null if not within the hour."""
    spent: dict[str, int] = field(default_factory=dict)
    """Basis of a revisit (`gossamer.services.frontier.revisit.Basis`) → ordered visits."""
    distrusted_hosts: Annotated[int, DIVIDED] = 0
    """Hosts whose validators are distrusted, and not sent back any more."""
    statistics: Annotated[bytes, OWN] = b""
    """The revisit policies' state of the crawl, as `gossamer.services.frontier.revisit` packs
    it."""
