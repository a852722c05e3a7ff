"""Rows in Cassandra's terms: columns, statements, tables, and what of a found table does not fit.

Collections are frozen: overwriting a living one would leave a tombstone each time. No column is
ever written as null, which is a tombstone too: None is kept as JSON.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, get_type_hints

import msgspec

from gossamer.store import R, Row

TYPES: dict[Any, str] = {
    str: "text",
    int: "bigint",
    float: "double",
    bool: "boolean",
    bytes: "blob",
    dict[str, int]: "frozen<map<text, bigint>>",
    dict[str, float]: "frozen<map<text, double>>",
    tuple[str, ...]: "frozen<list<text>>",
}
JSON = "text"
"""The type of columns of all other kinds."""
SHORT_LIVED = """compaction = {'class': 'UnifiedCompactionStrategy', 'scaling_parameters': 'L4'}
  AND gc_grace_seconds = 10800"""
"""For tables whose partitions are dropped whole and never looked at again.

A partition and its drop lie in different files until these are merged, and nothing goes before
that: levels merge often, so that what was dropped is a small part of what is kept. Three hours are
as long as hints for a node that was down; one that was away for longer may bring a partition back,
and nobody asks for it.
"""


def kinds_of(row: type[Row]) -> dict[str, Any]:
    """Return the kind of each field, in their order."""
    hints = get_type_hints(row)
    return {name: hints[name] for name in row.__struct_fields__}


def columns_of(row: type[Row]) -> dict[str, str]:
    """Return the type of each column, in the fields' order."""
    return {name: TYPES.get(kind, JSON) for name, kind in kinds_of(row).items()}


def keys_of(row: type[Row]) -> list[str]:
    """Return the fields that a row is found by."""
    return [key for key in (row.partition_key, row.sort_key) if key]


class Statements:
    """All that is asked about one table of *keyspace*."""

    def __init__(self, keyspace: str, row: type[Row]) -> None:
        table, names = f'"{keyspace}"."{row.table}"', list(columns_of(row))
        columns = _listed(names)
        within = f'WHERE "{row.partition_key}" = ?'
        read = f"SELECT {columns} FROM {table} {within}"
        self.get = f'{read} AND "{row.sort_key}" = ?' if row.sort_key else read
        self.some = f'{read} AND "{row.sort_key}" IN ?'
        self.scan = f"{read} LIMIT ?"
        self.scan_beyond = f'{read} AND "{row.sort_key}" {"<>"[not row.newest_first]} ? LIMIT ?'
        self.put = f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(names))})"
        self.first = f"{self.put} IF NOT EXISTS"
        self.drop = f"DELETE FROM {table} {within}"


class Columns(Generic[R]):
    """A row's values as columns, and back."""

    def __init__(self, row: type[R]) -> None:
        self._row = row
        self._names = row.__struct_fields__
        kinds = kinds_of(row)
        self._nested = [
            at for at, kind in enumerate(kinds.values()) if kind not in TYPES and not _word(kind)
        ]
        self._readers = {name: _reader(kind) for name, kind in kinds.items()}

    def written(self, row: R) -> Sequence[Any]:
        """Return the values of the columns in the fields' order."""
        if not self._nested:
            return msgspec.structs.astuple(row)
        values = list(msgspec.structs.astuple(row))
        for at in self._nested:
            values[at] = msgspec.json.encode(values[at]).decode()
        return values

    def read(self, values: Iterable[Any]) -> R:
        """Return the row of *values* in the fields' order."""
        return self.named(dict(zip(self._names, values, strict=True)))

    def named(self, values: Mapping[str, Any]) -> R:
        """Return the row of *values* by their names.

        A column that was added later is null in older rows: the field's default stands for it.
        """
        readers = self._readers
        return self._row(
            **{
                name: read(value) if (read := readers[name]) else value
                for name in self._names
                if (value := values[name]) is not None
            }
        )


def _word(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, StrEnum)


def _reader(kind: Any) -> Any:
    """Return what makes a value of *kind* of a column's; None where it is one."""
    if kind in (str, int, float, bool, bytes):
        return None
    if _word(kind):
        return kind
    if kind in TYPES:
        return dict if TYPES[kind].startswith("frozen<map") else tuple
    return msgspec.json.Decoder(kind).decode


def keyspace(name: str, datacenter: str, replication: int) -> str:
    """Return the statement that makes a keyspace."""
    return (
        f'CREATE KEYSPACE IF NOT EXISTS "{name}" WITH replication = '
        f"{{'class': 'NetworkTopologyStrategy', '{_quoted(datacenter)}': {replication}}}"
    )


def table(row: type[Row], keyspace: str = "", options: str = "") -> str:
    """Return the statement that makes the table of *row*."""
    order = "DESC" if row.newest_first else "ASC"
    ordered = f'CLUSTERING ORDER BY ("{row.sort_key}" {order})' if row.sort_key else ""
    comment = f"comment = '{_quoted((row.__doc__ or '').strip().splitlines()[0])}'"
    told = "\n  AND ".join(option for option in (ordered, comment, options) if option)
    columns = "".join(f'  "{name}" {kind},\n' for name, kind in columns_of(row).items())
    name = f'"{keyspace}"."{row.table}"' if keyspace else f'"{row.table}"'
    return (
        f"CREATE TABLE IF NOT EXISTS {name} (\n{columns}"
        f"  PRIMARY KEY ({_listed(keys_of(row))})\n) WITH {told}"
    )


def column(row: type[Row], keyspace: str, name: str) -> str:
    """Return the statement that adds a column."""
    kind = columns_of(row)[name]
    return f'ALTER TABLE "{keyspace}"."{row.table}" ADD IF NOT EXISTS "{name}" {kind}'


@dataclass(frozen=True)
class Found:
    """A column as Cassandra's own tables describe it."""

    kind: str
    role: str
    """`partition_key`, `clustering` or `regular`."""
    order: str
    """`asc` or `desc` for one that orders, else `none`."""


FOUND = (
    "SELECT table_name, column_name, type, kind, clustering_order "
    "FROM system_schema.columns WHERE keyspace_name = ?"
)
FOUND_KEYSPACE = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?"

REPLICATION = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?"
SETTING = "SELECT value FROM system_views.settings WHERE name = ?"


def missing(row: type[Row], found: Mapping[str, Found]) -> list[str]:
    """Return the columns of *row* that are not there."""
    return [name for name in columns_of(row) if name not in found]


def misfits(row: type[Row], found: Mapping[str, Found]) -> Iterator[str]:
    """Say what of the *found* table no new column can mend."""
    for name, kind in columns_of(row).items():
        there, ought = found.get(name), _found(row, name, kind)
        if there is None:
            if ought.role != "regular":
                yield f"{name} ({ought.role}) is missing"
        elif there != ought:
            yield f"{name} is {_words(there)}, not {_words(ought)}"
    for name, there in found.items():
        if there.role in ("partition_key", "clustering") and name not in keys_of(row):
            yield f"{name} is a key there ({there.role}), not here"


def _found(row: type[Row], name: str, kind: str) -> Found:
    if name == row.partition_key:
        return Found(kind, "partition_key", "none")
    if name == row.sort_key:
        return Found(kind, "clustering", "desc" if row.newest_first else "asc")
    return Found(kind, "regular", "none")


def _words(column: Found) -> str:
    role = "" if column.role == "regular" else f" {column.role}"
    return f"{column.kind}{role}" + ("" if column.order == "none" else f" {column.order}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _quoted(text: str) -> str:
    return text.replace("'", "''")
