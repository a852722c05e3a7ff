"""The trace of a URL: one id that identifies it in the events and logs of all services.

It is the URL's fingerprint, so that it can be computed from the URL. Every log line of a service
about an event contains the traces of the event's URLs.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from gossamer.events import Event, HostCheckedOut, UrlsAdmitted, UrlsDiscovered
from gossamer.web.url import fingerprint as trace_of

__all__ = ["handling", "trace_of", "traces"]

logger = structlog.get_logger()


def traces(event: Event) -> list[str]:
    """Return the traces of all URLs of *event*."""
    match event:
        case UrlsDiscovered() | UrlsAdmitted():
            found = [url.trace for url in event.urls]
        case HostCheckedOut():
            found = [visit.trace for visit in event.visits]
        case _:
            subject = getattr(event, "visit", event)
            found = [getattr(subject, "trace", "")]
    return [trace for trace in found if trace]


@contextmanager
def handling(event: Event) -> Iterator[None]:
    """Log at debug level that *event* is handled, and add its traces to all log lines in the
    block."""
    found = traces(event)
    if not found:
        yield
        return
    fields = {"trace": found[0]} if len(found) == 1 else {"traces": found}
    with structlog.contextvars.bound_contextvars(**fields):
        logger.debug("handling", event_type=event.__struct_config__.tag)
        yield
