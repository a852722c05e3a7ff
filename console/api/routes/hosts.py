"""Hosts, sites, and the parts of a site."""

from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from console.api.gate import ROLE
from console.api.parameters import BY_QUERY, FromCrawl, Limit, OfSite
from inspection.hosts import Host, Site, read_hosts, read_sites
from inspection.parts import SiteParts, read_parts
from services.frontier.conditions import Condition

Chosen = Annotated[Condition | None, QueryParameter(description="Only hosts in this condition.")]


@get("/v1/hosts", summary="Hosts", opt={ROLE: "view"}, dependencies=BY_QUERY)
async def get_hosts(
    reader: FromCrawl, condition: Chosen = None, site: OfSite = "", limit: Limit = 100
) -> list[Host]:
    """Hosts with the longest queues first. Without a site the whole table of hosts is read."""
    return await reader.scan(lambda crawl: read_hosts(crawl, condition, site, limit))


@get("/v1/sites", summary="Sites", opt={ROLE: "view"}, dependencies=BY_QUERY)
async def get_sites(reader: FromCrawl, site: OfSite = "", limit: Limit = 100) -> list[Site]:
    """Sites with the most hosts first. Without a site the whole table of sites is read."""
    return await reader.scan(lambda crawl: read_sites(crawl, site, limit))


@get("/v1/crawls/{crawl:str}/parts", summary="The parts of a site", opt={ROLE: "view"})
async def get_parts(reader: FromCrawl, site: OfSite) -> SiteParts:
    """What the visits to the parts of a site brought, its budgets, and its parked URLs."""
    return await reader.read(lambda crawl: read_parts(crawl, site))


ROUTES = (get_hosts, get_sites, get_parts)
