"""What a person sees of a crawl: a live view in a terminal, a line now and then elsewhere."""

from collections import deque

import structlog
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from console.cli.report import freshness, planned, progress_line
from console.figures import counts, plural, size
from console.plot import day
from gossamer import clock
from gossamer.events.outcomes import OUTCOMES, Outcome
from gossamer.terminal import escape_controls, printable
from standalone.progress import Progress

EVERY = 10.0
"""Seconds between two lines."""
WINDOW = 10.0
"""Seconds over which the speed is measured."""

EXPECTED = {"robots.txt", *(outcome for outcome in Outcome if OUTCOMES[outcome].expected)}


class Speed:
    """Pages per second over the last few seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, int]] = deque()

    def measure(self, pages: int, now: float) -> float:
        """Add a sample: *pages* at *now*; return the speed."""
        self._seen.append((now, pages))
        while now - self._seen[0][0] > WINDOW:
            self._seen.popleft()
        then, before = self._seen[0]
        return (pages - before) / (now - then) if now > then else 0.0


class NoView:
    """Shows nothing: what `--quiet` asks for."""

    def __enter__(self) -> "NoView":
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def __call__(self, progress: Progress, notice: str) -> None:
        """Show nothing."""


class Lines(NoView):
    """A line now and then, for a pipe or a file; as JSON on standard error if logs are."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._speed = Speed()
        self._last = clock.now() - EVERY + 1.0

    def __call__(self, progress: Progress, notice: str) -> None:
        """Print a line, unless the last one is too recent."""
        now = clock.now()
        rate = self._speed.measure(progress.pages, now)
        if now - self._last < EVERY:
            return
        self._last = now
        if self._as_json:
            figures = {"pages": progress.pages, "queued": progress.queued, "notice": notice}
            structlog.get_logger().info("progress", pages_per_second=round(rate, 1), **figures)
        else:
            line = progress_line(progress, rate) + (f" ({notice})" if notice else "")
            print(escape_controls(line), flush=True)


class LiveView(NoView):
    """A view that is drawn over and over in a terminal."""

    def __init__(self, console: Console) -> None:
        # It is drawn when it is called, by no thread: the crawl forks its processes meanwhile.
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._speed = Speed()
        self._started_at = clock.now()
        self._drawn: tuple[Progress, str, int] | None = None

    def __enter__(self) -> "LiveView":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was."""
        self._live.stop()

    def __call__(self, progress: Progress, notice: str) -> None:
        """Draw how the crawl stands, if the view shows anything new: its clock shows seconds."""
        now = clock.now()
        rate = self._speed.measure(progress.pages, now)
        wanted = progress, notice, int(now)
        if wanted == self._drawn:
            return
        self._drawn = wanted
        view = draw(progress, rate, now - self._started_at, notice, now)
        self._live.update(view, refresh=True)


def draw(progress: Progress, rate: float, elapsed: float, notice: str, now: float) -> Group:
    """Return the view. Everything from the Web is shown as plain text, never as markup."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    errors = {k: v for k, v in progress.outcomes.items() if k not in EXPECTED}
    waiting = {name: count for name, count in progress.lag.items() if count}
    for title, text in (
        ("pages", f"{progress.pages:,}   {rate:.1f}/s   {elapsed:.0f} s"),
        ("received", size(progress.received)),
        ("hosts", counts(progress.conditions)),
        (
            "queue",
            f"{plural(progress.queued, 'URL')}, {progress.due_count:,} waiting for a later time",
        ),
        *_coming_back(progress),
        ("errors", counts(errors)),
        ("under way", counts(waiting)),
        *_last_day(progress, now),
    ):
        table.add_row(title, Text(text))
    latest = [Text(f"  {outcome:<12} {printable(url)}") for url, outcome in progress.latest[-6:]]
    foot = Text(notice or "Ctrl-C to stop", style="yellow" if notice else "dim")
    return Group(table, *latest, foot)


def _coming_back(progress: Progress) -> list[tuple[str, str]]:
    if not progress.revisiting.active:
        return []
    return [("revisits", planned(progress)), ("freshness", freshness(progress) or "none yet")]


def _last_day(progress: Progress, now: float) -> list[tuple[str, str]]:
    """Return the plot of the last day, where it has more to show than how many pages there are."""
    if len(progress.hours) > 1 or progress.revisiting.active:
        return day(progress.hours, now)
    return []
