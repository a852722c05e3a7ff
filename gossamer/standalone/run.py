"""One run of the crawls of a folder: starts the processes, watches them, and stops them."""

import os
import select
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from types import FrameType

from msgspec.structs import replace

from gossamer import clock
from gossamer.changes.commit import record_change
from gossamer.changes.plan import ChangeRequest, Effect, Plan
from gossamer.changes.seeds import definition_setting
from gossamer.crawl import (
    CrawlRequest,
    active_of,
    are_all_paused,
    check_number,
    define,
    definitions_of,
    longest_share,
)
from gossamer.errors import GossamerError
from gossamer.events import CrawlDefined, Event, FleetPaused, SeedAdded
from gossamer.events.hazards import Hazard
from gossamer.inspection.basics.archives import read_buffers
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.inspection.crawls.erasures import count_erased_parts, has_unfinished_erasure
from gossamer.inspection.progress.progress import (
    End,
    Progress,
    has_parked_to_evaluate,
    has_rows_to_drop,
    last_epoch,
    read_progress,
)
from gossamer.inspection.progress.workload import Workload, next_visit_at, read_workload
from gossamer.log.blobs import DAY, HOUR, KEPT, remove_kept, remove_leftovers
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.policies import NEVER
from gossamer.rules import identify_rules
from gossamer.runtime.identity import check_topics, identify
from gossamer.settings import Settings
from gossamer.standalone.metrics import serve_metrics
from gossamer.standalone.processes import Beside, Child, ChildConfig, start_children
from gossamer.telemetry import set_gauge

INTERVAL = 0.25
"""Seconds between two checks of the progress."""
WORKLOAD_INTERVAL = 2.0
"""Seconds between two readings of the workload."""
STOP_LIMIT = 30.0
"""Seconds for all children to stop by themselves."""
OPTIONAL_STOP_LIMIT = 3.0
"""Seconds for a child to stop that is not part of the crawl."""
JOIN_TIMEOUT = 0.05
"""Seconds to wait for one child at a time."""

Show = Callable[[Progress, Callable[[], Workload], str], None]
"""Shows the progress, the workload, which the second argument reads, and a notice."""
ALL_PAUSED = "all crawls are paused: resume one in the console, or press Ctrl-C to end"


@dataclass
class Run:
    """A run that has not ended."""

    settings: Settings
    opened: Opened
    crawls: dict[str, CrawlDefined]
    """The active crawls by id. Others may pause, change or add crawls during the run."""
    max_time: float
    started_at: float
    visited: dict[str, CrawlDefined] = field(default_factory=dict)
    """The crawls that were active at any time of the run, whose progress is reported."""
    has_console: bool = False
    """Whether paused crawls can be resumed in the console of the run."""
    paused: frozenset[str] = frozenset()
    """The crawls of the folder that are paused."""
    rule_failures: int | None = None
    """Pages on which rules had failed before the run; None if the run goes on when one fails."""
    interrupts: int = 0
    input: int | None = None
    """The descriptor of a pipe from the program that started the run, which ends with it; None if
    there is none, or it is closed."""
    ending: End | None = None
    progress: Progress = field(default_factory=Progress)
    """The progress when the database last changed."""
    has_more: bool = True
    """Whether records, parked URLs or erasures waited when the database last changed."""
    next_at: float | None = None
    """When a URL could be visited next, unless `has_more`. None if no URL waited."""
    version: tuple[int, int] | None = None
    """The version of the database that `progress`, `has_more` and `next_at` were read from."""
    workload: Workload = field(default_factory=Workload)
    workload_at: float = 0.0
    """When `workload` was read."""
    workload_version: tuple[int, int] | None = None
    """The version of the database that `workload` was read from."""
    erased: tuple[int, int] = (0, 0)
    """Parts of erasures that services had begun and completed when the database last changed."""
    kept_removed_at: float = 0.0
    """When the captures were last removed that no crawl may take any more."""
    warning: str = ""
    """Why the server beside the crawl has ended; "" if it runs, or if there is none."""

    def update(self, now: float) -> End | None:
        """Update `progress`; return why the crawl has ended, or None if it goes on."""
        if version := self.opened.database.newer_version(self.version):
            self.version, definitions = version, definitions_of(self.opened.log)
            self.crawls = active_of(definitions)
            self.paused = frozenset(
                name for name, crawl in definitions.items() if crawl.paused and not crawl.removed
            )
            self.visited |= self.crawls
            self.progress = read_progress(self.opened, self.visited)
            self._forget_searched()
            self.has_more = (
                not self.progress.is_drained
                or any(has_rows_to_drop(self.opened, crawl) for crawl in definitions.values())
                or any(has_parked_to_evaluate(self.opened, crawl) for crawl in self.crawls.values())
                or has_unfinished_erasure(self.opened.store)
            )
            unlimited = [crawl.crawl for crawl in self._unlimited_crawls()]
            self.next_at = None if self.has_more else next_visit_at(self.opened, unlimited, now)
        if self.interrupts > 1:
            return End.KILLED
        if self.ending is None:
            self._check_limits(now)
        if self.ending:
            return self.ending if self.progress.is_drained else None
        end = self._natural_end(now)
        # Between two of the reads, the last waiting URL may have become a page to be parsed. Only
        # reads of one state of the database show that nothing is left.
        return None if end and self.opened.database.newer_version(self.version) else end

    def check_input(self) -> None:
        """Interrupt the run, once, if the program that started it has closed its pipe or died."""
        if self.input is not None and _is_closed(self.input):
            self.input = None
            self.interrupts += 1

    def _forget_searched(self) -> None:
        """Remove the index of searches when an erasure has advanced: it may have erased texts. The
        next search builds it again."""
        if (erased := count_erased_parts(self.opened.store)) != self.erased:
            self.erased = erased
            self.opened.folder.search.unlink(missing_ok=True)

    def _check_limits(self, now: float) -> None:
        if self.interrupts:
            self._pause(End.INTERRUPTED, now)
        elif self.rule_failures is not None and (
            self.progress.hazards[Hazard.RULE_FAILED] > self.rule_failures
        ):
            self._pause(End.RULES, now)
        elif self.max_time and now - self.started_at >= self.max_time:
            self._pause(End.TIME, now)

    def _pause(self, reason: End, now: float) -> None:
        self.ending = reason
        # Not each crawl: the next run could not tell which of them an operator has paused.
        self.opened.log.append([encode(FleetPaused(at=now, paused=True))])

    def remove_kept(self, now: float) -> None:
        """Remove the captures that no crawl may take any more, once an hour."""
        if abs(now - self.kept_removed_at) < HOUR:
            return
        self.kept_removed_at = now
        if (self.opened.folder.blobs / KEPT).exists():
            log = self.opened.log
            remove_kept(self.opened.folder.open_blobs(), now - longest_share(log))

    def read_workload(self) -> Workload:
        """Return the workload, read again after WORKLOAD_INTERVAL if the database has changed."""
        is_old = abs((now := clock.now()) - self.workload_at) >= WORKLOAD_INTERVAL
        if is_old and self.workload_version != self.version:
            self.workload_at, self.workload_version = now, self.version
            crawls = [crawl.crawl for crawl in self._unlimited_crawls()]
            self.workload = read_workload(self.opened, now, crawls)
        return self.workload

    def _natural_end(self, now: float) -> End | None:
        if self.has_more:
            return None
        if not self.crawls and self.paused and self.has_console:
            return None
        unlimited = self._unlimited_crawls()
        if any(map(self._has_revisits, unlimited)):
            return None
        patience = self.settings.standalone.patience
        if self.next_at is not None and self.next_at <= now + patience:
            return None
        if len(unlimited) < len(self.crawls):
            return End.PAGES
        if self._has_paused_work(now):
            return End.PAUSED
        return End.DONE if self.next_at is None else End.WAITING

    def _has_paused_work(self, now: float) -> bool:
        """Return whether a crawl that was paused during the run has URLs to visit."""
        paused = self.paused & self.visited.keys()
        has_revisits = any(self.progress.crawls[crawl].revisiting.active for crawl in paused)
        return has_revisits or next_visit_at(self.opened, paused, now) is not None

    def _unlimited_crawls(self) -> list[CrawlDefined]:
        """Return the active crawls that have not reached their page limits."""
        return [crawl for crawl in self.crawls.values() if not self._is_at_limit(crawl)]

    def _is_at_limit(self, crawl: CrawlDefined) -> bool:
        pages = self.progress.crawls[crawl.crawl].pages
        return 0 < crawl.page_limit <= pages

    def _has_revisits(self, crawl: CrawlDefined) -> bool:
        revisiting = self.progress.crawls[crawl.crawl].revisiting
        # The frontier replans the pages of a finished crawl after its policy has changed.
        is_replanned = revisiting.policy == crawl.revisit
        return crawl.revisit != NEVER and bool(revisiting.planned or not is_replanned)


def run_crawl(
    settings: Settings,
    folder: Folder,
    request: CrawlRequest | None,
    change: ChangeRequest,
    max_time: float,
    show: Show,
    metrics_port: int | None = None,
    beside: Beside | None = None,
    profile: str | None = None,
    input: int | None = None,
) -> tuple[End, Progress]:
    """Run all active crawls of *folder* until the run ends; return why it ended, and the progress.

    *request* defines or changes one of them, unless it is None; *change* says who asks. *beside* is
    a server that runs with the crawl. *folder* remembers *profile*, unless it is None. The run is
    interrupted when the pipe with the descriptor *input* is closed. Raise GossamerError if the run
    cannot start, or a child process of the crawl fails.
    """
    if request and not folder.database.exists():
        # An invalid request is refused before any file is written.
        define(request, None, 0, clock.now())
    _use_suffix_list(folder)
    children = start_children(beside)
    try:
        with serve_metrics(metrics_port, children):
            folder.make()
            folder.lock()
            opened = Opened(folder)
            opened.database.check()
            identify(opened.log, opened.store, clock.now())
            _remove_leftovers(opened)
            run = prepare_run(settings, opened, request, change, max_time, beside is not None)
            if profile is not None:
                folder.set_profile(profile)
            run.input = input
            with _count_interrupts(run):
                return _run(run, children, show), read_progress(opened, run.visited)
    finally:
        for child in children:
            child.kill()


def _use_suffix_list(folder: Folder) -> None:
    """Use the suffix list that the crawl was begun with. Children that start later inherit it."""
    if folder.database.exists():
        opened = folder.open()
        with closing(opened.database):
            check_topics(opened.log)


def _remove_leftovers(opened: Opened) -> None:
    """Remove blobs without a record, which a killed run left behind."""
    if opened.folder.blobs.exists():
        log = SqliteLog(opened.database, blobs=opened.folder.open_blobs())
        # The folder is locked, so that no fetcher is about to append a record.
        remove_leftovers(log, clock.now() + 2 * DAY)


def _run(run: Run, children: list[Child], show: Show) -> End:
    opened, settings = run.opened, run.settings
    config = ChildConfig(
        settings, opened.folder, last_epoch(opened), logs_to_file=not settings.logs.json_lines
    )
    for child in children:
        child.configure(config)
    return _stop(run, children, _watch(run, children, show))


def prepare_run(
    settings: Settings,
    opened: Opened,
    request: CrawlRequest | None,
    change: ChangeRequest,
    max_time: float,
    has_console: bool,
) -> Run:
    """Define or change the crawl of *request*, add its seeds, and return the run.

    A change of a crawl that exists is recorded on `audit`. Raise GossamerError if the request is
    invalid, or if no crawl is active.
    """
    now, definitions = clock.now(), definitions_of(opened.log)
    plan = _plan(opened, request, definitions, now) if request else None
    events = [event for event in plan.items if isinstance(event, Event)] if plan else []
    renewed = {**definitions, **{one.crawl: one for one in events if isinstance(one, CrawlDefined)}}
    for crawl in active_of(renewed).values():
        # Rules may have been edited since the crawl was defined.
        if (identified := identify_rules(crawl)) != crawl:
            renewed[crawl.crawl] = replace(identified, at=now)
            events.append(renewed[crawl.crawl])
    if are_all_paused(opened.log):
        events.append(FleetPaused(at=now, paused=False))
    crawls = active_of(renewed)
    if not crawls and not any(has_rows_to_drop(opened, crawl) for crawl in definitions.values()):
        raise GossamerError(
            f"{opened.folder.path} has no active crawl: gossamer crawls list shows all crawls, and "
            "gossamer crawls resume ID continues a paused one"
        )
    if plan and any(before for before, _ in plan.settings):
        record_change(opened.log, plan, change, now)
    opened.log.append([encode(event) for event in events])
    failures = read_progress(opened, crawls).hazards[Hazard.RULE_FAILED]
    return Run(
        settings,
        opened,
        crawls,
        max_time,
        now,
        has_console=has_console,
        rule_failures=failures if settings.standalone.rules_strict else None,
    )


def _plan(
    opened: Opened, request: CrawlRequest, definitions: Mapping[str, CrawlDefined], now: float
) -> Plan:
    check_number(request.crawl, definitions)
    before = definitions.get(request.crawl)
    pages = read_progress(opened, [request.crawl]).pages
    seeds = [SeedAdded(crawl=request.crawl, at=now, url=seed) for seed in request.seeds]
    return Plan(
        action="apply",
        subject=request.crawl,
        crawl=request.crawl,
        settings=definition_setting(before, define(request, before, pages, now), now),
        requests=seeds,
        effect=Effect(text=f"Crawl {request.crawl} is changed by its new run."),
    )


def _watch(run: Run, children: list[Child], show: Show) -> End:
    while True:
        run.check_input()
        if end := run.update(now := clock.now()):
            return end
        run.remove_kept(now)
        for child in children:
            if reason := child.failure():
                if not child.is_optional:
                    raise GossamerError(reason)
                run.warning, run.has_console = run.warning or reason, False
        for topic, records in run.progress.lag.items():
            set_gauge("gossamer_consumer_lag", records, topic=topic)
        show(run.progress, run.read_workload, _notice(run))
        clock.pause(INTERVAL)


def _is_closed(pipe: int) -> bool:
    """Return whether nobody can write to *pipe* any more. What was written is skipped."""
    while select.select([pipe], [], [], 0)[0]:
        if not os.read(pipe, select.PIPE_BUF):
            return True
    return False


def _notice(run: Run) -> str:
    faults = [buffer.fault for buffer in read_buffers(run.opened.store) if buffer.fault]
    if run.ending is None:
        paused = "" if run.crawls or not run.paused else ALL_PAUSED
        return faults[0] if faults else run.warning or paused
    waiting = sum(run.progress.lag.values())
    return (
        f"{run.ending.value}: finishing visits and records in flight "
        f"(hosts: {run.progress.checked_out}, records: {waiting}); Ctrl-C again stops at once"
    )


@contextmanager
def _count_interrupts(run: Run) -> Iterator[None]:
    """Count interrupts (Ctrl-C, SIGTERM) for *run*; ignore later ones once it was interrupted."""

    def count(number: int, frame: FrameType | None) -> None:
        run.interrupts += 1

    before = {number: signal.signal(number, count) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            # Python's handler raises KeyboardInterrupt anywhere, also in a finalizer, which prints
            # a traceback and loses the interrupt. Only the short report remains to be printed.
            signal.signal(number, signal.SIG_IGN if run.interrupts else handler)


def _stop(run: Run, children: list[Child], end: End) -> End:
    """Stop the children in good order, or kill them and return KILLED at a second Ctrl-C."""
    if end is not End.KILLED:
        for child in children:
            child.stop()
        began_at = clock.steady()
        while running := [child for child in children if not child.join(JOIN_TIMEOUT)]:
            is_optional = all(child.is_optional for child in running)
            limit = OPTIONAL_STOP_LIMIT if is_optional else STOP_LIMIT
            if clock.steady() >= began_at + limit:
                break
            if run.interrupts > 1:
                end = End.KILLED
                break
    for child in children:
        child.kill()
    return end
