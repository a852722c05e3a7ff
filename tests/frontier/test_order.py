"""PolyBot's ordering guarantee (section 3.5) among URLs of one rank, as a property of every order
that goes out.

"Any two requests for pages from the same host will be downloaded in the order they were issued by
the application. Any two requests for pages from different hosts will be downloaded in the order
they were issued, unless one host queue is backed up with requests due to the timeout rule or the
host being down, or a delay occurred during robot exclusion, DNS resolution, or the actual process
of downloading from a host."
"""

from bisect import insort
from collections import Counter, defaultdict
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.events import HostCheckedOut, Purpose
from gossamer.log import partition_of
from gossamer.web.url import host_key, site_of
from tests.frontier.simulation import PARTITIONS, START, Simulation

HOSTS = [f"http://{name}.test" for name in "abcfgimq"]


def partition(host: str) -> int:
    return partition_of(site_of(host), PARTITIONS)


@dataclass
class Model:
    """A model of each host: its URLs, its orders, and the time of its next visit."""

    limit: int
    asked: dict[str, list[tuple[tuple[int, int], str]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    """Host → its URLs, by priority and number."""
    free_at: dict[str, float] = field(default_factory=lambda: defaultdict(lambda: START))
    out: dict[str, float] = field(default_factory=dict)
    """Checked-out host → the end of its lease."""
    ordered: set[str] = field(default_factory=set)
    count: int = 0

    def ask(self, url: str, priority: int) -> None:
        self.count += 1
        insort(self.asked[host_key(url)], ((priority, self.count), url))

    def first_available(self, now: float) -> tuple[int, int]:
        """Priority and number of the first URL of the hosts that may be visited, in partitions with
        a free slot."""
        return min(
            (
                queue[0][0]
                for host, queue in self.asked.items()
                if queue and self.free_at[host] <= now and self.has_room(partition(host))
            ),
            default=(0, 0),
        )

    def has_room(self, partition_: int) -> bool:
        """A partition has an eighth of the slots, at least one; all partitions share the rest."""
        own = max(1, self.limit // 8)
        out = Counter(partition(host) for host in self.out)
        taken = sum(max(0, count - own) for count in out.values())
        return out[partition_] < own or taken < self.limit - PARTITIONS * own

    def apply_outcomes(self, now: float) -> None:
        """Apply the outcomes until *now*."""
        self.out = {host: end for host, end in self.out.items() if end > now}

    def order(self, order: HostCheckedOut, took: float, delay: float, now: float) -> None:
        visits = [v for v in order.visits if v.purpose is Purpose.PAGE]
        for visit in visits:
            _, url = self.asked[order.host].pop(0)
            assert visit.url == url, "two URLs of a host were ordered out of order"
        self.ordered.add(order.host)
        pauses = delay * (len(order.visits) - 1)
        self.out[order.host] = now + len(order.visits) * took + pauses
        self.free_at[order.host] = self.out[order.host] + delay

    def restart(self, now: float, delay: float) -> None:
        """Delay each visited host, as a new owner with another clock does."""
        for host in self.ordered:
            self.free_at[host] = max(self.free_at[host], now + delay)


requests = st.lists(
    st.tuples(
        st.sampled_from(range(len(HOSTS))),
        st.floats(0, 3),
        st.booleans(),
        st.sampled_from([0, 0, 0, -100, 3, 100]),
    ),
    min_size=1,
    max_size=60,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    requests=requests,
    batch=st.integers(1, 4),
    loaded=st.integers(1, 10),
    out=st.integers(1, 16),
    took=st.sampled_from([0.0, 0.25, 1.5]),
)
def test_urls_are_ordered_by_request_number(
    requests: list[tuple[int, float, bool, int]], batch: int, loaded: int, out: int, took: float
) -> None:
    sim = Simulation(
        lambda url: {"took": took},
        delay=1.0,
        batch=batch,
        loaded_limit=loaded,
        checked_out_limit=out,
        strategy="breadth",
    )
    model, seen = Model(out), 0

    def check() -> None:
        nonlocal seen
        model.apply_outcomes(sim.now)
        for now, order in sim.orders[seen:]:
            first = model.asked[order.host][0][0]
            assert first == model.first_available(now), "a URL was overtaken"
            model.order(order, took, 1.0, now)
        seen = len(sim.orders)

    for number, (host, wait, restart, priority) in enumerate(requests):
        url = f"{HOSTS[host]}/{number}"
        sim.admit(url, priority=priority)
        model.ask(url, priority)
        until = sim.now + wait
        while ((due := sim.frontier.due()) is not None and due <= until) or _coming(sim, until):
            sim.run(until, steps=1)
            check()
        sim.now = until
        assert sim.loaded() <= loaded
        if restart and not sim._coming:
            sim.start()
            model.restart(sim.now, 1.0)
    while sim.frontier.due() is not None or sim._coming:
        sim.run(steps=1)
        check()
        assert sim.loaded() <= loaded
    assert not any(model.asked.values()), "a URL was never ordered"
    assert all(gap >= 1.0 for _, gap in sim.gaps())


def _coming(sim: Simulation, until: float) -> bool:
    end = sim._next_end()
    return end is not None and end <= until
