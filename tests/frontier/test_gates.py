"""The gates: one ordered table of reasons not to visit a host now."""

from math import inf

import pytest
from msgspec.structs import replace

from gossamer.events import CrawlDefined, SiteOverridden
from services.frontier.conditions import Condition
from services.frontier.gates import GATES, Effect, GateInputs, closed_gates
from services.frontier.overrides import Overrides
from services.frontier.rows import HostRow, Lease, Politeness

NOW = 1_700_000_000.0
HOST = HostRow("a.test", "http://a.test", condition=Condition.READY)
CRAWL = CrawlDefined(at=0.0, scope="any()", max_depth=3)
OFF = Overrides()
OFF.change(SiteOverridden(at=0.0, site="a.test", off=True))


def situation(**fields: object) -> GateInputs:
    """Return inputs that open every gate, except for *fields*."""
    usual = {"now": NOW, "host": HOST, "crawl": CRAWL, "overrides": Overrides(), "site_at_once": 4}
    return GateInputs(**usual | fields)  # type: ignore[arg-type]


CLOSED = {
    "crawl": situation(crawl=replace(CRAWL, paused=True)),
    "page limit": situation(pages_left=0),
    "speed": situation(speed_from=inf),
    "lease": situation(
        host=replace(HOST, condition=Condition.CHECKED_OUT, lease=Lease(expires_at=NOW + 9))
    ),
    "backoff": situation(host=replace(HOST, condition=Condition.BACKING_OFF, ready_at=NOW + 9)),
    "delay": situation(host=replace(HOST, condition=Condition.DELAYED, ready_at=NOW + 9)),
    "slots": situation(has_slot=False),
    "name": situation(neighbours={"https://a.test"}),
    "site": situation(neighbours={f"http://{n}.a.test" for n in range(4)}),
    "name delay": situation(name_delay_until=NOW + 9),
    "retry-after": situation(host=replace(HOST, politeness=Politeness(busy_until=NOW + 9))),
    "overrides": situation(overrides=OFF),
    "unreadable pages": situation(unreadable=5, unreadable_until=NOW + 9),
    "takeover": situation(taken_over_until=lambda: NOW + 9),
}


def test_host_may_be_visited_if_every_gate_is_open() -> None:
    assert [*closed_gates(situation())] == []


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


def test_gates_are_evaluated_in_order() -> None:
    both = situation(name_delay_until=NOW + 9, overrides=OFF)
    assert [gate.name for gate, _ in closed_gates(both)] == ["name delay", "overrides"]
