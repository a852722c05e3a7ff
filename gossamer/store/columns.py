"""The columns of a row: one for each field, or several for a column group."""

from collections.abc import Callable, Collection, Iterator, Sequence
from enum import StrEnum
from functools import cache
from inspect import signature
from itertools import groupby
from operator import itemgetter
from threading import Lock
from types import NoneType, UnionType
from typing import Any, Generic, NamedTuple, NewType, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import astuple

from gossamer.errors import Newer
from gossamer.store import ColumnGroup, R, Row

SCALARS = (str, int, float, bool, bytes)
"""Types with their own column type in every store."""
Reader = Callable[[Any], Any] | None
"""Converts a column value to a field value. None means that both are equal."""
_one_thread = Lock()


class Column(NamedTuple):
    """A column, and the field that it stores."""

    name: str
    kind: Any
    """The Python type, without `| None` if null represents None."""
    field: str
    """The field of the row or of the group."""
    group_field: str = ""
    """The row's field with the group, or "" for a column outside of groups."""
    group: type[ColumnGroup] | None = None
    is_optional: bool = False
    """Whether null represents None."""


@cache
def columns_of(row: type[Row]) -> tuple[Column, ...]:
    """Return the columns of *row* in order. Raise TypeError if two have the same name."""
    columns = tuple(_columns(row))
    if len({column.name for column in columns}) < len(columns):
        raise TypeError(f"two columns of {row.__name__} have the same name")
    return columns


def _columns(row: type[Row]) -> Iterator[Column]:
    for name, kind, default in _fields(row):
        if group := _group(kind):
            if default in (msgspec.NODEFAULT, None):
                raise TypeError(f"{row.__name__}.{name} needs a group of columns as its default")
            for field, of, of_default in _fields(group):
                yield Column(f"{name}_{field}", of, field, name, group, of_default is None)
        else:
            yield Column(name, kind, name, is_optional=default is None)


def _fields(of: type[msgspec.Struct]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, the type and the default of each field."""
    hints = get_type_hints(of)
    for field in msgspec.structs.fields(of):
        kind, default = _base_type(hints[field.name]), field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory
        present = _base_type(_without_none(kind))
        if (default is None and (present in SCALARS or is_word(present))) or _group(present):
            kind = present
        yield field.name, kind, default


def _without_none(kind: Any) -> Any:
    """Return X if *kind* is `X | None`, else *kind*."""
    parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else ()
    others = [part for part in parts if part is not NoneType]
    return others[0] if len(parts) == 2 and len(others) == 1 else kind


def _base_type(kind: Any) -> Any:
    """Return the supertype of a `NewType`, and other types unchanged."""
    return kind.__supertype__ if isinstance(kind, NewType) else kind


def _group(kind: Any) -> type[ColumnGroup] | None:
    return kind if isinstance(kind, type) and issubclass(kind, ColumnGroup) else None


def is_word(kind: Any) -> bool:
    """Return whether *kind* is an enumeration of texts."""
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def _json_reader(kind: Any) -> Reader:
    # msgspec publishes what it knows of a Struct before that is complete: a second thread that
    # decodes with it in the meantime reads a null pointer.
    with _one_thread:
        return msgspec.json.Decoder(kind).decode


@cache
def _is_positional(row: type[Row]) -> bool:
    """Return whether all fields of *row* may be positional arguments."""
    parameters = signature(row).parameters.values()
    return all(one.kind is not one.KEYWORD_ONLY for one in parameters)


class Group(NamedTuple):
    """A column group in a row."""

    start: int
    end: int
    """Positions of the group's columns."""
    field: int
    """Position of the group's field in the row."""
    kind: type[ColumnGroup]


class Codec(Generic[R]):
    """Converts rows to column values and back.

    A null in a row from before the column was added becomes the field's default. If all columns of
    a group are null, the default of the row's field applies.
    """

    def __init__(
        self, row: type[R], reader: Callable[[Any], Reader], json: Collection[str]
    ) -> None:
        """*reader* returns the reader of a Python type. *json* names the columns with JSON."""
        self._row = row
        self._columns = columns = columns_of(row)
        in_json = [at for at, column in enumerate(columns) if column.name in json]
        readers = {
            at: _json_reader(column.kind) if at in in_json else reader(column.kind)
            for at, column in enumerate(columns)
        }
        self._fields = row.__struct_fields__
        self._is_positional = _is_positional(row)
        self._json = in_json
        self._readers = [(at, read) for at, read in readers.items() if read]
        required = [at for at, column in enumerate(columns) if not column.is_optional]
        # With position 0, there are at least two positions, for which the result is a tuple.
        self._of_required = itemgetter(0, *required)
        # In reverse, so that the positions before a group do not change.
        self._groups = [*reversed([*_groups(columns)])]
        self._group_fields = [group.field for group in self._groups]

    def values(self, row: R) -> Sequence[Any]:
        """Return the column values of *row*, in order."""
        if not self._groups and not self._json:
            return astuple(row)
        values = [*astuple(row)]
        for at in self._group_fields:
            values[at : at + 1] = astuple(values[at])
        for at in self._json:
            values[at] = msgspec.json.encode(values[at]).decode()
        return values

    def row(self, values: Sequence[Any]) -> R:
        """Return the row with these column *values*, in order.

        Raise Newer if a value cannot be read.
        """
        try:
            return self._read(values)
        except (ValueError, msgspec.MsgspecError) as error:
            raise Newer(
                f"a row of {self._row.table} cannot be read: upgrade this service if a newer "
                f"version wrote the row ({error})"
            ) from error

    def _read(self, values: Sequence[Any]) -> R:
        read = [*values]
        for at, reader in self._readers:
            if (value := read[at]) is not None:
                read[at] = reader(value)
        if None in self._of_required(values):
            return self._older_row(values, read)
        for start, end, _, group in self._groups:
            read[start:end] = (group(*read[start:end]),)
        if self._is_positional:
            return self._row(*read)
        return self._row(**dict(zip(self._fields, read, strict=True)))

    def _older_row(self, values: Sequence[Any], read: Sequence[Any]) -> R:
        """Return the row with the default for each null among *values*. *read* are the converted
        values."""
        given = dict[str, Any]()
        groups = dict[str, tuple[type[ColumnGroup], dict[str, Any]]]()
        for column, value, converted in zip(self._columns, values, read, strict=True):
            if value is None:
                continue
            if column.group:
                _, fields = groups.setdefault(column.group_field, (column.group, {}))
                fields[column.field] = converted
            else:
                given[column.field] = converted
        return self._row(**given, **{name: kind(**of) for name, (kind, of) in groups.items()})


def _groups(columns: Sequence[Column]) -> Iterator[Group]:
    fields = list(dict.fromkeys(column.group_field or column.field for column in columns))
    start = 0
    for (name, group), some in groupby(columns, lambda one: (one.group_field, one.group)):
        end = start + len(list(some))
        if group:
            yield Group(start, end, fields.index(name), group)
        start = end
