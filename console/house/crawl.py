"""One run: from the wish to the report."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from types import FrameType

from msgspec.structs import replace

from console.house.children import KINDS, Brief, Child
from console.house.definition import Wish, define, last_definition
from console.house.folder import Folder, Opened
from console.house.progress import Progress, last_epoch, read_progress
from gossamer import clock
from gossamer.codec import encode
from gossamer.config import Settings
from gossamer.errors import GossamerError
from gossamer.events import CrawlDefined, SeedSown

LOOK = 0.25
"""Seconds between two looks at how the crawl stands."""
FAREWELL, JOIN = 30.0, 0.05
"""Seconds for the children to end by themselves, and to wait for one at a time."""

Show = Callable[[Progress, str], None]
"""Takes how the crawl stands, and a word on what is being done about it."""


class End(Enum):
    """Why a run ended."""

    DONE = "nothing is left to do"
    WAITING = "only hosts and URLs are left that wait for their time"
    PAGES = "the page limit is reached"
    TIME = "the time limit is reached"
    INTERRUPTED = "interrupted"
    KILLED = "interrupted at once"


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

    def look(self, now: float) -> tuple[Progress, End | None]:
        """Return how the crawl stands, and why it has ended, if it has."""
        progress = read_progress(self.opened)
        if self.interrupts > 1:
            return progress, End.KILLED
        if self.ending is None:
            self._limits(now)
        if self.ending:
            return progress, self.ending if progress.drained else None
        return progress, self._natural_end(progress, now)

    def _limits(self, now: float) -> None:
        if self.interrupts:
            self._pause(End.INTERRUPTED, now)
        elif self.max_time and now - self.started_at >= self.max_time:
            self._pause(End.TIME, now)

    def _pause(self, why: End, now: float) -> None:
        self.ending = why
        self.opened.log.append([encode(replace(self.crawl, at=now, paused=True))])

    def _natural_end(self, progress: Progress, now: float) -> End | None:
        if not progress.drained:
            return None
        crawl = self.crawl
        if crawl.max_pages and progress.pages >= crawl.pages_before + crawl.max_pages:
            return End.PAGES
        soon = 0 < progress.next_due_at <= now + self.settings.house.patience
        if progress.active or soon:
            return None
        return End.WAITING if progress.due_count else End.DONE


def run_crawl(
    settings: Settings, folder: Folder, wish: Wish, max_time: float, show: Show
) -> tuple[End, Progress]:
    """Crawl in *folder* until an end; return which, and how the crawl stands then.

    Raise GossamerError when it cannot begin, or a child has died.
    """
    if not folder.database.exists():
        # What makes no sense is refused before anything is made.
        define(wish, None, 0, clock.now())
    folder.make()
    folder.claim()
    opened = Opened(folder)
    opened.database.check()
    run = _prepare(settings, opened, wish, max_time)
    brief = Brief(settings, folder, last_epoch(opened), logs_to_file=not settings.logs.json_lines)
    children: list[Child] = []
    with _interrupts(run):
        try:
            children.extend(Child(kind, brief) for kind in KINDS)
            end = _dismissed(run, children, _watch(run, children, show))
        finally:
            for child in children:
                child.kill()
        return end, read_progress(opened)


def _prepare(settings: Settings, opened: Opened, wish: Wish, max_time: float) -> Run:
    before, now = last_definition(opened.log), clock.now()
    crawl = define(wish, before, read_progress(opened).pages, now)
    sown = [SeedSown(at=now, url=seed) for seed in wish.seeds]
    opened.log.append([encode(event) for event in (crawl, *sown)])
    return Run(settings, opened, crawl, max_time, now)


def _watch(run: Run, children: list[Child], show: Show) -> End:
    while True:
        progress, end = run.look(clock.now())
        if end:
            return end
        for child in children:
            if why := child.failure():
                raise GossamerError(why)
        show(progress, _word(run, progress))
        clock.pause(LOOK)


def _word(run: Run, progress: Progress) -> str:
    if run.ending is None:
        return ""
    waiting = sum(progress.backlog.values())
    return (
        f"{run.ending.value}: finishing {progress.checked_out} visits and {waiting} records "
        "under way; Ctrl-C again to stop at once"
    )


@contextmanager
def _interrupts(run: Run) -> Iterator[None]:
    """Count Ctrl-C (and SIGTERM) for *run* meanwhile."""

    def count(number: int, frame: FrameType | None) -> None:
        run.interrupts += 1

    before = {number: signal.signal(number, count) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _dismissed(run: Run, children: list[Child], end: End) -> End:
    """Let the children end in good order, unless somebody cannot wait; return how it ended."""
    if end is not End.KILLED:
        for child in children:
            child.stop()
        until = clock.steady() + FAREWELL
        while not all([child.join(JOIN) for child in children]) and clock.steady() < until:
            if run.interrupts > 1:
                return End.KILLED
    return end
