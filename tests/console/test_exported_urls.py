"""`gossamer export --format urls`: the known URLs of a crawl, which read back as seeds."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from gossamer.console.cli.main import main
from gossamer.events import Discovery, Outcome, Purpose
from gossamer.events.hazards import Hazard
from gossamer.inspection.basics.folder import Folder
from gossamer.services.frontier.partition.parked import ParkedRow
from gossamer.services.frontier.tables.urls import Origin, QueuedUrl, UrlRow, VerdictRow
from gossamer.web.url import HostKey
from tests.archive.crawled import archived_folder, publish
from tests.archive.harness import HTML, page
from tests.support.rows import put_rows

HOST = HostKey("http://a.example")
SEED = Origin(via="seed@seeds/0/0")
LINKED = Origin(depth=1, via=f"1.2.3@{HOST}/", priority=-5)


def visited(path: str, outcome: str, origin: Origin = LINKED, **fields: Any) -> UrlRow:
    return UrlRow("default", HOST, HOST + path, outcome, 1700000000.0, origin=origin, **fields)


def queued(number: int, path: str, origin: Origin = LINKED) -> QueuedUrl:
    return QueuedUrl("default", "b", number, HOST + path, number, origin)


ROWS = (
    visited("/", Outcome.PAGE, SEED, status=200),
    visited("/gone", Outcome.CLIENT_ERROR, status=404),
    visited("/trap", Hazard.LOW_WORTH, reason="little worth"),
    visited("/again", Outcome.SERVER_ERROR, status=500, queued=True),
    visited("/robots.txt", Outcome.PAGE, Origin(purpose=Purpose.ROBOTS)),
    UrlRow("other", HOST, f"{HOST}/other", Outcome.PAGE, 1.0),
    VerdictRow("default", HOST, f"{HOST}/", "first", 1.0),
    queued(0, "/"),
    queued(1, "/next"),
    queued(2, "/next"),
    queued(3, "", Origin()),
    ParkedRow(
        "default",
        "p",
        0,
        f"1.2.3@{HOST}/",
        (Discovery(f"{HOST}/deep", 9), Discovery(f"{HOST}/gone", 9)),
    ),
)


@pytest.fixture
def crawled(data: Path) -> Path:
    assert main(["seed", "--data", str(data), f"{HOST}/"]) == 0
    opened = Folder(data).open()
    rows = [row for row in ROWS if not (isinstance(row, QueuedUrl) and row.url == HOST)]
    put_rows(opened.store, *rows)
    opened.database.close()
    return data


def export(data: Path, target: object, *options: str) -> None:
    command = ["export", str(target), "--format", "urls", "--data", str(data)]
    assert main([*command, *options]) == 0


def test_every_known_url_has_a_state(
    crawled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export(crawled, tmp_path / "urls.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "urls.jsonl").read_text().splitlines()]
    found = {row["url"]: row for row in rows}
    assert len(found) == len(rows)
    assert {url.removeprefix(HOST): row["state"] for url, row in found.items()} == {
        "/": "visited",
        "/gone": "visited",
        "/trap": "refused",
        "/again": "queued",
        "/next": "queued",
        "/deep": "parked",
    }
    first, following = found[f"{HOST}/"], found[f"{HOST}/next"]
    assert (first["source"], first["verdict"], first["status"]) == (None, "first", 200)
    assert (following["source"], following["depth"], following["priority"]) == (f"{HOST}/", 1, -5)
    assert following["visited_at"] is None and following["outcome"] is None
    assert "6 URLs written" in (said := capsys.readouterr().out)
    assert "(1 parked, 2 queued, 1 refused, 2 visited)" in said


def test_urls_are_selected_by_outcome(crawled: Path, tmp_path: Path) -> None:
    export(crawled, tmp_path / "urls.csv", "--where", 'outcome("client_error", "server_error")')
    lines = (tmp_path / "urls.csv").read_text().splitlines()
    assert lines[0].startswith("url,crawl,state,outcome,status,visited_at,")
    assert {line.split(",")[0] for line in lines[1:]} == {f"{HOST}/gone", f"{HOST}/again"}


@pytest.mark.parametrize("name", ["urls.jsonl", "urls.csv", "pages.jsonl"])
def test_exported_urls_are_seeds(
    crawled: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / name
    if name.startswith("urls"):
        export(crawled, target)
    else:
        target.write_text(json.dumps({"url": f"{HOST}/", "text": "x"}) + "\n")
    expected = 6 if name.startswith("urls") else 1
    again = str(tmp_path / "again")
    command = ["seed", "--data", again, "--scope", "host", "--file", str(target)]
    assert main(command) == 0
    assert f"{expected} seed" in capsys.readouterr().out


SITEMAP = f"""<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
<url><loc>{HOST}/one</loc></url><url><loc>http://b.example/two</loc></url></urlset>"""


def seeds_in(data: Path, *options: str) -> list[str]:
    from gossamer.events import SeedAdded
    from gossamer.log import read_topic
    from gossamer.log.codec import decode

    assert main(["seed", "--data", str(data), "--scope", "any", *options]) == 0
    opened = Folder(data).open()
    events = [decode(record) for record in read_topic(opened.log, "seeds")]
    opened.database.close()
    return [event.url for event in events if isinstance(event, SeedAdded)]


@pytest.mark.parametrize("is_packed", [False, True])
def test_sitemap_is_a_list_of_seeds(data: Path, tmp_path: Path, is_packed: bool) -> None:
    octets = SITEMAP.encode()
    (tmp_path / "sitemap").write_bytes(gzip.compress(octets) if is_packed else octets)
    found = seeds_in(data, "--file", str(tmp_path / "sitemap"))
    assert sorted(found) == [f"{HOST}/one", "http://b.example/two"]


def test_wacz_file_is_a_list_of_seeds(data: Path, tmp_path: Path) -> None:
    fetched = [page(number, headers=HTML) for number in (1, 2)]
    folder = archived_folder(tmp_path / "earlier", fetched)
    publish(folder, *fetched)
    assert main(["export", str(tmp_path / "x.wacz"), "--data", str(folder.path)]) == 0
    urls = {one.visit.url for one in fetched}
    assert {*seeds_in(data, "--file", str(tmp_path / "x.wacz"))} == urls
    assert {*seeds_in(tmp_path / "third", "--file", str(folder.path))} == urls


def test_wrong_lines_of_a_file_are_reported_by_number(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.jsonl").write_text(f'{{"url": "{HOST}/a"}}\n{{"url": "ftp://x"}}\nnonsense no\n')
    assert seeds_in(data, "--file", str(tmp_path / "a.jsonl")) == [f"{HOST}/a"]
    shown = capsys.readouterr().err
    assert "line 2" in shown and "line 3" in shown and "2 lines skipped" in shown
    (tmp_path / "a.csv").write_text(f'title,url\n"two\nlines",{HOST}/b\n"x, y",ftp://x\n')
    assert seeds_in(tmp_path / "other", "--file", str(tmp_path / "a.csv")) == [f"{HOST}/b"]
    assert "line 4" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"<html><p>No list", b"PK\x03\x04 damaged", b""])
def test_files_without_urls_are_refused(
    data: Path, tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").write_bytes(content)
    assert main(["seed", "--data", str(data), "--file", str(tmp_path / "x")]) == 2
    assert capsys.readouterr().err.startswith("gossamer: ")


def test_seeds_may_come_from_a_pipe(data: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, f"{HOST}/a\n{HOST}/b\n".encode())
    os.close(writing)
    try:
        assert seeds_in(data, "--file", f"/dev/fd/{reading}") == [f"{HOST}/a", f"{HOST}/b"]
    finally:
        os.close(reading)


def test_damaged_list_is_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "urls.gz").write_bytes(gzip.compress(f"{HOST}/a\n".encode() * 100)[:-20])
    assert main(["seed", "--data", str(data), "--file", str(tmp_path / "urls.gz")]) == 2
    assert "is damaged" in capsys.readouterr().err
