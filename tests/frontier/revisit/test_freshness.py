"""The policies over small webs in virtual time: the freshness that `optimal` promises."""

from functools import cache

import pytest

from bench.freshness import best_rates, constant
from bench.revisiting import Crawl, Result, Tally
from bench.webs import WEBS
from gossamer.services.frontier.revisit import make_policy

PAGES, BUDGET, DAYS, WARM = 150, 30.0, 120.0, 40.0


@cache
def fresh(web_name: str, policy: str) -> Result:
    web = WEBS[web_name](7, PAGES, DAYS)
    tally = Tally(web, WARM, set())
    if policy == "constant":
        return constant(web, best_rates(web, BUDGET), tally, 7)
    return Crawl(web, make_policy(policy), BUDGET).run(tally)


@pytest.mark.slow
@pytest.mark.parametrize("web", ["memoryless", "bursty", "drifting"])
def test_optimal_is_fresher_than_every_other_policy_at_the_same_budget(web: str) -> None:
    others = ("fixed:5d", "selective_incremental:5d", "adaptive:5d")
    best = max(fresh(web, name).freshness for name in others)
    assert fresh(web, "optimal").freshness > best


def test_optimal_reaches_93_percent_of_the_best_constant_rates() -> None:
    assert (
        fresh("memoryless", "optimal").freshness > 0.93 * fresh("memoryless", "constant").freshness
    )


@pytest.mark.slow
@pytest.mark.parametrize("web", ["memoryless", "polite", "periodic"])
def test_the_budget_is_spent_and_not_exceeded(web: str) -> None:
    allowed = BUDGET * (DAYS - WARM)
    assert 0.85 * allowed < fresh(web, "optimal").visits <= allowed + 2 * BUDGET
