"""`gossamer pages`: the newest version of each page of a crawl, from the topic `pages`.

With `--follow`, a document that is gone is a line, too. Otherwise it is left out.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from typing import BinaryIO

import msgspec

from gossamer.console.cli.options import add_crawl, add_output, open_from, open_output
from gossamer.errors import BadSettings
from gossamer.extras import require_extra
from gossamer.inspection.crawls.documents import iterate_records
from gossamer.log import Record
from gossamer.log.codec import tombstone
from gossamer.terminal import json_line


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    add_crawl(command)
    command.add_argument("--format", choices=("jsonl", "parquet"), default="jsonl")
    add_output(command)
    command.add_argument(
        "--follow", action="store_true", help="continue with new, changed and vanished pages"
    )


def run(options: argparse.Namespace) -> int:
    """Write the pages."""
    if options.format == "parquet" and options.follow:
        raise BadSettings("--follow works with --format jsonl only: a Parquet file is complete")
    if options.format == "parquet" and not options.output and sys.stdout.isatty():
        raise BadSettings("--format parquet is binary: name a file with --output, or use a pipe")
    write = _writer(options.format)
    with open_from(options) as crawl, open_output(options) as out:
        write(iterate_records(crawl, options.follow), out)
    return 0


def _writer(form: str) -> Callable[[Iterator[Record], BinaryIO], None]:
    if form == "jsonl":
        return _write_jsonl
    require_extra("parquet")
    from gossamer.console.exports.parquet import write_pages

    return write_pages


def _write_jsonl(records: Iterator[Record], out: BinaryIO) -> None:
    for record in records:
        out.write(json_line(record.value or _tombstone_line(record)).encode() + b"\n")
        out.flush()


def _tombstone_line(record: Record) -> bytes:
    found = tombstone(record)
    line = {
        "crawl": found.crawl,
        "url": found.url,
        "gone": found.reason,
        "status": found.status,
        "at": found.at,
    }
    line |= {"verdict": found.verdict, "redirects_to": found.redirects_to}
    return msgspec.json.encode(line)
