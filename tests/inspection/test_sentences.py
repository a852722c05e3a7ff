"""Sentences about a crawl, in each state in which they can be printed: each claim is true there.

`STATES` are crawls in virtual time. `SENTENCES` are what the commands and the console print about
them. `CLAIMS` are phrases that may occur in these sentences only if a fact holds; each of them
occurs in a state.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from gossamer import clock
from gossamer.console import report_text
from gossamer.console.cli import hosts, report, sites, status
from gossamer.console.cli import progress as last_lines
from gossamer.console.cli.progress import Ended, progress_line, queue_text
from gossamer.crawl import active_of, definitions_of
from gossamer.erasures import ErasureRow
from gossamer.events import (
    BlocklistChanged,
    Discovery,
    Event,
    FleetPaused,
    LinksParked,
    Outcome,
    PageDeduplicated,
    Speed,
    SpeedSet,
    UrlsAdmitted,
    Verdict,
    VisitEnded,
)
from gossamer.events.hazards import Hazard
from gossamer.events.public import Gone
from gossamer.inspection.answers.host_details import explain_host
from gossamer.inspection.answers.overview import read_overview
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.basics.labels import LABELS
from gossamer.inspection.crawls.crawl import NotFound, OpenCrawl
from gossamer.inspection.hosts.host_index import HostIndex, write_index
from gossamer.inspection.hosts.hosts import HostQuery, HostSort, host_reader, read_hosts, read_sites
from gossamer.inspection.hosts.parts import read_parts
from gossamer.inspection.progress.progress import End, read_progress
from gossamer.inspection.progress.report import read_report
from gossamer.inspection.progress.status import read_status
from gossamer.inspection.progress.workload import read_workload
from gossamer.inspection.urls.url_rows import read_facts
from gossamer.inspection.urls.urls import explain
from gossamer.log.codec import encode
from gossamer.policies import GOOD_SCORE, NEVER
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.frontier.partition.parked import PARKING_RULES
from gossamer.services.frontier.tables.hosts import HostRow, RobotsRow
from gossamer.services.frontier.tables.sites import ParkedPart, ParkedPartsRow
from gossamer.services.frontier.tables.urls import UrlRow, VerdictRow
from gossamer.store import Row
from gossamer.web.robots import RobotsRules
from gossamer.web.robots.reader import parse_robots
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import START, Answer, Simulation, page
from tests.inspection.simulated import opened

HOST, SITE = HostKey("http://a.example"), Site("a.example")
URL = f"{HOST}/9"
DEEP, UNKNOWN = f"{HOST}/deep", f"{HOST}/unknown"
SITEMAP = f"{HOST}/sitemap.xml"
HOUR = 3600.0
URLS = tuple(f"{HOST}/{number}" for number in range(10))


def slow(url: str) -> dict[str, object]:
    """Return a page after four seconds."""
    return {"took": 4.0}


def robots(url: str) -> dict[str, object]:
    """Return a robots.txt that disallows the last URL."""
    file = parse_robots(b"User-agent: *\nDisallow: /deep\n", "gossamer", START, 86400.0)
    return {"robots": file.rules} if url.endswith("/robots.txt") else {}


def missing(url: str) -> dict[str, object]:
    """Return the outcome of a missing page, for all URLs but robots.txt."""
    return {} if url.endswith("/robots.txt") else {"outcome": Outcome.GONE, "status": 404}


def cut(url: str) -> dict[str, object]:
    """Return that the connection breaks during each page."""
    return {} if url.endswith("/robots.txt") else {"outcome": Outcome.CUT_BODY, "status": 200}


def unmodified(url: str) -> dict[str, object]:
    """Return a page with an ETag, which never changes."""
    return {} if url.endswith("/robots.txt") else {"outcome": Outcome.NOT_MODIFIED, "status": 304}


def admitted(url: str, depth: int = 1, hops: int = 0) -> UrlsAdmitted:
    """Return that the crawl admits *url*, which a page links or redirects to."""
    found = Discovery(url, depth, hops)
    return UrlsAdmitted(crawl="default", at=START, site=SITE, via=f"1.0.0@{URL}", urls=(found,))


def down(url: str) -> dict[str, object]:
    """Return that no server listens."""
    return {"outcome": Outcome.HOST_DOWN, "reason": "connection refused"}


@dataclass(frozen=True)
class State:
    """A crawl of the URLs of one host."""

    urls: tuple[str, ...] = URLS
    answer: Answer = page
    seconds: float = 3.0
    """How long it runs."""
    settings: dict[str, object] = field(default_factory=dict)
    control: tuple[object, ...] = ()
    """Events on the log after that."""
    definition: dict[str, object] = field(default_factory=dict)
    """Changes of its definition after that."""
    records: tuple[Event, ...] = ()
    """Events that the frontier gets."""
    rows: tuple[Row, ...] = ()
    revisit: str = NEVER
    """The policy of revisits from the beginning."""
    budget: float = 0.0
    """Visits a day from the beginning."""
    score: float | None = None
    """The score of each page; None without verdicts."""
    hours_later: float = 0.0
    """How long after its end it is looked at."""
    end: End | None = None
    """Why the run has ended, if its last lines are printed."""
    keeps_limit: bool = False
    """Whether the next run has the page limit of this one."""
    is_running: bool | None = True
    is_defined: bool = True

    def open(self) -> tuple[OpenCrawl, float]:
        """Return the crawl, and the time."""
        sim = Simulation(self.answer, **{"batch": 1, **self.settings})  # type: ignore[arg-type]
        if self.revisit != NEVER:
            sim.definition = changed(sim.definition, revisit=self.revisit, budget=self.budget)
            sim.handle(sim.definition)
        if self.score is not None:
            sim.give_verdict = self.verdict
        sim.admit(*self.urls)
        sim.run(until=START + self.seconds)
        for record in self.records:
            assert [*sim.frontier.handle(record, sim.now)] == []
            sim.frontier.settle()
        for row in self.rows:
            sim.store.table(type(row)).put(row)
        sim.store.flush()
        crawl = opened(sim)
        events = [*self.control]
        if self.definition:
            events.append(changed(sim.definition, **self.definition))
        crawl.log.append(map(encode, events))  # type: ignore[arg-type]
        is_fleet, later = self.is_running is None, HOUR * self.hours_later
        return replace(crawl, is_running=lambda: self.is_running, fleet=is_fleet), sim.now + later

    def verdict(self, ended: VisitEnded) -> PageDeduplicated:
        """Return that a page is new at its first visit, and unchanged after that."""
        is_first = ended.visit.earlier == 0
        return PageDeduplicated(
            at=ended.at,
            site=ended.site,
            host=ended.host,
            visit=ended.visit,
            verdict=Verdict.FIRST if is_first else Verdict.UNCHANGED,
            digest="d",
            change=None if is_first else 0.0,
            score=self.score or 0.0,
            fetched_at=ended.started_at,
            status=304 if ended.outcome is Outcome.NOT_MODIFIED else 200,
        )


PAUSED = FleetPaused(at=START, paused=True)
PARKED = (
    ParkedPartsRow(
        "default", SITE, {"http://a.example/x/": ParkedPart(rule="low_worth", since=1.0, urls=29)}
    ),
)
VISITED = UrlRow("default", HOST, DEEP, Outcome.PAGE, START, 200, earlier=1)
TOO_DEEP = LinksParked(at=START, site=SITE, via=f"1.0.0@{URL}", urls=(Discovery(DEEP, depth=17),))
PUBLISHED = DocumentRow("default", DEEP, START, "d", published_at=START)
STATES = {
    "nothing queued yet": State(urls=(), seconds=0.0),
    "first visit running": State(answer=slow, seconds=1.0),
    "in its delay": State(seconds=2.5),
    "slow server": State(answer=slow, seconds=22.0),
    "paused": State(definition={"paused": True}),
    "all paused": State(control=(PAUSED,)),
    "ended before its end": State(control=(PAUSED,), is_running=False, end=End.TIME),
    "interrupted": State(control=(PAUSED,), is_running=False, end=End.INTERRUPTED),
    "killed": State(is_running=False, end=End.KILLED),
    "killed during a visit": State(answer=slow, seconds=1.0, is_running=False, end=End.KILLED),
    "paused, and ended": State(definition={"paused": True}, is_running=False, end=End.PAUSED),
    "ended at the page limit": State(definition={"max_pages": 1}, is_running=False, end=End.PAGES),
    "ended at a page limit that the next run keeps": State(
        definition={"max_pages": 1}, is_running=False, end=End.PAGES, keeps_limit=True
    ),
    "parked, and ended": State(seconds=60.0, rows=PARKED, is_running=False, end=End.DONE),
    "removed": State(definition={"removed": True}),
    "finished": State(seconds=60.0),
    "finished, and ended": State(seconds=60.0, control=(PAUSED,), is_running=False, end=End.DONE),
    "backing off": State(answer=down, seconds=60.0),
    "blocked": State(control=(BlocklistChanged(at=START, rule="a.example"),)),
    "standstill": State(control=(SpeedSet(at=START, speeds=(Speed("", pages=0.0),)),)),
    "page limit": State(definition={"max_pages": 1}),
    "fleet": State(is_running=None),
    "all paused in a fleet": State(control=(PAUSED,), is_running=None),
    "too deep": State(records=(TOO_DEEP,)),
    "too deep in a fleet": State(records=(TOO_DEEP,), is_running=None),
    "listed too deep by a sitemap": State(
        records=(
            LinksParked(
                at=START, site=SITE, via=f"1.0.0@{SITEMAP}", urls=(Discovery(DEEP, depth=17),)
            ),
        )
    ),
    "admitted too deep": State(records=(admitted(DEEP, depth=17),)),
    "redirect limit": State(records=(admitted(DEEP, hops=99),)),
    "out of scope": State(definition={"scope": 'host("b.example")'}),
    **{
        f"refused by {rule}": State(
            rows=(UrlRow("default", HOST, DEEP, rule, START, reason="the rule"),)
        )
        for rule in PARKING_RULES
    },
    "duplicate": State(
        rows=(
            VISITED,
            VerdictRow("default", HOST, DEEP, Verdict.DUPLICATE, START, "d", URL),
            PUBLISHED,
        )
    ),
    "changed": State(
        rows=(VISITED, VerdictRow("default", HOST, DEEP, Verdict.CHANGED, START, "d"), PUBLISHED)
    ),
    "gone from pages": State(
        rows=(
            changed(VISITED, outcome=Outcome.GONE, status=410),
            VerdictRow("default", HOST, DEEP, Verdict.GONE, START),
            changed(PUBLISHED, gone=Gone.REMOVED),
        )
    ),
    "not in pages": State(
        rows=(
            VISITED,
            VerdictRow("default", HOST, DEEP, Verdict.FIRST, START, "d"),
            changed(PUBLISHED, gone=Gone.SOFT_404),
        )
    ),
    "erased": State(
        rows=(ErasureRow("-", "1", "frontier", DEEP, 0, START, "ann", 0, True, {}),),
    ),
    "robots.txt": State(answer=robots, seconds=60.0, records=(admitted(DEEP),)),
    "robots.txt allows it again": State(
        answer=robots,
        seconds=60.0,
        records=(admitted(DEEP),),
        rows=(RobotsRow(HOST, RobotsRules()),),
    ),
    "missing": State(answer=missing, seconds=60.0),
    "waiting for a retry": State(answer=cut, seconds=30.0),
    "waiting for a retry, and stopped": State(
        answer=cut, seconds=30.0, is_running=False, end=End.WAITING
    ),
    "waiting for a retry, and stopped long ago": State(
        answer=cut, seconds=30.0, hours_later=48.0, is_running=False
    ),
    "backing off, and stopped long ago": State(
        answer=down, seconds=60.0, hours_later=48.0, is_running=False
    ),
    "stopped long ago": State(seconds=2.5, hours_later=48.0, is_running=False),
    "good pages": State(seconds=60.0, score=0.9),
    "no good page": State(seconds=60.0, score=0.1),
    "revisits": State(seconds=60.0, score=0.9, revisit="fixed:1h"),
    "revisits with a budget": State(seconds=60.0, score=0.9, revisit="optimal", budget=1.0),
    "unchanged": State(seconds=4000.0, score=0.9, revisit="fixed:1h", answer=unmodified),
    "revisits due, and stopped": State(
        seconds=60.0, score=0.9, revisit="fixed:1h", hours_later=2.0, is_running=False
    ),
    "revisits due under a budget, and stopped": State(
        seconds=60.0, score=0.9, revisit="optimal", budget=1.0, hours_later=2000.0, is_running=False
    ),
    "revisits due under a budget": State(
        seconds=60.0, score=0.9, revisit="optimal", budget=1.0, hours_later=2000.0
    ),
    "revisits due, and paused": State(
        seconds=60.0, score=0.9, revisit="fixed:1h", hours_later=2.0, definition={"paused": True}
    ),
    "revisits blocked": State(
        seconds=60.0,
        score=0.9,
        revisit="fixed:1h",
        control=(BlocklistChanged(at=START, rule="a.example"),),
    ),
    "revisits ended by the policy": State(
        seconds=60.0, score=0.9, revisit="fixed:1h", definition={"revisit": NEVER}
    ),
    "revisits begun by the policy": State(
        seconds=60.0, score=0.9, definition={"revisit": "fixed:1h"}
    ),
    "revisits of a removed crawl": State(
        seconds=60.0, score=0.9, revisit="fixed:1h", definition={"removed": True}
    ),
    "page limit, and revisits": State(
        seconds=60.0, score=0.9, revisit="fixed:1h", definition={"max_pages": 1}
    ),
    "parked, and waiting for a retry": State(answer=cut, seconds=30.0, urls=URLS[:1], rows=PARKED),
    "parked": State(
        seconds=60.0,
        rows=PARKED,
    ),
}


def _why(crawl: OpenCrawl, now: float) -> Iterable[str]:
    for url in (URL, DEEP, UNKNOWN):
        yield explain(read_facts(crawl, url, now), now).answer


def _host(crawl: OpenCrawl, now: float) -> Iterable[str]:
    try:
        yield explain_host(crawl, HOST, now).answer
    except NotFound as error:
        yield str(error)


def _hosts(crawl: OpenCrawl, now: float) -> Iterable[str]:
    for host in read_hosts(crawl):
        yield ", ".join(hosts._parts(host, now))


def _sites(crawl: OpenCrawl, now: float) -> Iterable[str]:
    for site in read_sites(crawl):
        yield "; ".join(sites._parts(site))
        yield read_parts(crawl, site.site).answer


def _status(crawl: OpenCrawl, now: float) -> Iterable[str]:
    found = read_status(crawl)
    yield status.summary(found)
    for line in status.lines(found, now):
        yield f"{line.title}: {line.text}"


def _live(crawl: OpenCrawl, now: float) -> Iterable[str]:
    if not crawl.is_running():
        return
    progress = read_progress(crawl, [crawl.id])
    definition = crawl.definition()
    is_limited = definition and 0 < definition.max_pages <= progress.pages
    is_idle = crawl.are_all_paused or is_limited
    workload = read_workload(crawl, now, [] if is_idle else active_of(definitions_of(crawl.log)))
    yield progress_line(progress, 1.0, workload)
    yield queue_text(progress, workload, 1.0)


def _overview(crawl: OpenCrawl, now: float) -> Iterable[str]:
    found = read_overview(crawl, now=now)
    yield found.answer
    yield from (problem.text for problem in found.problems)


def _report(crawl: OpenCrawl, now: float) -> Iterable[str]:
    for found in (read_report(crawl), read_report(crawl, days=1)):
        if not found.first_day:
            continue
        yield report_text.summary(found)
        for line in report_text.overview(found):
            yield f"{line.title}: {line.text}"
        for hazard in found.hazards:
            if hazard.is_met:
                yield from report.hazard_lines(hazard)
        yield from (advice.text for advice in found.advice)


def _ended(crawl: OpenCrawl, now: float, end: End, keeps_limit: bool) -> Iterable[str]:
    found = read_status(crawl)
    run = Ended(
        end,
        found.progress,
        found.waiting,
        now - START,
        {},
        Folder(Path("data")),
        found.failures,
        {},
        parked=found.parked,
        keeps_limit=keeps_limit,
    )
    yield last_lines.summary(run)[0]
    yield from (f"{line.title}: {line.text}" for line in last_lines.report(run))


SENTENCES: dict[str, Callable[[OpenCrawl, float], Iterable[str]]] = {
    "why": _why,
    "host": _host,
    "hosts": _hosts,
    "sites": _sites,
    "status": _status,
    "live": _live,
    "overview": _overview,
    "report": _report,
}


def is_active(state: State) -> bool:
    """Return whether a crawl may fetch pages in *state*."""
    is_stopped = PAUSED in state.control or state.definition.keys() & {"paused", "removed"}
    return state.is_running is not False and not is_stopped


def is_paced(state: State) -> bool:
    """Return whether the host of *state* is visited at its pace."""
    # The queue of a host is not compared with the scope, so its estimate counts all URLs.
    is_limited = state.definition.keys() - {"scope"} or state.control
    return is_active(state) and not is_limited and state.answer is not down


def is_paced_by_delays(state: State) -> bool:
    """Return whether the host of *state* is in its delay most of the time."""
    return is_paced(state) and state.answer is not slow


def is_refused_by(rule: Hazard, state: State) -> bool:
    """Return whether a URL of *state* is refused by *rule*."""
    if state.definition.get("scope") and rule is Hazard.OUT_OF_SCOPE:
        return True
    records = (one for one in state.records if isinstance(one, (LinksParked, UrlsAdmitted)))
    found = (one for record in records for one in record.urls)
    is_deep = rule is Hazard.TRAP_DEPTH and any(one.depth > 16 for one in found)
    return is_deep or any(isinstance(row, UrlRow) and row.outcome == rule for row in state.rows)


CLAIMS: dict[str, Callable[[State], bool]] = {
    r"Nothing is (fetched|visited)": lambda state: not is_active(state) or bool(state.definition),
    r"all crawls are paused": lambda state: (
        PAUSED in state.control and state.is_running is not False
    ),
    r"the crawl is paused": lambda state: "paused" in state.definition,
    r"the crawl is removed": lambda state: "removed" in state.definition,
    r"[Nn]o crawl runs in this folder": lambda state: state.is_running is False,
    r"[Bb]eing fetched|is visiting|checked out": is_active,
    r"1 interrupted|^interrupted": lambda state: not is_active(state) and state.answer is slow,
    r"about \d": lambda state: is_paced(state) and state.seconds > 1.0,
    r"limited by": is_active,
    r"imited by the 1 s delay": is_paced_by_delays,
    r"first response of 1 host": lambda state: state.seconds <= 1.0,
    r"response times of 4 s": lambda state: state.answer is slow and state.seconds > 4.0,
    r"of them good": lambda state: (state.score or 0.0) >= GOOD_SCORE,
    r"new pages|no rule of robots": lambda state: False,
    r"excluded by robots.txt \(line[^;]*$": lambda state: state.answer is robots and not state.rows,
    r"robots.txt allows it now": lambda state: state.answer is robots and bool(state.rows),
    r"[Nn]othing but": lambda state: state.rows == PARKED and state.answer is not cut,
    r"nothing is left": lambda state: state.end is End.DONE and state.rows != PARKED,
    r"time limit is reached": lambda state: state.end is End.TIME,
    r"Run the same command again to": lambda state: (
        state.end in (End.TIME, End.INTERRUPTED, End.KILLED, End.PAGES) and not state.keeps_limit
    ),
    r"keeps the page limit": lambda state: state.keeps_limit,
    r"a paused crawl": lambda state: "paused" in state.definition and state.end is not None,
    r"Nothing is due before": lambda state: state.end is End.WAITING,
    r"in its delay|^delayed": lambda state: state.is_running is not False,
    r"^waiting, |: 1 waiting$": lambda state: state.is_running is False,
    r"(until|before) \d": lambda state: state.hours_later == 0.0,
    r"due since": lambda state: state.hours_later > 0.0,
    r"one request each": lambda state: False,
    r"Next visit (\d|due)": lambda state: (
        is_active(state)
        and not state.control
        and not state.definition
        and (state.answer is cut or state.revisit != NEVER)
    ),
    r"waiting for the budget of 1 visits": lambda state: is_active(state) and state.budget == 1.0,
    r"waiting for the budget of 0": lambda state: False,
    r"--revisit none": lambda state: state.definition.get("revisit", state.revisit) == NEVER,
    r"not in pages": lambda state: PUBLISHED not in state.rows and bool(state.rows),
    r"\), published": lambda state: PUBLISHED in state.rows,
    r"^Erased": lambda state: isinstance(state.rows[0], ErasureRow),
    **{
        rf"Not fetched: {re.escape(LABELS[rule])}": partial(is_refused_by, rule)
        for rule in PARKING_RULES
    },
    r"backing off": lambda state: state.answer is down,
    r"standstill|speed is 0": lambda state: any(isinstance(one, SpeedSet) for one in state.control),
    r"limit of 1 page is reached": lambda state: "max_pages" in state.definition,
    r"blocklist forbids": lambda state: any(
        isinstance(one, BlocklistChanged) for one in state.control
    ),
    r"no page, sitemap or list": lambda state: state.is_running is not None,
    r"deeper than --depth: 17 links from a seed, at most 16.*; found on": lambda state: any(
        isinstance(one, LinksParked) for one in state.records
    ),
    r"No first visit is counted": lambda state: state.score is None,
    r"first visits? brought": lambda state: state.score is not None or state.answer is missing,
    r"[1-9]\d* URLs? parked\.": lambda state: state.rows == PARKED,
    r"parked: gossamer|parked URL": lambda state: state.rows == PARKED,
}
"""Phrase → whether it is true in a state."""
UNTRUE = {
    "new pages|no rule of robots",
    "one request each",
    "waiting for the budget of 0",
}
"""Claims that are true in no state, so that none makes them."""


@pytest.mark.parametrize("name", STATES)
def test_sentences_are_true_in_each_state(name: str) -> None:
    state = STATES[name]
    crawl, now = state.open()
    for command, sentence in _say(state, crawl, now):
        claimed = [claim for claim in CLAIMS if re.search(claim, sentence)]
        false = [claim for claim in claimed if not CLAIMS[claim](state)]
        assert not false, f"{command}: {sentence}"


def test_each_sentence_says_something_and_each_claim_is_made() -> None:
    said = [sentence for state in STATES.values() for sentence in _all_sentences(state)]
    unmade = {claim for claim in CLAIMS if not any(re.search(claim, one) for one in said)}
    assert unmade == UNTRUE


def test_hosts_are_sorted_by_the_time_that_is_shown(tmp_path: Path) -> None:
    sim = Simulation(batch=1)
    for name, urls in (("a", 30), ("b", 20), ("c", 10)):
        sim.admit(*(f"http://{name}.example/{number}" for number in range(urls)))
    sim.run(until=START + 3.5)
    crawl = opened(sim)
    crawl.log.append([encode(BlocklistChanged(at=START, rule="a.example"))])
    query = HostQuery(sort=HostSort.SECONDS_LEFT)
    found = read_hosts(crawl, query)
    shown = [host.host for host in found if host.seconds_left]
    assert [host.host for host in found] == [*shown, HOST]
    store = crawl.store()
    rows = store.table(HostRow).everything()
    write_index(tmp_path / "hosts", rows, START, (), host_reader(crawl, store))
    index = HostIndex(tmp_path / "hosts")
    assert [key for _, key in index.find_hosts(query).items] == [*shown, HOST]
    index.close()


def _all_sentences(state: State) -> Iterable[str]:
    yield from (sentence for _, sentence in _say(state, *state.open()))


def _say(state: State, crawl: OpenCrawl, now: float) -> Iterable[tuple[str, str]]:
    """Yield each sentence about *crawl*, after the command that prints it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "now", lambda: now)
        for command, say in SENTENCES.items():
            yield from ((command, sentence) for sentence in say(crawl, now))
        if state.end:
            yield from (
                ("crawl", sentence) for sentence in _ended(crawl, now, state.end, state.keeps_limit)
            )
