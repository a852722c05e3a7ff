"""What is to be forgotten because somebody may demand it: see `services.frontier.erasing`."""

from msgspec import Struct

from gossamer.events.records import Event


class Erasure(Struct, frozen=True):
    """What is erased, who has asked, and which visits do not count any more."""

    target: str
    """A URL, the key of a host, or a site."""
    requested_at: float
    requested_by: str
    key_group: int
    """The key group of the site."""
    orders: int
    """The number of the last order before the erasure: its visits and those before do not count."""


class ErasureRequested(Event, frozen=True, kw_only=True, tag="erasure_requested"):
    """All that is known of a URL, a host or a whole site is to be erased."""

    site: str
    host: str = ""
    """The host, by its key; "": the whole site, or one URL."""
    url: str = ""
    """Canonical; "": the whole host or site."""
    requested_by: str = ""
    """Who has asked, for the record."""

    @property
    def target(self) -> str:
        """What is erased: a URL, the key of a host, or a site."""
        return self.url or self.host or self.site


class ErasureBegun(Event, frozen=True, kw_only=True, tag="erasure_begun"):
    """The frontier orders no visit to these URLs any more: dedup erases what it knows of them."""

    site: str
    erasure: Erasure
    part: int = 0
    """Which of the events about one erasure, from 0."""
    last: bool = True
    """Whether it is the last one."""
    hosts: tuple[str, ...] = ()
    """The hosts that are erased as a whole."""
    urls: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()
    """The digests of the texts that these URLs had."""


class UrlsErased(Event, frozen=True, kw_only=True, tag="urls_erased"):
    """Dedup has erased what it knew of URLs: the frontier erases its rows."""

    site: str
    erasure: Erasure
    part: int = 0
    last: bool = True
    hosts: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()


class VisitsErased(Event, frozen=True, kw_only=True, tag="visits_erased"):
    """Visits to URLs are to be forgotten: the archive erases the rows of their captures.

    What lies in WARC files stays.
    """

    site: str
    erasure: Erasure
    part: int = 0
    urls: tuple[str, ...] = ()
