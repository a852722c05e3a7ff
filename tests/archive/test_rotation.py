"""The rotation of segments, and their names, which are unique in a fleet."""

from pathlib import Path

from gossamer.services.archive.service import Archive
from gossamer.settings import ArchiveSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.volumes import OPEN_SUFFIX
from tests.archive.harness import NOW, Crawl, assert_readable, files, page, records

AGE = ArchiveSettings().segment_age


def test_old_segment_is_completed_without_new_pages(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.take(page(1))
    crawl.now += AGE - 1
    crawl.work()
    assert [path.suffix for path in files(tmp_path / "warc")] == [OPEN_SUFFIX]
    assert crawl.runner.due() == NOW + AGE
    crawl.now = NOW + AGE
    crawl.work()
    assert_readable(tmp_path / "warc")
    assert crawl.runner.due() is None
    crawl.end()


def test_late_page_is_written_to_another_file(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    for _ in range(3):
        crawl.take(page(1))
        crawl.now += 2 * AGE
    crawl.end()
    assert_readable(tmp_path / "warc")
    assert len(files(tmp_path / "warc")) == 3


def test_each_crawl_has_its_own_file(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.take(page(1), page(2, crawl="news"), page(3, crawl="news"), page(4))
    crawl.end()
    assert_readable(tmp_path / "warc")
    default, news = files(tmp_path / "warc")
    assert [path.name.split("-")[1] for path in (default, news)] == ["default", "news"]
    (_, about), *captures = records(news)
    assert b"isPartOf: news\r\n" in about
    assert {headers["WARC-Target-URI"] for headers, _ in captures} == {
        page(number).visit.url for number in (2, 3)
    }


def test_writers_of_a_fleet_have_unique_file_names(tmp_path: Path) -> None:
    names = set()
    for writer in ("archive-0", "archive-1"):
        store = SqliteStore(Database(tmp_path / f"{writer}.db"))
        archive = Archive(tmp_path, store, ArchiveSettings(), "me@example.org", "gossamer", writer)
        archive.assign(frozenset({0}), NOW)
        for crawl in ("default", "../a crawl-20200101000000-00007-x"):
            archive.handle(page(1, crawl=crawl), NOW)
        archive.settle()
        store.flush()
        archive.close()
        found = files(tmp_path / writer)
        assert len(found) == 2 and all(writer in path.name for path in found)
        names |= {path.name for path in found}
    assert len(names) == 4
