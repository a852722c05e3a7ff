"""What a person asks for again."""

from gossamer.events.records import Event


class RetryAsked(Event, frozen=True, kw_only=True, tag="retry_asked"):
    """A host is to be tried before its wait is over, and URLs of it that failed."""

    site: str
    host: str
    urls: tuple[str, ...] = ()
    """Canonical, of that host; those that never failed are left as they are."""
