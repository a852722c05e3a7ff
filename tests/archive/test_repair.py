"""The table of `gossamer.services.archive.segments`, row by row."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from gossamer.services.archive.segments import UNCOMMITTED_SUFFIX, member_ends
from gossamer.volumes import OPEN_SUFFIX
from tests.archive.harness import (
    Crawl,
    assert_readable,
    files,
    members,
    only_file,
    page,
    records,
    responses,
)


def kill_run(folder: Path, compression: str = "gzip") -> Path:
    """Archive three pages in a run that is killed; return its open segment."""
    crawl = Crawl(folder, compression=compression)
    crawl.take(*(page(i) for i in range(3)))
    crawl.kill()
    (file,) = files(folder / "warc")
    assert file.name.endswith(OPEN_SUFFIX)
    return file


def restart(folder: Path, compression: str = "gzip") -> list[str]:
    """Restart and end normally; return the events that were logged."""
    with capture_logs() as logs:
        crawl = Crawl(folder, compression=compression)
        crawl.work()
        crawl.end()
    return [entry["event"] for entry in logs]


both_compressions = pytest.mark.parametrize("compression", ["gzip", "zstd"])


@both_compressions
def test_uncommitted_records_are_truncated(tmp_path: Path, compression: str) -> None:
    file = kill_run(tmp_path, compression)
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:300])
    assert restart(tmp_path, compression) == []
    assert only_file(tmp_path / "warc").read_bytes() == whole
    assert len(responses(tmp_path / "warc")) == 3


def test_committed_segment_is_completed(tmp_path: Path) -> None:
    whole = kill_run(tmp_path).read_bytes()
    for _ in range(2):
        assert restart(tmp_path) == []
        assert only_file(tmp_path / "warc").read_bytes() == whole
    assert_readable(tmp_path / "warc")


@both_compressions
@pytest.mark.parametrize("lost", [1, 100, 1200, 2000])
def test_whole_records_are_salvaged_after_a_power_failure(
    tmp_path: Path, lost: int, compression: str
) -> None:
    file = kill_run(tmp_path, compression)
    whole, ends = file.read_bytes(), list(member_ends(file))
    file.write_bytes(whole[:-lost])
    (warning,) = restart(tmp_path, compression)
    assert "shorter" in warning
    kept = only_file(tmp_path / "warc").read_bytes()
    assert kept == whole[: len(kept)]
    assert len(kept) == max(end for end in ends if end <= len(whole) - lost)
    assert len(records(only_file(tmp_path / "warc"))) == ends.index(len(kept)) + 1 > 1
    assert restart(tmp_path, compression) == []


def test_file_without_a_whole_record_is_removed(tmp_path: Path) -> None:
    file = kill_run(tmp_path)
    file.write_bytes(file.read_bytes()[:500])
    assert len(restart(tmp_path)) == 1
    assert files(tmp_path / "warc") == []


def test_moved_file_is_reported_once(tmp_path: Path) -> None:
    kill_run(tmp_path).unlink()
    (warning,) = restart(tmp_path)
    assert "is missing" in warning
    assert restart(tmp_path) == []


def test_uncommitted_file_is_parked(tmp_path: Path) -> None:
    file = kill_run(tmp_path)
    orphan = file.with_name(file.name.replace("00001", "00002"))
    orphan.write_bytes(file.read_bytes())
    (warning,) = restart(tmp_path)
    assert "parked" in warning
    (parked,) = (tmp_path / "warc").glob(f"*{UNCOMMITTED_SUFFIX}")
    assert len(members(parked)) > 1
    assert len(files(tmp_path / "warc")) == 1
    crawl = Crawl(tmp_path)
    crawl.take(page(9))
    crawl.end()
    assert [path.name.split("-")[3] for path in files(tmp_path / "warc")] == ["00001", "00003"]


def test_uncommitted_file_without_a_whole_capture_is_removed(tmp_path: Path) -> None:
    file = kill_run(tmp_path)
    for serial, part in (("00002", b""), ("00003", file.read_bytes()[:400])):
        file.with_name(file.name.replace("00001", serial)).write_bytes(part)
    assert restart(tmp_path) == []
    assert len(files(tmp_path / "warc")) == 1


def test_complete_file_is_never_changed(tmp_path: Path) -> None:
    kill_run(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.glob("crawl.db*")}
    crawl = Crawl(tmp_path)
    crawl.take(page(7))
    crawl.end()
    whole = {path: path.read_bytes() for path in files(tmp_path / "warc")}
    for path, content in before.items():
        path.write_bytes(content)
    longer = next(path for path in whole if "00001" in path.name)
    longer.write_bytes(longer.read_bytes() * 2)
    restart(tmp_path)
    assert longer.read_bytes() == whole[longer] * 2


def test_captures_survive_the_loss_of_the_store(tmp_path: Path) -> None:
    file = kill_run(tmp_path)
    file.write_bytes(file.read_bytes() + b"half a record")
    for database in tmp_path.glob("crawl.db*"):
        database.unlink()
    crawl = Crawl(tmp_path)
    crawl.fetch(page(9))
    with capture_logs() as logs:
        crawl.work()
    crawl.end()
    assert "unfinished segment" in logs[0]["event"]
    assert [path.name.split("-")[3] for path in files(tmp_path / "warc")] == ["00001", "00002"]
    assert len(responses(tmp_path / "warc")) == 4
    assert_readable(tmp_path / "warc")


def test_other_files_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "warc").mkdir()
    strange = ["notes.txt", "other-1.warc.gz.open", "gossamer-2023-1.warc.gz.open"]
    for name in strange:
        (tmp_path / "warc" / name).write_text("mine")
    assert restart(tmp_path) == []
    assert [path.name for path in files(tmp_path / "warc")] == sorted(strange)


def test_unsettled_segment_is_completed_by_the_next_start(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.take(page(1))
    crawl.archive.handle(page(2), 0.0)
    crawl.archive.close()
    crawl.kill()
    assert [path.suffix for path in files(tmp_path / "warc")] == [OPEN_SUFFIX]
    restart(tmp_path)
    assert responses(tmp_path / "warc") == ["http://site1.example/page/1?q=1"]


def test_members_are_found_across_chunk_boundaries(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.take(*(page(i, b"\0" * (3 << 20)) for i in range(3)), page(4, bytes(range(256)) * 9000))
    crawl.end()
    (file,) = files(tmp_path / "warc")
    starts = [offset for offset, _ in members(file)]
    assert list(member_ends(file)) == [*starts[1:], file.stat().st_size]


def test_full_segment_is_completed(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, segment_size=1)
    crawl.fetch(page(1), page(2))
    while crawl.log.lag("archive", "pages.fetched"):
        crawl.runner.step()
    crawl.kill()
    assert [path.suffix for path in files(tmp_path / "warc")] == [OPEN_SUFFIX, OPEN_SUFFIX]
    assert restart(tmp_path) == []
    assert len(responses(tmp_path / "warc")) == 2
    assert_readable(tmp_path / "warc")


def test_reassignment_drops_uncommitted_records(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.take(page(1))
    crawl.archive.handle(page(2), 0.0)
    crawl.archive.assign(frozenset(), 0.0)
    crawl.take(page(3))
    crawl.end()
    assert responses(tmp_path / "warc") == [page(1).visit.url, page(3).visit.url]
    assert_readable(tmp_path / "warc")
