"""`gossamer crawls`: defines crawls by files, and lists, compares, pauses and removes them.

All changes are events on the topics `control` and `seeds`, which running services apply within
seconds. A folder needs no running crawl: the next `gossamer crawl` applies them.
"""

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

from gossamer import clock
from gossamer.changes.crawls import plan_apply, plan_state
from gossamer.console.cli.changing import add_change, carry_out, is_confirmed
from gossamer.console.cli.crawl_options import check_rules
from gossamer.console.cli.options import (
    add_place,
    add_strict_seeds,
    open_from,
    report_invalid_seeds,
    settings_of,
)
from gossamer.console.cli.status import print_crawls
from gossamer.console.output import YELLOW, print_items, say
from gossamer.crawl import seeds_applied
from gossamer.crawl_file import CrawlFile, parse_crawl_file, write_crawl_file
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.policies import DEFAULT_FLEET_POLICY, NEVER
from gossamer.rules import check_place
from gossamer.terminal import escape_controls

STANDARD_INPUT = Path("-")
MAX_FILE_CHARACTERS = 2_000_000
"""More than all seeds that a crawl file may list."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    actions = command.add_subparsers(required=True, metavar="ACTION", dest="action")
    for name, text in (
        ("apply", "define the crawl in each FILE, or change it to what FILE states"),
        ("diff", "print what apply would change"),
    ):
        action = actions.add_parser(name, help=text)
        help_of_file = "a crawl file, in TOML; - is standard input"
        action.add_argument("files", type=Path, nargs="+", metavar="FILE", help=help_of_file)
        add_strict_seeds(action)
        if name == "apply":
            add_change(action)
        else:
            action.set_defaults(dry_run=True)
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
        if name != "show":
            add_change(action)
        add_place(action)


def run(options: argparse.Namespace) -> int:
    """Carry out the action."""
    texts = dict[Path, str]()
    if options.action in ("apply", "diff"):
        # An invalid file is refused before a folder is created, or another file is applied.
        texts = {path: _read_text(path) for path in dict.fromkeys(options.files)}
        for path, text in texts.items():
            file = parse_crawl_file(text, _display_path(path), NEVER)
            report_invalid_seeds(file.invalid_seeds, options.strict_seeds)
    with open_from(options, create=options.action in ("apply", "diff")) as place:
        files = [_parse(place, text, path, options) for path, text in texts.items()]
        match options.action:
            case "list":
                return print_crawls(place, options.json)
            case "apply":
                for file in files:
                    _apply(place, file, options)
                return 0
            case "diff":
                return max([_diff(place, file) for file in files])
        crawl = _definition(place, options.id)
        if options.action == "show":
            text = write_crawl_file(crawl, seeds_applied(place.log, options.id))
            print(escape_controls(text, keep="\n"), end="")
            return 0
        is_certain = options.action != "remove" or crawl.removed or options.yes or options.dry_run
        if not is_certain and not is_confirmed(f"Remove crawl {crawl.crawl} from {place.name}?"):
            say("Nothing was removed.", YELLOW)
            return 1
        plan = plan_state(place.of(options.id), options.action, clock.now())
        effect = carry_out(place, plan, options)
        say(effect.text)
        if options.action == "remove" and effect.count and not options.dry_run:
            _say_who_acts(place, "drops them")
        return 0


def _read_text(path: Path) -> str:
    try:
        source = nullcontext(sys.stdin) if path == STANDARD_INPUT else path.open(encoding="utf-8")
        with source as file:
            text = file.read(MAX_FILE_CHARACTERS + 1)
    except (OSError, UnicodeError) as error:
        raise BadSettings(f"{_display_path(path)} cannot be read: {error}") from error
    if len(text) > MAX_FILE_CHARACTERS:
        raise BadSettings(
            f"{_display_path(path)} is too long: it has more than {MAX_FILE_CHARACTERS:,} "
            "characters. Add long lists of seeds with gossamer seed --crawl ID --file FILE"
        )
    return text


def _display_path(path: Path) -> Path:
    return Path("standard input") if path == STANDARD_INPUT else path


def _parse(place: OpenCrawl, text: str, path: Path, options: argparse.Namespace) -> CrawlFile:
    default = DEFAULT_FLEET_POLICY if place.fleet else NEVER
    file = parse_crawl_file(text, _display_path(path), default)
    if file.definition.rules:
        check_place(file.definition.rules, place.fleet)
        check_rules(settings_of(options), [file.definition.rules])
    return file


def _definition(place: OpenCrawl, crawl: str) -> CrawlDefined:
    """Return the definition of *crawl*; raise BadSettings if there is none."""
    found = place.of(crawl).definition()
    if found is None:
        raise BadSettings(f"{place.name} has no crawl yet: gossamer crawls apply FILE defines one")
    return found


def _apply(place: OpenCrawl, file: CrawlFile, options: argparse.Namespace) -> None:
    crawl, plan = file.definition.crawl, plan_apply(place, file, clock.now())
    effect = carry_out(place, plan, options)
    say(effect.text)
    changed = next((after for _, after in plan.settings), None) or place.crawls().get(crawl)
    if isinstance(changed, CrawlDefined) and changed.paused:
        say(f"It is paused: gossamer crawls resume {crawl} continues it.", YELLOW)
    elif effect.count and not options.dry_run:
        _say_who_acts(place, "runs it")


def _say_who_acts(place: OpenCrawl, act: str) -> None:
    """Print the command that carries out a change, if no service does."""
    if not (place.fleet or place.is_running()):
        say(f"gossamer crawl {act}.")


def _diff(place: OpenCrawl, file: CrawlFile) -> int:
    """Print what applying *file* would change. Return 1 if it would change anything."""
    plan = plan_apply(place, file, clock.now())
    if not plan.effect.count:
        say(plan.effect.text)
        return 0
    is_known = file.definition.crawl in place.crawls()
    say(f"Crawl {file.definition.crawl} would be {'changed' if is_known else 'defined'}:")
    print_items(plan.effect.lines)
    return 1
