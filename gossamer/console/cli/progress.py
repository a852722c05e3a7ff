"""The progress of a crawl in lines: one while it runs, the report at its end, and `status`.

`gossamer report` explains what the limits of the crawl cost.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from shlex import quote

from gossamer import clock
from gossamer.console.output import GREEN, RED, YELLOW, Line
from gossamer.events import Outcome
from gossamer.events.hazards import Hazard
from gossamer.inspection.answers.limits import find_limit, seconds_left
from gossamer.inspection.basics.figures import (
    about,
    counts,
    duration,
    instant,
    largest,
    number,
    percent,
    plural,
    size,
    until,
)
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.basics.labels import (
    BASIS_LABELS,
    LABELS,
    TOPIC_LABELS,
    conditions_text,
    details,
    failures,
    outcome_label,
    plain_reason,
)
from gossamer.inspection.progress.progress import End, Progress
from gossamer.inspection.progress.status import Failure, parked_text
from gossamer.inspection.progress.workload import MAX_AWAITED_DELAY, Waiting, Workload
from gossamer.inspection.urls.visits import SeedFailure
from gossamer.rules import MAX_FAILURE_CHARS
from gossamer.services.frontier.partition.politeness import format_delay
from gossamer.services.frontier.revisit.planning import format_duration
from gossamer.services.frontier.revisit.state import Basis
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.harvest import MIN_VISITS, late_points, rates
from gossamer.terminal import printable
from gossamer.web.url import Site

MAX_NAMED_SEEDS, MAX_LISTED_SEEDS = 3, 20
MAX_REASON_LENGTH = 400
"""Characters of a reason, and of a named host or URL with its reason."""
MAX_MIRRORS = 3
"""Replicas that the end of a run names."""
MAX_FAILURES = 10
"""Rows in the table of failures."""
SLOW_VISIT = 5.0
"""Minimum duration of a slow visit, in seconds."""
LARGE_HOST = 100 << 20
"""Minimum size of a large host, in received bytes."""
MIN_SHOWN_LAG = 20
"""Minimum lag that is shown, in records: a few are always in flight."""
MIN_SHOWN_ESTIMATE = 10.0
NOT_READ = {
    Hazard.NESTED_INDEX: ("sitemap index within an index", "sitemap indexes within an index"),
    Hazard.TOO_MANY_LINKS: (
        "page or sitemap beyond the limits on links",
        "pages or sitemaps beyond the limits on links",
    ),
}
"""Hazard → the links that are not read because of it, for one visit and for several. Nobody knows
how many URLs they would have been, so none of them is parked."""


def progress_line(progress: Progress, rate: float, workload: Workload) -> str:
    """Return the progress on one line."""
    line = (
        f"{plural(progress.pages, 'page')} ({rate:.1f}/s), {size(progress.received)}, "
        f"{plural(progress.queued, 'URL')} queued, hosts: {hosts_text(progress)}"
    )
    limit = limit_text(progress, workload)
    return f"{line}; {limit}" if limit else line


def limit_text(progress: Progress, workload: Workload) -> str:
    """Return the limit of the crawl in words; "" if nothing is queued."""
    return printable(find_limit(progress, workload).text)


def queue_text(progress: Progress, workload: Workload, rate: float) -> str:
    """Return how many URLs are queued, how long they take, and how many wait for later."""
    seconds = seconds_left(progress, workload, rate)
    left = f", {about(seconds)}" if seconds >= MIN_SHOWN_ESTIMATE else ""
    later = max(0, progress.due_count - progress.conditions[Condition.BACKING_OFF])
    scheduled = f"; {plural(later, 'URL')} scheduled for later" if later else ""
    return f"{plural(progress.queued, 'URL')}{left}{scheduled}"


def hosts_text(progress: Progress, is_running: bool = True) -> str:
    """Return `2 being fetched, 4 in their delay, 5 done`."""
    later = progress.due_count > progress.conditions[Condition.BACKING_OFF]
    are_idle_done = not (progress.revisiting.active or later)
    return conditions_text(progress.conditions, are_idle_done, not is_running)


def failures_text(progress: Progress) -> str:
    """Return the failures on one line: `404: 3, no connection: 1`; "" without any."""
    found = largest(failures(progress.outcomes, progress.hazards).items())
    return ", ".join(f"{label}: {count:,}" for label, count in found)


def unprocessed_text(progress: Progress) -> str:
    """Return the records that services have not consumed yet; "" if there are few."""
    lag = {
        TOPIC_LABELS.get(topic, topic): count
        for topic, count in progress.lag.items()
        if count >= MIN_SHOWN_LAG
    }
    return counts(lag) if lag else ""


@dataclass(frozen=True)
class Ended:
    """A run that has ended."""

    end: End
    progress: Progress
    waiting: Waiting
    seconds: float
    """How long the run took."""
    pages_before: Mapping[str, int]
    """Crawl → pages before the run; a crawl that is missing had none."""
    folder: Folder
    failures: tuple[Failure, ...]
    """The most frequent failure first."""
    failed_seeds: Mapping[str, SeedFailure]
    """Seed → why it gave no page."""
    verbose: bool = False
    chosen: str = ""
    """The value of `--crawl` in suggested commands: the crawl, or `ID` for one of several; "" if
    the folder has one crawl."""
    has_seed_page: bool = True
    """Whether a seed of the command gave a page, or the command has no seed."""
    parked: Mapping[Site, int] = field(default_factory=dict)
    """Site → its parked URLs: of parts with hardly any new text, or over a budget."""
    replicas: Mapping[str, str] = field(default_factory=dict)
    """Host → the host at which its URLs are visited, because it mirrors that host."""
    rule_failure: str = ""
    """A page on which a rule of a crawl failed, and the traceback; "" if none failed."""
    keeps_limit: bool = False
    """Whether the command, run again, keeps the page limit of the crawl instead of adding to it."""


def report(run: Ended) -> Iterator[Line]:
    """Yield the lines of the report, after its first sentence."""
    progress = run.progress
    # A crawl that was removed during the run has no totals any more.
    new = sum(
        max(0, totals.pages - run.pages_before.get(crawl, 0))
        for crawl, totals in progress.crawls.items()
    )
    rate = new / run.seconds if run.seconds > 0 else 0.0
    yield Line(
        "pages",
        f"{new:,} in this run ({rate:.1f}/s), {progress.pages:,} in all{duplicates_text(progress)}",
    )
    yield from _failed_seed_lines(run)
    if run.rule_failure:
        failed = plural(progress.hazards[Hazard.RULE_FAILED], "page")
        yield Line(
            "rules",
            f"failed on {failed}, first on {printable(run.rule_failure, MAX_FAILURE_CHARS)}",
            RED,
        )
    parked = sum(run.parked.values())
    yield from totals(
        progress,
        run.waiting,
        run.failures,
        run.verbose,
        parked,
        is_running=False,
        has_earlier_runs=bool(run.pages_before),
    )
    yield from _remaining_lines(run)
    refused = LABELS[Outcome.PRIVATE_ADDRESS]
    # The count has earlier runs, too, after which a network may have been allowed.
    if any(one.label == refused and one.example for one in run.failures):
        yield Line("", "Private addresses are not visited; --allow-network CIDR allows a network.")
    yield from _next_steps(run.folder, run.chosen)


def summary(run: Ended) -> tuple[str, str]:
    """Return the first sentence of the report, and its style."""
    text = f"Ended after {duration(run.seconds)}: {reason_of_end(run)}."
    if not run.has_seed_page:
        return f"{text} {no_seed(run.failed_seeds)}", RED
    is_complete = run.end is not End.DONE or not (run.parked or not_read_text(run.progress))
    if not is_complete or run.end in (
        End.INTERRUPTED,
        End.KILLED,
        End.WAITING,
        End.PAUSED,
        End.RULES,
    ):
        return text, YELLOW
    return text, GREEN


def reason_of_end(run: Ended) -> str:
    """Return why the run ended, in words."""
    if run.waiting.delayed:
        others = "; some hosts back off, or URLs are scheduled" if run.progress.due_count else ""
        return f"{delayed_text(run.waiting)}{others}"
    if run.end is not End.DONE:
        return str(run.end.value)
    parked = plural(sum(run.parked.values()), "parked URL") if run.parked else ""
    if not_read := not_read_text(run.progress):
        left = f", except {parked}" if parked else ""
        return f"every URL that was found is done{left}; not read: {not_read}"
    return f"nothing but {parked} is left to fetch" if parked else str(run.end.value)


def not_read_text(progress: Progress) -> str:
    """Return the listings and pages whose links were not read, or not all of them; "" without
    any."""
    found = [
        f"{count:,} {one if count == 1 else several}"
        for hazard, (one, several) in NOT_READ.items()
        if (count := progress.hazards[hazard])
    ]
    return ", ".join(found)


def delayed_text(waiting: Waiting) -> str:
    """Return which hosts are in a long courtesy delay, and the longest one with its reason."""
    longest, count = waiting.delayed[0], waiting.delayed_count
    reason = f" ({longest.delay_reason})" if longest.delay_reason else ""
    host = f"{printable(longest.host)}{reason}"
    if longest.delay <= MAX_AWAITED_DELAY:
        # Another host of the name has the delay.
        return f"only hosts in a courtesy delay are left, such as {host}"
    delay = f"{format_delay(longest.delay)} between requests"
    if count == 1:
        return f"1 host waits {delay}: {host}"
    return f"{count:,} hosts wait up to {delay}: the longest is {host}"


def duplicates_text(progress: Progress) -> str:
    """Return `, 120 duplicates, 8 near-duplicates`; "" without any."""
    named = (
        (progress.verdicts["duplicate"], "duplicate"),
        (progress.verdicts["near_duplicate"], "near-duplicate"),
    )
    return "".join(f", {plural(count, word)}" for count, word in named if count)


def totals(
    progress: Progress,
    waiting: Waiting,
    failed: tuple[Failure, ...],
    verbose: bool,
    parked: int,
    is_running: bool,
    has_earlier_runs: bool = False,
) -> Iterator[Line]:
    """Yield the lines about all visits and hosts: of failures and extremes only those found.

    *parked*: URLs that are parked now. *is_running*: whether a crawl may be visiting hosts now.
    *has_earlier_runs*: whether the lines are of a run, and others came before it.
    """
    yield Line("received", size(progress.received))
    yield from visits(progress)
    yield from harvest(progress, parked)
    yield from revisits(progress)
    yield from failure_table(failed, verbose, has_earlier_runs)
    yield Line("hosts", hosts_text(progress, is_running))
    for title, hosts, least, show in (
        ("slowest", progress.slowest, SLOW_VISIT, lambda value: f"{value:.2f} s"),
        ("largest", progress.largest, LARGE_HOST, size),
    ):
        found = largest(hosts.items())[:5]
        if shown := [
            f"{printable(host)} ({show(value)})"
            for host, value in found
            if value >= least or (verbose and value)
        ]:
            yield Line(title, ", ".join(shown))
    if verbose and (counted := details(progress.hazards)):
        items = largest(counted.items())
        yield Line("details", ", ".join(f"{label}: {count:,}" for label, count in items))
    yield from waiting_lines(progress, waiting)


def visits(progress: Progress) -> Iterator[Line]:
    """Yield the line of redirects, robots.txt files, probes and requisites, if there are any."""
    named = (
        (progress.outcomes[Outcome.REDIRECT], "redirect"),
        (progress.outcomes["robots.txt"], "robots.txt"),
        (progress.outcomes["usual sitemap"], "usual sitemap"),
        (progress.outcomes["probe"], "probe"),
        (progress.outcomes["requisite"], "requisite"),
    )
    parts = [
        f"{count:,} robots.txt" if word == "robots.txt" else plural(count, word)
        for count, word in named
        if count
    ]
    if parts:
        yield Line("also fetched", ", ".join(parts))


def harvest(progress: Progress, parked: int) -> Iterator[Line]:
    """Yield the harvest lately and overall, and how many URLs have been found. *parked*: URLs that
    are parked now."""
    overall, lately = rates(progress.harvest), rates(late_points(progress.harvest))
    if overall and lately:
        # Without scores no page is good.
        is_scored = overall.good > 0
        text = f"{overall.new:.0f} new or changed texts per 100 visits"
        text += f", {overall.good:.0f} of them good" * is_scored
        if sum(point.visits for point in progress.harvest) >= MIN_VISITS:
            text += f"; lately {lately.new:.0f}" + f", {lately.good:.0f} of them good" * is_scored
        yield Line("harvest", text)
    if progress.harvest:
        sent, new = progress.refused[Hazard.DUPHOST], progress.new_urls_lately
        found = found_text(progress.visited, sent, progress.unvisited, parked, new)
        yield Line("found", found)


def found_text(
    visited: int, sent: int, unvisited: int, parked: int, new_lately: float | None
) -> str:
    """Return how many URLs are visited, and wait, in one line. *sent*: URLs that were visited at
    the original of their host instead. *new_lately*: new URLs per 100 visits."""
    parts = [f"{plural(visited, 'URL')} visited"]
    if sent:
        parts.append(f"{sent:,} visited at their original instead")
    return f"{', '.join(parts)}, {waiting_text(unvisited, parked, new_lately)}"


def waiting_text(unvisited: int, parked: int, new_lately: float | None) -> str:
    """Return how many URLs wait, and how many new ones 100 visits bring lately, in one line."""
    text = f"{unvisited:,} to visit"
    if parked:
        text += f", {parked:,} parked"
    if new_lately is None:
        return text
    is_few = 0 < new_lately < 1
    found = "less than 1 new URL" if is_few else plural(round(new_lately), "new URL")
    return f"{text}; lately {found} per 100 visits"


def failure_table(
    failed: tuple[Failure, ...], verbose: bool, has_earlier_runs: bool = False
) -> Iterator[Line]:
    """Yield a line for each kind of failure: how often in all runs, and an example URL."""
    runs = " in all runs" * has_earlier_runs
    shown = failed if verbose else failed[:MAX_FAILURES]
    width = max((len(failure.label) for failure in shown), default=0) + 2
    for position, failure in enumerate(shown):
        example = printable(failure.example, MAX_REASON_LENGTH)
        text = f"{failure.label.ljust(width)}{failure.count:>6,}{runs}  {example}".rstrip()
        yield Line("failures" if position == 0 else "", text, RED)


def revisits(progress: Progress) -> Iterator[Line]:
    """Yield the lines about revisits; none if no page is visited again."""
    revisiting = progress.revisiting
    if revisiting.active:
        yield Line("revisits", plan_text(progress))
    if revisiting.waiting:
        yield Line("new", f"{plural(revisiting.waiting, 'URL')} waiting for the budget")
    if revisiting.active and (expected := freshness(progress)):
        yield Line("freshness", expected)
    if ordered := sum(revisiting.spent.values()):
        basis = {
            BASIS_LABELS[Basis(name)] if name in set(Basis) else name: count
            for name, count in revisiting.spent.items()
        }
        yield Line("revisited", f"{ordered:,}: {counts(basis)}")
    if not_modified := progress.outcomes[Outcome.NOT_MODIFIED]:
        yield Line("unmodified", f"{plural(not_modified, 'response')} 304 without a body")
    if revisiting.distrusted_hosts:
        hosts = plural(revisiting.distrusted_hosts, "host")
        yield Line("validators", f"{hosts} with a distrusted ETag or Last-Modified")


def plan_text(progress: Progress) -> str:
    """Return the active policy, its budget, and the planned visits."""
    revisiting = progress.revisiting
    budget = f", {number(revisiting.budget)} visits a day" if revisiting.budget else ""
    next_at = revisiting.next_at
    first = f", the first for {instant(next_at)}" if next_at is not None else ""
    return f"{printable(revisiting.policy)}{budget}; {revisiting.planned:,} planned{first}"


def freshness(progress: Progress) -> str:
    """Return the expected freshness and age of copies; "" if no page is visited again."""
    revisiting = progress.revisiting
    if revisiting.weights and revisiting.learning:
        return "not known yet: most pages were visited only once"
    if revisiting.expected_freshness is None or revisiting.expected_age is None:
        return ""
    share, age = percent(revisiting.expected_freshness), format_duration(revisiting.expected_age)
    return f"{share} of the copies expected to be current, {age} behind on average"


def _failed_seed_lines(run: Ended) -> Iterator[Line]:
    """Yield the seeds that gave no page, unless the first sentence names all of them."""
    failed = run.failed_seeds
    if not failed or (not run.has_seed_page and len(failed) <= MAX_NAMED_SEEDS):
        return
    yield Line("seeds", f"{plural(len(failed), 'seed')} gave no page", RED)
    shown = [*failed.items()][: None if run.verbose else MAX_LISTED_SEEDS]
    for seed, failure in shown:
        yield Line("", _seed_failure(seed, failure), RED)
    if more := len(failed) - len(shown):
        yield Line("", f"and {plural(more, 'more seed')}, which --verbose names")


def no_seed(reasons: Mapping[str, SeedFailure]) -> str:
    """Return the sentence that no seed gave a page, with the *reasons*."""
    shown = [_seed_failure(*named) for named in islice(reasons.items(), MAX_NAMED_SEEDS)]
    rest = len(reasons) - MAX_NAMED_SEEDS
    return f"No seed gave a page: {'; '.join([*shown, *([f'and {rest:,} more'] * (rest > 0))])}"


def _seed_failure(seed: str, failure: SeedFailure) -> str:
    label = outcome_label(failure.outcome, failure.status) if failure.outcome else ""
    reason = plain_reason(failure.reason)
    text = f"{label} ({reason})" if label and reason else label or reason
    return printable(f"{seed}: {text}", MAX_REASON_LENGTH)


def waiting_lines(progress: Progress, waiting: Waiting) -> Iterator[Line]:
    """Yield the hosts that back off and the URLs that are scheduled, the first five of each."""
    now = clock.now()
    hosts = progress.conditions[Condition.BACKING_OFF]
    urls = max(0, progress.due_count - hosts)
    named_hosts = [
        f"{host.host} {until(host.ready_at, now)} ({host.backoff_reason})" for host in waiting.hosts
    ]
    named_urls = [
        f"{scheduled.url} {until(scheduled.at, now, 'at')} ({scheduled.reason})"
        for scheduled in waiting.urls
    ]
    yield from _named_lines("backing off", named_hosts, hosts, "host")
    yield from _named_lines("scheduled", named_urls, urls, "URL")


def _named_lines(title: str, named: list[str], count: int, word: str) -> Iterator[Line]:
    if not named:
        if count:
            yield Line(title, plural(count, word))
        return
    for position, text in enumerate(named):
        yield Line("" if position else title, printable(text, MAX_REASON_LENGTH), YELLOW)
    if count > len(named):
        yield Line("", f"and {plural(count - len(named), 'more ' + word)}")


def _remaining_lines(run: Ended) -> Iterator[Line]:
    progress = run.progress
    if progress.dead_letters:
        letters = plural(progress.dead_letters, "dead letter")
        yield Line("lost", f"{letters}: {_command()} dead-letters list{_data(run.folder)}", RED)
    if progress.queued:
        yield Line("queued", plural(progress.queued, "URL"))
    if text := parked_text(run.parked, _command(), _data(run.folder, run.chosen)):
        yield Line("parked", text, YELLOW)
    yield from _mirrors(run.replicas)
    first_at = run.waiting.first_at
    has_more = progress.active or progress.revisiting.active or any(progress.lag.values())
    if run.end is End.PAUSED:
        resume = f"{_command()} crawls resume{_data(run.folder)} ID"
        yield Line("", f"{resume} continues a paused crawl, at the next run.")
    elif run.end is End.PAGES and run.keeps_limit:
        yield Line("", "The same command keeps the page limit: a larger max_pages continues.")
    elif run.end is End.KILLED or (has_more and not run.waiting.delayed):
        yield Line("", "Run the same command again to continue.")
    elif first_at is not None:
        subject = "No page" if run.waiting.delayed else "Nothing"
        retry = f" {_command()} retry{_data(run.folder, run.chosen)} HOST retries a host now."
        if run.waiting.delayed and not progress.due_count:
            retry = ""
        yield Line(
            "",
            f"{subject} is due before {instant(first_at)}. Run the same command again then, or now "
            f"to retry its failed seeds.{retry}",
        )


def _mirrors(replicas: Mapping[str, str]) -> Iterator[Line]:
    """Yield the hosts whose URLs are visited at other hosts."""
    shown = [f"{host} at {original}" for host, original in islice(replicas.items(), MAX_MIRRORS)]
    more = f" and {len(replicas) - MAX_MIRRORS:,} more" if len(replicas) > MAX_MIRRORS else ""
    if shown:
        hosts = plural(len(replicas), "host")
        yield Line(
            "mirrors",
            f"{hosts} with the pages of another host, where its URLs are visited instead: "
            f"{', '.join(map(printable, shown))}{more}; the setting dedup.duphost says when",
            YELLOW,
        )


def _next_steps(folder: Folder, chosen: str) -> Iterator[Line]:
    data, command = _data(folder, chosen), _command()
    yield Line("archive", str(folder.warc))
    yield Line("read pages", f"{command} pages{data}")
    yield Line("explain", f"{command} why{data} URL")
    yield Line("limits", f"{command} report{data}")


def _data(folder: Folder, chosen: str = "") -> str:
    data = f" --data {quote(str(folder.path))}" if str(folder.path) != "gossamer-data" else ""
    return f"{data} --crawl {chosen}" if chosen else data


def _command() -> str:
    return "gossamer" if shutil.which("gossamer") else quote(os.path.relpath(sys.argv[0]))
