"""What a run says of itself: a line now and then, and the report at its end."""

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from shlex import quote

from console.figures import counts, duration, instant, largest, number, percent, plural, size
from gossamer.events import Outcome
from gossamer.terminal import printable
from services.frontier.conditions import Condition
from services.frontier.revisit import format_duration
from standalone.folder import Folder
from standalone.progress import End, Progress
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
    duplicates, near = progress.verdicts["duplicate"], progress.verdicts["near_duplicate"]
    lines = [
        f"Ended after {duration(took)}: {run.end.value}.",
        f"  pages       {fresh:,} in this run ({rate:.1f}/s), {progress.pages:,} in all, "
        f"{duplicates:,} of them duplicates, {near:,} nearly",
        *totals(progress, run.waiting),
        *_left(run),
    ]
    if progress.hazards["private_address"]:
        lines.append("  Private addresses are not visited; --allow-network CIDR allows a network.")
    return "\n".join([*lines, *_places(run.folder)])


def totals(progress: Progress, waiting: Waiting) -> list[str]:
    """Return the lines of what came of all visits, and of how the hosts are."""
    lines = [
        f"  received    {size(progress.received)}",
        f"  outcomes    {counts(progress.outcomes)}",
    ]
    lines += revisits(progress)
    lines += _if_any("  refused     ", counts(progress.refused))
    lines += _if_any("  hazards     ", counts(progress.hazards))
    lines.append(f"  hosts       {counts(progress.conditions)}")
    lines += _hosts("  slowest     ", progress.slowest, lambda value: f"{value:.2f} s")
    lines += _hosts("  largest     ", progress.largest, size)
    return lines + _backing_off(progress, waiting)


def revisits(progress: Progress) -> list[str]:
    """Return the lines of how coming back stands; none where nothing comes back."""
    of = progress.revisiting
    lines = [f"  revisits    {planned(progress)}"] if of.active else []
    if of.waiting:
        lines.append(f"  new         {plural(of.waiting, 'URL')} for the budget to pay for")
    if of.active and (kept := freshness(progress)):
        shows = of.mean_price and not of.learning
        price = f"; a visit must bring {format_duration(of.mean_price or 0)} of it" if shows else ""
        lines.append(f"  freshness   {kept}{price}")
    not_modified = progress.outcomes[Outcome.NOT_MODIFIED]
    if again := sum(of.spent.values()):
        lines.append(f"  revisited   {again:,}: {counts(of.spent)}")
    if not_modified:
        lines.append(f"  unmodified  {plural(not_modified, 'answer')} 304, without the page")
    if of.liars:
        hosts = plural(of.liars, "host")
        lines.append(f"  liars       {hosts} whose ETag or Last-Modified is not trusted any more")
    return lines


def planned(progress: Progress) -> str:
    """Return the policy and the budget in force, and what is planned."""
    of = progress.revisiting
    budget = f", {number(of.budget)} visits a day" if of.budget else ""
    due = f", next {instant(of.next_at)}" if of.next_at is not None else ", none within the hour"
    return f"{printable(of.policy)}{budget}; {of.planned:,} planned{due}"


def freshness(progress: Progress) -> str:
    """Return the expected freshness and age; "" if no page is kept fresh."""
    of = progress.revisiting
    if of.weights and of.learning:
        return "not yet known: most pages were visited only once"
    if of.expected_freshness is None or of.expected_age is None:
        return ""
    share, age = percent(of.expected_freshness), format_duration(of.expected_age)
    return f"{share} of the copies expected to be right, {age} behind on the average"


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


def _backing_off(progress: Progress, waiting: Waiting) -> list[str]:
    lines = [
        printable(f"{host.host} until {instant(host.ready_at)} ({host.backoff_reason})", LONGEST)
        for host in waiting.hosts
    ]
    more = progress.conditions[Condition.BACKING_OFF] - len(lines)
    if lines and more > 0:
        lines.append(f"… and {more:,} more")
    return [f"  {'' if n else 'backing off':<11} {line}" for n, line in enumerate(lines)]


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
    goes_on = progress.active or progress.revisiting.active
    if run.end is End.KILLED or goes_on or any(progress.lag.values()):
        return ["  Run the same command again to go on."]
    if first_at is None:
        return []
    retry = f"{_command()} retry{_data(run.folder)} HOST"
    return [
        f"  Nothing is due before {instant(first_at)}. Run the same command again then, or now to "
        f"try its failed seeds, or {retry} to try a host now."
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
