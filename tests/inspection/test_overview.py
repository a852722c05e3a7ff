"""The overview of a crawl: one sentence, its limit, lags, budgets, and what needs attention."""

from collections import Counter
from typing import Any

from msgspec.structs import replace

from gossamer.events import DEFAULT_CRAWL, CrawlDefined, Outcome, Speed, SpeedSet
from gossamer.inspection.answers.limits import LimitKind
from gossamer.inspection.answers.overview import Overview, ProblemKind, make_overview, read_overview
from gossamer.inspection.basics.archives import ArchiveBuffer
from gossamer.inspection.basics.lag_times import LagTimes
from gossamer.inspection.progress.progress import Progress
from gossamer.inspection.progress.status import CrawlStatus, Failure
from gossamer.inspection.progress.workload import Waiting, Workload
from gossamer.log import GroupOffsets
from gossamer.log.codec import encode
from tests.frontier.simulation import START, Simulation
from tests.inspection.simulated import opened
from tests.support.transcripts import Transcript

NOW = 1_700_000_000.0 - 1_700_000_000.0 % 3600 + 1800.0
HOUR = int(NOW // 3600)
DEFINED = CrawlDefined(at=1.0, scope="any()", max_depth=3)


def overview(times: LagTimes | None = None, **changes: object) -> Overview:
    """Return the overview of a running crawl whose progress has *changes*."""
    of_status = ("definition", "buffers", "failures", "is_running", "are_all_paused")
    fields: dict[str, Any] = {
        "definition": DEFINED,
        "is_running": True,
        **{name: changes.pop(name) for name in of_status if name in changes},
    }
    progress = Progress(**{"pages": 900, "queued": 5, **changes})  # type: ignore[arg-type]
    status = CrawlStatus(crawl="data", fleet=False, progress=progress, waiting=Waiting(), **fields)
    return make_overview(status, Workload(), times, NOW)


def kinds(found: Overview) -> list[ProblemKind]:
    return [problem.kind for problem in found.problems]


def test_overview_of_a_running_crawl_names_its_rate_and_limit(transcript: Transcript) -> None:
    sim = Simulation()
    sim.admit(*(f"http://{host}.example/{number}" for host in "ab" for number in range(30)))
    sim.run(until=START + 20.0)
    crawl = opened(sim)
    found = read_overview(crawl, now=sim.now)
    assert found.pages == len(sim.pages()) > 0
    assert found.queued == 60 - found.pages
    assert found.limit.kind is LimitKind.DELAYS
    transcript.add("running", [found.answer.partition(". ")[2]])
    assert found.politeness.shortest_delay == found.politeness.longest_delay == 1.0
    assert found.seconds_left > 0 and not found.problems
    crawl.log.append([encode(SpeedSet(at=sim.now, speeds=(Speed("", pages=0.0),)))])
    assert read_overview(crawl, now=sim.now).limit.kind is LimitKind.STANDSTILL
    crawl.log.append([encode(replace(sim.definition, paused=True))])
    found = read_overview(crawl, now=sim.now)
    transcript.add("paused", [found.answer])
    assert kinds(found) == [ProblemKind.IDLE]


def test_overview_of_a_finished_crawl_names_no_host_of_another(transcript: Transcript) -> None:
    sim = Simulation()
    sim.define("b")
    sim.admit("http://a.example/")
    sim.admit(*(f"http://b.example/{number}" for number in range(300)), crawl="b")
    sim.run(until=START + 20.0)
    crawl = opened(sim)
    found = read_overview(crawl.of(DEFAULT_CRAWL), now=sim.now)
    assert (found.pages, found.queued) == (1, 0)
    transcript.add("finished", [found.answer])
    assert (found.limit.kind, found.limit.host) == (LimitKind.NOTHING, None)
    other = read_overview(crawl.of("b"), now=sim.now)
    assert other.limit.host == "http://b.example"


def test_overview_of_a_crawl_at_its_page_limit_names_the_limit(transcript: Transcript) -> None:
    found = overview(definition=replace(DEFINED, max_pages=900))
    transcript.add("at its page limit", [found.answer])
    assert (found.limit.kind, found.seconds_left) == (LimitKind.BUDGET, 0.0)


def test_rate_is_that_of_the_present_hour_and_of_the_one_before_if_it_is_young() -> None:
    hours = {str(HOUR): (1700, 50, 50), str(HOUR - 1): (3600, 0, 0), str(HOUR - 2): (9, 0, 0)}
    found = overview(hours=hours)
    assert found.rate == 1.0
    assert [hour.new for hour in found.hours] == [9, 3600, 1700]
    assert overview(hours={str(HOUR - 1): (3600, 0, 0)}).rate == 0.0


def test_hours_before_the_last_day_are_not_shown() -> None:
    hours = {str(HOUR - ago): (ago, 0, 0) for ago in (23, 24, 25, 500)}
    assert [hour.new for hour in overview(hours=hours).hours] == [24, 23]


def test_rate_of_a_new_crawl_is_that_since_its_definition() -> None:
    new = replace(DEFINED, at=NOW - 20.0)
    assert overview(hours={str(HOUR): (30, 6, 4)}, definition=new).rate == 2.0
    older = {str(HOUR): (1700, 50, 50), str(HOUR - 1): (3600, 0, 0)}
    assert overview(hours=older, definition=new).rate == 1.0


def test_folder_in_which_no_crawl_runs_says_how_to_continue_it(transcript: Transcript) -> None:
    found = overview(is_running=False)
    transcript.add("no crawl runs", [found.answer])
    assert found.problems == ()
    done = overview(is_running=False, queued=0)
    transcript.add("no crawl runs, and no URL is queued", [done.answer])
    running = overview(is_running=True, are_all_paused=True)
    transcript.add("all crawls are paused", [running.answer])


def test_crawl_without_problems_has_none(transcript: Transcript) -> None:
    found = overview()
    assert found.problems == ()
    transcript.add("without problems", [found.answer])


def test_problems_name_what_needs_attention(transcript: Transcript) -> None:
    times = LagTimes()
    times.add({"parser": {("pages.fetched", 0): GroupOffsets(10, 0, 90)}}, NOW - 120.0)
    times.add({"parser": {("pages.fetched", 0): GroupOffsets(10, 0, 95)}}, NOW)
    found = overview(
        times,
        dead_letters=3,
        outcomes=Counter({Outcome.PAGE: 60, Outcome.BUSY: 40, "robots.txt": 50, "probe": 50}),
        definition=replace(DEFINED, max_pages=900),
        buffers=(ArchiveBuffer("archive-1", 2, 2048, "no volume answers"),),
        failures=(Failure("over the URL budget", 5000), Failure("429 or Retry-After", 40)),
    )
    transcript.add("five problems", [problem.text for problem in found.problems])
    assert found.politeness.busy == found.failed == 40
    assert [budget.used for budget in found.budgets] == [900]


def test_lags_of_a_folder_in_which_no_crawl_runs_need_no_attention() -> None:
    times = LagTimes()
    for at in (NOW - 3600.0, NOW):
        times.add({"parser": {("pages.fetched", 0): GroupOffsets(10, 0, 90)}}, at)
    assert kinds(overview(times)) == [ProblemKind.LAG]
    assert kinds(overview(times, is_running=False)) == []


def test_lags_without_samples_have_records_alone() -> None:
    found = overview(lags={"parser": {"pages.fetched": 7}})
    assert [(lag.records, lag.seconds) for lag in found.lags] == [(7, None)]
