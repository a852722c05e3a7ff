"""Erasures on demand: no byte of an erased page stays in a WARC file, and nothing else moves."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from backports import zstd

from gossamer.erasures import ErasureRow
from gossamer.events import DEFAULT_CRAWL, Erasure, PageArchived, Visit, VisitsErased
from gossamer.events.public import Gone
from gossamer.events.topics import PAGES_ARCHIVED
from gossamer.log.codec import encode, tombstone
from gossamer.services.archive.index import INDEX_SUFFIX
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.archive.segments import FILE_NAME, UNCOMMITTED_SUFFIX
from gossamer.services.archive.service import Archive
from gossamer.settings import ArchiveSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from tests.archive.faults import crashing
from tests.archive.harness import (
    NOW,
    Crawl,
    check,
    files,
    members,
    page,
    record_at,
    records,
    responses,
)

COUNT = 12
SECRET = 4
"""The number of the page that is erased."""
MAX_INSTANTS = 400


def body(number: int) -> bytes:
    return f"<p>text of page {number:03}".encode() + bytes([number % 251]) * 3000


def erasure(number: int = SECRET, orders: int = 1000) -> VisitsErased:
    url = page(number).visit.url
    return VisitsErased(
        at=NOW,
        site=page(number).site,
        erasure=Erasure(url, NOW, "ann@desk", 0, orders),
        urls=(url,),
    )


def archived(folder: Path, segment_size: int = 4000) -> Crawl:
    crawl = Crawl(folder, segment_size)
    crawl.fetch(*(page(i, body(i) + os.urandom(700)) for i in range(COUNT)))
    crawl.work()
    return crawl


def forget(crawl: Crawl, number: int = SECRET) -> None:
    crawl.log.append([encode(erasure(number))])
    crawl.work()


def content(folder: Path) -> bytes:
    """Return the content of all files, with parked ones and indexes."""
    indexes = [path for path in folder.iterdir() if path.suffix == INDEX_SUFFIX]
    warcs = [path for path in folder.iterdir() if path.suffix != INDEX_SUFFIX]
    records = [data for path in warcs for _, data in members(path)]
    return b"".join([*records, *(path.read_bytes() for path in indexes)])


def assert_erased(folder: Path, number: int = SECRET) -> None:
    found = content(folder)
    assert body(number) not in found
    assert page(number).visit.url.encode() not in found
    assert f"text of page {number:03}".encode() not in found


def assert_others_in_place(folder: Path, events: list[PageArchived], erased: int = SECRET) -> None:
    kept = [event for event in events if event.url != page(erased).visit.url]
    assert len(kept) == len(events) - 1
    for event in kept:
        record = record_at(folder, event)
        assert f"WARC-Target-URI: {event.url}\r\n".encode() in record
        assert event.digest.encode() in record


def erasures(crawl: Crawl) -> dict[str, ErasureRow]:
    rows = SqliteStore(crawl.database).table(ErasureRow).everything()
    return {row.service: row for row in rows}


def test_erased_page_is_in_no_file_and_others_keep_their_places(tmp_path: Path) -> None:
    crawl = archived(tmp_path)
    sizes = {path.name: path.stat().st_size for path in files(tmp_path / "warc")}
    assert body(SECRET) in content(tmp_path / "warc")
    forget(crawl)
    assert erasures(crawl)["archive/archive"].rows == {"warc_records": 3}
    events = crawl.events()
    crawl.end()
    assert_erased(tmp_path / "warc")
    assert_others_in_place(tmp_path / "warc", events)
    found = files(tmp_path / "warc")
    assert {path.name for path in found} >= {name.removesuffix(".open") for name in sizes}
    for path in found:
        before = sizes.get(path.name) or sizes[path.name + ".open"]
        assert path.stat().st_size == before
        assert records(path)
    check([str(path) for path in found])
    expected = [page(i).visit.url for i in range(COUNT) if i != SECRET]
    assert sorted(responses(tmp_path / "warc")) == sorted(expected)


def test_consumers_learn_of_the_erasure(tmp_path: Path) -> None:
    crawl = archived(tmp_path)
    forget(crawl)
    found = crawl.log.tail([PAGES_ARCHIVED.name]).poll(0)
    crawl.end()
    (erased,) = [tombstone(record) for record in found if not record.value]
    archived_at = [record.offset for record in found if record.value]
    assert erased.url == page(SECRET).visit.url
    assert (erased.crawl, erased.reason, erased.at) == (DEFAULT_CRAWL, Gone.ERASED, NOW)
    assert [record.offset > max(archived_at) for record in found if not record.value] == [True]


def test_open_segment_is_completed_and_erased(tmp_path: Path) -> None:
    crawl = archived(tmp_path, segment_size=1 << 30)
    forget(crawl)
    crawl.fetch(page(50, b"<p>later"))
    crawl.work()
    events = crawl.events()
    crawl.end()
    assert len(files(tmp_path / "warc")) == 2
    assert_erased(tmp_path / "warc")
    assert_others_in_place(tmp_path / "warc", events)


def test_page_that_is_fetched_again_after_the_erasure_stays(tmp_path: Path) -> None:
    crawl = archived(tmp_path)
    visit = Visit(f"1.2000.0@{page(SECRET).visit.url}", page(SECRET).visit.url)
    again = page(SECRET, b"<p>new text", visit=visit, started_at=NOW + 99)
    # Both are on the log before the archive has read a file.
    crawl.log.append([encode(erasure()), encode(again)])
    crawl.work()
    crawl.end()
    assert b"<p>new text" in content(tmp_path / "warc")
    assert body(SECRET) not in content(tmp_path / "warc")


def test_parked_file_is_erased_with_its_partial_record(tmp_path: Path) -> None:
    crawl = archived(tmp_path)
    (first, *_) = files(tmp_path / "warc")
    full = next(
        p for p in files(tmp_path / "warc") if body(SECRET) in b"".join(d for _, d in members(p))
    )
    parked = first.with_name(full.name.removesuffix(".open") + UNCOMMITTED_SUFFIX)
    data = full.read_bytes()
    parked.write_bytes(data + data[members(full)[1][0] :][:200])
    forget(crawl)
    crawl.end()
    assert parked.stat().st_size == len(data)
    assert_erased(tmp_path / "warc")


def test_damaged_file_is_reported(tmp_path: Path) -> None:
    crawl = archived(tmp_path)
    (first, *_) = files(tmp_path / "warc")
    with first.open("r+b") as file:
        file.seek(members(first)[2][0])
        file.write(bytes(20))
    forget(crawl)
    assert erasures(crawl)["archive/archive"].rows == {"warc_records": 3, "damaged_files": 1}
    crawl.kill()


def test_every_writer_erases_its_own_files(tmp_path: Path) -> None:
    store = SqliteStore(Database(tmp_path / "crawl.db"))

    def writer(name: str) -> Archive:
        archive = Archive(tmp_path / "warc", store, ArchiveSettings(), "me", "gossamer", name)
        archive.assign(frozenset({0}), NOW)
        return archive

    def step(archive: Archive, now: float) -> None:
        archive.wake(now)
        archive.settle()
        store.flush()

    writers = [writer(f"archive-{number}") for number in range(2)]
    for archive in writers:
        # Partitions moved, so both have captures of the site.
        archive.handle(page(SECRET, body(SECRET), started_at=NOW + id(archive) % 97), NOW)
        archive.handle(page(5, body(5)), NOW)
        archive.settle()
        store.flush()
    writers[0].handle(erasure(), NOW)
    for number in range(10):
        step(writers[0], NOW + number)
    assert {row.service for row in store.table(ErasureRow).everything()} == {
        "archive",
        "archive/archive-0",
    }
    for number in range(10):
        step(writers[1], NOW + 60 + number)
    for archive in writers:
        archive.close()
    services = {row.service for row in store.table(ErasureRow).everything()}
    assert services == {"archive", "archive/archive-0", "archive/archive-1"}
    for name in ("archive-0", "archive-1"):
        assert_erased(tmp_path / "warc" / name)
        assert responses(tmp_path / "warc" / name) == [page(5).visit.url]
    assert [row.url for row in store.table(CaptureRow).everything()] == [page(5).visit.url]


@pytest.mark.slow
def test_crash_at_any_instant_leaves_an_erasure_to_be_completed(tmp_path: Path) -> None:
    instants, crashed = 0, True
    while crashed:
        folder = tmp_path / str(instants)
        crawl = archived(folder)
        crawl.log.append([encode(erasure())])
        with crashing() as crash:
            crashed = crash.interrupts(crawl.work, instants)
            crawl.kill()
            crash.clean_up()
        again = Crawl(folder, 4000)
        again.work()
        events, done = again.events(), erasures(again)
        again.end()
        assert "archive/archive" in done
        assert_erased(folder / "warc")
        assert_others_in_place(folder / "warc", events)
        names = [path.name.removesuffix(INDEX_SUFFIX) for path in (folder / "warc").iterdir()]
        assert all(FILE_NAME.fullmatch(name) for name in names)
        instants += 1
        assert instants < MAX_INSTANTS
    assert instants > 20


PROGRAM = """
import sys
from collections.abc import Iterator
from pathlib import Path
from tests.archive.harness import Crawl
crawl = Crawl(Path(sys.argv[1]), 4000)
print("begun", flush=True)
crawl.work()
crawl.end()
"""


@pytest.mark.long
def test_killed_processes_complete_the_erasure_of_a_site(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, 20_000)
    pages = [page(i, body(i) + os.urandom(3000)) for i in range(400)]
    crawl.fetch(*pages)
    crawl.work()
    site = page(1).site
    urls = tuple(one.visit.url for one in pages if one.site == site)
    target = Erasure(site, NOW, "ann@desk", 0, 1000)
    crawl.log.append([encode(VisitsErased(at=NOW, site=site, erasure=target, urls=urls))])
    events = [event for event in crawl.events() if event.site != site]
    crawl.kill()
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    kills = 0
    for _ in range(8):
        before = versions(tmp_path / "warc")
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout and worker.stdout.readline() == "begun\n"
            while worker.poll() is None and len(versions(tmp_path / "warc") - before) < 3:
                pass
            worker.kill()
        kills += worker.returncode == -9
    assert kills > 2
    subprocess.run(command, check=True)
    found = content(tmp_path / "warc")
    assert b"//" + site.encode() not in found
    assert len(events) == 400 - len(urls)
    for event in events:
        assert event.digest.encode() in record_at(tmp_path / "warc", event)


def versions(folder: Path) -> set[tuple[str, int]]:
    """Return name and time of change of each file."""
    with os.scandir(folder) as entries:
        return {(one.name, one.stat().st_ctime_ns) for one in entries if one.name.endswith(".gz")}


def test_file_in_a_volume_is_erased(tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    crawl = Crawl(
        tmp_path / "data", 4000, volumes=[volume.as_uri()], start_upload=lambda job: job()
    )
    crawl.fetch(*(page(i, body(i) + os.urandom(700)) for i in range(COUNT)))
    crawl.work_until(lambda: len(list(volume.glob("*.gz"))) > 2)
    crawl.log.append([encode(erasure())])
    crawl.work_until(lambda: "archive/archive" in erasures(crawl))
    assert erasures(crawl)["archive/archive"].rows == {"warc_records": 3}
    assert_erased(volume)
    kept = [page(i).visit.url for i in range(COUNT) if i != SECRET]
    assert sorted(responses(volume)) == sorted(kept)
    for event in crawl.events():
        if event.url in kept:
            assert event.digest.encode() in record_at(volume, event)
    crawl.kill()


def test_index_loses_the_lines_of_erased_records(tmp_path: Path) -> None:
    crawl = archived(tmp_path)
    crawl.end()
    for path in files(tmp_path / "warc"):
        write_index(path)
    crawl = Crawl(tmp_path, 4000)
    forget(crawl)
    crawl.end()
    indexed = "".join(p.read_text() for p in (tmp_path / "warc").glob("*.cdxj")).splitlines()
    assert len(indexed) == COUNT - 1
    assert not any(page(SECRET).visit.url in line for line in indexed)


def write_index(path: Path) -> None:
    """Write the index of a file as cdxj-indexer does."""
    command = [sys.executable, "-m", "cdxj_indexer.main", "--sort", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    Path(f"{path}.cdxj").write_text(done.stdout)


def test_page_is_erased_from_a_zstd_file(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path, compression="zstd", records=("request", "metadata", "dns"))
    crawl.fetch(*(page(i, body(i) + os.urandom(700)) for i in range(COUNT)))
    crawl.work()
    forget(crawl)
    events = [event for event in crawl.events() if event.url != page(SECRET).visit.url]
    crawl.end()
    (path,) = files(tmp_path / "warc")
    data = path.read_bytes()
    whole = b"".join(frames(data))
    assert body(SECRET) not in whole and page(SECRET).visit.url.encode() not in whole
    for event in events:
        record = zstd.decompress(data[event.offset : event.offset + event.length])
        assert f"WARC-Target-URI: {event.url}\r\n".encode() in record
    assert len(records(path)) > 3 * (COUNT - 1)


def frames(data: bytes) -> Iterator[bytes]:
    """Yield the content of each zstd frame."""
    while data:
        frame = zstd.ZstdDecompressor()
        yield frame.decompress(data)
        assert frame.eof
        data = frame.unused_data
