"""Rows in CQL: columns, statements, tables, and differences between tables and row classes.

Collections are frozen, because overwriting an unfrozen one leaves a tombstone each time. Writing a
null also leaves a tombstone, and nodes warn about reads of more than a thousand. None is therefore
a default only in tables whose rows are read one by one, or a few at a time.

A row class with several `buckets` has an additional column that its rows do not contain. Together
with the partition key it forms Cassandra's partition key.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, NamedTuple
from zlib import crc32

from gossamer.store import R, Row, Sort, columns, partition_fields
from gossamer.store.columns import Codec, Reader, is_word

TYPES: dict[Any, str] = {
    str: "text",
    int: "bigint",
    float: "double",
    bool: "boolean",
    bytes: "blob",
    dict[str, int]: "frozen<map<text, bigint>>",
    dict[str, float]: "frozen<map<text, double>>",
    tuple[str, ...]: "frozen<list<text>>",
    tuple[int, ...]: "frozen<list<bigint>>",
}
FIXED_OPTIONS = frozenset({"default_time_to_live"})
"""Table properties that the services rely on: rows that expire early are lost URLs. Operators may
change all other properties of an existing table."""
BUCKET = "bucket"
"""The column with a row's bucket, if its class has several."""
JSON_TYPE = "text"
"""The column type of all other Python types."""


@dataclass(frozen=True)
class Options:
    """Storage options of a table. All tables use UnifiedCompactionStrategy of Cassandra 5."""

    scaling: str = "T4"
    """`T4` is tiered compaction of four files, as in Cassandra's default. `L4` is levelled
    compaction."""
    chunk: int = 4
    """KiB of a compression chunk, which a read of one row decompresses."""
    grace: int = 0
    """Retention of tombstones in seconds. 0 means Cassandra's default of ten days."""
    lifetime: int = 0
    """Seconds after which a row expires. 0 means no expiry."""

    def properties(self) -> dict[str, str]:
        """Return the properties of the table in CQL."""
        found = {
            "compaction": "{'class': 'UnifiedCompactionStrategy', "
            f"'scaling_parameters': '{self.scaling}'}}",
            "compression": f"{{'class': 'LZ4Compressor', 'chunk_length_in_kb': {self.chunk}}}",
            "default_time_to_live": str(self.lifetime),
        }
        if self.grace:
            found["gc_grace_seconds"] = str(self.grace)
        return found

    def differing(self, found: "FoundOptions") -> list[str]:
        """Return the names of the properties whose values differ in the *found* table."""
        compaction, compression, grace, lifetime = found
        same = {
            "compaction": compaction.get("class", "").endswith("UnifiedCompactionStrategy")
            and compaction.get("scaling_parameters", "T4") == self.scaling,
            "compression": compression.get("chunk_length_in_kb") == str(self.chunk),
            "gc_grace_seconds": grace == self.grace,
            "default_time_to_live": lifetime == self.lifetime,
        }
        return [name for name in self.properties() if not same[name]]


class FoundOptions(NamedTuple):
    """The options of a table as Cassandra's system tables describe them."""

    compaction: Mapping[str, str]
    compression: Mapping[str, str]
    grace: int
    lifetime: int

    def properties(self) -> dict[str, str]:
        """Return these options under their names in CQL."""
        return {
            "compaction": str(dict(self.compaction)),
            "compression": str(dict(self.compression)),
            "gc_grace_seconds": str(self.grace),
            "default_time_to_live": str(self.lifetime),
        }


SMALL_ROWS = Options()
"""For tables with rows of at most some KiB, which are read one by one."""
LARGE_ROWS = Options(chunk=16)
SHORT_LIVED = Options(scaling="L4", grace=10800)
"""For tables whose partitions are dropped as a whole and never read again.

A partition and its tombstone are in different files, and use space until these are compacted.
Levelled compaction does that often, so that dropped data is a small part of the stored data. The
grace of three hours is the retention of hints for a node that is down. A node that was down for
longer may restore a dropped partition, but nobody reads it.
"""


def columns_of(row: type[Row]) -> dict[str, str]:
    """Return the CQL type of each column, in the order of the fields."""
    return {column.name: TYPES.get(column.kind, JSON_TYPE) for column in columns.columns_of(row)}


def all_columns_of(row: type[Row]) -> dict[str, str]:
    """Return the CQL type of each column, including the bucket's column."""
    return columns_of(row) | ({BUCKET: TYPES[int]} if row.buckets > 1 else {})


def partition_key_of(row: type[Row]) -> list[str]:
    """Return the columns of Cassandra's partition key."""
    return [*partition_fields(row), *([BUCKET] if row.buckets > 1 else [])]


def bucket_of(row: type[Row], sort: Sort) -> int:
    """Return the bucket, from 0, of a row with this sort key."""
    return crc32(str(sort).encode()) % row.buckets


class Statements:
    """The CQL statements for one table of *keyspace*."""

    def __init__(self, keyspace: str, row: type[Row]) -> None:
        table, names = f'"{keyspace}"."{row.table}"', list(all_columns_of(row))
        columns = _quote_names(names)
        within = "WHERE " + " AND ".join(f'"{key}" = ?' for key in partition_key_of(row))
        self.everything = f"SELECT {_quote_names(columns_of(row))} FROM {table}"
        read = f"{self.everything} {within}"
        self.get = f'{read} AND "{row.sort_key}" = ?' if row.sort_key else read
        # One request reads several buckets.
        many = read.replace(f'"{BUCKET}" = ?', f'"{BUCKET}" IN ?') if row.buckets > 1 else read
        self.get_many = f'{many} AND "{row.sort_key}" IN ?'
        # One request reads several values of the partition key's last field.
        several = f"{read.removesuffix('= ?')}IN ?"
        self.get_several = f'{several} AND "{row.sort_key}" = ?' if row.sort_key else several
        self.scan = f"{read} LIMIT ?"
        self.scan_beyond = f'{read} AND "{row.sort_key}" {"<>"[not row.newest_first]} ? LIMIT ?'
        self.put = f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(names))})"
        self.put_if_absent = f"{self.put} IF NOT EXISTS"
        keys = [*partition_key_of(row), *filter(None, [row.sort_key])]
        # Keys are bound last, before the holder.
        self.replaced = [name for name in names if name not in keys] + keys
        given = ", ".join(f'"{name}" = ?' for name in names if name not in keys)
        where = " AND ".join(f'"{key}" = ?' for key in keys)
        held = " AND ".join(f'"{name}" = ?' for name in row.holder)
        self.replace = f"UPDATE {table} SET {given} WHERE {where} IF {held}"
        self.drop = f"DELETE FROM {table} {within}"
        self.erase = f"DELETE FROM {table} WHERE {where}"


class Columns(Generic[R]):
    """Converts rows to column values and back."""

    def __init__(self, row: type[R]) -> None:
        self._row = row
        self._sort = attrgetter(row.sort_key) if row.buckets > 1 else None
        self._names = [*columns_of(row)]
        json = [
            column.name
            for column in columns.columns_of(row)
            if column.kind not in TYPES and not is_word(column.kind)
        ]
        self._codec = Codec(row, _reader, json)

    def values(self, row: R) -> Sequence[Any]:
        """Return the column values in the order of the fields, followed by the bucket if there is
        one."""
        values = self._codec.values(row)
        return [*values, bucket_of(self._row, self._sort(row))] if self._sort else values

    def row(self, values: Sequence[Any]) -> R:
        """Return the row with these column values in the order of the fields."""
        return self._codec.row(values)

    def named_row(self, values: Mapping[str, Any]) -> R:
        """Return the row with these column values by name."""
        return self._codec.row([values[name] for name in self._names])


def _reader(kind: Any) -> Reader:
    if is_word(kind):
        return kind  # type: ignore[no-any-return]
    column = TYPES[kind]
    if column.startswith("frozen<map"):
        return dict
    return tuple if column.startswith("frozen<list") else None


def create_keyspace(name: str, datacenter: str, replication: int) -> str:
    """Return the statement that creates a keyspace."""
    return (
        f'CREATE KEYSPACE IF NOT EXISTS "{name}" WITH replication = '
        f"{{'class': 'NetworkTopologyStrategy', '{_escape_quotes(datacenter)}': {replication}}}"
    )


def create_table(row: type[Row], keyspace: str = "", options: Options = SMALL_ROWS) -> str:
    """Return the statement that creates the table of *row*."""
    order = "DESC" if row.newest_first else "ASC"
    ordered = f'CLUSTERING ORDER BY ("{row.sort_key}" {order})' if row.sort_key else ""
    comment = f"comment = '{_escape_quotes((row.__doc__ or '').strip().splitlines()[0])}'"
    # A new table has no time to live by default.
    given = [f"{name} = {value}" for name, value in options.properties().items() if value != "0"]
    properties = "\n  AND ".join(filter(None, (ordered, comment, *given)))
    columns = "".join(f'  "{name}" {kind},\n' for name, kind in all_columns_of(row).items())
    partition = _quote_names(partition_key_of(row))
    keys = f"({partition})" if len(partition_key_of(row)) > 1 else partition
    primary = f'{keys}, "{row.sort_key}"' if row.sort_key else keys
    name = f'"{keyspace}"."{row.table}"' if keyspace else f'"{row.table}"'
    return (
        f"CREATE TABLE IF NOT EXISTS {name} (\n{columns}"
        f"  PRIMARY KEY ({primary})\n) WITH {properties}"
    )


def alter_table(row: type[Row], keyspace: str, options: Options, names: Iterable[str]) -> str:
    """Return the statement that sets the *options* with these *names*."""
    properties = options.properties()
    given = " AND ".join(f"{name} = {properties[name]}" for name in names)
    return f'ALTER TABLE "{keyspace}"."{row.table}" WITH {given}'


def add_column(row: type[Row], keyspace: str, name: str) -> str:
    """Return the statement that adds a column."""
    kind = columns_of(row)[name]
    return f'ALTER TABLE "{keyspace}"."{row.table}" ADD IF NOT EXISTS "{name}" {kind}'


@dataclass(frozen=True)
class FoundColumn:
    """A column as Cassandra's system tables describe it."""

    kind: str
    role: str
    """`partition_key`, `clustering` or `regular`."""
    order: str
    """`asc` or `desc` for a clustering column, otherwise `none`."""


SELECT_COLUMNS = (
    "SELECT table_name, column_name, type, kind, clustering_order "
    "FROM system_schema.columns WHERE keyspace_name = ?"
)
SELECT_OPTIONS = (
    "SELECT table_name, compaction, compression, gc_grace_seconds, default_time_to_live "
    "FROM system_schema.tables WHERE keyspace_name = ?"
)
SELECT_KEYSPACE = "SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?"
SELECT_REPLICATION = "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?"
SELECT_SETTING = "SELECT value FROM system_views.settings WHERE name = ?"


def missing_columns(row: type[Row], found: Mapping[str, FoundColumn]) -> list[str]:
    """Return the columns of *row* that the *found* table lacks."""
    return [name for name in all_columns_of(row) if name not in found]


def mismatches(row: type[Row], found: Mapping[str, FoundColumn]) -> Iterator[str]:
    """Yield a sentence for each difference of the *found* table that adding columns cannot
    repair."""
    keys = [*partition_key_of(row), row.sort_key]
    for name, kind in all_columns_of(row).items():
        actual, expected = found.get(name), _expected_column(row, name, kind)
        if actual is None:
            if expected.role != "regular":
                yield f"{name} ({expected.role}) is missing"
        elif actual != expected:
            yield f"{name} is {_words(actual)}, not {_words(expected)}"
    for name, actual in found.items():
        if actual.role in ("partition_key", "clustering") and name not in keys:
            yield f"{name} is a key of the table ({actual.role}), but not of the rows"


def _expected_column(row: type[Row], name: str, kind: str) -> FoundColumn:
    if name in partition_key_of(row):
        return FoundColumn(kind, "partition_key", "none")
    if name == row.sort_key:
        return FoundColumn(kind, "clustering", "desc" if row.newest_first else "asc")
    return FoundColumn(kind, "regular", "none")


def _words(column: FoundColumn) -> str:
    role = "" if column.role == "regular" else f" {column.role}"
    return f"{column.kind}{role}" + ("" if column.order == "none" else f" {column.order}")


def _quote_names(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _escape_quotes(text: str) -> str:
    return text.replace("'", "''")
