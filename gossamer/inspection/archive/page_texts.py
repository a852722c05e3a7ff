"""The texts of archived versions of a page.

The text is read as the parser reads it, in one of its child processes: pages are hostile, and the
sandbox and the limits of the child hold here, too.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from gossamer import clock
from gossamer.captures import Capture
from gossamer.errors import GossamerError, Poison
from gossamer.events import PageFetched, PageParsed
from gossamer.events import Visit as FetchedVisit
from gossamer.inspection.archive.versions import Version
from gossamer.inspection.basics.figures import instant
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.parser.display import Display
from gossamer.services.parser.options import Options
from gossamer.services.parser.pool.messages import Request
from gossamer.services.parser.pool.pool import Pool
from gossamer.web.http import Headers, first_value
from gossamer.web.url import host_key, site_of

if TYPE_CHECKING:
    from gossamer.settings import Settings

PAGE_LIMIT, MEMORY_LIMIT = 10.0, 512 << 20
"""CPU seconds and bytes of a page, as in the defaults of the settings."""

NO_BODY = "the server sent no body, and the earlier capture with the body is not known"


class PageVersion(Struct, frozen=True, kw_only=True):
    """One version of a page, as archived."""

    url: str
    position: CaptureRow
    status: int
    reason: str
    headers: Headers
    content_type: str
    """The Content-Type header of the body."""
    digest: str
    """The digest of the body as received."""
    truncated: str
    """Why the body is incomplete: `length`, `time` or `disconnect`; "" if it is complete."""
    body_url: str
    """The URL of the earlier capture with the body; "" if the record has its body."""
    body_at: float | None
    """When that capture was made; null if the record has its body, or it is unknown."""
    title: str
    language: str
    text: str
    """The main text, as the parser extracts it."""
    text_kind: str
    """`main`, `visible` or `plain`, as in `pages`; "" without a text."""
    fault: str
    """Why there is no text, for people."""


def describe_version(crawl: OpenCrawl, version: Version) -> PageVersion:
    """Return the data about a *version*, with its text."""
    row, capture = version.row, version.capture
    is_revisit = row.record_type == "revisit"
    return view_of(
        PageVersion,
        capture,
        url=row.url,
        position=row,
        content_type=first_value(capture.content_headers, "content-type"),
        body_url=(row.body_url or row.url) if is_revisit and row.body_at else "",
        body_at=(row.body_at or None) if is_revisit else None,
        **_text_fields(asyncio.run(_parse(crawl.settings, [version]))[0]),
    )


def read_compared_texts(crawl: OpenCrawl, versions: Sequence[Version]) -> list[str]:
    """Return the text of each version that dedup compares, line by line.

    Raise GossamerError if a version cannot be read.
    """
    texts = []
    parsed = asyncio.run(_parse(crawl.settings, versions, compared=True, word_limit=0))
    for version, page in zip(versions, parsed, strict=True):
        if isinstance(page, str):
            raise GossamerError(f"the version of {instant(version.at)} has no text: {page}")
        texts.append(page.text or "")
    return texts


def read_display(crawl: OpenCrawl, version: Version) -> Display:
    """Return the elements of a version that a frame may show.

    Raise GossamerError if it cannot be read. The caller must check every element.
    """
    if version.capture.refers_to is not None:
        raise GossamerError(NO_BODY)
    return asyncio.run(_read_display(crawl.settings, version))


async def _read_display(settings: "Settings | None", version: Version) -> Display:
    options, limits = parser_options(settings)
    async with Pool(1, *limits) as pool:
        return await pool.read_display(Request(_page_of(version), options, clock.now()))


def parser_options(settings: "Settings | None") -> tuple[Options, tuple[float, int]]:
    """Return the options of the reader, and the seconds and bytes that a page may take."""
    options, limits = Options(), (PAGE_LIMIT, MEMORY_LIMIT)
    if settings is not None:
        # The settings are imported only if some are given: that takes a fifth of a second.
        from gossamer.services.parser.wiring import options_of

        options = options_of(settings)
        limits = settings.parser.page_limit, settings.parser.memory_limit
    return options, limits


async def _parse(
    settings: "Settings | None", versions: Sequence[Version], **changed: Any
) -> list[PageParsed | str]:
    """Return what the parser reads in each version, or why it cannot, for people.

    *changed*: options that are not those of the crawl.
    """
    options, limits = parser_options(settings)
    options = replace(options, **changed)
    if options.text == "off":
        options = replace(options, text="main")
    async with Pool(1, *limits) as pool:
        return [await parse_version(pool, version, options) for version in versions]


async def parse_version(pool: Pool, version: Version, options: Options) -> PageParsed | str:
    """Return what the parser reads in a version, or why it cannot, for people."""
    if version.capture.refers_to is not None:
        return NO_BODY
    try:
        return await pool.parse(Request(_page_of(version), options, clock.now()))
    except Poison as error:
        return str(error)


def _page_of(version: Version) -> PageFetched:
    """Return the event of a fetch for the parser. The status is that of a page, because the parser
    reads no texts of errors and redirects."""
    capture: Capture = version.capture
    return PageFetched(
        at=version.at,
        site=site_of(capture.url),
        host=host_key(capture.url),
        visit=FetchedVisit(version.row.record_id, capture.url),
        started_at=version.at,
        took=0.0,
        status=200,
        headers=capture.content_headers,
        body=capture.body,
        truncated=capture.truncated,
    )


def _text_fields(page: PageParsed | str) -> dict[str, str]:
    """Return the fields of a version about its text: of *page*, or why it cannot be read."""
    if isinstance(page, str):
        return {"title": "", "language": "", "text": "", "text_kind": "", "fault": page}
    fault = "" if page.text else f"no text is read in {page.content_type or 'an unknown type'}"
    return {
        "title": page.title,
        "language": page.language,
        "text": page.text or "",
        "text_kind": page.text_kind,
        "fault": fault,
    }
