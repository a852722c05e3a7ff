"""Each rule of admission refuses what it should, says why, and lets everything else pass."""

from collections.abc import Callable

import pytest

from gossamer.events import Discovery, UrlsAdmitted
from gossamer.events.outcomes import Hazard
from gossamer.web.robots import RobotsRules, Rule
from services.frontier.refusals import RULES
from services.frontier.rows import UrlRow
from tests.frontier.simulation import START, Simulation, crawl

HOST = "http://a.test"
PRIVATE = RobotsRules(
    rules=(Rule(False, "/private/", 3),), fetched_at=START, expires_at=START + 1e6
)


def admit(sim: Simulation, path: str, depth: int = 0, hops: int = 0) -> str:
    """Admit the URL, and let the simulation come to rest."""
    found = Discovery(f"{HOST}{path}", depth=depth, hops=hops)
    sim.handle(UrlsAdmitted(at=sim.now, site="a.test", via="test", urls=(found,)))
    sim.run()
    return found.url


def too_deep(sim: Simulation) -> tuple[str, str]:
    sim.handle(crawl(max_depth=3))
    return admit(sim, "/", depth=3), admit(sim, "/deep", depth=4)


def too_many_redirects(sim: Simulation) -> tuple[str, str]:
    limit = sim.settings.hops_limit
    return admit(sim, "/", hops=limit), admit(sim, "/round", hops=limit + 1)


def over_budget(sim: Simulation) -> tuple[str, str]:
    *_, last = [admit(sim, f"/{n}") for n in range(sim.settings.url_budget)]
    return last, admit(sim, "/more")


def excluded(sim: Simulation) -> tuple[str, str]:
    return admit(sim, "/"), admit(sim, "/private/x")


REFUSED: dict[Hazard, tuple[Callable[[Simulation], tuple[str, str]], str]] = {
    Hazard.TRAP_DEPTH: (too_deep, "limit of 3"),
    Hazard.REDIRECT: (too_many_redirects, "redirects in a row"),
    Hazard.TRAP_URLS: (over_budget, "budget of 5 URLs"),
    Hazard.ROBOTS_EXCLUDED: (excluded, "line 3"),
}
"""Rule → what it still lets pass and what not, and a part of its sentence."""


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_refuses_what_is_beyond_it_and_says_why(rule: Hazard) -> None:
    robots = {"robots": PRIVATE}
    sim = Simulation(lambda url: robots if url.endswith("/robots.txt") else {}, url_budget=5)
    scenario, sentence = REFUSED[rule]
    passed, refused = scenario(sim)
    row = sim.store.table(UrlRow).get(HOST, refused)
    assert row and row.outcome == rule and sentence in row.reason
    assert passed in sim.pages() and refused not in sim.pages()
    (tally,) = [claim.tally for claim in sim.frontier._hosts.claims if claim.tally.refused]
    assert tally.refused == {rule: 1}
