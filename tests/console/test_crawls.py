"""Several crawls in one folder: `--crawl`, and `gossamer crawls`."""

from io import StringIO
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer import clock
from gossamer.crawl import MAX_CRAWLS
from gossamer.events import ChangeRecorded, CrawlDefined, RefetchRequested, SeedAdded
from gossamer.services.frontier.tables.partitions import partition_key
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.web.url import HostKey
from tests.console.gossamer import Gossamer

A = HostKey("http://a.example")
NEWS = CrawlDefined(crawl="news", at=1.0, scope="domain('a.example')", max_depth=3, weight=3.0)
BLOGS = replace(NEWS, crawl="blogs", weight=1.0)


def definitions(gossamer: Gossamer) -> dict[str, CrawlDefined]:
    """Return the newest definition of each crawl."""
    found = gossamer.events("control")
    return {event.crawl: event for event in found if isinstance(event, CrawlDefined)}


def seeds(gossamer: Gossamer, crawl: str) -> list[tuple[str, int, str]]:
    """Return the appended seeds of *crawl*: URL, priority, party."""
    return [
        (event.url, event.priority, event.party)
        for event in gossamer.events("seeds")
        if isinstance(event, SeedAdded) and event.crawl == crawl
    ]


def test_command_without_the_crawl_names_the_crawls(gossamer: Gossamer) -> None:
    gossamer.append(NEWS, BLOGS)
    for command in ("why", "history", "show", "diff", "report", "refetch", "retry"):
        words = [command] if command == "report" else [command, f"{A}/"]
        gossamer(*words, status=2)
        gossamer(*words, "--crawl", "nws", status=2)
    gossamer("seed", f"{A}/", status=2)


def test_only_crawl_needs_no_name(gossamer: Gossamer) -> None:
    gossamer.append(NEWS, replace(BLOGS, removed=True))
    gossamer("seed", f"{A}/")
    assert seeds(gossamer, "news") == [(f"{A}/", 0, "")]
    gossamer("why", f"{A}/x")


def test_each_crawl_has_its_own_rows_and_requests(gossamer: Gossamer) -> None:
    gossamer.append(NEWS, BLOGS)
    gossamer.store_rows(UrlRow("news", A, f"{A}/p", "page", at=clock.now() - 9.0, earlier=1))
    gossamer("refetch", f"{A}/p", "--crawl", "blogs", status=1)
    gossamer("refetch", f"{A}/p", "--crawl", "news")
    (request,) = gossamer.events("urls.admitted")
    assert isinstance(request, RefetchRequested)
    assert request.crawl == "news"


def test_seed_defines_another_crawl_in_the_folder(gossamer: Gossamer) -> None:
    gossamer("seed", f"{A}/", "--crawl", "news", "--depth", "2")
    gossamer("seed", f"{A}/", "--crawl", "blogs")
    gossamer("seed", f"{A}/2", "--crawl", "news")
    found = definitions(gossamer)
    assert (found["news"].max_depth, found["blogs"].max_depth) == (2, 16)
    assert [url for url, *_ in seeds(gossamer, "news")] == [f"{A}/", f"{A}/2"]
    gossamer("seed", f"{A}/", "--crawl", "My/News", status=2)
    gossamer.append(replace(found["blogs"], removed=True))
    gossamer("seed", f"{A}/", "--crawl", "blogs", status=2)


def test_status_lists_the_crawls_or_shows_the_named_one(gossamer: Gossamer) -> None:
    gossamer.append(NEWS, BLOGS, replace(BLOGS, crawl="old", paused=True))
    partition = partition_key(0, gossamer.open().log.partitions)
    gossamer.store_rows(TallyRow("news", partition, admitted=9, queued=5, pages=4))
    gossamer("status")
    gossamer("status", "--json")
    gossamer("status", "--crawl", "news")
    gossamer("status", "--crawl", "blogs")


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


def test_applied_file_defines_the_crawl_once(gossamer: Gossamer, file: Path) -> None:
    gossamer("crawls apply", str(file))
    crawl = definitions(gossamer)["news"]
    assert (crawl.scope, crawl.weight, crawl.max_depth) == ("domain('a.example')", 3.0, 2)
    assert crawl.revisit == "none"
    gossamer("crawls apply", str(file))
    assert seeds(gossamer, "news") == [(f"{A}/", 0, ""), (f"{A}/2", 0, "")]
    gossamer("crawls list")


def test_crawl_file_is_read_from_standard_input(
    gossamer: Gossamer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container has no file of its operator."""
    text = f"id = 'news'\nseeds = ['{A}/']\n"
    monkeypatch.setattr("sys.stdin", StringIO(text))
    gossamer("crawls apply", "-")
    assert definitions(gossamer).keys() == {"news"}
    assert seeds(gossamer, "news") == [(f"{A}/", 0, "")]
    monkeypatch.setattr("sys.stdin", StringIO("seeds = []"))
    gossamer("crawls apply", "-", status=2)


def test_diff_shows_what_apply_changes(gossamer: Gossamer, file: Path) -> None:
    gossamer("crawls apply", str(file))
    gossamer("crawls diff", str(file))
    file.write_text(NEWS_FILE.replace("weight = 3", "weight = 1").replace("/2", "/3"))
    before = definitions(gossamer)
    gossamer("crawls diff", str(file), status=1)
    assert definitions(gossamer) == before
    gossamer("crawls apply", str(file))
    assert definitions(gossamer)["news"].weight == 1.0
    assert [url for url, *_ in seeds(gossamer, "news")] == [f"{A}/", f"{A}/2", f"{A}/3"]


def test_invalid_file_is_refused_before_a_folder_is_created(gossamer: Gossamer, file: Path) -> None:
    file.write_text(f"{NEWS_FILE}max_page = 1\n")
    gossamer("crawls apply", str(file), status=2)
    assert not gossamer.data.exists()


def test_several_files_are_applied_if_all_are_valid(gossamer: Gossamer, file: Path) -> None:
    blogs = file.with_name("blogs.toml")
    blogs.write_text(f"seeds = ['{A}/blog']\nsize = 1\n")
    gossamer("crawls apply", str(file), str(blogs), status=2)
    assert not gossamer.data.exists()
    blogs.write_text(f"seeds = ['{A}/blog']\n")
    gossamer("crawls apply", str(file), str(blogs))
    assert definitions(gossamer).keys() == {"blogs", "news"}
    assert seeds(gossamer, "blogs") == [(f"{A}/blog", 0, "")]
    file.write_text(NEWS_FILE.replace("weight = 3", "weight = 1"))
    gossamer("crawls diff", str(file), str(blogs), status=1)


def test_endless_file_is_refused(gossamer: Gossamer) -> None:
    gossamer("crawls apply", "/dev/zero", status=2)


def test_paused_crawl_stays_paused_until_it_is_resumed(gossamer: Gossamer, file: Path) -> None:
    gossamer("crawls apply", str(file))
    gossamer("crawls pause", "news")
    assert definitions(gossamer)["news"].paused
    file.write_text(NEWS_FILE.replace("weight = 3", "weight = 1"))
    gossamer("crawls apply", str(file))
    assert definitions(gossamer)["news"].paused
    gossamer("crawls pause", "news")
    gossamer("crawls resume", "news")
    assert not definitions(gossamer)["news"].paused


def test_removed_crawl_leaves_the_others_and_its_id(
    gossamer: Gossamer, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gossamer.append(BLOGS)
    gossamer("crawls apply", str(file))
    monkeypatch.setattr("builtins.input", lambda question: "n")
    gossamer("crawls remove", "news", status=1)
    gossamer("crawls remove", "news", "--yes")
    found = definitions(gossamer)
    assert (found["news"].removed, found["news"].paused) == (True, True)
    assert found["blogs"] == BLOGS
    gossamer("crawls list")
    for action in (["crawls apply", file], ["crawls resume", "news"]):
        gossamer(*action, status=2)
    gossamer("seed", f"{A}/9")


def test_shown_crawl_of_commands_is_a_file_that_changes_nothing(
    gossamer: Gossamer, file: Path
) -> None:
    """Neither `gossamer crawl` nor `gossamer seed` has listed seeds."""
    gossamer.append(BLOGS)
    file.write_text(gossamer("crawls show", "blogs"))
    gossamer("crawls apply", str(file))
    file.write_text(f"weight = 7\n{file.read_text()}")
    gossamer("crawls apply", str(file))


def test_shown_crawl_is_a_file_that_changes_nothing(gossamer: Gossamer, file: Path) -> None:
    gossamer("crawls apply", str(file))
    file.write_text(gossamer("crawls show", "news"))
    gossamer("crawls diff", str(file))
    gossamer("crawls show", "blogs", status=2)


def test_crawls_are_limited_in_number(gossamer: Gossamer, file: Path) -> None:
    gossamer.append(*(replace(BLOGS, crawl=f"c{number}") for number in range(MAX_CRAWLS)))
    for command in (
        ["crawls apply", str(file)],
        ["seed", "--crawl", "news", f"{A}/", "--scope", "host"],
        ["crawl", "--crawl", "news", f"{A}/", "--contact", "a@a.example"],
    ):
        gossamer(*command, status=2)
    gossamer("crawls remove", "c0", "--yes")
    gossamer("crawls apply", str(file))


def test_option_of_one_crawl_needs_its_id(gossamer: Gossamer, file: Path) -> None:
    gossamer("crawls apply", str(file))
    for option in (["--depth", "0"], ["--max-pages", "9"], ["--scope", "any"]):
        gossamer("crawl", "--contact", "a@a.example", *option, status=2)


def test_each_change_is_recorded_with_its_reason(gossamer: Gossamer, file: Path) -> None:
    gossamer("crawls apply", str(file), "--reason", "the election")
    gossamer("crawls apply", str(file))
    gossamer("crawls pause", "news")
    gossamer("crawls remove", "news", "--yes")
    found = gossamer.events("audit")
    changes = [event for event in found if isinstance(event, ChangeRecorded)]
    assert [(change.action, change.subject) for change in changes] == [
        ("apply", "news"),
        ("pause", "news"),
        ("remove", "news"),
    ]
    assert changes[0].reason == "the election"
    assert "with 2 new seeds" in changes[0].effect


def test_dry_run_changes_nothing(gossamer: Gossamer, file: Path) -> None:
    gossamer("crawls apply", str(file), "--dry-run")
    gossamer("crawls diff", str(file), status=1)
    assert [*gossamer.data.parent.iterdir()] == [file]
    assert definitions(gossamer) == {} and seeds(gossamer, "news") == []
    gossamer("crawls apply", str(file))
    gossamer("crawls remove", "news", "--dry-run")
    assert not definitions(gossamer)["news"].removed


def test_invalid_lines_of_a_file_of_seeds_are_reported(gossamer: Gossamer, tmp_path: Path) -> None:
    file = tmp_path / "news.toml"
    file.write_text('seeds_file = "seeds.txt"\n')
    (tmp_path / "seeds.txt").write_text(f"{A}/\nnonsense\n")
    gossamer("crawls apply", str(file), "--strict-seeds", status=2)
    gossamer("crawls apply", str(file))
    assert seeds(gossamer, "news") == [(f"{A}/", 0, "")]
