"""The status and the report of a crawl."""

from typing import Annotated

from litestar import get
from litestar.datastructures import State
from litestar.params import QueryParameter

from console.api.readers import Reader
from inspection.report import Report, read_report
from inspection.status import CrawlReport, read_status

Days = Annotated[int | None, QueryParameter(ge=1, description="Only the last days.")]
OfDay = Annotated[str, QueryParameter(description="Only this day, as 2026-11-26, in UTC.")]


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


ROUTES = (get_status, get_report)
