"""The rows of URLs: entries of queues, the last outcome and verdict, and the history of a page."""

from msgspec.structs import asdict

from gossamer.events import Discovery, Purpose, Visit
from gossamer.store import ColumnGroup, Row
from gossamer.web.url import HostKey
from gossamer.web.validators import NO_VALIDATORS, Validators

BUCKETS = 16
"""Cassandra partitions of one host's URLs: a million URLs are 16 partitions of some 20 MB."""


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
    joined: str = ""
    """The host or the site that a redirect of the URL's seed added to the scope; "" without one."""

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
            found.joined,
        )

    def discovery(self, url: str) -> Discovery:
        """Return *url* as it was discovered."""
        found = asdict(self)
        del found["via"]
        return Discovery(url, **found)


class QueuedUrl(Row, frozen=True):
    """A URL in one of a host's queues."""

    table = "queues"
    partition_key, sort_key = ("crawl", "bucket"), "bucket_index"
    about = ("url",)

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
    on_behalf_of: HostKey = HostKey("")
    """The host on whose behalf its robots.txt is visited here; "" for other visits."""
    validators: Validators = NO_VALIDATORS
    conditional: bool = False
    """Whether the request is conditional."""
    statistics: bytes = b""
    """The revisit policies' state of the page, as `gossamer.services.frontier.revisit` packs it."""
    basis: str = ""
    """The basis of the revisit: `gossamer.services.frontier.revisit.Basis`; "" for a new URL or a
    retry."""
    good_links: int = 0
    """Links of good pages to the URL, if the entry promotes it; 0 for the entry of its
    admission."""

    def visit(self, id: str) -> Visit:
        """Return the visit *id* to the URL."""
        return Visit(
            id=id,
            url=self.url,
            on_behalf_of=self.on_behalf_of,
            validators=self.validators,
            conditional=self.conditional,
            statistics=self.statistics,
            attempt=self.attempt,
            earlier=self.earlier,
            **asdict(self.origin),
        )


class UrlRow(Row, frozen=True):
    """The last outcome of a URL, or the reason why it was refused."""

    table = "urls"
    partition_key, sort_key = ("crawl", "host"), "url"
    buckets = BUCKETS
    about = ("url",)

    crawl: str
    host: HostKey
    url: str
    outcome: str
    at: float
    status: int = 0
    reason: str = ""
    redirects_to: str = ""
    """The target of a redirect."""
    origin: Origin = Origin()
    attempt: int = 0
    """Attempts since the URL's last visit that ended. Failures of the host do not count."""
    earlier: int = 0
    """Visits to the URL that have ended."""
    queued: bool = False
    """Whether the URL is still the first of its queue: its host backs off before the next attempt.
    """


class VerdictRow(Row, frozen=True):
    """The last verdict on a URL's content."""

    table = "verdicts"
    partition_key, sort_key = ("crawl", "host"), "url"
    buckets = BUCKETS
    about = ("url",)

    crawl: str
    host: HostKey
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
    needs_rendering: bool = False
    """Whether scripts seem to make the page's text."""


class HistoryRow(Row, frozen=True):
    """One visit to a URL, in the history of that page."""

    table = "page_history"
    partition_key, sort_key = ("crawl", "url"), "at"
    newest_first = True
    kept_for, aged_by = "frontier.history_age", "at"
    about = ("url",)

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


class RequisiteRow(Row, frozen=True):
    """The last visit to a requisite, or the reason why it was refused.

    A URL may be a page and a requisite, so it has no row in `urls`.
    """

    table = "requisites"
    partition_key, sort_key = ("crawl", "host"), "url"
    buckets = BUCKETS
    about = ("url",)

    crawl: str
    host: HostKey
    url: str
    outcome: str
    at: float
    status: int = 0
    reason: str = ""
    redirects_to: str = ""
    """The target of a redirect."""
    origin: Origin = Origin()
    """Where the requisite was found; `via` is the visit to the page or the style that needs it."""
    earlier: int = 0
    """Visits to the requisite that have ended."""
    validators: Validators = NO_VALIDATORS
    """The validators of the last version."""
