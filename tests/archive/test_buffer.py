"""The archive uploads its files, publishes what is stored, and pauses while a store takes none."""

import gzip
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from gossamer.errors import BadSettings
from gossamer.events import PageArchived
from gossamer.services.archive.index import INDEX_SUFFIX
from gossamer.services.archive.rows import SegmentRow, UnpublishedRow
from gossamer.services.archive.uploading import Start
from gossamer.settings import ArchiveSettings
from gossamer.volumes import Volume, read_file
from tests.archive.faults import Crash, Crashed, crashing
from tests.archive.harness import Crawl, files, page
from tests.object_store import ObjectStore, object_store

PAGES, MAX_INSTANTS = "pages.fetched", 1000
SEGMENT_SIZE, BUFFER = 60_000, 200_000
BODY_BYTES = 10_000


def at_once(job: object) -> None:
    job()  # type: ignore[operator]


@pytest.fixture
def s3() -> Iterator[ObjectStore]:
    with object_store() as store:
        yield store


@pytest.fixture
def bucket(s3: ObjectStore) -> str:
    url = f"s3://bucket-{uuid.uuid4().hex}"
    made = Volume(url)
    made._files.mkdir(made._root)
    return f"{url}/crawl"


def crawl_of(folder: Path, *volumes: str, start: Start = at_once, buffer: int = BUFFER) -> Crawl:
    return Crawl(folder, SEGMENT_SIZE, volumes=volumes, start_upload=start, buffer=buffer)


def fetch(crawl: Crawl, count: int, first: int = 0) -> None:
    crawl.fetch(*(page(i, os.urandom(BODY_BYTES)) for i in range(first, first + count)))


def end(crawl: Crawl) -> list[PageArchived]:
    """End the run with its last uploads, as a crawl does; return what is published."""
    crawl.runner.step()
    crawl.archive.end()
    crawl.work_until(lambda: crawl.archive.has_ended)
    events = crawl.events()
    crawl.end()
    return events


def local_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in (folder / "warc").iterdir())


def assert_stored(events: list[PageArchived], count: int, *volumes: str) -> None:
    """Assert that each of *count* pages was published once, at a URI where it can be read."""
    assert sorted(event.url for event in events) == sorted(page(i).visit.url for i in range(count))
    opened = {url: Volume(url) for url in volumes}
    for event in events:
        (url,) = [url for url in volumes if event.uri == f"{url}/{event.file}"]
        record = opened[url].read(event.file, event.offset, event.offset + event.length)
        assert f"WARC-Target-URI: {event.url}\r\n".encode() in gzip.decompress(record)
        places = [*opened.values()]
        found = read_file(None, places, event.file, event.offset, event.offset + event.length)
        assert found == record


def test_captures_are_published_once_their_file_is_in_a_volume(tmp_path: Path) -> None:
    volume = (tmp_path / "volume").as_uri()
    crawl = crawl_of(tmp_path / "data", volume)
    fetch(crawl, 4)
    crawl.work()
    assert crawl.events() == []
    assert len([*crawl.store.table(UnpublishedRow).everything()]) == 4
    fetch(crawl, 20, first=4)
    crawl.work_until(lambda: len(crawl.events()) > 15)
    assert {event.file for event in crawl.events()} <= {*Volume(volume).names()}
    events = end(crawl)
    assert_stored(events, 24, volume)
    assert [*(tmp_path / "data/warc").iterdir()] == []
    again = crawl_of(tmp_path / "data", volume)
    assert [*again.store.table(UnpublishedRow).everything()] == []
    row = again.store.table(SegmentRow).get("archive")
    assert row and not (row.waiting or row.stored or row.fault)
    again.kill()


def test_store_that_fails_pauses_the_archive_which_recovers(
    tmp_path: Path, s3: ObjectStore, bucket: str
) -> None:
    crawl = Crawl(tmp_path, SEGMENT_SIZE, volumes=[bucket], buffer=BUFFER)
    fetch(crawl, 100)
    s3.kill()
    crawl.work_until(lambda: bool(crawl.archive.limitation() and crawl.archive.note()))
    assert "s3://bucket-" in crawl.archive.limitation()
    left = crawl.log.lag("archive", "pages.fetched")
    assert left > 50 and crawl.events() == []
    assert local_bytes(tmp_path) < BUFFER + SEGMENT_SIZE
    row = crawl.store.table(SegmentRow).get("archive")
    crawl.work_until(lambda: bool(read_row(crawl).fault))
    assert row and len(read_row(crawl).waiting) > 1
    s3.is_full = True
    s3.start()
    crawl.work_until(lambda: s3.uploads > 1)
    assert crawl.log.lag("archive", "pages.fetched") == left
    s3.is_full = False
    crawl.work_until(lambda: not crawl.log.lag("archive", "pages.fetched"))
    assert not crawl.archive.limitation()
    assert_stored(end(crawl), 100, bucket)


def read_row(crawl: Crawl) -> SegmentRow:
    row = crawl.store.table(SegmentRow).get("archive")
    assert row
    return row


def test_slow_upload_does_not_stop_the_loop(tmp_path: Path, s3: ObjectStore, bucket: str) -> None:
    s3.may_answer.clear()
    crawl = Crawl(tmp_path, SEGMENT_SIZE, volumes=[bucket], buffer=BUFFER)
    fetch(crawl, 8)
    crawl.work_until(lambda: s3.uploads > 0)
    fetch(crawl, 4, first=8)
    crawl.work_until(lambda: not crawl.log.lag("archive", "pages.fetched"))
    assert crawl.events() == []
    s3.may_answer.set()
    assert_stored(end(crawl), 12, bucket)


def test_much_more_data_than_the_buffer_fits_through(tmp_path: Path) -> None:
    volume, most = (tmp_path / "volume").as_uri(), 0
    crawl = crawl_of(tmp_path / "data", volume, buffer=SEGMENT_SIZE)
    for i in range(10):
        fetch(crawl, 30, first=30 * i)
        while crawl.log.lag("archive", "pages.fetched"):
            crawl.runner.step()
            crawl.now += 0.1
            most = max(most, local_bytes(tmp_path / "data"))
    assert most < 2 * SEGMENT_SIZE
    assert_stored(end(crawl), 300, volume)


def test_open_segments_of_many_crawls_do_not_fill_the_buffer_for_ever(tmp_path: Path) -> None:
    volume = (tmp_path / "volume").as_uri()
    crawl = crawl_of(tmp_path / "data", volume, buffer=SEGMENT_SIZE)
    crawl.fetch(*(page(i, os.urandom(BODY_BYTES), crawl=f"c{i}") for i in range(20)))
    crawl.work_until(lambda: not crawl.log.lag("archive", "pages.fetched"))
    assert_stored(end(crawl), 20, volume)


def test_next_volume_takes_what_the_first_does_not(
    tmp_path: Path, s3: ObjectStore, bucket: str
) -> None:
    other = (tmp_path / "volume").as_uri()
    crawl = crawl_of(tmp_path / "data", bucket, other)
    fetch(crawl, 10)
    s3.is_full = True
    crawl.work_until(lambda: len(crawl.events()) > 2)
    s3.is_full = False
    fetch(crawl, 10, first=10)
    crawl.work_until(lambda: not crawl.log.lag("archive", "pages.fetched"))
    events = end(crawl)
    assert {event.uri.split(":")[0] for event in events} == {"file", "s3"}
    assert_stored(events, 20, bucket, other)


def test_volumes_may_be_added_and_removed_between_runs(tmp_path: Path) -> None:
    data, volume = tmp_path / "data", (tmp_path / "volume").as_uri()
    crawl = crawl_of(data)
    fetch(crawl, 10)
    crawl.work()
    crawl.end()
    crawl = crawl_of(data, volume)
    fetch(crawl, 10, first=10)
    crawl.work_until(lambda: len(crawl.events()) > 10)
    assert len(Volume(volume).names()) > 1  # Also the file from before the setting.
    crawl.kill()
    crawl = crawl_of(data)
    crawl.work_until(lambda: len({event.url for event in crawl.events()}) == 20)
    former_urls = {page(i).visit.url for i in range(10)}
    former = [event for event in crawl.events() if event.url in former_urls]
    later = [event for event in crawl.events() if event.url not in former_urls]
    crawl.end()
    folder = (data / "warc").as_uri()
    assert {*volumes_of(former)} == {folder}
    assert read_file(data / "warc", [Volume(volume)], former[0].file)
    assert not (data / "warc" / former[0].file).exists()
    assert {*volumes_of(later)} == {volume, folder}
    assert all(
        Volume(url).size(event.file) for url, event in zip(volumes_of(later), later, strict=True)
    )


def volumes_of(events: list[PageArchived]) -> list[str]:
    return [event.uri.removesuffix(f"/{event.file}") for event in events]


def test_file_of_another_crawl_is_not_replaced(tmp_path: Path) -> None:
    volume = Volume((tmp_path / "volume").as_uri())
    crawl = crawl_of(tmp_path / "data", volume.url)
    fetch(crawl, 3)
    crawl.work()
    (segment,) = crawl.archive._open.values()
    volume.put_bytes(segment.file, b"another file")
    crawl.archive.end()
    crawl.work_until(lambda: crawl.archive.has_ended)
    assert "give each crawl a volume of its own" in crawl.archive.note()
    assert volume.read(segment.file) == b"another file" and crawl.events() == []
    crawl.kill()


def test_file_that_was_removed_is_not_published(tmp_path: Path, s3: ObjectStore) -> None:
    crawl = crawl_of(tmp_path, "s3://missing")
    fetch(crawl, 3)
    crawl.work()
    crawl.archive.end()
    crawl.work_until(lambda: crawl.archive.has_ended)
    assert "s3://missing" in crawl.archive.note()
    (file,) = files(tmp_path / "warc")
    file.unlink()
    crawl.kill()
    crawl = crawl_of(tmp_path, (tmp_path / "volume").as_uri())
    assert end(crawl) == []


@pytest.mark.slow
@pytest.mark.parametrize("stride", [9, pytest.param(1, marks=pytest.mark.long)])
def test_kill_at_any_instant_loses_no_file_and_publishes_one_place(
    tmp_path: Path, stride: int
) -> None:
    with crashing() as crash:
        instants = 0
        while is_killed_at(instants, crash, tmp_path / str(instants)):
            instants += stride
            assert instants < MAX_INSTANTS
    assert instants > 100


def is_killed_at(instant: int, crash: Crash, folder: Path) -> bool:
    """Archive pages into two files, killed at *instant*. Then finish, and check all. Return whether
    it was killed."""
    folder.mkdir()
    volume, is_killed = (folder / "volume").as_uri(), False
    crash.left = instant
    try:
        crawl = Crawl(folder / "data", 2500, volumes=[volume], start_upload=at_once)
        crawl.fetch(*(page(i, os.urandom(300 * i)) for i in range(6)))
        crawl.work_until(lambda: not crawl.log.lag("archive", "pages.fetched"))
        end(crawl)
    except Crashed:
        is_killed = True
        crash.clean_up()
    crash.left = None
    crawl = Crawl(folder / "data", 2500, volumes=[volume], start_upload=at_once)
    crawl.fetch(*(page(i, os.urandom(300 * i)) for i in range(crawl.log.lag("none", PAGES), 6)))
    crawl.work_until(lambda: not crawl.log.lag("archive", "pages.fetched"))
    # A publication may be repeated, with the same content.
    events = {msgspec.json.encode(event): event for event in end(crawl)}
    assert_stored([*events.values()], 6, volume)
    assert files(folder / "data/warc") == []
    assert not [*(folder / "volume").glob("*.partial")]
    stored = {event.file for event in events.values()}
    indexes = {file + INDEX_SUFFIX for file in stored}
    assert stored | indexes == {*Volume(volume).names()}
    return is_killed


def test_settings_that_cannot_work_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="buffer must be at least segment_size"):
        ArchiveSettings(volumes=("file:///x",), segment_size=100, buffer=99)
    with pytest.raises(ValueError, match="gopher://x is not a volume"):
        ArchiveSettings(volumes=("gopher://x",))
    with pytest.raises(ValueError, match="must be URLs such as"):
        ArchiveSettings(volumes=("folder",))
    with pytest.raises(ValueError, match="must be different"):
        ArchiveSettings(volumes=("file:///x", "file:///x/"))
    with pytest.raises(BadSettings, match="overlaps"):
        crawl_of(tmp_path, (tmp_path / "warc/below").as_uri())
