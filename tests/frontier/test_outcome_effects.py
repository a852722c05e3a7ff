"""The tables of check-in and check-out: effects of outcomes, and fates of URLs."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import NamedTuple

import pytest

from gossamer.blocklist import Blocklist
from gossamer.events import (
    DEFAULT_CRAWL,
    CrawlDefined,
    OrderId,
    OriginalAnnounced,
    Outcome,
    Purpose,
    RobotsRequested,
    Visit,
    VisitEnded,
)
from gossamer.inspection.urls.url_rows import UrlFacts
from gossamer.inspection.urls.urls import explain
from gossamer.services.frontier.features.ended_visit import EndedVisit
from gossamer.services.frontier.features.strain import MAX_STRAIN
from gossamer.services.frontier.partition.queue import HostQueues
from gossamer.services.frontier.partition.workbench import Host
from gossamer.services.frontier.steps.checkin import OUTCOME_EFFECTS
from gossamer.services.frontier.steps.queue_fates import (
    QUEUE_FATES,
    HeadInputs,
    QueueFate,
    QueueHead,
    stored_head_inputs,
)
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow, RobotsRow, SigningState
from gossamer.services.frontier.tables.plans import PlanRow
from gossamer.services.frontier.tables.urls import HistoryRow, QueuedUrl, UrlRow
from gossamer.web.url import HostKey, Site
from gossamer.web.walls import Wall, WallKind
from tests.frontier.simulation import START, Answer, Simulation, crawl

SITE, HOST = Site("a.test"), HostKey("http://a.test")
NOBODY = HostKey("")


def event_of(
    outcome: Outcome,
    purpose: Purpose,
    on_behalf_of: HostKey = NOBODY,
    started_at: float = START,
) -> VisitEnded:
    return VisitEnded(
        at=START,
        site=SITE,
        host=HOST,
        order=OrderId("1.1"),
        epoch=1,
        index=0,
        last=True,
        visit=Visit(id="1.1.0@x", url=f"{HOST}/x", purpose=purpose, on_behalf_of=on_behalf_of),
        outcome=outcome,
        started_at=started_at,
    )


def ended(event: VisitEnded, *, is_erased: bool = False) -> EndedVisit:
    sim = Simulation()
    sim.admit(f"{HOST}/")
    host = Host(HostRow(SITE, HOST))
    partition, share = sim.partition(SITE), sim.share(SITE)
    return EndedVisit(partition, share, host, event, sim.settings, START, is_erased)


def effects_of(visit: EndedVisit) -> list[str]:
    return [effect.name for effect in OUTCOME_EFFECTS if effect.applies(visit)]


@pytest.mark.parametrize("purpose", Purpose)
def test_one_effect_decides_what_becomes_of_the_url_of_each_outcome(purpose: Purpose) -> None:
    visit = ended(event_of(Outcome.PAGE, purpose))
    for outcome, is_erased, on_behalf_of, is_tried in product(
        Outcome, (False, True), ("", "http://b.test"), (False, True)
    ):
        visit.event = event_of(outcome, purpose, HostKey(on_behalf_of))
        visit.is_erased, visit.is_tried_signed = is_erased, is_tried
        deciding = [one.name for one in OUTCOME_EFFECTS if one.decides and one.applies(visit)]
        assert len(deciding) == 1, (outcome, is_erased, on_behalf_of, is_tried, deciding)


def test_page_that_was_erased_after_its_order_stores_nothing_about_its_url() -> None:
    effects = effects_of(ended(event_of(Outcome.PAGE, Purpose.PAGE), is_erased=True))
    assert not {"URL", "signing", "capture"} & {*effects}
    assert {"on behalf", "delay"} <= {*effects}, "the host's delay still counts"


def test_order_that_comes_back_without_a_request_starts_no_delay() -> None:
    effects = effects_of(ended(event_of(Outcome.UNVISITED, Purpose.PAGE, started_at=0.0)))
    assert "returned order" in effects and not {"delay", "strain"} & {*effects}


@pytest.mark.parametrize("table", [OUTCOME_EFFECTS, QUEUE_FATES])
def test_names_are_unique_and_texts_complete_a_sentence(
    table: tuple[tuple[str, str], ...],
) -> None:
    names = [row[0] for row in table]
    assert len({*names}) == len(names)
    for row in table:
        assert row[1][0].islower() and not row[1].endswith(".")


RETRIES = 1
CHALLENGE = Wall(WallKind.CHALLENGE, "Anubis", "its cookie")
ASKED = Wall(WallKind.SIGNATURE, "request signatures", "its Accept-Signature")
FORBIDDEN: Mapping[str, object] = {"outcome": Outcome.CLIENT_ERROR, "status": 403}
CHALLENGED: Mapping[str, object] = {"outcome": Outcome.CHALLENGED, "wall": CHALLENGE}
PAGES: dict[str, Mapping[str, object]] = {
    "down": {"outcome": Outcome.HOST_DOWN},
    "5xx": {"outcome": Outcome.SERVER_ERROR, "status": 500},
    "busy": {"outcome": Outcome.BUSY, "status": 429},
    "silent": {"outcome": Outcome.SILENT_SERVER},
    "cut": {"outcome": Outcome.CUT_BODY},
    "challenged": CHALLENGED,
    "asked": {"outcome": Outcome.SIGNATURE_ASKED, "status": 403, "wall": ASKED},
    "forbidden": FORBIDDEN,
}
"""Situation → the outcome of each visit to a page."""


def answer_pages(answer: Mapping[str, object]) -> Answer:
    return lambda url: {} if is_robots(url) else answer


def is_robots(url: str) -> bool:
    return url.endswith("/robots.txt")


SITUATIONS: dict[str, Answer] = {
    **{name: answer_pages(answer) for name, answer in PAGES.items()},
    "robots.txt down": lambda url: PAGES["down"] if is_robots(url) else {},
    "one challenged": lambda url: (
        {} if is_robots(url) else CHALLENGED if url.endswith("/0") else FORBIDDEN
    ),
}
"""Situation → the answers of the host."""


class Change(NamedTuple):
    """What the last visit to a URL changed, in rows."""

    sim: Simulation
    before: HostRow
    host: HostRow
    row: UrlRow

    @property
    def first(self) -> str:
        """The first URL in the queues of the host; "" without one."""
        queues = HostQueues(self.sim.store.table(QueuedUrl), DEFAULT_CRAWL)
        return next((queued.url for queued in queues.first(self.host, 1)), "")

    @property
    def backs_off(self) -> bool:
        """Whether the host is not visited for longer than its longest delay."""
        return self.host.ready_at >= self.sim.now + 60.0

    @property
    def is_retried(self) -> bool:
        """Whether another visit is to come."""
        plan = self.sim.store.table(PlanRow).get((DEFAULT_CRAWL, HOST), self.row.url)
        return (plan is not None and plan.is_retry) or self.first == self.row.url

    def effects(self) -> dict[str, str]:
        """Return the effects that `gossamer why` prints."""
        history = self.sim.store.table(HistoryRow).scan((DEFAULT_CRAWL, self.row.url))
        facts = UrlFacts(self.row.url, visit=self.row, history=(*history,), host=self.host)
        found = explain(facts, self.sim.now).visit
        assert found
        return found.effects


TRUE: dict[str, Callable[[Change], bool]] = {
    "the host backed off after failures in a row": lambda it: it.backs_off,
    "a failure of the host was counted": lambda it: (
        sum(it.host.politeness.failures.values()) > sum(it.before.politeness.failures.values())
    ),
    "a wall of the host was counted": lambda it: (
        sum(it.host.walls.values()) > sum(it.before.walls.values())
    ),
    "the server was treated as strained": lambda it: (
        it.host.politeness.strain > min(it.before.politeness.strain, MAX_STRAIN - 1)
    ),
    "a trial of signed requests to the host began": lambda it: (
        (it.before.signing.state, it.host.signing.state) == (None, SigningState.TRIED)
    ),
    "the URL stayed first in its queue, to be visited signed": lambda it: it.first == it.row.url,
    "the host backed off and the URL was given up, because robots.txt could not be fetched": (
        lambda it: it.backs_off and not it.is_retried
    ),
    "a retry of the URL was planned": lambda it: it.is_retried,
    "the host backed off, and the URL stayed first in its queue": lambda it: (
        it.backs_off and it.first == it.row.url
    ),
    "the host backed off, and the URL was given up": lambda it: it.backs_off and not it.is_retried,
    "the URL was given up": lambda it: not it.is_retried,
}
"""Sentence of `gossamer why` → whether it is true of a change."""


def changes(answer: Answer) -> Iterator[Change]:
    """Yield what each visit to a page changed at a host that gives these answers."""
    sim = Simulation(answer, sign="asked", retries=RETRIES, batch=1, delay=1.0)
    sim.admit(*(f"{HOST}/{n}" for n in range(3)))
    hosts, urls = sim.store.table(HostRow), sim.store.table(UrlRow)
    rows: dict[str, UrlRow | None] = {}
    before = hosts.get(SITE, HOST)
    for _ in range(100):
        sim.run(steps=1)
        host = hosts.get(SITE, HOST)
        assert before and host
        for url in (f"{HOST}/{n}" for n in range(3)):
            row = urls.get((DEFAULT_CRAWL, HOST), url)
            if row and row != rows.get(url):
                yield Change(sim, before, host, row)
            rows[url] = row
        before = host


def test_printed_effects_are_true_and_each_sentence_is_printed() -> None:
    printed = set[str]()
    for name, answer in SITUATIONS.items():
        for change in changes(answer):
            effects = change.effects()
            assert not (effects and change.row.outcome == Outcome.CLIENT_ERROR)
            printed |= {*effects.values()}
            for text in effects.values():
                assert TRUE[text](change), (name, text, change.row)
    texts = {one.text for effect in OUTCOME_EFFECTS for one in effect.shown}
    assert printed == texts == TRUE.keys()


class Waiting(NamedTuple):
    """A queued URL that is not visited at the head of its queue."""

    sim: Simulation
    crawl: CrawlDefined
    url: str
    detail: str


def forwarded() -> Waiting:
    """Return a URL of a host that turned out to be a replica."""
    sim, original = simulation(), HostKey("http://b.test")
    sim.handle(
        OriginalAnnounced(at=START, site=SITE, host=HOST, original=original, until=START + 1e6)
    )
    return Waiting(sim, sim.definition, f"{HOST}/x", "http://b.test/x")


def answered() -> Waiting:
    """Return a robots.txt that another host needs, and that is about to be read for its own."""
    sim, url = Simulation(delay=10.0), f"{HOST}/robots.txt"
    asking = HostKey("http://b.test")
    sim.handle(RobotsRequested(at=START, site=SITE, url=url, on_behalf_of=asking, hops=1))
    while not (row := sim.row()).totals.visits or row.condition is Condition.CHECKED_OUT:
        sim.run(steps=1)
    return Waiting(sim, sim.definition, url, "")


def excluded() -> Waiting:
    """Return a URL of a crawl whose scope was narrowed."""
    sim, narrow = simulation(), crawl(scope='host("b.test")')
    sim.handle(narrow)
    return Waiting(sim, narrow, f"{HOST}/x", "out of scope, by host('b.test')")


def moved() -> Waiting:
    """Return a URL of a crawl whose strategy was changed."""
    sim, other = simulation(), crawl(strategy="seeds-first")
    sim.handle(other)
    return Waiting(sim, other, f"{HOST}/x", "rank 20")


FATES = {"forwarded": forwarded, "answered": answered, "excluded": excluded, "moved": moved}


def simulation() -> Simulation:
    sim = Simulation(strategy="breadth")
    sim.admit(f"{HOST}/x", depth=1)
    return sim


def test_each_shown_fate_has_a_situation() -> None:
    assert FATES.keys() == {fate.name for fate in QUEUE_FATES if fate.is_shown}


@pytest.mark.parametrize("name", FATES)
def test_reader_of_the_store_finds_the_fate_of_a_url(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sim, definition, url, detail = FATES[name]()
    row, robots = sim.row(), sim.store.table(RobotsRow).get(HOST)
    queued = HostQueues(sim.store.table(QueuedUrl), DEFAULT_CRAWL).find(row, url)
    assert queued
    inputs = stored_head_inputs(
        sim.store, definition, row, robots, Blocklist(), sim.settings, sim.now
    )
    facts = UrlFacts(url, host=row, queued=queued, fate=inputs.find_fate(queued.url))
    explained = explain(facts, sim.now).queued
    assert explained and explained.fate
    assert (explained.fate.name, explained.fate.detail) == (name, detail)
    met = list[str]()
    find_fate = HeadInputs.find_fate

    def find_and_record(walk: HeadInputs, one: QueuedUrl) -> tuple[QueueFate, QueueHead] | None:
        found = find_fate(walk, one)
        met.extend([found[0].name] if found and one.url == url else [])
        return found

    monkeypatch.setattr(HeadInputs, "find_fate", find_and_record)
    sim.run(steps=10)
    assert met[:1] == [name], "the frontier examines the same table"


def test_url_that_is_to_be_visited_has_no_fate() -> None:
    sim = simulation()
    row = sim.row()
    queued = HostQueues(sim.store.table(QueuedUrl), DEFAULT_CRAWL).find(row, f"{HOST}/x")
    assert queued
    inputs = stored_head_inputs(
        sim.store, sim.definition, row, None, Blocklist(), sim.settings, sim.now
    )
    assert inputs.find_fate(queued.url) is None
