"""`gossamer pages`: the public `pages` topic, the newest version of each URL."""

import argparse
import sys
from collections.abc import Iterator
from hashlib import blake2b
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from console.cli.options import add_place, place_of
from console.place import Place
from gossamer.codec import decode
from gossamer.errors import BadSettings
from gossamer.events import Page
from gossamer.log import Log, Record
from gossamer.topics import PAGES

WAIT = 1.0
ROWS = 500
"""Rows in a Parquet row group."""

SCHEMA = pa.schema(
    [
        ("url", pa.string()),
        ("site", pa.string()),
        ("status", pa.int32()),
        ("fetched_at", pa.timestamp("us", tz="UTC")),
        ("content_type", pa.string()),
        ("title", pa.string()),
        ("description", pa.string()),
        ("language", pa.string()),
        ("text", pa.string()),
        ("links", pa.list_(pa.string())),
        ("verdict", pa.string()),
        ("duplicate_of", pa.string()),
        ("digest", pa.string()),
        ("depth", pa.int32()),
        ("via", pa.string()),
        ("canonical", pa.string()),
        ("noindex", pa.bool_()),
        ("truncated", pa.bool_()),
        ("hazards", pa.list_(pa.string())),
        ("crawl", pa.string()),
    ]
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_place(command)
    command.add_argument("--format", choices=("jsonl", "parquet"), default="jsonl")
    command.add_argument("--output", metavar="FILE", help="instead of standard output")
    command.add_argument("--follow", action="store_true", help="go on with pages as they come")


def run(options: argparse.Namespace) -> int:
    """Write the pages."""
    if options.format == "parquet" and options.follow:
        raise BadSettings("--follow: a Parquet file has an end; follow as jsonl")
    if options.format == "parquet" and not options.output and sys.stdout.isatty():
        raise BadSettings("--format parquet: name a file with --output, or pipe it somewhere")
    write = _parquet if options.format == "parquet" else _lines
    with place_of(options) as place:
        records = _records(place, options.follow)
        if not options.output:
            write(records, sys.stdout.buffer)
            return 0
        try:
            with open(options.output, "wb") as file:
                write(records, file)
        except OSError as error:
            raise BadSettings(f"--output {options.output} cannot be written: {error}") from error
    return 0


def _records(place: Place, follow: bool) -> Iterator[Record]:
    if place.fleet and not follow:
        return _newest(place.log)
    return (record for record in _read(place.log, follow) if record.value)


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
        out.write(record.value + b"\n")
        out.flush()


def _parquet(records: Iterator[Record], out: BinaryIO) -> None:
    with pq.ParquetWriter(out, SCHEMA, compression="zstd") as writer:
        while rows := [_row(record) for record in islice(records, ROWS)]:
            writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))


def _row(record: Record) -> dict[str, Any]:
    page = decode(record)
    assert isinstance(page, Page)
    row = {name: getattr(page, name) for name in SCHEMA.names}
    return {**row, "fetched_at": round(page.fetched_at * 1e6), "verdict": page.verdict.value}
