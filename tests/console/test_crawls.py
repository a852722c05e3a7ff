"""Several crawls in one folder: `--crawl`, and `gossamer crawls`."""

from io import StringIO
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer import clock
from gossamer.crawl import MAX_CRAWLS
from gossamer.events import ChangeRecorded, CrawlDefined, RefetchRequested, SeedAdded
from gossamer.log.codec import encode
from gossamer.store import Row
from gossamer.web.url import HostKey
from inspection.basics.folder import Folder, Opened
from services.frontier.tables.partitions import partition_key
from services.frontier.tables.urls import UrlRow
from services.frontier.totals.tally import TallyRow
from tests.runtime.processors import events
from tests.support.rows import put_rows
from tests.support.transcripts import Transcript

A = HostKey("http://a.example")
NEWS = CrawlDefined(crawl="news", at=1.0, scope="domain('a.example')", max_depth=3, weight=3.0)
BLOGS = replace(NEWS, crawl="blogs", weight=1.0)


class Crawls:
    """A folder with several crawls, and the commands on it."""

    def __init__(self, data: Path, transcript: Transcript) -> None:
        self.data, self._transcript = data, transcript

    def __call__(self, *command: str, status: int = 0) -> str:
        """Run the *command*, add it to the transcript, and return its output."""
        return self._transcript(*command, "--data", self.data, status=status)

    def open(self) -> Opened:
        """Open the folder, and create it if it is missing."""
        return Folder(self.data).create()

    def define(self, *crawls: CrawlDefined) -> None:
        """Append definitions."""
        self.open().log.append([encode(crawl) for crawl in crawls])

    def store_rows(self, *rows: Row) -> None:
        """Store *rows*."""
        opened = self.open()
        put_rows(opened.store, *rows)

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
def crawls(tmp_path: Path, transcript: Transcript) -> Crawls:
    """Return the commands on a folder that does not exist yet."""
    return Crawls(tmp_path / "data", transcript)


def test_command_without_the_crawl_names_the_crawls(crawls: Crawls) -> None:
    crawls.define(NEWS, BLOGS)
    for command in ("why", "history", "show", "diff", "report", "refetch", "retry"):
        words = [command] if command == "report" else [command, f"{A}/"]
        crawls(*words, status=2)
        crawls(*words, "--crawl", "nws", status=2)
    crawls("seed", f"{A}/", status=2)


def test_only_crawl_needs_no_name(crawls: Crawls) -> None:
    crawls.define(NEWS, replace(BLOGS, removed=True))
    crawls("seed", f"{A}/")
    assert crawls.seeds("news") == [(f"{A}/", 0, "")]
    crawls("why", f"{A}/x")


def test_each_crawl_has_its_own_rows_and_requests(crawls: Crawls) -> None:
    crawls.define(NEWS, BLOGS)
    crawls.store_rows(UrlRow("news", A, f"{A}/p", "page", at=clock.now() - 9.0, earlier=1))
    crawls("refetch", f"{A}/p", "--crawl", "blogs", status=1)
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
    crawls("seed", f"{A}/", "--crawl", "My/News", status=2)
    crawls.define(replace(found["blogs"], removed=True))
    crawls("seed", f"{A}/", "--crawl", "blogs", status=2)


def test_status_lists_the_crawls_or_shows_the_named_one(crawls: Crawls) -> None:
    crawls.define(NEWS, BLOGS, replace(BLOGS, crawl="old", paused=True))
    partition = partition_key(0, crawls.open().log.partitions)
    crawls.store_rows(TallyRow("news", partition, admitted=9, queued=5, pages=4))
    crawls("status")
    crawls("status", "--json")
    crawls("status", "--crawl", "news")
    crawls("status", "--crawl", "blogs")


NEWS_FILE = f"""\
seeds = ["{A}/", "{A}/2"]
weight = 3

[limits]
max_depth = 2
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the file of the crawl "news"."""
    path = tmp_path / "news.toml"
    path.write_text(NEWS_FILE)
    return path


def test_applied_file_defines_the_crawl_once(crawls: Crawls, file: Path) -> None:
    crawls("crawls", "apply", str(file))
    crawl = crawls.definitions()["news"]
    assert (crawl.scope, crawl.weight, crawl.max_depth) == ("domain('a.example')", 3.0, 2)
    assert crawl.revisit == "none"
    crawls("crawls", "apply", str(file))
    assert crawls.seeds("news") == [(f"{A}/", 0, ""), (f"{A}/2", 0, "")]
    crawls("crawls", "list")


def test_crawl_file_is_read_from_standard_input(
    crawls: Crawls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container has no file of its operator."""
    text = f"id = 'news'\nseeds = ['{A}/']\n"
    monkeypatch.setattr("sys.stdin", StringIO(text))
    crawls("crawls", "apply", "-")
    assert crawls.definitions().keys() == {"news"}
    assert crawls.seeds("news") == [(f"{A}/", 0, "")]
    monkeypatch.setattr("sys.stdin", StringIO("seeds = []"))
    crawls("crawls", "apply", "-", status=2)


def test_diff_shows_what_apply_changes(crawls: Crawls, file: Path) -> None:
    crawls("crawls", "apply", str(file))
    crawls("crawls", "diff", str(file))
    file.write_text(NEWS_FILE.replace("weight = 3", "weight = 1").replace("/2", "/3"))
    before = crawls.definitions()
    crawls("crawls", "diff", str(file), status=1)
    assert crawls.definitions() == before
    crawls("crawls", "apply", str(file))
    assert crawls.definitions()["news"].weight == 1.0
    assert [url for url, *_ in crawls.seeds("news")] == [f"{A}/", f"{A}/2", f"{A}/3"]


def test_invalid_file_is_refused_before_a_folder_is_created(crawls: Crawls, file: Path) -> None:
    file.write_text(f"{NEWS_FILE}max_page = 1\n")
    crawls("crawls", "apply", str(file), status=2)
    assert not crawls.data.exists()


def test_several_files_are_applied_if_all_are_valid(crawls: Crawls, file: Path) -> None:
    blogs = file.with_name("blogs.toml")
    blogs.write_text(f"seeds = ['{A}/blog']\nsize = 1\n")
    crawls("crawls", "apply", str(file), str(blogs), status=2)
    assert not crawls.data.exists()
    blogs.write_text(f"seeds = ['{A}/blog']\n")
    crawls("crawls", "apply", str(file), str(blogs))
    assert crawls.definitions().keys() == {"blogs", "news"}
    assert crawls.seeds("blogs") == [(f"{A}/blog", 0, "")]
    file.write_text(NEWS_FILE.replace("weight = 3", "weight = 1"))
    crawls("crawls", "diff", str(file), str(blogs), status=1)


def test_endless_file_is_refused(crawls: Crawls) -> None:
    crawls("crawls", "apply", "/dev/zero", status=2)


def test_paused_crawl_stays_paused_until_it_is_resumed(crawls: Crawls, file: Path) -> None:
    crawls("crawls", "apply", str(file))
    crawls("crawls", "pause", "news")
    assert crawls.definitions()["news"].paused
    file.write_text(NEWS_FILE.replace("weight = 3", "weight = 1"))
    crawls("crawls", "apply", str(file))
    assert crawls.definitions()["news"].paused
    crawls("crawls", "pause", "news")
    crawls("crawls", "resume", "news")
    assert not crawls.definitions()["news"].paused


def test_removed_crawl_leaves_the_others_and_its_id(
    crawls: Crawls, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawls.define(BLOGS)
    crawls("crawls", "apply", str(file))
    monkeypatch.setattr("builtins.input", lambda question: "n")
    crawls("crawls", "remove", "news", status=1)
    crawls("crawls", "remove", "news", "--yes")
    found = crawls.definitions()
    assert (found["news"].removed, found["news"].paused) == (True, True)
    assert found["blogs"] == BLOGS
    crawls("crawls", "list")
    for action in (["apply", str(file)], ["resume", "news"]):
        crawls("crawls", *action, status=2)
    crawls("seed", f"{A}/9")


def test_shown_crawl_of_commands_is_a_file_that_changes_nothing(crawls: Crawls, file: Path) -> None:
    """Neither `gossamer crawl` nor `gossamer seed` has listed seeds."""
    crawls.define(BLOGS)
    file.write_text(crawls("crawls", "show", "blogs"))
    crawls("crawls", "apply", str(file))
    file.write_text(f"weight = 7\n{file.read_text()}")
    crawls("crawls", "apply", str(file))


def test_shown_crawl_is_a_file_that_changes_nothing(crawls: Crawls, file: Path) -> None:
    crawls("crawls", "apply", str(file))
    file.write_text(crawls("crawls", "show", "news"))
    crawls("crawls", "diff", str(file))
    crawls("crawls", "show", "blogs", status=2)


def test_crawls_are_limited_in_number(crawls: Crawls, file: Path) -> None:
    crawls.define(*(replace(BLOGS, crawl=f"c{number}") for number in range(MAX_CRAWLS)))
    for command in (
        ["crawls", "apply", str(file)],
        ["seed", "--crawl", "news", f"{A}/", "--scope", "host"],
        ["crawl", "--crawl", "news", f"{A}/", "--contact", "a@a.example"],
    ):
        crawls(*command, status=2)
    crawls("crawls", "remove", "c0", "--yes")
    crawls("crawls", "apply", str(file))


def test_option_of_one_crawl_needs_its_id(crawls: Crawls, file: Path) -> None:
    crawls("crawls", "apply", str(file))
    for option in (["--depth", "2"], ["--max-pages", "9"], ["--scope", "any"]):
        crawls("crawl", "--contact", "a@a.example", *option, status=2)


def test_each_change_is_recorded_with_its_reason(crawls: Crawls, file: Path) -> None:
    crawls("crawls", "apply", str(file), "--reason", "the election")
    crawls("crawls", "apply", str(file))
    crawls("crawls", "pause", "news")
    crawls("crawls", "remove", "news", "--yes")
    found = events(crawls.open().log, "audit")
    changes = [event for event in found if isinstance(event, ChangeRecorded)]
    assert [(change.action, change.subject) for change in changes] == [
        ("apply", "news"),
        ("pause", "news"),
        ("remove", "news"),
    ]
    assert changes[0].reason == "the election"
    assert "with 2 new seeds" in changes[0].effect


def test_dry_run_changes_nothing(crawls: Crawls, file: Path) -> None:
    crawls("crawls", "apply", str(file), "--dry-run")
    crawls("crawls", "diff", str(file), status=1)
    assert [*crawls.data.parent.iterdir()] == [file]
    assert crawls.definitions() == {} and crawls.seeds("news") == []
    crawls("crawls", "apply", str(file))
    crawls("crawls", "remove", "news", "--dry-run")
    assert not crawls.definitions()["news"].removed


def test_invalid_lines_of_a_file_of_seeds_are_reported(crawls: Crawls, tmp_path: Path) -> None:
    file = tmp_path / "news.toml"
    file.write_text('seeds_file = "seeds.txt"\n')
    (tmp_path / "seeds.txt").write_text(f"{A}/\nnonsense\n")
    crawls("crawls", "apply", str(file), "--strict-seeds", status=2)
    crawls("crawls", "apply", str(file))
    assert crawls.seeds("news") == [(f"{A}/", 0, "")]
