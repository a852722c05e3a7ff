"""What a run says of itself: a line now and then, and the report at its end."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from shlex import quote

from console.figures import counts, duration, instant, largest, plural, size
from console.printable import printable
from services.frontier.conditions import Condition
from standalone.folder import Folder
from standalone.progress import Progress
from standalone.run import End
from standalone.waiting import Waiting

SEEDS = 3
"""Most seeds that are named where none gave a page."""
LONGEST = 400
"""Characters of what is said of one."""


def progress_line(progress: Progress, rate: float) -> str:
    """Return how the crawl stands, on one line."""
    return (
        f"{plural(progress.pages, 'page')} ({rate:.1f}/s), {size(progress.received)}, "
        f"{plural(progress.queued, 'URL')} queued, hosts: {counts(progress.conditions)}"
    )


@dataclass(frozen=True)
class Ended:
    """A run that has ended: why, and how the crawl stands."""

    end: End
    progress: Progress
    waiting: Waiting
    took: float
    pages_before: int
    folder: Folder


def report(run: Ended) -> str:
    """Return the report of a run."""
    progress, took, pages_before = run.progress, run.took, run.pages_before
    fresh = progress.pages - pages_before
    rate = fresh / took if took > 0 else 0.0
    duplicates = progress.verdicts["duplicate"]
    lines = [
        f"Ended after {duration(took)}: {run.end.value}.",
        f"  pages       {fresh:,} in this run ({rate:.1f}/s), {progress.pages:,} in all, "
        f"{duplicates:,} of them duplicates",
        f"  received    {size(progress.received)}",
        f"  outcomes    {counts(progress.outcomes)}",
    ]
    lines += _if_any("  refused     ", counts(progress.refused))
    lines += _if_any("  hazards     ", counts(progress.hazards))
    lines.append(f"  hosts       {counts(progress.conditions)}")
    lines += _hosts("  slowest     ", progress.slowest, lambda value: f"{value:.2f} s")
    lines += _hosts("  largest     ", progress.largest, size)
    lines += _blocked(progress, run.waiting)
    lines += _left(run)
    if progress.hazards["private_address"]:
        lines.append("  Private addresses are not visited; --allow-network CIDR allows a network.")
    return "\n".join([*lines, *_places(run.folder)])


def no_seed(why: Mapping[str, str]) -> str:
    """Return the sentence for seeds of which none gave a page, with why not."""
    shown = [printable(f"{seed}: {reason}", LONGEST) for seed, reason in [*why.items()][:SEEDS]]
    more = [f"and {len(why) - SEEDS:,} more"] if len(why) > SEEDS else []
    return f"No seed gave a page: {'; '.join([*shown, *more])}"


def _if_any(title: str, text: str) -> list[str]:
    return [] if text == "none" else [title + text]


def _hosts(title: str, hosts: Mapping[str, float], show: Callable[[float], str]) -> list[str]:
    most = largest(hosts.items())[:5]
    shown = [f"{printable(host)} ({show(value)})" for host, value in most if value]
    return _if_any(title, ", ".join(shown) or "none")


def _blocked(progress: Progress, waiting: Waiting) -> list[str]:
    lines = [
        printable(f"{host.host} until {instant(host.ready_at)} ({host.blocked_why})", LONGEST)
        for host in waiting.hosts
    ]
    more = progress.conditions[Condition.BLOCKED] - len(lines)
    if lines and more > 0:
        lines.append(f"… and {more:,} more")
    return [f"  {'' if n else 'blocked':<11} {line}" for n, line in enumerate(lines)]


def _left(run: Ended) -> list[str]:
    left, progress = [], run.progress
    if progress.dead_letters:
        left.append(f"  dead letters {progress.dead_letters:,}")
    if progress.queued:
        left.append(f"  left        {plural(progress.queued, 'URL')} in queues")
    if count := progress.due_count:
        what = "URL or host" if count == 1 else "URLs or hosts"
        left.append(f"  waiting     {count:,} {what} for a later time")
    return [*left, *_again(run)]


def _again(run: Ended) -> list[str]:
    """Say how to go on, if there is anything that going on would do."""
    progress, first_at = run.progress, run.waiting.first_at
    if run.end is End.KILLED or progress.active or any(progress.backlog.values()):
        return ["  Run the same command again to go on."]
    if not first_at:
        return []
    retry = f"{_command()} retry{_data(run.folder)} HOST"
    return [
        f"  Nothing is due before {instant(first_at)}. Run the same command again then, or "
        f"{retry} to have a host tried now."
    ]


def _places(folder: Folder) -> list[str]:
    data, command = _data(folder), _command()
    return [
        f"  archive     {folder.warc}",
        f"  pages       {command} pages{data}",
        f"  one URL     {command} why{data} URL",
    ]


def _data(folder: Folder) -> str:
    return f" --data {quote(str(folder.path))}" if str(folder.path) != "gossamer-data" else ""


def _command() -> str:
    return "gossamer" if shutil.which("gossamer") else quote(os.path.relpath(sys.argv[0]))
