"""The live view and the report of a crawl: right counts, and no control characters of the Web."""

import io
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from gossamer.console.cli.progress import Ended, limit_text, progress_line, report, summary
from gossamer.console.cli.view import Rate, draw
from gossamer.console.output import RED, Line, Output
from gossamer.events import DEFAULT_CRAWL, Outcome
from gossamer.events.hazards import Hazard
from gossamer.inspection.basics.figures import about, counts, duration, plural, size
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.basics.labels import LABELS, plain_reason
from gossamer.inspection.hosts.hosts import Host, host_of
from gossamer.inspection.progress.progress import CrawlTotals, End, Progress
from gossamer.inspection.progress.status import read_failures, read_parked, read_replicas
from gossamer.inspection.progress.workload import Waiting, Workload
from gossamer.inspection.urls.visits import SeedFailure
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import (
    HostCrawl,
    HostRow,
    NewQueues,
    Politeness,
    RobotsRow,
)
from gossamer.services.frontier.tables.sites import ParkedPart, ParkedPartsRow
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.services.frontier.totals.tally import RevisitTotals
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.terminal import printable
from gossamer.web.robots import RobotsRules
from gossamer.web.url import HostKey, Site
from tests.support.transcripts import Transcript

NOW = 2_000_000_000.0
HOST = "http://a.example"
HOSTILE = (
    "http://a.example/\x1b]0;owned\x07\x1b[2J\r\n[bold red]x[/bold red]\u202etxt.exe\x9b31m[/]"
)


NO_WORK = Workload()
REVISITING = RevisitTotals(
    "optimal",
    2000.0,
    1234,
    NOW,
    Counter(rate=5, requested=2),
    1,
    weights=4.0,
    fresh=3.0,
    age=2.0,
    price=1.0,
)


def progress(**fields: object) -> Progress:
    found = Progress(**{"pages": 3, "admitted": 9, "queued": 6, "received": 2048, **fields})  # type: ignore[arg-type]
    found.crawls = {DEFAULT_CRAWL: CrawlTotals(pages=found.pages)}
    return found


def show_report(
    end: End,
    of: Progress,
    pages_before: int,
    folder: Folder,
    waiting: Waiting | None = None,
    verbose: bool = False,
) -> str:
    failures = read_failures(None, DEFAULT_CRAWL, of, waiting or Waiting())
    before = {DEFAULT_CRAWL: pages_before}
    ended = Ended(end, of, waiting or Waiting(), 2.0, before, folder, failures, {}, verbose)
    return "\n".join([summary(ended)[0], *map(Output().line, report(ended))])


def ended_run(of: Progress, **fields: Any) -> Ended:
    """Return the first run of a crawl, which is done."""
    rest = {"pages_before": {}, "failures": (), "failed_seeds": {}, **fields}
    return Ended(End.DONE, of, Waiting(), 2.0, folder=Folder(Path("data")), **rest)


def show_progress(of: Progress, word: str = "", workload: Workload = NO_WORK) -> str:
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    console.print(draw(of, workload, 1.5, 2.0, word, NOW))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def control_characters(text: str) -> list[str]:
    """Return the control characters of *text*."""
    return [c for c in text if not c.isprintable() and c != "\n"]


def test_live_view_shows_web_text_as_plain_text(transcript: Transcript) -> None:
    shown = show_progress(progress(latest=[(HOSTILE, "page")]))
    assert control_characters(shown) == []
    transcript.add("live view of a hostile URL", shown)


def test_report_shows_web_text_as_plain_text(transcript: Transcript) -> None:
    of = progress(slowest={HOSTILE: 3.0}, largest={HOSTILE: 3.0})
    shown = show_report(End.DONE, of, 0, Folder(Path("data")), verbose=True)
    assert control_characters(shown) == []
    transcript.add("report of a hostile URL", shown)


def test_why_shows_web_text_as_plain_text(tmp_path: Path, transcript: Transcript) -> None:
    opened = Folder(tmp_path).create()
    visit = UrlRow(
        DEFAULT_CRAWL,
        host=HostKey("http://a.example"),
        url="http://a.example/",
        outcome=Outcome.REDIRECT,
        at=1.0,
        redirects_to=HOSTILE,
        reason=HOSTILE,
        attempt=1,
    )
    opened.store.table(UrlRow).put(visit)
    opened.store.flush()
    opened.database.close()
    shown = transcript("why", "--verbose", "--data", str(tmp_path), visit.url)
    assert control_characters(shown) == []


@given(st.text(max_size=400))
def test_any_url_is_one_line_without_control_characters(url: str) -> None:
    shown = printable(url)
    assert shown.isprintable() and len(shown) <= 150
    line = show_progress(progress(latest=[(url[:80], "page")])).strip("\n").splitlines()[-2]
    assert "\n" not in line


def test_printable_url_is_shown_unchanged() -> None:
    assert printable("https://a.example/b?c=d&e=%20") == "https://a.example/b?c=d&e=%20"


def test_live_view_has_counters_and_failures(transcript: Transcript) -> None:
    of = progress(
        conditions=Counter(idle=2, ready=1),
        outcomes=Counter({"page": 3, "gone": 1, "robots.txt": 2}),
        lags={"parser": {"pages.fetched": 40}, "archive": {"pages.fetched": 1, "seeds": 3}},
        due_count=5,
    )
    transcript.add("live view", show_progress(of))
    transcript.add("live view after Ctrl-C", show_progress(of, "finishing"))


def test_revisits_are_shown_while_visits_are_planned(transcript: Transcript) -> None:
    of = progress(outcomes=Counter({"page": 3, "not_modified": 2}), revisiting=REVISITING)
    once = progress(revisiting=RevisitTotals(planned=7))
    transcript.add("live view with revisits", show_progress(of))
    transcript.add("report with revisits", show_report(End.TIME, of, 0, Folder(Path("data"))))
    transcript.add("live view if each page is visited once", show_progress(once))


def test_last_day_is_plotted_for_crawls_of_several_hours(transcript: Transcript) -> None:
    hours = {str(int(NOW // 3600) - ago): (5, ago, 1) for ago in (0, 3)}
    transcript.add("crawl of four hours", show_progress(progress(hours=hours)))
    first = {str(int(NOW // 3600)): (5, 0, 0)}
    transcript.add("crawl of one hour", show_progress(progress(hours=first)))
    revisiting = progress(hours=first, revisiting=REVISITING)
    transcript.add("crawl of one hour with revisits", show_progress(revisiting))


def test_progress_line_has_the_counters(transcript: Transcript) -> None:
    transcript.add(
        "line of progress", progress_line(progress(conditions=Counter(idle=2)), 1.25, NO_WORK)
    )


def test_singular_and_plural_agree(transcript: Transcript) -> None:
    one = progress(pages=1, queued=1, due_count=1)
    transcript.add("line of progress", progress_line(one, 0.0, NO_WORK))
    transcript.add("live view", show_progress(one))
    transcript.add("report", show_report(End.TIME, one, 0, Folder(Path("data"))))
    assert [plural(n, "URL") for n in (0, 1, 1200)] == ["0 URLs", "1 URL", "1,200 URLs"]


def test_report_counts_this_run_and_all_runs(transcript: Transcript) -> None:
    of = progress(
        verdicts=Counter(duplicate=1), outcomes=Counter(gone=12), dead_letters=2, due_count=4
    )
    transcript.add("second run", show_report(End.WAITING, of, 1, Folder(Path("my data"))))


def test_report_names_the_next_command_if_it_has_an_effect(transcript: Transcript) -> None:
    folder, ready = Folder(Path("my data")), progress(conditions=Counter(ready=1))
    for end in (End.PAGES, End.TIME, End.INTERRUPTED):
        transcript.add(f"a host is ready ({end.name})", show_report(end, ready, 0, folder))
    under_way = progress(lags={"parser": {"pages.fetched": 3}})
    transcript.add("pages are being parsed", show_report(End.KILLED, under_way, 0, folder))
    transcript.add("all done", show_report(End.DONE, progress(queued=0), 0, folder))
    again = progress(queued=0, revisiting=REVISITING)
    transcript.add("pages are visited again", show_report(End.TIME, again, 0, folder))
    later = show_report(End.WAITING, progress(due_count=1), 0, folder, Waiting(1795471140.0))
    transcript.add("a host is due later", later)


@pytest.mark.parametrize("seconds", [1e11, 1e300])
def test_estimate_of_more_than_a_million_days_is_not_written_out(seconds: float) -> None:
    """Report Meziantou #2620: `gossamer hosts` printed 296 digits."""
    assert about(seconds) == "over 1,000,000 days"
    assert about(1e9) == "about 11,574 days"


def delayed_host(delay: float, stated: float) -> Host:
    """Return a host in a courtesy *delay*, whose robots.txt asks for *stated* seconds."""
    key = HostKey("http://a.example")
    politeness = Politeness(delay=delay, last_took=0.1)
    row = HostRow(Site("a.example"), key, Condition.DELAYED, 1795471140.0, politeness=politeness)
    return host_of(row, RobotsRow(key, RobotsRules(crawl_delay=stated)))


def test_report_names_hosts_in_a_long_delay(transcript: Transcript) -> None:
    """Reports Meziantou #2620, stormcrawler #768, #1979: the delay that was asked, in days."""
    of, folder = progress(conditions=Counter(delayed=1)), Folder(Path("data"))
    due = progress(conditions=Counter(delayed=1), due_count=1)
    absurd, long = delayed_host(86400.0, 1e9), delayed_host(7200.0, 7200.0)
    for name, found, delayed, count in (
        ("an absurd delay", of, (absurd,), 1),
        ("the largest number", of, (delayed_host(86400.0, 1e300),), 1),
        ("a long delay", of, (long,), 1),
        ("two hosts", of, (absurd, long), 2),
        ("a host that backs off, too", due, (absurd,), 1),
        ("the delay of another host of the name", of, (delayed_host(1.0, 0.0),), 1),
    ):
        waiting = Waiting(1795471140.0, delayed=delayed, delayed_count=count)
        transcript.add(name, show_report(End.WAITING, found, 0, folder, waiting))


def test_report_names_hosts_that_back_off_with_time_and_reason(transcript: Transcript) -> None:
    of = progress(conditions=Counter({"backing off": 3}))
    hosts = tuple(
        host_of(
            HostRow(
                Site("a.example"),
                HostKey(host),
                Condition.BACKING_OFF,
                1795471140.0 + n,
                "refused\x1b[2J",
            )
        )
        for n, host in enumerate(("http://a.example", "http://b.a.example"))
    )
    shown = show_report(End.WAITING, of, 0, Folder(Path("data")), Waiting(1795471140.0, hosts))
    assert control_characters(shown) == []
    transcript.add("three hosts back off, and two of them are known", shown)


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        *[(size(0), "0 B"), (size(999), "999 B"), (size(1000), "1.0 kB"), (size(5e6), "5.0 MB")],
        *[(size(3e12), "3.0 TB"), (duration(0.04), "0.0 s"), (duration(59.4), "59.4 s")],
        *[(duration(59.6), "1 min 00 s"), (duration(3600), "1 h 00 min")],
        *[(counts({}), "none"), (counts({"gone": 0}), "none")],
        (counts({"gone": 1, "page": 1200, "busy": 1}), "1,200 page, 1 busy, 1 gone"),
    ],
)
def test_figures_are_readable(shown: str, text: str) -> None:
    assert shown == text


def test_rate_is_that_of_the_last_seconds() -> None:
    rate = Rate()
    assert rate.measure(progress(pages=100), 0.0) == 0.0
    assert rate.measure(progress(pages=150), 5.0) == 10.0
    for second in range(6, 40):
        latest = rate.measure(progress(pages=150), float(second))
    assert latest == 0.0


def of_crawls(**pages: int) -> Progress:
    crawls = {crawl: CrawlTotals(pages=count) for crawl, count in pages.items()}
    return Progress(pages=sum(pages.values()), crawls=crawls)


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 99)), min_size=1))
def test_rate_is_never_negative(samples: list[dict[str, int]]) -> None:
    """The rows of a removed crawl are dropped, so its pages become fewer, and none at last."""
    rate = Rate()
    for now, pages in enumerate(samples):
        assert rate.measure(of_crawls(**pages), float(now)) >= 0.0


def test_rate_is_that_of_the_other_crawls_after_one_was_removed_or_resumed() -> None:
    rate = Rate()
    rate.measure(of_crawls(news=100, blogs=5000), 0.0)
    assert rate.measure(of_crawls(news=150, blogs=0), 5.0) == 10.0
    assert rate.measure(of_crawls(news=150, papers=700), 10.0) == 5.0


def test_pages_of_a_run_are_those_of_the_crawls_that_were_not_removed() -> None:
    of = of_crawls(news=150, papers=20)
    before = {"news": 100, "blogs": 5000}
    ended = ended_run(of, pages_before=before)
    assert next(report(ended)).text.startswith("70 in this run")


def test_seeds_without_a_page_are_named_beside_others(transcript: Transcript) -> None:
    failures = {f"{HOST}/{n}": SeedFailure("gone", 404, "") for n in range(22)}
    failures[f"{HOST}/0"] = SeedFailure("", 0, "it redirects to http://b.example/, which is out")
    for number, has_seed_page in ((2, True), (22, True), (2, False)):
        failed = dict([*failures.items()][:number])
        ended = ended_run(progress(), failed_seeds=failed, has_seed_page=has_seed_page)
        shown = [Output().line(line) for line in report(ended) if line.style == RED]
        transcript.add(f"{number} seeds", [summary(ended)[0], *shown])


def test_end_with_parked_urls_names_them_and_how_to_visit_them(transcript: Transcript) -> None:
    parked = {Site("a.example"): 29, Site("b.example"): 3}
    ended = ended_run(progress(queued=0), parked=parked)
    shown = [Output().line(line) for line in report(ended) if line.title == "parked"]
    transcript.add("parked URLs", [summary(ended)[0], *shown])


def test_run_whose_listings_were_not_read_does_not_say_that_nothing_is_left(
    transcript: Transcript,
) -> None:
    for parked in ({}, {Site("a.example"): 3}):
        for hazards in (
            Counter(nested_index=1),
            Counter(nested_index=2, too_many_links=1),
            Counter(malformed_listing=1),
        ):
            text, _ = summary(ended_run(progress(queued=0, hazards=hazards), parked=parked))
            assert ("nothing" in text) == ("malformed_listing" in hazards)
            transcript.add(f"{dict(hazards)}, {sum(parked.values())} parked", text)


def test_hosts_that_mirror_another_are_named(transcript: Transcript) -> None:
    store = SqliteStore(Database(":memory:"))
    for name in "bcdef":
        site = Site(f"{name}.example")
        row = HostRow(site, HostKey(f"http://{site}"), original=HOST)
        store.table(HostRow).put(row)
    store.flush()
    assert read_replicas(store, progress()) == {}, "no mirror was proven"
    assert len(read_replicas(store, progress(hazards=Counter({Hazard.DUPHOST: 1})))) == 5
    replicas = read_replicas(store, progress(refused=Counter({Hazard.DUPHOST: 7})))
    for number in (0, 1, 5):
        ended = ended_run(progress(), replicas=dict([*replicas.items()][:number]))
        shown = [Output().line(line) for line in report(ended) if line.title == "mirrors"]
        transcript.add(f"{number} mirrors", shown)


def test_urls_that_were_parked_and_released_are_no_failure() -> None:
    store = SqliteStore(Database(":memory:"))
    parts = {"http://a.example/cal/": ParkedPart(rule=Hazard.LOW_WORTH, since=0.0, urls=3)}
    store.table(ParkedPartsRow).put(ParkedPartsRow(DEFAULT_CRAWL, Site("a.example"), parts))
    store.flush()
    of = progress(
        hazards=Counter({Hazard.LOW_WORTH: 9, Hazard.TRAP_URLS: 213}),
        parked=Counter({Hazard.LOW_WORTH: 3}),
    )
    for rows in (store, None):
        found = read_failures(rows, DEFAULT_CRAWL, of, Waiting())
        assert [(one.label, one.count) for one in found] == [(LABELS[Hazard.LOW_WORTH], 3)]
    assert read_parked(store, DEFAULT_CRAWL) == {"a.example": 3}
    assert read_parked(store, "other") == {}


def test_failures_are_one_table_with_examples(transcript: Transcript) -> None:
    of = progress(
        outcomes=Counter({"page": 3, "gone": 2, "host_down": 1}),
        hazards=Counter({"host_down": 1, "default_document": 9, "soft_404": 4}),
    )
    of.latest = ((f"{HOST}/missing", "gone"),)
    failures = read_failures(None, DEFAULT_CRAWL, of, Waiting())
    ended = ended_run(of, failures=failures)
    shown = [line for line in report(ended) if line.style == RED]
    transcript.add("red lines of the report", map(Output().line, shown))


def busy_host(host: HostKey, queued: int, delay: float, condition: Condition) -> Host:
    row = HostRow(
        Site("a.example"),
        host,
        condition,
        crawls={DEFAULT_CRAWL: HostCrawl(NewQueues(queued=queued))},
        politeness=Politeness(delay=delay, last_took=0.0),
    )
    return host_of(row)


def test_limit_names_the_host_that_takes_longest(transcript: Transcript) -> None:
    slow = busy_host(HostKey("http://slow.example"), 12, 68.0, Condition.DELAYED)
    other = busy_host(HostKey("http://b.example"), 2, 1.0, Condition.CHECKED_OUT)
    for hosts in ((slow,), (slow, other)):
        transcript.add(
            f"all URLs are of this crawl, {plural(len(hosts), 'host')}",
            [limit_text(progress(queued=12), Workload(hosts))],
        )
    text = limit_text(progress(queued=11), Workload((slow,)))
    transcript.add("one URL is of another crawl", [text])


def test_limit_names_the_delay_if_all_hosts_wait_for_it(transcript: Transcript) -> None:
    hosts = tuple(
        busy_host(HostKey(f"http://{name}.example"), 20, 1.0, Condition.DELAYED) for name in "ab"
    )
    transcript.add("equal delays", limit_text(progress(), Workload(hosts)))
    mixed = (hosts[0], busy_host(HostKey("http://c.example"), 5, 5.0, Condition.CHECKED_OUT))
    transcript.add("two delays", limit_text(progress(), Workload(mixed)))
    undelayed = tuple(
        busy_host(HostKey(f"http://{name}.example"), 2, 0.0, condition)
        for name, condition in (("a", Condition.DELAYED), ("b", Condition.CHECKED_OUT))
    )
    transcript.add("no delay", limit_text(progress(), Workload(undelayed)))


def test_limit_names_the_parser_the_fetcher_the_speed_and_the_budget(
    transcript: Transcript,
) -> None:
    hosts = tuple(
        busy_host(HostKey(f"http://{name}.example"), 20, 1.0, Condition.READY) for name in "ab"
    )
    of = progress(conditions=Counter({"ready": 2}))
    transcript.add("hosts are ready", limit_text(of, Workload(hosts)))
    transcript.add("slow with gossamer speed", limit_text(of, Workload(hosts, speed=20.0)))
    slow = progress(lags={"parser": {"pages.fetched": 120}})
    transcript.add("the parser lags", limit_text(slow, Workload(hosts)))
    transcript.add("standstill", limit_text(of, Workload(is_standstill=True)))
    waiting = progress(revisiting=RevisitTotals("optimal", 5000.0, waiting=25))
    transcript.add("the budget is spent", limit_text(waiting, NO_WORK))


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        (
            "[Errno 111] Connect call failed ('127.0.0.99', 80)",
            "connection refused by 127.0.0.99:80",
        ),
        (
            "Multiple exceptions: [Errno 111] Connect call failed ('::1', 80, 0, 0), "
            "[Errno 113] Connect call failed ('192.0.2.1', 80)",
            "connection refused by [::1]:80, no route to 192.0.2.1:80",
        ),
        ("[Errno 104] Connection reset by peer", "Connection reset by peer"),
        ("its name does not resolve", "its name does not resolve"),
        ("busy", "429 or Retry-After"),
        ("attempt 2 after server_error", "attempt 2 after 5xx"),
    ],
)
def test_reasons_have_no_error_numbers(reason: str, shown: str) -> None:
    assert plain_reason(reason) == shown


def test_lines_are_wrapped_and_coloured_on_a_terminal_alone() -> None:
    line = Line("hosts", "one two three four five six seven eight nine ten eleven", RED)
    assert Output(40, colour=False).line(line).splitlines() == [
        "  hosts        one two three four five",
        "               six seven eight nine ten",
        "               eleven",
    ]
    assert Output().line(line) == f"  hosts        {line.text}"
    coloured = Output(200, colour=True).line(Line("hosts", "a\x1b[2Jb", RED))
    assert coloured == "  \x1b[1mhosts\x1b[0m        \x1b[31ma?[2Jb\x1b[0m"


@pytest.mark.parametrize(("chosen", "option"), [("", ""), ("news", " --crawl news")])
def test_suggested_commands_name_the_crawl_if_there_are_several(chosen: str, option: str) -> None:
    ended = ended_run(progress(), chosen=chosen)
    shown = {line.title: line.text for line in report(ended)}
    assert shown["read pages"].endswith(f" pages --data data{option}")
    assert shown["explain"].endswith(f" why --data data{option} URL")
    assert shown["limits"].endswith(f" report --data data{option}")
