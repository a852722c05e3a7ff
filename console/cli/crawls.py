"""`gossamer crawls`: defines crawls by files, and lists, compares, pauses and removes them.

All changes are events on the topics `control` and `seeds`, which running services apply within
seconds. A folder needs no running crawl: the next `gossamer crawl` applies them.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from console.cli.options import DEFAULT_FLEET_POLICY, add_place, open_from
from console.cli.status import print_crawls
from console.output import YELLOW, print_items, say
from gossamer import clock
from gossamer.crawl import check_not_removed, create_own_topic, seeds_applied
from gossamer.crawl_file import (
    CrawlFile,
    Difference,
    compare,
    new_seeds,
    read_crawl_file,
    shown,
    write_crawl_file,
)
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined, SeedAdded, SeedsApplied
from gossamer.log.codec import encode
from gossamer.policies import NEVER
from gossamer.relevance import check_classifiers
from gossamer.terminal import escape_controls, printable
from inspection.crawl import OpenCrawl
from inspection.figures import plural

MAX_CRAWLS = 200
"""Crawls of a fleet or a folder. Their ids are values of labels of metrics."""
MAX_LISTED_SEEDS = 20
"""Seeds that `diff` lists."""
MAX_BATCH_SEEDS = 1000
"""Seeds that are appended at once."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    actions = command.add_subparsers(required=True, metavar="ACTION", dest="action")
    for name, text in (
        ("apply", "define the crawl in FILE, or change it to what FILE states"),
        ("diff", "print what apply would change"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("file", type=Path, metavar="FILE", help="a crawl file, in TOML")
        add_place(action)
    listing = actions.add_parser("list", help="list all crawls: state, share, pages, queue")
    listing.add_argument("--json", action="store_true", help="one JSON object a line")
    add_place(listing)
    for name, text in (
        ("show", "print a crawl as a crawl file"),
        ("pause", "make no further visits for a crawl"),
        ("resume", "continue a paused crawl"),
        ("remove", "end a crawl for good, and drop its queues and rows"),
    ):
        action = actions.add_parser(name, help=text)
        action.add_argument("id", metavar="ID", help="the id of the crawl")
        if name == "remove":
            action.add_argument("--yes", action="store_true", help="do not ask for confirmation")
        add_place(action)


def run(options: argparse.Namespace) -> int:
    """Carry out the action."""
    if options.action in ("apply", "diff"):
        # An invalid file is refused before a folder is created.
        read_crawl_file(options.file, NEVER)
    with open_from(options, create=options.action == "apply") as place:
        match options.action:
            case "list":
                return print_crawls(place, options.json)
            case "apply":
                return _apply(place, _read(place, options.file))
            case "diff":
                return _diff(place, _read(place, options.file))
            case "show":
                crawl = _definition(place, options.id)
                applied = seeds_applied(place.log, options.id)
                print(escape_controls(write_crawl_file(crawl, applied), keep="\n"), end="")
                return 0
            case "remove":
                return _remove(place, _definition(place, options.id), options.yes)
            case _:
                is_paused = options.action == "pause"
                return _pause(place, _definition(place, options.id), is_paused)


def _read(place: OpenCrawl, path: Path) -> CrawlFile:
    file = read_crawl_file(path, DEFAULT_FLEET_POLICY if place.fleet else NEVER)
    if file.definition.relevant:
        check_classifiers(file.definition.relevant)
    crawls = place.crawls()
    if len(crawls) >= MAX_CRAWLS and file.definition.crawl not in crawls:
        raise BadSettings(f"{place.name} has {MAX_CRAWLS} crawls, and no more are possible")
    return file


def _definition(place: OpenCrawl, crawl: str) -> CrawlDefined:
    """Return the definition of *crawl*; raise BadSettings if there is none."""
    found = place.of(crawl).definition()
    if found is None:
        raise BadSettings(f"{place.name} has no crawl yet: gossamer crawls apply FILE defines one")
    return found


def _apply(place: OpenCrawl, file: CrawlFile) -> int:
    """Append what *file* changes; print it."""
    crawl = file.definition.crawl
    before, applied = place.crawls().get(crawl), seeds_applied(place.log, crawl)
    events = file.events(before, applied, clock.now())
    create_own_topic(place.log, file.definition)
    for start in range(0, len(events), MAX_BATCH_SEEDS):
        place.log.append([encode(event) for event in events[start : start + MAX_BATCH_SEEDS]])
    added = plural(sum(isinstance(event, SeedAdded) for event in events), "new seed")
    if before is None:
        say(f"Crawl {crawl} is defined in {place.name}, with {added}.")
        if not place.fleet and not place.is_running():
            say("gossamer crawl runs it.")
        return 0
    if not events:
        say(f"Crawl {crawl} is as the file states: nothing to change.")
        return 0
    print_items(_difference_lines(compare(before, file.definition)))
    say(f"Crawl {crawl} is changed, with {added}.")
    if before.paused:
        say(f"It is paused: gossamer crawls resume {crawl} continues it.", YELLOW)
    return 0


def _diff(place: OpenCrawl, file: CrawlFile) -> int:
    """Print what applying *file* would change. Return 1 if it would change anything."""
    crawl = file.definition.crawl
    before, applied = place.crawls().get(crawl), seeds_applied(place.log, crawl)
    if not file.events(before, applied, clock.now()):
        say(f"Crawl {crawl} is as the file states.")
        return 0
    say(f"Crawl {crawl} would be {'changed' if before else 'defined'}:")
    print_items(_difference_lines(compare(before, file.definition)))
    print_items(_seed_lines(applied, file.seeds))
    return 1


def _difference_lines(differences: Iterator[Difference]) -> Iterator[str]:
    for key, before, after in differences:
        yield (
            f"{key}: {shown(after)}"
            if before is None
            else (f"{key}: {shown(before)} → {shown(after)}")
        )


def _seed_lines(before: SeedsApplied | None, after: SeedsApplied) -> Iterator[str]:
    """Yield new seeds, and those of *before* that are gone, a line each."""
    yield from _listed("new seed", new_seeds(before, after))
    if before:
        gone = "seed no longer in the file (its pages stay)"
        yield from _listed(gone, new_seeds(after, before))
        if before.priority != after.priority:
            yield f"priority of new seeds: {before.priority} → {after.priority}"


def _listed(what: str, seeds: Sequence[tuple[str, str]]) -> Iterator[str]:
    for party, url in seeds[:MAX_LISTED_SEEDS]:
        yield f"{what}: {url}" + (f", party {party}" if party else "")
    if (more := len(seeds) - MAX_LISTED_SEEDS) > 0:
        yield f"{what}: {more:,} more"


def _pause(place: OpenCrawl, crawl: CrawlDefined, is_paused: bool) -> int:
    check_not_removed(crawl)
    if crawl.paused == is_paused:
        say(f"Crawl {crawl.crawl} is {'paused' if is_paused else 'active'} already.")
        return 0
    place.log.append([encode(replace(crawl, at=clock.now(), paused=is_paused))])
    if is_paused:
        say(f"Crawl {crawl.crawl} is paused: requests in flight finish, and no more are made.")
    else:
        say(f"Crawl {crawl.crawl} continues.")
    return 0


def _remove(place: OpenCrawl, crawl: CrawlDefined, is_confirmed: bool) -> int:
    if crawl.removed:
        say(f"Crawl {crawl.crawl} was removed already.")
        return 0
    if not is_confirmed and not _is_confirmed(crawl.crawl, place.name):
        say("Nothing was removed.", YELLOW)
        return 1
    # Paused, too: a process that does not know removals yet must not visit its URLs.
    place.log.append([encode(replace(crawl, at=clock.now(), paused=True, removed=True))])
    say(
        f"Crawl {crawl.crawl} is removed: nothing is fetched for it any more, and its queues and "
        "rows are dropped. Its WARC files stay. The other crawls go on."
    )
    return 0


def _is_confirmed(crawl: str, place: str) -> bool:
    question = f"Remove crawl {crawl} from {place}? This cannot be undone. [y/N] "
    try:
        return input(printable(question)).strip().lower() in ("y", "yes")
    except EOFError:
        return False
