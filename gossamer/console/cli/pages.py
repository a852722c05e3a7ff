"""`gossamer pages`: the newest version of each page of a crawl, from the topic `pages`.

With `--follow`, a document that is gone is a line, too. Otherwise it is left out.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import BinaryIO

import msgspec

from gossamer.console.cli.options import add_crawl, add_output, open_from, open_output
from gossamer.errors import BadSettings
from gossamer.events.topics import PAGES, topic_of_pages
from gossamer.extras import require_extra
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log import Record, read_topic
from gossamer.log.codec import crawl_of, tombstone
from gossamer.terminal import json_line

DIGEST_BYTES = 12


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
    from gossamer.console.cli.parquet import write

    return write


def iterate_records(crawl: OpenCrawl, follow: bool) -> Iterator[Record]:
    """Yield the newest record of each document of *crawl* on the topic with its pages; with
    *follow*, all changes."""
    if crawl.fleet and not follow:
        return _newest(crawl)
    return (record for record in _poll(crawl, follow) if record.value or follow)


def _poll(crawl: OpenCrawl, follow: bool) -> Iterator[Record]:
    name, definition = crawl.id, crawl.definition()
    topic = topic_of_pages(definition) if definition else PAGES.name
    return (r for r in read_topic(crawl.log, topic, follow) if crawl_of(r) == name)


def _newest(crawl: OpenCrawl) -> Iterator[Record]:
    """Yield the newest record of each URL whose document is not gone.

    Brokers compact a topic late. So the topic is read twice: first for the offset of the newest
    record of each URL, which fits into memory, unlike the pages.
    """
    newest: dict[bytes, int] = {}
    for record in _poll(crawl, follow=False):
        if record.value:
            newest[_digest(record.key)] = record.offset
        else:
            newest.pop(_digest(record.key), None)
    for record in _poll(crawl, follow=False):
        key = _digest(record.key)
        # A newer record may have been appended since, and the older one compacted.
        if (offset := newest.get(key)) is not None and record.offset >= offset:
            del newest[key]
            if record.value:
                yield record


def _digest(key: str) -> bytes:
    return blake2b(key.encode(), digest_size=DIGEST_BYTES).digest()


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
