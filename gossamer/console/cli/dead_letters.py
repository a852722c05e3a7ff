"""`gossamer dead-letters`: lists, replays or discards records that could not be processed."""

import argparse
from collections.abc import Callable
from typing import get_args

from msgspec import to_builtins

from gossamer.changes.letters import plan_discard, plan_replay
from gossamer.changes.plan import Plan
from gossamer.console.cli.changing import add_change, carry_out
from gossamer.console.cli.options import add_place, open_from
from gossamer.console.output import print_json, say
from gossamer.errors import BadSettings
from gossamer.events import DeadLetter
from gossamer.inspection.basics.figures import instant
from gossamer.inspection.crawls.dead_letters import Service, iterate_letters


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    actions = command.add_subparsers(required=True, metavar="ACTION", dest="action")
    show = actions.add_parser("list", help="list them, one a line, oldest first")
    show.add_argument("--json", action="store_true", help="as JSON, with the bytes in base64")
    again = actions.add_parser("replay", help="append them to their topics again")
    again.add_argument("--all", action="store_true", help="replay all of them")
    discard = actions.add_parser("discard", help="erase them")
    discard.add_argument("--all", action="store_true", help="erase all of them")
    for action in (again, discard):
        action.add_argument(
            "letters", nargs="*", metavar="PARTITION/OFFSET", help="the name in the list"
        )
        add_change(action)
    for action in (show, again, discard):
        action.add_argument(
            "--service",
            choices=get_args(Service),
            help="only records that this service could not process",
        )
        add_place(action)


def run(options: argparse.Namespace) -> int:
    """List, replay or discard the dead letters."""
    if options.action == "list":
        return _list(options)
    return _change(options, plan_replay if options.action == "replay" else plan_discard)


def _list(options: argparse.Namespace) -> int:
    with open_from(options) as crawl:
        for name, _, letter in iterate_letters(crawl.log, options.service):
            if options.json:
                print_json({"letter": name, **to_builtins(letter)})
            else:
                say(_as_line(name, letter))
    return 0


def _change(options: argparse.Namespace, make_plan: Callable[..., Plan]) -> int:
    if bool(options.letters) == options.all:
        raise BadSettings("name dead letters as PARTITION/OFFSET, or use --all")
    with open_from(options) as crawl:
        names = None if options.all else set(options.letters)
        effect = carry_out(crawl, make_plan(crawl, names, options.service), options)
    say(effect.text)
    return 1 if effect.refused else 0


def _as_line(name: str, letter: DeadLetter) -> str:
    origin = f"{letter.topic}/{letter.partition}/{letter.offset}"
    columns = name, instant(letter.at), letter.service, origin, letter.reason
    return "  ".join(columns)
