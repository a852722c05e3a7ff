"""`gossamer snapshot`: writes a consistent copy of a folder's crawl, which may run meanwhile."""

import argparse
import shlex
from pathlib import Path

from console.cli.options import add_crawl, folder_from
from console.figures import instant, plural, size
from standalone.snapshot import COPY, take_snapshot


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    command.add_argument(
        "snapshot", type=Path, metavar="DIR", help="the folder to write, which is new or empty"
    )
    add_crawl(command)


def run(options: argparse.Namespace) -> int:
    """Write the snapshot, and say what it has."""
    folder, target = folder_from(options), options.snapshot
    snapshot = take_snapshot(folder, target)
    files, database = snapshot.files, (target / COPY).stat().st_size
    print(
        f"{target} has the crawl in {folder.path} as of {instant(snapshot.taken_at)}: the database "
        f"({size(database)}) and a list of {plural(len(files), 'WARC file')} "
        f"({size(sum(files.values()))}), which are not copied."
    )
    back = shlex.join(["gossamer", "restore", str(target), "--data", str(folder.path)])
    print(f"To go back to it when no crawl runs: {back} --replace")
    return 0
