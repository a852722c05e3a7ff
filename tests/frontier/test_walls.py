"""Challenges, prices and demands for a license, as the frontier applies them."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from gossamer.events import Outcome
from gossamer.services.frontier.partition.politeness import CHALLENGE_RETRY_WAIT, spread_factor
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.plans import PlanRow
from gossamer.web.robots import RobotsRules, parse_robots
from gossamer.web.url import HostKey
from gossamer.web.walls import Wall, WallKind
from tests.frontier.simulation import START, Simulation, crawl

HOST = HostKey("http://a.test")
DAY = 86400.0
ROBOTS = f"{HOST}/robots.txt"
CHALLENGE = Wall(WallKind.CHALLENGE, "Anubis", "its cookie")
PRICE = Wall(WallKind.PAYMENT, "pay per crawl", "status 402", price="USD 1")
CHALLENGED = {"outcome": Outcome.CHALLENGED, "status": 202, "wall": CHALLENGE,
              "reason": CHALLENGE.text}  # fmt: skip
PAYMENT = {"outcome": Outcome.PAYMENT_REQUIRED, "status": 402, "wall": PRICE}
LICENSE = {"outcome": Outcome.LICENSE_REQUIRED, "status": 401}


def test_challenged_url_is_retried_rarely_and_then_given_up() -> None:
    walled = f"{HOST}/search"
    sim = Simulation(lambda url: CHALLENGED if url == walled else {}, retries=3)
    sim.admit(walled, *(f"{HOST}/{n}" for n in range(20)))
    sim.run(until=START + 400 * DAY)
    at = sim.starts(walled)
    gaps = [after - before for before, after in pairwise(at)]
    assert gaps == pytest.approx([CHALLENGE_RETRY_WAIT * 4.0**n for n in range(3)], rel=0.3)
    assert len(sim.pages()) == 20 + len(at), "and other URLs are visited meanwhile"
    assert max(sim.starts(f"{HOST}/{n}")[0] for n in range(20)) < START + 3600.0
    row = sim.url_row(walled)
    assert row and (row.outcome, row.reason) == (Outcome.CHALLENGED, CHALLENGE.text)


def test_host_with_challenges_only_backs_off_for_longer_each_time() -> None:
    sim = Simulation(lambda url: {} if url == ROBOTS else CHALLENGED, retries=3, batch=5)
    sim.admit(*(f"{HOST}/{n}" for n in range(50)))
    sim.run(until=START + 30 * DAY)
    at = [start for start, _, url in sim.visits if url != ROBOTS]
    gaps = [after - before for before, after in pairwise(at)]
    spread = spread_factor(HOST)
    expected = [spread * min(DAY / 2 * 2**n, 7 * DAY) for n in range(4)]
    assert gaps[:3] == pytest.approx([0.0] * 3, abs=60.0), "four URLs are visited"
    assert gaps[3:7] == pytest.approx(expected, abs=60.0), "then one for each backoff"
    row = sim.row()
    assert row.condition is Condition.BACKING_OFF and row.backoff_reason == CHALLENGE.text
    assert row.walls == {"challenge: Anubis": len(at)}
    assert row.politeness.strain == 0


def test_retry_after_of_a_challenge_is_obeyed() -> None:
    slow = {**CHALLENGED, "retry_after": 3000.0}
    sim = Simulation(lambda url: slow if url == f"{HOST}/0" else {})
    sim.admit(*(f"{HOST}/{n}" for n in range(3)))
    sim.run(until=START + 2 * 3600.0)
    assert sim.starts(f"{HOST}/1")[0] >= sim.starts(f"{HOST}/0")[0] + 3000.0


def test_page_ends_the_backoff_from_challenges() -> None:
    answers = [CHALLENGED] * 5
    sim = Simulation(lambda url: {} if url == ROBOTS or not answers else answers.pop(), retries=3)
    sim.admit(*(f"{HOST}/{n}" for n in range(9)))
    sim.run(until=START + 20 * DAY)
    assert {url for url in sim.pages()} == {f"{HOST}/{n}" for n in range(9)}
    assert "challenge" not in sim.row().politeness.failures


@pytest.mark.parametrize("answer", [PAYMENT, LICENSE])
def test_url_that_demands_a_payment_or_license_is_never_requested_again(
    answer: dict[str, object],
) -> None:
    walled = f"{HOST}/1"
    sim = Simulation(lambda url: answer if url == walled else {})
    sim.handle(crawl(revisit="adaptive"))
    sim.admit(walled, f"{HOST}/2", f"{HOST}/3")
    sim.run(until=START + 400 * DAY)
    assert len(sim.starts(walled)) == 1
    assert sim.row().condition is Condition.IDLE
    plan = sim.store.table(PlanRow).get(("default", HOST), walled)
    assert plan and plan.at is None and plan.reason.endswith("a license is demanded")


@pytest.mark.parametrize("outcome", [Outcome.CHALLENGED, Outcome.PAYMENT_REQUIRED])
def test_wall_in_place_of_robots_txt_means_requests_at_growing_intervals(
    outcome: Outcome,
) -> None:
    wall = {"outcome": outcome, "robots": RobotsRules(forbidden="robots.txt: a wall"),
            "wall": CHALLENGE, "status": 202}  # fmt: skip
    sim = Simulation(lambda url: wall if url == ROBOTS else {})
    sim.admit(f"{HOST}/1")
    sim.run(until=START + 5 * DAY)
    assert sim.pages() == []
    gaps = [after - before for before, after in pairwise(sim.starts(ROBOTS))]
    spread = spread_factor(HOST)
    expected = [spread * min(600.0 * 2**n, DAY / 2) for n in range(len(gaps))]
    assert gaps == pytest.approx(expected, abs=60.0) and len(gaps) > 6


def test_last_rules_stay_in_force_while_a_wall_stands_in_place_of_robots_txt() -> None:
    rules = parse_robots(b"User-agent: *\nDisallow: /no", "gossamer", START, 3600.0).rules
    found = [{"robots": replace(rules, status=200)}]
    wall = {"outcome": Outcome.CHALLENGED, "robots": RobotsRules(forbidden="a wall"),
            "wall": CHALLENGE}  # fmt: skip

    def answer(url: str) -> dict[str, object]:
        return {} if url != ROBOTS else dict(found.pop() if found else wall)

    sim = Simulation(answer)
    sim.admit(f"{HOST}/1")
    sim.run(until=START + 7200.0)
    sim.admit(f"{HOST}/2")
    sim.run(until=START + 14400.0)
    assert sim.pages() == [f"{HOST}/1", f"{HOST}/2"]
    carried = [order.robots for _, order in sim.orders if order.robots]
    assert carried and not any(rules.allows(f"{HOST}/no") for rules in carried)


def test_challenged_probe_leaves_the_host_without_a_signature() -> None:
    def answer(url: str) -> dict[str, object]:
        return dict(CHALLENGED) if len(url) > 30 else {}

    sim = Simulation(answer, probe_after=3, batch=3)
    sim.admit(*(f"{HOST}/{n}" for n in range(10)))
    sim.run(until=START + DAY)
    assert len([url for url in sim.pages() if len(url) > 30]) == 1
    signature = sim.row().signature
    assert signature and signature.at and (signature.status, signature.digest) == (0, "")
