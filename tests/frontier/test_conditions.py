"""The conditions of hosts: each transition of the table happens, and no other."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import (
    DEFAULT_CRAWL,
    ErasureRequested,
    HostCheckedOut,
    OriginalAnnounced,
    Outcome,
    SiteOverridden,
    VisitEnded,
)
from gossamer.events.topics import DEAD_LETTERS
from gossamer.schemas.states import HOSTS
from gossamer.services.frontier.partition.workbench import Host
from gossamer.services.frontier.tables import conditions
from gossamer.services.frontier.tables.conditions import (
    CONDITIONS,
    TRANSITIONS,
    Condition,
    ForbiddenTransition,
    Transition,
    Trigger,
)
from gossamer.services.frontier.tables.hosts import HostCrawl, HostRow, NewQueues, QueueEnds
from gossamer.web.url import HostKey, Site
from tests.flow.test_flow import virtual_crawl
from tests.frontier.simulation import Simulation, crawl

HOST, SITE = HostKey("http://a.test"), Site("a.test")
PAGE: dict[str, object] = {}
DOWN: dict[str, object] = {"outcome": Outcome.HOST_DOWN, "reason": "connection refused"}
OUT = Condition.CHECKED_OUT


def simulate(urls: int = 1, answer: dict[str, object] = PAGE, retries: int = 0) -> Simulation:
    """Admit *urls* URLs of a host with a robots.txt; *answer*: the outcome of its pages."""
    robots = "/robots.txt"
    sim = Simulation(lambda url: PAGE if url.endswith(robots) else answer, retries=retries, batch=1)
    sim.admit(*(f"{HOST}/{number}" for number in range(urls)))
    return sim


def until(sim: Simulation, before: Condition, trigger: Trigger, times: int = 1) -> Simulation:
    """Step until the transition has happened *times*, or nothing happens any more."""
    for _ in range(1000):
        if sim.changes[before, trigger] >= times:
            break
        sim.run(steps=1)
    return sim


def requeue_url(before: Simulation) -> Simulation:
    until(before, OUT, Trigger.EMPTIED).admit(f"{HOST}/again")
    return before


def exclude_url() -> Simulation:
    sim = simulate()
    sim.run()
    sim.admit(f"{HOST}/new", depth=9)
    sim.handle(crawl(max_depth=3))
    sim.run()
    return sim


def leave_unanswered() -> Simulation:
    sim = simulate()
    sim.step()
    sim.lose()
    sim.run()
    return sim


def stop_fetchers() -> Simulation:
    """Let visits to a host stop its fetchers until the host backs off; another host answers."""
    sim = simulate()
    fetch = sim._fetch

    def stop(order: HostCheckedOut) -> Iterator[tuple[float, VisitEnded]]:
        if order.host != HOST:
            return fetch(order)
        sim.report_begun(order)
        return iter(())

    sim._fetch = stop  # type: ignore[method-assign]
    # The later the order after an expired lease, the surer is an answer of another host before it.
    until(sim, OUT, Trigger.LEASE_EXPIRED, 3).admit(*(f"http://b.{SITE}/{n}" for n in range(5)))
    until(sim, OUT, Trigger.SUSPECTED)
    sim._fetch = fetch  # type: ignore[method-assign]
    return sim


def forward_url() -> Simulation:
    """Let a host turn out to be a replica whose URL is sent to its original."""
    sim = simulate()
    sim.handle(
        OriginalAnnounced(
            at=sim.now, site=SITE, host=HOST, original="http://b.test", until=sim.now + 1e6
        )
    )
    return until(sim, Condition.READY, Trigger.FORWARDED)


def await_verdict() -> Simulation:
    """Let a link wait for the verdict on another one of its directory, which never comes."""
    sim = simulate()
    sim.admit(f"{HOST}/list/1", f"{HOST}/list/2", depth=1)
    return until(sim, Condition.READY, Trigger.AWAITS_VERDICT)


def kill_fetcher() -> Simulation:
    sim = simulate()
    sim.step()
    sim.start()
    return sim


def take_over() -> Simulation:
    sim = until(simulate(urls=2), OUT, Trigger.RELEASED)
    sim.handle(crawl(paused=True))
    until(sim, Condition.DELAYED, Trigger.DELAY_OVER).start()
    return until(sim, Condition.READY, Trigger.TAKEN_OVER)


def report_late(before: Condition, urls: int = 1, answer: dict[str, object] = PAGE) -> Simulation:
    """Report a visit after its lease to a host that is *before* then."""
    sim = simulate(urls, answer, retries=1)
    while sim.changes[Condition.READY, Trigger.ORDERED] < 2:  # The first is for robots.txt.
        sim.run(steps=1)
    (report,) = sim.lose()
    sim.handle(crawl(paused=True))
    over = Trigger.DELAY_OVER if before is Condition.READY else Trigger.LEASE_EXPIRED
    sim.changes.clear()
    until(sim, Condition.DELAYED if before is Condition.READY else OUT, over)
    sim.handle(report)
    return sim


def begin_quiet_hours() -> Simulation:
    sim = simulate()
    hour = sim.now % 86400.0
    sim.handle(SiteOverridden(at=sim.now, site=SITE, quiet_from=hour, quiet_until=hour + 600.0))
    return until(sim, Condition.READY, Trigger.POSTPONED)


def delay_name() -> Simulation:
    sim = until(simulate(), OUT, Trigger.EMPTIED)
    sim.admit("https://a.test/")
    return until(sim, Condition.READY, Trigger.NAME_DELAYED)


def erase_host(before: Condition) -> Simulation:
    """Erase a host on demand while it is *before*."""
    sim = simulate(answer=DOWN, retries=1) if before is Condition.BACKING_OFF else simulate(urls=2)
    if before is Condition.BACKING_OFF:
        until(sim, OUT, Trigger.FAILED)
    else:
        until(sim, OUT, Trigger.RELEASED)
    if before is Condition.READY:
        sim.handle(crawl(paused=True))
        until(sim, Condition.DELAYED, Trigger.DELAY_OVER)
    sim.handle(ErasureRequested(at=sim.now, site=SITE, host=HOST))
    return sim


SCENARIOS: dict[tuple[Condition, Trigger], Callable[[], Simulation]] = {
    (Condition.IDLE, Trigger.QUEUED): simulate,
    (Condition.IDLE, Trigger.QUEUED_EARLY): lambda: requeue_url(simulate()),
    (Condition.IDLE, Trigger.QUEUED_WHILE_FAILING): lambda: requeue_url(simulate(answer=DOWN)),
    (Condition.BACKING_OFF, Trigger.BACKOFF_OVER): lambda: until(
        simulate(answer=DOWN, retries=1), Condition.BACKING_OFF, Trigger.BACKOFF_OVER
    ),
    (Condition.DELAYED, Trigger.DELAY_OVER): lambda: until(
        simulate(), Condition.DELAYED, Trigger.DELAY_OVER
    ),
    (Condition.READY, Trigger.ORDERED): lambda: until(simulate(), Condition.READY, Trigger.ORDERED),
    (Condition.READY, Trigger.EXCLUDED): exclude_url,
    (Condition.READY, Trigger.ERASED): lambda: erase_host(Condition.READY),
    (Condition.DELAYED, Trigger.ERASED): lambda: erase_host(Condition.DELAYED),
    (Condition.BACKING_OFF, Trigger.ERASED): lambda: erase_host(Condition.BACKING_OFF),
    (OUT, Trigger.RELEASED): lambda: until(simulate(), OUT, Trigger.RELEASED),
    (OUT, Trigger.EMPTIED): lambda: until(simulate(), OUT, Trigger.EMPTIED),
    (OUT, Trigger.FAILED): lambda: until(simulate(answer=DOWN, retries=1), OUT, Trigger.FAILED),
    (OUT, Trigger.LEASE_EXPIRED): leave_unanswered,
    (OUT, Trigger.SUSPECTED): stop_fetchers,
    (OUT, Trigger.FENCED): kill_fetcher,
    (Condition.READY, Trigger.FORWARDED): forward_url,
    (Condition.READY, Trigger.AWAITS_VERDICT): await_verdict,
    (Condition.READY, Trigger.TAKEN_OVER): take_over,
    (Condition.READY, Trigger.POSTPONED): begin_quiet_hours,
    (Condition.READY, Trigger.NAME_DELAYED): delay_name,
    (Condition.DELAYED, Trigger.RELEASED): lambda: report_late(Condition.DELAYED, urls=2),
    (Condition.DELAYED, Trigger.EMPTIED): lambda: report_late(Condition.DELAYED),
    (Condition.DELAYED, Trigger.FAILED): lambda: report_late(Condition.DELAYED, answer=DOWN),
    (Condition.READY, Trigger.RELEASED): lambda: report_late(Condition.READY, urls=2),
    (Condition.READY, Trigger.EMPTIED): lambda: report_late(Condition.READY),
    (Condition.READY, Trigger.FAILED): lambda: report_late(Condition.READY, answer=DOWN),
}


@pytest.mark.slow
@pytest.mark.parametrize("row", TRANSITIONS, ids=lambda row: f"{row.before}-{row.trigger}")
def test_each_transition_of_the_table_happens_and_the_crawl_ends(row: Transition) -> None:
    sim = SCENARIOS[row.before, row.trigger]()
    assert sim.changes[row.before, row.trigger] == 1
    assert_counted(sim)
    sim.handle(crawl())
    sim.run()
    assert count_conditions(sim).keys() == {Condition.IDLE}


def test_table_has_one_row_per_transition_and_text_for_each_condition() -> None:
    assert len({(row.before, row.trigger) for row in TRANSITIONS}) == len(TRANSITIONS)
    assert {row.trigger for row in TRANSITIONS} == {*Trigger}
    assert CONDITIONS.keys() == {*Condition}


def test_transition_outside_the_table_raises_and_changes_nothing() -> None:
    partition = Simulation().partition(SITE)
    known = {(row.before, row.trigger) for row in TRANSITIONS}
    for before in Condition:
        for trigger in {trigger for trigger in Trigger if (before, trigger) not in known}:
            row = HostRow(SITE, HOST, before)
            queued = HostCrawl(NewQueues({0: QueueEnds(queued=1)}, 1))
            host = Host(row)
            with pytest.raises(ForbiddenTransition, match=f"{before}.*{trigger}"):
                partition.update(host, row.with_crawl(DEFAULT_CRAWL, queued), trigger)
            assert host.row == row and partition.find(SITE, HOST).row == HostRow(SITE, HOST)


def test_condition_cannot_be_set_without_trigger() -> None:
    partition = Simulation().partition(SITE)
    row = HostRow(SITE, HOST)
    with pytest.raises(ForbiddenTransition):
        partition.update(Host(row), replace(row, condition=Condition.READY))


def test_forbidden_transition_stops_frontier_without_write_or_dead_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawl = virtual_crawl(tmp_path, {f"{HOST}/": [f"{HOST}/1"], f"{HOST}/1": []}, 0.1)
    crawl.define(f"{HOST}/")
    with monkeypatch.context() as patch:
        patch.delitem(conditions._CONDITION_AFTER, (OUT, Trigger.RELEASED))
        with pytest.raises(ForbiddenTransition, match="bug"):
            crawl.run()
    crawl.crash()
    assert crawl.run()
    assert {url for _, _, url in crawl.requests} >= {f"{HOST}/", f"{HOST}/1"}
    assert not list(crawl.log.tail([DEAD_LETTERS.name]).poll(0))


def test_host_with_only_refused_urls_is_not_counted() -> None:
    sim = Simulation()
    sim.handle(crawl(max_depth=3))
    sim.admit(f"{HOST}/1", f"{HOST}/2", depth=4)
    assert_counted(sim)


def count_conditions(sim: Simulation) -> dict[str, int]:
    """Count the hosts of the store by their condition."""
    count = "SELECT condition, count(*) FROM hosts GROUP BY condition"
    return dict(sim.database._db.execute(count).fetchall())


def assert_counted(sim: Simulation) -> None:
    """Assert that the totals match the store."""
    totals = [partition.tally.conditions for partition in sim.partitions]
    assert +sum(map(Counter, totals), Counter[str]()) == count_conditions(sim)


OUTCOMES = [outcome for outcome in Outcome if outcome is not Outcome.UNVISITED]
happenings = st.lists(
    st.one_of(
        st.tuples(st.just("admit"), st.integers(0, 3)),
        st.tuples(st.just("wait"), st.sampled_from([0.0, 1.0, 30.0, 700.0, 90_000.0])),
        st.tuples(st.just("lose"), st.just(0)),
        st.tuples(st.just("late"), st.just(0)),
        st.tuples(st.just("kill"), st.just(0)),
        st.tuples(st.just("pause"), st.booleans()),
    ),
    max_size=40,
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    happenings=happenings,
    outcomes=st.lists(st.sampled_from(OUTCOMES), max_size=40),
    loaded=st.integers(1, 5),
    alone=st.booleans(),
)
def test_every_transition_is_in_the_table_and_every_host_becomes_idle(
    happenings: list[tuple[str, float]], outcomes: list[Outcome], loaded: int, alone: bool
) -> None:
    left = iter(outcomes)
    limits = {"loaded_limit": loaded, "batch": 2, "delay": 1.0, "lease_slack": 10.0, "retries": 1}
    sim = Simulation(lambda url: {"outcome": next(left, Outcome.PAGE)}, alone, "", **limits)
    lost: list[VisitEnded] = []
    for number, (what, value) in enumerate(happenings):
        match what:
            case "admit":
                sim.admit(*(f"http://{'abcd'[int(value)]}.test/{number}.{n}" for n in range(3)))
            case "wait":
                sim.run(sim.now + value)
            case "lose":
                lost += sim.lose()
            case "late" if lost and lost[0].at <= sim.now:
                sim.handle(lost.pop(0))
            case "kill":
                sim.start()
            case "pause":
                sim.handle(crawl(paused=bool(value)))
        assert_counted(sim)
        assert sim.loaded() <= loaded
    sim.handle(crawl())
    sim.run()
    assert count_conditions(sim).keys() <= {Condition.IDLE}
    assert all(gap >= 1.0 for _, gap in sim.gaps())


def test_each_transition_is_documented() -> None:
    page = HOSTS.read_text(encoding="utf-8")
    assert all(f"| {row.meaning} |" in page for row in TRANSITIONS)
