"""Writes the CQL of every table from its row, for operators who create or read tables themselves.

python -m schemas.tables [FOLDER]      (run by scripts/schemas)
"""

import inspect
import re
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from console.tables import tables
from gossamer.settings import Settings
from gossamer.settings.servers import CassandraSettings
from gossamer.store import Row
from gossamer.store.cassandra import cql
from gossamer.store.columns import columns_of
from schemas.generate import descriptions_of_fields

FOLDER = Path(__file__).parent / "cassandra"


def main(folder: Path) -> None:
    """Write all files into *folder*."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in all_files().items():
        (folder / name).write_text(text, encoding="utf-8")


def all_files() -> dict[str, str]:
    """Return the text of each file by its name."""
    all_tables = tables(Settings())
    files = {f"{row.table}.cql": table(row, options) for row, options in all_tables.items()}
    return {"keyspace.cql": keyspace(), **files}


def keyspace() -> str:
    """Return the CQL that creates the keyspace with default settings."""
    settings = CassandraSettings()
    statement = cql.create_keyspace(settings.keyspace, settings.datacenter, settings.replication)
    return f"-- Depends on cassandra.keyspace, datacenter and replication.\n{statement};\n"


def table(row: type[Row], options: cql.Options) -> str:
    """Return the CQL that creates the table of *row*, with the docstrings of the row and its
    fields."""
    described = _descriptions(row)
    groups = _groups(row)
    about = [f"-- {line}".rstrip() for line in (inspect.getdoc(row) or "").splitlines()]
    lines = [
        explained
        for line in cql.create_table(row, options=options).splitlines()
        for explained in _explained(line, described, groups)
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


def _explained(line: str, described: dict[str, str], groups: dict[str, str]) -> Iterator[str]:
    column = re.fullmatch(r' *"(\w+)" .*,', line)
    if column and column[1] in groups:
        yield f"  -- {groups[column[1]]}"
    yield f"{line}  -- {described[column[1]]}" if column and column[1] in described else line


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FOLDER)
