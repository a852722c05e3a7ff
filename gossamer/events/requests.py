"""Operators' requests about URLs: urgent visits, retries, refetches and erasures, and the
events of an erasure.

An erasure removes all that is stored about URLs. See
`gossamer.services.frontier.procedures.erasing`.
"""

from msgspec import Struct

from gossamer.events.records import Event
from gossamer.web.url import HostKey, Site


class RetryRequested(Event, frozen=True, kw_only=True, tag="retry_requested"):
    """An operator requests that a host's backoff ends, and that failed URLs of the host are
    retried."""

    site: Site
    host: HostKey
    urls: tuple[str, ...] = ()
    """Canonical URLs of the host. URLs that have not failed are ignored."""


class RefetchRequested(Event, frozen=True, kw_only=True, tag="refetch_requested"):
    """An operator requests that URLs of a host are visited now, whatever their outcome and due
    time. So does the frontier for pages whose links changed rules may follow."""

    site: Site
    host: HostKey
    urls: tuple[str, ...]
    """Canonical URLs of the host. URLs that were never admitted are ignored."""
    whole: bool = False
    """Whether the pages are requested as a whole, although validators are known: they are read
    again by changed rules."""


class FetchRequested(Event, frozen=True, kw_only=True, tag="fetch_requested"):
    """An operator requests that URLs of a host are visited before all others, whether they were
    visited before or are unknown."""

    site: Site
    host: HostKey
    urls: tuple[str, ...]
    """Canonical URLs of the host, in the form of the crawl."""


class ReleaseRequested(Event, frozen=True, kw_only=True, tag="release_requested"):
    """An operator requests that parked URLs of a site are visited, although their part brought no
    new text lately, or their budget is used up."""

    site: Site
    parts: tuple[str, ...] = ()
    """The names of the parts, as `gossamer sites SITE` shows them. None means all parts of the
    site."""


class Erasure(Struct, frozen=True):
    """The target of an erasure, its requester, and the visits that it invalidates."""

    target: str
    """A URL, a host key, or a site."""
    requested_at: float
    """Epoch seconds of the request."""
    requested_by: str
    """The person who requested the erasure."""
    key_group: int
    """The key group of the site."""
    orders: int
    """The number of the last order before the erasure. Visits of this order and of earlier ones are
    ignored."""


class ErasureRequested(Event, frozen=True, kw_only=True, tag="erasure_requested"):
    """An operator demands that all data about a URL, a host or a whole site is erased."""

    site: Site
    host: HostKey = HostKey("")
    """The host key of the host to erase. "" means a whole site or one URL."""
    url: str = ""
    """The canonical URL to erase. "" means a whole host or site."""
    requested_by: str = ""
    """The person who requested the erasure, for the record."""

    @property
    def target(self) -> str:
        """The target of the erasure: a URL, a host key, or a site."""
        return self.url or self.host or self.site


class ErasureBegun(Event, frozen=True, kw_only=True, tag="erasure_begun"):
    """The frontier has stopped visits to these URLs. Dedup then erases its rows about them."""

    site: Site
    erasure: Erasure
    part: int = 0
    """The number of this event among those of the erasure, from 0."""
    last: bool = True
    """Whether this is the last event of the erasure."""
    hosts: tuple[HostKey, ...] = ()
    """The keys of the hosts that are erased as a whole."""
    urls: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    """The digests of the texts of these URLs."""
    removal: bool = False
    """Whether the crawl of this event is removed. All its rows about the site are erased then, and
    rows about hosts and rows of other crawls stay."""


class UrlsErased(Event, frozen=True, kw_only=True, tag="urls_erased"):
    """Dedup has erased its rows about URLs. The frontier then erases its own."""

    site: Site
    erasure: Erasure
    part: int = 0
    last: bool = True
    hosts: tuple[HostKey, ...] = ()
    urls: tuple[str, ...] = ()
    removal: bool = False
    """Whether the crawl of this event is removed."""


class VisitsErased(Event, frozen=True, kw_only=True, tag="visits_erased"):
    """Visits to URLs are erased. The archive that handles this erases the rows of their captures.

    Then each archive erases the records in its WARC files.
    """

    site: Site
    erasure: Erasure
    part: int = 0
    urls: tuple[str, ...] = ()
    removal: bool = False
    """Whether the crawl of this event is removed. Its WARC files stay then."""
