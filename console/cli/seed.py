"""`gossamer seed URL...`: puts seeds onto the log, and says what the crawl is if that is new."""

import argparse

from msgspec.structs import replace

from console.cli.options import add_place, lines_of, place_of, settings_of
from console.house.definition import Wish, define, last_definition, read_seeds
from console.printable import printable
from gossamer import clock
from gossamer.codec import encode
from gossamer.config import CrawlSettings
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined, SeedSown
from gossamer.scope import parse_scope


def add_options(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    command.add_argument("seeds", nargs="*", metavar="URL", help="a URL to start from")
    command.add_argument("--file", metavar="FILE", help="a URL a line; - for standard input")
    command.add_argument("--priority", type=int, default=0, metavar="N", help="lower is sooner")
    command.add_argument(
        "--scope",
        default="",
        help="from now on: host, site (of these seeds), any, or an expression",
    )
    command.add_argument(
        "--depth", type=int, metavar="N", help="from now on: follow at most N links from a seed"
    )
    add_place(command)


def run(options: argparse.Namespace) -> int:
    """Sow."""
    seeds = read_seeds(lines_of(options.seeds, options.file, "--file"))
    if not seeds:
        raise BadSettings("name at least one seed: a URL, or --file FILE")
    settings = settings_of(options)
    now = clock.now()
    sown = [SeedSown(at=now, url=seed, priority=options.priority) for seed in seeds]
    with place_of(options, create=True) as place:
        before = last_definition(place.log)
        crawl = wished(seeds, before, options.scope, options.depth, settings.crawl)
        if crawl != before:
            crawl = replace(crawl, at=now)
            # Before the seeds: they are judged by it.
            place.log.append([encode(crawl)])
        place.log.append([encode(seed) for seed in sown])
    said = "as before" if crawl == before else "from now on"
    print(f"{len(seeds):,} {'seed' if len(seeds) == 1 else 'seeds'} for {place.name}.")
    print(f"Scope {said}: {printable(crawl.scope, 5000)}, {crawl.max_depth} links deep.")
    return 0


def wished(
    seeds: tuple[str, ...],
    before: CrawlDefined | None,
    scope: str,
    depth: int | None,
    settings: CrawlSettings,
) -> CrawlDefined:
    """Return the crawl as it is to be: as *before* but for what is said now.

    Raise BadSettings if a seed is out of its scope.
    """
    if depth is not None and depth < 0:
        raise BadSettings(f"--depth {depth}: a depth is 0 or more")
    deep = settings.max_depth if before is None else before.max_depth
    deep = deep if depth is None else depth
    if before is None or scope:
        fresh = define(Wish(seeds, scope or settings.scope, deep, 0), None, 0, 0.0)
        before = replace(before or fresh, scope=fresh.scope)
    _judge(seeds, before.scope)
    return replace(before, max_depth=deep)


def _judge(seeds: tuple[str, ...], scope: str) -> None:
    for seed in seeds:
        judgement = parse_scope(scope).judge(seed, 0)
        if not judgement.inside:
            raise BadSettings(
                f"seed {seed} is out of scope: {judgement.rule}; --scope says anew what may be "
                "visited"
            )
