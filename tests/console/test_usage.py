"""`gossamer usage`: what was allowed at a time, by which statement of which archived copy."""

import gzip
from pathlib import Path

import pytest

from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.inspection.basics.folder import Folder
from gossamer.services.frontier.tables.urls import HistoryRow
from tests.console.archived import DAY, HOST, PAGE, ROBOTS, START, Archived
from tests.console.gossamer import Gossamer
from tests.support.transcripts import Transcript

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
    archived.add(
        ROBOTS, 10, gzip.compress(CLOSED, mtime=0), headers=(("Content-Encoding", "gzip"),)
    )
    archived.add(TDMREP, 10, b'[{"location": "/", "tdm-reservation": 1}]')
    archived.add(LICENSE, 10, RSL)
    archived.add(PAGE, 10.5, b"<p>second", headers=(("Content-Usage", "search=y"),))
    archived.add(ROBOTS, 12, b"oops", 503)
    archived.add(TDMREP, 14, b"<html>Just a moment", 202)
    return archived.end()


def show(gossamer: Gossamer, target: str, time: str, *more: str) -> None:
    gossamer("usage", target, "--at", time, *more)


def test_usage_is_that_of_a_time(data: Path, gossamer: Gossamer) -> None:
    show(gossamer, PAGE, "2023-11-20")
    # The statements have changed.
    show(gossamer, PAGE, "2023-11-25T12:00")
    # A server error of robots.txt keeps the earlier copy.
    show(gossamer, PAGE, "2023-11-27T12:00:00+00:00")
    # A malformed file says nothing.
    show(gossamer, PAGE, "2023-12-24")
    # A site is answered by the start pages of its hosts.
    show(gossamer, "a.test", "2023-11-25")
    gossamer("usage", PAGE, "--at", "2020-01-01", status=1)
    gossamer("usage", "http://other.test/", status=1)
    gossamer("usage", PAGE, "--at", "yesterday", status=2)


def test_files_of_a_host_count_whichever_crawl_fetched_them(
    tmp_path: Path, transcript: Transcript
) -> None:
    """Crawls share robots.txt, so one of them has its copy. Each has copies of its own pages."""
    archived = Archived(tmp_path)
    archived.add(ROBOTS, 0, OPEN, crawl="news")
    archived.add(ROBOTS, 10, CLOSED, crawl="blogs")
    archived.add(PAGE, 10.5, b"<p>news", headers=(("Content-Usage", "search=n"),), crawl="news")
    archived.add(PAGE, 10.5, b"<p>blogs", headers=(("Content-Usage", "search=y"),), crawl="blogs")
    definitions = [
        CrawlDefined(crawl=crawl, at=START, scope="any()", max_depth=1)
        for crawl in ("news", "blogs")
    ]
    gossamer = Gossamer(archived.end(), transcript)
    gossamer.append(*definitions)
    show(gossamer, PAGE, "2023-11-25T12:00", "--crawl", "news")
    show(gossamer, PAGE, "2023-11-20", "--crawl", "blogs")


def test_json_has_files_headers_and_statements(data: Path, gossamer: Gossamer) -> None:
    time = ("--at", "2023-11-25T12:00")
    found = gossamer.json("usage", PAGE, *time)
    files = {one["url"]: one for one in found["files"]}
    assert files[ROBOTS]["text"] == CLOSED.decode()
    assert files[PAGE]["headers"] == [["Content-Usage", "search=y"]]
    assert found["categories"]["train-ai"]["allowed"] is False
    assert found["categories"]["archive"] == {"allowed": None, "by": []}
    licenses = [one["statement"]["license"] for one in found["statements"]]
    assert {"type": "crawl", "currency": "USD", "amount": "0.01"} in [
        one["payment"] for one in licenses if one
    ]


def test_missing_warc_file_is_named(data: Path, gossamer: Gossamer) -> None:
    for path in (data / "warc").iterdir():
        path.unlink()
    show(gossamer, PAGE, "2023-11-25")


def test_page_that_is_not_archived_shows_its_last_visit(data: Path, gossamer: Gossamer) -> None:
    opened = Folder(data).open()
    at, reason = START + 11 * DAY, "meta robots: noindex: it is not published"
    row = HistoryRow(DEFAULT_CRAWL, PAGE, at, "page", 200, reason, verdict="changed")
    opened.store.table(HistoryRow).put(row)
    opened.store.flush()
    opened.database.close()
    show(gossamer, PAGE, "2023-12-01")
    show(gossamer, PAGE, "2023-11-25T12:00")


def test_missing_robots_txt_is_explained_by_the_setting(
    tmp_path: Path, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    archived = Archived(tmp_path)
    archived.add(PAGE, 0, b"<p>first")
    gossamer = Gossamer(archived.end(), transcript)
    show(gossamer, PAGE, "2023-11-20")
    monkeypatch.setenv("GOSSAMER_ARCHIVE__RECORDS", '["request"]')
    show(gossamer, PAGE, "2023-11-20")
