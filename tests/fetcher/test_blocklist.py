"""Orders in progress when a rule is added to the blocklist, over real sockets."""

from ipaddress import ip_network

import pytest

from gossamer.events import BlocklistChanged, Outcome, Purpose
from gossamer.events.outcomes import OUTCOMES, Fate
from tests.fetcher.nameserver import naming
from tests.fetcher.orders import LOOPBACK, Emitted, fetcher, order, work
from tests.fetcher.servers import page, serving


def find_blocklist_rule(rule: str, lifted: bool = False) -> BlocklistChanged:
    return BlocklistChanged(at=1.0, rule=rule, lifted=lifted)


async def test_rest_of_an_order_is_returned_after_a_new_rule() -> None:
    emitted = Emitted()
    async with serving(x=page(), y=page(), z=page()) as server, fetcher() as processor:

        def emit(*events: object) -> None:
            emitted.emit(*events)  # type: ignore[arg-type]
            processor.control(find_blocklist_rule(f"{server.root}/y"))

        given = order(*(f"{server.root}/{path}" for path in "xyz"))
        await processor.work(given, emit)
        assert server.paths == ["/x"]
    assert emitted.outcomes == ["page", "unvisited"]
    assert emitted.ended[-1].last
    assert emitted.ended[-1].reason == f"blocklisted, by 127.0.0.1:{server.port}/y"


@pytest.mark.parametrize("purpose", [Purpose.PAGE, Purpose.ROBOTS])
async def test_host_with_address_in_blocklisted_network_is_not_requested(purpose: Purpose) -> None:
    zone = {"both.example": ("127.0.0.1", "127.9.9.9")}
    async with (
        naming(zone) as dns,
        serving(x=page()) as server,
        fetcher(nameserver=dns.address) as processor,
    ):
        processor.control(find_blocklist_rule("127.9.0.0/16"))
        given = order(f"http://both.example:{server.port}/x", purpose=purpose)
        emitted = await work(processor, given)
        assert not server.connections
        assert emitted.one.outcome is Outcome.BLACKLISTED
        assert emitted.one.hazards == ("blacklisted",)
        assert emitted.one.last and not emitted.one.started_at and emitted.one.robots is None
        assert "127.9.9.9: blocklisted, by 127.9.0.0/16" in emitted.one.reason
        processor.control(find_blocklist_rule("127.9.0.0/16", lifted=True))
        await work(processor, given)
        assert server.paths == ["/x"]


async def test_blocklisted_address_is_found_in_every_notation() -> None:
    networks = (LOOPBACK, ip_network("::ffff:127.0.0.0/104"))
    async with (
        naming({"six.example": ("::ffff:127.0.0.1",)}) as dns,
        serving(x=page()) as server,
        fetcher(nameserver=dns.address, allow_networks=networks) as processor,
    ):
        processor.control(find_blocklist_rule("127.0.0.1"))
        emitted = await work(processor, order(f"http://six.example:{server.port}/x"))
        assert not server.connections
    assert emitted.one.outcome is Outcome.BLACKLISTED


def test_blacklisted_outcome_keeps_the_urls_waiting() -> None:
    assert OUTCOMES[Outcome.BLACKLISTED].fate is Fate.WAIT
