"""Sentences about a crawl, in each state in which they can be printed: each claim is true there.

`STATES` are crawls in virtual time. `SENTENCES` are what the commands and the console print about
them. `CLAIMS` are phrases that may occur in these sentences only if a fact holds; each of them
occurs in a state.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

import pytest
from msgspec.structs import replace as changed

from console.cli import hosts, sites, status
from console.cli.progress import progress_line, queue_text
from gossamer.crawl import active_crawls
from gossamer.events import (
    BlocklistChanged,
    Discovery,
    Event,
    FleetPaused,
    LinksParked,
    Outcome,
    Speed,
    SpeedSet,
)
from gossamer.log.codec import encode
from gossamer.store import Row
from gossamer.web.url import HostKey, Site
from inspection.answers.host_details import explain_host
from inspection.answers.overview import read_overview
from inspection.crawls.crawl import NotFound, OpenCrawl
from inspection.hosts.hosts import read_hosts, read_sites
from inspection.progress.progress import read_progress
from inspection.progress.status import read_status
from inspection.progress.workload import read_workload
from inspection.urls.url_rows import read_facts
from inspection.urls.urls import explain
from services.frontier.tables.sites import ParkedPart, ParkedPartsRow
from tests.frontier.simulation import START, Answer, Simulation, page
from tests.inspection.simulated import opened

HOST, SITE = HostKey("http://a.example"), Site("a.example")
URL = f"{HOST}/9"
DEEP, UNKNOWN = f"{HOST}/deep", f"{HOST}/unknown"
URLS = tuple(f"{HOST}/{number}" for number in range(10))


def slow(url: str) -> dict[str, object]:
    """Return a page after four seconds."""
    return {"took": 4.0}


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
    is_running: bool | None = True
    is_defined: bool = True

    def open(self) -> tuple[OpenCrawl, float]:
        """Return the crawl, and the time."""
        sim = Simulation(self.answer, **{"batch": 1, **self.settings})  # type: ignore[arg-type]
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
        is_fleet = self.is_running is None
        return replace(crawl, is_running=lambda: self.is_running, fleet=is_fleet), sim.now


PAUSED = FleetPaused(at=START, paused=True)
STATES = {
    "nothing queued yet": State(urls=(), seconds=0.0),
    "first visit running": State(answer=slow, seconds=1.0),
    "in its delay": State(seconds=2.5),
    "slow server": State(answer=slow, seconds=22.0),
    "paused": State(definition={"paused": True}),
    "all paused": State(control=(PAUSED,)),
    "ended before its end": State(control=(PAUSED,), is_running=False),
    "killed": State(is_running=False),
    "killed during a visit": State(answer=slow, seconds=1.0, is_running=False),
    "removed": State(definition={"removed": True}),
    "finished": State(seconds=60.0),
    "finished, and ended": State(seconds=60.0, control=(PAUSED,), is_running=False),
    "backing off": State(answer=down, seconds=60.0),
    "blocked": State(control=(BlocklistChanged(at=START, rule="a.example"),)),
    "standstill": State(control=(SpeedSet(at=START, speeds=(Speed("", pages=0.0),)),)),
    "page limit": State(definition={"max_pages": 1}),
    "fleet": State(is_running=None),
    "all paused in a fleet": State(control=(PAUSED,), is_running=None),
    "too deep": State(
        records=(
            LinksParked(at=START, site=SITE, via=f"1.0.0@{URL}", urls=(Discovery(DEEP, depth=17),)),
        )
    ),
    "parked": State(
        seconds=60.0,
        rows=(
            ParkedPartsRow(
                "default", SITE, {"http://a.example/x/": ParkedPart("low_worth", 1.0, urls=29)}
            ),
        ),
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
        yield ", ".join(hosts._parts(host, now, not crawl.is_stopped))


def _sites(crawl: OpenCrawl, now: float) -> Iterable[str]:
    for site in read_sites(crawl):
        yield "; ".join(sites._parts(site))


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
    workload = read_workload(crawl, now, [] if is_idle else active_crawls(crawl.log))
    yield progress_line(progress, 1.0, workload)
    yield queue_text(progress, workload, 1.0)


def _overview(crawl: OpenCrawl, now: float) -> Iterable[str]:
    found = read_overview(crawl, now=now)
    yield found.answer
    yield from (problem.text for problem in found.problems)


SENTENCES: dict[str, Callable[[OpenCrawl, float], Iterable[str]]] = {
    "why": _why,
    "host": _host,
    "hosts": _hosts,
    "sites": _sites,
    "status": _status,
    "live": _live,
    "overview": _overview,
}


def is_active(state: State) -> bool:
    """Return whether a crawl may fetch pages in *state*."""
    is_stopped = PAUSED in state.control or state.definition.keys() & {"paused", "removed"}
    return state.is_running is not False and not is_stopped


def is_paced(state: State) -> bool:
    """Return whether the host of *state* is visited at its pace."""
    is_limited = state.definition or state.control
    return is_active(state) and not is_limited and state.answer is not down


def is_paced_by_delays(state: State) -> bool:
    """Return whether the host of *state* is in its delay most of the time."""
    return is_paced(state) and state.answer is not slow


CLAIMS: dict[str, Callable[[State], bool]] = {
    r"all crawls are paused": lambda state: (
        PAUSED in state.control and state.is_running is not False
    ),
    r"the crawl is paused": lambda state: "paused" in state.definition,
    r"the crawl is removed": lambda state: "removed" in state.definition,
    r"[Nn]o crawl runs in this folder": lambda state: state.is_running is False,
    r"[Bb]eing fetched|is visiting|checked out": is_active,
    r"1 interrupted|^interrupted": lambda state: not is_active(state) and state.answer is slow,
    r"about \d": is_paced,
    r"limited by": is_active,
    r"imited by the 1 s delay": is_paced_by_delays,
    r"first response of 1 host": lambda state: state.seconds <= 1.0,
    r"response times of 4 s": lambda state: state.answer is slow and state.seconds > 4.0,
    r"of them good": lambda state: False,
    r"backing off": lambda state: state.answer is down,
    r"standstill|speed is 0": lambda state: any(isinstance(one, SpeedSet) for one in state.control),
    r"limit of 1 page is reached": lambda state: "max_pages" in state.definition,
    r"blocklist forbids": lambda state: any(
        isinstance(one, BlocklistChanged) for one in state.control
    ),
    r"no page, sitemap or list": lambda state: state.is_running is not None,
    r"deeper than --depth: 17 links from a seed, at most 16.*; found on": lambda state: bool(
        state.records
    ),
    r"parked": lambda state: bool(state.rows),
}
"""Phrase → whether it is true in a state. `of them good` needs scores, which no state has."""


@pytest.mark.parametrize("name", STATES)
def test_sentences_are_true_in_each_state(name: str) -> None:
    state = STATES[name]
    crawl, now = state.open()
    for command, say in SENTENCES.items():
        for sentence in say(crawl, now):
            claimed = [claim for claim in CLAIMS if re.search(claim, sentence)]
            false = [claim for claim in claimed if not CLAIMS[claim](state)]
            assert not false, f"{command}: {sentence}"


def test_each_sentence_says_something_and_each_claim_is_made() -> None:
    said = [sentence for state in STATES.values() for sentence in _all_sentences(state)]
    unmade = {claim for claim in CLAIMS if not any(re.search(claim, one) for one in said)}
    assert unmade == {"of them good"}


def _all_sentences(state: State) -> Iterable[str]:
    crawl, now = state.open()
    for say in SENTENCES.values():
        yield from say(crawl, now)
