"""What a person asks for again."""

from gossamer.events.records import Event


class RetryRequested(Event, frozen=True, kw_only=True, tag="retry_requested"):
    """A host is to be tried before its wait is over, and URLs of it that failed."""

    site: str
    host: str
    urls: tuple[str, ...] = ()
    """Canonical, of that host; those that never failed are left as they are."""


class RefetchRequested(Event, frozen=True, kw_only=True, tag="refetch_requested"):
    """URLs of a host are to be visited again now, however they fared and whenever they are due."""

    site: str
    host: str
    urls: tuple[str, ...]
    """Canonical, of that host; those that were never admitted are left as they are."""
