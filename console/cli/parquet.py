"""Pages as Parquet. A module of its own, because it imports a large library that few need."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.events import Page
from gossamer.log import Record
from gossamer.log.codec import decode

ROWS = 500
"""Rows in a Parquet row group."""

_INSTANT = pa.timestamp("us", tz="UTC")
SCHEMA = pa.schema(
    [
        ("url", pa.string()),
        ("site", pa.string()),
        ("status", pa.int32()),
        ("fetched_at", _INSTANT),
        ("content_type", pa.string()),
        ("title", pa.string()),
        ("description", pa.string()),
        ("language", pa.string()),
        ("text", pa.string()),
        ("links", pa.list_(pa.string())),
        ("verdict", pa.string()),
        ("duplicate_of", pa.string()),
        ("near_duplicate_of", pa.string()),
        ("change", pa.float32()),
        ("first_seen", _INSTANT),
        ("last_changed", _INSTANT),
        ("last_visited", _INSTANT),
        ("unchanged", pa.bool_()),
        ("digest", pa.string()),
        ("depth", pa.int32()),
        ("via", pa.string()),
        ("canonical", pa.string()),
        ("noindex", pa.bool_()),
        ("truncated", pa.bool_()),
        ("hazards", pa.list_(pa.string())),
        ("usage", pa.map_(pa.string(), pa.string())),
        ("crawl", pa.string()),
    ]
)


def write(records: Iterator[Record], out: BinaryIO) -> None:
    """Write the pages among *records* to *out*, one row a page."""
    with pq.ParquetWriter(out, SCHEMA, compression="zstd") as writer:
        while rows := [_row(record) for record in islice(records, ROWS)]:
            writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))


def _row(record: Record) -> dict[str, Any]:
    page = decode(record)
    assert isinstance(page, Page)
    row = {name: getattr(page, name) for name in SCHEMA.names}
    return {
        **row,
        **{
            name: _micros(row[name]) for name in SCHEMA.names if SCHEMA.field(name).type == _INSTANT
        },
        "verdict": page.verdict.value,
        "usage": [*page.usage.items()],
    }


def _micros(at: float) -> int | None:
    """Return what Parquet has of an instant; nothing where it is not known."""
    return round(at * 1e6) if at else None
