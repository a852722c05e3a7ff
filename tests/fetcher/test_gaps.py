"""The smallest gap that a host saw, divided by its delay."""

from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from gossamer.services.fetcher.http.client import GapMeter
from tests.fetcher.orders import order, run_order
from tests.fetcher.servers import page, raw, serving
from tests.support.metrics import growth, metric


class Clock:
    def __init__(self) -> None:
        self.now = 50.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def smallest() -> float:
    return metric("gossamer_smallest_gap_ratio")


def visit(gaps: GapMeter, clock: Clock, took: float, host: str = "http://a.test") -> None:
    with gaps.request(host, 10.0):
        clock.now += took


def test_gap_is_from_the_end_of_a_request_to_the_start_of_the_next(clock: Clock) -> None:
    gaps = GapMeter(clock)
    visit(gaps, clock, took=100.0)
    clock.now += 20.0
    visit(gaps, clock, took=100.0)
    assert smallest() == 2.0
    clock.now += 12.0
    visit(gaps, clock, took=0.0)
    clock.now += 15.0
    visit(gaps, clock, took=0.0)
    assert smallest() == 1.2, "the smallest of all"


def test_each_host_has_its_own_gap(clock: Clock) -> None:
    gaps = GapMeter(clock)
    for host in ("http://a.test", "http://b.test", "http://a.test"):
        visit(gaps, clock, 5.0, host)
        clock.now += 5.0
    assert smallest() == 1.5


def test_broken_delay_is_logged_with_its_host(clock: Clock) -> None:
    gaps = GapMeter(clock)
    with capture_logs() as lines:
        visit(gaps, clock, 1.0)
        clock.now += 9.0
        visit(gaps, clock, 1.0)
    assert smallest() == 0.9
    (line,) = lines
    assert (line["event"], line["log_level"]) == ("delay between requests not kept", "warning")
    assert (line["host"], line["gap"], line["delay"]) == ("http://a.test", 9.0, 10.0)


def test_gap_of_overlapping_requests_is_zero(clock: Clock) -> None:
    gaps = GapMeter(clock)
    visit(gaps, clock, 1.0)
    clock.now += 30.0
    visit(gaps, clock, 1.0)
    assert smallest() == 3.0
    with gaps.request("http://c.test", 10.0):
        visit(gaps, clock, 1.0, "http://c.test")
    assert smallest() == 0.0


def test_gap_meter_caches_the_latest_hosts(clock: Clock) -> None:
    gaps = GapMeter(clock, cache_size=100)
    for number in range(10_000):
        visit(gaps, clock, 1.0, f"http://{number}.test")
    assert len(gaps._hosts) == 100
    clock.now += 39.0
    visit(gaps, clock, 1.0, "http://9999.test")
    assert smallest() == 3.9


async def test_fetcher_reports_gaps_and_request_durations() -> None:
    requests = growth("gossamer_fetch_seconds_count")
    async with serving(a=page(), b=raw(b""), c=page()) as server:
        urls = [f"{server.root}/{name}" for name in "abc"]
        await run_order(given=order(*urls, pause=0.1))
        seen = [request.received_at for request in server.requests]
    assert requests() == 4
    shortest = min(later - earlier for earlier, later in pairwise(seen))
    assert 1.0 <= smallest() <= shortest / 0.1
