"""The table of `services.archive.files.repair`, row by row."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from services.archive.files.repair import member_ends
from services.archive.files.segment import OPEN_SUFFIX, UNCOMMITTED_SUFFIX
from tests.archive.harness import (
    Crawl,
    assert_readable,
    files,
    members,
    page,
    responses,
)


def killed(folder: Path, count: int = 3) -> Path:
    """Archive *count* pages in a run that is then killed; return the open segment."""
    crawl = Crawl(folder)
    crawl.fetched(*(page(i) for i in range(count)))
    crawl.work()
    crawl.die()
    (file,) = files(folder / "warc")
    assert file.name.endswith(OPEN_SUFFIX)
    return file


def restarted(folder: Path) -> list[str]:
    """Start again and end well; return what was logged."""
    with capture_logs() as logs:
        crawl = Crawl(folder)
        crawl.work()
        crawl.end()
    return [entry["event"] for entry in logs]


def test_what_was_not_committed_is_cut_off(tmp_path: Path) -> None:
    file = killed(tmp_path)
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:1000])
    assert restarted(tmp_path) == []
    (complete,) = files(tmp_path / "warc")
    assert complete.read_bytes() == whole
    assert_readable(tmp_path / "warc")


def test_what_was_committed_is_completed(tmp_path: Path) -> None:
    whole = killed(tmp_path).read_bytes()
    assert restarted(tmp_path) == []
    (complete,) = files(tmp_path / "warc")
    assert complete.read_bytes() == whole
    assert restarted(tmp_path) == []


@pytest.mark.parametrize("lost", [1, 100, 1200, 2000])
def test_after_a_power_cut_the_whole_records_are_kept(tmp_path: Path, lost: int) -> None:
    file = killed(tmp_path)
    before = members(file)
    whole = file.read_bytes()
    file.write_bytes(whole[:-lost])
    (warning,) = restarted(tmp_path)
    assert "shorter" in warning
    (complete,) = files(tmp_path / "warc")
    kept = members(complete)
    assert kept == before[: len(kept)]
    assert len(before) > len(kept) > 1
    assert restarted(tmp_path) == []


def test_a_file_of_which_nothing_is_left_is_removed(tmp_path: Path) -> None:
    file = killed(tmp_path)
    file.write_bytes(file.read_bytes()[:500])
    assert len(restarted(tmp_path)) == 1
    assert files(tmp_path / "warc") == []


def test_a_file_that_somebody_moved_is_reported_once(tmp_path: Path) -> None:
    killed(tmp_path).unlink()
    (warning,) = restarted(tmp_path)
    assert "is missing" in warning
    assert restarted(tmp_path) == []


def test_a_file_that_was_never_committed_is_parked(tmp_path: Path) -> None:
    file = killed(tmp_path)
    orphan = file.with_name(file.name.replace("00001", "00002"))
    orphan.write_bytes(file.read_bytes())
    (warning,) = restarted(tmp_path)
    assert "parked" in warning
    (aside,) = (tmp_path / "warc").glob(f"*{UNCOMMITTED_SUFFIX}")
    assert len(members(aside)) > 1
    assert len(files(tmp_path / "warc")) == 1
    crawl = Crawl(tmp_path)
    crawl.fetched(page(9))
    crawl.work()
    crawl.end()
    assert [path.name.split("-")[3] for path in files(tmp_path / "warc")] == ["00001", "00003"]


def test_a_file_without_a_whole_capture_is_removed(tmp_path: Path) -> None:
    file = killed(tmp_path)
    for serial, part in (("00002", b""), ("00003", file.read_bytes()[:400])):
        file.with_name(file.name.replace("00001", serial)).write_bytes(part)
    assert restarted(tmp_path) == []
    assert len(list((tmp_path / "warc").iterdir())) == 1


def test_a_complete_file_is_never_changed(tmp_path: Path) -> None:
    killed(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.glob("crawl.db*")}
    crawl = Crawl(tmp_path)
    crawl.fetched(page(7))
    crawl.work()
    crawl.end()
    whole = {path: path.read_bytes() for path in files(tmp_path / "warc")}
    for path, content in before.items():
        path.write_bytes(content)
    longer = next(path for path in whole if "00001" in path.name)
    longer.write_bytes(longer.read_bytes() * 2)
    restarted(tmp_path)
    assert longer.read_bytes() == whole[longer] * 2


def test_captures_outlive_the_store(tmp_path: Path) -> None:
    file = killed(tmp_path)
    file.write_bytes(file.read_bytes() + b"half a record")
    for database in tmp_path.glob("crawl.db*"):
        database.unlink()
    crawl = Crawl(tmp_path)
    crawl.fetched(page(9))
    with capture_logs() as logs:
        crawl.work()
    crawl.end()
    assert "unfinished segment" in logs[0]["event"]
    assert [path.name.split("-")[3] for path in files(tmp_path / "warc")] == ["00001", "00002"]
    assert len(responses(tmp_path / "warc")) == 4
    assert_readable(tmp_path / "warc")


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "warc").mkdir()
    strange = ["notes.txt", "other-1.warc.gz.open", "gossamer-2023-1.warc.gz.open"]
    for name in strange:
        (tmp_path / "warc" / name).write_text("mine")
    assert restarted(tmp_path) == []
    assert [path.name for path in files(tmp_path / "warc")] == sorted(strange)


def test_an_abandoned_end_leaves_the_segment_to_the_next_start(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.fetched(page(1))
    crawl.work()
    crawl.archive.handle(page(2), 0.0)
    crawl.archive.close()
    crawl.die()
    assert [path.suffix for path in files(tmp_path / "warc")] == [OPEN_SUFFIX]
    restarted(tmp_path)
    assert responses(tmp_path / "warc") == ["http://site1.example/page/1?q=1"]


def test_members_are_found_however_they_fall_on_reads(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.fetched(
        *(page(i, b"\0" * (3 << 20)) for i in range(3)), page(4, bytes(range(256)) * 9000)
    )
    crawl.work()
    crawl.end()
    (file,) = files(tmp_path / "warc")
    starts = [offset for offset, _ in members(file)]
    assert list(member_ends(file)) == [*starts[1:], file.stat().st_size]


def test_a_full_segment_is_completed(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, segment_size=1)
    crawl.fetched(page(1), page(2))
    while crawl.log.lag("archive", "pages.fetched"):
        crawl.runner.step()
    crawl.die()
    assert [path.suffix for path in files(tmp_path / "warc")] == [OPEN_SUFFIX, OPEN_SUFFIX]
    assert restarted(tmp_path) == []
    assert len(responses(tmp_path / "warc")) == 2
    assert_readable(tmp_path / "warc")


def test_partitions_that_change_drop_what_was_not_committed(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.fetched(page(1))
    crawl.work()
    crawl.archive.handle(page(2), 0.0)
    crawl.archive.assign(frozenset(), 0.0)
    crawl.fetched(page(3))
    crawl.work()
    crawl.end()
    assert responses(tmp_path / "warc") == [page(1).visit.url, page(3).visit.url]
    assert_readable(tmp_path / "warc")
