"""The resolver with a name server on loopback: its queries, and the permitted addresses."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import ip_network
from typing import Any

import pytest

from gossamer.blocklist import Blocklist
from gossamer.events import Outcome
from gossamer.services.fetcher.http.nameservers import DnsFailure, DnsUnanswered
from gossamer.services.fetcher.http.resolver import MIN_TTL, PrivateAddress, Resolver, clamp_ttl
from tests.fetcher.nameserver import NameServer, naming
from tests.fetcher.orders import HASTY, Emitted, fetcher, order, run_order, settings
from tests.fetcher.servers import page, serving
from tests.support.metrics import growth

PUBLIC = "93.184.215.14"
PUBLIC6 = "2606:2800:21f:cb07:6820:80da:af6b:8b2c"


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@asynccontextmanager
async def resolver(
    dns: NameServer, clock: Clock | None = None, entries: int = 9, **changes: Any
) -> AsyncIterator[Resolver]:
    given = settings(nameserver=dns.address, **changes)
    made = Resolver(given, clock or Clock(), Blocklist(), entries)
    try:
        yield made
    finally:
        await made.close()


async def test_name_has_the_addresses_of_its_server() -> None:
    zone = {"both.example": (PUBLIC, PUBLIC6), "six.example": (PUBLIC6,)}
    async with naming(zone) as dns, resolver(dns) as resolve:
        assert set(await resolve.addresses("both.example")) == {PUBLIC, PUBLIC6}
        assert await resolve.addresses("six.example") == (PUBLIC6,)


async def test_missing_names_and_names_without_address_are_failures() -> None:
    async with naming({"empty.example": ()}) as dns, resolver(dns) as resolve:
        for name in ("nowhere.example", "empty.example"):
            with pytest.raises(DnsFailure, match=name):
                await resolve.addresses(name)


async def test_answer_without_address_is_verified_by_a_second_query() -> None:
    async with naming({"here.example": (PUBLIC,)}) as dns, resolver(dns) as resolve:
        dns.empty = 1
        assert await resolve.addresses("here.example") == (PUBLIC,)
    async with naming({"here.example": (PUBLIC,)}) as dns, resolver(dns) as resolve:
        dns.empty = 1000
        with pytest.raises(DnsFailure):
            await resolve.addresses("here.example")


async def test_valid_records_of_a_malformed_answer_are_used() -> None:
    zone = {"odd.example": (PUBLIC, PUBLIC6), "empty.example": (), "good.example": (PUBLIC,)}
    clock = Clock()
    async with naming(zone, ttl=3600) as dns, resolver(dns, clock) as resolve:
        dns.odd = frozenset({"odd.example", "empty.example"})
        found = await asyncio.gather(*map(resolve.addresses, ("odd.example", "good.example")))
        assert [set(one) for one in found] == [{PUBLIC, PUBLIC6}, {PUBLIC}]
        asked = dns.count("odd.example")
        clock.now += 3599
        await resolve.addresses("odd.example")
        assert dns.count("odd.example") == asked, "it is kept for its TTL"
        with pytest.raises(DnsUnanswered):
            await resolve.addresses("empty.example")


async def test_private_address_in_a_malformed_answer_is_not_visited() -> None:
    async with naming({"odd.example": ("127.0.0.1",)}) as dns, serving(x=page()) as server:
        dns.odd = frozenset({"odd.example"})
        refused = await visit(f"http://odd.example:{server.port}/x", dns, allow_networks=())
        assert (refused.one.outcome, server.connections) == (Outcome.PRIVATE_ADDRESS, 0)
        assert (await visit(f"http://odd.example:{server.port}/x", dns)).outcomes[0] == "page"


async def test_zone_that_never_answers_does_not_block_others() -> None:
    dead = [f"{n}.dead.example" for n in range(40)]
    zone = {f"{n}.example": (PUBLIC,) for n in range(20)}
    async with naming(zone) as dns, resolver(dns, entries=99, lookups_limit=8) as resolve:
        dns.dead = frozenset(dead)
        askers = [asyncio.create_task(resolve.addresses(name)) for name in dead]
        while len(dns.asked) < 2:
            await asyncio.sleep(0.001)
        assert await asyncio.gather(*map(resolve.addresses, zone)) == [(PUBLIC,)] * 20
        assert len(set(dns.asked) & dns.dead) == 2, "a quarter of the lookups"
        for asker in askers:
            asker.cancel()


async def test_slow_names_do_not_block_first_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gossamer.services.fetcher.http.resolver.FIRST_TRY_TIMEOUT", 0.1)
    dead = [f"dead{n}.example" for n in range(40)]
    zone = {f"{n}.example": (PUBLIC,) for n in range(20)}
    async with (
        naming(zone) as dns,
        resolver(dns, entries=99, lookups_limit=8, visit_limit=600.0) as resolve,
    ):
        dns.dead = frozenset(dead)
        askers = [asyncio.create_task(resolve.addresses(name)) for name in dead]
        assert await asyncio.gather(*map(resolve.addresses, zone)) == [(PUBLIC,)] * 20
        for asker in askers:
            # On a slow machine, the name server's own time may be over.
            is_cancelled = asker.done() and "cancelled" in str(asker.exception())
            assert not is_cancelled, "no other lookup is cancelled"
            asker.cancel()


async def test_malformed_answer_does_not_affect_other_names() -> None:
    names = [f"{n}.example" for n in range(20)]
    zone = {name: (PUBLIC,) for name in (*names, "bad.example")}
    async with naming(zone) as dns, resolver(dns, entries=99) as resolve:
        dns.broken = frozenset({"bad.example"})
        dns.gate.clear()
        askers = [asyncio.create_task(resolve.addresses(n)) for n in ("bad.example", *names)]
        while len(dns.held) < 2 * len(zone):
            await asyncio.sleep(0.001)
        dns.open()
        bad, *good = await asyncio.gather(*askers, return_exceptions=True)
    assert isinstance(bad, DnsUnanswered)
    assert good == [(PUBLIC,)] * 20


@pytest.mark.slow
async def test_names_that_were_unanswered_do_not_block_others() -> None:
    dead = [f"{n}.dead.example" for n in range(8)]
    async with (
        naming({"good.example": (PUBLIC,)}) as dns,
        resolver(dns, entries=99, lookups_limit=4, visit_limit=0.2) as resolve,
    ):
        dns.dead = frozenset(dead)
        await asyncio.gather(*map(resolve.addresses, dead), return_exceptions=True)
        askers = [asyncio.create_task(resolve.addresses(name)) for name in dead]
        before = len(dns.asked)
        while len(dns.asked) == before:
            await asyncio.sleep(0.001)
        assert await resolve.addresses("good.example") == (PUBLIC,)
        assert not any(asker.done() for asker in askers[1:]), "the good one waits for one at most"
        found = await asyncio.gather(*askers, return_exceptions=True)
    assert all(isinstance(one, DnsUnanswered) for one in found)


@pytest.mark.parametrize(
    ("ttl", "later", "asked"), [(0, MIN_TTL - 1, 1), (0, MIN_TTL + 1, 2), (3600, 3599.0, 1)]
)
async def test_answer_is_cached_for_its_ttl_and_at_least_a_minute(
    ttl: int, later: float, asked: int
) -> None:
    clock = Clock()
    async with naming({"a.example": (PUBLIC,)}, ttl) as dns, resolver(dns, clock) as resolve:
        await resolve.addresses("a.example")
        clock.now += later
        await resolve.addresses("a.example")
        assert dns.count("a.example") == asked


async def test_only_real_lookups_are_timed() -> None:
    async with naming({"a.example": (PUBLIC,)}, ttl=3600) as dns, resolver(dns) as resolve:
        lookups = growth("gossamer_dns_seconds_count")
        for _ in range(3):
            await asyncio.gather(*(resolve.addresses("a.example") for _ in range(3)))
        assert lookups() == 1, "cached and running lookups are not repeated"
        with pytest.raises(DnsFailure):
            await resolve.addresses("nowhere.example")
        assert lookups() == 2


def test_answer_is_cached_for_at_most_a_day() -> None:
    assert [clamp_ttl(ttl) for ttl in (0, 59, 61, 86400, 86401, 2**31)] == [
        60, 60, 61, 86400, 86400, 86400
    ]  # fmt: skip


async def test_resolver_caches_the_most_recently_used_names() -> None:
    zone = {f"{n}.example": (PUBLIC,) for n in range(5)}
    async with naming(zone) as dns, resolver(dns, entries=3) as resolve:
        for name in ("0", "1", "2", "0", "3", "4"):
            await resolve.addresses(f"{name}.example")
        await resolve.addresses("0.example")
        assert dns.count("0.example") == 1
        await resolve.addresses("1.example")
        assert dns.count("1.example") == 2


async def test_concurrent_callers_share_one_lookup() -> None:
    async with naming({"a.example": (PUBLIC,)}) as dns, resolver(dns) as resolve:
        dns.gate.clear()
        askers = [asyncio.create_task(resolve.addresses("a.example")) for _ in range(20)]
        while not dns.asked:
            await asyncio.sleep(0.001)
        askers[0].cancel()
        dns.open()
        answers = await asyncio.gather(*askers, return_exceptions=True)
        assert answers[1:] == [(PUBLIC,)] * 19
        assert dns.count("a.example") == 1


async def test_lookups_in_flight_are_limited() -> None:
    zone = {f"{n}.example": (PUBLIC,) for n in range(10)}
    async with naming(zone) as dns, resolver(dns, lookups_limit=3) as resolve:
        dns.gate.clear()
        askers = [asyncio.create_task(resolve.addresses(name)) for name in zone]
        while len(dns.asked) < 3:
            await asyncio.sleep(0.001)
        # A lookup has two queries: three lookups are the most that can be in flight.
        while len(dns.held) < 6:
            await asyncio.sleep(0.001)
        assert len(set(dns.asked)) == 3
        dns.open()
        await asyncio.gather(*askers)
        assert len(zone.keys() & set(dns.asked)) == 10


PRIVATE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00::1", "ff02::1",
    "::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "::127.0.0.1",
    "fec0::1", "168.63.129.16", "192.0.0.192", "100.100.100.200", "fd00:ec2::254",
    "::ffff:168.63.129.16", "2002:a83f:8110::1", "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "64:ff9b:1::a00:1", "3fff::1", "5f00::1", "100::1", "2001:db8::1", "2001:20::1",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
async def test_private_addresses_are_not_visited(address: str) -> None:
    literal = f"[{address}]" if ":" in address else address
    zone = {"inside.example": (address,)}
    async with naming(zone) as dns, resolver(dns, allow_networks=()) as resolve:
        for host in ("inside.example", literal):
            with pytest.raises(PrivateAddress):
                await resolve.addresses(host)


@pytest.mark.parametrize("address", [PUBLIC, PUBLIC6, "64:ff9b::5db8:d70e", "::ffff:93.184.215.14"])
async def test_public_addresses_are_visited(address: str) -> None:
    literal = f"[{address}]" if ":" in address else address
    async with naming({}) as dns, resolver(dns, allow_networks=()) as resolve:
        assert await resolve.addresses(literal) == (address,)


NAT64 = {
    # RFC 6052, 2.4: prefix length, and the translations of 192.0.0.170 and 10.1.2.3.
    32: ("2a00:db8:c000:aa::", "2a00:db8:a01:203::"),
    40: ("2a00:db8:1c0:0:aa::", "2a00:db8:10a:102:3::"),
    48: ("2a00:db8:122:c000:0:aa00::", "2a00:db8:122:a01:2:300::"),
    56: ("2a00:db8:122:3c0::aa:0:0", "2a00:db8:122:30a:1:203::"),
    64: ("2a00:db8:122:344:c0:0:aa00::", "2a00:db8:122:344:a:102:300:0"),
    96: ("2a00:db8:122:344::c000:aa", "2a00:db8:122:344::a01:203"),
}


@pytest.mark.parametrize("length", NAT64)
async def test_private_address_behind_nat64_is_not_visited(length: int) -> None:
    shown, inside = NAT64[length]
    zone = {
        "ipv4only.arpa": ("192.0.0.170", "192.0.0.171", shown),
        "inside.example": (inside,),
        "outside.example": (PUBLIC6,),
    }
    async with naming(zone) as dns, resolver(dns) as resolve:
        for host in ("inside.example", f"[{inside}]"):
            with pytest.raises(PrivateAddress):
                await resolve.addresses(host)
        assert await resolve.addresses("outside.example") == (PUBLIC6,)
        assert dns.count("ipv4only.arpa") == 1
    async with naming({**zone, "ipv4only.arpa": ()}) as dns, resolver(dns) as resolve:
        assert await resolve.addresses("inside.example") == (inside,), "it is not shown here"


async def test_nat64_prefixes_are_queried_only_for_ipv6_addresses() -> None:
    async with naming({"four.example": (PUBLIC,)}) as dns, resolver(dns) as resolve:
        await resolve.addresses("four.example")
        assert dns.asked == ["four.example"]


async def test_private_addresses_among_others_are_skipped() -> None:
    zone = {"mixed.example": ("10.0.0.1", PUBLIC)}
    async with naming(zone) as dns, resolver(dns) as resolve:
        assert await resolve.addresses("mixed.example") == (PUBLIC,)
        hosts = [one["host"] for one in await resolve.resolve("mixed.example", 80)]
        assert hosts == [PUBLIC]


async def test_allowed_network_is_visited() -> None:
    networks = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))
    async with naming({}) as dns, resolver(dns, allow_networks=networks) as resolve:
        for host in ("10.1.2.3", "[fd00::1]", "[::ffff:10.1.2.3]"):
            assert await resolve.addresses(host)
        with pytest.raises(PrivateAddress):
            await resolve.addresses("127.0.0.1")


async def visit(url: str, dns: NameServer, **changes: Any) -> Emitted:
    return await run_order(given=order(url, f"{url}/again"), nameserver=dns.address, **changes)


async def test_visit_connects_to_the_resolved_address() -> None:
    async with naming({"www.example.org": ("127.0.0.1",)}) as dns, serving(x=page()) as server:
        emitted = await visit(f"http://www.example.org:{server.port}/x", dns)
        assert server.requests[0].header("Host") == f"www.example.org:{server.port}"
    assert emitted.outcomes == ["page", "gone"]
    assert dns.count("www.example.org") == 1


async def test_dns_failure_ends_the_order() -> None:
    async with naming({}) as dns:
        emitted = await visit("http://nowhere.example/x", dns)
    assert (emitted.one.outcome, emitted.one.hazards) == (Outcome.DNS_FAILURE, ("dns_failure",))
    assert (emitted.one.last, emitted.one.took) == (True, 0.0)
    assert "nowhere.example" in emitted.one.reason


async def test_silent_name_server_does_not_exceed_the_visit_limit() -> None:
    async with naming({}) as dns:
        dns.gate.clear()
        emitted = await visit("http://slow.example/x", dns, visit_limit=0.3)
    assert emitted.one.outcome is Outcome.DNS_UNANSWERED


@pytest.mark.slow
async def test_wait_for_a_lookup_does_not_count_for_the_visit_limit() -> None:
    zone = {"www.example.org": ("127.0.0.1",)}
    dead = [f"http://{n}.dead.example/" for n in range(2)]
    async with naming(zone) as dns, serving(x=page()) as server:
        dns.dead = frozenset(f"{n}.dead.example" for n in range(2))
        changes: dict[str, Any] = {"lookups_limit": 1, "visit_limit": 1.0}
        async with fetcher(nameserver=dns.address, **changes) as processor:
            emitted = Emitted()
            urls = [*dead, f"http://www.example.org:{server.port}/x"]
            await asyncio.gather(*(processor.work(order(url), emitted.emit) for url in urls))
    assert sorted(emitted.outcomes) == ["dns_unanswered"] * 2 + ["page"]


@pytest.mark.slow
async def test_request_does_not_wait_for_a_lookup_beyond_the_lease() -> None:
    async with (
        naming({}) as dns,
        fetcher(nameserver=dns.address, lookups_limit=1, **HASTY) as processor,
    ):
        dns.dead = frozenset({"first.example", "second.example"})
        first, second = Emitted(), Emitted()
        soon = order("http://second.example/", expires_at=time.time() + 2.2)
        begun = asyncio.create_task(processor.work(order("http://first.example/"), first.emit))
        while not dns.asked:
            await asyncio.sleep(0.001)
        await processor.work(soon, second.emit)
        await begun
    ended = second.one
    assert (ended.outcome, ended.last, ended.started_at) == (Outcome.UNVISITED, True, 0.0)
    assert ended.reason.startswith("the lease could end before a permit was free")


async def test_no_request_is_sent_to_a_private_address() -> None:
    async with naming({"inside.example": ("127.0.0.1",)}) as dns, serving(x=page()) as server:
        for host in ("inside.example", "127.0.0.1", "[::1]", "[::ffff:7f00:1]"):
            emitted = await visit(f"http://{host}:{server.port}/x", dns, allow_networks=())
            assert (emitted.one.outcome, emitted.one.last) == (Outcome.PRIVATE_ADDRESS, True)
            assert emitted.one.hazards == ("private_address",)
        assert server.connections == 0


async def test_localhost_resolves_without_a_name_server() -> None:
    async with serving(x=page()) as server:
        networks = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
        emitted = await run_order(f"http://localhost:{server.port}/x", allow_networks=networks)
    assert emitted.outcomes == ["page"]
