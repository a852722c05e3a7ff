"""Revisit records, the captures of 304 responses."""

from pathlib import Path
from typing import Any

from fastwarc.warc import WarcRecordType
from msgspec.structs import replace
from warcio.archiveiterator import ArchiveIterator

from gossamer.events import DEFAULT_CRAWL, PageFetched
from gossamer.store.sqlite import SqliteStore
from gossamer.web.http import payload_digest
from gossamer.web.validators import Validators
from services.archive.rows import CaptureRow
from tests.archive.harness import (
    HTML,
    NOW,
    Crawl,
    archive_pages,
    assert_readable,
    files,
    page,
    record_at,
    records,
)

DAY = 86400.0
BODY = b"<p>Hello"
PROFILE = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
URL = page(1).visit.url


def fetched_page(day: int, status: int = 200, body: bytes = BODY, **fields: Any) -> PageFetched:
    found = page(1, body, status=status, started_at=NOW + day * DAY, **fields)
    return replace(found, visit=replace(found.visit, id=f"1.{day}.0@{URL}"))


def not_modified(day: int, conditional: bool = True) -> PageFetched:
    headers = (("ETag", '"1"'), ("Content-Length", "8"))
    found = fetched_page(day, 304, b"", reason="Not Modified", headers=headers)
    asked = replace(found.visit, validators=Validators('"1"'), conditional=conditional)
    return replace(found, visit=asked)


def revisits(folder: Path) -> list[tuple[Any, bytes]]:
    assert_readable(folder / "warc")
    return [
        found for file in files(folder / "warc") for found in records(file, WarcRecordType.revisit)
    ]


def response_ids(folder: Path) -> list[str]:
    return [
        headers["WARC-Record-ID"]
        for file in files(folder / "warc")
        for headers, _ in records(file, WarcRecordType.response)
    ]


def test_304_is_a_revisit_record_that_refers_to_the_body(tmp_path: Path) -> None:
    capture, revisit = archive_pages(tmp_path, fetched_page(1), not_modified(2))
    ((headers, block),) = revisits(tmp_path)
    assert headers["WARC-Profile"] == PROFILE
    assert headers["WARC-Target-URI"] == headers["WARC-Refers-To-Target-URI"] == URL
    assert [headers["WARC-Refers-To"]] == response_ids(tmp_path)
    assert headers["WARC-Refers-To-Date"] == "2023-11-15T22:13:20.250000Z"
    assert headers["WARC-Date"] == "2023-11-16T22:13:20.250000Z"
    assert headers["WARC-Payload-Digest"] == payload_digest(BODY)
    assert block == b'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\nContent-Length: 8\r\n\r\n'
    assert (capture.record_type, revisit.record_type) == ("response", "revisit")
    assert (revisit.status, revisit.digest) == (304, capture.digest)
    assert b"WARC-Type: revisit\r\n" in record_at(tmp_path / "warc", revisit)


def test_revisit_record_can_be_read_by_warcio(tmp_path: Path) -> None:
    archive_pages(tmp_path, fetched_page(1), not_modified(2))
    (file,) = files(tmp_path / "warc")
    with file.open("rb") as stream:
        found = [
            (record.http_headers.get_statuscode(), record.content_stream().read())
            for record in ArchiveIterator(stream, check_digests="raise")
            if record.rec_type == "revisit"
        ]
    assert found == [("304", b"")]


def test_revisit_record_refers_to_the_newest_body_before_errors_and_304s(tmp_path: Path) -> None:
    archive_pages(tmp_path, fetched_page(1), fetched_page(2, body=b"<p>New"))
    archive_pages(
        tmp_path, not_modified(3), fetched_page(4, 503), fetched_page(5, 301, b""), not_modified(6)
    )
    found = [headers["WARC-Refers-To"] for headers, _ in revisits(tmp_path)]
    assert found == [response_ids(tmp_path)[1]] * 2


def test_redelivered_304_refers_to_the_same_body(tmp_path: Path) -> None:
    archive_pages(tmp_path, fetched_page(1), not_modified(2), fetched_page(3, body=b"<p>New"))
    archive_pages(tmp_path, not_modified(2))
    first, again = revisits(tmp_path)
    assert first[0]["WARC-Record-ID"] == again[0]["WARC-Record-ID"]
    assert first[0]["WARC-Refers-To"] == again[0]["WARC-Refers-To"]


def test_304_without_an_earlier_capture_refers_to_none(tmp_path: Path) -> None:
    (revisit, later) = archive_pages(tmp_path, not_modified(2), not_modified(3))
    for headers, _ in revisits(tmp_path):
        assert headers["WARC-Profile"] == PROFILE
        assert {"WARC-Refers-To", "WARC-Refers-To-Date", "WARC-Payload-Digest"}.isdisjoint(
            dict(headers.items())
        )
    assert (revisit.digest, later.digest) == ("", "")


def test_capture_without_record_id_is_referred_to_by_its_time(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.fetch(fetched_page(1))
    crawl.work()
    store = SqliteStore(crawl.database)
    (row,) = store.table(CaptureRow).scan((DEFAULT_CRAWL, URL))
    store.table(CaptureRow).put(replace(row, record_id="", body_at=0.0))
    store.flush()
    crawl.fetch(not_modified(2))
    crawl.work()
    crawl.end()
    ((headers, _),) = revisits(tmp_path)
    assert headers.get("WARC-Refers-To") is None
    assert headers["WARC-Refers-To-Date"] == "2023-11-15T22:13:20.250000Z"
    assert headers["WARC-Payload-Digest"] == payload_digest(BODY)


def test_304_to_an_unconditional_request_is_a_response_record(tmp_path: Path) -> None:
    _, odd = archive_pages(
        tmp_path, fetched_page(1, headers=HTML), not_modified(2, conditional=False)
    )
    assert revisits(tmp_path) == []
    assert (odd.record_type, odd.digest) == ("response", payload_digest(b""))
