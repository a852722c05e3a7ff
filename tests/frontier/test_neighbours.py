"""Hosts of one name share one server, hosts of one site one owner: limits on their requests."""

from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.web.url import HostKey, Site, host_name
from tests.frontier.simulation import PARTITIONS, Simulation

TOOK = 0.5


def simulate(**options: object) -> Simulation:
    return Simulation(lambda url: {"took": TOOK}, **options)  # type: ignore[arg-type]


def checked_out(sim: Simulation) -> Counter[str]:
    """Return the number of checked-out hosts of each site, as the store has it."""
    rows = sim.database._db.execute(
        "SELECT site, count(*) FROM hosts WHERE condition = 'checked out' GROUP BY site"
    )
    return Counter(dict(rows.fetchall()))


def most_at_once(sim: Simulation) -> Counter[str]:
    """Run to the end; return the most hosts of each site that were checked out at once."""
    most = Counter[str]()
    for _ in range(100_000):
        if sim.frontier.due() is None and sim._next_end() is None:
            return most
        sim.run(steps=1)
        most |= checked_out(sim)
    raise AssertionError("it comes to no end")


def smallest_gap(sim: Simulation) -> float:
    """Return the shortest time from the end of a request to a name to the start of the next."""
    visits = defaultdict[str, list[tuple[float, float]]](list)
    for start, end, url in sorted(sim.visits):
        visits[host_name(url)].append((start, end))
    pairs = (pair for times in visits.values() for pair in pairwise(times))
    return min((after[0] - before[1] for before, after in pairs), default=float("inf"))


def test_schemes_and_ports_of_one_name_share_one_delay() -> None:
    sim = simulate()
    urls = [f"{host}/{n}" for n in range(12) for host in SERVER]
    sim.admit(*urls)
    sim.run()
    assert sorted(sim.pages()) == sorted(urls)
    assert smallest_gap(sim) >= 1.0


SERVER = ("http://a.test", "https://a.test", "http://a.test:8080")


def test_crawl_delay_of_one_scheme_delays_the_other() -> None:
    sim = simulate()
    sim.admit("http://a.test/")
    sim.run()
    sim.partition(Site("a.test")).bench.start_name_delay(
        HostKey("http://a.test"), sim.now + 100.0, sim.now
    )
    rested = sim.now + 100.0
    sim.admit("https://a.test/")
    sim.run()
    assert min(start for start, _, url in sim.visits if url.startswith("https")) >= rested


def test_name_delay_survives_failed_step() -> None:
    sim = simulate()
    sim.admit("http://a.test/")
    sim.run()
    sim.admit("https://a.test/")
    sim.frontier.restart(frozenset(range(PARTITIONS)), sim.now)
    sim.catch_up()
    sim.run()
    assert "https://a.test/" in sim.pages()
    assert smallest_gap(sim) >= 1.0


@pytest.mark.parametrize("hosts", [3, 4, 60])
def test_checked_out_hosts_of_a_site_are_limited(hosts: int) -> None:
    sim = simulate()
    urls = [f"http://h{n}.big.test/{page}" for page in range(2) for n in range(hosts)]
    sim.admit(*urls, "http://small.test/")
    most = most_at_once(sim)
    assert most == {"big.test": min(hosts, 4), "small.test": 1}
    assert sorted(sim.pages()) == sorted([*urls, "http://small.test/"])
    assert sim.pages().index("http://small.test/") <= 8, "a host without neighbours does not wait"


def test_hosts_of_a_platform_are_separate_sites() -> None:
    sim = simulate()
    sim.admit(*(f"http://h{n}.github.io/" for n in range(20)))
    sim.run(steps=1)
    assert len(sim.orders) == 20


def test_new_owner_knows_checked_out_hosts_before_its_first_order() -> None:
    sim = simulate(alone=False)
    sim.admit(*(f"{host}/" for host in SERVER), *(f"http://h{n}.a.test/" for n in range(6)))
    sim.step()
    out = {order.host for _, order in sim.orders}
    assert len(out) == 4
    for _, order in sim.orders:
        sim.report_begun(order)
    # FrontierCaches has capacity for one of nine hosts, and orders are never answered.
    sim.settings = sim.settings.model_copy(update={"loaded_limit": 1})
    expires = min(order.expires_at for _, order in sim.orders)
    sim.start()
    sim.run(until=expires - 1.0)
    assert {order.host for _, order in sim.orders} == out
    assert checked_out(sim) == {"a.test": 4}
    assert most_at_once(sim)["a.test"] <= 4
    assert len(set(sim.pages())) == 9


def test_hosts_waiting_for_neighbours_are_unloaded_for_earlier_hosts() -> None:
    sim = simulate(loaded_limit=6)
    urls = [f"http://h{n}.{site}.test/" for n in range(12) for site in ("a", "b")]
    sim.admit(*urls)
    sim.admit("http://first.test/", priority=-1)
    sim.run()
    assert sorted(set(sim.pages())) == sorted([*urls, "http://first.test/"])


HONEST = [f"http://honest{n}.test/{page}" for n in range(20) for page in range(10)]


def visit_honest(trap: list[str]) -> Simulation:
    """Return a crawl of 60 seconds at the hosts of one site, and 30 more with honest sites."""
    sim = simulate(loaded_limit=50, checked_out_limit=20, host_budget=10_000)
    sim.admit(*trap)
    sim.run(sim.now + 60.0)
    sim.admit(*HONEST, depth=1)
    sim.run(sim.now + 30.0)
    return sim


def test_site_with_many_hosts_does_not_hold_up_others() -> None:
    trap = [f"http://h{n}.trap.test/{page}" for n in range(400) for page in range(5)]
    sim, alone = visit_honest(trap), visit_honest([])
    assert {*sim.pages()} & {*HONEST} == {*alone.pages()} != set()
    sim.start()
    sim.run()
    assert sorted({*sim.pages()}) == sorted([*trap, *HONEST]), "nothing is lost"


def test_host_of_a_large_site_is_visited_in_its_turn() -> None:
    sim = simulate(loaded_limit=50, site_at_once=1, host_budget=10_000)
    sim.admit(*(f"http://h{n}.big.test/{page}" for n in range(40) for page in range(20)))
    sim.run(sim.now + 30.0)
    sim.admit("http://better.big.test/", priority=-1)
    before = len(sim.pages())
    sim.run(sim.now + 60.0)
    assert "http://better.big.test/" in sim.pages()[before : before + 30]


hosts = st.builds(
    "{}://{}{}.test{}".format,
    st.sampled_from(["http", "https"]),
    st.sampled_from(["", "x.", "y.", "z."]),
    st.sampled_from("ab"),
    st.sampled_from(["", ":8080"]),
)
acts = st.lists(st.one_of(st.just("restart"), st.just("lose"), hosts), min_size=1, max_size=25)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(acts, st.integers(1, 4), st.integers(1, 8), st.booleans())
def test_neighbours_keep_their_delay_after_any_events(
    acts: list[str], at_once: int, loaded: int, alone: bool
) -> None:
    sim = simulate(site_at_once=at_once, loaded_limit=loaded, alone=alone, checked_out_limit=8)
    admitted = set[str]()
    for number, act in enumerate(acts):
        if act == "restart":
            sim.start()
        elif act == "lose":
            sim.lose()
        else:
            admitted.add(f"{act}/{number}")
            sim.admit(f"{act}/{number}")
        for _ in range(number % 4):
            sim.run(steps=1)
            assert all(count <= at_once for count in checked_out(sim).values())
    assert all(count <= at_once for count in most_at_once(sim).values())
    assert set(sim.pages()) == admitted
    if alone or not {"restart", "lose"} & {*acts}:
        assert smallest_gap(sim) >= 1.0
