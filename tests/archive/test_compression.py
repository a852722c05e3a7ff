"""WARC files with zstd frames (WARC-zstd 1.0), also after crashes."""

from itertools import pairwise
from pathlib import Path

from backports import zstd
from fastwarc.warc import WarcRecordType

from gossamer.services.archive.segments import member_ends
from tests.archive.harness import NOW, archive_pages, files, page, records, responses
from tests.archive.test_repair import kill_run

FIRST_BYTES = b"\x28\xb5\x2f\xfd"


def test_each_record_is_a_frame_with_size_and_checksum(tmp_path: Path) -> None:
    events = archive_pages(tmp_path, *(page(i) for i in range(3)), compression="zstd")
    (file,) = files(tmp_path / "warc")
    assert file.name == "gossamer-default-20231114221320-00001-archive.warc.zst"
    data, ends = file.read_bytes(), [0, *member_ends(file)]
    assert (len(ends), ends[-1]) == (11, len(data))
    for start, end in pairwise(ends):
        frame = data[start:end]
        record = zstd.decompress(frame)
        assert zstd.get_frame_info(frame).decompressed_size == len(record)
        assert frame[4] & 0b100, "a frame must have a checksum"
        assert record.startswith(b"WARC/1.1\r\n")
    for i, event in enumerate(events):
        record = zstd.decompress(data[event.offset : event.offset + event.length])
        assert record.startswith(b"WARC/1.1\r\nWARC-Type: response\r\n")
        assert f"WARC-Target-URI: {page(i).visit.url}\r\n".encode() in record


def test_fastwarc_reads_the_frames(tmp_path: Path) -> None:
    archive_pages(tmp_path, *(page(i) for i in range(3)), compression="zstd")
    (file,) = files(tmp_path / "warc")
    assert len(records(file)) == 10
    assert responses(tmp_path / "warc") == [page(i).visit.url for i in range(3)]
    assert file.read_bytes().startswith(FIRST_BYTES)


def test_damaged_frame_ends_the_whole_records(tmp_path: Path) -> None:
    file = kill_run(tmp_path, "zstd")
    ends, data = list(member_ends(file)), bytearray(file.read_bytes())
    data[ends[4] + 20] ^= 0xFF
    file.write_bytes(data)
    assert list(member_ends(file)) == ends[:5]


def test_large_body_is_read_in_pieces(tmp_path: Path) -> None:
    body = b"".join(n.to_bytes(4, "big") for n in range(1_000_000))
    archive_pages(tmp_path, page(1, body), page(2), compression="zstd")
    (file,) = files(tmp_path / "warc")
    assert len(list(member_ends(file))) == 7
    ((_, content), _) = records(file, WarcRecordType.response)
    assert content.endswith(body)


def test_compression_may_change_between_runs(tmp_path: Path) -> None:
    archive_pages(tmp_path, page(1, started_at=NOW + 1))
    archive_pages(tmp_path, page(2, started_at=NOW + 2), compression="zstd")
    assert [file.suffix for file in files(tmp_path / "warc")] == [".gz", ".zst"]
    assert len(responses(tmp_path / "warc")) == 2
