"""Hosts, sites, and the parts of a site."""

from typing import Annotated

from litestar import get
from litestar.datastructures import State
from litestar.params import QueryParameter

from console.api.parameters import Limit, OfSite
from console.api.readers import Reader
from inspection.hosts import Host, Site, read_hosts, read_sites
from inspection.parts import SiteParts, read_parts
from services.frontier.conditions import Condition

Chosen = Annotated[Condition | None, QueryParameter(description="Only hosts in this condition.")]


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


ROUTES = (get_hosts, get_sites, get_parts)
