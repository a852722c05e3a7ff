"""The CQL in `schemas/cassandra/` matches the rows, and every row of a service has a file."""

import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from typing import get_type_hints

import pytest

import gossamer
from gossamer.erasures import subject_of
from gossamer.procedures.tables import TABLES
from gossamer.procedures.tables import tables as tables_of
from gossamer.schemas.tables import CQL, OWNERS, ROWS, cql_files, owner_of
from gossamer.services.dedup.seen import SeenRow
from gossamer.settings import FrontierSettings, Settings
from gossamer.store import Row, lifetime_of

VIEWS = ("gossamer.inspection", "gossamer.console")
"""Their rows are of no table."""
FAUSTS = {SeenRow}
"""In a fleet this is not a table of Cassandra's."""


FOUND_OTHERWISE = {
    "digests": "by the rows of documents",
    "near": "by the rows of documents",
    "payloads": "by the rows of captures",
    "queues": "by the row of the host, which names the buckets",
    "parked": "by the row of the site, which names the buckets; the command reads the others",
    "directory": "the command reads the whole table",
    "due": "the command reads the whole table",
    "sites": "by the site",
    "site_worth": "by the site",
    "parked_parts": "by the site",
    "shared_captures": "by the host, for all crawls",
    "tallies": "by the partition",
    "partition_tallies": "by the partition",
    "hazard_examples": "by the partition",
}
"""Table → how an erasure finds its rows, if the name of a URL or a host does not lead to them."""


def test_files_match_the_rows() -> None:
    assert {path.name for path in CQL.iterdir()} == cql_files().keys(), "run scripts/schemas"


def is_table(module: str) -> bool:
    return module.startswith("gossamer.") and not module.startswith(VIEWS)


def kinds(of: type[Row]) -> Iterator[type[Row]]:
    """Yield the product's own rows of tables below *of*."""
    for kind in of.__subclasses__():
        if hasattr(kind, "table") and is_table(kind.__module__):
            yield kind
        yield from kinds(kind)


def test_every_row_has_a_file() -> None:
    for module in pkgutil.walk_packages(gossamer.__path__, "gossamer."):
        if is_table(module.name) and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    assert {*kinds(Row)} - FAUSTS == set(TABLES)


def test_rows_that_go_say_by_which_setting_and_which_time() -> None:
    for row in TABLES:
        lifetime_of(row, Settings())
        assert bool(row.kept_for) == bool(row.aged_by), row.table
        assert not row.aged_by or get_type_hints(row)[row.aged_by] is float, row.table


def test_lifetime_of_tables_is_their_setting() -> None:
    month = 30 * 86400
    changed = tables_of(Settings(frontier=FrontierSettings(erasures_age=month, history_age=0)))
    lifetimes = {row.table: options.lifetime for row, options in changed.items()}
    assert lifetimes["erasures"] == month
    assert lifetimes["page_history"] == lifetimes["urls"] == lifetimes["captures"] == 0


def test_no_two_rows_share_a_table() -> None:
    assert len({row.table for row in TABLES}) == len(TABLES)


def test_each_table_has_an_owner_on_the_page() -> None:
    assert set(map(owner_of, ROWS)) == set(OWNERS)


def test_each_row_says_what_it_is_about() -> None:
    """A row that says nothing would be left by an erasure."""
    for row in ROWS:
        assert {*row.about} <= {*row.__struct_fields__}, row.table


def test_erasures_find_the_rows_of_each_table_about_something() -> None:
    others = {row.table for row in ROWS if row.about and subject_of(row) is None}
    assert others == FOUND_OTHERWISE.keys()


@pytest.mark.parametrize("service", ["frontier", "dedup"])
def test_process_of_a_service_knows_all_tables_that_it_erases(service: str) -> None:
    package = f"gossamer.services.{service}"
    code = (
        f"import {package}.service; from gossamer.erasures import tables_of;"
        f"print(*(row.table for row in tables_of('{package}')))"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert {*printed.split()} == {
        row.table for row in ROWS if row.__module__.startswith(f"{package}.")
    }
