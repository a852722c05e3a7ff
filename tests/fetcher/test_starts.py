"""The hosts of a site are not asked together, however many of them are checked out."""

import asyncio
import time
from contextlib import AsyncExitStack

from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.starts import REMEMBERED, Starts
from tests.fetcher.orders import Emitted, fetcher, order
from tests.fetcher.servers import page, serving

asks = st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.0, 3.0)), max_size=40)


@given(asks, st.floats(0.1, 2.0))
def test_visits_to_a_site_start_apart_and_no_later_than_that_needs(
    asks: list[tuple[str, float]], gap: float
) -> None:
    starts, now, last = Starts(), 0.0, dict[str, float]()
    for site, later in asks:
        now += later
        start = now + starts.wait(site, gap, now)
        soonest = last.get(site, -gap) + gap
        assert abs(start - max(now, soonest)) < 1e-9
        last[site] = start


def test_no_more_sites_are_remembered_than_a_limit() -> None:
    starts = Starts()
    for number in range(REMEMBERED + 1):
        starts.wait(f"{number}.example", 1.0, 0.0)
    assert starts.wait("0.example", 1.0, 0.0) == 0.0
    assert starts.wait(f"{REMEMBERED}.example", 1.0, 0.0) == 1.0


async def test_four_hosts_of_a_site_are_asked_one_after_another() -> None:
    gap = 0.05
    async with AsyncExitStack() as stack, fetcher() as processor:
        servers = [await stack.enter_async_context(serving(a=page(), b=page())) for _ in range(4)]
        orders = [
            order(f"{one.root}/a", f"{one.root}/b", order=one.root, site_gap=gap) for one in servers
        ]
        emitted, begun = Emitted(), asyncio.get_running_loop().time()
        await asyncio.gather(*(processor.work(one, emitted.emit) for one in orders))
        asked = sorted(request.came_at for one in servers for request in one.requests)
    assert emitted.outcomes == ["page"] * 8
    for number, came_at in enumerate(asked):
        assert came_at - begun >= number * gap


async def test_an_order_whose_turn_comes_too_late_is_handed_back_unasked() -> None:
    async with serving(a=page()) as server, fetcher(visit_limit=30.0) as processor:
        first, second = Emitted(), Emitted()
        await processor.work(order(f"{server.root}/a", site_gap=100.0), first.emit)
        late = order(f"{server.root}/a", site_gap=100.0, expires_at=time.time() + 50.0)
        await processor.work(late, second.emit)
    assert len(server.requests) == 1
    assert (second.one.outcome, second.one.started_at) == ("unvisited", 0.0)
