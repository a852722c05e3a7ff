"""Several crawls in one folder: `--crawl`, and `gossamer crawls`."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from console.cli.main import main
from gossamer import clock
from gossamer.events import CrawlDefined, RefetchRequested, SeedAdded
from gossamer.log.codec import encode
from gossamer.store import Row
from inspection.folder import Folder, Opened
from services.frontier.rows import TallyRow, UrlRow, partition_key
from tests.runtime.processors import events

A = "http://a.example"
NEWS = CrawlDefined(crawl="news", at=1.0, scope="domain('a.example')", max_depth=3, weight=3.0)
BLOGS = replace(NEWS, crawl="blogs", weight=1.0)


class Crawls:
    """A folder with several crawls, and the commands on it."""

    def __init__(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.data, self._capsys = data, capsys

    def __call__(self, *command: str, status: int = 0) -> str:
        """Run the *command*; return its output and its errors."""
        assert main([*command, "--data", str(self.data)]) == status
        shown = self._capsys.readouterr()
        assert bool(shown.err) == (status == 2), shown
        return shown.out + shown.err

    def open(self) -> Opened:
        """Open the folder, and create it if it is missing."""
        folder = Folder(self.data)
        folder.make()
        return Opened(folder)

    def define(self, *crawls: CrawlDefined) -> None:
        """Append definitions."""
        self.open().log.append([encode(crawl) for crawl in crawls])

    def store_rows(self, *rows: Row) -> None:
        """Store *rows*."""
        opened = self.open()
        for row in rows:
            opened.store.table(type(row)).put(row)
        opened.store.flush()

    def definitions(self) -> dict[str, CrawlDefined]:
        """Return the newest definition of each crawl."""
        found = events(self.open().log, "control")
        return {event.crawl: event for event in found if isinstance(event, CrawlDefined)}

    def seeds(self, crawl: str) -> list[tuple[str, int, str]]:
        """Return the appended seeds of *crawl*: URL, priority, party."""
        found = events(self.open().log, "seeds")
        return [
            (event.url, event.priority, event.party)
            for event in found
            if isinstance(event, SeedAdded) and event.crawl == crawl
        ]


@pytest.fixture
def crawls(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Crawls:
    """Return the commands on a folder that does not exist yet."""
    return Crawls(tmp_path / "data", capsys)


@pytest.mark.parametrize(
    "command",
    [
        ["why", f"{A}/"],
        ["history", f"{A}/"],
        ["show", f"{A}/"],
        ["diff", f"{A}/"],
        ["report"],
        ["seed", f"{A}/"],
        ["refetch", f"{A}/"],
        ["retry", f"{A}/"],
    ],
)
def test_command_without_the_crawl_names_the_crawls(crawls: Crawls, command: list[str]) -> None:
    crawls.define(NEWS, BLOGS)
    assert "several crawls: add --crawl with one of blogs, news" in crawls(*command, status=2)
    shown = crawls(*command, "--crawl", "nws", status=2) if command[0] != "seed" else ""
    assert not shown or "has no crawl 'nws': its crawls are blogs, news" in shown


def test_only_crawl_needs_no_name(crawls: Crawls) -> None:
    crawls.define(NEWS, replace(BLOGS, removed=True))
    crawls("seed", f"{A}/")
    assert crawls.seeds("news") == [(f"{A}/", 0, "")]
    assert "within 3 links of a seed" in crawls("why", f"{A}/x")


def test_each_crawl_has_its_own_rows_and_requests(crawls: Crawls) -> None:
    crawls.define(NEWS, BLOGS)
    crawls.store_rows(UrlRow("news", A, f"{A}/p", "page", at=clock.now() - 9.0, earlier=1))
    assert "was never visited" in crawls("refetch", f"{A}/p", "--crawl", "blogs", status=1)
    crawls("refetch", f"{A}/p", "--crawl", "news")
    (request,) = events(crawls.open().log, "urls.admitted")
    assert isinstance(request, RefetchRequested)
    assert request.crawl == "news"


def test_seed_defines_another_crawl_in_the_folder(crawls: Crawls) -> None:
    crawls("seed", f"{A}/", "--crawl", "news", "--depth", "2")
    crawls("seed", f"{A}/", "--crawl", "blogs")
    crawls("seed", f"{A}/2", "--crawl", "news")
    found = crawls.definitions()
    assert (found["news"].max_depth, found["blogs"].max_depth) == (2, 16)
    assert [url for url, *_ in crawls.seeds("news")] == [f"{A}/", f"{A}/2"]
    assert "not the id of a crawl" in crawls("seed", f"{A}/", "--crawl", "My/News", status=2)
    crawls.define(replace(found["blogs"], removed=True))
    assert "blogs was removed" in crawls("seed", f"{A}/", "--crawl", "blogs", status=2)


def test_status_lists_the_crawls_or_shows_the_named_one(crawls: Crawls) -> None:
    crawls.define(NEWS, BLOGS, replace(BLOGS, crawl="old", paused=True))
    partition = partition_key(0, crawls.open().log.partitions)
    crawls.store_rows(TallyRow("news", partition, admitted=9, queued=5, pages=4))
    shown = crawls("status")
    assert "3 crawls; --crawl ID shows one of them" in shown
    assert "news         active, weight 3 (75 %): 4 pages, 5 URLs queued" in shown
    assert "blogs        active, weight 1 (25 %): 0 pages, 0 URLs queued" in shown
    assert "old          paused: 0 pages" in shown
    assert '"crawl":"news","state":"active"' in crawls("status", "--json")
    assert "4 pages, 5 URLs queued." in crawls("status", "--crawl", "news")
    assert "0 pages, 0 URLs queued." in crawls("status", "--crawl", "blogs")
