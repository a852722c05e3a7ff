"""The trace of a URL: one id by which it is found in every event and every service's log.

It is the URL's fingerprint, so that whoever has the URL has the id. Every line that a service logs
while it handles an event carries the traces of the URLs that the event is about.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from gossamer.events import Event, HostCheckedOut, UrlsAdmitted, UrlsDiscovered
from gossamer.web.url import fingerprint as trace_of

__all__ = ["handling", "trace_of", "traces"]

logger = structlog.get_logger()


def traces(event: Event) -> list[str]:
    """Return the ids of all URLs that *event* is about."""
    match event:
        case UrlsDiscovered() | UrlsAdmitted():
            found = [url.trace for url in event.urls]
        case HostCheckedOut():
            found = [visit.trace for visit in event.visits]
        case _:
            about = getattr(event, "visit", event)
            found = [getattr(about, "trace", "")]
    return [trace for trace in found if trace]


@contextmanager
def handling(event: Event) -> Iterator[None]:
    """Log at debug that *event* is handled; put its traces on whatever is logged meanwhile."""
    about = traces(event)
    if not about:
        yield
        return
    named = {"trace": about[0]} if len(about) == 1 else {"traces": about}
    with structlog.contextvars.bound_contextvars(**named):
        logger.debug("handling", event_type=event.__struct_config__.tag)
        yield
