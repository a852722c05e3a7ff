"""What is passed on of every answer, whether its page can be read or not.

By itself, since the process that holds the log imports it: native parsers are for the children.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from gossamer.events import PageFetched, PageParsed
from gossamer.events.hazards import Hazard

IDENTITY = ("crawl", "at", "site", "host", "visit", "fetched_at", "status")
"""The fields that say which page was read, and when."""
REASON_LIMIT = 1000


def passed_on(page: PageFetched, now: float) -> PageParsed:
    """Return *page* as an event of the parser, before anything of it is read."""
    return PageParsed(
        crawl=page.crawl,
        at=now,
        site=page.site,
        host=page.host,
        visit=page.visit,
        fetched_at=page.started_at,
        status=page.status,
        truncated=bool(page.truncated),
        usage=page.usage,
        hazards=page.hazards,
    )


def identified(page: PageFetched, parsed: PageParsed, now: float) -> PageParsed:
    """Return *parsed*, which somebody says was read of *page*, with the identity of *page*.

    The hazards of *page* stay as well.
    """
    known = passed_on(page, now)
    identity = {name: getattr(known, name) for name in IDENTITY}
    hazards = tuple(dict.fromkeys((*page.hazards, *parsed.hazards)))
    return replace(parsed, **identity, hazards=hazards)


def unread(page: PageFetched, reason: str, now: float) -> PageParsed:
    """Return what is passed on of a page that cannot be read: that it cannot, and the *reason*."""
    parsed = replace(passed_on(page, now), reason=reason[:REASON_LIMIT])
    return with_hazards(parsed, [Hazard.PARSER_FAULT])


def with_hazards(parsed: PageParsed, hazards: Iterable[Hazard]) -> PageParsed:
    """Return *parsed* with *hazards* added to those that it has, each once."""
    return replace(parsed, hazards=tuple(dict.fromkeys((*parsed.hazards, *hazards))))
