"""Hazards of name servers, over a socket: malformed answers, wildcards and outages."""

import asyncio
import socket
from collections.abc import Iterable

from gossamer.events import VisitEnded
from gossamer.services.fetcher.service import Fetcher
from tests.fetcher.nameserver import naming
from tests.fetcher.orders import Emitted, fetcher, order
from tests.fetcher.servers import page, serving
from tests.support.metrics import hazards

HERE = ("127.0.0.1",)


async def visit_all(processor: Fetcher, urls: Iterable[str]) -> list[VisitEnded]:
    """Visit each URL with its own order, all concurrently."""
    emitted = Emitted()
    await asyncio.gather(*(processor.work(order(url), emitted.emit) for url in urls))
    return emitted.ended


async def test_malformed_dns_answer_is_counted_though_its_records_are_used() -> None:
    counted = hazards("dns_malformed")
    async with (
        naming({"odd.example": HERE}, ttl=60) as dns,
        serving(x=page()) as server,
        fetcher(nameserver=dns.address) as processor,
    ):
        dns.odd = frozenset({"odd.example"})
        url = f"http://odd.example:{server.port}/x"
        [first], [second] = [await visit_all(processor, [url]) for _ in range(2)]
    assert (first.outcome, first.hazards) == ("page", ("dns_malformed",))
    assert (second.outcome, second.hazards) == ("page", ()), "the name was not looked up again"
    assert counted() == 1


async def test_wildcard_domain_is_reported_once() -> None:
    counted = hazards("dns_wildcard")
    zone = {"wild.example": HERE, "tame.example": HERE, "www.tame.example": HERE}
    zone |= {"one.example": HERE}
    async with (
        naming(zone, ttl=60) as dns,
        serving(x=page()) as server,
        fetcher(nameserver=dns.address) as processor,
    ):
        dns.wild = frozenset({"wild.example"})

        async def visit(*names: str) -> list[VisitEnded]:
            return await visit_all(processor, (f"http://{name}:{server.port}/x" for name in names))

        ended = await visit("a.wild.example", "tame.example", "one.example")
        ended += await visit("b.wild.example", "www.tame.example")
        while not any(event.hazards for event in ended):
            ended += await visit("c.wild.example")
        for _ in range(5):
            ended += await visit("d.wild.example", "www.tame.example", "one.example")
    told = [event.site for event in ended if "dns_wildcard" in event.hazards]
    assert told == ["wild.example"]
    assert {event.outcome for event in ended} == {"page"}
    assert counted() == 1
    nobody = {name for name in dns.asked if name not in zone and len(name.partition(".")[0]) > 1}
    assert sorted(name.partition(".")[2] for name in nobody) == [
        "example",
        "tame.example",
        "wild.example",
    ]


async def test_dns_outage_is_a_local_fault_until_names_resolve_again() -> None:
    counted, said = hazards("dns_outage"), list[str]()
    zone = {"good.example": HERE, "late.example": HERE}
    async with (
        naming(zone, ttl=60) as dns,
        serving(x=page()) as server,
        fetcher(nameserver=dns.address) as processor,
    ):
        processor.backoff._limitations._show = said.append
        assert [
            one.outcome
            for one in await visit_all(processor, [f"http://good.example:{server.port}/x"])
        ]
        dns.failing = True
        many = [f"http://h{n}.d{n}.example/x" for n in range(60)]
        ended = await visit_all(processor, many)
        outcomes = [str(event.outcome) for event in ended]
        assert outcomes.count("unvisited") >= 9
        assert outcomes.count("unvisited") + outcomes.count("dns_unanswered") == 60
        ended = await visit_all(processor, [*many, f"http://late.example:{server.port}/x"])
        assert {event.outcome for event in ended} == {"unvisited"}
        assert {event.reason for event in ended} == {said[-1]} and "do not resolve" in said[-1]
        assert counted() == 1
        dns.failing = False
        [event] = await visit_all(processor, [f"http://late.example:{server.port}/x"])
        assert (event.outcome, said[-1]) == ("page", "")


async def test_unanswered_names_fail_while_other_names_resolve() -> None:
    names = [f"h{n}.d{n}.example" for n in range(60)]
    async with (
        naming({"good.example": HERE}, ttl=60) as dns,
        serving(x=page()) as server,
        fetcher(nameserver=dns.address) as processor,
    ):
        dns.lame = frozenset(names)
        await visit_all(processor, [f"http://good.example:{server.port}/x"])
        for _ in range(2):
            ended = await visit_all(processor, (f"http://{name}/x" for name in names))
            assert {event.outcome for event in ended} == {"dns_unanswered"}


async def test_network_outage_is_a_local_fault_until_a_server_is_reached() -> None:
    names = [f"h{n}.d{n}.example" for n in range(60)]
    zone = {name: (f"127.1.0.{n + 1}",) for n, name in enumerate(names)} | {"good.example": HERE}
    async with (
        naming(zone, ttl=60) as dns,
        serving(x=page()) as server,
        fetcher(nameserver=dns.address, connect_limit=1.0) as processor,
    ):
        with socket.socket() as full:
            full.bind(("", 0))
            full.listen(0)
            # Linux delays handshakes while the queue of a listener is full.
            waiting = [socket.socket() for _ in range(4)]
            for one in waiting:
                one.setblocking(False)
                one.connect_ex(("127.0.0.1", full.getsockname()[1]))
            port = full.getsockname()[1]
            await visit_all(processor, (f"http://{name}:{port}/x" for name in names))
            ended = await visit_all(processor, (f"http://{name}:{port}/x" for name in names))
            for one in waiting:
                one.close()
        assert {event.outcome for event in ended} == {"unvisited"}
        assert "cannot be reached" in ended[0].reason
        [event] = await visit_all(processor, [f"http://good.example:{server.port}/x"])
        assert event.outcome == "page"
        assert not processor.backoff.is_active(processor._clock())
