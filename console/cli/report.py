"""What a run says of itself: a line now and then, and the report at its end."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from shlex import quote

from console.figures import counts, duration, largest, plural, size
from console.printable import printable
from standalone.folder import Folder
from standalone.progress import Progress
from standalone.run import End

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


def report(end: End, progress: Progress, took: float, pages_before: int, folder: Folder) -> str:
    """Return the report of a run that took so many seconds."""
    fresh = progress.pages - pages_before
    rate = fresh / took if took > 0 else 0.0
    duplicates = progress.verdicts["duplicate"]
    lines = [
        f"Ended after {duration(took)}: {end.value}.",
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
    lines += _left(end, progress)
    if progress.hazards["private_address"]:
        lines.append("  Private addresses are not visited; --allow-network CIDR allows a network.")
    return "\n".join([*lines, *_places(folder)])


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


def _left(end: End, progress: Progress) -> list[str]:
    left = []
    if progress.dead_letters:
        left.append(f"  dead letters {progress.dead_letters:,}")
    if progress.queued:
        left.append(f"  left        {plural(progress.queued, 'URL')} in queues")
    if progress.due_count:
        left.append(f"  waiting     {progress.due_count:,} URLs or hosts for a later time")
    if left and end is not End.DONE:
        left.append("  Run the same command again to go on.")
    return left


def _places(folder: Folder) -> list[str]:
    data = f" --data {quote(str(folder.path))}" if str(folder.path) != "gossamer-data" else ""
    command = "gossamer" if shutil.which("gossamer") else quote(os.path.relpath(sys.argv[0]))
    return [
        f"  archive     {folder.warc}",
        f"  pages       {command} pages{data}",
        f"  one URL     {command} why{data} URL",
    ]
