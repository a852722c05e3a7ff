"""The frontier's behaviour as webmasters and operators see it, in virtual time."""

from itertools import pairwise

import msgspec
import pytest

from gossamer.events import DEFAULT_CRAWL, Discovery, Outcome
from gossamer.services.frontier.partition.politeness import spread_factor
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.urls import HistoryRow, Origin
from gossamer.web.robots import RobotsRules, parse_robots
from gossamer.web.url import HostKey
from tests.frontier.simulation import START, Simulation, crawl


def urls(host: str, count: int) -> list[str]:
    return [f"http://{host}/{i}" for i in range(count)]


def test_robots_txt_is_first_and_only_visit_of_first_order() -> None:
    sim = Simulation()
    sim.admit(*urls("a.test", 3))
    sim.run()
    assert [v.url for v in sim.orders[0][1].visits] == ["http://a.test/robots.txt"]
    assert sim.pages() == urls("a.test", 3)


def test_robots_rules_survive_restart() -> None:
    sim = Simulation()
    sim.admit(*urls("a.test", 2))
    sim.run()
    sim.start()
    sim.admit(*urls("a.test", 4)[2:])
    sim.run()
    assert sim.pages() == urls("a.test", 4)
    assert [url for _, _, url in sim.visits].count("http://a.test/robots.txt") == 1


@pytest.mark.parametrize(("batch", "last"), [(1, 2.0), (2, 15.0), (10, 2.0)])
def test_pause_between_visits_is_largest_delay(batch: int, last: float) -> None:
    rules = RobotsRules(crawl_delay=40.0, fetched_at=START, expires_at=START + 1e6)
    answers: dict[str, dict[str, object]] = {
        "http://slow.test/1": {"took": 3.0},
        "http://patient.test/robots.txt": {"robots": rules},
    }
    sim = Simulation(lambda url: answers.get(url, {}), batch=batch, delay=2.0, delay_factor=5.0)
    sim.admit(*urls("a.test", 30), *urls("slow.test", 4), *urls("patient.test", 3))
    sim.run()
    assert len(sim.pages()) == 37
    rests = {host: [gap for of, gap in sim.gaps() if of == host] for host, _ in sim.gaps()}
    # The first visit is robots.txt; of the pages, only the second one of slow takes time.
    assert rests[HostKey("http://a.test")] == pytest.approx([2.0] * 30)
    assert rests[HostKey("http://patient.test")] == pytest.approx([40.0] * 3)
    # An order after a slow visit keeps its pause.
    assert rests[HostKey("http://slow.test")] == pytest.approx([2.0, 2.0, 15.0, last])


def test_absurd_crawl_delay_is_limited() -> None:
    """Reports Meziantou #2620, stormcrawler #768, #1979: a typo does not stop a host for ever."""
    rules = RobotsRules(crawl_delay=1e300, fetched_at=START, expires_at=START + 1e9)
    sim = Simulation(
        lambda url: {"robots": rules} if url.endswith("robots.txt") else {},
        crawl_delay_limit=5000.0,
    )
    sim.admit(*urls("a.test", 3))
    sim.run()
    assert len(sim.pages()) == 3
    assert min(gap for _, gap in sim.gaps()) >= 5000.0


def test_long_delay_limits_batch() -> None:
    rules = RobotsRules(crawl_delay=25.0, fetched_at=START, expires_at=START + 1e9)
    sim = Simulation(lambda url: {"robots": rules} if url.endswith("robots.txt") else {})
    sim.admit(*urls("a.test", 10))
    sim.run()
    assert max(len(order.visits) for _, order in sim.orders) == 2
    assert len(sim.pages()) == 10


def test_crash_repeats_only_checked_out_batch_politely() -> None:
    sim = Simulation(lambda url: {"took": 0.5}, batch=4, delay=1.0)
    sim.admit(*urls("a.test", 20))
    sim.run(until=START + 12)
    before = len(sim.pages())
    sim.start()
    sim.run()
    assert set(sim.pages()) == set(urls("a.test", 20))
    assert len(sim.pages()) - 20 <= 4
    assert 0 < before < 20
    assert min(gap for _, gap in sim.gaps()) >= 1.0


def test_fleet_waits_for_lease_of_checked_out_host_after_restart() -> None:
    sim = Simulation(lambda url: {"took": 0.5}, alone=False)
    sim.admit(*urls("a.test", 3))
    sim.run(until=START + 2)
    [*_, (_, order)] = sim.orders
    sim.report_begun(order)
    sim.start()
    ordered = len(sim.orders)
    sim.run()
    assert sim.orders[ordered][0] >= order.expires_at
    assert sim.orders[ordered][1].epoch > order.epoch


def test_unanswered_order_ends_with_its_lease() -> None:
    sim = Simulation(lease_slack=10.0)
    sim.admit("http://a.test/")
    sim.step()
    sim._coming.clear()
    sim.run()
    (first, lost), (again, _), *_ = sim.orders
    assert again >= lost.expires_at > first + 10.0
    assert sim.pages() == ["http://a.test/"]


def test_outcome_of_older_order_is_dropped() -> None:
    sim = Simulation(lambda url: {"took": 1.0})
    sim.admit(*urls("a.test", 2))
    sim.step()
    late = sim._coming[0][2]
    sim._coming.clear()
    sim.run()
    before = sim.row()
    sim.handle(late)
    assert sim.row() == before


def test_host_that_is_down_backs_off_longer_and_keeps_its_urls() -> None:
    down = {"outcome": Outcome.HOST_DOWN, "reason": "connection refused"}
    sim = Simulation(lambda url: down, down_wait=100.0, down_wait_limit=1000.0, retries=3)
    sim.admit(*urls("a.test", 2))
    sim.run(until=START + 1499)
    starts = [start - START for start, _, _ in sim.visits]
    waits = [b - a for a, b in pairwise(starts)]
    first = 100 * spread_factor(HostKey("http://a.test"))
    assert waits == pytest.approx([first, 2 * first, 4 * first])
    # After three retries the first URL is given up, and the next one is tried.
    given_up = sim.url_row("http://a.test/0")
    assert given_up and given_up.outcome == Outcome.HOST_DOWN
    assert sim.row().queued == 1
    assert sim.row().condition is Condition.BACKING_OFF


def test_backoff_is_short_without_dns_answer_and_long_without_name() -> None:
    for outcome, wait in ((Outcome.DNS_UNANSWERED, 60.0), (Outcome.DNS_FAILURE, 7 * 86400.0)):
        answers = iter([{"outcome": outcome}])
        sim = Simulation(lambda url, answers=answers: next(answers, {}))  # type: ignore[misc]
        sim.admit("http://a.test/")
        sim.run()
        assert sim.pages() == ["http://a.test/"]
        assert sim.visits[1][0] - sim.visits[0][1] == pytest.approx(
            wait * spread_factor(HostKey("http://a.test"))
        )


@pytest.mark.parametrize("wait", [77.0, *(3600.0 * hours for hours in range(1, 9))])
def test_retry_after_is_obeyed_and_url_stays_first(wait: float) -> None:
    answers = iter([{}, {"outcome": Outcome.BUSY, "retry_after": wait, "status": 429}])
    sim = Simulation(lambda url: next(answers, {}))
    sim.admit(*urls("a.test", 3))
    sim.run()
    assert sim.pages() == [urls("a.test", 3)[0], *urls("a.test", 3)]
    assert sim.visits[2][0] - sim.visits[1][1] == pytest.approx(wait)


def test_failed_url_is_retried_and_given_up_after_retries() -> None:
    failing = "http://a.test/1"
    sim = Simulation(
        lambda url: {"outcome": Outcome.SERVER_ERROR, "status": 500} if url == failing else {},
        retries=2,
    )
    sim.admit(*urls("a.test", 3))
    sim.run()
    assert sim.pages().count(failing) == 3
    last = sim.url_row(failing)
    assert last and (last.earlier, last.attempt, last.queued) == (1, 0, False)


def test_retry_happens_once_after_crash() -> None:
    answers = {"http://a.test/0": [{"outcome": Outcome.SERVER_ERROR, "status": 500}]}

    def answer(url: str) -> dict[str, object]:
        return answers[url].pop() if answers.get(url) else {}

    sim = Simulation(answer)
    sim.admit(*urls("a.test", 1))
    sim.run(until=START + 10)
    sim.start()
    sim.run(until=START + 5000)
    sim.start()
    sim.run()
    assert sim.pages() == ["http://a.test/0"] * 2


@pytest.mark.slow
def test_unreachable_robots_txt_disallows_all_for_thirty_days() -> None:
    rules = RobotsRules(forbidden="robots.txt answered 503")
    robots = {"outcome": Outcome.SERVER_ERROR, "status": 503, "robots": rules}
    sim = Simulation(lambda url: robots if url.endswith("/robots.txt") else {})
    sim.admit("http://a.test/")
    day = 86400.0
    sim.run(until=START + 29 * day)
    assert sim.pages() == []
    assert sim.row().backoff_reason == "robots.txt answered 503"
    sim.run(until=START + 60 * day)
    assert sim.pages() == ["http://a.test/"]


def test_disallowed_url_is_refused_at_admission() -> None:
    rules = RobotsRules(lines="3 - /private/", fetched_at=START, expires_at=START + 1e6)
    sim = Simulation(lambda url: {"robots": rules} if url.endswith("/robots.txt") else {})
    sim.admit("http://a.test/")
    sim.run()
    sim.admit("http://a.test/private/x", "http://a.test/public")
    sim.run()
    assert sim.pages() == ["http://a.test/", "http://a.test/public"]
    refused = sim.url_row("http://a.test/private/x")
    assert refused and "line 3" in refused.reason


def test_order_has_only_relevant_rules_of_huge_robots_txt() -> None:
    lines = b"".join(b"Disallow: /private/%d$\n" % number for number in range(20_000))
    rules = parse_robots(b"User-agent: *\n" + lines, "gossamer", START, 1e6).rules
    sim = Simulation(lambda url: {"robots": rules} if url.endswith("/robots.txt") else {})
    # Not refused yet: it is checked when it is ordered.
    sim.admit(*urls("a.test", 8), "http://a.test/private/7")
    sim.run()
    [_, (_, order)] = sim.orders
    assert order.robots and order.robots.expires_at == rules.expires_at
    assert not order.robots.allows("http://a.test/private/7")
    assert "line 9" in order.robots.explain("http://a.test/private/7")
    assert len(msgspec.json.encode(order)) < 100_000


def test_depth_and_budget_refusals_have_reasons() -> None:
    sim = Simulation(url_budget=2)
    sim.handle(crawl(max_depth=3))
    sim.admit("http://a.test/deep", depth=4)
    sim.admit(*urls("a.test", 3), depth=1)
    sim.run(until=START + 1000)
    assert sim.pages() == urls("a.test", 2)
    reasons = [sim.url_row(f"http://a.test/{path}") for path in ("deep", "2")]
    assert [r and r.outcome for r in reasons] == ["trap_depth", "trap_urls"]


def test_orders_keep_to_page_limit() -> None:
    sim = Simulation(lambda url: {"took": 0.3}, batch=7)
    sim.handle(crawl(max_pages=10))
    sim.admit(*(u for h in "abcd" for u in urls(f"{h}.test", 10)))
    sim.run()
    assert len(sim.pages()) == 10
    sim.handle(crawl(max_pages=5, pages_before=10))
    sim.run()
    assert len(sim.pages()) == 15


def test_url_admitted_twice_is_visited_once() -> None:
    sim = Simulation(batch=3)
    sim.admit(*urls("a.test", 5))
    sim.admit(*urls("a.test", 3), repeated=True)
    sim.run()
    sim.admit(*urls("a.test", 5), "http://a.test/new", repeated=True)
    sim.run()
    assert sorted(sim.pages()) == sorted([*urls("a.test", 5), "http://a.test/new"])
    assert sim.row().condition is Condition.IDLE
    assert sim.row().queued == 0


def test_readmitted_url_with_planned_retry_is_not_queued() -> None:
    answers = iter([{}, {"outcome": Outcome.SERVER_ERROR, "status": 500}])
    sim = Simulation(lambda url: next(answers, {}))
    sim.admit("http://a.test/x")
    sim.run(START + 60.0)
    sim.admit("http://a.test/x", repeated=True)
    assert sim.row().queued == 0
    sim.run()
    assert sim.pages() == ["http://a.test/x"] * 2


def test_readmitted_url_that_was_excluded_is_queued() -> None:
    sim = Simulation()
    sim.admit("http://a.test/x", depth=9)
    sim.handle(crawl(max_depth=3))
    sim.run()
    assert not sim.pages()
    sim.handle(crawl())
    sim.run()
    assert sim.released
    sim.admit("http://a.test/x", depth=9, repeated=True)
    sim.run()
    assert sim.pages() == ["http://a.test/x"]


def test_history_has_every_visit_newest_first() -> None:
    answers = iter([{}, {"outcome": Outcome.SERVER_ERROR, "status": 500, "took": 3.0}])
    sim = Simulation(lambda url: next(answers, {"outcome": Outcome.GONE, "status": 404}))
    sim.admit("http://a.test/x")
    sim.run()
    history = sim.store.table(HistoryRow).scan((DEFAULT_CRAWL, "http://a.test/x"))
    began = [start for start, _, url in sim.visits if url == "http://a.test/x"]
    assert [visit.at for visit in history] == sorted(began, reverse=True)
    assert [(visit.outcome, visit.status) for visit in history] == [
        (Outcome.GONE, 404),
        (Outcome.SERVER_ERROR, 500),
    ]


def test_url_given_up_for_robots_txt_keeps_its_origin() -> None:
    down = {"outcome": Outcome.HOST_DOWN, "reason": "connection refused"}
    sim = Simulation(lambda url: down, retries=1, batch=2)
    found = Discovery("http://a.test/x", depth=3, hops=2, trace="t")
    sim.admit_links(found, via="v")
    sim.run()
    given_up = sim.url_row(found.url)
    assert given_up and given_up.outcome == Outcome.HOST_DOWN
    assert given_up.origin == Origin(3, hops=2, via="v", trace="t")
    assert (given_up.crawl, given_up.earlier) == (DEFAULT_CRAWL, 1)
    assert len(sim.visits) == 2


def test_urls_of_a_crawl_wait_until_it_is_defined() -> None:
    sim = Simulation()
    sim.admit("http://a.test/x", crawl="second")
    sim.run()
    assert not sim.orders
    sim.define("second")
    sim.run()
    assert sim.pages() == ["http://a.test/x"]


def test_returned_orders_are_repeated_with_growing_delay() -> None:
    left = {"outcome": Outcome.UNVISITED, "reason": "the lease is over"}
    refusing = [True]
    sim = Simulation(lambda url: left if refusing[0] else {}, delay=2.0)
    sim.admit(*urls("a.test", 3))
    sim.run(until=START + 3600.0)
    waits = [b - a for (a, _), (b, _) in pairwise(sim.orders)]
    assert waits[:5] == pytest.approx([2.0, 4.0, 8.0, 16.0, 32.0])
    assert waits == sorted(waits) and max(waits) == 300.0
    refusing[0] = False
    sim.run()
    assert sim.pages()[-3:] == urls("a.test", 3)
    assert sim.row().politeness.returned_orders == 0


def test_returned_order_delays_host_as_reported_with_reason() -> None:
    why = "many hosts share 192.0.2.1, and others have their turn"
    left = {"outcome": Outcome.UNVISITED, "reason": why, "retry_after": 500.0}
    refusing = [True]
    sim = Simulation(lambda url: left if refusing[0] else {}, delay=2.0)
    sim.admit(*urls("a.test", 2))
    sim.run(until=START + 1600.0)
    assert [at - START for at, _ in sim.orders] == pytest.approx([0.0, 500.0, 1000.0, 1500.0])
    waiting = sim.row()
    assert (waiting.backoff_cause, waiting.backoff_reason) == (Outcome.UNVISITED, why)
    refusing[0] = False
    sim.run()
    assert sim.pages()[-2:] == urls("a.test", 2)
    assert sim.row().backoff_reason is None
