"""What a person sees of a crawl: counts that are right, and nothing that the Web had a say in."""

import io
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from console.cli.main import main
from console.cli.report import Ended, progress_line, report
from console.cli.view import Speed, draw
from console.figures import counts, duration, plural, size
from gossamer.events import DEFAULT_CRAWL, Outcome
from gossamer.terminal import printable
from services.frontier.conditions import Condition
from services.frontier.revisit_totals import RevisitTotals
from services.frontier.rows import HostRow, UrlRow
from standalone.folder import Folder, Opened
from standalone.progress import End, Progress
from standalone.waiting import Waiting

NOW = 2_000_000_000.0
HOSTILE = (
    "http://a.example/\x1b]0;owned\x07\x1b[2J\r\n[bold red]x[/bold red]\u202etxt.exe\x9b31m[/]"
)


REVISITING = RevisitTotals(
    "optimal",
    2000.0,
    1234,
    NOW,
    Counter(rate=5, asked=2),
    1,
    weights=4.0,
    fresh=3.0,
    age=2.0,
    price=1.0,
)


def progress(**fields: object) -> Progress:
    return Progress(**{"pages": 3, "admitted": 9, "queued": 6, "received": 2048, **fields})  # type: ignore[arg-type]


def said(
    end: End, of: Progress, pages_before: int, folder: Folder, waiting: Waiting | None = None
) -> str:
    return report(Ended(end, of, waiting or Waiting(), 2.0, pages_before, folder))


def drawn(of: Progress, word: str = "") -> str:
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    console.print(draw(of, 1.5, 2.0, word, NOW))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def obeyed(text: str) -> list[str]:
    """The characters that a terminal would act upon."""
    return [c for c in text if not c.isprintable() and c != "\n"]


def test_what_the_web_wrote_is_drawn_as_plain_text() -> None:
    shown = drawn(progress(latest=[(HOSTILE, "page")]))
    assert obeyed(shown) == []
    assert "[bold red]x[/bold red]" in shown, "markup is text"
    assert shown.count("a.example") == 1


@pytest.mark.parametrize("field", ["slowest", "largest"])
def test_what_the_web_wrote_is_reported_as_plain_text(field: str) -> None:
    shown = said(End.DONE, progress(**{field: {HOSTILE: 3.0}}), 0, Folder(Path("data")))
    assert obeyed(shown) == []
    assert "a.example" in shown


def test_what_the_web_wrote_is_explained_as_plain_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Folder(tmp_path)
    folder.make()
    opened = Opened(folder)
    visit = UrlRow(
        DEFAULT_CRAWL,
        host="http://a.example",
        url="http://a.example/",
        outcome=Outcome.REDIRECT,
        at=1.0,
        location=HOSTILE,
        reason=HOSTILE,
        attempt=1,
    )
    opened.store.table(UrlRow).put(visit)
    opened.store.flush()
    opened.database.close()
    assert main(["why", "--data", str(tmp_path), visit.url]) == 0
    shown = capsys.readouterr().out
    assert obeyed(shown) == []
    assert "redirect to http://a.example/?]0;owned??[2J??[bold red]x" in shown


@given(st.text(max_size=400))
def test_whatever_is_shown_of_a_url_is_one_line_that_no_terminal_obeys(url: str) -> None:
    shown = printable(url)
    assert shown.isprintable() and len(shown) <= 150
    assert "\n" not in drawn(progress(latest=[(url[:80], "page")])).strip("\n").splitlines()[-2]


def test_a_good_url_is_shown_as_it_is() -> None:
    assert printable("https://a.example/b?c=d&e=%20") == "https://a.example/b?c=d&e=%20"


def test_the_view_has_the_counters_and_says_what_is_being_done() -> None:
    of = progress(
        conditions=Counter(idle=2, ready=1),
        outcomes=Counter({"page": 3, "gone": 1, "robots.txt": 2}),
        lags={"parser": {"pages.fetched": 4}, "archive": {"pages.fetched": 1, "seeds": 0}},
        due_count=5,
    )
    shown = drawn(of)
    for part in ("3 ", "1.5/s", "2.0 KiB", "2 idle, 1 ready", "6 URLs", "5 waiting", "1 gone"):
        assert part in shown
    assert "4 pages.fetched" in shown and "seeds" not in shown and "Ctrl-C to stop" in shown
    assert "finishing" in drawn(of, "finishing")


def test_how_coming_back_stands_is_seen_while_visits_are_planned() -> None:
    of = progress(outcomes=Counter({"page": 3, "not_modified": 2}), revisiting=REVISITING)
    for shown in (drawn(of), said(End.TIME, of, 0, Folder(Path("data")))):
        assert "optimal, 2,000 visits a day; 1,234 planned, next 2033-05-18 03:33:20 UTC" in shown
        assert "75 % of the copies expected to be right, 12 h behind on the average" in shown
    for part in (
        "visit must bring 6 h of it",
        "revisited   7: 5 rate, 2 asked",
        "2 answers 304",
        "1 host whose",
    ):
        assert part in shown
    once = drawn(progress(revisiting=RevisitTotals(planned=7)))
    assert "revisits" not in once and "planned" not in once


def test_the_last_day_is_plotted_where_it_says_more_than_a_number() -> None:
    hours = {str(int(NOW // 3600) - ago): (5, ago, 1) for ago in (0, 3)}
    assert "unchanged" in drawn(progress(hours=hours)) and "█" in drawn(progress(hours=hours))
    first = {str(int(NOW // 3600)): (5, 0, 0)}
    assert "█" not in drawn(progress(hours=first))
    assert "█" in drawn(progress(hours=first, revisiting=REVISITING))


def test_the_line_has_the_counters() -> None:
    line = progress_line(progress(conditions=Counter(idle=2)), 1.25)
    assert line == "3 pages (1.2/s), 2.0 KiB, 6 URLs queued, hosts: 2 idle"


def test_one_is_not_many() -> None:
    one = progress(pages=1, queued=1, due_count=1)
    assert progress_line(one, 0.0) == "1 page (0.0/s), 2.0 KiB, 1 URL queued, hosts: none"
    assert "1 URL," in drawn(one)
    assert "1 URL in queues" in said(End.TIME, one, 0, Folder(Path("data")))
    assert "1 URL or host for" in said(End.TIME, one, 0, Folder(Path("data")))
    assert [plural(n, "URL") for n in (0, 1, 1200)] == ["0 URLs", "1 URL", "1,200 URLs"]


def test_the_report_counts_this_run_apart_from_all() -> None:
    of = progress(verdicts=Counter(duplicate=1), dead_letters=2, due_count=4)
    shown = said(End.WAITING, of, 1, Folder(Path("my data")))
    assert "2 in this run (1.0/s), 3 in all, 1 of them duplicates" in shown
    assert "dead letters 2" in shown and "6 URLs in queues" in shown and "4 URLs or hosts" in shown
    assert "Run the same command again" not in shown, "nothing would come of it"


def test_it_is_said_to_go_on_only_where_that_does_something() -> None:
    folder, ready = Folder(Path("my data")), progress(conditions=Counter(ready=1))
    for end in (End.PAGES, End.TIME, End.INTERRUPTED):
        assert "Run the same command again to go on." in said(end, ready, 0, folder)
    under_way = progress(lags={"parser": {"pages.fetched": 3}})
    assert "again to go on." in said(End.KILLED, under_way, 0, folder)
    assert "Run the same" not in said(End.DONE, progress(queued=0), 0, folder)
    coming_back = progress(queued=0, revisiting=REVISITING)
    assert "Run the same command again to go on." in said(End.TIME, coming_back, 0, folder)
    later = said(End.WAITING, progress(due_count=1), 0, folder, Waiting(1795471140.0))
    assert "Nothing is due before 2026-11-23 21:59:00 UTC" in later
    assert "retry --data 'my data' HOST" in later


def test_the_report_names_hosts_that_back_off_with_time_and_reason() -> None:
    of = progress(conditions=Counter({"backing off": 3}))
    hosts = tuple(
        HostRow("a.example", host, Condition.BACKING_OFF, 1795471140.0 + n, "refused\x1b[2J")
        for n, host in enumerate(("http://a.example", "http://b.a.example"))
    )
    shown = said(End.WAITING, of, 0, Folder(Path("data")), Waiting(1795471140.0, hosts))
    assert obeyed(shown) == []
    lines = [line.strip() for line in shown.splitlines()]
    at = lines.index("backing off http://a.example until 2026-11-23 21:59:00 UTC (refused?[2J)")
    assert lines[at + 1].startswith("http://b.a.example until 2026-11-23 21:59:01 UTC")
    assert lines[at + 2] == "… and 1 more"


def test_what_the_report_says_to_type_can_be_typed() -> None:
    shown = said(End.DONE, progress(queued=0), 0, Folder(Path("my data")))
    assert "pages --data 'my data'" in shown and "why --data 'my data'" in shown
    assert "Run the same command again" not in shown


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 << 20, "5.0 MiB"), (3 << 40, "3.0 TiB")],
)
def test_sizes_for_a_person(count: int, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.04, "0.0 s"), (59.4, "59.4 s"), (59.6, "1 min 00 s"), (3600, "1 h 00 min")],
)
def test_durations_for_a_person(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_counts_for_a_person() -> None:
    assert counts({}) == counts({"gone": 0}) == "none"
    assert counts({"gone": 1, "page": 1200, "busy": 1}) == "1,200 page, 1 busy, 1 gone"


def test_the_speed_is_that_of_the_last_seconds() -> None:
    speed = Speed()
    assert speed.measure(100, 0.0) == 0.0
    assert speed.measure(150, 5.0) == 10.0
    for second in range(6, 40):
        latest = speed.measure(150, float(second))
    assert latest == 0.0
