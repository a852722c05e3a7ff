"""Several crawls in one folder: `--crawl`, and `gossamer crawls`."""

from io import StringIO
from pathlib import Path

import pytest
from msgspec.structs import replace

from console.cli.main import main
from gossamer import clock
from gossamer.crawl import MAX_CRAWLS
from gossamer.events import ChangeRecorded, CrawlDefined, RefetchRequested, SeedAdded
from gossamer.log.codec import encode
from gossamer.store import Row
from inspection.basics.folder import Folder, Opened
from services.frontier.tables.partitions import partition_key
from services.frontier.tables.urls import UrlRow
from services.frontier.totals.tally import TallyRow
from tests.runtime.processors import events
from tests.support.rows import put_rows

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
    shown = crawls("crawls", "apply", str(file))
    assert "Crawl news is defined in" in shown and "with 2 new seeds" in shown
    assert "gossamer crawl runs it" in shown
    crawl = crawls.definitions()["news"]
    assert (crawl.scope, crawl.weight, crawl.max_depth) == ("domain('a.example')", 3.0, 2)
    assert crawl.revisit == "none", "the default of a folder"
    assert "nothing to change" in crawls("crawls", "apply", str(file))
    assert crawls.seeds("news") == [(f"{A}/", 0, ""), (f"{A}/2", 0, "")]
    assert "active, weight 3 (100 %): 0 pages" in crawls("crawls", "list")


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
    assert "standard input" in crawls("crawls", "apply", "-", status=2)


def test_diff_shows_what_apply_changes(crawls: Crawls, file: Path) -> None:
    crawls("crawls", "apply", str(file))
    assert "is as the file states" in crawls("crawls", "diff", str(file))
    file.write_text(NEWS_FILE.replace("weight = 3", "weight = 1").replace("/2", "/3"))
    before = crawls.definitions()
    shown = crawls("crawls", "diff", str(file), status=1)
    assert "weight: 3.0 → 1.0\n" in shown
    assert f"new seed: {A}/3\n" in shown
    assert f"no longer in the file (its pages stay): {A}/2\n" in shown
    assert crawls.definitions() == before
    shown = crawls("crawls", "apply", str(file))
    assert "weight: 3.0 → 1.0\n" in shown and "with 1 new seed." in shown
    assert crawls.definitions()["news"].weight == 1.0
    assert [url for url, *_ in crawls.seeds("news")] == [f"{A}/", f"{A}/2", f"{A}/3"]


def test_invalid_file_is_refused_before_a_folder_is_created(crawls: Crawls, file: Path) -> None:
    file.write_text(f"{NEWS_FILE}max_page = 1\n")
    shown = crawls("crawls", "apply", str(file), status=2)
    assert f"{file}, line 6: limits.max_page: unknown key; did you mean max_pages?" in shown
    assert not crawls.data.exists()


def test_several_files_are_applied_if_all_are_valid(crawls: Crawls, file: Path) -> None:
    blogs = file.with_name("blogs.toml")
    blogs.write_text(f"seeds = ['{A}/blog']\nsize = 1\n")
    assert f"{blogs}, line 2" in crawls("crawls", "apply", str(file), str(blogs), status=2)
    assert not crawls.data.exists()
    blogs.write_text(f"seeds = ['{A}/blog']\n")
    crawls("crawls", "apply", str(file), str(blogs))
    assert crawls.definitions().keys() == {"blogs", "news"}
    assert crawls.seeds("blogs") == [(f"{A}/blog", 0, "")]
    file.write_text(NEWS_FILE.replace("weight = 3", "weight = 1"))
    shown = crawls("crawls", "diff", str(file), str(blogs), status=1)
    assert "weight: 3.0 → 1.0\n" in shown and "Crawl blogs is as the file states" in shown


def test_endless_file_is_refused(crawls: Crawls) -> None:
    assert "/dev/zero is too long" in crawls("crawls", "apply", "/dev/zero", status=2)


def test_paused_crawl_stays_paused_until_it_is_resumed(crawls: Crawls, file: Path) -> None:
    crawls("crawls", "apply", str(file))
    assert "requests in flight finish" in crawls("crawls", "pause", "news")
    assert crawls.definitions()["news"].paused
    file.write_text(NEWS_FILE.replace("weight = 3", "weight = 1"))
    assert "gossamer crawls resume news" in crawls("crawls", "apply", str(file))
    assert crawls.definitions()["news"].paused
    assert "paused already" in crawls("crawls", "pause", "news")
    assert "continues" in crawls("crawls", "resume", "news")
    assert not crawls.definitions()["news"].paused


def test_removed_crawl_leaves_the_others_and_its_id(
    crawls: Crawls, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawls.define(BLOGS)
    crawls("crawls", "apply", str(file))
    monkeypatch.setattr("builtins.input", lambda question: "n")
    assert "Nothing was removed" in crawls("crawls", "remove", "news", status=1)
    shown = crawls("crawls", "remove", "news", "--yes")
    assert "WARC files stay" in shown and "gossamer crawl drops them." in shown
    found = crawls.definitions()
    assert (found["news"].removed, found["news"].paused) == (True, True)
    assert found["blogs"] == BLOGS
    assert "1 crawl and 1 removed" in crawls("crawls", "list")
    for action in (["apply", str(file)], ["resume", "news"]):
        assert "an id is used only once" in crawls("crawls", *action, status=2)
    assert "(unchanged)" in crawls("seed", f"{A}/9"), "blogs is the only crawl now"


def test_shown_crawl_of_commands_is_a_file_that_changes_nothing(crawls: Crawls, file: Path) -> None:
    """Neither `gossamer crawl` nor `gossamer seed` has listed seeds."""
    crawls.define(BLOGS)
    file.write_text(crawls("crawls", "show", "blogs"))
    assert "nothing to change" in crawls("crawls", "apply", str(file))
    file.write_text(f"weight = 7\n{file.read_text()}")
    assert "Crawl blogs is changed.\n" in crawls("crawls", "apply", str(file))


def test_shown_crawl_is_a_file_that_changes_nothing(crawls: Crawls, file: Path) -> None:
    crawls("crawls", "apply", str(file))
    shown = crawls("crawls", "show", "news")
    assert shown.startswith(f'id = "news"\nseeds = ["{A}/", "{A}/2"]\nweight = 3.0\n')
    file.write_text(shown)
    assert "is as the file states" in crawls("crawls", "diff", str(file))
    assert "has no crawl 'blogs'" in crawls("crawls", "show", "blogs", status=2)


def test_crawls_are_limited_in_number(crawls: Crawls, file: Path) -> None:
    crawls.define(*(replace(BLOGS, crawl=f"c{number}") for number in range(MAX_CRAWLS)))
    for command in (
        ["crawls", "apply", str(file)],
        ["seed", "--crawl", "news", f"{A}/", "--scope", "host"],
        ["crawl", "--crawl", "news", f"{A}/", "--contact", "a@a.example"],
    ):
        assert "no more are possible" in crawls(*command, status=2), command
    crawls("crawls", "remove", "c0", "--yes")
    crawls("crawls", "apply", str(file))


@pytest.mark.parametrize("option", [["--depth", "2"], ["--max-pages", "9"], ["--scope", "any"]])
def test_option_of_one_crawl_needs_its_id(crawls: Crawls, file: Path, option: list[str]) -> None:
    crawls("crawls", "apply", str(file))
    shown = crawls("crawl", "--contact", "a@a.example", *option, status=2)
    assert f"{option[0]} is an option of one crawl: add --crawl ID" in shown


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
    shown = crawls("crawls", "apply", str(file), "--dry-run")
    assert "Dry run" in shown and f"new seed: {A}/2" in shown and "weight: 3.0" in shown
    assert f"Crawl news is defined in {crawls.data}, with 2 new seeds." in shown
    assert "Crawl news would be defined" in crawls("crawls", "diff", str(file), status=1)
    assert [*crawls.data.parent.iterdir()] == [file], "no folder is created"
    assert crawls.definitions() == {} and crawls.seeds("news") == []
    crawls("crawls", "apply", str(file))
    crawls("crawls", "remove", "news", "--dry-run")
    assert not crawls.definitions()["news"].removed
