"""Several crawls in one frontier: they share hosts and politeness, and nothing else."""

import sys
from collections import Counter, deque
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.events import (
    DEFAULT_CRAWL,
    ErasureBegun,
    Outcome,
    PageDeduplicated,
    Speed,
    SpeedSet,
    Verdict,
    VisitEnded,
)
from gossamer.services.frontier.procedures.removal import MAX_PIECES_PER_STEP, MAX_SITES
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.plans import PartitionPlansRow
from gossamer.services.frontier.tables.sites import SiteRow, SiteWorthRow
from gossamer.services.frontier.tables.urls import QueuedUrl, UrlRow
from gossamer.services.frontier.totals.daily import DailyTallyRow
from gossamer.services.frontier.totals.tally import TallyRow, scan_days
from gossamer.web.url import Site, host_key
from tests.frontier.simulation import START, Simulation, make_verdict, page

HOST = "http://a.test"
DELAY = 2.0
BATCH = 5
OBJECTS_OF_CRAWLS = {"partition.py", "plans.py", "daily.py", "directory.py", "parked.py"}
MAX_CALLS_A_MINUTE = 250
"""Calls for an idle crawl: once a minute its budget is allocated."""


def two_crawls(weight: float = 1.0, **options: object) -> Simulation:
    """Return a frontier with the crawls `default` and `b`, which has a *weight*."""
    options = {"delay": DELAY, "delay_factor": 0.0, "batch": BATCH, **options}
    sim = Simulation(options.pop("answer", page), **options)  # type: ignore[arg-type]
    sim.define("b", weight=weight)
    return sim


def urls(crawl: str, count: int, host: str = HOST) -> list[str]:
    return [f"{host}/{crawl}/{number}" for number in range(count)]


def admit_to_both(sim: Simulation, count: int, *hosts: str) -> None:
    for crawl in (DEFAULT_CRAWL, "b"):
        for host in hosts or (HOST,):
            sim.admit(*urls(crawl, count, host), crawl=crawl)


def visits_by_crawl(sim: Simulation, since: float = 0.0) -> Counter[str]:
    """Return the visits to pages that were ordered *since*, by crawl."""
    counts = Counter[str]()
    for at, order in sim.orders:
        counts[order.crawl] += sum(not one.url.endswith("robots.txt") for one in order.visits)
        counts[order.crawl] *= at >= since
    return counts


def run_until_visits(sim: Simulation, count: int) -> None:
    while len(sim.pages()) < count:
        due = sim.frontier.due()
        sim.run(steps=1)
        assert due is not None or sim.frontier.due() is not None


def tally(sim: Simulation, crawl: str) -> TallyRow:
    return sim.share(Site("a.test"), crawl).tally.row


@pytest.mark.parametrize("weight", [0.5, 1.0, 3.0])
def test_crawls_share_a_host_by_their_weights(weight: float) -> None:
    sim = two_crawls(weight)
    admit_to_both(sim, 200)
    run_until_visits(sim, 120)
    shares = visits_by_crawl(sim)
    assert abs(shares["b"] / weight - shares[DEFAULT_CRAWL]) <= BATCH * (1 + 1 / weight)


def test_host_that_two_crawls_have_listed_is_loaded_once() -> None:
    sim = two_crawls()
    admit_to_both(sim, 3, *(f"http://{name}.test" for name in "abcdef"))
    sim.start()
    sim.frontier._load_hosts(sim.now)
    loaded = [partition.bench for partition in sim.partitions if len(partition.bench)]
    assert loaded
    assert all(bench.loaded.total() == len(bench) for bench in loaded)
    sim.run()
    assert len(sim.pages()) == 36


def test_retry_after_for_one_crawl_holds_for_the_other() -> None:
    busy = [True]

    def answer(url: str) -> Mapping[str, object]:
        if url.endswith("/default/0") and busy.pop():
            busy.append(False)
            return {"outcome": Outcome.BUSY, "status": 429, "retry_after": 600.0}
        return {}

    sim = two_crawls(answer=answer)
    sim.admit(*urls(DEFAULT_CRAWL, 5))
    sim.run(sim.now + 10.0)
    sim.admit(*urls("b", 5), crawl="b")
    sim.run()
    ends = [end for _, end, url in sim.visits if url.endswith("/default/0")]
    later = [start for start, _, _ in sim.visits if start > ends[0]]
    assert len(sim.pages()) == 11
    assert min(later) >= ends[0] + 600.0


def test_lease_of_a_removed_crawl_ends_without_an_answer() -> None:
    sim = two_crawls()
    sim.admit(*urls("b", 20), crawl="b")
    run_until_visits(sim, 1)
    row = sim.row()
    assert row.lease.crawl == "b" and row.condition is Condition.CHECKED_OUT
    sim._coming.clear()
    sim.admit(*urls(DEFAULT_CRAWL, 5))
    sim.define("b", removed=True)
    sim.run()
    row = sim.row()
    assert row.crawls.keys() == {DEFAULT_CRAWL}
    assert visits_by_crawl(sim)[DEFAULT_CRAWL] == 5


def test_page_limit_of_one_crawl_does_not_limit_the_other() -> None:
    sim = two_crawls()
    sim.define("b", max_pages=7)
    admit_to_both(sim, 30)
    sim.run()
    assert visits_by_crawl(sim) == {DEFAULT_CRAWL: 30, "b": 7}


def test_changed_weight_holds_for_urls_that_wait_already() -> None:
    sim = two_crawls(weight=1.0)
    admit_to_both(sim, 600)
    sim.run(START + 200.0)
    changed_at, before = sim.now, visits_by_crawl(sim)
    sim.define("b", weight=4.0)
    sim.run(changed_at + 400.0)
    after = visits_by_crawl(sim) - before
    assert after.total() > 150
    assert abs(after["b"] / 4.0 - after[DEFAULT_CRAWL]) <= 2 * BATCH


def test_crawls_share_the_total_speed_by_their_weights() -> None:
    sim = two_crawls(weight=3.0)
    sim.handle(SpeedSet(at=START, speeds=(Speed("", pages=1.0),)))
    for number in range(40):
        sim.admit(*urls(DEFAULT_CRAWL, 20, f"http://a{number}.test"))
    for number in range(10):
        sim.admit(*urls("b", 80, f"http://b{number}.test"), crawl="b")
    sim.run(until=START + 400.0)
    shares = visits_by_crawl(sim)
    assert shares.total() > 300
    assert 2.5 <= shares["b"] / shares[DEFAULT_CRAWL] <= 3.5


def test_totals_and_queues_are_those_of_each_crawl() -> None:
    sim = two_crawls()
    admit_to_both(sim, 10)
    sim.admit(*urls("b", 5, "http://www.a.test"), crawl="b")
    assert (tally(sim, DEFAULT_CRAWL).queued, tally(sim, "b").queued) == (10, 15)
    sim.run()
    assert (tally(sim, DEFAULT_CRAWL).pages, tally(sim, "b").pages) == (10, 15)
    assert (tally(sim, DEFAULT_CRAWL).queued, tally(sim, "b").queued) == (0, 0)


def test_lost_order_returns_to_the_queue_of_its_crawl() -> None:
    sim = two_crawls()
    admit_to_both(sim, 10)
    run_until_visits(sim, 8)
    sim.lose()
    sim.run()
    assert {*sim.pages()} == {*urls(DEFAULT_CRAWL, 10), *urls("b", 10)}
    assert sim.row().condition is Condition.IDLE


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([DEFAULT_CRAWL, "b", "c"]),
            st.sampled_from([HOST, "http://www.a.test", "http://b.test"]),
            st.integers(1, 8),
            st.integers(0, 12),
            st.booleans(),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_restarts_lose_no_url_of_any_crawl_and_keep_delays(
    steps: list[tuple[str, str, int, int, bool]],
) -> None:
    sim = two_crawls()
    sim.define("c", weight=2.0)
    expected, number = set[tuple[str, str]](), 0
    for crawl, host, count, steps_after, restarts in steps:
        found = [f"{host}/{crawl}/{number + index}" for index in range(count)]
        number += count
        sim.admit(*found, crawl=crawl)
        expected |= {(crawl, url) for url in found}
        sim.run(steps=steps_after)
        if restarts:
            sim.start()
    sim.run()
    visited = {(order.crawl, one.url) for _, order in sim.orders for one in order.visits}
    assert expected <= visited
    assert all(gap >= DELAY for _, gap in sim.gaps())
    rows = [row for row in sim.store.table(HostRow).everything()]
    assert all(row.queued == 0 for row in rows)


def test_sites_of_a_removed_crawl_are_erased_a_few_at_a_time() -> None:
    sim = two_crawls()
    for number in range(50):
        admit_to_both(sim, 2, f"http://a{number}.test")
    run_until_visits(sim, 30)
    sim.define("b", removed=True)
    begun = list[ErasureBegun]()
    for _ in range(2 * MAX_SITES):
        before = len(begun)
        begun += [event for event in sim.frontier.wake(sim.now) if isinstance(event, ErasureBegun)]
        assert len(begun) - before <= MAX_PIECES_PER_STEP
    assert len(begun) == MAX_SITES
    assert all(event.removal and event.crawl == "b" for event in begun)
    # All processes crash before dedup has answered.
    sim.start()
    sim.define("b", removed=True)
    sim.run()
    assert not [row for row in sim.store.table(SiteRow).everything() if "b" in row.crawls]
    of_crawl: tuple[Any, ...] = (QueuedUrl, UrlRow, TallyRow, PartitionPlansRow)
    for kind in of_crawl:
        assert not [row for row in sim.store.table(kind).everything() if row.crawl == "b"]
    assert visits_by_crawl(sim)[DEFAULT_CRAWL] == 100


@pytest.mark.parametrize("fields", [{}, {"revisit": "fixed:1d", "budget": 1e6}])
def test_hosts_of_a_site_are_counted_for_each_crawl(fields: dict[str, object]) -> None:
    """Also if the first visits of a crawl wait for its budget, and after a restart."""
    sim = two_crawls(host_budget=2)
    sim.define("b", **fields)
    for number in range(5):
        sim.admit(f"http://{number}.a.test/", depth=1)
    for number in (0, 3, 4, 5):
        sim.admit(f"http://{number}.a.test/b", depth=1, crawl="b")
        sim.start()
    sim.run(START + 600.0)
    assert {host_key(url) for url in sim.pages() if not url.endswith("/b")} == {
        "http://0.a.test", "http://1.a.test"
    }  # fmt: skip
    assert {host_key(url) for url in sim.pages() if url.endswith("/b")} == {
        "http://0.a.test", "http://3.a.test"
    }  # fmt: skip
    [row] = sim.store.table(SiteRow).everything()
    assert row.hosts == 3
    assert {crawl: own.hosts for crawl, own in row.crawls.items()} == {DEFAULT_CRAWL: 2, "b": 2}
    assert [sum(row.sites for row in daily(sim, crawl)) for crawl in (DEFAULT_CRAWL, "b")] == [1, 1]


def daily(sim: Simulation, crawl: str) -> list[DailyTallyRow]:
    keys = [partition.key for partition in sim.partitions]
    return [row for key in keys for row in scan_days(sim.store, crawl, key)]


def test_verdict_wakes_a_host_at_which_each_crawl_has_waited() -> None:
    """First one crawl waits and the other is served. Then that one has no URL left, and the host
    waits, too."""
    sim = two_crawls(worth_parking=True)
    late = deque[tuple[float, PageDeduplicated]]()

    def delay_verdict(ended: VisitEnded) -> SpeedSet:
        is_new = ended.visit.url.endswith(("/0", "/3", "/6", "/9"))
        verdict = Verdict.FIRST if is_new else Verdict.DUPLICATE
        late.append((sim.now + 6.0, make_verdict(ended, verdict=verdict)))
        return SpeedSet(at=sim.now)  # It changes nothing.

    sim.give_verdict = delay_verdict  # type: ignore[assignment]
    for crawl, count in ((DEFAULT_CRAWL, 12), ("b", 6)):
        sim.admit(*urls(crawl, count), depth=1, crawl=crawl)
    for second in range(300):
        sim.run(START + second)
        while late and late[0][0] <= sim.now:
            sim.handle(late.popleft()[1])
    starts = [at for at, _, url in sim.visits if not url.endswith("robots.txt")]
    assert len(starts) == 18
    assert max(after - before for before, after in pairwise(starts)) < 20.0


def test_crawl_without_work_writes_nothing() -> None:
    sim = two_crawls()
    sim.admit(*urls(DEFAULT_CRAWL, 2))
    sim.run()
    plans, totals = sim.store.table(PartitionPlansRow), sim.store.table(TallyRow)

    def rows_of_idle_crawl() -> list[PartitionPlansRow | TallyRow]:
        of_plans = [row for row in plans.everything() if row.crawl == "b"]
        return [*of_plans, *(row for row in totals.everything() if row.crawl == "b")]

    before = rows_of_idle_crawl()
    assert before
    sim.admit(*urls(DEFAULT_CRAWL, 50))
    sim.run()
    assert rows_of_idle_crawl() == before


def test_counters_of_former_addresses_are_erased_with_a_removed_crawl() -> None:
    """Sites of an address are counted together. The hosts of this site have one address each."""

    def answer(url: str) -> dict[str, object]:
        return {**page(url), "address": f"192.0.2.{len(host_key(url))}"}

    sim = two_crawls(answer=answer)
    sim.give_verdict = make_verdict
    for host in ("http://a.test", "http://www.a.test", "http://images.a.test"):
        sim.admit(*urls("b", 2, host), crawl="b")
        sim.run()
    assert [row for row in sim.store.table(SiteWorthRow).everything() if row.crawl == "b"]
    sim.define("b", removed=True)
    sim.run()
    assert not [row for row in sim.store.table(SiteWorthRow).everything() if row.crawl == "b"]


def hosts_of(crawl: str, count: int) -> list[str]:
    return [f"http://{crawl}{number}.test" for number in range(count)]


def ends_at(sim: Simulation, crawl: str) -> float:
    """Return when the last order of *crawl* was made, in seconds since the start."""
    return max(at for at, order in sim.orders if order.crawl == crawl) - START


@pytest.mark.parametrize("priority", [pytest.param(0, marks=pytest.mark.long), -50])
def test_hosts_of_a_paused_crawl_do_not_slow_another(priority: int) -> None:
    seconds = list[float]()
    for paused_hosts in (0, 90):
        sim = two_crawls(loaded_limit=30)
        for host in hosts_of("b", paused_hosts):
            sim.admit(*urls("b", 10, host), crawl="b", priority=priority)
        sim.run(sim.now + 1.0)
        sim.define("b", paused=True)
        sim.now += 10.0
        began = sim.now
        for host in hosts_of(DEFAULT_CRAWL, 30):
            sim.admit(*urls(DEFAULT_CRAWL, 20, host))
        sim.run()
        assert visits_by_crawl(sim)[DEFAULT_CRAWL] == 600
        seconds.append(ends_at(sim, DEFAULT_CRAWL) + START - began)
        assert sim.loaded() <= 30
        sim.define("b")
        sim.run()
        assert visits_by_crawl(sim)["b"] == 10 * paused_hosts
    assert seconds[1] <= seconds[0] + DELAY


@pytest.mark.parametrize("priority", [pytest.param(0, marks=pytest.mark.long), -50])
def test_crawls_share_the_total_speed_if_one_has_many_more_hosts(priority: int) -> None:
    sim = two_crawls(weight=0.5, loaded_limit=20, batch=1)
    for host in hosts_of("b", 500):
        sim.admit(*urls("b", 2, host), crawl="b", priority=priority)
    sim.handle(SpeedSet(at=START, speeds=(Speed("", pages=2.0),)))
    for host in hosts_of(DEFAULT_CRAWL, 5):
        sim.admit(*urls(DEFAULT_CRAWL, 100, host))
    sim.run(until=START + 240.0)
    shares = Counter[str]()
    for _, order in sim.orders:
        shares[order.crawl] += len(order.visits)  # Those to robots.txt are charged, too.
    assert shares.total() > 400
    assert 0.45 <= shares["b"] / shares[DEFAULT_CRAWL] <= 0.55


def test_crawl_with_few_hosts_is_not_delayed_by_one_whose_hosts_fill_the_memory() -> None:
    sim = two_crawls(loaded_limit=20, batch=1)
    for host in hosts_of("b", 200):
        sim.admit(*urls("b", 30, host), crawl="b")
    sim.run(START + 5.0)
    began = sim.now
    for host in hosts_of(DEFAULT_CRAWL, 5):
        sim.admit(*urls(DEFAULT_CRAWL, 20, host))
    sim.run(began + 20 * DELAY + 10.0)
    assert visits_by_crawl(sim)[DEFAULT_CRAWL] == 100


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([DEFAULT_CRAWL, "b", "c"]), st.integers(0, 9), st.integers(-3, 3)
        ),
        min_size=1,
        max_size=60,
    ),
    st.integers(1, 8),
    st.sets(st.sampled_from(["b", "c"])),
)
def test_crawls_that_share_hosts_and_little_memory_visit_all_urls(
    found: list[tuple[str, int, int]], limit: int, paused: set[str]
) -> None:
    sim = two_crawls(loaded_limit=limit)
    sim.define("c", weight=2.0)
    for name in paused:
        sim.define(name, paused=True)
    for number, (crawl, host, priority) in enumerate(found):
        sim.admit(f"http://h{host}.test/{number}", crawl=crawl, priority=priority)
        if number % 7 == 0:
            sim.step()
    sim.run()
    visits = {(order.crawl, one.url) for _, order in sim.orders for one in order.visits}
    assert not {crawl for crawl, _ in visits} & paused
    for name in paused:
        sim.define(name)
    sim.start()
    sim.run()
    visits = {(order.crawl, one.url) for _, order in sim.orders for one in order.visits}
    expected = {(crawl, f"http://h{host}.test/{n}") for n, (crawl, host, _) in enumerate(found)}
    assert expected <= visits
    assert all(row.condition is Condition.IDLE for row in sim.store.table(HostRow).everything())


def names(crawl: str, count: int) -> list[str]:
    """Return hosts of one site."""
    return [f"http://{crawl}{number}.a.test" for number in range(count)]


@pytest.mark.parametrize("closed", [{"paused": True}, {"max_pages": 1}])
def test_hosts_of_a_crawl_that_stops_do_not_block_those_of_another_at_their_site(
    closed: Mapping[str, Any],
) -> None:
    sim = two_crawls(site_at_once=1, answer=lambda url: {"took": 0.5})
    for host in names("b", 20):
        sim.admit(*urls("b", 5, host), crawl="b")
    for host in names("x", 5):
        sim.admit(*urls(DEFAULT_CRAWL, 5, host))
    sim.run(sim.now + 20.0)
    sim.define("b", **closed)
    sim.run()
    assert visits_by_crawl(sim)[DEFAULT_CRAWL] == 25
    sim.define("b")
    sim.run()
    assert visits_by_crawl(sim)["b"] == 100


@pytest.mark.parametrize("weight", [pytest.param(1.0, marks=pytest.mark.long), 3.0])
def test_crawls_share_a_site_whose_hosts_wait_for_each_other(weight: float) -> None:
    sim = two_crawls(weight, site_at_once=1, batch=1, answer=lambda url: {"took": 1.0})
    for host in names("b", 10):
        sim.admit(*urls("b", 100, host), crawl="b")
    for host in names("x", 40):
        sim.admit(*urls(DEFAULT_CRAWL, 100, host))
    sim.run(START + 60.0)
    before = visits_by_crawl(sim)
    sim.run(START + 360.0)
    shares = visits_by_crawl(sim) - before
    assert shares.total() > 200
    assert shares["b"] / shares[DEFAULT_CRAWL] == pytest.approx(weight, rel=0.15)


def calls_in_a_minute(idle: int) -> int:
    """Return the function calls for the queues, plans and totals of crawls in a minute in which one
    crawl is visited, beside *idle* ones."""
    # Calls are counted, because times depend on the machine.
    sim, calls = Simulation(page, delay=DELAY, batch=1), Counter[str]()
    for number in range(idle):
        sim.define(f"idle-{number}")
    sim.admit(*urls(DEFAULT_CRAWL, 100))
    sim.run(until=START + 60.0)

    def count_call(frame: FrameType, event: str, _: object) -> None:
        calls[Path(frame.f_code.co_filename).name] += event == "call"

    sys.setprofile(count_call)
    try:
        sim.run(until=START + 120.0)
    finally:
        sys.setprofile(None)
    assert len(sim.visits) > 50
    return sum(calls[name] for name in OBJECTS_OF_CRAWLS)


def test_idle_crawls_cost_nothing_in_a_step() -> None:
    alone, beside = calls_in_a_minute(0), calls_in_a_minute(10)
    assert (beside - alone) / 10 < MAX_CALLS_A_MINUTE
