"""`gossamer pages`: the public `pages` topic, the newest version of each URL."""

import argparse
import sys
from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from console.cli.options import add_data
from console.house.folder import Folder, Opened
from gossamer.codec import decode
from gossamer.errors import BadSettings
from gossamer.events import Page
from gossamer.log import Record
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
    add_data(command)
    command.add_argument("--format", choices=("jsonl", "parquet"), default="jsonl")
    command.add_argument("--output", metavar="FILE", help="instead of standard output")
    command.add_argument("--follow", action="store_true", help="go on with pages as they come")


def run(options: argparse.Namespace) -> int:
    """Write the pages."""
    if options.format == "parquet" and options.follow:
        raise BadSettings("--follow: a Parquet file has an end; follow as jsonl")
    opened = Folder(options.data).open()
    records = _records(opened, options.follow)
    write = _parquet if options.format == "parquet" else _lines
    if not options.output:
        if options.format == "parquet" and sys.stdout.isatty():
            raise BadSettings("--format parquet: name a file with --output, or pipe it somewhere")
        write(records, sys.stdout.buffer)
        return 0
    try:
        with open(options.output, "wb") as file:
            write(records, file)
    except OSError as error:
        raise BadSettings(f"--output {options.output} cannot be written: {error}") from error
    return 0


def _records(opened: Opened, follow: bool) -> Iterator[Record]:
    tail = opened.log.tail([PAGES.name])
    while (records := tail.poll(WAIT if follow else 0)) or follow:
        yield from (record for record in records if record.value)


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
