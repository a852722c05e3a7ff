"""The CQL in `schemas/cassandra/` is what the rows say, and no row of a service is left out."""

from pathlib import Path

import services.archive.rows
import services.dedup.content
import services.dedup.documents
import services.dedup.guesses
import services.dedup.host_steps
import services.dedup.listings
import services.dedup.near
import services.dedup.seen
import services.fetcher.slots
import services.frontier.aside
import services.frontier.partition_rows
import services.frontier.plan_rows
import services.frontier.rows
from console.tables import TABLES
from gossamer.runtime import pinned
from gossamer.store import Row, claims
from schemas import tables

MODULES = (
    claims,
    pinned,
    services.archive.rows,
    services.dedup.seen,
    services.dedup.content,
    services.dedup.documents,
    services.dedup.listings,
    services.dedup.guesses,
    services.dedup.host_steps,
    services.dedup.near,
    services.fetcher.slots,
    services.frontier.aside,
    services.frontier.partition_rows,
    services.frontier.plan_rows,
    services.frontier.rows,
)
FAUSTS = {services.dedup.seen.SeenRow, services.dedup.seen.EarlierSeenRow}
"""In a fleet these are no tables of Cassandra's."""


def test_the_files_are_those_of_the_rows(tmp_path: Path) -> None:
    tables.main(tmp_path)
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    there = {path.name: path.read_text() for path in tables.FOLDER.iterdir()}
    assert there == made, "run scripts/schemas"


def test_no_row_is_left_out() -> None:
    rows = {
        kind
        for module in MODULES
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Row) and hasattr(kind, "table")
    }
    assert rows - FAUSTS == set(TABLES)


def test_no_two_rows_share_a_table() -> None:
    assert len({row.table for row in TABLES}) == len(TABLES)
