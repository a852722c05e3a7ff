"""The HTTP API: the read model of one crawl as JSON, read-only, at 127.0.0.1.

Litestar was chosen because it encodes the msgspec types of the read model as they are, and
describes them in OpenAPI. One thread owns the crawl, and reads for one request after another: a
connection to SQLite belongs to one thread. Requests with another Host header are refused, so that
no page in a browser can read the crawl under a name that it resolves to this machine (DNS
rebinding).
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from itertools import islice
from typing import Annotated, Any, Literal, TypeVar

from litestar import Litestar, Request, Response, get
from litestar.config.allowed_hosts import AllowedHostsConfig
from litestar.datastructures import ResponseHeader, State
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.params import QueryParameter

from gossamer.errors import BadSettings, GossamerError, Unavailable
from inspection.captures import FOREVER, NotArchived
from inspection.comparison import Comparison, compare_versions
from inspection.crawl import OpenCrawl
from inspection.hosts import Host, Site, read_hosts, read_sites
from inspection.page_texts import PageVersion, describe_version
from inspection.parts import SiteParts, read_parts
from inspection.report import Report, read_report
from inspection.status import CrawlReport, read_status
from inspection.url_forms import crawl_form
from inspection.urls import UrlExplanation, explain_url
from inspection.versions import read_version
from inspection.visits import Visit, read_history
from services.frontier.conditions import Condition

MAX_ROWS = 1000
"""Hosts, sites or visits in one response."""
HEADERS = (
    ResponseHeader(name="X-Content-Type-Options", value="nosniff"),
    ResponseHeader(name="Cache-Control", value="no-store"),
)
STATUSES: tuple[tuple[type[GossamerError], int], ...] = (
    (BadSettings, 400),
    (NotArchived, 404),
    (Unavailable, 503),
    (GossamerError, 500),
)
"""Error → status of the response; the first class that matches."""
Limit = Annotated[
    int, QueryParameter(ge=1, le=MAX_ROWS, description="The maximum number of items.")
]
Url = Annotated[str, QueryParameter(description="A URL, in any form that a person types.")]
Chosen = Annotated[Condition | None, QueryParameter(description="Only hosts in this condition.")]
OfSite = Annotated[str, QueryParameter(description="Only this site, or only its hosts.")]
Days = Annotated[int | None, QueryParameter(ge=1, description="Only the last days.")]
OfDay = Annotated[str, QueryParameter(description="Only this day, as 2026-11-26, in UTC.")]
OfTime = Annotated[
    float | None, QueryParameter(description="The newest version until then, in epoch seconds.")
]
OfForm = Annotated[
    Literal["text", "html"],
    QueryParameter(description="Whether the main texts or the markups are compared."),
]
Answer = TypeVar("Answer")


class Reader:
    """The thread that owns the crawl."""

    def __init__(self, opening: Callable[[], AbstractContextManager[OpenCrawl]]) -> None:
        """*opening* opens the crawl; it is called in the thread."""
        self._thread = ThreadPoolExecutor(1, "crawl")
        self._opening = opening

    @asynccontextmanager
    async def running(self, app: Litestar) -> AsyncIterator[None]:
        """Open the crawl, and close it at the end of the block."""
        loop, opened = asyncio.get_running_loop(), self._opening()
        app.state.reader = self
        self._crawl = await loop.run_in_executor(self._thread, opened.__enter__)
        try:
            yield
        finally:
            await loop.run_in_executor(self._thread, opened.__exit__, None, None, None)
            self._thread.shutdown()

    async def read(self, read: Callable[[OpenCrawl], Answer]) -> Answer:
        """Return the result of *read* on the crawl."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, read, self._crawl)


@get("/v1/status", summary="The status of the crawl")
async def get_status(state: State) -> CrawlReport:
    """Totals, failures with examples, lags, and waiting hosts and URLs."""
    reader: Reader = state.reader
    return await reader.read(lambda crawl: read_status(crawl).report())


@get("/v1/report", summary="Limits explained")
async def get_report(state: State, days: Days = None, day: OfDay = "") -> Report:
    """Limits, traps and hazards with the sites and URLs that met them, downloads, copies, time by
    stage, and advice: of all days, of the last days, or of one day."""
    reader: Reader = state.reader
    return await reader.read(lambda crawl: read_report(crawl, days, day))


@get("/v1/url", summary="The explanation of a URL")
async def get_url(state: State, url: Url) -> UrlExplanation:
    """The last visit to a URL, the next one, and the rules for both."""
    reader: Reader = state.reader
    return await reader.read(lambda crawl: explain_url(crawl, url))


@get("/v1/history", summary="The visits to a URL")
async def get_history(state: State, url: Url, limit: Limit = 100) -> list[Visit]:
    """All visits to a URL, newest first."""
    reader: Reader = state.reader

    def read(crawl: OpenCrawl) -> list[Visit]:
        return [*islice(read_history(crawl, crawl_form(crawl, url).url), limit)]

    return await reader.read(read)


@get("/v1/capture", summary="A version of a page")
async def get_capture(state: State, url: Url, at: OfTime = None) -> PageVersion:
    """One archived version of a page, with its headers and its main text: the newest, or the newest
    until a time."""
    reader: Reader = state.reader

    def read(crawl: OpenCrawl) -> PageVersion:
        return describe_version(crawl, read_version(crawl, url, FOREVER if at is None else at))

    return await reader.read(read)


@get("/v1/diff", summary="The difference of two versions")
async def get_diff(
    state: State, url: Url, since: OfTime = None, until: OfTime = None, form: OfForm = "text"
) -> Comparison:
    """How a page changed between two archived versions, in words: the newest and the last one
    before it with another body, or the newest until two times."""
    reader: Reader = state.reader
    return await reader.read(lambda crawl: compare_versions(crawl, url, since, until, form))


@get("/v1/hosts", summary="Hosts")
async def get_hosts(
    state: State, condition: Chosen = None, site: OfSite = "", limit: Limit = 100
) -> list[Host]:
    """Hosts with the longest queues first. Without a site the whole table of hosts is read."""
    reader: Reader = state.reader
    return await reader.read(lambda crawl: read_hosts(crawl, condition, site, limit))


@get("/v1/sites", summary="Sites")
async def get_sites(state: State, site: OfSite = "", limit: Limit = 100) -> list[Site]:
    """Sites with the most hosts first. Without a site the whole table of sites is read."""
    reader: Reader = state.reader
    return await reader.read(lambda crawl: read_sites(crawl, site, limit))


@get("/v1/parts", summary="The parts of a site")
async def get_parts(state: State, site: OfSite) -> SiteParts:
    """What the visits to the parts of a site brought, its budgets, and its parked URLs."""
    reader: Reader = state.reader
    return await reader.read(lambda crawl: read_parts(crawl, site))


def _error_response(_: Request[Any, Any, Any], error: GossamerError) -> Response[dict[str, Any]]:
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    return Response({"status_code": status, "detail": str(error)}, status_code=status)


def make_app(opening: Callable[[], AbstractContextManager[OpenCrawl]], port: int) -> Litestar:
    """Return the application for the crawl that *opening* opens, to be served at *port*."""
    return Litestar(
        [
            get_status,
            get_report,
            get_url,
            get_history,
            get_capture,
            get_diff,
            get_hosts,
            get_sites,
            get_parts,
        ],
        lifespan=[Reader(opening).running],
        allowed_hosts=AllowedHostsConfig([f"127.0.0.1:{port}", f"localhost:{port}"]),
        exception_handlers={GossamerError: _error_response},
        response_headers=HEADERS,
        openapi_config=OpenAPIConfig(
            title="Gossamer",
            version="1",
            description="One crawl, read-only.",
            path="/schema",
            render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        ),
    )
