"""Versions of a page as archived: one version with its text, and the difference of two.

The text is read as the parser reads it, in one of its child processes: pages are hostile, and the
sandbox and the limits of the child hold here, too.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from gossamer import clock
from gossamer.captures import Capture
from gossamer.errors import GossamerError, Poison
from gossamer.events import PageFetched, PageParsed
from gossamer.events import Visit as FetchedVisit
from gossamer.text.differences import MARKUP, WORDS, Piece, compare_texts
from gossamer.web.http import Headers, first_value, joined_values
from gossamer.web.url import host_key, site_of
from inspection.captures import (
    FOREVER,
    CapturePosition,
    Version,
    find_versions,
    position_of,
    read_row,
)
from inspection.crawl import OpenCrawl
from inspection.figures import instant
from services.parser.charset import decode_text
from services.parser.options import Options
from services.parser.pool.messages import Request
from services.parser.pool.pool import Pool

if TYPE_CHECKING:
    from gossamer.settings import Settings

PAGE_LIMIT, MEMORY_LIMIT = 10.0, 512 << 20
"""CPU seconds and bytes of a page, as in the defaults of the settings."""
MAX_MARKUP_BYTES = 2 << 20
"""Bytes of the decoded body whose markup is compared."""
Form = Literal["text", "html"]


class PageVersion(Struct, frozen=True, kw_only=True):
    """One version of a page, as archived."""

    url: str
    position: CapturePosition
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
    title: str = ""
    language: str = ""
    text: str = ""
    """The main text, as the parser extracts it."""
    text_kind: str = ""
    """`main`, `visible` or `plain`, as in `pages`; "" without a text."""
    fault: str = ""
    """Why there is no text, for people."""


class Comparison(Struct, frozen=True, kw_only=True):
    """The difference of two versions of a page."""

    url: str
    form: Form
    """What was compared: the main text, or the markup."""
    old: CapturePosition
    new: CapturePosition
    change: float
    """The share of words that differ, from 0 to 1."""
    is_complete: bool
    """Whether all words were compared; false if a part counts as replaced to save time."""
    pieces: tuple[Piece, ...]


def read_version(crawl: OpenCrawl, text: str, at: float = FOREVER) -> Version:
    """Return the newest capture until *at* of the URL *text*.

    Raise GossamerError if there is none or it cannot be read, and BadSettings for an invalid URL.
    """
    _, rows = find_versions(crawl, text, at)
    row = next(rows)
    return Version(row, read_row(crawl, row))


def describe_version(crawl: OpenCrawl, version: Version) -> PageVersion:
    """Return the data about a *version*, with its text."""
    row, capture = version.row, version.capture
    is_revisit = row.record_type == "revisit"
    found = PageVersion(
        url=row.url,
        position=position_of(row),
        status=capture.status,
        reason=capture.reason,
        headers=capture.headers,
        content_type=first_value(capture.content_headers, "content-type"),
        digest=capture.digest,
        truncated=capture.truncated,
        body_url=(row.body_url or row.url) if is_revisit and row.body_at else "",
        body_at=(row.body_at or None) if is_revisit else None,
    )
    return _add_text(found, read_pages(crawl, [version])[0])


def compare_versions(
    crawl: OpenCrawl, text: str, since: float | None, until: float | None, form: Form
) -> Comparison:
    """Return how the page at the URL *text* changed between two times.

    The new version is the newest until *until*, or of all. The old version is the newest until
    *since*, or the last one before the new version with another body. Only documents count, and not
    errors and redirects. Raise GossamerError if there are no two versions, or one cannot be read.
    """
    end = FOREVER if until is None else until
    url, rows = find_versions(crawl, text, end)
    documents = [row for row in rows if row.status // 100 == 2 or row.status == 304]
    if not documents:
        raise GossamerError(f"{url} has no archived document, only errors or redirects")
    new, *earlier = documents
    if since is not None:
        earlier = [row for row in documents if row.fetched_at <= since]
    other = [row for row in earlier if row.digest != new.digest] if since is None else earlier
    old = next(iter(other or earlier), None)
    if old is None:
        raise GossamerError(
            f"{url} has one archived document until {instant(new.fetched_at)}: there is nothing to "
            "compare it with"
            if since is None
            else f"{url} has no archived document until {instant(since)}: the first is of "
            f"{instant(documents[-1].fetched_at)}"
        )
    versions = [Version(row, read_row(crawl, row)) for row in (old, new)]
    before, after = (_markups if form == "html" else _texts)(crawl, versions)
    found = compare_texts(before, after, MARKUP if form == "html" else WORDS)
    return Comparison(
        url=url,
        form=form,
        old=position_of(old),
        new=position_of(new),
        change=found.change,
        is_complete=found.is_complete,
        pieces=found.pieces,
    )


def _markups(_: OpenCrawl, versions: Sequence[Version]) -> list[str]:
    """Return the markup of each version. Raise GossamerError if a body is not known."""
    found = []
    for version in versions:
        header = joined_values(version.capture.content_headers, "content-type")
        body = version.capture.decoded(MAX_MARKUP_BYTES)
        found.append(decode_text(body, header, is_html=True).text)
    return found


def _texts(crawl: OpenCrawl, versions: Sequence[Version]) -> list[str]:
    """Return the text of each version. Raise GossamerError if one cannot be read."""
    found = []
    for version, page in zip(versions, read_pages(crawl, versions), strict=True):
        if isinstance(page, str):
            raise GossamerError(f"the version of {instant(version.at)} has no text: {page}")
        found.append(page.text or "")
    return found


def read_pages(crawl: OpenCrawl, versions: Sequence[Version]) -> list[PageParsed | str]:
    """Return what the parser reads in each version, or why it cannot, for people."""
    return asyncio.run(_parse(crawl.settings, versions))


async def _parse(
    settings: "Settings | None", versions: Sequence[Version]
) -> list[PageParsed | str]:
    options, limits = Options(), (PAGE_LIMIT, MEMORY_LIMIT)
    if settings is not None:
        # The settings are imported only if some are given: that takes a fifth of a second.
        from services.parser.wiring import options_of

        options = options_of(settings)
        limits = settings.parser.page_limit, settings.parser.memory_limit
    if options.text == "off":
        options = replace(options, text="main")
    async with Pool(1, *limits) as pool:
        return [await _parse_one(pool, version, options) for version in versions]


async def _parse_one(pool: Pool, version: Version, options: Options) -> PageParsed | str:
    if version.capture.refers_to is not None:
        return "the server sent no body, and the earlier capture with the body is not known"
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


def _add_text(found: PageVersion, page: PageParsed | str) -> PageVersion:
    if isinstance(page, str):
        return replace(found, fault=page)
    return replace(
        found,
        title=page.title,
        language=page.language,
        text=page.text or "",
        text_kind=page.text_kind,
        fault="" if page.text else f"no text is read in {page.content_type or 'an unknown type'}",
    )
