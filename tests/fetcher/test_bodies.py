"""Limits of bodies: size, rate, and the memory of all bodies together."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.events import Outcome, Purpose
from gossamer.services.fetcher.http.bodies import MemoryBudget, Reservation, TransferRate
from gossamer.web.url import Site
from tests.fetcher.orders import Emitted, fetcher, order, run_order, visit_page
from tests.fetcher.servers import Answer, Server, endless, page, raw, serving

HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
PDF = b"HTTP/1.1 200 OK\r\nContent-Type: application/pdf\r\n\r\n"


async def test_sitemap_has_its_own_limit() -> None:
    text = b"<urlset>" + b" " * 50_000
    async with serving(x=page(text, Content_Type="application/xml")) as server:
        given = order(f"{server.root}/x", purpose=Purpose.SITEMAP)
        whole = await run_order(given=given, body_limit=20_000, sitemap_limit=60_000)
        cut = await run_order(given=given, body_limit=20_000, sitemap_limit=40_000)
    assert [(one.body, one.truncated) for one in whole.pages] == [(text, "")]
    assert [(len(one.body), one.truncated) for one in cut.pages] == [(40_000, "length")]


DRIP = endless(HTML, b"drip ", every=0.01)
LIMITS: dict[str, tuple[Answer, dict[str, Any], str, str | None, int | None]] = {
    # Answer, settings, hazard, how the stored body was cut (None: not stored), bytes received
    "exactly the limit": (page(b"x" * 20_000), {}, "", "", 20_000),
    "endless": (endless(HTML, b"and so on " * 500), {}, "infinite_body", "length", 20_000),
    "a PDF has its own limit": (
        raw(PDF + b"%PDF-1.7 " + b"x" * 50_000), {"pdf_limit": 100_000}, "", "", 50_009),
    "an endless PDF": (
        endless(PDF + b"%PDF-1.7 ", b"x" * 5000),
        {"pdf_limit": 100_000}, "infinite_body", None, 100_000),
    "slow": (DRIP, {"slow_rate": 100_000, "slow_window": 0.2}, "slow_transfer", "time", None),
    "slow, without a minimum rate": (
        endless(HTML, b"drip " * 100, every=0.01),
        {"slow_rate": 0, "slow_window": 0.05}, "infinite_body", "length", 20_000),
    "longer than a visit": (DRIP, {"visit_limit": 2.0}, "trap_time", "time", None),
}  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "changes", "hazard", "cut", "received"), LIMITS.values(), ids=LIMITS
)
async def test_body_beyond_a_limit_is_cut_and_its_beginning_is_stored(
    answer: Answer, changes: dict[str, Any], hazard: str, cut: str | None, received: int | None
) -> None:
    emitted = await visit_page(answer, **changes)
    outcome = Outcome.UNWANTED_TYPE if cut is None else Outcome.PAGE
    assert (emitted.one.outcome, emitted.one.hazards) == (outcome, (hazard,) if hazard else ())
    assert [one.truncated for one in emitted.pages] == ([] if cut is None else [cut])
    if received is not None:
        assert emitted.one.received == received
        assert all(len(one.body) == received for one in emitted.pages)
    else:
        assert emitted.pages[0].body.startswith(b"drip drip ")
    assert all(one.hazards == emitted.one.hazards for one in emitted.pages)


@given(st.lists(st.tuples(st.floats(0.01, 30), st.integers(0, 5000)), max_size=60))
def test_sufficient_rate_in_each_window_is_never_slow(came: list[tuple[float, int]]) -> None:
    now, speed = 0.0, TransferRate(100, 20.0, 0.0)
    for wait, size in came:
        now += wait
        assert not speed.is_slow(size + int(wait * 100) + 1, now)


def test_low_rate_is_slow_after_two_windows() -> None:
    speed = TransferRate(100, 20.0, 0.0)
    assert not any(speed.is_slow(99, float(now)) for now in range(1, 20))
    assert speed.is_slow(99, 20.0)


def delay_last_byte(body: bytes, go: asyncio.Event) -> Answer:
    """Send *body*, its last byte after *go*."""

    async def answer(server: Server, writer: asyncio.StreamWriter) -> bool:
        writer.write(HTML + body[:-1])
        await go.wait()
        writer.write(body[-1:])
        return False

    return answer


LARGE = 3_000_000
"""Bytes: more than the buffers of sockets."""
PATIENT: dict[str, Any] = {
    "bodies_limit": 10_000,
    "between_bytes_limit": 20.0,
    "visit_limit": 20.0,
    "body_limit": LARGE,
}


async def test_body_waits_while_the_memory_budget_is_used_up() -> None:
    go, first, second = asyncio.Event(), Emitted(), Emitted()
    async with (
        serving(x=delay_last_byte(b"a" * 9000, go)) as one,
        serving(x=page(b"b" * LARGE)) as two,
        fetcher(**PATIENT) as processor,
        asyncio.TaskGroup() as both,
    ):
        both.create_task(processor.work(order(f"{one.root}/x"), first.emit))
        while not processor._web.bodies.budget.used:
            await asyncio.sleep(0)
        late = both.create_task(processor.work(order(f"{two.root}/x"), second.emit))
        while two.paths != ["/x"]:
            await asyncio.sleep(0.01)
        done, _ = await asyncio.wait([late], timeout=0.2)
        assert not done
        go.set()
    assert [len(emitted.pages[0].body) for emitted in (first, second)] == [9000, LARGE]
    assert [emitted.pages[0].truncated for emitted in (first, second)] == ["", ""]


async def test_body_that_waits_too_long_is_retried_as_internal_error() -> None:
    go, emitted = asyncio.Event(), Emitted()
    async with (
        serving(x=delay_last_byte(b"a" * 9000, go)) as one,
        serving(x=page(b"b" * LARGE)) as two,
        fetcher(**PATIENT) as patient,
        fetcher(visit_limit=1.5, body_limit=LARGE) as hurried,
        asyncio.TaskGroup() as tasks,
    ):
        hurried._web.bodies.budget = patient._web.bodies.budget
        tasks.create_task(patient.work(order(f"{one.root}/x"), Emitted().emit))
        while not patient._web.bodies.budget.used:
            await asyncio.sleep(0)
        await hurried.work(order(f"{two.root}/x"), emitted.emit)
        go.set()
    assert (emitted.one.outcome, emitted.one.hazards) == (Outcome.INTERNAL_ERROR, ())
    assert emitted.one.started_at and emitted.pages == []


A, B = Site("a.test"), Site("b.test")


async def test_usual_body_never_waits_for_large_ones() -> None:
    budget = MemoryBudget(1000, bodies=10)
    with budget.reserve(A) as first, budget.reserve(B) as usual:
        await budget.grow(first, 2000)
        assert not await budget.grow(usual, 50)


async def test_large_bodies_of_a_site_leave_memory_to_others() -> None:
    budget = MemoryBudget(1000, bodies=10)
    with budget.reserve(A) as first, budget.reserve(A) as second, budget.reserve(B) as other:
        await budget.grow(first, 200)
        waits = asyncio.create_task(budget.grow(second, 200))
        await asyncio.sleep(0)
        assert not await budget.grow(other, 200)
        assert second.waits
        waits.cancel()


async def test_much_larger_body_yields_to_one_that_waits() -> None:
    budget, ended = MemoryBudget(1000, bodies=10), asyncio.Event()

    async def transfer() -> None:
        with budget.reserve(A) as large, suppress(TimeoutError):
            async with asyncio.timeout(None) as large.time:
                await budget.grow(large, 600)
                began.set()
                await asyncio.Event().wait()
        assert large.waits, "its visit is an internal error"
        ended.set()

    began = asyncio.Event()
    hostile = asyncio.create_task(transfer())
    await began.wait()
    with budget.reserve(B) as body:
        assert await budget.grow(body, 200)
        assert ended.is_set()
    await hostile


@given(
    st.lists(st.tuples(st.sampled_from([A, B]), st.integers(1, 40)), min_size=1, max_size=12),
    st.integers(1, 100),
    st.integers(1, 12),
)
def test_all_bodies_finish_within_the_memory_budget(
    sizes: list[tuple[Site, int]], limit: int, bodies: int
) -> None:
    most = 0

    async def read_body(budget: MemoryBudget, site: Site, size: int) -> None:
        nonlocal most
        with budget.reserve(site) as reservation:
            await grow(budget, reservation, size)

    async def grow(budget: MemoryBudget, reservation: Reservation, size: int) -> None:
        nonlocal most
        for _ in range(size):
            await budget.grow(reservation, 1)
            most = max(most, budget.used)
            await asyncio.sleep(0)

    async def all_of_them() -> int:
        budget = MemoryBudget(limit, bodies)
        await asyncio.gather(*(read_body(budget, site, size) for site, size in sizes))
        return budget.used

    assert asyncio.run(all_of_them()) == 0
    largest = max(size for _, size in sizes)
    # Each site goes on with the body that it began first.
    assert most <= limit + 2 * largest + len(sizes) * (1 + limit // (2 * bodies))
