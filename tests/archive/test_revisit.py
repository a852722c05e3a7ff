"""Revisit records: the captures of 304 responses, and of bodies that are in the archive already."""

from pathlib import Path
from typing import Any

import pytest
from fastwarc.warc import WarcRecordType
from msgspec.structs import replace

from gossamer.events import DEFAULT_CRAWL, Erasure, PageFetched, Purpose, VisitsErased
from gossamer.services.archive.rows import CaptureRow, PayloadRow
from gossamer.store.sqlite import SqliteStore
from gossamer.web.http import payload_digest
from gossamer.web.validators import Validators
from tests.archive.harness import (
    HTML,
    NOW,
    Crawl,
    all_records,
    archive_pages,
    assert_readable,
    page,
    record_at,
)

DAY = 86400.0
BODY = b"<p>Hello"
PROFILE = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
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
    return all_records(folder / "warc", WarcRecordType.revisit)


def response_ids(folder: Path) -> list[str]:
    found = all_records(folder / "warc", WarcRecordType.response)
    return [headers["WARC-Record-ID"] for headers, _ in found]


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
    crawl.take(fetched_page(1))
    store = SqliteStore(crawl.database)
    (row,) = store.table(CaptureRow).scan((DEFAULT_CRAWL, URL))
    store.table(CaptureRow).put(replace(row, record_id="", body_at=0.0))
    store.flush()
    crawl.take(not_modified(2))
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


LARGE = b"<p>Large" * 200
OTHER_URL = page(2).visit.url


def copied_page(day: int, body: bytes = LARGE, **fields: Any) -> PageFetched:
    return page(2, body, started_at=NOW + day * DAY, **fields)


def rows_of(folder: Path, url: str) -> list[CaptureRow]:
    crawl = Crawl(folder)
    rows = SqliteStore(crawl.database).table(CaptureRow).scan((DEFAULT_CRAWL, url))
    crawl.kill()
    return rows


@pytest.mark.parametrize("later", [fetched_page(2, body=LARGE), copied_page(2)])
def test_equal_body_of_the_url_or_another_is_a_revisit_record(
    tmp_path: Path, later: PageFetched
) -> None:
    first, revisit = archive_pages(tmp_path, fetched_page(1, body=LARGE), later)
    ((headers, block),) = revisits(tmp_path)
    assert headers["WARC-Profile"] == IDENTICAL
    assert headers["WARC-Target-URI"] == later.visit.url
    assert [headers["WARC-Refers-To"]] == response_ids(tmp_path)
    assert headers["WARC-Refers-To-Target-URI"] == URL
    assert headers["WARC-Refers-To-Date"] == "2023-11-15T22:13:20.250000Z"
    assert headers["WARC-Payload-Digest"] == payload_digest(LARGE)
    assert headers["WARC-Truncated"] == "length"
    assert block == b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    assert (first.record_type, revisit.record_type) == ("response", "revisit")
    assert (revisit.status, revisit.digest) == (200, first.digest)


def test_row_of_a_revisit_record_leads_to_the_row_with_the_body(tmp_path: Path) -> None:
    archive_pages(tmp_path, fetched_page(1, body=LARGE), copied_page(2))
    (row,) = rows_of(tmp_path, OTHER_URL)
    ((headers, _),) = revisits(tmp_path)
    assert (row.record_type, row.record_id) == ("revisit", headers["WARC-Refers-To"])
    (original,) = rows_of(tmp_path, row.body_url)
    assert (original.fetched_at, original.record_id) == (row.body_at, row.record_id)
    assert (original.body_url, original.record_type) == ("", "response")


def test_304_after_a_revisit_record_refers_to_the_body(tmp_path: Path) -> None:
    archive_pages(tmp_path, copied_page(1), fetched_page(2, body=LARGE), not_modified(3))
    _, (headers, _) = revisits(tmp_path)
    assert headers["WARC-Profile"] == PROFILE
    assert headers["WARC-Refers-To-Target-URI"] == OTHER_URL
    assert [headers["WARC-Refers-To"]] == response_ids(tmp_path)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"body": LARGE[:1023]}, {"body": LARGE[:1023]}),
        ({"status": 404, "body": LARGE}, {"body": LARGE}),
        ({"body": LARGE}, {"status": 404, "body": LARGE}),
        ({"body": LARGE, "truncated": "length"}, {"body": LARGE}),
        ({"body": LARGE}, {"body": LARGE, "truncated": "disconnect"}),
        ({"body": LARGE, "crawl": "other"}, {"body": LARGE}),
        ({"body": LARGE}, {"body": LARGE + b"."}),
    ],
)
def test_small_failed_truncated_foreign_or_changed_page_is_a_response(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any]
) -> None:
    archive_pages(tmp_path, fetched_page(1, **first), copied_page(2, **second))
    assert revisits(tmp_path) == []


def test_redelivered_page_is_a_response_and_not_a_revisit_of_itself(tmp_path: Path) -> None:
    pages = fetched_page(1, body=LARGE), copied_page(2)
    archive_pages(tmp_path, *pages)
    archive_pages(tmp_path, *pages)
    first, again = revisits(tmp_path)
    assert first[0]["WARC-Record-ID"] == again[0]["WARC-Record-ID"]
    assert first[0]["WARC-Refers-To"] == again[0]["WARC-Refers-To"]
    assert response_ids(tmp_path) == [first[0]["WARC-Refers-To"]] * 2


def test_page_that_is_delivered_late_does_not_refer_to_a_later_one(tmp_path: Path) -> None:
    archive_pages(tmp_path, copied_page(2), fetched_page(1, body=LARGE))
    assert revisits(tmp_path) == []


def test_body_that_was_truncated_after_a_crash_is_not_referred_to(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.take(page(5))
    crawl.archive.handle(fetched_page(1, body=LARGE), NOW)
    crawl.kill()
    archive_pages(tmp_path, copied_page(2))
    assert revisits(tmp_path) == []


def test_erased_url_is_not_referred_to(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.take(fetched_page(1, body=LARGE))
    erasure = Erasure(URL, NOW, "me", key_group=0, orders=1)
    erased = VisitsErased(at=NOW, site=page(1).site, erasure=erasure, urls=(URL,))
    crawl.archive.handle(erased, NOW)
    crawl.take(copied_page(2))
    crawl.end()
    assert rows_of(tmp_path, URL) == []
    assert [row.record_type for row in rows_of(tmp_path, OTHER_URL)] == ["response"]


def test_rows_of_shared_bodies_are_read_ahead(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    pages = fetched_page(1, body=LARGE), fetched_page(2), not_modified(3)
    (keys,) = crawl.archive.reads_of(pages)
    assert list(keys) == [(PayloadRow, (DEFAULT_CRAWL, payload_digest(LARGE)), "")]
    crawl.end()


def test_equal_body_of_a_requisite_is_stored_once(tmp_path: Path) -> None:
    fetched = [page(number, LARGE, started_at=NOW + number) for number in (1, 2)]
    archive_pages(
        tmp_path,
        *(replace(one, visit=replace(one.visit, purpose=Purpose.REQUISITE)) for one in fetched),
    )
    ((headers, _),) = revisits(tmp_path)
    assert headers["WARC-Profile"] == IDENTICAL
    assert headers["WARC-Refers-To-Target-URI"] == page(1).visit.url
