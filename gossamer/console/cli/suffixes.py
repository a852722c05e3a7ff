"""`gossamer suffixes apply`: changes a crawl at rest to the suffix list of this release."""

import argparse

from gossamer.console.cli.options import add_place, place_from
from gossamer.console.output import say_each
from gossamer.inspection.basics.folder import Folder
from gossamer.procedures.suffixes import apply_to_fleet, apply_to_folder


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    actions = command.add_subparsers(required=True, metavar="ACTION", dest="action")
    apply = actions.add_parser(
        "apply", help="change a crawl that does not run to the public suffix list of this release"
    )
    add_place(apply)


def run(options: argparse.Namespace) -> int:
    """Print each step when it is done."""
    place = place_from(options)
    steps = apply_to_folder(place) if isinstance(place, Folder) else apply_to_fleet(place)
    say_each(steps)
    return 0
