"""One run: from the request to the report."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from msgspec.structs import replace

from gossamer import clock
from gossamer.crawl import CrawlRequest, define, last_definition
from gossamer.errors import GossamerError
from gossamer.events import CrawlDefined, SeedAdded
from gossamer.log.codec import encode
from gossamer.policies import NEVER
from gossamer.runtime.identity import identify
from gossamer.settings import Settings
from gossamer.telemetry import set_gauge
from standalone.folder import Folder, Opened
from standalone.metrics import serve_metrics
from standalone.processes import Child, ChildConfig, start_children
from standalone.progress import End, Progress, last_epoch, read_progress, takes_up

INTERVAL = 0.25
"""Seconds between two looks at how the crawl stands."""
STOP_LIMIT, JOIN = 30.0, 0.05
"""Seconds for all children to stop by themselves, and to wait for one at a time."""

Show = Callable[[Progress, str], None]
"""Takes how the crawl stands, and a notice for the person who waits for it to stop."""


@dataclass
class Run:
    """A run under way."""

    settings: Settings
    opened: Opened
    crawl: CrawlDefined
    max_time: float
    started_at: float
    interrupts: int = 0
    ending: End | None = None
    progress: Progress = field(default_factory=Progress)
    """How the crawl stood when the database last changed."""
    has_more: bool = True
    """Whether more was to do then, now or later, than to wait for a time."""
    version: tuple[int, int] | None = None
    """Which state of the database these two are of."""

    def look(self, now: float) -> End | None:
        """Bring `progress` up to date; return why the crawl has ended, if it has."""
        if version := self.opened.database.changed_since(self.version):
            self.version, self.progress = version, read_progress(self.opened)
            self.has_more = not self.progress.drained or takes_up(self.opened, self.crawl)
        if self.interrupts > 1:
            return End.KILLED
        if self.ending is None:
            self._limits(now)
        if self.ending:
            return self.ending if self.progress.drained else None
        return self._natural_end(now)

    def _limits(self, now: float) -> None:
        if self.interrupts:
            self._pause(End.INTERRUPTED, now)
        elif self.max_time and now - self.started_at >= self.max_time:
            self._pause(End.TIME, now)

    def _pause(self, why: End, now: float) -> None:
        self.ending = why
        self.opened.log.append([encode(replace(self.crawl, at=now, paused=True))])

    def _natural_end(self, now: float) -> End | None:
        if self.has_more:
            return None
        crawl, progress = self.crawl, self.progress
        if crawl.max_pages and progress.pages >= crawl.pages_before + crawl.max_pages:
            return End.PAGES
        due_at, until = progress.next_due_at, now + self.settings.standalone.patience
        soon = due_at is not None and due_at <= until
        if progress.active or soon or (crawl.revisit != NEVER and progress.revisiting.planned):
            return None
        return End.WAITING if progress.due_count else End.DONE


def run_crawl(
    settings: Settings,
    folder: Folder,
    request: CrawlRequest,
    max_time: float,
    show: Show,
    metrics_port: int | None = None,
) -> tuple[End, Progress]:
    """Crawl in *folder* until an end; return which, and how the crawl stands then.

    Raise GossamerError when it cannot begin, or a child has died.
    """
    if not folder.database.exists():
        # What makes no sense is refused before anything is made.
        define(request, None, 0, clock.now())
    children = start_children()
    try:
        with serve_metrics(metrics_port, children):
            folder.make()
            folder.claim()
            opened = Opened(folder)
            opened.database.check()
            identify(opened.log, opened.store, clock.now())
            run = _prepare(settings, opened, request, max_time)
            with _interrupts(run):
                return _run(run, children, show), read_progress(opened)
    finally:
        for child in children:
            child.kill()


def _run(run: Run, children: list[Child], show: Show) -> End:
    opened, settings = run.opened, run.settings
    config = ChildConfig(
        settings, opened.folder, last_epoch(opened), logs_to_file=not settings.logs.json_lines
    )
    for child in children:
        child.begin(config)
    return _stop(run, children, _watch(run, children, show))


def _prepare(settings: Settings, opened: Opened, request: CrawlRequest, max_time: float) -> Run:
    before, now = last_definition(opened.log), clock.now()
    crawl = define(request, before, read_progress(opened).pages, now)
    added = [SeedAdded(at=now, url=seed) for seed in request.seeds]
    opened.log.append([encode(event) for event in (crawl, *added)])
    return Run(settings, opened, crawl, max_time, now)


def _watch(run: Run, children: list[Child], show: Show) -> End:
    while True:
        if end := run.look(clock.now()):
            return end
        for child in children:
            if why := child.failure():
                raise GossamerError(why)
        for topic, records in run.progress.lag.items():
            set_gauge("gossamer_consumer_lag", records, topic=topic)
        show(run.progress, _notice(run))
        clock.pause(INTERVAL)


def _notice(run: Run) -> str:
    if run.ending is None:
        return ""
    waiting = sum(run.progress.lag.values())
    return (
        f"{run.ending.value}: finishing what is under way (hosts: {run.progress.checked_out}, "
        f"records: {waiting}); Ctrl-C again to stop at once"
    )


@contextmanager
def _interrupts(run: Run) -> Iterator[None]:
    """Count interrupts (Ctrl-C, SIGTERM) for *run*; ignore later ones once it was interrupted."""

    def count(number: int, frame: FrameType | None) -> None:
        run.interrupts += 1

    before = {number: signal.signal(number, count) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            # Python's handler raises KeyboardInterrupt anywhere, also in a finalizer, which prints
            # a traceback and loses the interrupt. Only the short report is left to do.
            signal.signal(number, signal.SIG_IGN if run.interrupts else handler)


def _stop(run: Run, children: list[Child], end: End) -> End:
    """Stop the children, in good order unless a second Ctrl-C comes: then return KILLED."""
    if end is not End.KILLED:
        for child in children:
            child.stop()
        until = clock.steady() + STOP_LIMIT
        while not all([child.join(JOIN) for child in children]) and clock.steady() < until:
            if run.interrupts > 1:
                end = End.KILLED
                break
    for child in children:
        child.kill()
    return end
