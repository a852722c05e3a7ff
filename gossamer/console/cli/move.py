"""`gossamer move`: moves a folder's crawl to a fleet, or a fleet's crawl to a folder."""

import argparse
from pathlib import Path

from gossamer.console.cli.options import add_config, settings_of
from gossamer.console.output import say_each
from gossamer.errors import BadSettings
from gossamer.inspection.basics.folder import Folder
from gossamer.procedures.move import move_to_fleet, move_to_folder


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    command.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="FOLDER",
        help="move the crawl in FOLDER to the fleet of the settings",
    )
    command.add_argument(
        "--to",
        type=Path,
        metavar="FOLDER",
        help="move the crawl of the fleet to FOLDER",
    )
    add_config(command)


def run(options: argparse.Namespace) -> int:
    """Print each step when it is done. No service may run on either side."""
    if bool(options.folder) == bool(options.to):
        raise BadSettings(
            "name the folder to move to the fleet, or --to FOLDER to move the fleet's crawl"
        )
    settings = settings_of(options)
    move = move_to_folder if options.to else move_to_fleet
    say_each(move(settings, Folder(options.to or options.folder)))
    return 0
