"""Quiet hours of a site: its hosts get no requests, and keep their URLs."""

import pytest

from gossamer.events import SiteOverridden
from gossamer.web.url import Site
from tests.frontier.simulation import START, Simulation
from tests.frontier.test_revisits import DAY, HOST, HOUR, URL, Changing, define, visits

OTHER = "http://b.test/1"
URLS_PER_HOST = 60
FROM, UNTIL = 8 * HOUR, 18.5 * HOUR


def hours(*quiet: float) -> SiteOverridden:
    return SiteOverridden(at=START, site=Site("a.test"), quiet_from=quiet[0], quiet_until=quiet[1])


def is_quiet(at: float, begin: float = FROM, end: float = UNTIL) -> bool:
    into = (START + at) % DAY
    return begin <= into < end if begin < end else not end <= into < begin


def make_simulation(*quiet: float) -> Simulation:
    sim = Simulation(delay=30.0)
    sim.give_verdict = Changing(2 * HOUR)
    define(sim, revisit="fixed:3h")
    sim.handle(hours(*quiet))
    sim.admit(URL, OTHER, *(f"{HOST}/new-{n}" for n in range(URLS_PER_HOST)))
    return sim


@pytest.mark.slow
def test_quiet_hours_stop_requests_to_site_and_no_other() -> None:
    for quiet in ((FROM, UNTIL), (22 * HOUR, 6 * HOUR)):
        sim = make_simulation(*quiet)
        sim.run(START + 3 * DAY)
        asked = [at - START for at, _, url in sim.visits if url.startswith(HOST)]
        # An order that was made just before may be in flight, with ten visits.
        assert not any(is_quiet(at, *quiet) and is_quiet(at - 600, *quiet) for at in asked)
        assert {f"{HOST}/new-{n}" for n in range(URLS_PER_HOST)} <= {*sim.pages()}
        assert any(is_quiet(at, *quiet) for at in visits(sim, OTHER))
        assert len(visits(sim, URL)) > 8


@pytest.mark.slow
def test_host_in_quiet_hours_has_reason_and_continues_after() -> None:
    sim = make_simulation(FROM, UNTIL)
    sim.run(START - START % DAY + DAY + 12 * HOUR)
    sim.admit(f"{HOST}/late")
    sim.run(sim.now + HOUR)
    row = sim.row()
    assert row.backoff_reason and row.ready_at % DAY == UNTIL
    sim.start()
    sim.handle(hours(FROM, UNTIL))
    assert f"{HOST}/late" not in sim.pages()
    sim.run(START - START % DAY + DAY + 19 * HOUR)
    assert f"{HOST}/late" in sim.pages()
