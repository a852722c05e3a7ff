"""The hosts of a dead fetcher are released once it has started again under its name."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.events import Event, FetcherStarted, HostCheckedOut, OrderBegun, Outcome, VisitEnded
from gossamer.log import Record, partition_of
from gossamer.log.codec import decode, encode
from gossamer.services.frontier.partition.politeness import LEASE_FAILURE
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.web.robots import RobotsRules
from gossamer.web.url import HostKey, Site, host_key
from tests.frontier.simulation import PARTITIONS, START, VISIT_LIMIT, Simulation

DELAY, BATCH = 2.0, 3
HOSTS = [HostKey(f"http://h{number}.test") for number in range(4)]
NAMES = ("fetcher-0", "fetcher-1")


@dataclass
class Run:
    """An order in progress, and its current request: start, end and URL."""

    order: HostCheckedOut
    index: int = 0
    next_at: float = 0.0
    request: tuple[float, float, str] | None = None
    is_over: bool = False
    ends_at: float = 0.0
    """The end of its lease."""


@dataclass
class Fetcher:
    """One living process of a fetcher."""

    name: str
    runs: list[Run] = field(default_factory=list)


class Fleet(Simulation):
    """A frontier that reads a log, and fetchers that a test kills and restarts one step at a time.

    An order waits on `visits.ordered` until a fetcher begins it. Each of its requests takes as long
    as *random* says.
    """

    def __init__(self, random: Random | None = None, **changes: float) -> None:
        self.random = random or Random(2)
        self.waiting: list[HostCheckedOut] = []
        self.offsets: dict[str, int] = {}
        """Order → its offset on `visits.ordered`."""
        self.ordered, self.committed = Counter[int](), Counter[int]()
        """Partition of `visits.ordered` → number of orders, and of committed ones."""
        self.log: list[Record] = []
        self.read = 0
        self.fetchers: dict[str, Fetcher] = {}
        self.stopped: set[str] = set()
        """Fetchers that do nothing for now, although they live."""
        limits = {"delay": DELAY, "batch": BATCH, "site_gap": 0.0, **changes}
        super().__init__(alone=False, **limits)  # type: ignore[arg-type]
        for name in NAMES:
            self.restart(name)

    def _fetch(self, order: HostCheckedOut):  # type: ignore[no-untyped-def]
        self.waiting.append(order)
        self.offsets[order.order + order.host] = self.ordered[partition_of_order(order)]
        self.ordered[partition_of_order(order)] += 1
        return iter(())

    def append(self, event: Event) -> None:
        message = encode(event)
        partition, offset = message.partition_among(PARTITIONS), len(self.log)
        self.log.append(Record(message.topic, partition, offset, message.key, message.value))

    def deliver(self, count: int = 1000) -> None:
        """Let the frontier read *count* records, and make orders."""
        for record in self.log[self.read : self.read + count]:
            self.frontier.locate(record)
            self.frontier.handle(decode(record), self.now)
        self.read = min(len(self.log), self.read + count)
        if self.read == len(self.log):
            self.catch_up()
        self.unread = self.read < len(self.log)
        super().step()
        if not self.unread:
            self.catch_up()
        self._settle()

    def step(self) -> None:
        """Let the frontier read all records, and make orders."""
        self.deliver()

    def report(self, name: str) -> HostCheckedOut | None:
        """Let a fetcher report that it begins the oldest order, before it commits."""
        if not self.waiting or name not in self.fetchers or name in self.stopped:
            return None
        order = self.waiting[0]
        self.append(
            OrderBegun(
                at=self.now,
                site=order.site,
                host=order.host,
                order=order.order,
                fetcher=name,
                offset=self.offsets[order.order + order.host],
            )
        )
        return order

    def begin(self, name: str) -> HostCheckedOut | None:
        """Let a fetcher report, commit and begin the oldest order."""
        if (order := self.report(name)) is None:
            return None
        self.committed[partition_of_order(order)] += 1
        self.waiting.remove(order)
        if order.expires_at <= self.now:
            return None
        if order.epoch < self.partition(order.site).epoch:
            self._report(Run(order), last=True)
            return None
        run = Run(order, next_at=self.now, ends_at=order.expires_at)
        self.fetchers[name].runs.append(run)
        return order

    def work(self, name: str) -> None:
        """End and begin the requests of a fetcher that are due."""
        if (fetcher := self.fetchers.get(name)) is None or name in self.stopped:
            return
        for run in [*fetcher.runs]:
            if run.request and run.request[1] <= self.now:
                self.visits.append(run.request)
                self._report(run, run.index == len(run.order.visits) - 1)
            if run.is_over:
                fetcher.runs.remove(run)
            elif not run.request and run.next_at <= self.now:
                if self.now + VISIT_LIMIT > run.ends_at:
                    self._report(run, last=True)
                    fetcher.runs.remove(run)
                    continue
                url = run.order.visits[run.index].url
                run.request = (self.now, self.now + self.random.choice([0.1, 3.0, 20.0]), url)

    def _report(self, run: Run, last: bool) -> None:
        """Append the outcome of the request of *run*; without one, its URL was not visited."""
        order, (began, end, url) = run.order, run.request or (0.0, 0.0, "")
        lease = 0.0 if last else order.lease_after(run.index + 1, VISIT_LIMIT)
        run.ends_at = min(run.ends_at, self.now + lease)
        robots = RobotsRules(fetched_at=began, expires_at=began + 86_400.0)
        ended = VisitEnded(
            at=self.now,
            site=order.site,
            host=order.host,
            order=order.order,
            epoch=order.epoch,
            index=run.index,
            last=last,
            lease=lease,
            visit=order.visits[run.index],
            outcome=Outcome.PAGE if run.request else Outcome.UNVISITED,
            robots=robots if url.endswith("/robots.txt") else None,
            started_at=began,
            took=end - began,
        )
        self.append(ended)
        run.request, run.is_over = None, last
        run.index, run.next_at = run.index + 1, self.now + order.pause

    def kill(self, name: str) -> None:
        """Kill a fetcher: its requests are cut off now."""
        if fetcher := self.fetchers.pop(name, None):
            requests = [run.request for run in fetcher.runs if run.request]
            self.visits += [(began, self.now, url) for began, _, url in requests]

    def restart(self, name: str) -> None:
        """Start a fetcher that is dead."""
        if name not in self.fetchers:
            self.fetchers[name] = Fetcher(name)
            committed = dict(self.committed)
            for number in range(PARTITIONS):
                self.append(
                    FetcherStarted(at=self.now, fetcher=name, partition=number, committed=committed)
                )

    def crash(self, back: int) -> None:
        """Start another frontier, which reads the last *back* records again."""
        self.read, visits = max(0, self.read - back), self.visits
        self.unread = self.read < len(self.log)
        self.start()
        self.visits = visits

    def all_visits(self) -> list[tuple[float, float, str]]:
        running = [run.request for one in self.fetchers.values() for run in one.runs if run.request]
        return sorted([*self.visits, *((began, self.now, url) for began, _, url in running)])


def partition_of_order(order: HostCheckedOut) -> int:
    return order.sent_to if order.sent_to >= 0 else partition_of(order.site, PARTITIONS)


def assert_polite(fleet: Fleet) -> None:
    for host in HOSTS:
        visits = [one for one in fleet.all_visits() if host_key(one[2]) == host]
        for (_, end, before), (start, _, after) in pairwise(visits):
            assert start >= end + DELAY - 1e-6, f"{before} until {end - START}, {after} at {start}"


def fleet_at_work() -> Fleet:
    """Return a fleet whose first fetcher has an order of the first host in progress."""
    fleet = Fleet()
    fleet.admit(*(f"{HOSTS[0]}/{n}" for n in range(6)))
    fleet.deliver()
    assert fleet.begin(NAMES[0])
    fleet.work(NAMES[0])
    return fleet


def test_host_of_a_dead_fetcher_is_ordered_one_delay_after_the_restart() -> None:
    fleet = fleet_at_work()
    fleet.kill(NAMES[0])
    fleet.now += 5.0
    fleet.restart(NAMES[0])
    fleet.deliver()
    restarted = fleet.now
    fleet.run(restarted + DELAY - 0.01)
    assert not fleet.waiting
    fleet.run(restarted + DELAY + 0.01)
    assert [order.host for order in fleet.waiting] == [HOSTS[0]]


def test_order_of_another_fetcher_stays() -> None:
    fleet = fleet_at_work()
    fleet.kill(NAMES[1])
    fleet.restart(NAMES[1])
    fleet.deliver()
    fleet.run(fleet.now + 100.0)
    assert not fleet.waiting and fleet.row(HOSTS[0]).condition is Condition.CHECKED_OUT


def test_order_that_lies_unread_stays() -> None:
    fleet = Fleet()
    fleet.admit(f"{HOSTS[0]}/")
    fleet.deliver()
    fleet.kill(NAMES[0])
    fleet.restart(NAMES[0])
    fleet.deliver()
    fleet.run(fleet.now + 100.0)
    assert len(fleet.waiting) == 1 and fleet.row(HOSTS[0]).condition is Condition.CHECKED_OUT


def test_order_that_was_not_committed_stays() -> None:
    fleet = Fleet()
    fleet.admit(f"{HOSTS[0]}/")
    fleet.deliver()
    assert fleet.report(NAMES[0])
    fleet.kill(NAMES[0])
    fleet.restart(NAMES[0])
    fleet.deliver()
    fleet.run(fleet.now + 100.0)
    assert len(fleet.waiting) == 1 and fleet.row(HOSTS[0]).condition is Condition.CHECKED_OUT


def test_order_that_two_fetchers_have_reported_waits_for_its_lease() -> None:
    fleet = Fleet()
    fleet.admit(f"{HOSTS[0]}/")
    fleet.deliver()
    assert fleet.report(NAMES[0])
    order = fleet.begin(NAMES[1])
    assert order
    for name in NAMES:
        fleet.kill(name)
        fleet.restart(name)
    fleet.deliver()
    fleet.run(order.expires_at - 1.0)
    assert not fleet.waiting
    fleet.run(order.expires_at + 10.0)
    assert len(fleet.waiting) == 1


def test_start_that_is_read_again_ends_no_later_order() -> None:
    fleet = fleet_at_work()
    fleet.kill(NAMES[0])
    fleet.restart(NAMES[0])
    fleet.deliver()
    fleet.run(fleet.now + DELAY + 0.01)
    assert fleet.begin(NAMES[0])
    fleet.deliver()
    fleet.crash(back=len(fleet.log))
    fleet.deliver()
    fleet.run(fleet.now + 100.0)
    assert not fleet.waiting and fleet.row(HOSTS[0]).condition is Condition.CHECKED_OUT


def test_host_of_a_dead_fetcher_is_released_by_the_next_frontier() -> None:
    fleet = fleet_at_work()
    fleet.deliver()
    fleet.kill(NAMES[0])
    fleet.crash(back=0)
    fleet.restart(NAMES[0])
    fleet.deliver()
    fleet.run(fleet.now + DELAY + 0.01)
    assert [order.host for order in fleet.waiting] == [HOSTS[0]]


def test_order_that_a_dead_frontier_did_not_append_is_made_again_at_once() -> None:
    fleet = Fleet()
    fleet.admit(f"{HOSTS[0]}/")
    fleet.deliver()
    fleet.waiting.clear()
    fleet.crash(back=0)
    fleet.deliver()
    fleet.run(fleet.now + DELAY + 0.01)
    assert [order.host for order in fleet.waiting] == [HOSTS[0]]
    assert not fleet.row(HOSTS[0]).backoff_reason


def test_order_of_a_dead_frontier_that_lies_unread_is_made_again_and_not_begun() -> None:
    fleet = Fleet()
    fleet.admit(f"{HOSTS[0]}/")
    fleet.deliver()
    fleet.crash(back=0)
    fleet.deliver()
    fleet.run(fleet.now + DELAY + 0.01)
    fenced, made = fleet.waiting
    assert fenced.host == made.host == HOSTS[0]
    assert fleet.begin(NAMES[0]) is None
    assert fleet.begin(NAMES[1]) == made
    fleet.deliver()
    assert fleet.row(HOSTS[0]).lease.begun_by == NAMES[1]


def test_order_of_a_dead_frontier_that_a_fetcher_has_begun_stays() -> None:
    fleet = fleet_at_work()
    fleet.crash(back=0)
    fleet.deliver()
    fleet.run(fleet.now + 100.0)
    assert not fleet.waiting and fleet.row(HOSTS[0]).condition is Condition.CHECKED_OUT


def test_host_whose_fetcher_died_counts_as_suspect() -> None:
    fleet = fleet_at_work()
    fleet.kill(NAMES[0])
    fleet.restart(NAMES[0])
    fleet.deliver()
    assert fleet.row(HOSTS[0]).politeness.failures[LEASE_FAILURE] == 1
    fleet.run(fleet.now + DELAY + 0.01)
    [order] = fleet.waiting
    assert len(order.visits) == 1


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_hosts_are_visited_politely_through_any_deaths(seed: int) -> None:
    random = Random(seed)
    fleet = Fleet(random, lease_slack=random.choice([10.0, 300.0]), expired_wait=0.0)
    fleet.admit(*(f"{host}/{n}" for n in range(40) for host in HOSTS))
    for _ in range(500):
        name = random.choice(NAMES)
        fleet.now += random.choice([0.0, 0.01, 0.5, 3.0])
        for one in NAMES:
            fleet.work(one)
        match random.choice(
            ["begin"] * 10 + ["deliver"] * 10 + ["kill", "crash", "uncommitted", "stop"]
        ):
            case "begin":
                fleet.restart(name)
                fleet.begin(name)
            case "deliver":
                fleet.deliver(random.choice([1, 1000]))
            case "uncommitted":
                # The fetcher dies before it commits, or it loses the partition and lives on.
                if fleet.report(name) and random.random() < 0.5:
                    fleet.kill(name)
            case "kill":
                fleet.kill(name)
            case "stop":
                fleet.stopped ^= {name}
            case "crash":
                fleet.crash(random.randrange(40))
    fleet.stopped.clear()
    for one in NAMES:
        fleet.work(one)
    assert_polite(fleet)


def test_lease_covers_what_is_left_of_the_order() -> None:
    fleet = fleet_at_work()
    fleet.now += 0.1
    fleet.work(NAMES[0])
    fleet.deliver()
    fleet.run(fleet.now + DELAY)
    order = fleet.begin(NAMES[0])
    assert order and len(order.visits) == BATCH
    ends = [order.expires_at]
    fleet.now += 100.0
    for ended in range(1, BATCH):
        while len(fleet.visits) <= ended:
            fleet.work(NAMES[0])
            fleet.now += 0.5
        fleet.deliver()
        ends.append(fleet.row(HOSTS[0]).lease.expires_at or 0.0)
        left = ends[-1] - fleet.now
        assert left <= 300.0 + (BATCH - ended) * (DELAY + VISIT_LIMIT)
    fleet.kill(NAMES[0])
    fleet.run(ends[-1] - 1.0)
    assert not fleet.waiting
    fleet.run(ends[-1] + 2 * DELAY)
    assert [one.host for one in fleet.waiting] == [HOSTS[0]]


def test_partitions_of_the_hosts_differ() -> None:
    assert len({partition_of(Site(host.removeprefix("http://")), PARTITIONS) for host in HOSTS}) > 1
