"""The state of a crawl: status, overview, failures, lags and report."""

from typing import Annotated, Any

from litestar import Request, delete, get, post
from litestar.datastructures import State
from litestar.params import JSONBody, QueryParameter
from msgspec.structs import replace

from changes.commit import Committed
from changes.plan import Plan
from changes.seeds import plan_definition
from console.api.changing import OF_CRAWL, Change, FromRequest
from console.api.gate import ROLE, actor_in
from console.api.lags import LagSampler
from console.api.parameters import BY_QUERY, SHARED_READER, Cursor, FromCrawl, Limit
from gossamer.crawl import check_not_removed
from gossamer.errors import BadSettings
from gossamer.events import ChangeRecorded
from inspection.audit import ChangeFilter, read_changes
from inspection.crawl import OpenCrawl
from inspection.crawls import CrawlSummary, read_crawls
from inspection.failures import FailureGroup, read_failure_groups
from inspection.lag_times import GroupLag
from inspection.overview import Overview, read_overview
from inspection.paging import Page
from inspection.report import Report, read_report
from inspection.status import CrawlReport, read_status

OPERATE = {ROLE: "operate"}
ADMIN = {ROLE: "admin"}
STATES: dict[str, tuple[dict[str, bool], str]] = {
    "pause": ({"paused": True}, "is paused: requests in flight finish, and no more are made."),
    "resume": ({"paused": False}, "continues."),
    # Paused, too: a process that does not know removals yet must not visit its URLs.
    "remove": (
        {"paused": True, "removed": True},
        "is removed: nothing is fetched for it any more, and its queues and rows are dropped. Its "
        "WARC files stay. The other crawls go on.",
    ),
}
"""Action → fields of the definition, and the effect in words."""
OfActor = Annotated[str, QueryParameter(description="The whole actor, or the part before @.")]
OfAction = Annotated[str, QueryParameter(description="Only this kind of change, such as block.")]
OfSubject = Annotated[str, QueryParameter(description="Text that the subject contains.")]
Since = Annotated[float, QueryParameter(description="Only changes since then, in epoch seconds.")]
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


@get("/v1/crawls", summary="Crawls", opt={ROLE: "view"}, dependencies=SHARED_READER)
async def get_crawls(request: Request[Any, Any, Any], reader: FromCrawl) -> list[CrawlSummary]:
    """The crawls on which the sender has rights: states, weights, shares and totals."""
    actor = actor_in(request.scope)
    found = await reader.read(read_crawls)
    return [one for one in found if actor.crawls is None or one.crawl in actor.crawls]


@post(
    "/v1/crawls/{crawl:str}/pause",
    summary="Pause",
    status_code=200,
    opt=OPERATE,
    dependencies=OF_CRAWL,
)
async def pause(changer: FromRequest, data: JSONBody[Change]) -> Committed:
    """Make no further visits for a crawl."""
    return await changer.carry_out(data, lambda crawl, now: _plan(crawl, "pause", now))


@post(
    "/v1/crawls/{crawl:str}/resume",
    summary="Resume",
    status_code=200,
    opt=OPERATE,
    dependencies=OF_CRAWL,
)
async def resume(changer: FromRequest, data: JSONBody[Change]) -> Committed:
    """Continue a paused crawl."""
    return await changer.carry_out(data, lambda crawl, now: _plan(crawl, "resume", now))


@delete(
    "/v1/crawls/{crawl:str}", summary="Remove", status_code=200, opt=ADMIN, dependencies=OF_CRAWL
)
async def remove(changer: FromRequest, data: JSONBody[Change]) -> Committed:
    """End a crawl for good, and drop its queues and rows."""
    return await changer.carry_out(data, lambda crawl, now: _plan(crawl, "remove", now))


def _plan(crawl: OpenCrawl, action: str, now: float) -> Plan:
    definition = crawl.definition()
    if definition is None:
        raise BadSettings(f"the crawl {crawl.id} is not defined: gossamer seed defines it")
    check_not_removed(definition)
    fields, text = STATES[action]
    return plan_definition(
        crawl, action, replace(definition, **fields), f"Crawl {crawl.id} {text}", now
    )


@get("/v1/audit", summary="Changes", opt={ROLE: "view"}, dependencies=BY_QUERY)
async def get_audit(
    reader: FromCrawl,
    actor: OfActor = "",
    action: OfAction = "",
    subject: OfSubject = "",
    since: Since = 0.0,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[ChangeRecorded]:
    """What operators changed, newest first: who, when, why, and the settings before and after."""
    chosen = ChangeFilter(
        actor=actor, action=action, subject=subject, crawl=reader.crawl or "", since=since
    )
    return await reader.scan(lambda crawl: read_changes(crawl, chosen, cursor, limit))


ROUTES = (
    get_crawls,
    get_status,
    get_overview,
    get_failures,
    get_lags,
    get_report,
    get_audit,
    pause,
    resume,
    remove,
)
