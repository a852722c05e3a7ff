"""`gossamer status`: the progress of a crawl, its definition, its failures, and waiting hosts.

The health of a fleet's processes is another matter: `scripts/fleet status`, or their `/readyz`.
"""

import argparse
from collections.abc import Iterator

from gossamer import clock
from gossamer.changes.speeds import active_speed
from gossamer.console.cli.options import add_crawl, open_from
from gossamer.console.cli.progress import duplicates_text, totals
from gossamer.console.output import DIM, RED, YELLOW, Line, print_json, print_lines, say
from gossamer.events import CrawlDefined, Party
from gossamer.inspection.basics.archives import ArchiveBuffer
from gossamer.inspection.basics.figures import (
    counts,
    duration,
    instant,
    number,
    percent,
    plural,
    size,
)
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.crawls.crawls import ACTIVE, PAUSED, REMOVED, CrawlSummary, read_crawls
from gossamer.inspection.progress.status import CrawlStatus, parked_text, read_status
from gossamer.web.url_steps import ALL_STEPS

DEFAULTS = CrawlDefined(at=0.0, scope="", max_depth=0)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_crawl(command)
    command.add_argument(
        "--verbose", action="store_true", help="print the definition and all counts"
    )
    command.add_argument("--json", action="store_true", help="print everything as JSON")


def run(options: argparse.Namespace) -> int:
    """Print the status; a paused crawl is not a failure.

    If there are several crawls and none is named, print a line about each.
    """
    with open_from(options) as crawl:
        if options.crawl is None and len(crawl.crawls()) > 1:
            return print_crawls(crawl, options.json)
        status = read_status(crawl)
    if options.json:
        print_json(status.report(), is_indented=True)
    else:
        say(summary(status))
        print_lines(lines(status, clock.now(), options.verbose))
    return 0


def print_crawls(place: OpenCrawl, as_json: bool) -> int:
    """Print a line about each crawl of *place*; return the exit status."""
    crawls = read_crawls(place)
    if as_json:
        for crawl in crawls:
            print_json(crawl)
        return 0
    hint = "; --crawl ID shows one of them" if len(crawls) > 1 else ""
    removed = sum(crawl.state == REMOVED for crawl in crawls)
    count = plural(len(crawls) - removed, "crawl") + (f" and {removed} removed" if removed else "")
    say(f"{place.name}: {count}{hint}.")
    print_lines(Line(crawl.crawl, summary_of(crawl), _STYLES[crawl.state]) for crawl in crawls)
    return 0


_STYLES = {ACTIVE: "", PAUSED: YELLOW, REMOVED: DIM}


def summary_of(crawl: CrawlSummary) -> str:
    """Return state, share and progress of *crawl* in one line."""
    share = f", weight {number(crawl.weight)} ({percent(crawl.share)})" if crawl.share else ""
    limit = f" of at most {crawl.max_pages:,}" if crawl.max_pages else ""
    pages = f"{plural(crawl.pages, 'page')}{limit}"
    return f"{crawl.state}{share}: {pages}, {plural(crawl.queued, 'URL')} queued"


def summary(status: CrawlStatus) -> str:
    """Return the first sentence: pages, queue, failures."""
    progress = status.progress
    parts = [plural(progress.pages, "page"), f"{plural(progress.queued, 'URL')} queued"]
    if progress.due_count:
        parts.append(f"{progress.due_count:,} waiting for later")
    if parked := status.parked_urls:
        parts.append(f"{parked:,} parked")
    return f"{status.crawl}: {', '.join(parts)}."


def lines(status: CrawlStatus, now: float, verbose: bool = False) -> Iterator[Line]:
    """Yield the status a line at a time; *verbose*: with the whole definition and all counts."""
    progress = status.progress
    if status.idle:
        yield Line("idle", f"{status.idle}{_remedy(status.definition)}", YELLOW)
    elif status.is_running is False and (progress.active or any(progress.lag.values())):
        yield Line("idle", "no crawl runs in this folder: gossamer crawl continues it", YELLOW)
    if status.definition:
        yield from _definition(status.definition, verbose)
    yield from _operator_settings(status, now)
    yield Line("urls", f"{progress.admitted:,} admitted, {progress.queued:,} queued")
    if progress.due_count and not (status.waiting.hosts or status.waiting.urls):
        yield Line("waiting", f"{progress.due_count:,} for later; {_due(status.due_at, now)}")
    if text := parked_text(status.parked, in_fleet=status.parked_urls * status.fleet):
        yield Line("parked", text, YELLOW)
    yield Line("pages", f"{progress.pages:,}{duplicates_text(progress)}")
    is_running = status.is_running is not False
    yield from totals(
        progress, status.waiting, status.failures, verbose, status.parked_urls, is_running
    )
    for group, topics in progress.lags.items():
        if any(topics.values()):
            yield Line("lag", f"{group}: {counts(topics)}")
    if verbose and not any(progress.lag.values()):
        yield Line("lag", "none")
    for buffer in status.buffers:
        yield Line("archive", upload_text(buffer), RED if buffer.fault else "")
    if progress.dead_letters:
        letters = plural(progress.dead_letters, "dead letter")
        yield Line("lost", f"{letters}: gossamer dead-letters list gives the reasons", RED)


def _remedy(crawl: CrawlDefined | None) -> str:
    if crawl is None or crawl.removed or not crawl.paused:
        return ""
    return f": gossamer crawls resume {crawl.crawl} continues it"


def upload_text(buffer: ArchiveBuffer) -> str:
    """Return how much waits to be uploaded, and why."""
    files = f"{buffer.writer}: {plural(buffer.files, 'file')} ({size(buffer.bytes)}) to upload"
    return f"{files}; {buffer.fault}" if buffer.fault else files


def _definition(crawl: CrawlDefined, verbose: bool) -> Iterator[Line]:
    if verbose:
        yield Line("crawl", f"{crawl.crawl}, defined {instant(crawl.at)}")
    pages = f", at most {plural(crawl.page_limit, 'page')}" if crawl.page_limit else ""
    yield Line("scope", f"{crawl.scope}, {plural(crawl.max_depth, 'link')} deep{pages}")
    budget = f", {number(crawl.budget)} visits a day" if crawl.budget else ""
    if verbose or crawl.revisit != "none":
        yield Line("revisit", f"{crawl.revisit}{budget}")
    if crawl.relevant:
        follow = "followed" if crawl.follow_irrelevant else "not followed"
        yield Line("relevant", f"{crawl.relevant}; links of other pages are {follow}")
    if verbose or usage_text(crawl) != usage_text(DEFAULTS):
        yield Line("purposes", usage_text(crawl))
    if crawl.external_links != "deep":
        yield Line("external", f"links to other sites: {crawl.external_links}")
    for name, party in sorted(crawl.parties.items()):
        yield Line("party", f"{name}: {party_text(party)}")
    if disabled := [name for name in ALL_STEPS if name not in crawl.url_steps]:
        yield Line("url steps", f"without {', '.join(disabled)}")


def usage_text(crawl: CrawlDefined) -> str:
    """Return the purposes of *crawl*, and what it does without permission, in words."""
    if not crawl.purposes:
        return "none: statements about usage are ignored"
    purposes = ", ".join(crawl.purposes)
    return f"{purposes}; disallowed: {crawl.usage_disallowed}; unknown: {crawl.usage_unknown}"


def party_text(party: Party) -> str:
    """Return the limits of *party* in words."""
    depth = "" if party.max_depth is None else f"{plural(party.max_depth, 'link')} deep"
    external = party.external_links and f"links to other sites: {party.external_links}"
    return ", ".join(filter(None, (party.scope, depth, external))) or "the limits of the crawl"


def _operator_settings(status: CrawlStatus, now: float) -> Iterator[Line]:
    if status.speed.speeds:
        yield Line("speed", active_speed(status.speed, now))
    overridden = {"site": status.overridden_sites, "host": status.overridden_hosts}
    shown = " and ".join(plural(count, word) for word, count in overridden.items() if count)
    if shown:
        yield Line("overrides", f"{shown}: gossamer site lists them")
    if status.blocklist_rules:
        rules = plural(status.blocklist_rules, "rule")
        yield Line("blocklist", f"{rules}: gossamer blocklist lists them")


def _due(at: float | None, now: float) -> str:
    if at is None:
        return "none is due within the hour"
    if at > now:
        return f"the first is due at {instant(at)}"
    return f"the oldest has been due for {duration(now - at)}, since {instant(at)}"
