"""Pages as Parquet, in a module of its own because pyarrow is large and optional.

The columns are the fields of `Page`: a new field is a new column.
"""

from collections.abc import Iterator
from enum import StrEnum
from itertools import islice
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct, inspect

from gossamer.events import Page
from gossamer.events.records import instants_of
from gossamer.log import Record
from gossamer.log.codec import decode

ROW_GROUP_SIZE = 500
"""Rows in a Parquet row group."""

_EXCLUDED = frozenset({"at", "version"})
"""Fields about the record, not about the page."""


def _columns(struct: inspect.StructType) -> Iterator[tuple[str, pa.DataType]]:
    for field in struct.fields:
        yield field.name, _type(field.type)


def _type(kind: inspect.Type) -> pa.DataType:
    match kind:
        case inspect.Metadata(type=plain):
            return _type(plain)
        case inspect.UnionType(types=kinds):
            (optional,) = (one for one in kinds if not isinstance(one, inspect.NoneType))
            return _type(optional)
        case inspect.StructType():
            return pa.struct([*_columns(kind)])
        case inspect.VarTupleType(item_type=item):
            return pa.list_(_type(item))
        case inspect.DictType(key_type=key, value_type=value):
            return pa.map_(_type(key), _type(value))
    return _PLAIN[type(kind)]


_PLAIN = {
    inspect.StrType: pa.string(),
    inspect.EnumType: pa.string(),
    inspect.BoolType: pa.bool_(),
    inspect.IntType: pa.int32(),
    inspect.FloatType: pa.float32(),
}


def _schema() -> pa.Schema:
    page = inspect.type_info(Page)
    assert isinstance(page, inspect.StructType)
    instants = dict.fromkeys(_INSTANTS, pa.timestamp("us", tz="UTC"))
    columns = dict(_columns(page)) | instants
    names = dict.fromkeys(("url", "site", "status", "fetched_at", *columns))
    return pa.schema([(name, columns[name]) for name in names if name not in _EXCLUDED])


_INSTANTS = instants_of(Page)
SCHEMA = _schema()


def write(records: Iterator[Record], out: BinaryIO) -> None:
    """Write the pages in *records* to *out*, one row a page."""
    with pq.ParquetWriter(out, SCHEMA, compression="zstd") as writer:
        while rows := [_row(record) for record in islice(records, ROW_GROUP_SIZE)]:
            writer.write_table(pa.Table.from_pylist(rows, schema=SCHEMA))


def _row(record: Record) -> dict[str, Any]:
    page = decode(record)
    assert isinstance(page, Page)
    row: dict[str, Any] = _plain(page)
    return {**row, **{name: _micros(row[name]) for name in _INSTANTS}}


def _plain(value: Any) -> Any:
    """Return *value* for pyarrow, with all fields: as JSON, structs omit defaults."""
    match value:
        case Struct():
            return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
        case tuple():
            return [_plain(one) for one in value]
        case dict():
            return [(key, _plain(one)) for key, one in value.items()]
        case StrEnum():
            return value.value
    return value


def _micros(at: float) -> int | None:
    """Return an instant in microseconds; None if it is not known."""
    return round(at * 1e6) if at else None
