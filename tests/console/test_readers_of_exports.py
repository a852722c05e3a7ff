"""Exports, read by DuckDB, pandas and Polars: rows, types and null."""

from pathlib import Path
from typing import Any

import pytest

from tests.console.test_exports import A, B, C, append, export, page

PUBLISHED = 1700000000.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with three pages in each format, also by language."""
    pytest.importorskip("pyarrow")
    data = tmp_path / "data"
    append(
        data,
        page(A, language="en", published_at=PUBLISHED, title='=1, "2"\nthree'),
        page(B, language="", alternates={"de": C}),
        page(C, language="de", depth=2),
    )
    for name in ("pages.jsonl", "pages.csv", "pages.parquet"):
        export(data, tmp_path / name)
    export(data, tmp_path / "by", "--format", "parquet", "--partition-by", "language")
    return tmp_path


def test_duckdb_reads_every_format(folder: Path) -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    for name in ("pages.jsonl", "pages.csv", "pages.parquet"):
        query = f"SELECT count(*), count(language), count(title) FROM '{folder / name}'"
        assert duckdb.sql(query).fetchall() == [(3, 2, 3)], name
    query = f"SELECT epoch(published_at) FROM '{folder}/pages.parquet' WHERE url = '{A}'"
    assert duckdb.sql(query).fetchall() == [(PUBLISHED,)]
    query = f"SELECT language FROM read_parquet('{folder}/by/*/*.parquet') ORDER BY url"
    assert duckdb.sql(query).fetchall() == [("en",), (None,), ("de",)]


def test_pandas_reads_every_format(folder: Path) -> None:
    pandas: Any = pytest.importorskip("pandas")
    tables = (
        pandas.read_json(folder / "pages.jsonl", lines=True),
        pandas.read_csv(folder / "pages.csv"),
        pandas.read_parquet(folder / "pages.parquet"),
    )
    for table in tables:
        table = table.set_index("url")
        assert table.language[[A, C]].tolist() == ["en", "de"]
        assert table.language.isna().sum() == 1
        assert table.depth[C] == 2
    assert tables[2].set_index("url").published_at[A].timestamp() == PUBLISHED


def test_polars_reads_every_format(folder: Path) -> None:
    polars: Any = pytest.importorskip("polars")
    for table in (
        polars.read_ndjson(folder / "pages.jsonl", infer_schema_length=None),
        polars.read_csv(folder / "pages.csv"),
        polars.read_parquet(folder / "pages.parquet"),
        polars.scan_parquet(folder / "by", hive_partitioning=True).collect(),
    ):
        assert table["language"].null_count() == 1
        assert sorted(table["url"]) == [A, B, C]
