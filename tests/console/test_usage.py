"""`gossamer usage`: what was allowed at a time, by which statement of which archived copy."""

import gzip
import json
from pathlib import Path

import pytest

from console.cli.main import main
from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.log.codec import encode
from inspection.basics.folder import Folder
from services.frontier.tables.urls import HistoryRow
from tests.console.archived import DAY, HOST, PAGE, ROBOTS, START, Archived

TDMREP, LICENSE = f"{HOST}/.well-known/tdmrep.json", f"{HOST}/license.xml"
OPEN = b"User-agent: *\nContent-Signal: ai-train=yes, search=yes\n"
CLOSED = b"User-agent: *\n\nContent-Usage: train-ai=n\nLicense: /license.xml\n"
RSL = (
    b'<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license>'
    b'<permits type="usage">ai-input</permits><payment type="crawl">'
    b'<amount currency="USD">0.01</amount></payment></license></content></rsl>'
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    archived = Archived(tmp_path)
    archived.add(ROBOTS, 0, OPEN)
    archived.add(PAGE, 0, b"<p>first", headers=(("Content-Type", "text/html"),))
    archived.add(ROBOTS, 10, gzip.compress(CLOSED), headers=(("Content-Encoding", "gzip"),))
    archived.add(TDMREP, 10, b'[{"location": "/", "tdm-reservation": 1}]')
    archived.add(LICENSE, 10, RSL)
    archived.add(PAGE, 10.5, b"<p>second", headers=(("Content-Usage", "search=y"),))
    archived.add(ROBOTS, 12, b"oops", 503)
    archived.add(TDMREP, 14, b"<html>Just a moment", 202)
    return archived.end()


def show(
    data: Path, capsys: pytest.CaptureFixture[str], target: str, time: str, *more: str
) -> list[str]:
    assert main(["usage", target, "--data", str(data), "--at", time, *more]) == 0
    return [line.strip() for line in capsys.readouterr().out.splitlines()]


def test_usage_after_a_change_names_the_old_and_the_new_statement(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = "\n".join(show(data, capsys, PAGE, "2023-11-20"))
    assert "train-ai: allowed\nby robots.txt as fetched at 2023-11-14 22:13:20 UTC: line 2: " in old
    assert "Content-Signal: ai-train=yes, search=yes" in old
    assert "archive: unknown\nno archived statement is about it" in old
    assert "tdmrep" not in old and "license" not in old
    new = "\n".join(show(data, capsys, PAGE, "2023-11-25T12:00"))
    assert "train-ai: disallowed\nby robots.txt as fetched at 2023-11-24 22:13:20 UTC: " in new
    assert "line 3: Content-Usage: train-ai=n" in new
    assert "by tdmrep.json as fetched at 2023-11-24 22:13:20 UTC: entry 1:" in new
    assert "payment: type crawl, currency USD, amount 0.01" in new
    assert f"{LICENSE}, license 1: content /; permits ai-input" in new
    assert "Content-Signal" not in new


def test_server_error_of_robots_txt_keeps_the_earlier_copy(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = show(data, capsys, PAGE, "2023-11-27T12:00:00+00:00")
    assert "train-ai: disallowed" in lines
    assert any(line.startswith(f"robots.txt: {ROBOTS}, 200, 2023-11-24") for line in lines)


def test_files_of_a_host_count_whichever_crawl_fetched_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Crawls share robots.txt, so one of them has its copy. Each has copies of its own pages."""
    archived = Archived(tmp_path)
    archived.add(ROBOTS, 0, OPEN, crawl="news")
    archived.add(ROBOTS, 10, CLOSED, crawl="blogs")
    archived.add(PAGE, 10.5, b"<p>news", headers=(("Content-Usage", "search=n"),), crawl="news")
    archived.add(PAGE, 10.5, b"<p>blogs", headers=(("Content-Usage", "search=y"),), crawl="blogs")
    data = archived.end()
    definitions = [
        CrawlDefined(crawl=crawl, at=START, scope="any()", max_depth=1)
        for crawl in ("news", "blogs")
    ]
    Folder(data).open().log.append([encode(one) for one in definitions])
    news = "\n".join(show(data, capsys, PAGE, "2023-11-25T12:00", "--crawl", "news"))
    assert "line 3: Content-Usage: train-ai=n" in news
    assert "search: disallowed" in news
    blogs = "\n".join(show(data, capsys, PAGE, "2023-11-20", "--crawl", "blogs"))
    assert "Content-Signal: ai-train=yes, search=yes" in blogs


def test_malformed_usage_file_says_nothing_and_is_named(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = show(data, capsys, PAGE, "2023-12-24")
    (found,) = [line for line in lines if line.startswith(f"usage file: {TDMREP}")]
    assert ", 202, " in found and "it says nothing: it is not JSON" in found
    assert not any("entry 1" in line for line in lines)


def test_json_has_files_headers_and_statements(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = show(data, capsys, PAGE, "2023-11-25T12:00", "--json")
    found = json.loads(line)
    files = {one["url"]: one for one in found["files"]}
    assert files[ROBOTS]["text"] == CLOSED.decode()
    assert files[PAGE]["headers"] == [["Content-Usage", "search=y"]]
    assert found["categories"]["train-ai"]["allowed"] is False
    assert found["categories"]["archive"] == {"allowed": None, "by": []}
    licenses = [one["statement"]["license"] for one in found["statements"]]
    assert {"type": "crawl", "currency": "USD", "amount": "0.01"} in [
        one["payment"] for one in licenses if one
    ]


def test_site_is_answered_by_the_start_pages_of_its_hosts(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = show(data, capsys, "a.test", "2023-11-25")
    assert lines[0] == f"{HOST}/ at 2023-11-25 00:00:00 UTC"
    assert "train-ai: disallowed" in lines
    assert "page: not archived until then, so its headers are not known" in lines


def test_time_before_the_first_capture_is_an_error(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["usage", PAGE, "--data", str(data), "--at", "2020-01-01"]) == 1
    assert (
        f"nothing about {PAGE} was archived until 2020-01-01 00:00:00 UTC: the first capture is of "
        "2023-11-14 22:13:20 UTC"
    ) in capsys.readouterr().err
    assert main(["usage", "http://other.test/", "--data", str(data)]) == 1
    assert "or at any time" in capsys.readouterr().err


def test_missing_warc_file_is_named(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (data / "warc").iterdir():
        path.unlink()
    lines = show(data, capsys, PAGE, "2023-11-25")
    assert "train-ai: unknown" in lines
    assert any("is missing in " in line for line in lines)


def test_invalid_time_is_refused(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["usage", PAGE, "--data", str(data), "--at", "yesterday"])
    assert "'yesterday' is not a time" in capsys.readouterr().err


def test_page_that_is_not_archived_shows_its_last_visit(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    opened = Folder(data).open()
    at, reason = START + 11 * DAY, "meta robots: noindex: it is not published"
    row = HistoryRow(DEFAULT_CRAWL, PAGE, at, "page", 200, reason, verdict="changed")
    opened.store.table(HistoryRow).put(row)
    opened.store.flush()
    opened.database.close()
    line = f"page: fetched 2023-11-25 22:13:20 UTC, but not archived: {reason}"
    lines = show(data, capsys, PAGE, "2023-12-01")
    assert line in lines
    assert "no archived statement is about it, and the page itself is not archived" in lines
    assert line not in show(data, capsys, PAGE, "2023-11-25T12:00")


def test_missing_robots_txt_is_explained_by_the_setting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    archived = Archived(tmp_path)
    archived.add(PAGE, 0, b"<p>first")
    data = archived.end()
    (visit,) = (line for line in show(data, capsys, PAGE, "2023-11-20") if "visit:" in line)
    assert visit.endswith("no robots.txt was archived")
    monkeypatch.setenv("GOSSAMER_ARCHIVE__RECORDS", '["request"]')
    (visit,) = (line for line in show(data, capsys, PAGE, "2023-11-20") if "visit:" in line)
    assert visit.endswith("no robots.txt was archived: archive.records has no robots")
