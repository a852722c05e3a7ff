"""A run of `gossamer crawl`: its settings and its crawl, its processes, and its report."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import structlog
from rich.console import Console

from gossamer import clock
from gossamer.changes.plan import ChangeRequest
from gossamer.console.api.process import listening, serve_beside
from gossamer.console.cli.changing import user_name
from gossamer.console.cli.crawl_options import (
    CRAWL_OPTIONS,
    DEFINITION_OPTIONS,
    MAX_PAGES,
    check_rules,
    fields_of_profile,
    given_settings,
    overrides_of,
    profile_of,
    request_of,
)
from gossamer.console.cli.options import seeds_of
from gossamer.console.cli.progress import Ended, reason_of_end, report, summary
from gossamer.console.cli.view import Lines, LiveView, NoView
from gossamer.console.output import print_lines, say
from gossamer.crawl import (
    CrawlRequest,
    active_of,
    choose_crawl,
    definitions_of,
    seeds_applied,
)
from gossamer.errors import BadSettings
from gossamer.events import DEFAULT_CRAWL
from gossamer.events.hazards import Hazard
from gossamer.extras import require_extra
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.inspection.progress.progress import End, Progress, read_progress
from gossamer.inspection.progress.rule_failures import read_rule_failure
from gossamer.inspection.progress.status import Failure, read_failures, read_parked, read_replicas
from gossamer.inspection.progress.workload import Waiting, read_delayed, read_waiting
from gossamer.inspection.urls.visits import NOT_VISITED, SeedFailure, failed_seeds
from gossamer.rules import locate
from gossamer.services.fetcher.access import request_headers
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.settings import CrawlSettings, Settings, load_settings
from gossamer.standalone.processes import Beside
from gossamer.standalone.run import run_crawl
from gossamer.telemetry.logs import configure_logs

NO_PAGE_STATUS = 3
"""The exit status if no seed gave a page."""
INTERRUPTED = (End.INTERRUPTED, End.KILLED)
CUT_SHORT = (*INTERRUPTED, End.PAUSED, End.PAGES, End.TIME, End.RULES)
"""The ends of runs that may not have visited all seeds."""


def run_command(options: argparse.Namespace) -> int:
    """Crawl, and print a report; return the exit status."""
    folder = Folder(options.data)
    profile = profile_of(options, folder)
    settings = load_settings(options.config, overrides_of(options, CRAWL_OPTIONS), profile)
    request_headers(settings.fetcher)  # Raises BadSettings without a contact.
    configure_logs(settings.logs.json_lines, settings.logs.level)
    if options.until_stdin_closes and options.seeds_file == "-":
        raise BadSettings("--until-stdin-closes and --seeds - need standard input: name a file")
    if isinstance(options.console, str):
        options.seeds.insert(0, options.console)
    started_at = clock.now()
    before = folder.open() if folder.database.exists() else None
    request = _request(options, settings.crawl, before, profile, folder)
    rules = active_rules(before, request)
    check_rules(settings, rules, options.rules_strict)
    pages_before = _pages_of_crawls(before) if before else {}
    with _console(options, settings) as beside, _view(options) as show:
        end, progress = run_crawl(
            settings,
            folder,
            request,
            ChangeRequest(actor=user_name()),
            options.max_time,
            show,
            options.metrics_port,
            beside,
            profile,
            sys.stdin.fileno() if options.until_stdin_closes else None,
        )
    seconds_taken = clock.now() - started_at
    opened = folder.open()
    failed = _find_failed_seeds(opened, request, progress, end)
    seeds = request.seeds if request else ()
    has_seed_page = end in CUT_SHORT or not seeds or not failed.keys() >= {*seeds}
    if not options.quiet:
        backing_off = progress.conditions[Condition.BACKING_OFF]
        waiting = read_waiting(opened.store, backing_off, progress.due_count)
        if end is End.WAITING:
            waiting = read_delayed(opened, progress.crawls, clock.now(), waiting)
        ended = Ended(
            end,
            progress,
            waiting,
            seconds_taken,
            pages_before,
            folder,
            _failures(opened, progress, waiting),
            failed,
            options.verbose,
            _crawl_option(opened, progress),
            has_seed_page,
            read_parked(opened.store, *progress.crawls),
            read_replicas(opened.store, progress),
            _rule_failure(opened, progress),
            keeps_limit=request is None or request.max_pages is None,
        )
        if settings.logs.json_lines:
            structlog.get_logger().info(
                "crawl ended", end=reason_of_end(ended), pages=progress.pages
            )
        say(*summary(ended))
        print_lines(report(ended))
    if end in INTERRUPTED:
        return 130
    if end is End.RULES:
        return 1
    return 0 if has_seed_page else NO_PAGE_STATUS


def _rule_failure(opened: Opened, progress: Progress) -> str:
    if not progress.hazards[Hazard.RULE_FAILED]:
        return ""
    return read_rule_failure(opened.store, progress.crawls, opened.log.partitions)


def active_rules(opened: Opened | None, request: CrawlRequest | None) -> list[str]:
    """Return the rules of all crawls that run, and of the crawl that *request* defines."""
    definitions = definitions_of(opened.log) if opened else {}
    crawls = active_of(definitions)
    rules = {name: crawl.rules for name, crawl in crawls.items()}
    if request:
        asked = request.settings.get("rules")
        rules[request.crawl] = locate(rules.get(request.crawl, "") if asked is None else asked)
    return [*rules.values()]


def _find_failed_seeds(
    opened: Opened, request: CrawlRequest | None, progress: Progress, end: End
) -> dict[str, SeedFailure]:
    """Return the seeds of the command and of crawl files that gave no page. A run that was cut
    short may not have visited the others."""
    seeds = {
        crawl: [url for urls in applied.seeds.values() for url in urls]
        for crawl in progress.crawls
        if (applied := seeds_applied(opened.log, crawl))
    }
    if request:
        seeds[request.crawl] = [*request.seeds, *seeds.get(request.crawl, ())]
    return {
        seed: failure
        for crawl, urls in seeds.items()
        for seed, failure in failed_seeds(opened, crawl, urls).items()
        if end not in CUT_SHORT or failure.reason != NOT_VISITED
    }


@contextmanager
def _console(options: argparse.Namespace, settings: Settings) -> Iterator[Beside | None]:
    """Listen for `--console` within the block, and print the link; None without that option.

    Raise GossamerError if the port is in use, or the server is not installed.
    """
    if options.console is None:
        yield None
        return
    require_extra("api")
    named = options.console if isinstance(options.console, int) else 0
    # The child writes the file with the token: the folder may not exist yet.
    with listening(settings.api, named or settings.api.port, None) as site:
        if not options.quiet:
            say(f"Console: {site.link}")
        yield Beside("console", partial(serve_beside, site), site.listener)


def _pages_of_crawls(opened: Opened) -> dict[str, int]:
    """Return the pages so far of each crawl. Paused ones may be resumed during the run."""
    crawls = read_progress(opened, definitions_of(opened.log)).crawls
    return {crawl: totals.pages for crawl, totals in crawls.items()}


def _crawl_option(opened: Opened, progress: Progress) -> str:
    """Return the value of `--crawl` that commands about a crawl of the run need."""
    if sum(not crawl.removed for crawl in definitions_of(opened.log).values()) <= 1:
        return ""
    return next(iter(progress.crawls)) if len(progress.crawls) == 1 else "ID"


def _failures(opened: Opened, progress: Progress, waiting: Waiting) -> tuple[Failure, ...]:
    # Rows are searched for examples by one crawl.
    only = len(progress.crawls) == 1
    name = next(iter(progress.crawls), DEFAULT_CRAWL)
    return read_failures(opened.store if only else None, name, progress, waiting)


def _request(
    options: argparse.Namespace,
    crawl: CrawlSettings,
    opened: Opened | None,
    profile: str,
    folder: Folder,
) -> CrawlRequest | None:
    """Return the requested definition and seeds; None if the crawls run as they are defined.

    Without seeds and `--crawl`, options are those of the only crawl, unless a file defines it.
    The part of *profile* that is in a definition is not requested again for a crawl of *folder*.
    """
    seeds = seeds_of(options, options.seeds_file, "--seeds")
    crawls = definitions_of(opened.log) if opened else {}
    filed = {name for name in crawls if opened and seeds_applied(opened.log, name)}
    if not (seeds or options.crawl) and (len(crawls) > 1 or filed):
        for option in (*DEFINITION_OPTIONS, MAX_PAGES):
            if option.is_given(options):
                raise BadSettings(
                    f"{option.name} is an option of one crawl: add --crawl ID, or write it into "
                    "the file of the crawl"
                )
        return None
    name = options.crawl or choose_crawl(crawls, None, str(options.data))
    # A file states the whole crawl, so that settings do not change it.
    has_file = name in filed
    given = given_settings(options).keys() if has_file else crawl.model_fields_set
    if name in crawls and profile == folder.profile():
        # Somebody may have changed the definition since the profile was first used.
        given = given - fields_of_profile(options, profile)
    max_pages = options.max_pages or (None if has_file else 0)
    return request_of(options, crawl, given, seeds, name, max_pages)


def _view(options: argparse.Namespace) -> NoView:
    if options.quiet:
        return NoView()
    console = Console()
    if console.is_terminal and not options.json_logs:
        return LiveView(console)
    return Lines(options.json_logs)
