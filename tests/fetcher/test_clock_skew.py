"""A fetcher whose clock differs from the frontier's: its orders and its reports."""

import asyncio
import time
from typing import Any

from gossamer.events import Outcome
from gossamer.services.fetcher.limitations import AGE_SAMPLE_SIZE, ClockSkew, Limitations
from tests.fetcher.orders import Emitted, fetcher, order, work
from tests.fetcher.servers import page, serving
from tests.support.metrics import metric


async def run_with_skew(skew: float, **changes: Any) -> tuple[Emitted, list[str]]:
    """Return the events of an order by a clock *skew* seconds ahead, and the requested paths."""
    async with (
        serving(a=page(), b=page()) as server,
        fetcher(clock=lambda: time.time() + skew) as processor,
    ):
        given = order(f"{server.root}/a", f"{server.root}/b", **changes)
        return await work(processor, given), server.paths


async def test_order_with_expired_lease_is_returned_with_the_reason() -> None:
    now = time.time()
    emitted, asked = await run_with_skew(700.0, at=now, expires_at=now + 400.0)
    assert (emitted.one.outcome, emitted.one.last, asked) == (Outcome.UNVISITED, True, [])
    assert "expired 300 s ago" in emitted.one.reason and "clock is ahead" in emitted.one.reason


async def test_too_short_lease_is_reported() -> None:
    now = time.time()
    emitted, asked = await run_with_skew(399.5, at=now, expires_at=now + 400.0)
    assert (emitted.one.outcome, emitted.one.last, asked) == (Outcome.UNVISITED, True, [])
    assert emitted.one.reason == "the next request could outlast the lease"


async def test_clock_behind_does_not_extend_a_lease() -> None:
    now = time.time()
    emitted, asked = await run_with_skew(-900.0, at=now, expires_at=now + 1.0)
    assert (emitted.outcomes, asked) == (["unvisited"], [])
    emitted, asked = await run_with_skew(-900.0, at=now, expires_at=now + 100.0)
    assert (emitted.outcomes, asked) == (["page", "page"], ["/a", "/b"])
    times = [(one.started_at, one.at) for one in emitted.ended]
    assert all(now <= start <= end for start, end in times), "in the frontier's time"


async def test_younger_order_shows_that_the_older_lease_has_expired() -> None:
    """The frontier, whose clock is ahead, ended the first lease before the second order."""
    emitted, now = Emitted(), time.time()

    async def epoch_of(site: str) -> int:
        await asyncio.sleep(0.01)
        return 1

    async with serving(a=page(), b=page()) as server, fetcher(epoch_of=epoch_of) as processor:
        older = order(f"{server.root}/a", at=now - 400.0, expires_at=now + 500.0)
        younger = order(f"{server.root}/b", at=now + 510.0, expires_at=now + 1500.0)
        await asyncio.gather(*(processor.work(o, emitted.emit) for o in (older, younger)))
        assert server.paths == ["/b"]
    assert sorted(emitted.outcomes) == ["page", "unvisited"]


async def test_orders_of_an_earlier_run_are_not_clock_skew() -> None:
    told: list[str] = []
    long_ago = time.time() - 5000
    given = order("http://a.example/", epoch=7, at=long_ago, expires_at=long_ago + 300)
    async with fetcher(void_through=7, tell=told.append) as processor:
        emitted = await work(processor, *[given] * AGE_SAMPLE_SIZE)
    assert emitted.outcomes == ["unvisited"] * AGE_SAMPLE_SIZE
    assert not any(told)


def test_large_skew_is_reported_until_it_is_over() -> None:
    told: list[str] = []
    skew = ClockSkew(150.0, Limitations(told.append))
    for _ in range(AGE_SAMPLE_SIZE):
        skew.record_order(1000.0, 1200.0)
    assert "ahead of the frontiers', or orders wait" in told[-1] and "200 s old" in told[-1]
    assert metric("gossamer_clock_skew_seconds") == 200.0
    assert metric("gossamer_fetcher_local_limitation", kind="clock") == 1
    skew.record_order(1200.0, 1200.5)
    assert told[-1] == "", "one young order proves that it only waited"
    assert metric("gossamer_fetcher_local_limitation", kind="clock") == 0
    skew.record_order(1500.0, 1201.0)
    assert told[-1] == "its clock is 299 s behind a frontier's"


def test_few_old_orders_are_not_clock_skew() -> None:
    told: list[str] = []
    skew = ClockSkew(150.0, Limitations(told.append))
    for _ in range(AGE_SAMPLE_SIZE - 1):
        skew.record_order(1000.0, 1200.0)
    assert not any(told)


def test_largest_lead_counts_for_orders_that_waited() -> None:
    skew = ClockSkew(5.0, Limitations(lambda why: None))
    assert skew.seconds_ahead(7, 700.0, 100.0) == 600.0
    assert skew.seconds_ahead(7, 700.0, 130.0) == 600.0, "it is 30 s old, by the frontier's clock"
    assert skew.seconds_ahead(8, 100.0, 130.0) == 0.0, "another frontier has another clock"
    assert skew.seconds_ahead(7, 1100.0, 1100.0) == 0.0, "its clock was put right"
