"""`gossamer seed URL...`: puts seeds onto the log, and says what the crawl is if that is new."""

import argparse

from msgspec.structs import replace

from console.cli.options import add_crawl, lines_of, open_from, settings_of, whole
from console.figures import plural
from console.printable import printable
from gossamer import clock
from gossamer.crawl import CrawlRequest, define, last_definition, read_seeds
from gossamer.errors import BadSettings
from gossamer.events import PRIORITY_LIMIT, CrawlDefined, SeedSown
from gossamer.log.codec import encode
from gossamer.settings import CrawlSettings
from gossamer.web.scope import parse_scope


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument("seeds", nargs="*", metavar="URL", help="a URL to start from")
    command.add_argument("--file", metavar="FILE", help="a URL a line; - for standard input")
    command.add_argument(
        "--priority", type=int, default=0, metavar="N", help="lower is sooner: -100 to 100"
    )
    command.add_argument(
        "--scope",
        default="",
        help="from now on: host, site (of these seeds), any, or an expression",
    )
    command.add_argument(
        "--depth", type=whole, metavar="N", help="from now on: follow at most N links from a seed"
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Append the seeds, and the definition of the crawl if that is new."""
    if abs(options.priority) > PRIORITY_LIMIT:
        most = PRIORITY_LIMIT
        raise BadSettings(f"--priority {options.priority}: a priority is from -{most} to {most}")
    seeds = read_seeds(lines_of(options.seeds, options.file, "--file"))
    if not seeds:
        raise BadSettings("name at least one seed: a URL, or --file FILE")
    settings = settings_of(options)
    now = clock.now()
    events = [SeedSown(at=now, url=seed, priority=options.priority) for seed in seeds]
    with open_from(options, create=True) as opened:
        before = last_definition(opened.log)
        crawl = requested(seeds, before, options.scope, options.depth, settings.crawl)
        if crawl != before:
            crawl = replace(crawl, at=now)
            # Before the seeds: they are judged by it.
            opened.log.append([encode(crawl)])
        opened.log.append([encode(event) for event in events])
    since = "as before" if crawl == before else "from now on"
    print(f"{plural(len(seeds), 'seed')} for {opened.name}.")
    print(f"Scope {since}: {printable(crawl.scope, 5000)}, {crawl.max_depth} links deep.")
    return 0


def requested(
    seeds: tuple[str, ...],
    before: CrawlDefined | None,
    scope: str,
    depth: int | None,
    settings: CrawlSettings,
) -> CrawlDefined:
    """Return the crawl as *before*, changed by the scope and depth that are given.

    Raise BadSettings if a seed is out of its scope.
    """
    deep = settings.max_depth if before is None else before.max_depth
    deep = deep if depth is None else depth
    if before is None or scope:
        fresh = define(CrawlRequest(seeds, scope or settings.scope, deep, 0), None, 0, 0.0)
        before = replace(before or fresh, scope=fresh.scope)
    _judge(seeds, before.scope)
    return replace(before, max_depth=deep)


def _judge(seeds: tuple[str, ...], scope: str) -> None:
    for seed in seeds:
        judgement = parse_scope(scope).judge(seed, 0)
        if not judgement.inside:
            raise BadSettings(
                f"seed {seed} is out of scope: {judgement.rule}; --scope replaces what may be "
                "visited"
            )
