"""The reader of captures: one record, by its place in a WARC file."""

import gzip
import struct
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import pytest
from backports import zstd
from msgspec.structs import replace

from gossamer.captures import MAX_RECORD_BYTES, BadCapture, Capture, parse_time, read_capture
from gossamer.events import PageFetched
from gossamer.volumes import Missing, Volume
from gossamer.web.http import payload_digest
from gossamer.web.validators import Validators
from tests.archive.harness import NOW, archive_pages, page

BODY = "<p>Olá".encode()
HEADERS = (("Content-Type", "text/html"), ("Content-Encoding", "gzip"))


def response(body: bytes = BODY) -> PageFetched:
    return page(1, gzip.compress(body, mtime=0), reason="OK", started_at=NOW, headers=HEADERS)


def records_of(folder: Path, *pages: PageFetched) -> list[bytes]:
    """Return the records of *pages*, as the archive writes them."""
    crawl = Path(mkdtemp(dir=folder))
    events = archive_pages(crawl, *pages)
    data = {event.file: (crawl / "warc" / event.file).read_bytes() for event in events}
    return [data[one.file][one.offset : one.offset + one.length] for one in events]


@pytest.fixture
def record(tmp_path: Path) -> bytes:
    """Return the record of a response."""
    (found,) = records_of(tmp_path, response())
    return found


def read(
    folder: Path, record: bytes, length: int | None = None, name: str = "a.warc.gz"
) -> Capture:
    """Return the capture in *record*, from a file with other bytes around it."""
    (folder / name).write_bytes(b"before" + record + b"after")
    return read_capture(f"file://{folder}/{name}", 6, len(record) if length is None else length)


def test_response_has_status_headers_and_decoded_body(tmp_path: Path, record: bytes) -> None:
    fetched, found = response(), read(tmp_path, record)
    assert (found.record_type, found.url, found.fetched_at) == ("response", fetched.visit.url, NOW)
    assert (found.status, found.reason, found.digest) == (200, "OK", payload_digest(fetched.body))
    assert found.headers[:2] == HEADERS
    assert found.block.endswith(b"\r\n\r\n" + fetched.body)
    assert found.body == fetched.body and found.decode_body() == BODY
    assert found.decode_body(4) == BODY[:4]


def test_path_and_memory_volume_are_read_like_a_file_url(tmp_path: Path, record: bytes) -> None:
    read(tmp_path, record)
    Volume("memory://captures").put_bytes("w/a.warc.gz", record)
    for uri, offset in ((f"{tmp_path}/a.warc.gz", 6), ("memory://captures/w/a.warc.gz", 0)):
        assert read_capture(uri, offset, len(record)).decode_body() == BODY


def not_modified() -> PageFetched:
    found = replace(response(), status=304, body=b"", headers=(), started_at=NOW + 9)
    return replace(
        found, visit=replace(found.visit, validators=Validators('"1"'), conditional=True)
    )


def test_revisit_record_gets_the_body_of_the_record_that_it_refers_to(tmp_path: Path) -> None:
    first, second = records_of(tmp_path, response(), not_modified())
    earlier, revisit = read(tmp_path, first), read(tmp_path, second)
    assert (revisit.record_type, revisit.status, revisit.body) == ("revisit", 304, b"")
    assert revisit.refers_to is not None
    assert (revisit.refers_to.url, revisit.refers_to.fetched_at) == (earlier.url, NOW)
    with pytest.raises(BadCapture, match="its body is in another record"):
        revisit.decode_body()
    whole = revisit.with_body_of(earlier)
    assert (whole.status, whole.decode_body()) == (304, BODY)
    assert whole.block == earlier.block
    (third,) = records_of(tmp_path, response(b"other"))
    other = read(tmp_path, third)
    with pytest.raises(BadCapture, match="does not have the body"):
        revisit.with_body_of(other)
    with pytest.raises(BadCapture, match="it is a revisit record"):
        revisit.with_body_of(revisit)


def test_zstd_frame_is_read_with_and_without_a_dictionary(tmp_path: Path, record: bytes) -> None:
    record = gzip.decompress(record)
    plain = zstd.compress(record)
    assert read(tmp_path, plain, name="a.warc.zst").decode_body() == BODY
    samples = [record.replace(b"gzip", b"%d" % n) for n in range(300)]
    dictionary = zstd.train_dict(samples, 4000)
    packed = zstd.compress(record, zstd_dict=dictionary)
    for content in (dictionary.dict_content, zstd.compress(dictionary.dict_content)):
        head = b"\x5d\x2a\x4d\x18" + struct.pack("<I", len(content)) + content
        (tmp_path / "d.warc.zst").write_bytes(head + packed)
        found = read_capture(f"{tmp_path}/d.warc.zst", len(head), len(packed))
        assert found.decode_body() == BODY
    with pytest.raises(BadCapture, match="needs a dictionary, and its file has none"):
        read(tmp_path, packed, name="a.warc.zst")


def changed(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """Return a change of a packed record that replaces *old* by *new*."""

    def change(packed: bytes) -> bytes:
        record = gzip.decompress(packed)
        assert old in record
        return gzip.compress(record.replace(old, new, 1))

    return change


BAD_RECORDS: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "foreign": (lambda packed: b"%PDF-1.7" + packed, "no record begins there"),
    "not a WARC record": (lambda packed: gzip.compress(b"hello\r\n\r\n"), "no WARC record"),
    "cut member": (lambda packed: packed[:-20], "the record is truncated"),
    "cut frame": (lambda packed: zstd.compress(packed)[:-5], "the record is truncated"),
    "flipped bit": (
        lambda packed: packed[:60] + bytes([packed[60] ^ 1]) + packed[61:],
        "is damaged|is truncated|no WARC record",
    ),
    "damaged frame": (
        lambda packed: zstd.compress(packed)[:4] + b"\xff" * 40,
        "the zstd frame is damaged",
    ),
    "other body": (changed(b"\r\n\r\n\x1f\x8b", b"\r\n\r\n\x1f\x8c"), "digest of .* is wrong"),
    "other type": (changed(b"response", b"requests"), "'requests' is not a capture"),
    "no length": (changed(b"\r\nContent-Length: ", b"\r\nContent-Size: "), "Content-Length"),
    "negative length": (changed(b"\r\nContent-Length: ", b"\r\nContent-Length: -"), "Content-Le"),
    "long length": (changed(b"\r\nContent-Length: ", b"\r\nContent-Length: 9"), "is truncated"),
    "huge length": (changed(b"\r\nContent-Length: ", b"\r\nContent-Length: " + b"9" * 5000), "C"),
    "other head": (changed(b"HTTP/1.1 200 OK", b"HTTP/1.1 200 KO"), "block digest is wrong"),
    "no date": (changed(b"WARC-Date: 2", b"WARC-Date: x"), "no valid date"),
    "year 0": (changed(b"WARC-Date: 2023", b"WARC-Date: 0000"), "no valid date"),
}


@pytest.mark.parametrize("name", BAD_RECORDS)
def test_bad_record_is_refused_with_file_offset_and_reason(
    tmp_path: Path, record: bytes, name: str
) -> None:
    change, reason = BAD_RECORDS[name]
    with pytest.raises(BadCapture, match=rf"a\.warc\.gz at byte 6: .*{reason}"):
        read(tmp_path, change(record))


def test_record_without_http_or_with_a_bomb_is_refused(tmp_path: Path) -> None:
    head = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Date: 2026-01-02T03:04:05Z\r\n"
    bomb = gzip.compress(bytes(10 << 20))
    for block, reason in (
        (b"hello", "no HTTP response"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n" + bomb, "transfer coding"),
    ):
        record = head + b"Content-Length: %d\r\n\r\n" % len(block) + block + b"\r\n\r\n"
        with pytest.raises(BadCapture, match=reason):
            read(tmp_path, gzip.compress(record))


def test_bomb_is_refused(tmp_path: Path) -> None:
    bomb = gzip.compress(b"WARC/1.1\r\n" + bytes(MAX_RECORD_BYTES), 1)
    with pytest.raises(BadCapture, match="more than"):
        read(tmp_path, bomb)


def test_place_outside_the_file_is_refused(tmp_path: Path, record: bytes) -> None:
    for length in (0, -1, MAX_RECORD_BYTES + 1):
        with pytest.raises(BadCapture, match="can be read"):
            read(tmp_path, record, length)
    with pytest.raises(BadCapture, match="ends within the record"):
        read(tmp_path, record, len(record) + 100)
    with pytest.raises(Missing):
        read_capture(f"{tmp_path}/other.warc.gz", 0, 100)


def test_date_without_a_zone_is_in_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert parse_time("2026-01-02T03:04:05") == parse_time("2026-01-02T03:04:05Z")
        assert parse_time("2026-01") == parse_time("2026-01-01T00:00:00Z")
    finally:
        monkeypatch.undo()
        time.tzset()
