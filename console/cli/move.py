"""`gossamer move`: moves a folder's crawl to a fleet, or a fleet's crawl to a folder."""

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

from console.cli.options import add_config, settings_of
from console.moving import Side, move
from console.output import say
from console.preconditions import check_stopped
from gossamer import clock
from gossamer.errors import BadSettings
from gossamer.log import Log
from gossamer.runtime.backends import check_fleet, open_fleet
from gossamer.runtime.identity import stated_identity
from gossamer.settings import Settings
from inspection.folder import Folder, Opened
from services.archive.files.repair import repair
from services.archive.rows import SegmentRow
from services.archive.service import STANDALONE_WRITER


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
    check_fleet(settings)
    if settings.dedup.engine == "faust":
        raise BadSettings(
            "dedup.engine is faust, whose tables cannot be moved: set it to own, and start dedup "
            "once so that it reads the changelog"
        )
    steps = (
        _to_folder(settings, Folder(options.to))
        if options.to
        else _to_fleet(settings, Folder(options.folder))
    )
    for line in steps:
        say(line)
    return 0


def _to_fleet(settings: Settings, folder: Folder) -> Iterator[str]:
    opened = folder.open()
    folder.lock_for_crawl()
    check_stopped(settings.kafka)
    with open_fleet(settings, "move") as (log, store):
        fleet = Side(_name(settings), log, store, is_folder=False)
        # Completes the segments that a killed crawl left open.
        repair(folder.warc, opened.store.table(SegmentRow).get(STANDALONE_WRITER))
        yield from move(_side(opened), fleet, clock.now())
    yield f"The crawl is in {fleet.name} now. Start the services."
    yield f"WARC files stay in {folder.warc}: captures name them without a folder."


def _to_folder(settings: Settings, folder: Folder) -> Iterator[str]:
    check_stopped(settings.kafka)
    with open_fleet(settings, "move") as (log, store):
        folder.make()
        folder.lock_for_crawl()
        _remove_former(folder, log)
        fleet = Side(_name(settings), log, store, is_folder=False)
        yield from move(fleet, _side(Opened(folder)), clock.now())
    data = shlex.quote(str(folder.path))
    yield f"The crawl is in {folder.path} now. Continue with gossamer crawl --data {data}"
    yield "WARC files stay in the folders of the archive instances."


def _name(settings: Settings) -> str:
    prefix, keyspace = settings.kafka.prefix, settings.cassandra.keyspace
    topics = f"topics {prefix}*, " if prefix else ""
    return f"the fleet on {settings.kafka.servers} ({topics}keyspace {keyspace})"


def _side(opened: Opened) -> Side:
    name = f"the folder {opened.folder.path.absolute()}"
    return Side(name, opened.log, opened.store, is_folder=True)


def _remove_former(folder: Folder, log: Log) -> None:
    """Remove the database of *folder* if it is an earlier state of the crawl on *log*."""
    if not folder.database.exists():
        return
    opened = folder.open()
    former, crawl = stated_identity(opened.log), stated_identity(log)
    opened.database.close()
    if not former or not crawl or former.id != crawl.id or crawl.moved_to:
        return
    if former.moved_to or former.moving_from:
        for file in (folder.database, *folder.path.glob(f"{folder.database.name}-*")):
            file.unlink()
