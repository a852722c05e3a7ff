"""`gossamer cdx`: one index of all captures of a crawl, in CDXJ, merged from the files' indexes."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO

from console.cli.options import add_crawl, open_from
from console.output import say
from gossamer.errors import BadSettings
from inspection.figures import plural
from inspection.warcs import list_warcs


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_crawl(command)
    command.add_argument(
        "--output", metavar="FILE", help="write to FILE instead of standard output"
    )


def run(options: argparse.Namespace) -> int:
    """Write the index."""
    with open_from(options) as crawl:
        warcs = list_warcs(crawl)
        with _output(options.output) as out:
            captures = _write(warcs.merged_lines(), out)
    if options.output:
        count = plural(captures, "capture")
        say(f"Index of {count} in {plural(len(warcs.files), 'file')} written to {options.output}.")
    if warcs.absent:
        print(
            f"{plural(len(warcs.absent), 'open file')} on other machines: not in the index yet.",
            file=sys.stderr,
        )
    return 0


def _write(lines: Iterable[str], out: TextIO) -> int:
    count = 0
    for line in lines:
        out.write(line)
        count += 1
    return count


@contextmanager
def _output(path: str | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    try:
        with open(path, "w", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise BadSettings(f"--output {path} cannot be written: {error}") from error
