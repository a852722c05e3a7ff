"""The state of a crawl: status, overview, failures, lags and report."""

from pathlib import Path
from typing import Annotated, Any

from litestar import MediaType, Request, Response, delete, post, put
from litestar.datastructures import State
from litestar.params import JSONBody, QueryParameter
from msgspec import Meta, Struct

from gossamer.changes.commit import Committed
from gossamer.changes.crawls import plan_apply, plan_state
from gossamer.changes.plan import Action, Plan
from gossamer.console.api.changing import Change, FromRequest, changing
from gossamer.console.api.gate import actor_in
from gossamer.console.api.lags import LagSampler
from gossamer.console.api.parameters import (
    BY_QUERY,
    CRAWL,
    SHARED_READER,
    CrawlInPath,
    Cursor,
    FromCrawl,
    Limit,
    reading,
)
from gossamer.console.report_html import POLICY, report_page
from gossamer.crawl import seeds_applied
from gossamer.crawl_file import CrawlFile, parse_crawl_file, write_crawl_file
from gossamer.errors import BadSettings
from gossamer.events import ChangeRecorded
from gossamer.inspection.answers.failures import FailureGroup, read_failure_groups
from gossamer.inspection.answers.overview import Overview, read_overview
from gossamer.inspection.basics.lag_times import GroupLag
from gossamer.inspection.basics.paging import Page
from gossamer.inspection.crawls.audit import ChangeFilter, read_changes
from gossamer.inspection.crawls.crawl import NotFound, OpenCrawl
from gossamer.inspection.crawls.crawls import CrawlSummary, read_crawls
from gossamer.inspection.progress.freshness import DayFreshness, read_freshness
from gossamer.inspection.progress.report import Report, read_report
from gossamer.inspection.progress.status import CrawlReport, read_status
from gossamer.policies import DEFAULT_FLEET_POLICY, NEVER

Weeks = Annotated[int, QueryParameter(ge=1, le=520, description="Only the last weeks.")]
OfActor = Annotated[str, QueryParameter(description="The whole actor, or the part before @.")]
OfAction = Annotated[Action | None, QueryParameter(description="Only this kind of change.")]
OfSubject = Annotated[str, QueryParameter(description="Text that the subject contains.")]
Since = Annotated[
    float, QueryParameter(ge=0, description="Only changes since then, in epoch seconds.")
]
Days = Annotated[int | None, QueryParameter(ge=1, description="Only the last days.")]
OfDay = Annotated[str, QueryParameter(description="Only this day, as 2026-11-26, in UTC.")]


@reading(f"{CRAWL}/status", "The status of the crawl")
async def get_status(reader: FromCrawl) -> CrawlReport:
    """Totals, failures with examples, lags, and waiting hosts and URLs."""
    return await reader.read(lambda crawl: read_status(crawl).report())


@reading(f"{CRAWL}/report", "Limits explained")
async def get_report(reader: FromCrawl, days: Days = None, day: OfDay = "") -> Report:
    """Limits, traps and hazards with the sites and URLs that met them, downloads, copies, time by
    stage, and advice: of all days, of the last days, or of one day."""
    return await reader.read(lambda crawl: read_report(crawl, days, day))


@reading(f"{CRAWL}/report.html", "The report as a file", media_type=MediaType.HTML)
async def get_report_file(reader: FromCrawl, days: Days = None, day: OfDay = "") -> Response[str]:
    """The report as one printable HTML file to save, without scripts and without addresses."""
    found = await reader.read(lambda crawl: read_report(crawl, days, day))
    name = f"gossamer-report-{reader.crawl}{f'-{found.last_day}' if found.last_day else ''}.html"
    headers = {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Content-Security-Policy": f"sandbox; {POLICY}; frame-ancestors 'none'",
    }
    text = report_page([found], f"Report of {reader.crawl}")
    return Response(text, media_type=MediaType.HTML, headers=headers)


@reading(f"{CRAWL}/overview", "The overview of a crawl")
async def get_overview(reader: FromCrawl, state: State) -> Overview:
    """What the crawl does, what limits it, how far services are behind, which budgets are spent,
    and what needs attention."""
    lags: LagSampler = state.lags
    await lags.sample(reader)
    return await reader.read(lambda crawl: read_overview(crawl, lags.times))


@reading(f"{CRAWL}/failures", "Failures")
async def get_failures(reader: FromCrawl) -> tuple[FailureGroup, ...]:
    """Failed visits and refused URLs by kind, with examples and the appropriate action; the most
    frequent kind first."""
    return await reader.scan(read_failure_groups)


@reading(f"{CRAWL}/freshness", "Freshness by day")
async def get_freshness(reader: FromCrawl, weeks: Weeks = 8) -> tuple[DayFreshness, ...]:
    """The expected freshness and age of the pages, by day, oldest first."""
    return await reader.read(lambda crawl: read_freshness(crawl, weeks))


@reading("/v1/lags", "Lags of the services", SHARED_READER)
async def get_lags(reader: FromCrawl, state: State) -> tuple[GroupLag, ...]:
    """Records that the services have not consumed, and the age of the oldest in seconds. The age
    is a lower bound until the console has run for longer."""
    lags: LagSampler = state.lags
    await lags.sample(reader)
    return lags.times.lags()


@reading("/v1/crawls", "Crawls", SHARED_READER)
async def get_crawls(request: Request[Any, Any, Any], reader: FromCrawl) -> list[CrawlSummary]:
    """The crawls on which the sender has rights: states, weights, shares and totals."""
    actor = actor_in(request.scope)
    found = await reader.read(read_crawls)
    return [one for one in found if actor.crawls is None or one.crawl in actor.crawls]


@changing(post, f"{CRAWL}/pause", "Pause")
async def pause(changer: FromRequest, data: JSONBody[Change]) -> Committed:
    """Make no further visits for a crawl."""
    return await changer.carry_out(data, lambda crawl, now: plan_state(crawl, "pause", now))


@changing(post, f"{CRAWL}/resume", "Resume")
async def resume(changer: FromRequest, data: JSONBody[Change]) -> Committed:
    """Continue a paused crawl."""
    return await changer.carry_out(data, lambda crawl, now: plan_state(crawl, "resume", now))


@changing(delete, CRAWL, "Remove", role="admin")
async def remove(changer: FromRequest, data: JSONBody[Change]) -> Committed:
    """End a crawl for good, and drop its queues and rows."""
    return await changer.carry_out(data, lambda crawl, now: plan_state(crawl, "remove", now))


class Definition(Change, kw_only=True):
    """The definition of a crawl."""

    replaces: float | None = None
    """`at` of the definition that the sender has read, 0 if there was none. If another change came
    since, this one is refused with the status 412."""
    definition: Annotated[str, Meta(max_length=900_000)]
    """A crawl file, in TOML. `seeds_file` is not allowed, since it names a file of the server."""


class CrawlText(Struct, frozen=True):
    """The definition of a crawl."""

    crawl: str
    text: str
    """A crawl file, in TOML."""
    at: float
    """When it was changed, in epoch seconds. A change states it in `replaces`."""


@reading(f"{CRAWL}/definition", "The definition")
async def get_definition(reader: FromCrawl) -> CrawlText:
    """The definition of a crawl as a crawl file, as `gossamer crawls show` prints it."""

    def read(crawl: OpenCrawl) -> CrawlText:
        definition = crawl.definition()
        if definition is None:
            raise NotFound(f"the crawl {crawl.id} is not defined")
        text = write_crawl_file(definition, seeds_applied(crawl.log, crawl.id))
        return CrawlText(crawl.id, text, _defined_at(crawl, crawl.id))

    return await reader.read(read)


@changing(put, CRAWL, "Apply", role="admin")
async def apply(changer: FromRequest, crawl: CrawlInPath, data: JSONBody[Definition]) -> Committed:
    """Define a crawl, or change it to what a crawl file states.

    A weight takes visits from other crawls, so only rights on all crawls suffice to change it.
    """

    def make_plan(place: OpenCrawl, now: float) -> Plan:
        file, before = _read_file(place, crawl, data.definition), place.crawls().get(crawl)
        if file.definition.weight != (before.weight if before else 1.0):
            changer.actor.check_shared()
        return plan_apply(place, file, now)

    return await changer.carry_out(
        data, make_plan, lambda place: _defined_at(place, crawl), may_be_new=True
    )


def _defined_at(place: OpenCrawl, crawl: str) -> float:
    """Return when the definition of a crawl or its list of seeds was changed; 0 without any."""
    found = (place.crawls().get(crawl), seeds_applied(place.log, crawl))
    return max((event.at for event in found if event), default=0.0)


def _read_file(place: OpenCrawl, crawl: str, text: str) -> CrawlFile:
    policy = DEFAULT_FLEET_POLICY if place.fleet else NEVER
    file = parse_crawl_file(text, Path(f"{crawl}.toml"), policy, reads_files=False)
    if file.definition.crawl != crawl:
        raise BadSettings(f"the definition has the id {file.definition.crawl}, and not {crawl}")
    return file


@reading("/v1/audit", "Changes", BY_QUERY)
async def get_audit(
    reader: FromCrawl,
    actor: OfActor = "",
    action: OfAction = None,
    subject: OfSubject = "",
    since: Since = 0.0,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[ChangeRecorded]:
    """What operators changed, newest first: who, when, why, and the settings before and after."""
    chosen = ChangeFilter(
        actor=actor, action=action or "", subject=subject, crawl=reader.crawl or "", since=since
    )
    return await reader.scan(lambda crawl: read_changes(crawl, chosen, cursor, limit))
