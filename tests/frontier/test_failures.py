"""Each kind of failure of a host is counted apart, and lengthens its own backoff alone."""

from collections.abc import Iterator, Mapping
from itertools import chain, pairwise, repeat

import pytest

from gossamer.events import Outcome
from gossamer.services.frontier.partition.politeness import MAX_SPREAD, spread_factor
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.web.robots import RobotsRules, parse_robots
from gossamer.web.url import HostKey
from tests.frontier.simulation import START, Simulation

HOST = HostKey("http://a.test")
DAY = 86400.0
DOWN = {"outcome": Outcome.HOST_DOWN, "took": 0.0}
REFUSED = {
    "outcome": Outcome.TLS_FAILURE,
    "reason": "certificate has expired",
    "took": 0.0,
}
BUSY = {"outcome": Outcome.BUSY, "status": 429}
BROKEN = {"outcome": Outcome.BROKEN, "took": 1.0}
SILENT = {"outcome": Outcome.SILENT_SERVER, "took": 1.0}
UNANSWERED = {"outcome": Outcome.DNS_UNANSWERED, "took": 0.0}
UNREADABLE = {
    "outcome": Outcome.SERVER_ERROR,
    "status": 500,
    "robots": RobotsRules(forbidden="robots.txt answered 500"),
}


def urls(count: int) -> list[str]:
    return [f"{HOST}/{number}" for number in range(count)]


def answers_in_turn(which: str, *given: Mapping[str, object]) -> Simulation:
    """Return a simulation of one host whose URLs that end in *which* have *answers* in turn."""
    answers: Iterator[Mapping[str, object]] = chain(given, repeat({}))
    return Simulation(lambda url: next(answers) if url.endswith(which) else {}, retries=9)


def waits(sim: Simulation, which: str) -> list[float]:
    """Return the seconds between the visits of URLs that end in *which*."""
    starts = [start for start, _, url in sim.visits if url.endswith(which)]
    return [after - before for before, after in pairwise(starts)]


def test_broken_pages_do_not_stop_their_host() -> None:
    sim = Simulation(lambda url: BROKEN if url != f"{HOST}/robots.txt" else {}, retries=3)
    sim.admit(*urls(20))
    sim.run()
    asked = [start for start, _, url in sim.visits if url.startswith(f"{HOST}/")]
    assert len(sim.pages()) == 20 * 4, "each URL is retried up to the limit"
    assert asked[-1] - START < DAY, "and no host waits for days"


def fails(url: str) -> Mapping[str, object]:
    robots = url.endswith("/robots.txt")
    return {} if robots else {"outcome": Outcome.SERVER_ERROR, "status": 500}


def test_host_with_server_errors_only_backs_off_as_a_whole() -> None:
    sim = Simulation(fails, retries=3, batch=10)
    sim.admit(*urls(200))
    sim.run(until=START + DAY)
    at = [start for start, _, url in sim.visits if not url.endswith("/robots.txt")]
    gaps = [after - before for before, after in pairwise(at)]
    spread = spread_factor(HOST)
    # The first order of ten was made before the fourth failure.
    expected = [spread * min(600.0 * 2**n, DAY / 2) for n in range(len(gaps) - 9)]
    assert gaps[9:] == pytest.approx(expected, abs=61.0) and 4 < len(expected) < 9
    row = sim.row()
    assert row.condition is Condition.BACKING_OFF
    assert row.backoff_cause == Outcome.SERVER_ERROR


def test_server_errors_between_pages_cause_no_backoff() -> None:
    sim = Simulation(lambda url: fails(url) if url[-1] in "2345678" else {}, retries=3, batch=3)
    sim.admit(*(f"{HOST}/{page}{end}" for page in range(5) for end in (0, *range(2, 9))))
    sim.run()
    # Seven in a row are fewer than the limit, and their retries do not count.
    assert len(sim.pages()) == 5 * (1 + 7 * 4)
    assert sim.now - START < DAY / 4


def test_answer_of_another_kind_ends_the_backoff_for_server_errors() -> None:
    sim = Simulation(lambda url: fails(url) if sim.now < START + 1000.0 else {}, retries=3)
    sim.admit(*urls(40))
    sim.run(until=START + 2 * 3600.0)
    assert {url for _, _, url in sim.visits} >= set(urls(40))
    row = sim.row()
    assert row.politeness.failures == {}


def test_silent_server_backs_off_after_retries() -> None:
    sim = Simulation(lambda url: SILENT if url != f"{HOST}/robots.txt" else {}, retries=3)
    sim.admit(*urls(20))
    sim.run(until=START + DAY / 2)
    assert len(sim.pages()) < 20


def test_silent_host_gets_a_second_request_after_a_minute() -> None:
    sim = answers_in_turn("/robots.txt", SILENT)
    sim.admit(*urls(2))
    sim.run(until=START + 3600.0)
    minute = 60 * spread_factor(HOST)
    assert waits(sim, "/robots.txt") == pytest.approx([minute], abs=2.0)
    assert len(sim.pages()) == 2


def test_url_of_silent_host_is_given_up_after_all_retries() -> None:
    sim = Simulation(lambda url: SILENT, retries=2)
    sim.admit(*urls(1))
    sim.run(until=START + 14 * DAY)
    minute, half_a_day = 60 * spread_factor(HOST), 43200 * spread_factor(HOST)
    expected = [minute, half_a_day, 2 * half_a_day]
    assert waits(sim, "/robots.txt") == pytest.approx(expected, abs=5.0)
    assert sim.row().queued == 0


def test_busy_host_backs_off_one_minute_after_being_down() -> None:
    sim = answers_in_turn("/0", BUSY, DOWN, BUSY, BUSY)
    sim.admit(*urls(1))
    sim.run()
    minute = 60 * spread_factor(HOST)
    half_a_day = 720 * minute
    assert waits(sim, "/0") == pytest.approx([minute, half_a_day, 2 * minute, 4 * minute])


def test_refused_certificate_counts_apart_from_connection_failure() -> None:
    sim = answers_in_turn("/0", DOWN, REFUSED)
    sim.admit(*urls(1))
    sim.run(until=START + 0.7 * DAY)
    row = sim.row()
    assert row.politeness.failures == {"connection": 1, "tls": 1}
    assert (row.backoff_cause, row.backoff_reason) == (
        Outcome.TLS_FAILURE,
        "certificate has expired",
    )
    sim.run()
    half_a_day = 43200.0 * spread_factor(HOST)
    assert waits(sim, "/0") == pytest.approx([half_a_day, half_a_day], abs=2.0)


@pytest.mark.parametrize("restarted", [False, True])
@pytest.mark.parametrize("orders", [2, 3, 4])
def test_late_retry_after_postpones_next_order(orders: int, restarted: bool) -> None:
    sim = Simulation(lambda url: {**BUSY, "retry_after": 3600.0} if url in late else {}, batch=1)
    late = {f"{HOST}/0"}
    sim.admit(*urls(6))
    while len(sim.pages()) < 1:
        sim.run(steps=1)
    (report,) = sim.lose()  # Its fetcher was stopped, and tells it when the lease is long over.
    late.clear()
    while len(sim.orders) < 1 + orders:
        sim.run(steps=1)
    asked = len(sim.visits)
    sim.handle(report)
    told_at = sim.now
    if restarted:
        sim.start()
        asked = len(sim.visits)
    sim.run(until=told_at + 1800.0)
    row = sim.row()
    # `gossamer retry` does not end it, and reports so.
    assert (row.condition, row.backoff_cause) == (Condition.BACKING_OFF, Outcome.BUSY)
    sim.run()
    assert len(sim.visits) > asked and sim.visits[asked][0] >= told_at + 3600.0


def test_redelivered_retry_after_does_not_lengthen_backoff() -> None:
    sim = answers_in_turn("/0", {**BUSY, "retry_after": 3600.0})
    sim.admit(*urls(1))
    while len(sim.pages()) < 1:
        sim.run(steps=1)
    (report,) = sim.lose()
    sim.handle(report)
    told_at = sim.now
    sim.run(until=told_at + 1800.0)
    sim.handle(report)
    sim.run()
    assert sim.visits[-1] == (told_at + 3600.0, told_at + 3600.0, f"{HOST}/0")


def test_success_resets_all_failures() -> None:
    sim = answers_in_turn("/0", BUSY, BUSY)
    sim.admit(*urls(1))
    sim.run()
    answers = iter([BUSY])
    sim.answer = lambda url: next(answers, {}) if url.endswith("/1") else {}
    sim.admit(f"{HOST}/1")
    sim.run()
    assert waits(sim, "/1") == pytest.approx([60 * spread_factor(HOST)])


def test_backoff_of_unreachable_robots_txt_grows_until_success() -> None:
    sim = answers_in_turn("/robots.txt", UNREADABLE, DOWN, UNREADABLE)
    sim.admit(*urls(1))
    sim.run()
    ten_minutes, half_a_day = 600.0 * spread_factor(HOST), 43200.0 * spread_factor(HOST)
    expected = [ten_minutes, half_a_day, 2 * ten_minutes]
    assert waits(sim, "/robots.txt") == pytest.approx(expected)


def read_robots(at: float) -> dict[str, object]:
    file = parse_robots(b"User-agent: *\nDisallow: /private/\n", "gossamer", at, DAY)
    return {"robots": file.rules}


def allowed_pages(sim: Simulation) -> list[str]:
    """Return the ordered pages that the order's own rules allow."""
    return [
        visit.url
        for _, order in sim.orders
        for visit in order.visits
        if order.robots and order.robots.allows(visit.url)
    ]


def test_last_copy_of_unreachable_robots_txt_still_applies() -> None:
    answers = iter([read_robots(START)])
    sim = Simulation(lambda url: next(answers, UNREADABLE) if url.endswith("/robots.txt") else {})
    sim.admit(f"{HOST}/0")
    sim.run()
    for day in range(1, 29):
        sim.run(until=START + day * DAY + 1.0)
        sim.admit(f"{HOST}/{day}", f"{HOST}/private/{day}")
        sim.run(until=sim.now + 60.0)
    assert allowed_pages(sim) == urls(29), "only allowed URLs are visited"
    sim.run(until=START + 40 * DAY)
    sim.admit(f"{HOST}/private/late")
    sim.run(until=sim.now + 60.0)
    assert allowed_pages(sim)[-1] == f"{HOST}/private/late", "the file counts as missing"


@pytest.mark.slow
def test_unreachable_robots_txt_with_copy_is_retried_with_growing_backoff() -> None:
    answers = iter([read_robots(START)])
    sim = Simulation(lambda url: next(answers, UNREADABLE) if url.endswith("/robots.txt") else {})
    sim.admit(f"{HOST}/0")
    sim.run()
    sim.run(until=START + DAY)
    sim.admit(*(f"{HOST}/{number}" for number in range(1, 4000)))
    sim.run(until=START + DAY + 3600.0)
    gaps = waits(sim, "/robots.txt")[1:]
    assert len(gaps) == 2
    assert gaps == pytest.approx(
        [600.0 * spread_factor(HOST), 1200.0 * spread_factor(HOST)], abs=20.0
    )
    assert len(sim.pages()) > 3000, "its pages are visited at the same time"


def test_copy_of_robots_txt_survives_failures_of_host() -> None:
    answers = iter([read_robots(START), BUSY, DOWN, UNREADABLE])
    sim = Simulation(lambda url: next(answers) if url.endswith("/robots.txt") else {})
    sim.admit(f"{HOST}/0")
    sim.run()
    sim.run(until=START + DAY)
    sim.admit(f"{HOST}/1", f"{HOST}/private/x")
    sim.run(until=START + 2 * DAY)
    assert allowed_pages(sim) == urls(2)


def test_missing_robots_txt_leaves_no_copy() -> None:
    none = {"outcome": Outcome.GONE, "status": 404, "robots": RobotsRules(status=404)}
    answers = iter([none])
    sim = Simulation(lambda url: next(answers, UNREADABLE) if url.endswith("/robots.txt") else {})
    sim.admit(f"{HOST}/0")
    sim.run(until=START + DAY)
    assert sim.pages() == []


def test_hosts_that_failed_together_return_at_different_times() -> None:
    answers = iter([UNANSWERED] * 50)
    sim = Simulation(lambda url: next(answers, {}))
    sim.admit(*(f"http://{number}.test/" for number in range(50)))
    sim.run()
    again = sorted(start - START for start, _, _ in sim.visits)[50:100]
    assert again[0] >= 60 and again[-1] <= 60 * (1 + MAX_SPREAD) + 2
    assert len({round(at, 1) for at in again}) > 30


def test_robots_txt_at_failing_other_host_is_requested_with_growing_backoff() -> None:
    def elsewhere(url: str) -> dict[str, object]:
        return {"outcome": Outcome.REDIRECT, "location": "http://busy.test/robots.txt"}

    sim = Simulation(elsewhere, down_wait=10.0, down_wait_limit=1000.0)
    sim.admit("http://a.test/")
    sim.run(sim.now + 600.0)
    asked = [begin for begin, _, _ in sim.visits]
    waits = [later - earlier for earlier, later in pairwise(asked)]
    assert len(waits) > 3
    assert all(later > 1.5 * earlier for earlier, later in pairwise(waits))


def test_url_is_not_given_up_while_retry_after_is_obeyed() -> None:
    busy = {**BUSY, "retry_after": 20.0}
    asked = list[float]()

    def answer(url: str) -> dict[str, object]:
        if "robots.txt" in url:
            return {}
        asked.append(sim.now)
        return busy if len(asked) <= 12 else {}

    sim = Simulation(answer, batch=1)
    sim.admit("http://a.test/1", "http://a.test/2")
    sim.run()
    assert {*sim.pages()} == {"http://a.test/1", "http://a.test/2"}
    waits = [after - before for before, after in pairwise(asked[:13])]
    assert all(wait >= 20.0 for wait in waits)
    # After the retries it is requested less often, and never given up.
    assert waits[0] < 30.0 and waits[-1] >= 1800.0


def test_outcome_of_newer_version_keeps_url_and_retry_after() -> None:
    answers = iter([{"outcome": Outcome.OTHER, "retry_after": 3600.0}])
    sim = Simulation(lambda url: {} if url.endswith("/robots.txt") else next(answers, {}))
    sim.admit("http://a.test/1")
    sim.run(sim.now + 86_400.0)
    assert sim.pages() == ["http://a.test/1"] * 2, "both attempts failed"
    assert max(gap for _, gap in sim.gaps()) >= 3600.0
