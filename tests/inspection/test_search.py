"""The search in the pages of a crawl, whose index follows the topic `pages`."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer import clock
from gossamer.errors import Unavailable
from gossamer.events import Event, Tombstone
from gossamer.inspection.answers.search import read_page, search_pages
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.crawls.crawl import NotFound, OpenCrawl, open_crawl
from gossamer.log import MAX_POLL_RECORDS, NO_PARTITIONS, Record
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog, SqliteTail
from gossamer.web.url import Site
from tests.console.test_open_crawl import page


class InterruptedLog(SqliteLog):
    """A log whose tails fail at the second poll."""

    def tail(self, topics: Sequence[str], starts: Mapping[int, int] | None = None) -> SqliteTail:
        return InterruptedTail(self._database, topics, starts)


class InterruptedTail(SqliteTail):
    """A tail that fails at the second poll."""

    has_polled = False

    def poll(
        self, timeout: float, most: int = MAX_POLL_RECORDS, paused: Set[int] = NO_PARTITIONS
    ) -> list[Record]:
        if self.has_polled:
            raise Unavailable("interrupted")
        self.has_polled = True
        return super().poll(timeout, most, paused)


LAMPS, BRIDGES = Site("http://a.example/"), Site("http://b.example/")


class Search:
    """A folder, and searches in it."""

    def __init__(self, folder: Folder, crawl: OpenCrawl) -> None:
        self.folder, self.crawl = folder, crawl

    def append(self, *events: Event | Tombstone) -> None:
        self.crawl.log.append([encode(event) for event in events])

    def __call__(self, words: str, limit: int = 10) -> list[str]:
        return [hit.url for hit in search_pages(self.crawl, self.folder.search, words, limit)]


@pytest.fixture
def search(tmp_path: Path) -> Iterator[Search]:
    folder = Folder(tmp_path)
    folder.create()
    with open_crawl(None, tmp_path) as crawl:
        found = Search(folder, crawl)
        found.append(
            replace(page(LAMPS, "Lamps"), text="Four hundred lamps of Zürich"),
            replace(page(BRIDGES, "Bridges"), text="A bridge of Zürich, with lamps"),
        )
        yield found


def test_pages_with_all_words_come_alone_and_the_best_first(search: Search) -> None:
    assert search("lamps ZURICH") == [LAMPS, BRIDGES], "the title counts more"
    assert search("bridge lamps") == [BRIDGES]
    assert search("four unicorns") == [LAMPS], "no page has all words"
    assert search("lamps", limit=1) == [LAMPS]
    assert search("unicorns") == search("") == search('" OR (*') == []


def test_new_changed_and_gone_pages_are_followed(search: Search) -> None:
    assert search("hundred") == [LAMPS]
    search.append(
        replace(page(LAMPS, "Locks"), text="Padlocks"),
        Tombstone("default", BRIDGES, BRIDGES),
    )
    assert (search("padlocks"), search("lamps"), search("bridge")) == ([LAMPS], [], [])
    assert read_page(search.crawl, search.folder.search, LAMPS).text == "Padlocks"
    with pytest.raises(NotFound):
        read_page(search.crawl, search.folder.search, BRIDGES)


def test_pages_of_other_crawls_are_not_found(search: Search) -> None:
    search.append(replace(page(LAMPS, "Lamps"), text="unicorns", crawl="news"))
    assert search("unicorns") == []


def test_index_of_a_newer_database_is_built_again(search: Search, tmp_path: Path) -> None:
    assert search("hundred") == [LAMPS]
    older = Folder(tmp_path / "older")
    older.create()
    search.folder.search.rename(older.search)
    with open_crawl(None, older.path) as crawl:
        assert Search(older, crawl)("hundred") == []
        crawl.log.append([encode(replace(page(BRIDGES, "Bridges"), text="of stone"))])
        assert Search(older, crawl)("stone") == [BRIDGES]


def test_interrupted_search_is_continued_by_the_next_one(search: Search) -> None:
    pages = 2 * MAX_POLL_RECORDS
    search.append(*(page(Site(f"http://{n}.example/"), "Unicorn") for n in range(pages)))
    whole = search.crawl
    assert isinstance(whole.log, SqliteLog)
    search.crawl = dataclasses.replace(whole, log=InterruptedLog(whole.log._database))
    searches = 0
    while searches < pages:
        searches += 1
        with suppress(Unavailable):
            assert len(search("unicorn", pages)) == pages
            break
    assert 1 < searches < 5


@pytest.mark.parametrize(("days", "expected"), [(6, [BRIDGES]), (8, [])])
def test_index_of_a_fleet_is_built_again_after_a_week_in_which_tombstones_may_be_lost(
    search: Search, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, expected: list[str]
) -> None:
    assert search("bridge") == [BRIDGES]
    compacted = Folder(tmp_path / "compacted")
    compacted.create()
    search.folder.search.rename(compacted.search)
    later = clock.now() + days * 86400
    monkeypatch.setattr(clock, "now", lambda: later)
    with open_crawl(None, compacted.path) as crawl:
        found = Search(compacted, dataclasses.replace(crawl, fleet=True))
        found.append(page(LAMPS, "Lamps"))
        found.append(*(replace(page(BRIDGES, "New"), url=f"{BRIDGES}{n}") for n in range(2)))
        assert found("bridge") == expected
