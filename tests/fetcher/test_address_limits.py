"""Hosts of one address: the requests to its server, by one fetcher or more."""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import AsyncExitStack, nullcontext
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import Unavailable
from gossamer.events import HostCheckedOut
from gossamer.services.fetcher.http.limiters import (
    Admission,
    Limiter,
    Request,
    SlotLimiter,
    Stage,
)
from gossamer.services.fetcher.rate_limits import (
    CACHE_SIZE,
    EVERY_ADDRESS,
    MAX_ADDRESS_WAIT,
    AddressLimits,
    Denied,
    SlotSource,
    address_key,
)
from gossamer.web.url import Site
from tests.fetcher.nameserver import naming
from tests.fetcher.orders import Emitted, fetcher, order, work
from tests.fetcher.servers import Answer, Server, page, serving
from tests.fetcher.test_limiters import in_virtual_time

ADDRESS, LIMIT = "192.0.2.1", 10.0
acts = st.lists(
    st.tuples(st.sampled_from(["ask", "leave", "lease"]), st.floats(0.0, 8.0), st.integers(0, 3)),
    max_size=60,
)


@given(acts, st.floats(0.0, 1.0))
def test_starts_are_spaced_and_no_slot_is_given_twice(
    acts: list[tuple[str, float, int]], gap: float
) -> None:
    limits, now, last = AddressLimits(4, gap, LIMIT), 0.0, -gap
    leases, held = dict[int, float](), list[int]()
    for act, later, slot in acts:
        now += later
        if act == "lease":
            if slot not in held:
                leases[slot] = now + 30.0
                limits.add_lease(ADDRESS, slot, leases[slot], now)
        elif act == "leave" and held:
            limits.release_slot(ADDRESS, held.pop(), later, now)
        elif act == "ask":
            try:
                start = now + limits.reserve_start(ADDRESS, 1, inf, now)
            except Denied as denied:
                assert denied.wait >= MAX_ADDRESS_WAIT - 1e-9
                continue
            assert start - now <= MAX_ADDRESS_WAIT and start >= last + gap - 1e-9
            last = start
            if (got := limits.acquire_slot(ADDRESS, now)) is not None:
                assert got not in held
                assert leases[got] >= now + 2 * LIMIT, "the request ends before the lease does"
                held.append(got)
        assert limits.slots_in_use(ADDRESS, now) == set(held)


def test_denied_orders_return_at_the_rate_of_the_address() -> None:
    limits = AddressLimits(4, 0.1, LIMIT)
    limits.add_lease(ADDRESS, 0, 1000.0, 0.0)
    assert limits.acquire_slot(ADDRESS, 0.0) == 0
    limits.release_slot(
        ADDRESS, 0, 2.0, 0.0
    )  # Four at once, two seconds each: two requests a second.
    waits = [limits.deny(ADDRESS, 10, inf, 0.0).wait for _ in range(5000)]
    assert waits[0] == MAX_ADDRESS_WAIT
    assert waits[-1] == pytest.approx(MAX_ADDRESS_WAIT + 4999 * 10 / 2)


def test_delay_of_the_host_counts_if_it_is_shorter_than_the_gap() -> None:
    limits = AddressLimits(4, 0.1, LIMIT)
    waits = [limits.reserve_start(ADDRESS, 1, delay, 0.0) for delay in (0.0, 0.0, 0.04, 1.0, 1.0)]
    assert waits == pytest.approx([0.0, 0.0, 0.0, 0.04, 0.14])


def test_address_states_are_bounded_and_kept_while_in_use() -> None:
    limits = AddressLimits(4, 1.0, LIMIT)
    limits.add_lease("first", 3, inf, 0.0)
    assert limits.acquire_slot("first", 0.0) == 3
    for number in range(3 * CACHE_SIZE):
        limits.add_lease(str(number), 0, inf, 100.0 + number)
    assert limits.slots_in_use("first", 100.0) == {3}
    assert len(limits._states) <= CACHE_SIZE + 2


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
    ],
)
def test_address_key_is_an_ipv4_address_or_an_ipv6_network(
    one: str, other: str, same: bool
) -> None:
    assert (address_key(one) == address_key(other)) is same


class Counting:
    """Counts the concurrent requests of a server."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.now = self.most = 0

    def page(self) -> Answer:
        async def answer(server: Server, writer: asyncio.StreamWriter) -> bool:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(self._seconds)
            self.now -= 1
            return await page()(server, writer)

        return answer


HOSTS = 30


def orders(server: Server) -> Iterator[HostCheckedOut]:
    for number in range(HOSTS):
        root = f"http://h{number}.example:{server.port}"
        yield order(f"{root}/a", f"{root}/b", order=str(number), site=f"h{number}.example")


class Shared:
    """The slots of an address, which fetchers take exclusively."""

    def __init__(self, at_once: int) -> None:
        self._free = set(range(at_once))

    def slots(self) -> SlotSource:
        return SomeSlots(self._free)


class SomeSlots:
    blocks, term = True, 60.0

    def __init__(self, free: set[int]) -> None:
        self._free, self._ours = free, set[int]()

    def acquire(self, address: str, in_use: Collection[int]) -> int | None:
        found = next(iter((self._ours - {*in_use}) | self._free), None)
        if found is None:
            return None
        if found not in self._ours:
            self._free.remove(found)
        self._ours.add(found)
        return found


async def test_two_fetchers_share_the_limit_of_an_address_and_visit_all() -> None:
    names = {f"h{number}.example": ("127.0.0.1",) for number in range(HOSTS)}
    counting, shared = Counting(0.02), Shared(3)
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving(a=counting.page(), b=counting.page()))
        dns = await stack.enter_async_context(naming(names))
        changes: dict[str, Any] = {"nameserver": dns.address, "address_at_once": 3}
        fetchers = [
            await stack.enter_async_context(fetcher(slots=shared.slots(), **changes))
            for _ in range(2)
        ]
        left, emitted, turn = list(orders(server)), Emitted(), 0
        while left:
            # A returned order comes again, as from the frontier. It comes to the other fetcher,
            # because this one may have no slot.
            before, turn = len(emitted.ended), turn + 1
            await asyncio.gather(
                *(fetchers[n % 2].work(one, emitted.emit) for n, one in enumerate(left, turn))
            )
            back = [end for end in emitted.ended[before:] if end.outcome == "unvisited"]
            assert all(end.retry_after >= MAX_ADDRESS_WAIT and not end.started_at for end in back)
            left = [
                order(*(visit.url for visit in one.visits[end.index :]), order=one.order,
                      site=one.site)
                for one in left
                for end in back
                if end.order == one.order
            ]  # fmt: skip
    assert counting.most == 3
    assert sorted(emitted.outcomes.count(kind) for kind in ("page",)) == [2 * HOSTS]
    assert server.connections <= 2 * HOSTS


class TimedSlots:
    """Slots that nobody else leases, for *term* seconds; counts the leases by key."""

    blocks = False

    def __init__(self, term: float) -> None:
        self.term, self.leases = term, Counter[str]()

    def acquire(self, address: str, in_use: Collection[int]) -> int | None:
        self.leases[address] += 1
        slots = range(2) if address == EVERY_ADDRESS else range(2, 4)
        return next((slot for slot in slots if slot not in in_use), None)


class Requests:
    """Requests to addresses, in virtual time."""

    def __init__(self, slots: SlotSource, visit_limit: float = 60.0) -> None:
        self.time = asyncio.get_running_loop().time
        limits = AddressLimits(4, 0.0, visit_limit)
        admit = SlotLimiter(limits, slots, self.time).admit
        self._limiters: tuple[Limiter[Request], ...] = (
            Limiter("slots", "", Stage.CONNECT, admit),
            Limiter("sending", "", Stage.SEND, lambda request: nullcontext()),
        )

    async def make(self, address: str, connects: float = 0.0, takes: float = 1.0) -> float:
        """Make a request that is sent after *connects* seconds; return when it was sent."""
        request = Request(Site("a.example"), 0.0, 0.0, 1, lambda: inf, address)
        async with Admission[Request](self._limiters, request) as admission:
            await admission.reach(Stage.CONNECT)
            await asyncio.sleep(connects)
            await admission.reach(Stage.SEND)
            sent_at = self.time()
            await asyncio.sleep(takes)
            return sent_at


def test_slots_of_every_address_are_leased_once_for_all_addresses() -> None:
    async def main() -> None:
        slots = TimedSlots(term=240.0)
        requests = Requests(slots)
        await asyncio.gather(*(requests.make(f"192.0.2.{n % 100}") for n in range(200)))
        assert slots.leases == {EVERY_ADDRESS: 2}
        await asyncio.gather(*(requests.make(ADDRESS) for _ in range(4)))
        assert slots.leases == {EVERY_ADDRESS: 3, ADDRESS: 2}

    in_virtual_time(main())


def test_leases_are_renewed_while_they_cover_two_visits() -> None:
    async def main() -> None:
        slots = TimedSlots(term=240.0)
        requests = Requests(slots)
        for _ in range(600):
            await requests.make(ADDRESS)
        assert slots.leases == {EVERY_ADDRESS: 5}, "a lease serves for 120 s"

    in_virtual_time(main())


def test_request_that_would_outlast_the_lease_of_its_slot_is_not_sent() -> None:
    """A fetcher that was frozen continues when its slot may belong to another fetcher."""

    async def main() -> None:
        requests = Requests(TimedSlots(term=240.0))
        assert await requests.make(ADDRESS, connects=179.0) == 179.0
        with pytest.raises(Denied, match="lease"):
            await requests.make(ADDRESS, connects=181.0)

    in_virtual_time(main())


def test_waiting_requests_do_not_ask_an_unavailable_store_one_after_another() -> None:
    async def main() -> None:
        asked: list[str] = []

        class Away(TimedSlots):
            def acquire(self, address: str, in_use: Collection[int]) -> int | None:
                asked.append(address)
                raise Unavailable("Cassandra does not answer")

        requests = Requests(Away(term=240.0))
        made = [requests.make(f"192.0.2.{n}") for n in range(20)]
        ended = await asyncio.gather(*made, return_exceptions=True)
        assert all(isinstance(one, Denied) for one in ended)
        assert asked.count(EVERY_ADDRESS) == 1

    in_virtual_time(main())


async def test_idle_connections_count_for_the_limit_of_an_address() -> None:
    names = {f"h{number}.example": ("127.0.0.1",) for number in range(HOSTS)}
    emitted = Emitted()
    async with (
        serving(a=page(), b=page()) as server,
        naming(names) as dns,
        fetcher(nameserver=dns.address, address_at_once=4) as processor,
    ):
        for one in orders(server):
            await processor.work(one, emitted.emit)
            assert len(server.open) <= 4
    assert emitted.outcomes == ["page"] * 2 * HOSTS


async def test_delayed_hosts_hold_no_permit_of_the_fetcher() -> None:
    counting = Counting(0.01)
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(serving(a=counting.page(), b=counting.page()))
            for _ in range(6)
        ]
        processor = await stack.enter_async_context(fetcher(concurrency=2))
        emitted = Emitted()
        await asyncio.gather(
            *(
                processor.work(
                    order(f"{one.root}/a", f"{one.root}/b", order=one.root, pause=0.5), emitted.emit
                )
                for one in servers
            )
        )
        firsts, seconds = zip(
            *([request.received_at for request in one.requests] for one in servers), strict=True
        )
    assert emitted.outcomes == ["page"] * 12
    assert counting.most == 2
    assert max(firsts) < min(seconds), "all requests began during the first pause"


class NoSlots:
    """The slots in a store that does not answer."""

    blocks, term = True, 60.0

    def acquire(self, address: str, in_use: Collection[int]) -> int | None:
        raise Unavailable("Cassandra does not answer")


async def test_requests_are_denied_while_the_store_is_unavailable() -> None:
    async with serving(a=page(), b=page()) as server, fetcher(slots=NoSlots()) as processor:
        emitted = await work(processor, order(f"{server.root}/a", f"{server.root}/b"))
    assert emitted.outcomes == ["unvisited"]
    end = emitted.one
    assert (end.last, end.retry_after) == (True, MAX_ADDRESS_WAIT)
    assert "Cassandra does not answer" in end.reason
    assert server.requests == []
