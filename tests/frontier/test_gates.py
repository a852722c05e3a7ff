"""The gates: one ordered table of reasons not to visit a host now, for check-out and for `why`."""

from collections.abc import Callable, Iterator
from math import inf
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.events import (
    DEFAULT_CRAWL,
    CrawlDefined,
    FleetPaused,
    HostOverridden,
    Outcome,
    SiteOverridden,
    Speed,
    SpeedSet,
)
from gossamer.services.frontier.partition.gates import (
    CRAWL_GATES,
    GATES,
    CrawlInputs,
    Effect,
    GateInputs,
    HostInputs,
    closed_gates,
    stored_gate_inputs,
)
from gossamer.services.frontier.partition.politeness import Overrides
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow, Lease, Politeness
from gossamer.services.frontier.tables.sites import UnreadablePages
from gossamer.speed import NO_LIMIT, Speeds
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import PARTITIONS, START, Simulation, crawl

NOW = 1_700_000_000.0
HOST = HostRow(Site("a.test"), HostKey("http://a.test"), condition=Condition.READY)
CRAWL = CrawlDefined(at=0.0, scope="any()", max_depth=3)
OFF = Overrides()
OFF.change(SiteOverridden(at=0.0, site=Site("a.test"), off=True))
OPEN_CRAWL = CrawlInputs(CRAWL, pages_left=None, speed=NO_LIMIT, speed_until=inf)
OPEN = {
    "now": NOW,
    "host": HOST,
    "overrides": Overrides(),
    "neighbours": (),
    "site_at_once": 4,
    "name_delay_until": None,
    "unreadable": 0,
    "unreadable_until": None,
    "taken_over_until": None,
}


def at_crawl(**fields: object) -> GateInputs:
    """Return inputs that open every gate, except for *fields* of the crawl."""
    usual = {name: getattr(OPEN_CRAWL, name) for name in CrawlInputs.__slots__}
    return GateInputs(CrawlInputs(**usual | fields), HostInputs(**OPEN))  # type: ignore[arg-type]


def at_host(**fields: object) -> GateInputs:
    """Return inputs that open every gate, except for *fields* of the host."""
    return GateInputs(OPEN_CRAWL, HostInputs(**OPEN | fields))  # type: ignore[arg-type]


CLOSED = {
    "fleet": at_crawl(is_fleet_paused=True),
    "crawl": at_crawl(crawl=replace(CRAWL, paused=True)),
    "page limit": at_crawl(pages_left=0),
    "speed": at_crawl(speed=Speed("", pages=0.0)),
    "lease": at_host(
        host=replace(HOST, condition=Condition.CHECKED_OUT, lease=Lease(expires_at=NOW + 9))
    ),
    "backoff": at_host(host=replace(HOST, condition=Condition.BACKING_OFF, ready_at=NOW + 9)),
    "delay": at_host(host=replace(HOST, condition=Condition.DELAYED, ready_at=NOW + 9)),
    "name": at_host(neighbours={"https://a.test"}),
    "site": at_host(neighbours={f"http://{n}.a.test" for n in range(4)}),
    "name delay": at_host(name_delay_until=NOW + 9),
    "retry-after": at_host(host=replace(HOST, politeness=Politeness(busy_until=NOW + 9))),
    "overrides": at_host(overrides=OFF),
    "unreadable pages": at_host(unreadable=5, unreadable_until=NOW + 9),
    "takeover": at_host(taken_over_until=NOW + 9),
}


def test_host_may_be_visited_if_every_gate_is_open() -> None:
    assert [*closed_gates(at_host())] == []


def test_every_gate_has_inputs_that_close_it() -> None:
    assert [gate.name for gate in GATES] == [*CLOSED]


@pytest.mark.parametrize("name", CLOSED)
def test_gate_closes_alone_with_reason(name: str) -> None:
    [(gate, closed)] = closed_gates(CLOSED[name])
    assert gate.name == name
    assert closed.reason or name == "backoff"


@pytest.mark.parametrize("name", CLOSED)
def test_gate_that_changes_a_host_has_time_and_trigger(name: str) -> None:
    [(gate, closed)] = closed_gates(CLOSED[name])
    changes = gate.effect in (Effect.BACK_OFF, Effect.DELAY)
    assert changes == (gate.trigger is not None)
    if changes:
        assert closed.until and closed.until > NOW


def test_gates_of_the_crawl_stop_all_hosts() -> None:
    assert {gate.effect for gate in CRAWL_GATES} == {Effect.STOP}


def test_gates_are_evaluated_in_order() -> None:
    both = at_host(name_delay_until=NOW + 9, overrides=OFF)
    assert [gate.name for gate, _ in closed_gates(both)] == ["name delay", "overrides"]


# `gossamer why`: the same gates, with inputs from the store and from the control state.

SITE, URLS = Site("a.test"), [f"http://a.test/{n}" for n in range(40)]


class Stopped:
    """A crawl in which a gate has stopped a host."""

    def __init__(self, **options: Any) -> None:
        self.sim = Simulation(lambda url: {"took": 0.5}, batch=1, **options)
        self.overrides, self.speeds = Overrides(), Speeds()
        self.host, self.are_all_paused = "http://a.test", False

    def control(
        self, event: SiteOverridden | HostOverridden | SpeedSet | CrawlDefined | FleetPaused
    ) -> None:
        """Give the frontier and the reader an event on `control`."""
        self.sim.handle(event)
        if isinstance(event, SpeedSet):
            self.speeds.change(event)
        elif isinstance(event, CrawlDefined):
            self.sim.definition = event
        elif isinstance(event, FleetPaused):
            self.are_all_paused = event.paused
        else:
            self.overrides.change(event)

    def visit(self, *urls: str) -> None:
        """Admit *urls*, and run until each of them was visited."""
        self.sim.admit(*urls)
        self.run_until(lambda: {*urls} <= {*self.sim.pages()})

    def run_until(self, reached: Any) -> None:
        """Run until *reached* holds."""
        for _ in range(1000):
            if reached():
                return
            self.sim.run(steps=1)
        raise AssertionError("the crawl never got there")

    def row(self, host: str = "") -> HostRow:
        """Return the stored row of a host."""
        return self.sim.row(host or self.host)

    def closed(self) -> Iterator[str]:
        """Yield the names of the closed gates, as another process finds them."""
        inputs = stored_gate_inputs(
            self.sim.store,
            DEFAULT_CRAWL,
            PARTITIONS,
            self.row(),
            self.sim.definition,
            self.overrides,
            self.speeds,
            lambda: self.sim.settings,
            self.sim.now,
            self.are_all_paused,
        )
        yield from (gate.name for gate, _ in closed_gates(inputs))


def stop_by_fleet(stopped: Stopped) -> None:
    stopped.control(FleetPaused(at=stopped.sim.now, paused=True))
    stopped.sim.admit(*URLS)
    stopped.sim.run(START + 100)


def stop_by_crawl(stopped: Stopped) -> None:
    stopped.control(crawl(paused=True))
    stopped.sim.admit(*URLS)
    stopped.sim.run(START + 100)


def stop_by_page_limit(stopped: Stopped) -> None:
    stopped.control(crawl(max_pages=3))
    stopped.sim.admit(*URLS)
    stopped.sim.run(START + 100)
    assert len(stopped.sim.pages()) == 3


def stop_by_speed(stopped: Stopped) -> None:
    stopped.visit(URLS[0])
    stopped.control(SpeedSet(at=stopped.sim.now, speeds=(Speed("", pages=0.0),)))
    stopped.sim.admit(*URLS[1:])
    stopped.sim.run(START + 100)


def stop_by_lease(stopped: Stopped) -> None:
    stopped.sim.admit(*URLS)
    stopped.run_until(lambda: stopped.row().condition is Condition.CHECKED_OUT)


def stop_by_backoff(stopped: Stopped) -> None:
    stopped.sim.answer = lambda url: {"outcome": Outcome.HOST_DOWN, "took": 0.5}
    stopped.sim.admit(*URLS)
    stopped.run_until(lambda: stopped.row().condition is Condition.BACKING_OFF)


def stop_by_delay(stopped: Stopped) -> None:
    stopped.sim.admit(*URLS)
    stopped.run_until(lambda: stopped.row().condition is Condition.DELAYED)


def stop_by_name(stopped: Stopped) -> None:
    stopped.sim.admit("https://a.test/", *URLS)
    stopped.run_until(lambda: stopped.row("https://a.test").condition is Condition.CHECKED_OUT)


def stop_by_site(stopped: Stopped) -> None:
    hosts = [f"http://{n}.a.test" for n in range(2)]
    stopped.sim.admit(*(f"{host}/" for host in hosts), *URLS)
    stopped.run_until(
        lambda: all(stopped.row(one).condition is Condition.CHECKED_OUT for one in hosts)
    )


def stop_by_name_delay(stopped: Stopped) -> None:
    stopped.visit("https://a.test:8443/")
    stopped.run_until(lambda: stopped.row("https://a.test:8443").condition is Condition.IDLE)
    stopped.sim.admit(*URLS)


def stop_by_retry_after(stopped: Stopped) -> None:
    """A Retry-After comes late, after the lease of its order has expired."""
    stopped.visit(URLS[0])
    stopped.sim.admit(*URLS[1:])
    stopped.run_until(lambda: stopped.row().condition is Condition.CHECKED_OUT)
    [*_, late] = stopped.sim.lose()
    stopped.run_until(lambda: stopped.row().condition is Condition.DELAYED)
    order = replace(late, order="0.1", outcome=Outcome.BUSY, retry_after=500.0)
    stopped.sim.handle(order)
    stopped.sim.now += 2.0


def stop_by_overrides(stopped: Stopped) -> None:
    stopped.visit(*URLS[:3])
    stopped.sim.run(stopped.sim.now + 100)
    stopped.control(SiteOverridden(at=stopped.sim.now, site=SITE, budget=3))
    stopped.sim.admit(*URLS[3:])


def stop_by_unreadable_pages(stopped: Stopped) -> None:
    stopped.visit(URLS[0])
    stopped.sim.run(stopped.sim.now + 100)
    unreadable = UnreadablePages(2, stopped.sim.now)
    stopped.sim.partition(SITE).sites.store_unreadable(SITE, HostKey(stopped.host), unreadable)
    stopped.sim.admit(*URLS[1:])


def stop_by_takeover(stopped: Stopped) -> None:
    stopped.visit(URLS[0])
    stopped.sim.run(stopped.sim.now + 100)
    stopped.sim.start()
    stopped.sim.admit(*URLS[1:])


STOPPED: dict[str, tuple[Callable[[Stopped], None], dict[str, Any]]] = {
    "crawl": (stop_by_crawl, {}),
    "page limit": (stop_by_page_limit, {}),
    "fleet": (stop_by_fleet, {}),
    "speed": (stop_by_speed, {}),
    "lease": (stop_by_lease, {}),
    "backoff": (stop_by_backoff, {}),
    "delay": (stop_by_delay, {}),
    "name": (stop_by_name, {}),
    "site": (stop_by_site, {"site_at_once": 2}),
    "name delay": (stop_by_name_delay, {"delay": 10.0}),
    "retry-after": (stop_by_retry_after, {}),
    "overrides": (stop_by_overrides, {}),
    "unreadable pages": (stop_by_unreadable_pages, {"unreadable_limit": 2}),
    "takeover": (stop_by_takeover, {"alone": False, "delay": 10.0}),
}
"""Gate → what closes it, and the options of the crawl."""


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.name)
def test_reader_of_the_store_finds_the_gate_that_stops_a_host(gate: Any) -> None:
    stop, options = STOPPED[gate.name]
    stop(stopped := Stopped(**options))
    assert [*stopped.closed()] == [gate.name]
    ordered = [event.host for event in stopped.sim.frontier.wake(stopped.sim.now)]  # type: ignore[attr-defined]
    assert stopped.host not in ordered, "the frontier evaluates the same gates"


def test_reader_needs_no_settings_for_a_host_that_may_be_visited() -> None:
    stopped = Stopped()
    stopped.visit(URLS[0])
    stopped.sim.run(stopped.sim.now + 100)
    stopped.sim.admit(*URLS[1:])
    del stopped.sim.settings
    assert [*stopped.closed()] == []
