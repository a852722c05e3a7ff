"""The columns of a row: one for each field, or several for a field that is a group of columns."""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import cache
from itertools import groupby
from types import NoneType, UnionType
from typing import Any, Generic, NamedTuple, NewType, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec.structs import astuple

from gossamer.store import ColumnGroup, R, Row

SCALARS = (str, int, float, bool, bytes)
"""Types that every store has a column type for."""
Reader = Callable[[Any], Any] | None
"""Turns the value of a column into that of a field; None if they are equal."""


class Column(NamedTuple):
    """A column, and the field whose value it holds."""

    name: str
    kind: Any
    """The Python type; without `| None` if null stands for None."""
    field: str
    """The field of the row, or of the group."""
    group_field: str = ""
    """The field of the row that holds the group; "" if the column is not in a group."""
    group: type[ColumnGroup] | None = None


@cache
def columns_of(row: type[Row]) -> tuple[Column, ...]:
    """Return the columns of *row*, in order; raise TypeError if two have the same name."""
    columns = tuple(_columns(row))
    if len({column.name for column in columns}) < len(columns):
        raise TypeError(f"two columns of {row.__name__} have the same name")
    return columns


def _columns(row: type[Row]) -> Iterator[Column]:
    for name, kind, default in _fields(row):
        if not (group := _group(kind)):
            yield Column(name, kind, name)
            continue
        if default is msgspec.NODEFAULT:
            raise TypeError(f"{row.__name__}.{name} is a group of columns, and has no default")
        for field, of, _ in _fields(group):
            yield Column(f"{name}_{field}", of, field, name, group)


def _fields(of: type[msgspec.Struct]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, the type and the default of each field."""
    hints = get_type_hints(of)
    for field in msgspec.structs.fields(of):
        kind, default = hints[field.name], field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory
        kind = _stored_as(kind)
        present = _stored_as(_without_none(kind))
        if default is None and (present in SCALARS or is_word(present) or _group(present)):
            kind = present
        yield field.name, kind, default


def _without_none(kind: Any) -> Any:
    """Return X if *kind* is `X | None`, else *kind*."""
    parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else ()
    others = [part for part in parts if part is not NoneType]
    return others[0] if len(parts) == 2 and len(others) == 1 else kind


def _stored_as(kind: Any) -> Any:
    """Return the type behind *kind*, if that is a `NewType`."""
    return kind.__supertype__ if isinstance(kind, NewType) else kind


def _group(kind: Any) -> type[ColumnGroup] | None:
    return kind if isinstance(kind, type) and issubclass(kind, ColumnGroup) else None


def is_word(kind: Any) -> bool:
    """Return whether *kind* is an enumeration of texts."""
    return isinstance(kind, type) and issubclass(kind, StrEnum)


class Run(NamedTuple):
    """Neighbouring columns of the same group, or of no group."""

    start: int
    end: int
    fields: tuple[str, ...]
    readers: tuple[Reader, ...]
    group_field: str
    group: type[ColumnGroup] | None


class Codec(Generic[R]):
    """Converts rows to the values of their columns, and back.

    A null column is left out when a row is built: the default of the field applies. So it is null
    for None, and in rows that are older than the column. If all columns of a group are null, the
    default of the row's field applies.
    """

    def __init__(self, row: type[R], reader: Callable[[Any], Reader], json: Sequence[str]) -> None:
        """*reader* returns the reader of a Python type; *json* names the columns that hold JSON."""
        self._row = row
        columns = columns_of(row)
        readers = [
            msgspec.json.Decoder(column.kind).decode if column.name in json else reader(column.kind)
            for column in columns
        ]
        self._runs = list(_runs(columns, readers))
        self._json: list[int] = []
        """Positions of the fields of the row that are stored as JSON."""
        self._groups: list[tuple[int, tuple[None, ...], list[int]]] = []
        """Positions of the fields that are groups, nulls for all of its columns, and the positions
        in the group of those that are stored as JSON; from the last group to the first."""
        positions = {name: at for at, name in enumerate(row.__struct_fields__)}
        for run in reversed(self._runs):
            in_json = [
                at for at, column in enumerate(columns[run.start : run.end]) if column.name in json
            ]
            if run.group:
                nulls = (None,) * len(run.fields)
                self._groups.append((positions[run.group_field], nulls, in_json))
            else:
                self._json += [positions[run.fields[at]] for at in in_json]

    def values(self, row: R) -> Sequence[Any]:
        """Return the values of the columns, in order."""
        if not self._groups and not self._json:
            return astuple(row)
        values = [*astuple(row)]
        for at in self._json:
            values[at] = _json(values[at])
        for at, nulls, in_json in self._groups:
            group = values[at]
            of_group: Sequence[Any] = nulls if group is None else astuple(group)
            if in_json and group is not None:
                of_group = [*of_group]
                for position in in_json:
                    of_group[position] = _json(of_group[position])
            values[at : at + 1] = of_group
        return values

    def row(self, values: Sequence[Any]) -> R:
        """Return the row with these *values* of its columns, in order."""
        given: dict[str, Any] = {}
        for start, end, fields, readers, group_field, group in self._runs:
            found = {
                field: read(value) if read else value
                for field, read, value in zip(fields, readers, values[start:end], strict=True)
                if value is not None
            }
            if group is None:
                given.update(found)
            elif found:
                given[group_field] = group(**found)
        return self._row(**given)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _runs(columns: Sequence[Column], readers: Sequence[Reader]) -> Iterator[Run]:
    at = 0
    for (group_field, group), some in groupby(columns, lambda one: (one.group_field, one.group)):
        fields = tuple(column.field for column in some)
        end = at + len(fields)
        yield Run(at, end, fields, tuple(readers[at:end]), group_field, group)
        at = end
