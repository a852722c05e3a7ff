"""`gossamer pages`: the public `pages` topic, the newest version of each URL.

Who follows it is told of documents that are gone; elsewhere they are just not there.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import BinaryIO

import msgspec

from console.cli.options import add_crawl, open_from
from console.open_crawl import OpenCrawl
from gossamer.errors import BadSettings
from gossamer.events.topics import PAGES
from gossamer.extras import require_extra
from gossamer.log import Log, Record
from gossamer.log.codec import tombstone
from gossamer.terminal import json_line

WAIT = 1.0


def add_options(command: argparse.ArgumentParser) -> None:
    """Add its arguments to *command*."""
    add_crawl(command)
    command.add_argument("--format", choices=("jsonl", "parquet"), default="jsonl")
    command.add_argument("--output", metavar="FILE", help="instead of standard output")
    command.add_argument(
        "--follow", action="store_true", help="go on with pages as they come, and as they go"
    )


def run(options: argparse.Namespace) -> int:
    """Write the pages."""
    if options.format == "parquet" and options.follow:
        raise BadSettings("--follow: a Parquet file has an end; follow as jsonl")
    if options.format == "parquet" and not options.output and sys.stdout.isatty():
        raise BadSettings("--format parquet: name a file with --output, or pipe it somewhere")
    write = _writer(options.format)
    with open_from(options) as crawl:
        records = _records(crawl, options.follow)
        if not options.output:
            write(records, sys.stdout.buffer)
            return 0
        try:
            with open(options.output, "wb") as file:
                write(records, file)
        except OSError as error:
            raise BadSettings(f"--output {options.output} cannot be written: {error}") from error
    return 0


def _writer(form: str) -> Callable[[Iterator[Record], BinaryIO], None]:
    if form == "jsonl":
        return _lines
    require_extra("parquet")
    from console.cli.parquet import write

    return write


def _records(crawl: OpenCrawl, follow: bool) -> Iterator[Record]:
    if crawl.fleet and not follow:
        return _newest(crawl.log)
    return (record for record in _read(crawl.log, follow) if record.value or follow)


def _read(log: Log, follow: bool) -> Iterator[Record]:
    tail = log.tail([PAGES.name])
    while (records := tail.poll(WAIT if follow else 0)) or follow:
        yield from records


def _newest(log: Log) -> Iterator[Record]:
    """Yield the newest record of each URL that has not gone.

    Brokers compact a topic when they come to it. So it is read twice: first where the newest of
    each URL lies, which fits into memory as the pages do not.
    """
    newest: dict[bytes, int] = {}
    for record in _read(log, follow=False):
        if record.value:
            newest[_short(record.key)] = record.offset
        else:
            newest.pop(_short(record.key), None)
    for record in _read(log, follow=False):
        key = _short(record.key)
        # A later one has come meanwhile, and what was the newest may be gone already.
        if (offset := newest.get(key)) is not None and record.offset >= offset:
            del newest[key]
            if record.value:
                yield record


def _short(url: str) -> bytes:
    return blake2b(url.encode(), digest_size=12).digest()


def _lines(records: Iterator[Record], out: BinaryIO) -> None:
    for record in records:
        out.write(json_line(record.value or _gone(record)).encode() + b"\n")
        out.flush()


def _gone(record: Record) -> bytes:
    gone = tombstone(record)
    line = {"url": gone.url, "gone": gone.reason, "status": gone.status, "at": gone.at}
    line |= {"verdict": gone.verdict, "redirects_to": gone.redirects_to}
    return msgspec.json.encode(line)
