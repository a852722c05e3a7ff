"""The conditions of all crawls: read from log and store, and measured for the rules."""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date, timedelta

from msgspec import Struct

from gossamer.console.notifications.rules import Sample
from gossamer.events import FLEET, CrawlDefined, NoticeRaised
from gossamer.inspection.basics.figures import instant, percent, plural
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.progress.freshness import DayFreshness, read_freshness
from gossamer.inspection.progress.progress import CrawlTotals, read_progress
from gossamer.inspection.progress.workload import read_lost_hosts
from gossamer.policies import NEVER
from gossamer.settings import NotifySettings
from gossamer.web.url import HostKey

BASELINE_DAYS = 7
"""Days whose best freshness is the baseline."""
SOON = 3600.0
"""Seconds. While a waiting host or URL is due before this time, no crawl is finished."""
SETTLE_SECONDS = 300.0
"""Seconds without a change after which nothing of a crawl is in flight."""
MAX_NAMED_HOSTS = 5
"""Hosts in the text of a notice."""
Last = Callable[[str, str], NoticeRaised | None]
"""Returns the last notice of a rule about a crawl."""


class CrawlState(Struct, frozen=True, kw_only=True):
    """The state of one crawl."""

    crawl: str
    pages: int
    is_finished: bool
    """Whether nothing is left to fetch within the hour."""
    due_at: float | None
    """When the next host or URL is due that waits; None without any."""
    page_limit: int
    """Pages at which the crawl ends; 0 without a limit."""
    freshness: tuple[float, ...] = ()
    """The expected freshness of the last `BASELINE_DAYS` days and of today, as far as it is known.
    The newest is last."""


class Situation(Struct, frozen=True, kw_only=True):
    """The state of all crawls."""

    crawls: tuple[CrawlState, ...] = ()
    dead_letters: int = 0
    lost: tuple[str, ...] = ()
    """Keys of lost hosts."""


class Sampler:
    """Reads the state of all crawls from time to time."""

    def __init__(self, settings: NotifySettings) -> None:
        self._settings = settings
        self._unchanged: dict[str, tuple[tuple[int, int, int], float]] = {}
        """Crawl → its totals, and since when they have not changed."""

    def read(self, crawl: OpenCrawl, lost_before: Collection[HostKey], now: float) -> Situation:
        """Return the state of all crawls at *now*, except removed ones. *lost_before* are the hosts
        of the last notice."""
        definitions = {id: one for id, one in crawl.crawls().items() if not one.removed}
        progress = read_progress(crawl, definitions)
        is_settled = progress.is_drained and not crawl.fleet
        # Waiting hosts and URLs are not counted by crawl.
        due_at = progress.next_due_at if len(definitions) == 1 else None
        weeks = -(-(BASELINE_DAYS + 1) // 7)
        states = list[CrawlState]()
        for id, definition in definitions.items():
            totals = progress.crawls[id]
            # While other crawls are busy, only time shows that nothing of this one is in flight. In
            # a fleet totals and lags are read one after the other.
            is_still = self._seconds_unchanged(id, totals, now) >= SETTLE_SECONDS or is_settled
            days = read_freshness(crawl.of(id), weeks, now)
            states.append(state_of(definition, totals, due_at, is_still, days, now))
        return Situation(
            crawls=tuple(states),
            dead_letters=progress.dead_letters,
            lost=tuple(read_lost_hosts(crawl, self._settings.host_failures, lost_before)),
        )

    def _seconds_unchanged(self, crawl: str, totals: CrawlTotals, now: float) -> float:
        counts = totals.admitted, totals.pages, totals.queued
        before, since = self._unchanged.get(crawl, (None, now))
        if counts != before:
            since = now
        self._unchanged[crawl] = counts, since
        return now - since


def state_of(
    definition: CrawlDefined,
    totals: CrawlTotals,
    due_at: float | None,
    is_still: bool,
    days: Sequence[DayFreshness],
    now: float,
) -> CrawlState:
    """Return the state of a crawl with these *totals*.

    *due_at*: when the next waiting host or URL is due, if the crawl is the only one. *is_still*:
    whether nothing of the crawl is in flight. *days*: its days of the last weeks, the oldest first.
    """
    has_revisits = definition.revisit != NEVER and totals.revisiting.planned
    is_waiting = due_at is not None and due_at <= now + SOON
    has_more = totals.queued or totals.revisiting.waiting or has_revisits or is_waiting
    known = [one for one in days if one.expected_freshness is not None]
    first = ""
    if known:
        first = (date.fromisoformat(known[-1].day) - timedelta(BASELINE_DAYS)).isoformat()
    return CrawlState(
        crawl=definition.crawl,
        pages=totals.pages,
        is_finished=bool(totals.admitted) and is_still and not has_more,
        due_at=due_at,
        page_limit=definition.page_limit,
        freshness=tuple(one.expected_freshness or 0.0 for one in known if one.day >= first),
    )


def measure(situation: Situation, settings: NotifySettings, last: Last) -> Iterator[Sample]:
    """Yield a sample for each condition whose rule is on."""
    found: list[Sample | None] = [
        _measure_lost_hosts(situation),
        _measure_letters(situation, settings, last),
    ]
    for state in situation.crawls:
        found.append(_measure_end(state))
        found.append(_measure_freshness(state, settings, last("freshness_dropped", state.crawl)))
        found.append(_measure_pages(state))
    yield from (sample for sample in found if sample and sample.rule in settings.rules)


def _measure_end(state: CrawlState) -> Sample:
    waits = ""
    if state.due_at is not None:
        waits = f" Hosts or URLs wait; the first is due at {instant(state.due_at)}."
    return Sample(
        rule="crawl_finished",
        crawl=state.crawl,
        value=float(state.is_finished),
        begin=1.0,
        text=f"Crawl {state.crawl} is finished: {plural(state.pages, 'page')}.{waits}",
        text_over=f"Crawl {state.crawl} has URLs to fetch again.",
    )


def _measure_lost_hosts(situation: Situation) -> Sample:
    lost = situation.lost
    named = ", ".join(lost[:MAX_NAMED_HOSTS])
    if len(lost) > MAX_NAMED_HOSTS:
        named += f" and {plural(len(lost) - MAX_NAMED_HOSTS, 'other host')}"
    verb = "is" if len(lost) == 1 else "are"
    return Sample(
        rule="host_lost",
        crawl=FLEET,
        value=float(len(lost)),
        begin=1.0,
        subjects=lost,
        text=f"{plural(len(lost), 'host')} {verb} lost: {named}.",
        text_over="No host is lost any more.",
    )


def _measure_freshness(
    state: CrawlState, settings: NotifySettings, before: NoticeRaised | None
) -> Sample | None:
    if len(state.freshness) < 2:
        return None
    *earlier, current = state.freshness
    # While the condition lasts, bad days do not become the baseline.
    baseline = before.baseline if before and not before.is_over else max(earlier)
    return Sample(
        rule="freshness_dropped",
        crawl=state.crawl,
        value=baseline - current,
        begin=settings.freshness_drop,
        end=settings.freshness_drop / 2,
        baseline=baseline,
        text=f"The expected freshness of crawl {state.crawl} dropped from {percent(baseline)} to "
        f"{percent(current)}.",
        text_over=f"The expected freshness of crawl {state.crawl} is {percent(current)} again.",
    )


def _measure_letters(situation: Situation, settings: NotifySettings, last: Last) -> Sample:
    count, before = situation.dead_letters, last("dead_letters", FLEET)
    new = count - int(before.baseline) if before and before.baseline <= count else count
    return Sample(
        rule="dead_letters",
        crawl=FLEET,
        value=float(new),
        begin=float(settings.dead_letters),
        baseline=float(count),
        text=f"{plural(new, 'new dead letter')}, {count:,} in all: records that no service could "
        "process.",
    )


def _measure_pages(state: CrawlState) -> Sample | None:
    limit = float(state.page_limit)
    if not limit:
        return None
    return Sample(
        rule="budget_spent",
        crawl=state.crawl,
        value=float(state.pages),
        begin=limit,
        text=f"Crawl {state.crawl} has reached its limit of {plural(state.page_limit, 'page')}.",
        text_over=f"Crawl {state.crawl} has a larger limit of pages.",
    )
