"""Retries and refetches that an operator requests."""

from gossamer.events.records import Event


class RetryRequested(Event, frozen=True, kw_only=True, tag="retry_requested"):
    """An operator requests that a host's backoff ends, and that failed URLs of the host are
    retried."""

    site: str
    host: str
    urls: tuple[str, ...] = ()
    """Canonical URLs of the host. URLs that have not failed are ignored."""


class RefetchRequested(Event, frozen=True, kw_only=True, tag="refetch_requested"):
    """An operator requests that URLs of a host are visited now, whatever their outcome and due
    time."""

    site: str
    host: str
    urls: tuple[str, ...]
    """Canonical URLs of the host. URLs that were never admitted are ignored."""
