"""`gossamer export`: tables of documents, read by other people's tools, and what changed since."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import fsspec
import pytest
from msgspec.structs import replace

from gossamer.console.cli.main import main
from gossamer.events import Event, Page, Tombstone, Verdict
from gossamer.events.public import Gone
from gossamer.inspection.basics.folder import Folder
from gossamer.log.codec import encode
from gossamer.web.url import Site
from gossamer.web.usage import judge, read_headers
from tests.console.test_open_crawl import page as make_page

A, B, C = (f"http://{name}.example/" for name in "abc")


def page(url: str, **fields: Any) -> Page:
    """Return the first version of a document."""
    made = replace(make_page(Site(url), "A title"), text="Some words", depth=1)
    return replace(made, **{"first_seen": 1.0, "last_visited": 1.0, **fields})


def gone(url: str) -> Tombstone:
    return Tombstone("default", url, Site(url), reason=Gone.MISSING, at=5.0, status=404)


def append(folder: Path, *events: Event | Tombstone) -> None:
    opened = Folder(folder).create()
    opened.log.append([encode(event) for event in events])
    opened.database.close()


def export(folder: Path, target: object, *options: str) -> None:
    assert main(["export", str(target), "--data", str(folder), *options]) == 0


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def test_unknown_is_null_in_every_format(data: Path, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    append(data, page(A, language="en", published_at=1700000000.5), page(B, title=""))
    for name in ("pages.jsonl", "pages.csv", "pages.parquet"):
        export(data, tmp_path / name, "--columns", "url,title,language,published_at,change")
    rows = lines_of(tmp_path / "pages.jsonl")
    assert sorted(rows, key=lambda row: str(row["url"])) == [
        {
            "url": A,
            "title": "A title",
            "language": "en",
            "published_at": 1700000000.5,
            "change": None,
        },
        {"url": B, "title": None, "language": None, "published_at": None, "change": None},
    ]
    assert sorted((tmp_path / "pages.csv").read_text().splitlines()) == [
        f"{A},A title,en,2023-11-14T22:13:20.500Z,",
        f"{B},,,,",
        "url,title,language,published_at,change",
    ]
    found = {row["url"]: row for row in pq.read_table(tmp_path / "pages.parquet").to_pylist()}
    assert found[A]["published_at"].timestamp() == 1700000000.5
    assert [found[B][name] for name in ("title", "language", "published_at")] == [None] * 3


def test_every_field_of_a_document_is_a_column(data: Path, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    stated = read_headers((("Content-Usage", "train-ai=n"),), "gossamer")
    append(data, page(A, usage=judge(stated), usage_statements=stated, linked_data=('{"a": 1}',)))
    for name in ("pages.jsonl", "pages.csv", "pages.parquet"):
        export(data, tmp_path / name)
    (line,) = lines_of(tmp_path / "pages.jsonl")
    (row,) = csv.DictReader(StringIO((tmp_path / "pages.csv").read_text()))
    (stored,) = pq.read_table(tmp_path / "pages.parquet").to_pylist()
    fields = {*Page.__struct_fields__} - {"at", "version"}
    assert {*line} == {*row} == {*stored} == fields
    assert line["usage"]["train-ai"]["allowed"] is False
    assert json.loads(row["usage"]) == line["usage"]
    assert dict(stored["usage"])["train-ai"]["allowed"] is False
    assert stored["linked_data"] == ['{"a": 1}']


def test_hostile_texts_are_data_in_csv(data: Path, tmp_path: Path) -> None:
    titles = [
        "=cmd|' /C calc'!A0",
        "+1",
        "-1",
        "@x",
        "\t=1",
        'a "quoted", one',
        "two\nlines",
        "n\0l",
    ]
    append(data, *(page(f"http://{n}.example/", title=title) for n, title in enumerate(titles)))
    export(data, tmp_path / "pages.csv", "--columns", "url,title")
    rows = csv.DictReader(StringIO((tmp_path / "pages.csv").read_text(), newline=""))
    found = [row["title"] for row in sorted(rows, key=lambda row: row["url"])]
    assert found == [*(f"'{title}" for title in titles[:5]), titles[5], titles[6], "n\ufffdl"]


@pytest.mark.parametrize("at", [1e18, -1e18, 1e300])
def test_impossible_dates_are_null(data: Path, tmp_path: Path, at: float) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    append(data, page(A, published_at=at))
    for name in ("pages.csv", "pages.parquet"):
        export(data, tmp_path / name, "--columns", "url,published_at")
    assert (tmp_path / "pages.csv").read_text().splitlines()[1] == f"{A},"
    (row,) = pq.read_table(tmp_path / "pages.parquet").to_pylist()
    assert row["published_at"] is None
    export(data, tmp_path / "by", "--format", "csv", "--partition-by", "published_at")
    export(data, tmp_path / "notes", "--format", "markdown")


def test_unreadable_records_are_counted(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    append(data, page(A))
    opened = Folder(data).open()
    message = encode(page(B, title="HERE"))
    value = message.value.replace(b'"HERE"', b'"\\ud800"')
    opened.log.append([type(message)(message.topic, message.key, value, message.partition_key)])
    opened.database.close()
    export(data, tmp_path / "pages.jsonl")
    assert [row["url"] for row in lines_of(tmp_path / "pages.jsonl")] == [A]
    assert "1 record left out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ('host("a.example")', [A]),
        ('language("en") or verdict("duplicate")', [A, B]),
        ('not verdict("duplicate", "near_duplicate")', [A, C]),
        ('type("application/*")', [C]),
        ("depth(0)", []),
    ],
)
def test_expression_selects_documents(
    data: Path, tmp_path: Path, where: str, expected: list[str]
) -> None:
    append(
        data,
        page(A, language="en"),
        page(B, verdict=Verdict.DUPLICATE, duplicate_of=A),
        page(C, content_type="application/pdf"),
    )
    export(data, tmp_path / "pages.jsonl", "--where", where)
    assert sorted(row["url"] for row in lines_of(tmp_path / "pages.jsonl")) == expected


def test_pages_that_disallow_the_purpose_are_left_out_and_counted(
    data: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    stated = read_headers((("Content-Signal", "ai-input=no"),), "gossamer")
    append(data, page(A, usage=judge(stated)), page(B, usage=judge(())))
    export(data, "-", "--format", "jsonl", "--purpose", "search,ai-input")
    shown = capsysbinary.readouterr()
    assert [json.loads(line)["url"] for line in shown.out.splitlines()] == [B]
    assert b"1 page left out: their sites disallow search or ai-input." in shown.err
    export(data, "-", "--format", "jsonl", "--purpose", "train-ai")
    assert len(capsysbinary.readouterr().out.splitlines()) == 2


def test_cursor_gives_what_is_new_changed_and_gone(data: Path, tmp_path: Path) -> None:
    append(data, page(A), page(B))
    states = list[dict[str, tuple[str, str | None]]]()
    changed = page(A, first_seen=1.0, last_visited=9.0)
    rounds: tuple[list[Event | Tombstone], ...] = ([], [], [changed, page(C), gone(B)], [])
    for number, events in enumerate(rounds):
        append(data, *events)
        target = tmp_path / f"{number}.jsonl"
        export(data, target, "--since", "index", "--columns", "url")
        states.append({row["url"]: (row["state"], row["gone"]) for row in lines_of(target)})
    assert states == [
        {A: ("new", None), B: ("new", None)},
        {},
        {A: ("changed", None), C: ("new", None), B: ("gone", "missing")},
        {},
    ]
    export(data, tmp_path / "other.jsonl", "--since", "other")
    assert {row["url"] for row in lines_of(tmp_path / "other.jsonl")} == {A, C}


def test_cursor_reports_what_is_no_longer_selected_as_gone(data: Path, tmp_path: Path) -> None:
    stated = read_headers((("Content-Signal", "ai-input=no"),), "gossamer")
    options = ("--since", "index", "--where", 'language("en")', "--purpose", "ai-input")
    append(data, page(A, language="en"), page(B, language="en"), page(C, language="de"))
    export(data, tmp_path / "1.jsonl", *options)
    assert {row["url"] for row in lines_of(tmp_path / "1.jsonl")} == {A, B}
    append(data, page(A, language="de"), page(B, language="en", usage=judge(stated)))
    export(data, tmp_path / "2.jsonl", *options)
    found = {row["url"]: (row["state"], row["gone"]) for row in lines_of(tmp_path / "2.jsonl")}
    assert found == {A: ("gone", "unselected"), B: ("gone", "usage")}


def test_cursor_stays_if_the_output_fails(data: Path, tmp_path: Path) -> None:
    append(data, page(A))
    options = ["--data", str(data), "--since", "index"]
    (tmp_path / "file").write_text("")
    assert main(["export", str(tmp_path / "file" / "pages.jsonl"), *options]) == 2
    export(data, tmp_path / "pages.jsonl", "--since", "index")
    assert len(lines_of(tmp_path / "pages.jsonl")) == 1


def test_failed_export_leaves_the_earlier_file(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(data, page(A))
    target = tmp_path / "pages.jsonl"
    export(data, target)
    before = target.read_bytes()
    monkeypatch.setattr("os.fsync", _fail)
    assert main(["export", str(target), "--data", str(data)]) == 2
    assert target.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "pages.jsonl"]


def _fail(descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def test_partitions_are_folders_that_pyarrow_reads(data: Path, tmp_path: Path) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")
    append(data, page(A, language="en"), page(B, language="../x"), page(C, language="EN"))
    out = tmp_path / "out"
    export(data, out, "--format", "parquet", "--partition-by", "language")
    found = dataset.dataset(out, format="parquet", partitioning="hive").to_table().to_pylist()
    assert {row["url"]: row["language"] for row in found} == {A: "en", B: "../x", C: "EN"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "out"]
    append(data, page(A, language=""), gone(B))
    export(data, out, "--format", "parquet", "--partition-by", "language")
    found = dataset.dataset(out, format="parquet", partitioning="hive").to_table().to_pylist()
    assert {row["url"]: row["language"] for row in found} == {A: None, C: "EN"}


def test_partition_with_more_values_than_open_files_has_all_rows(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("gossamer.console.exports.tables.MAX_OPEN_FILES", 2)
    monkeypatch.setattr("gossamer.console.exports.tables.MAX_BUFFERED_BYTES", 100)
    monkeypatch.setattr("gossamer.console.exports.tables.CHECK_ROWS", 1)
    urls = [f"http://{number}.example/" for number in range(12)]
    append(data, *(page(url, depth=number % 4) for number, url in enumerate(urls)))
    export(data, tmp_path / "out", "--format", "jsonl", "--partition-by", "depth")
    found = [row["url"] for path in tmp_path.glob("out/*/*.jsonl") for row in lines_of(path)]
    assert sorted(found) == sorted(urls)
    export(data, tmp_path / "out", "--format", "parquet", "--partition-by", "depth")
    tables = [pq.read_table(path) for path in tmp_path.glob("out/*/*.parquet")]
    assert sorted(url for table in tables for url in table["url"].to_pylist()) == sorted(urls)


def test_target_may_be_a_file_system_of_fsspec(data: Path) -> None:
    append(data, page(A, language="en"))
    export(data, "memory://exports/pages.jsonl")
    export(data, "memory://exports/all/", "--format", "csv", "--partition-by", "language")
    files = fsspec.filesystem("memory")
    assert json.loads(files.cat("/exports/pages.jsonl"))["url"] == A
    assert files.find("/exports/all") == ["/exports/all/language=en/pages-0.csv"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pages.txt"], "name the format with --format"),
        (["x.csv", "--columns", "url,titel"], "'titel' is not a column"),
        (["x.csv", "--purpose", "ads"], "--purpose ads"),
        (["x.csv", "--since", "2026-11-22"], "is a time"),
        (["x.csv", "--since", "a/b"], "not the name of a cursor"),
        (["x.csv", "--partition-by", "outlinks"], "not a column with single values"),
        (["-", "--format", "csv", "--partition-by", "site"], "name a folder"),
        (["x.wacz", "--chunks", "100"], "--chunks is not for --format wacz"),
        (["notes", "--format", "markdown", "--since", "x"], "--since is not for --format markdown"),
        (["x.csv", "--versions", "--purpose", "ai-input"], "gossamer usage"),
        (["x.csv", "--where", 'verdict("new")'], "'new' is not one of first"),
        (["x.csv", "--versions", "--where", "depth(1)"], "'depth(1)' is not a rule"),
        (["x.csv", "--format", "urls", "--where", 'type("a/b")'], "is not a rule"),
        (["x.csv", "--since", "i", "--columns", "title"], "names what is gone"),
    ],
)
def test_impossible_wishes_are_refused(
    data: Path,
    tmp_path: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    append(data, page(A))
    monkeypatch.chdir(tmp_path)
    assert main(["export", *arguments, "--data", str(data)]) in (1, 2)
    assert message in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["data"]
