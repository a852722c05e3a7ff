"""The settings that operators change while crawls run: blocklist, speed, sites and hosts.

All crawls share them, so their paths name no crawl.
"""

from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from console.api.gate import ROLE
from console.api.parameters import SHARED_READER, Cursor, FromCrawl, Limit, Url
from gossamer import clock
from inspection.controls import (
    BlockedRule,
    BlocklistMatch,
    Overrides,
    SpeedView,
    match_blocklist,
    read_blocklist,
    read_overrides,
    read_speeds,
)
from inspection.paging import Page

Search = Annotated[str, QueryParameter(description="A part of the rule.", max_length=2000)]


@get("/v1/blocklist", summary="The blocklist", opt={ROLE: "view"}, dependencies=SHARED_READER)
async def get_blocklist(
    reader: FromCrawl, search: Search = "", cursor: Cursor = None, limit: Limit = 100
) -> Page[BlockedRule]:
    """The rules of the blocklist, sorted."""
    return await reader.read(lambda crawl: read_blocklist(crawl.log, search, cursor, limit))


@get(
    "/v1/blocklist/match",
    summary="The rule for a URL",
    opt={ROLE: "view"},
    dependencies=SHARED_READER,
)
async def get_match(reader: FromCrawl, url: Url) -> BlocklistMatch:
    """The rule of the blocklist that forbids a URL."""
    return await reader.read(lambda crawl: match_blocklist(crawl.log, url))


@get("/v1/speed", summary="The speed", opt={ROLE: "view"}, dependencies=SHARED_READER)
async def get_speed(reader: FromCrawl) -> SpeedView:
    """The rate limits by weekday and hour, and the active one."""
    return await reader.read(lambda crawl: read_speeds(crawl.log, clock.now()))


@get(
    "/v1/overrides",
    summary="Settings of sites and hosts",
    opt={ROLE: "view"},
    dependencies=SHARED_READER,
)
async def get_overrides(reader: FromCrawl) -> Overrides:
    """Delays, budgets, quiet hours and certificates that were set for sites and hosts."""
    return await reader.read(lambda crawl: read_overrides(crawl.log))


ROUTES = (get_blocklist, get_match, get_speed, get_overrides)
