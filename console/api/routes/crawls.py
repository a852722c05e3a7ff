"""The status and the report of a crawl."""

from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from console.api.gate import ROLE
from console.api.parameters import FromCrawl
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


ROUTES = (get_status, get_report)
