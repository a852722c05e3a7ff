"""The kind that the parser assigns to an answer, for tests that create its events."""

from msgspec.structs import replace

from gossamer.events import PageFetched, PageParsed
from gossamer.services.parser.result import kind_of


def with_kind(parsed: PageParsed) -> PageParsed:
    """Return *parsed* with the kind that the parser assigns to such an answer."""
    page = PageFetched(
        at=parsed.at,
        site=parsed.site,
        host=parsed.host,
        visit=parsed.visit,
        started_at=parsed.fetched_at,
        took=0.0,
        status=parsed.status,
        headers=(),
        body=b"",
    )
    return replace(parsed, kind=kind_of(page, parsed))
