"""The state of a crawl: status, overview, failures, lags and report."""

from typing import Annotated

from litestar import get
from litestar.datastructures import State
from litestar.params import QueryParameter

from console.api.gate import ROLE
from console.api.lags import LagSampler
from console.api.parameters import SHARED_READER, FromCrawl
from inspection.failures import FailureGroup, read_failure_groups
from inspection.lag_times import GroupLag
from inspection.overview import Overview, read_overview
from inspection.report import Report, read_report
from inspection.status import CrawlReport, read_status

Days = Annotated[int | None, QueryParameter(ge=1, description="Only the last days.")]
OfDay = Annotated[str, QueryParameter(description="Only this day, as 2026-11-26, in UTC.")]


@get("/v1/crawls/{crawl:str}/status", summary="The status of the crawl", opt={ROLE: "view"})
async def get_status(reader: FromCrawl) -> CrawlReport:
    """Totals, failures with examples, lags, and waiting hosts and URLs."""
    return await reader.read(lambda crawl: read_status(crawl).report())


@get("/v1/crawls/{crawl:str}/report", summary="Limits explained", opt={ROLE: "view"})
async def get_report(reader: FromCrawl, days: Days = None, day: OfDay = "") -> Report:
    """Limits, traps and hazards with the sites and URLs that met them, downloads, copies, time by
    stage, and advice: of all days, of the last days, or of one day."""
    return await reader.read(lambda crawl: read_report(crawl, days, day))


@get("/v1/crawls/{crawl:str}/overview", summary="The overview of a crawl", opt={ROLE: "view"})
async def get_overview(reader: FromCrawl, state: State) -> Overview:
    """What the crawl does, what limits it, how far services are behind, which budgets are spent,
    and what needs attention."""
    lags: LagSampler = state.lags
    await lags.sample(reader)
    return await reader.read(lambda crawl: read_overview(crawl, lags.times))


@get("/v1/crawls/{crawl:str}/failures", summary="Failures", opt={ROLE: "view"})
async def get_failures(reader: FromCrawl) -> tuple[FailureGroup, ...]:
    """Failed visits and refused URLs by kind, with examples and the appropriate action; the most
    frequent kind first."""
    return await reader.scan(read_failure_groups)


@get("/v1/lags", summary="Lags of the services", opt={ROLE: "view"}, dependencies=SHARED_READER)
async def get_lags(reader: FromCrawl, state: State) -> tuple[GroupLag, ...]:
    """Records that the services have not consumed, and the age of the oldest in seconds. The age
    is a lower bound until the console has run for longer."""
    lags: LagSampler = state.lags
    await lags.sample(reader)
    return lags.times.lags()


ROUTES = (get_status, get_overview, get_failures, get_lags, get_report)
