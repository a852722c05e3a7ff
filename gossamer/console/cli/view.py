"""The progress of a running crawl: a live view in a terminal, or a line every ten seconds.

The view plots the pages of each hour of the last day, as bars of one character.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

import structlog
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from gossamer import clock
from gossamer.console.cli.progress import (
    failures_text,
    freshness,
    hosts_text,
    limit_text,
    plan_text,
    progress_line,
    queue_text,
    unprocessed_text,
)
from gossamer.console.output import Line
from gossamer.events.outcomes import FAILURES
from gossamer.inspection.basics.figures import duration, size
from gossamer.inspection.basics.labels import outcome_label
from gossamer.inspection.progress.progress import Progress
from gossamer.inspection.progress.workload import Workload
from gossamer.services.frontier.totals.tally import HOURS, hour_of
from gossamer.terminal import escape_controls, printable

LINE_INTERVAL = 10.0
"""Seconds between two lines."""
RATE_WINDOW = 10.0
"""Seconds over which the pages per second are measured."""
SHOWN_VISITS = 6
PROBE = "probe"
"""The outcome under which the frontier counts probes: their paths are invented."""
BARS = " ▁▂▃▄▅▆▇█"
KINDS = ("new", "changed", "unchanged")
"""The order of the counts in `gossamer.services.frontier.totals.tally.TallyRow.hours`."""


class Rate:
    """Pages per second over the last RATE_WINDOW seconds."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, dict[str, int]]] = deque()

    def measure(self, progress: Progress, now: float) -> float:
        """Add a sample: *progress* at *now*; return the pages per second.

        Crawls are measured one by one: the pages of a removed one are not counted any more, and
        those of a resumed one were fetched before.
        """
        pages = {crawl: totals.pages for crawl, totals in progress.crawls.items()}
        self._samples.append((now, pages))
        while now - self._samples[0][0] > RATE_WINDOW:
            self._samples.popleft()
        since, before = self._samples[0]
        new = sum(max(0, count - before.get(crawl, count)) for crawl, count in pages.items())
        return new / (now - since) if now > since else 0.0


class NoView:
    """Shows nothing, for `--quiet`."""

    def __enter__(self) -> "NoView":
        return self

    def __exit__(self, *_: object) -> None:
        """Close nothing."""

    def __call__(self, progress: Progress, workload: Callable[[], Workload], notice: str) -> None:
        """Show nothing."""


class Lines(NoView):
    """A line every ten seconds, for a pipe or a file. With JSON logs, it is a JSON log line."""

    def __init__(self, as_json: bool) -> None:
        self._as_json = as_json
        self._rate = Rate()
        self._printed_at = clock.now() - LINE_INTERVAL + 1.0

    def __call__(self, progress: Progress, workload: Callable[[], Workload], notice: str) -> None:
        """Print a line if the last one is LINE_INTERVAL seconds old."""
        now = clock.now()
        rate = self._rate.measure(progress, now)
        if now - self._printed_at < LINE_INTERVAL:
            return
        self._printed_at = now
        if self._as_json:
            figures = {"pages": progress.pages, "queued": progress.queued, "notice": notice}
            structlog.get_logger().info(
                "crawl in progress", pages_per_second=round(rate, 1), **figures
            )
        else:
            line = progress_line(progress, rate, workload())
            print(escape_controls(line + (f" ({notice})" if notice else "")), flush=True)


class LiveView(NoView):
    """A view that is redrawn in place in a terminal."""

    def __init__(self, console: Console) -> None:
        # No thread refreshes the view: the crawl forks its processes while it is open.
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._rate = Rate()
        self._started_at = clock.now()
        self._drawn: tuple[Progress, Workload, str, int] | None = None

    def __enter__(self) -> "LiveView":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leave the terminal as it was."""
        self._live.stop()

    def __call__(self, progress: Progress, workload: Callable[[], Workload], notice: str) -> None:
        """Draw the view if its content has changed; its clock shows whole seconds."""
        now = clock.now()
        rate = self._rate.measure(progress, now)
        content = progress, workload(), notice, int(now)
        if content == self._drawn:
            return
        self._drawn = content
        view = draw(progress, content[1], rate, now - self._started_at, notice, now)
        self._live.update(view, refresh=True)


def draw(
    progress: Progress, workload: Workload, rate: float, elapsed: float, notice: str, now: float
) -> Group:
    """Return the view. Text from the Web is shown as plain text, never as markup."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    rows = [
        Line("pages", f"{progress.pages:,}   {rate:.1f}/s   {duration(elapsed)}"),
        Line("received", size(progress.received)),
        Line("hosts", hosts_text(progress)),
        Line("queue", queue_text(progress, workload, rate)),
        Line("pace", limit_text(progress, workload), "yellow"),
        *_revisits(progress),
        Line("failures", failures_text(progress), "red"),
        Line("unprocessed", unprocessed_text(progress)),
        *_last_day(progress, now),
    ]
    for title, text, style in rows:
        if text:
            table.add_row(title, Text(text, style=style))
    visits = [visit for visit in progress.latest if visit[1] != PROBE][-SHOWN_VISITS:]
    foot = Text(notice or "Ctrl-C to stop", style="yellow" if notice else "dim")
    return Group(table, *(_visit(url, outcome) for url, outcome in visits), foot)


def _visit(url: str, outcome: str) -> Text:
    style = "red" if outcome in FAILURES else ""
    line = Text(f"  {outcome_label(outcome):<16}", style=style, no_wrap=True, overflow="ellipsis")
    return line.append(f" {printable(url)}", style="")


def _revisits(progress: Progress) -> Iterator[Line]:
    if progress.revisiting.active:
        yield Line("revisits", plan_text(progress))
        yield Line("freshness", freshness(progress) or "none yet")


def _last_day(progress: Progress, now: float) -> Iterator[Line]:
    """Yield the plot of the last day, if the crawl is older than an hour or revisits pages."""
    if len(progress.hours) > 1 or progress.revisiting.active:
        yield from day(progress.hours, now)


def day(hours: Mapping[str, tuple[int, int, int]], now: float) -> Iterator[Line]:
    """Yield a line for all pages and for each kind: 24 bars on one scale, the last one for this
    hour."""
    last = hour_of(now)
    columns = [hours.get(str(hour), (0, 0, 0)) for hour in range(last - HOURS + 1, last + 1)]
    totals = [sum(column) for column in columns]
    highest = max(totals)
    text = f"at most {highest:,} an hour, {sum(totals):,} in 24 h"
    yield Line("pages / h", f"{bars(totals, highest)}  {text}")
    for kind, counts in zip(KINDS, zip(*columns, strict=True), strict=True):
        yield Line(kind, f"{bars(counts, highest)}  {sum(counts):,}")


def bars(counts: Iterable[int], highest: int) -> str:
    """Return a bar for each count: visible from 1, and full at *highest* only."""
    scale = len(BARS) - 1
    return "".join(BARS[-(-count * scale // highest)] if highest else " " for count in counts)
