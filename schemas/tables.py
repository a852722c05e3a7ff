"""The tables of the store, from the row classes: their CQL, and a page for operators.

Each file in `schemas/cassandra` creates one table, as `gossamer store apply` does with default
settings.
"""

import inspect
import re
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path

from gossamer.procedures.tables import TABLES, tables
from gossamer.schemas.formats import descriptions_of_fields
from gossamer.schemas.markdown import table
from gossamer.services.dedup.seen import SeenRow
from gossamer.settings import Settings
from gossamer.settings.servers import CassandraSettings
from gossamer.store import Row, partition_fields
from gossamer.store.cassandra import cql
from gossamer.store.columns import columns_of

CQL = Path(__file__).resolve().parent / "cassandra"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "tables.md"
PAGE_HEAD = """\
<!-- Written by scripts/schemas from the row classes: change them there. -->
# Tables

Each table belongs to the service that writes it. Other services may read it. Operators may read
all tables, with `cqlsh` or `sqlite3`; [schemas/cassandra](../schemas/cassandra) describes every
column. The design page of the [store](design/store.md) explains how rows are written.

The picture shows the keys as *partition key / sort key*. A table without a sort key has one row
for each partition key.
"""
OWNERS = {
    "frontier": "Frontier",
    "fetcher": "Fetcher",
    "dedup": "Dedup",
    "archive": "Archive",
    "runtime": "Shared by several services",
}
"""Owner → its heading. A row class in `gossamer` belongs to the runtime."""
TABLES_IN_A_ROW = 4
"""Tables of an owner side by side in the picture."""
COLUMNS = ("table", "partition key", "sort key", "deleted after", "row")
FOLDER_ONLY = SeenRow
"""This table exists in a folder only; a fleet keeps the set in RocksDB."""
ROWS: tuple[type[Row], ...] = (*TABLES, FOLDER_ONLY)


def files() -> Iterator[tuple[Path, str]]:
    """Yield each generated file and its text."""
    for name, text in cql_files().items():
        yield CQL / name, text
    yield PAGE, tables_page()


def cql_files() -> dict[str, str]:
    """Return the text of each CQL file by its name."""
    all_tables = tables(Settings())
    files = {f"{row.table}.cql": table_cql(row, options) for row, options in all_tables.items()}
    return {"keyspace.cql": keyspace(), **files}


def keyspace() -> str:
    """Return the CQL that creates the keyspace with default settings."""
    settings = CassandraSettings()
    statement = cql.create_keyspace(settings.keyspace, settings.datacenter, settings.replication)
    return f"-- Depends on cassandra.keyspace, datacenter and replication.\n{statement};\n"


def table_cql(row: type[Row], options: cql.Options) -> str:
    """Return the CQL that creates the table of *row*, with the docstrings of the row and its
    fields."""
    described = _descriptions(row)
    groups = _groups(row)
    about = [f"-- {line}".rstrip() for line in (inspect.getdoc(row) or "").splitlines()]
    lines = [
        explained
        for line in cql.create_table(row, options=options).splitlines()
        for explained in _explain_line(line, described, groups)
    ]
    return "\n".join([*about, *lines]) + ";\n"


def _descriptions(row: type[Row]) -> dict[str, str]:
    """Return the docstring of each column, by its name."""
    texts = descriptions_of_fields(row)
    for column in columns_of(row):
        if column.group:
            of_group = descriptions_of_fields(column.group)
            texts[column.name] = of_group.get(column.field, "")
    return {name: text for name, text in texts.items() if text}


def _groups(row: type[Row]) -> dict[str, str]:
    """Return the docstring of each column group, by the name of its first column."""
    described, found = descriptions_of_fields(row), dict[str, str]()
    columns = (column for column in columns_of(row) if column.group)
    for field, (first, *_) in groupby(columns, lambda column: column.group_field):
        text = described.get(field) or " ".join((inspect.getdoc(first.group) or "").split())
        found[first.name] = f"{field}: {text}"
    return found


def _explain_line(line: str, described: dict[str, str], groups: dict[str, str]) -> Iterator[str]:
    column = re.fullmatch(r' *"(\w+)" .*,', line)
    if column and column[1] in groups:
        yield f"  -- {groups[column[1]]}"
    yield f"{line}  -- {described[column[1]]}" if column and column[1] in described else line


def tables_page() -> str:
    """Return the page of all tables."""
    rows = {owner: [row for row in ROWS if owner_of(row) == owner] for owner in OWNERS}
    lines = [PAGE_HEAD, *_picture(rows), ""]
    for owner, heading in OWNERS.items():
        cells = (tuple(_table_cells(row)) for row in rows[owner])
        lines += [f"## {heading}", "", *table(COLUMNS, cells), ""]
    return "\n".join(lines)


def owner_of(row: type[Row]) -> str:
    """Return the service whose package defines *row*, or "runtime"."""
    _, package, *inner = row.__module__.split(".")
    return inner[0] if package == "services" else "runtime"


def _picture(rows: dict[str, list[type[Row]]]) -> Iterator[str]:
    """Yield a diagram with the tables of each owner and their keys.

    Invisible links (`~~~`) put the tables into rows of four, and the owners below one another.
    """
    yield from ("```mermaid", "flowchart TB")
    for owner, heading in OWNERS.items():
        yield f'    subgraph {owner}["{heading}"]'
        for row in rows[owner]:
            keys = " / ".join(filter(None, [", ".join(partition_fields(row)), row.sort_key]))
            yield f'        {row.table}["<b>{row.table}</b><br/>{keys}"]'
        names = [row.table for row in rows[owner]]
        for upper, lower in zip(names, names[TABLES_IN_A_ROW:], strict=False):
            yield f"        {upper} ~~~ {lower}"
        yield "    end"
    for upper, lower in pairwise(OWNERS):
        yield f"    {upper} ~~~ {lower}"
    yield "```"


def _table_cells(row: type[Row]) -> Iterator[str]:
    yield f"`{row.table}`"
    yield ", ".join(f"`{name}`" for name in partition_fields(row))
    yield f"`{row.sort_key}`" if row.sort_key else ""
    yield f"`{row.kept_for}`" if row.kept_for else ""
    about = " ".join((inspect.getdoc(row) or "").split("\n\n")[0].split())
    yield f"{about} In a folder only." if row is FOLDER_ONLY else about
