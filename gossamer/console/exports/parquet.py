"""Rows as Parquet, in a module of its own because pyarrow is large and optional."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct, inspect, json

from gossamer.events import Page
from gossamer.inspection.basics.figures import MAX_INSTANT
from gossamer.inspection.exports.columns import COLUMNS, INSTANTS, MIN_INSTANT, PAGE_FIELDS, Row
from gossamer.log import Record
from gossamer.log.codec import decode

ROW_GROUP_SIZE = 500
"""Rows in a Parquet row group."""
VALUE_BYTES = 60
"""Bytes of a value without its content."""

_PLAIN = {
    inspect.StrType: pa.string(),
    inspect.EnumType: pa.string(),
    inspect.BoolType: pa.bool_(),
    inspect.IntType: pa.int32(),
    inspect.FloatType: pa.float32(),
}


def _type(kind: inspect.Type) -> pa.DataType:
    match kind:
        case inspect.Metadata(type=plain):
            return _type(plain)
        case inspect.UnionType() if optional := _optional_of(kind):
            return _type(optional)
        case inspect.StructType():
            return pa.struct([(field.name, _type(field.type)) for field in kind.fields])
        case inspect.VarTupleType(item_type=item):
            return pa.list_(_type(item))
        case inspect.DictType(key_type=key, value_type=value):
            return pa.map_(_type(key), _type(value))
    # A value of any other type is JSON.
    return _PLAIN.get(type(kind), pa.string())


def _optional_of(kind: inspect.UnionType) -> inspect.Type | None:
    """Return the type of an optional value; None if it may have several types."""
    kinds = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
    return kinds[0] if len(kinds) == 1 else None


class ParquetRows:
    """Writes rows to a Parquet file, ROW_GROUP_SIZE at a time."""

    def __init__(
        self, out: BinaryIO, types: Mapping[str, inspect.Type], instants: frozenset[str]
    ) -> None:
        """*types* by the names of the columns, of which *instants* are points in time."""
        self._types, self._instants = types, instants
        times = dict.fromkeys(instants, pa.timestamp("us", tz="UTC"))
        columns = [(name, times.get(name) or _type(kind)) for name, kind in types.items()]
        self._schema = pa.schema(columns)
        self._writer = pq.ParquetWriter(out, self._schema, compression="zstd")
        self._rows = list[Row]()
        self.buffer_size = 0

    def write(self, row: Row) -> None:
        """Write a row. Missing columns are null."""
        self._rows.append(
            {
                name: _micros(row.get(name))
                if name in self._instants
                else _value(kind, row.get(name))
                for name, kind in self._types.items()
            }
        )
        self.buffer_size += _size(self._rows[-1])
        if len(self._rows) == ROW_GROUP_SIZE:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are in memory as a row group."""
        self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows, self.buffer_size = [], 0

    def close(self) -> None:
        """Complete the file, which stays open."""
        if self._rows:
            self.flush()
        self._writer.close()


def _value(kind: inspect.Type, value: Any) -> Any:
    """Return *value* of this *kind* for pyarrow."""
    if value is None:
        return None
    match kind:
        case inspect.Metadata(type=plain):
            return _value(plain, value)
        case inspect.UnionType() if optional := _optional_of(kind):
            return _value(optional, value)
        case inspect.StructType():
            return {field.name: _value(field.type, value[field.name]) for field in kind.fields}
        case inspect.VarTupleType(item_type=item):
            return [_value(item, one) for one in value]
        case inspect.DictType(value_type=inner):
            return [(key, _value(inner, one)) for key, one in value.items()]
    is_plain = type(kind) in _PLAIN and not isinstance(value, dict)
    return value if is_plain else json.encode(value).decode()


def _size(value: Any) -> int:
    """Return the estimated bytes of *value* in memory."""
    match value:
        case str():
            return VALUE_BYTES + len(value)
        case dict():
            return sum(map(_size, value.values()), VALUE_BYTES)
        case list() | tuple():
            return sum(map(_size, value), VALUE_BYTES)
    return VALUE_BYTES


def write_pages(records: Iterator[Record], out: BinaryIO) -> None:
    """Write the pages in *records* to *out*, one row a page, as `gossamer pages` has them."""
    rows = ParquetRows(out, {name: PAGE_FIELDS[name] for name in COLUMNS}, INSTANTS)
    for record in records:
        page = decode(record)
        assert isinstance(page, Page)
        rows.write(_plain(page))
    rows.close()


def _plain(value: Any) -> Any:
    """Return *value* with plain values for structs, and all of their fields: in JSON, structs omit
    defaults."""
    match value:
        case Struct():
            return {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
        case tuple():
            return [_plain(one) for one in value]
        case dict():
            return {key: _plain(one) for key, one in value.items()}
        case StrEnum():
            return value.value
    return value


def _micros(at: float | None) -> int | None:
    """Return an instant in microseconds; None if it is not known, or no calendar has it."""
    return round(at * 1e6) if at and MIN_INSTANT <= at <= MAX_INSTANT else None
