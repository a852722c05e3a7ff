"""The WARC files of a crawl, read with independent tools."""

import gzip
import hashlib
import os
from base64 import b32encode
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fastwarc.warc import WarcRecordType
from warcio.archiveiterator import ArchiveIterator

from gossamer.events import CrawlDefined, Purpose, Visit
from gossamer.volumes import OPEN_SUFFIX
from tests.archive.harness import (
    NOW,
    Crawl,
    all_records,
    archive_pages,
    assert_readable,
    files,
    members,
    only_file,
    page,
    record_at,
    records,
    responses,
)
from tests.support.metrics import growth


def test_capture_is_response_request_and_metadata(tmp_path: Path) -> None:
    archive_pages(tmp_path, page(7, b"<p>Seven", hazards=("wrong_content_type", "infinite_body")))
    (file,) = files(tmp_path / "warc")
    assert_readable(tmp_path / "warc")
    (info, about), (response, head), (request, asked), (metadata, found) = records(file)
    assert file.name == "gossamer-default-20231114221320-00001-archive.warc.gz"
    assert info["WARC-Type"] == "warcinfo"
    assert info["WARC-Filename"] == file.name
    assert b"operator: me@example.org\r\n" in about
    assert b"robots: obey\r\n" in about
    assert b"isPartOf: default\r\n" in about
    assert head == (b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Seven")
    assert asked == (
        b"GET /page/7?q=1 HTTP/1.1\r\nHost: site1.example\r\nUser-Agent: gossamer\r\n\r\n"
    )
    assert found.split(b"\r\n") == [
        b"visit: 1.7.0@http://site1.example/page/7?q=1",
        b"via: http://site0.example/",
        b"viaVisit: 1.0.0@http://site0.example/",
        b"purpose: page",
        b"depth: 2",
        b"hops: 0",
        b"attempt: 0",
        b"fetchTimeMs: 125",
        b"hazard: wrong_content_type",
        b"hazard: infinite_body",
        b"",
    ]
    for headers in (response, request, metadata):
        assert headers["WARC-Warcinfo-ID"] == info["WARC-Record-ID"]
        assert headers["WARC-Target-URI"] == "http://site1.example/page/7?q=1"
        assert headers["WARC-Date"] == "2023-11-14T22:13:27.250000Z"
        assert headers["WARC-IP-Address"] == "192.0.2.7"
    assert response["Content-Type"] == "application/http; msgtype=response"
    assert request["WARC-Concurrent-To"] == response["WARC-Record-ID"]
    assert metadata["WARC-Concurrent-To"] == response["WARC-Record-ID"]
    assert len({h["WARC-Record-ID"] for h in (info, response, request, metadata)}) == 4


def test_published_offset_leads_to_the_record(tmp_path: Path) -> None:
    pages = [page(i, os.urandom(i * 50)) for i in range(40)]
    found = {event.url: event for event in archive_pages(tmp_path, *pages)}
    assert len(found) == 40
    for fetched in pages:
        event = found[fetched.visit.url]
        record = record_at(tmp_path / "warc", event)
        assert record.startswith(b"WARC/1.1\r\nWARC-Type: response\r\n")
        assert f"WARC-Target-URI: {event.url}\r\n".encode() in record
        assert record.endswith(b"\r\n\r\n" + fetched.body + b"\r\n\r\n")
        digest = b32encode(hashlib.sha1(fetched.body).digest()).decode()
        assert event.digest == f"sha1:{digest}"
        assert f"WARC-Payload-Digest: sha1:{digest}\r\n".encode() in record
        assert (event.status, event.content_type) == (200, "text/html; charset=utf-8")
        assert (event.site, event.fetched_at, event.at) == (fetched.site, fetched.started_at, NOW)


def test_body_is_stored_as_received_and_can_be_replayed(tmp_path: Path) -> None:
    html = b"<p>" + b"long " * 10_000
    headers = (
        ("content-type", "text/html"),
        ("Content-Encoding", "gzip"),
        ("Transfer-Encoding", "chunked"),
    )
    archive_pages(tmp_path, page(1, gzip.compress(html), headers=headers))
    (file,) = files(tmp_path / "warc")
    with file.open("rb") as stream:
        found = [
            (record.http_headers, record.content_stream().read())
            for record in ArchiveIterator(stream)
            if record.rec_type == "response"
        ]
    ((head, body),) = found
    assert body == html
    assert head.get_header("Transfer-Encoding") is None
    assert head.get_header("X-Crawler-Transfer-Encoding") == "chunked"
    assert head.get_header("Content-Length") == str(len(gzip.compress(html)))


def test_robots_capture_is_archived_and_not_published(tmp_path: Path) -> None:
    url = "http://site1.example/robots.txt"
    events = archive_pages(
        tmp_path,
        page(1, b"User-agent: *", visit=Visit("1.1.0@" + url, url, purpose=Purpose.ROBOTS)),
        page(4),
    )
    assert [event.url for event in events] == ["http://site1.example/page/4?q=1"]
    assert responses(tmp_path / "warc") == [url, "http://site1.example/page/4?q=1"]


@pytest.mark.slow
def test_full_segment_is_completed_and_another_begun(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, segment_size=20_000)
    for i in range(30):
        crawl.take(*(page(i * 10 + k, os.urandom(1000)) for k in range(i % 7 + 1)))
        marked = [path for path in files(tmp_path / "warc") if path.name.endswith(OPEN_SUFFIX)]
        assert len(marked) <= 3
    events = crawl.events()
    crawl.end()
    assert_readable(tmp_path / "warc")
    found = files(tmp_path / "warc")
    assert len(found) > 5
    assert [path.name for path in found] == [
        f"gossamer-default-20231114221320-{i + 1:05}-archive.warc.gz" for i in range(len(found))
    ]
    for path in found:
        last = members(path)[-3][0]
        assert last <= 20_000, "a page was appended to a full segment"
    for path in found[:-1]:
        assert path.stat().st_size > 20_000
    for event in events:
        assert event.url.encode() in record_at(tmp_path / "warc", event)


@pytest.mark.slow
def test_each_run_has_its_own_complete_files(tmp_path: Path) -> None:
    for i in range(3):
        archive_pages(tmp_path, page(i))
        assert len(files(tmp_path / "warc")) == i + 1
        assert_readable(tmp_path / "warc")
    assert len(responses(tmp_path / "warc")) == 3


def test_run_without_pages_leaves_no_file(tmp_path: Path) -> None:
    assert archive_pages(tmp_path) == []
    assert files(tmp_path / "warc") == []


def test_two_crawls_can_share_a_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        crawl = Crawl(tmp_path / name, warcs=tmp_path / "warc")
        crawl.take(page(1, crawl=name))
        crawl.end()
    assert len(files(tmp_path / "warc")) == 2
    assert_readable(tmp_path / "warc")
    ids = [headers["WARC-Record-ID"] for headers, _ in all_records(tmp_path / "warc")]
    assert len(set(ids)) == 8, "a record id must be unique beyond its crawl"


def test_same_fetch_has_the_same_record_ids(tmp_path: Path) -> None:
    archive_pages(tmp_path, page(1), page(1), page(1, started_at=NOW + 99))
    ids = [
        h["WARC-Record-ID"]
        for h, _ in records(only_file(tmp_path / "warc"), WarcRecordType.response)
    ]
    assert ids[0] == ids[1] != ids[2]


def test_open_file_can_be_read(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    for i in range(3):
        crawl.take(page(i))
        (file,) = files(tmp_path / "warc")
        assert file.name.endswith(".warc.gz.open")
        assert len(records(file)) == 1 + 3 * (i + 1)
    crawl.end()


def test_control_events_are_ignored(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.work()
    assert not crawl.archive.handle(CrawlDefined(at=NOW, scope="any()", max_depth=3), NOW)
    crawl.end()
    assert files(tmp_path / "warc") == []


def test_metric_counts_the_bytes_written(tmp_path: Path) -> None:
    written = growth("gossamer_archived_bytes_total", crawl="default")
    archive_pages(tmp_path, *(page(i) for i in range(5)))
    assert written() == sum(path.stat().st_size for path in files(tmp_path / "warc"))


@pytest.mark.parametrize("instant", [0.0, 1_700_000_000.123456, 4_102_444_800.5])
def test_dates_have_microseconds(tmp_path: Path, instant: float) -> None:
    archive_pages(tmp_path, page(1, started_at=instant))
    written = records(only_file(tmp_path / "warc"), WarcRecordType.response)[0][0]["WARC-Date"]
    assert datetime.fromisoformat(written) == datetime.fromtimestamp(instant, UTC)
