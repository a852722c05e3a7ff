"""Query parameters that several routes share, and the reader of the crawl that a request names."""

from typing import Annotated, Any

from litestar import MediaType, Request, get
from litestar.datastructures import State
from litestar.di import NamedDependency, Provide
from litestar.params import PathParameter, QueryParameter

from gossamer.console.api.gate import ROLE, SHARED, actor_in
from gossamer.console.api.identity import Forbidden
from gossamer.console.api.readers import CrawlReader
from gossamer.crawl import check_id
from gossamer.inspection.basics.figures import MAX_INSTANT
from gossamer.settings.api import Role

CRAWL = "/v1/crawls/{crawl:str}"
"""The path of a crawl, in the paths of routes."""
MAX_ROWS = 1000
"""Items in one response."""
Limit = Annotated[
    int, QueryParameter(ge=1, le=MAX_ROWS, description="The maximum number of items.")
]
Cursor = Annotated[
    str | None,
    QueryParameter(
        description="`next` of the page before; without it, the first page.", max_length=4000
    ),
]
Url = Annotated[str, QueryParameter(description="A URL, in any form that a person types.")]
OfHost = Annotated[str, QueryParameter(description="A host, or a URL of it, as a person types it.")]
OfSite = Annotated[str, QueryParameter(description="Only this site, or only its hosts.")]
OfTime = Annotated[
    float | None,
    QueryParameter(
        ge=0, le=MAX_INSTANT, description="The newest version until then, in epoch seconds."
    ),
]
FromCrawl = NamedDependency[CrawlReader]
"""The reader of the crawl that the path or the parameter `crawl` names, as the argument
`reader`."""
OfCrawl = Annotated[
    str | None,
    QueryParameter(description="The id of the crawl, if there are several.", max_length=40),
]
OfFilter = Annotated[
    str | None,
    QueryParameter(description="Only those where this crawl has had URLs.", max_length=40),
]
CrawlInPath = Annotated[str, PathParameter(description="The id of the crawl.", max_length=40)]


async def provide_reader(
    request: Request[Any, Any, Any], state: State, crawl: CrawlInPath
) -> CrawlReader:
    """Return the reader of *crawl*. Raise Forbidden if the sender has no rights on it."""
    return _reader(request, state, crawl)


async def _provide_by_query(
    request: Request[Any, Any, Any], state: State, crawl: OfCrawl = None
) -> CrawlReader:
    return _reader(request, state, crawl)


def _reader(request: Request[Any, Any, Any], state: State, crawl: str | None) -> CrawlReader:
    actor = actor_in(request.scope)
    if crawl is not None:
        check_id(crawl)
        actor.check_crawl(crawl)
    elif actor.crawls is not None:
        raise Forbidden(f"{actor.name} has rights on single crawls: name one with crawl=")
    return CrawlReader(state.readers, crawl)


BY_QUERY = {"reader": Provide(_provide_by_query)}
"""The dependencies of routes whose path names no crawl, and whose result depends on the crawl."""


async def _provide_shared(state: State) -> CrawlReader:
    return CrawlReader(state.readers, None)


SHARED_READER = {"reader": Provide(_provide_shared)}
"""The dependencies of routes that read what all crawls share."""


async def _provide_filtered(
    request: Request[Any, Any, Any], state: State, crawl: OfFilter = None
) -> CrawlReader:
    return CrawlReader(state.readers, None) if crawl is None else _reader(request, state, crawl)


FILTERED_READER = {"reader": Provide(_provide_filtered)}
"""The dependencies of lists that all crawls share, and that the parameter `crawl` shortens."""


def reading(
    path: str,
    summary: str,
    dependencies: dict[str, Provide] | None = None,
    *,
    role: Role = "view",
    is_shared: bool = False,
    media_type: MediaType | str | None = None,
) -> get:
    """Return the decorator of a route that reads, as *role*.

    Without *dependencies*, *path* names the crawl. *is_shared*: only rights on all crawls suffice.
    """
    opt = {ROLE: role, SHARED: is_shared}
    return get(path, summary=summary, opt=opt, dependencies=dependencies, media_type=media_type)
