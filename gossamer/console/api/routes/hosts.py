"""Hosts, sites, and the parts of a site."""

from typing import Annotated

from litestar.datastructures import State
from litestar.params import QueryParameter

from gossamer.console.api.hosts_index import Hosts
from gossamer.console.api.parameters import (
    BY_QUERY,
    CRAWL,
    FILTERED_READER,
    Cursor,
    FromCrawl,
    Limit,
    OfHost,
    OfSite,
    reading,
)
from gossamer.inspection.answers.failures import read_outcomes
from gossamer.inspection.answers.host_details import (
    HostExplanation,
    QueuedItem,
    Timeline,
    explain_host,
    read_queue,
    read_timeline,
)
from gossamer.inspection.answers.robots import RobotsView, read_robots
from gossamer.inspection.basics.paging import Page
from gossamer.inspection.hosts.host_index import IndexPage
from gossamer.inspection.hosts.hosts import (
    Host,
    HostQuery,
    HostSort,
    SiteQuery,
    SiteSort,
    SiteSummary,
    read_site,
)
from gossamer.inspection.hosts.parts import SiteParts, read_parts
from gossamer.inspection.urls.visits import LastOutcome, parse_outcome
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.web.url import Site

Search = Annotated[str, QueryParameter(description="A part of the name.", max_length=300)]
Cause = Annotated[
    str, QueryParameter(description="Only hosts that back off for this outcome, such as host-down.")
]
Sorting = Annotated[HostSort, QueryParameter(description="The column that sorts the hosts.")]
SiteSorting = Annotated[SiteSort, QueryParameter(description="The column that sorts the sites.")]
Ascending = Annotated[bool, QueryParameter(description="Whether small values come first.")]
OfOutcome = Annotated[
    str, QueryParameter(description="Only URLs with this outcome or status, as in gossamer retry.")
]
ForUrl = Annotated[str, QueryParameter(description="The URL whose deciding line is shown.")]
Chosen = Annotated[Condition | None, QueryParameter(description="Only hosts in this condition.")]


@reading("/v1/hosts", "Hosts", FILTERED_READER)
async def get_hosts(
    reader: FromCrawl,
    state: State,
    search: Search = "",
    condition: Chosen = None,
    cause: Cause = "",
    site: OfSite = "",
    sort: Sorting = HostSort.QUEUED,
    ascending: Ascending = False,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> IndexPage[Host]:
    """Hosts, or those where a crawl has had URLs, searched and sorted, with the longest queues
    first unless `sort` is given. The order comes from an index, which may be a minute old."""
    hosts: Hosts = state.hosts
    query = HostQuery(
        search=search,
        condition=condition,
        cause=parse_outcome(cause).outcome if cause else None,
        site=Site(site) if site else None,
        crawl=reader.crawl,
        sort=sort,
        is_ascending=ascending,
    )
    return await hosts.search(reader, query, cursor, limit)


@reading("/v1/sites", "Sites", FILTERED_READER)
async def get_sites(
    reader: FromCrawl,
    state: State,
    search: Search = "",
    site: OfSite = "",
    sort: SiteSorting = SiteSort.HOSTS,
    ascending: Ascending = False,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> IndexPage[SiteSummary]:
    """Sites, or those where a crawl has had URLs, searched and sorted, with the most hosts first
    unless `sort` is given. The order comes from an index, which may be a minute old. With `site`
    only this one, as it is now."""
    if site:
        found = await reader.read(lambda crawl: read_site(crawl, Site(site)))
        return IndexPage(items=(found,), next=None, total=1)
    hosts: Hosts = state.hosts
    query = SiteQuery(search=search, crawl=reader.crawl, sort=sort, is_ascending=ascending)
    return await hosts.search_sites(reader, query, cursor, limit)


@reading(f"{CRAWL}/parts", "The parts of a site")
async def get_parts(reader: FromCrawl, site: OfSite) -> SiteParts:
    """The worth of the parts of a site, its budgets, and its parked URLs."""
    return await reader.read(lambda crawl: read_parts(crawl, Site(site)))


@reading("/v1/host", "The explanation of a host", BY_QUERY)
async def get_host(reader: FromCrawl, host: OfHost) -> HostExplanation:
    """What a host waits for and until when, its settings, and the first URLs of its queue."""
    return await reader.read(lambda crawl: explain_host(crawl, host))


@reading("/v1/host/timeline", "Visits to a host", BY_QUERY)
async def get_timeline(reader: FromCrawl, host: OfHost, limit: Limit = 200) -> Timeline:
    """The last visit to each URL of a host, newest first."""
    return await reader.read(lambda crawl: read_timeline(crawl, host, limit))


@reading("/v1/host/robots", "The robots.txt of a host", BY_QUERY)
async def get_robots(reader: FromCrawl, host: OfHost, url: ForUrl = "") -> RobotsView:
    """The rules for the crawler, and the line that decides about a URL."""
    return await reader.read(lambda crawl: read_robots(crawl, url or host))


@reading(f"{CRAWL}/queues", "The queue of a host")
async def get_queue(
    reader: FromCrawl, host: OfHost, cursor: Cursor = None, limit: Limit = 100
) -> Page[QueuedItem]:
    """The URLs that wait at a host, in the order of their visits."""
    return await reader.read(lambda crawl: read_queue(crawl, host, cursor, limit))


@reading(f"{CRAWL}/urls", "URLs by their last outcome")
async def get_urls(
    reader: FromCrawl,
    host: OfHost,
    outcome: OfOutcome = "",
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[LastOutcome]:
    """The URLs of a host with an outcome, or those that failed, in the order of the URLs. A page
    may be partial and have few items: `next` continues the search."""
    chosen = parse_outcome(outcome) if outcome else None
    return await reader.read(lambda crawl: read_outcomes(crawl, host, chosen, cursor, limit))
