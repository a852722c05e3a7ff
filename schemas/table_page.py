"""Writes the page with all tables by owner from the row classes.

python -m schemas.table_page [FILE]      (run by scripts/schemas)
"""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

from console.tables import TABLES
from gossamer.store import Row, partition_fields
from schemas.markdown import table
from services.dedup.seen import SeenRow

FILE = Path(__file__).resolve().parents[1] / "docs" / "tables.md"
HEAD = """\
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
COLUMNS = ("table", "partition key", "sort key", "deleted after", "row")
FOLDER_ONLY = SeenRow
"""This table exists in a folder only; a fleet keeps the set in RocksDB."""
ROWS: tuple[type[Row], ...] = (*TABLES, FOLDER_ONLY)


def main(file: Path) -> None:
    """Write the page into *file*."""
    file.write_text(text(), encoding="utf-8")


def text() -> str:
    """Return the page."""
    rows = {owner: [row for row in ROWS if owner_of(row) == owner] for owner in OWNERS}
    lines = [HEAD, *_picture(rows), ""]
    for owner, heading in OWNERS.items():
        cells = (tuple(_cells(row)) for row in rows[owner])
        lines += [f"## {heading}", "", *table(COLUMNS, cells), ""]
    return "\n".join(lines)


def owner_of(row: type[Row]) -> str:
    """Return the service whose package defines *row*, or "runtime"."""
    package, service, *_ = row.__module__.split(".")
    return service if package == "services" else "runtime"


def _picture(rows: dict[str, list[type[Row]]]) -> Iterator[str]:
    """Yield a diagram with the tables of each owner and their keys."""
    yield from ("```mermaid", "flowchart LR")
    for owner, heading in OWNERS.items():
        yield f'    subgraph {owner}["{heading}"]'
        for row in rows[owner]:
            keys = " / ".join(filter(None, [", ".join(partition_fields(row)), row.sort_key]))
            yield f'        {row.table}["<b>{row.table}</b><br/>{keys}"]'
        yield "    end"
    yield "```"


def _cells(row: type[Row]) -> Iterator[str]:
    yield f"`{row.table}`"
    yield ", ".join(f"`{name}`" for name in partition_fields(row))
    yield f"`{row.sort_key}`" if row.sort_key else ""
    yield f"`{row.kept_for}`" if row.kept_for else ""
    about = " ".join((inspect.getdoc(row) or "").split("\n\n")[0].split())
    yield f"{about} In a folder only." if row is FOLDER_ONLY else about


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
