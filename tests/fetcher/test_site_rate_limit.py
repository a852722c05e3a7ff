"""Requests to the hosts of a site are spaced, however many hosts are checked out."""

import asyncio
import time
from contextlib import AsyncExitStack
from heapq import heapify, heappop, heappush
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.fetcher.rate_limits import CACHE_SIZE, SiteRateLimit
from gossamer.web.url import Site
from tests.fetcher.orders import Emitted, fetcher, order, work
from tests.fetcher.servers import page, serving

asks = st.lists(st.tuples(st.sampled_from("abc"), st.floats(0.0, 3.0)), max_size=40)


@given(asks, st.floats(0.1, 2.0))
def test_visits_to_a_site_are_spaced_without_needless_delay(
    asks: list[tuple[str, float]], gap: float
) -> None:
    limit, now, last = SiteRateLimit(), 0.0, dict[str, float]()
    for site, later in asks:
        now += later
        start = now + limit.reserve_start(Site(site), gap, now)
        soonest = last.get(site, -gap) + gap
        assert abs(start - max(now, soonest)) < 1e-9
        last[site] = start


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0.0, 3.0)), max_size=20))
def test_requests_are_spaced_though_connections_are_late(asks: list[tuple[str, float]]) -> None:
    limit, gap, sent = SiteRateLimit(), 1.0, dict[str, list[float]]()
    waiting = [(limit.reserve_start(Site(site), gap, 0.0) + late, site) for site, late in asks]
    heapify(waiting)
    while waiting:
        now, site = heappop(waiting)
        if wait := limit.reserve_send(Site(site), gap, now):
            heappush(waiting, (now + wait, site))
        else:
            sent.setdefault(site, []).append(now)
    for times in sent.values():
        assert all(b - a > gap - 1e-9 for a, b in pairwise(times))
    assert sum(map(len, sent.values())) == len(asks)


def test_number_of_cached_sites_is_limited() -> None:
    limit = SiteRateLimit()
    for number in range(CACHE_SIZE + 1):
        limit.reserve_start(Site(f"{number}.example"), 1.0, 0.0)
    assert limit.reserve_start(Site("0.example"), 1.0, 0.0) == 0.0
    assert limit.reserve_start(Site(f"{CACHE_SIZE}.example"), 1.0, 0.0) == 1.0


async def test_hosts_of_a_site_are_requested_one_after_another() -> None:
    gap = 0.05
    async with AsyncExitStack() as stack, fetcher() as processor:
        servers = [await stack.enter_async_context(serving(a=page(), b=page())) for _ in range(4)]
        orders = [
            order(f"{one.root}/a", f"{one.root}/b", order=one.root, site_gap=gap) for one in servers
        ]
        emitted, begun = Emitted(), asyncio.get_running_loop().time()
        await asyncio.gather(*(processor.work(one, emitted.emit) for one in orders))
        asked = sorted(request.received_at for one in servers for request in one.requests)
    assert emitted.outcomes == ["page"] * 8
    for number, received_at in enumerate(asked):
        assert received_at - begun >= number * gap


async def test_connected_request_is_not_sent_if_it_could_outlast_the_lease() -> None:
    """The fetcher is suspended while it connects: time passes, and nothing was sent."""
    now, stopped = [time.time()], 0.0
    async with serving(a=page(), b=page()) as server, fetcher(clock=lambda: now[0]) as processor:
        resolver = processor._web.resolver
        lookup = resolver.addresses

        async def slow_lookup(name: str) -> tuple[str, ...]:
            now[0] += stopped
            return await lookup(name)

        resolver.addresses = slow_lookup  # type: ignore[assignment,method-assign]
        until = now[0] + 50.0
        in_time = await work(processor, order(f"{server.root}/a", expires_at=until))
        stopped = 40.0  # With the visit limit of 20 s, this is beyond the lease.
        late = await work(processor, order(f"{server.root}/b", expires_at=until))
    assert [request.path for request in server.requests] == ["/a"]
    assert in_time.one.outcome == "page"
    assert (late.one.outcome, late.one.started_at) == ("unvisited", 0.0)


async def test_order_is_returned_if_its_start_would_be_too_late() -> None:
    async with serving(a=page()) as server, fetcher(visit_limit=30.0) as processor:
        await work(processor, order(f"{server.root}/a", site_gap=100.0))
        late = order(f"{server.root}/a", site_gap=100.0, expires_at=time.time() + 50.0)
        second = await work(processor, late)
    assert len(server.requests) == 1
    assert (second.one.outcome, second.one.started_at) == ("unvisited", 0.0)
