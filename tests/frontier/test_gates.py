"""The gates: one ordered table that says whether a host may be visited now."""

from math import inf

import pytest
from msgspec.structs import replace

from gossamer.events import CrawlDefined, SiteOverridden
from services.frontier.conditions import Condition
from services.frontier.gates import GATES, Effect, Situation, closed_gates
from services.frontier.overrides import Overrides
from services.frontier.rows import HostRow, Lease, Politeness

NOW = 1_700_000_000.0
HOST = HostRow("a.test", "http://a.test", condition=Condition.READY)
CRAWL = CrawlDefined(at=0.0, scope="any()", max_depth=3)
OFF = Overrides()
OFF.change(SiteOverridden(at=0.0, site="a.test", off=True))


def situation(**fields: object) -> Situation:
    """Return a situation in which every gate is open but for *fields*."""
    usual = {"now": NOW, "host": HOST, "crawl": CRAWL, "overrides": Overrides(), "site_at_once": 4}
    return Situation(**usual | fields)  # type: ignore[arg-type]


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
    "name": situation(others={"https://a.test"}),
    "site": situation(others={f"http://{n}.a.test" for n in range(4)}),
    "name rests": situation(name_rests_until=NOW + 9),
    "retry-after": situation(host=replace(HOST, politeness=Politeness(busy_until=NOW + 9))),
    "overrides": situation(overrides=OFF),
    "unreadable pages": situation(unreadable=5, unreadable_until=NOW + 9),
    "takeover": situation(taken_over_until=lambda: NOW + 9),
}


def test_host_may_be_visited_if_every_gate_is_open() -> None:
    assert [*closed_gates(situation())] == []


def test_every_gate_has_a_situation_here() -> None:
    assert [gate.name for gate in GATES] == [*CLOSED]


@pytest.mark.parametrize("name", CLOSED)
def test_gate_closes_alone_and_says_why(name: str) -> None:
    [(gate, closed)] = closed_gates(CLOSED[name])
    assert gate.name == name
    assert closed.why or name == "backoff"


@pytest.mark.parametrize("name", CLOSED)
def test_gate_that_changes_a_host_says_until_when_and_by_which_trigger(name: str) -> None:
    [(gate, closed)] = closed_gates(CLOSED[name])
    changes = gate.effect in (Effect.BACK_OFF, Effect.DELAY)
    assert changes == (gate.trigger is not None)
    if changes:
        assert closed.until and closed.until > NOW


def test_gates_are_evaluated_in_order() -> None:
    both = situation(name_rests_until=NOW + 9, overrides=OFF)
    assert [gate.name for gate, _ in closed_gates(both)] == ["name rests", "overrides"]
