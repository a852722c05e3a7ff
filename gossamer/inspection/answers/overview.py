"""The overview of a crawl: what it does, what limits it, and what needs attention, as data."""

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from gossamer import clock
from gossamer.events import CrawlDefined, Outcome
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import FAILURES
from gossamer.inspection.answers.limits import Limit, LimitKind, find_limit, seconds_left
from gossamer.inspection.basics.figures import about, duration, number, plural, size
from gossamer.inspection.basics.labels import outcome_label
from gossamer.inspection.basics.lag_times import GroupLag, LagTimes
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.progress.progress import Progress
from gossamer.inspection.progress.status import CrawlStatus, Failure, parked_text, read_status
from gossamer.inspection.progress.workload import Workload, read_workload
from gossamer.policies import DAY
from gossamer.services.frontier.tables.conditions import Condition

HOUR = 3600.0
MIN_RATE_TIME = 600.0
"""Seconds after which the rate is that of the present hour alone."""
MIN_NEW_TIME = 10.0
"""Minimum seconds for the rate of a new crawl."""
MAX_LAG = 60.0
"""Seconds. An older unconsumed record is a problem."""
MAX_FAILURES = 5
"""The most frequent failures that are shown."""
MIN_FAILED_SHARE = 0.2
"""Share of visits with one outcome from which it is a problem."""
PAGE_BUDGET = "pages of the crawl"
NOTHING_QUEUED = "Nothing is queued"
MIN_VISITS = 50
"""Minimum number of visits for a share of failures."""


class ProblemKind(StrEnum):
    """What needs attention."""

    IDLE = "idle"
    """No page is fetched, because the crawl is paused or not defined."""
    DEAD_LETTERS = "dead letters"
    LAG = "lag"
    """A service is far behind."""
    ARCHIVE = "archive"
    """WARC files cannot be uploaded, or the archive is paused."""
    PARKED = "parked"
    """URLs of the crawl are parked: parts of sites with hardly any new text, or over a budget."""
    FAILURES = "failures"
    """Many visits end with the same failure."""
    BUDGET = "budget"
    """A budget is spent."""


class Problem(Struct, frozen=True):
    """Something that needs attention."""

    kind: ProblemKind
    text: str
    """The problem in one sentence."""
    subject: str = ""
    """The service, the archive or the failure; "" without one."""


class Hour(Struct, frozen=True):
    """The pages of one hour."""

    at: float
    """The beginning of the hour, in epoch seconds."""
    new: int
    changed: int
    unchanged: int


class BudgetUse(Struct, frozen=True):
    """A limit of the whole crawl, and how much of it is used."""

    name: str
    """For people: `pages of the crawl`, `visits a day` or `pages a second`."""
    limit: float
    used: float | None
    """Null if it is not counted."""


class Politeness(Struct, frozen=True, kw_only=True):
    """How politely the crawl visits its hosts."""

    shortest_delay: float | None
    """The shortest courtesy delay of the hosts with work, in seconds; null without hosts. At most
    100 hosts are read."""
    longest_delay: float | None
    strained: int
    """Those of these hosts whose delay is doubled because the server seemed overloaded."""
    busy: int
    """Responses 429, or 503 with Retry-After, since the beginning of the crawl."""
    robots_excluded: int
    """URLs that robots.txt excluded since the beginning of the crawl."""
    backing_off: int
    """Hosts that back off now."""


class Overview(Struct, frozen=True, kw_only=True):
    """The overview of a crawl."""

    at: float
    """When it was read, in epoch seconds."""
    crawl: str
    """The name of the folder or of the fleet."""
    is_running: bool | None
    """Whether a crawl runs in the folder; null for a fleet."""
    answer: str
    """What the crawl does, and its limit, in one or two sentences."""
    limit: Limit
    pages: int
    received: int
    """Bytes."""
    queued: int
    admitted: int
    rate: float
    """Pages a second, of this hour, or of this hour and the one before."""
    seconds_left: float
    """Seconds until all queued URLs are fetched, if none is added; 0 without any."""
    hours: tuple[Hour, ...]
    """The hours of the last day, the oldest first. Hours without a page are missing."""
    conditions: dict[str, int]
    """Condition → hosts."""
    politeness: Politeness
    outcomes: dict[str, int]
    """Outcome → visits."""
    dead_letters: int
    failed: int
    """Visits that failed."""
    failures: tuple[Failure, ...]
    """The most frequent few, of visits and of refused URLs."""
    expected_freshness: float | None
    """The expected share of copies that equal their pages, by weight; null if it is not known."""
    expected_age: float | None
    """The expected mean age of copies, in seconds; null if it is not known."""
    lags: tuple[GroupLag, ...]
    budgets: tuple[BudgetUse, ...]
    problems: tuple[Problem, ...]
    """What needs attention most comes first."""


def read_overview(
    crawl: OpenCrawl, times: LagTimes | None = None, now: float | None = None
) -> Overview:
    """Return the overview of *crawl* at the time *now*; None: at present.

    *times*: the lags over time, if the caller samples them. Without them all lags have no seconds.
    """
    now = clock.now() if now is None else now
    workload = read_workload(crawl, now, {crawl.id})
    return make_overview(read_status(crawl), workload, times, now)


def make_overview(
    status: CrawlStatus, workload: Workload, times: LagTimes | None, now: float
) -> Overview:
    """Return the overview of a crawl with this *status* and *workload* at the time *now*."""
    progress = status.progress
    rate = _rate(progress, status.definition, now)
    lags = times.lags() if times else _lags_of(progress)
    budgets = tuple(_budgets(status, workload, rate))
    if reached := _find_reached_limit(budgets):
        limit, left = Limit(LimitKind.BUDGET, reached), 0.0
    elif status.idle or status.is_running is False:
        limit, left = Limit(LimitKind.NOTHING), 0.0
    else:
        limit = find_limit(progress, workload)
        left = seconds_left(progress, workload, rate)
    return view_of(
        Overview,
        status,
        progress,
        progress.revisiting,
        at=now,
        answer=_answer(status, workload, limit, rate, left),
        limit=limit,
        pages=progress.pages,
        rate=rate,
        seconds_left=left,
        hours=tuple(_last_hours(progress, now)),
        politeness=_politeness(progress, workload),
        failed=sum(progress.outcomes[outcome] for outcome in FAILURES),
        failures=status.failures[:MAX_FAILURES],
        lags=lags,
        budgets=budgets,
        problems=tuple(_problems(status, lags, budgets)),
    )


def _last_hours(progress: Progress, now: float) -> Iterator[Hour]:
    """Yield the hours of the last day. After a pause the frontier still has older ones."""
    for hour in sorted(map(int, progress.hours)):
        if (hour + 1) * HOUR > now - DAY:
            yield Hour(hour * HOUR, *progress.hours[str(hour)])


def _rate(progress: Progress, definition: CrawlDefined | None, now: float) -> float:
    """Return pages a second: of the present hour, and of the hour before if the present one has
    just begun. If all pages are of these hours, the time counts from the crawl's definition."""
    hour, elapsed = divmod(now, HOUR)
    pages = sum(progress.hours.get(str(int(hour)), ()))
    before = sum(progress.hours.get(str(int(hour) - 1), ()))
    if elapsed < MIN_RATE_TIME and before:
        pages, elapsed = pages + before, elapsed + HOUR
    if definition and pages == sum(map(sum, progress.hours.values())):
        elapsed = min(elapsed, max(now - definition.at, MIN_NEW_TIME))
    return pages / max(elapsed, 1.0)


def _lags_of(progress: Progress) -> tuple[GroupLag, ...]:
    """Return the lags in records alone."""
    return tuple(
        GroupLag(service=service, topic=topic, records=records, seconds=None)
        for service, topics in sorted(progress.lags.items())
        for topic, records in topics.items()
    )


def _answer(status: CrawlStatus, workload: Workload, limit: Limit, rate: float, left: float) -> str:
    progress = status.progress
    if status.idle:
        return f"Nothing is fetched: {status.idle}."
    counted = f"{plural(progress.pages, 'page')}, {size(progress.received)}"
    if status.is_running is False:
        if not progress.queued:
            return f"No crawl runs in this folder: {counted}."
        queued = f"{counted}, {plural(progress.queued, 'URL')} queued"
        return f"No crawl runs in this folder: {queued}. Run gossamer crawl to continue it."
    if not progress.queued and not workload.hosts:
        parked = status.parked_urls
        has_more = progress.due_count or progress.revisiting.active or any(progress.lag.values())
        is_done = parked and not has_more
        rest = f"Nothing but {plural(parked, 'parked URL')} is left" if is_done else NOTHING_QUEUED
        return f"{rest}: {counted}."
    remaining = f", {about(left)} left" if left else ""
    text = f"{number(rate)} pages/s, {plural(progress.queued, 'URL')} queued{remaining}."
    return f"{text} {limit.text[:1].upper()}{limit.text[1:]}." if limit.text else text


def _politeness(progress: Progress, workload: Workload) -> Politeness:
    delays = [host.delay for host in workload.hosts if host.delay]
    return Politeness(
        shortest_delay=min(delays, default=None),
        longest_delay=max(delays, default=None),
        strained=sum(host.strain > 0 for host in workload.hosts),
        busy=progress.outcomes[Outcome.BUSY],
        robots_excluded=progress.hazards[Hazard.ROBOTS_EXCLUDED],
        backing_off=progress.conditions[Condition.BACKING_OFF],
    )


def _budgets(status: CrawlStatus, workload: Workload, rate: float) -> Iterator[BudgetUse]:
    definition = status.definition
    if definition and definition.max_pages:
        used = max(0, status.progress.pages - definition.pages_before)
        yield BudgetUse(PAGE_BUDGET, definition.max_pages, used)
    if definition and definition.budget:
        yield BudgetUse("visits a day", definition.budget, None)
    if workload.speed is not None:
        yield BudgetUse("pages a second", workload.speed, rate)


def _find_reached_limit(budgets: tuple[BudgetUse, ...]) -> str:
    """Return that the page limit is reached; "" if it is not."""
    for budget in budgets:
        if budget.name == PAGE_BUDGET and (budget.used or 0.0) >= budget.limit:
            return f"the limit of {plural(round(budget.limit), 'page')} is reached"
    return ""


def _problems(
    status: CrawlStatus, lags: tuple[GroupLag, ...], budgets: tuple[BudgetUse, ...]
) -> Iterator[Problem]:
    progress = status.progress
    if status.idle:
        yield Problem(ProblemKind.IDLE, f"Nothing is fetched: {status.idle}.")
    if letters := progress.dead_letters:
        text = f"{plural(letters, 'dead letter')}: records that no service could process."
        yield Problem(ProblemKind.DEAD_LETTERS, text)
    for one in status.buffers:
        if one.fault:
            files = f"{plural(one.files, 'file')}, {size(one.bytes)}, wait"
            text = f"Archive {one.writer}: {one.fault}; {files}."
            yield Problem(ProblemKind.ARCHIVE, text, one.writer)
    for lag in lags:
        # Nothing is consumed in a folder where no crawl runs.
        if status.is_running is not False and lag.seconds is not None and lag.seconds >= MAX_LAG:
            least = "at least " if lag.is_at_least else ""
            behind = f"{least}{duration(lag.seconds)} behind on {lag.topic}"
            text = f"{lag.service} is {behind} ({plural(lag.records, 'record')})."
            yield Problem(ProblemKind.LAG, text, lag.service)
    if parked := parked_text(status.parked, in_fleet=status.parked_urls * status.fleet):
        yield Problem(ProblemKind.PARKED, f"Parked: {parked}.")
    if reached := _find_reached_limit(budgets):
        yield Problem(ProblemKind.BUDGET, f"{reached[:1].upper()}{reached[1:]}.")
    visits = sum(progress.outcomes[outcome] for outcome in Outcome)
    for outcome in FAILURES:
        count = progress.outcomes[outcome]
        if visits >= MIN_VISITS and count >= MIN_FAILED_SHARE * visits:
            label = outcome_label(outcome)
            text = f"{100 * count / visits:.0f} % of the visits ended with: {label}."
            yield Problem(ProblemKind.FAILURES, text, label)
