"""Any response becomes a valid record or a dead letter."""

import os
import string
import tempfile
from pathlib import Path

import pytest
from fastwarc.warc import WarcRecordType
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from gossamer.events import Visit
from gossamer.web.http import Headers
from tests.archive.harness import (
    Crawl,
    archive_pages,
    assert_readable,
    files,
    only_file,
    page,
    records,
    responses,
)


def archive_response(folder: Path, **fields: object) -> tuple[bytes, bytes]:
    """Archive one page; return the head and body of its response record."""
    archive_pages(folder, page(1, **fields))  # type: ignore[arg-type]
    assert_readable(folder / "warc")
    ((_, content),) = records(only_file(folder / "warc"), WarcRecordType.response)
    head, _, body = content.partition(b"\r\n\r\n")
    return head, body


@pytest.mark.slow
@pytest.mark.parametrize(
    "headers, expected",
    [
        ((("X-Folded", "one\r\n two"),), b"X-Folded: one  two"),
        ((("X-Evil", "a\r\n\r\nHTTP/1.1 200 OK"),), b"X-Evil: a HTTP/1.1 200 OK"),
        ((("X\nEvil", "a\nb\0c"),), b"X Evil: a b c"),
        ((("X-Latin", "caf\xe9"),), b"X-Latin: caf\xe9"),
        ((("X-Beyond", "\u65e5\u672c"),), b"X-Beyond: \xe6\x97\xa5\xe6\x9c\xac"),
        ((("", ""),), b": "),
        ((("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")), b"Set-Cookie: a=1\r\nSet-Cookie: b=2"),
        ((("Content-Length", "5"),), b"Content-Length: 5"),
        (
            (("Content-Length", "99"), ("Server", "x")),
            b"X-Crawler-Content-Length: 99\r\nServer: x\r\nContent-Length: 5",
        ),
        (
            (("content-length", "99"), ("Content-Length", "5")),
            b"X-Crawler-content-length: 99\r\nContent-Length: 5",
        ),
        (
            (("Content-Length", "five"), ("Transfer-Encoding", "gzip, chunked")),
            b"X-Crawler-Content-Length: five\r\nX-Crawler-Transfer-Encoding: gzip, chunked\r\n"
            b"Content-Length: 5",
        ),
    ],
)
def test_headers_are_stored_as_far_as_they_are_valid(
    tmp_path: Path, headers: Headers, expected: bytes
) -> None:
    head, body = archive_response(tmp_path, headers=headers, body=b"Hello")
    assert head == b"HTTP/1.1 200 OK\r\n" + expected
    assert body == b"Hello"


@pytest.mark.slow
@pytest.mark.parametrize(
    "reason, line", [("", b"404 "), ("Not\r\nFound", b"404 Not Found"), ("\xe9", b"404 \xe9")]
)
def test_reason_phrase_may_be_any_text(tmp_path: Path, reason: str, line: bytes) -> None:
    head, _ = archive_response(tmp_path, status=404, reason=reason, headers=())
    assert head == b"HTTP/1.1 " + line


def test_bodiless_status_keeps_its_content_length(tmp_path: Path) -> None:
    headers = (("Content-Length", "1234"),)
    head, body = archive_response(tmp_path, status=304, reason="", headers=headers, body=b"")
    assert head.endswith(b"\r\nContent-Length: 1234")
    assert body == b""


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [b"", b"\r\n\r\n", b"\0" * 100_000, os.urandom(3 << 20), b"WARC/1.1\r\n\r\n\x1f\x8b"],
    ids=["empty", "blank lines", "zeros", "three megabytes", "looks like a record"],
)
def test_body_may_be_any_bytes(tmp_path: Path, body: bytes) -> None:
    assert archive_response(tmp_path, body=body, headers=())[1] == body


def test_truncated_body_is_marked(tmp_path: Path) -> None:
    archive_pages(tmp_path, page(1, truncated="length", headers=(("Content-Length", "123456"),)))
    ((about, content),) = records(only_file(tmp_path / "warc"), WarcRecordType.response)
    assert about["WARC-Truncated"] == "length"
    assert b"X-Crawler-Content-Length: 123456\r\nContent-Length: 8\r\n" in content


def test_source_of_a_seed_cannot_forge_a_field(tmp_path: Path) -> None:
    url = "http://site1.example/"
    archive_pages(tmp_path, page(1, visit=Visit("1.1.0@" + url, url, via="me\r\nhazard: none\n\n")))
    ((_, content),) = records(only_file(tmp_path / "warc"), WarcRecordType.metadata)
    assert b"via: me hazard: none \r\n" in content


def test_invalid_address_is_omitted(tmp_path: Path) -> None:
    archive_pages(tmp_path, page(1, address="nowhere\r\nX: y"), page(2, address="2001:db8::7"))
    addresses = {
        h["WARC-Target-URI"][-7:]: h.get("WARC-IP-Address")
        for h, _ in records(only_file(tmp_path / "warc"), WarcRecordType.response)
    }
    assert addresses == {"e/1?q=1": None, "e/2?q=1": "2001:db8::7"}


@pytest.mark.slow
def test_page_with_an_invalid_record_becomes_a_complete_dead_letter(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.take(
        page(1), page(4, started_at=1e300), page(7, visit=Visit("1.7.0@x", "no URL")), page(10)
    )
    letters = crawl.events("dead.letters")
    crawl.end()
    assert len(letters) == 2
    assert b"1e300" in letters[0].value
    assert len(responses(tmp_path / "warc")) == 2
    assert_readable(tmp_path / "warc")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
names = st.one_of(
    texts,
    st.sampled_from(["Content-Length", "Transfer-Encoding", "content-encoding", " TRAILER"]),
    st.text(string.ascii_letters + "-", min_size=1),
)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(names, st.one_of(texts, st.integers(0, 9).map(str))), max_size=6),
    texts,
    st.integers(100, 999),
    st.binary(max_size=200),
)
def test_any_response_can_be_read_back(
    headers: list[tuple[str, str]], reason: str, status: int, body: bytes
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fetched = page(1, body, headers=tuple(headers), reason=reason, status=status)
        archive_pages(Path(folder), fetched)
        (file,) = files(Path(folder) / "warc")
        ((_, content),) = records(file, WarcRecordType.response)
        assert content.endswith(b"\r\n\r\n" + body)
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, check_digests="raise", no_record_parse=False):
                raw = record.raw_stream.read()
                if record.rec_type == "response":
                    assert raw == body
                    assert record.http_headers.get_statuscode() == str(status)
