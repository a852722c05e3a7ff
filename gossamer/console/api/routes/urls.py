"""A URL: its explanation, its visits, and its archived versions."""

import re
from contextlib import ExitStack
from itertools import dropwhile, islice
from math import inf
from typing import IO, Annotated, Any, Literal

from litestar import MediaType, Request, Response
from litestar.datastructures import State
from litestar.params import QueryParameter

from gossamer import clock
from gossamer.console.api.downloads import Download, Downloads, spool
from gossamer.console.api.gate import actor_in
from gossamer.console.api.parameters import CRAWL, Cursor, FromCrawl, Limit, OfTime, Url, reading
from gossamer.errors import BadSettings
from gossamer.inspection.answers.paths import UrlPath, read_path
from gossamer.inspection.archive.archived_html import FRAME_HEADERS, read_archived_page
from gossamer.inspection.archive.comparison import Comparison, compare_versions
from gossamer.inspection.archive.page_texts import PageVersion, describe_version
from gossamer.inspection.archive.usage import UsageAt, read_usage
from gossamer.inspection.archive.versions import read_body, read_version
from gossamer.inspection.basics.paging import Page
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.crawls.url_forms import crawl_form
from gossamer.inspection.urls.urls import UrlExplanation, explain_url
from gossamer.inspection.urls.visits import Visit, read_history

MAX_NAME_LENGTH = 100
_unsafe = re.compile(r"[^A-Za-z0-9._-]+")
Target = Annotated[
    str, QueryParameter(description="A URL, a host or a site, as a person types it.")
]
OfForm = Annotated[
    Literal["text", "html"],
    QueryParameter(
        description="Whether the titles and visible texts, or the markups, are compared."
    ),
]


@reading(f"{CRAWL}/url", "The explanation of a URL")
async def get_url(reader: FromCrawl, url: Url) -> UrlExplanation:
    """The last visit to a URL, the next one, and the rules for both."""
    return await reader.read(lambda crawl: explain_url(crawl, url))


@reading(f"{CRAWL}/history", "The visits to a URL")
async def get_history(
    reader: FromCrawl, url: Url, cursor: Cursor = None, limit: Limit = 100
) -> Page[Visit]:
    """All visits to a URL, newest first."""
    before = inf if cursor is None else parse_time(cursor)

    def read(crawl: OpenCrawl) -> Page[Visit]:
        visits = read_history(crawl, crawl_form(crawl, url).url)
        found = [*islice(dropwhile(lambda visit: visit.at >= before, visits), limit + 1)]
        shown = tuple(found[:limit])
        return Page(shown, repr(shown[-1].at) if len(found) > limit else None)

    return await reader.read(read)


@reading(f"{CRAWL}/capture", "A version of a page")
async def get_capture(reader: FromCrawl, url: Url, at: OfTime = None) -> PageVersion:
    """One archived version of a page, with its headers and its main text: the newest, or the newest
    until a time."""
    return await reader.read(lambda crawl: describe_version(crawl, read_version(crawl, url, at)))


@reading(f"{CRAWL}/diff", "The difference of two versions")
async def get_diff(
    reader: FromCrawl, url: Url, since: OfTime = None, until: OfTime = None, form: OfForm = "text"
) -> Comparison:
    """How a page changed between two archived versions, in words: the newest and the last one
    before it with another body, or the newest until two times."""
    return await reader.read(lambda crawl: compare_versions(crawl, url, since, until, form))


@reading(f"{CRAWL}/url/path", "The path to a URL")
async def get_path(reader: FromCrawl, url: Url) -> UrlPath:
    """The pages between a seed and a URL, and how each was found."""
    return await reader.read(lambda crawl: read_path(crawl, url))


@reading(f"{CRAWL}/archived", "An archived page for a frame", media_type=MediaType.HTML)
async def get_archived(reader: FromCrawl, url: Url, at: OfTime = None) -> Response[str]:
    """A version of a page as a document without scripts, links and addresses, under a policy that
    forbids every request. It is shown in a sandboxed frame."""
    found = await reader.scan(lambda crawl: read_archived_page(crawl, url, at))
    return Response(found.html, media_type=MediaType.HTML, headers=FRAME_HEADERS)


@reading(f"{CRAWL}/body", "The body of a version", media_type="application/octet-stream")
async def get_body(
    request: Request[Any, Any, Any],
    state: State,
    reader: FromCrawl,
    url: Url,
    at: OfTime = None,
) -> Response[bytes]:
    """The body of an archived version as a file to save, without its content codings. It has a
    type that no browser opens, whatever the server stated: `capture` has the archived headers."""

    def read(crawl: OpenCrawl) -> tuple[str, int, IO[bytes]]:
        stored, data = read_body(crawl, url, at)
        return stored, len(data), spool(data)

    downloads: Downloads = state.downloads
    with ExitStack() as counted:
        counted.enter_context(downloads.counted(actor_in(request.scope)))
        stored, size, file = await reader.scan(read)
        headers = {
            "Content-Disposition": f'attachment; filename="{file_name(stored)}"',
            "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
        }
        return Download(file, size, headers, counted.pop_all())


@reading(f"{CRAWL}/usage", "Usage at a time")
async def get_usage(reader: FromCrawl, target: Target, at: OfTime = None) -> list[UsageAt]:
    """What a site allowed its pages to be used for, with the archived statements."""
    time = clock.now() if at is None else at
    return await reader.scan(lambda crawl: read_usage(crawl, target, time))


def file_name(url: str) -> str:
    """Return a name for the file with the body of *url*, which may come from an attacker: the end
    of its path, or else its host, in letters and digits."""
    authority, _, path = url.partition("://")[2].partition("/")
    segment = path.partition("?")[0].rstrip("/").rpartition("/")[2]
    for text in (segment, authority):
        if name := _unsafe.sub("_", text).strip("._-")[-MAX_NAME_LENGTH:]:
            return name
    return "body"


def parse_time(cursor: str) -> float:
    """Return the time in a cursor; raise BadSettings if it is invalid."""
    try:
        return float(cursor)
    except ValueError as error:
        raise BadSettings(f"{cursor[:80]!r} is not a cursor") from error
