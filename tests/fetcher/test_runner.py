"""The whole fetcher on a real log: from orders to outcomes and pages."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gossamer.errors import BadSettings
from gossamer.events import (
    Event,
    FetcherStarted,
    HostCheckedOut,
    OrderBegun,
    Outcome,
    PageFetched,
    VisitEnded,
)
from gossamer.events.topics import DEAD_LETTERS, PAGES_FETCHED, VISITS_ENDED, VISITS_ORDERED
from gossamer.log import Message, partition_of
from gossamer.log.codec import decode, encode
from gossamer.log.sqlite import SqliteLog
from gossamer.services.fetcher.service import EpochOf
from gossamer.services.fetcher.wiring import Coordination, claimed_epoch, fixed_epoch, serve
from gossamer.settings import Settings
from gossamer.store.claims import ClaimRow
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import site_of
from tests.fetcher.orders import order, pause_crawl, settings
from tests.fetcher.servers import hanging, page, serving
from tests.support.metrics import growth, metric

ALONE = fixed_epoch(1)
PAGES = {"outcome": "page", "crawl": "default", "shared": "false"}
TOPICS = [VISITS_ENDED.name, PAGES_FETCHED.name, DEAD_LETTERS.name]


@asynccontextmanager
async def serving_orders(
    log: SqliteLog, store: SqliteStore, epoch_of: EpochOf = ALONE, name: str = "", **changes: Any
) -> AsyncIterator[asyncio.Task[None]]:
    """Run the fetcher during the block."""
    stop = asyncio.Event()
    given = Settings(fetcher=settings(**changes))
    coordination = Coordination(epoch_of, name=name)
    running = asyncio.create_task(serve(given, log, store, coordination, stop))
    try:
        yield running
    finally:
        stop.set()
        await running


class Tail:
    """The events that were emitted so far."""

    def __init__(self, log: SqliteLog) -> None:
        self._tail = log.tail(TOPICS)
        self.events: list[Event] = []

    async def until(self, enough: int) -> Sequence[Event]:
        """Wait for *count* outcomes."""
        while len(self.ended) < enough:
            self.events += [decode(record) for record in self._tail.poll(0)]
            await asyncio.sleep(0.005)
        return self.events

    @property
    def ended(self) -> list[VisitEnded]:
        return [event for event in self.events if isinstance(event, VisitEnded)]

    @property
    def pages(self) -> list[PageFetched]:
        return [event for event in self.events if isinstance(event, PageFetched)]


def put(log: SqliteLog, *orders: HostCheckedOut) -> None:
    log.append(encode(one) for one in orders)


async def test_orders_yield_outcomes_and_pages(log: SqliteLog, store: SqliteStore) -> None:
    log.append([Message(VISITS_ORDERED.name, "x", b"no order", "x")])
    outcomes = growth("gossamer_outcomes_total", **PAGES)
    received = growth("gossamer_received_bytes_total", crawl="default")
    async with serving(a=page(b"one"), b=page(b"two")) as server:
        put(log, order(f"{server.root}/a", f"{server.root}/b"))
        out = Tail(log)
        async with serving_orders(log, store):
            await out.until(2)
    assert [(one.outcome, one.last) for one in out.ended] == [("page", False), ("page", True)]
    assert [one.body for one in out.pages] == [b"one", b"two"]
    assert len(out.events) == 5, "the unreadable record is in the dead letters"
    assert log.lag("fetcher", VISITS_ORDERED.name) == 0
    assert (outcomes(), received()) == (2, 6)
    assert metric("gossamer_fetches_open") == 0


async def test_order_in_progress_at_shutdown_is_not_begun_again(
    log: SqliteLog, store: SqliteStore
) -> None:
    async with serving(a=hanging(), b=page()) as server:
        put(log, order(f"{server.root}/a"))
        async with serving_orders(log, store, first_byte_limit=60.0, visit_limit=60.0):
            await server.asked.wait()
        put(log, order(f"{server.root}/b"))
        out = Tail(log)
        async with serving_orders(log, store):
            await out.until(1)
        assert server.paths == ["/a", "/b"], out.ended


async def test_orders_older_than_the_claim_are_not_carried_out(
    log: SqliteLog, store: SqliteStore
) -> None:
    async with serving(a=page(), b=page(), c=page()) as server:
        partition = str(partition_of(site_of(server.root), log.partitions))
        claims, out = store.table(ClaimRow), Tail(log)
        async with serving_orders(log, store, claimed_epoch(log, store)):
            put(log, order(f"{server.root}/a", epoch=5))
            await out.until(1)
            claims.put(ClaimRow(partition, 7, 0.0))
            store.flush()
            put(log, order(f"{server.root}/b", epoch=6), order(f"{server.root}/c", epoch=7))
            await out.until(3)
        assert server.paths == ["/a", "/c"]


async def test_claim_of_the_sites_partition_counts_for_moved_orders(
    log: SqliteLog, store: SqliteStore
) -> None:
    async with serving(a=page(), b=page()) as server:
        home = partition_of(site_of(server.root), log.partitions)
        sent_to = (home + 1) % log.partitions
        claims, out = store.table(ClaimRow), Tail(log)
        claims.put(ClaimRow(str(home), 7, 0.0))
        claims.put(ClaimRow(str(sent_to), 9, 0.0))
        store.flush()
        async with serving_orders(log, store, claimed_epoch(log, store)):
            put(log, order(f"{server.root}/a", epoch=6, sent_to=sent_to))
            put(log, order(f"{server.root}/b", epoch=7, sent_to=sent_to))
            await out.until(2)
        assert server.paths == ["/b"]


async def test_pausing_the_crawl_ends_the_wait_of_an_order(
    log: SqliteLog, store: SqliteStore
) -> None:
    async with serving(a=page(), b=page()) as server:
        put(log, order(f"{server.root}/a", f"{server.root}/b", pause=500.0))
        out = Tail(log)
        async with serving_orders(log, store):
            await out.until(1)
            log.append([encode(pause_crawl())])
            await out.until(2)
        assert server.paths == ["/a"]
    assert [one.outcome for one in out.ended] == [Outcome.PAGE, Outcome.UNVISITED]


async def test_no_order_begins_while_the_parser_lags(log: SqliteLog, store: SqliteStore) -> None:
    async with serving(a=page(), b=page()) as server:
        put(log, order(f"{server.root}/a"))
        out = Tail(log)
        async with serving_orders(log, store):
            await out.until(1)
        log.append([encode(out.pages[0])] * 2)
        put(log, order(f"{server.root}/b"))
        async with serving_orders(log, store, unparsed_limit=1) as running:
            await asyncio.wait({running}, timeout=0.2)
            assert server.paths == ["/a"]
            for name in PAGES_FETCHED.consumers:
                reader = log.reader(name, [PAGES_FETCHED.name], store)
                reader.advance(reader.poll(1), ())
            await out.until(2)
        assert server.paths == ["/a", "/b"]


async def test_many_hosts_are_visited_at_once(log: SqliteLog, store: SqliteStore) -> None:
    async with serving(a=page()) as server:
        put(log, *(order(f"{server.root}/a?{n}", order=f"o{n}") for n in range(30)))
        out = Tail(log)
        async with serving_orders(log, store):
            await out.until(30)
    assert {one.order for one in out.ended} == {f"o{n}" for n in range(30)}


@pytest.mark.parametrize("contact", ["", "me", "me@", "ftp://example.org/", "a@b\r\nX: y", "a b@c"])
async def test_missing_contact_is_refused(contact: str, log: SqliteLog, store: SqliteStore) -> None:
    put(log, order("http://127.0.0.1:9/", expires_at=time.time() + 100))
    with pytest.raises(BadSettings, match=r"fetcher\.contact.*GOSSAMER_FETCHER__CONTACT"):
        async with serving_orders(log, store, contact=contact):
            pass
    assert log.lag("fetcher", VISITS_ORDERED.name) == 1


@pytest.mark.parametrize(("name", "value"), [("product", "my bot"), ("page", "example.org")])
async def test_invalid_user_agent_is_refused(
    name: str, value: str, log: SqliteLog, store: SqliteStore
) -> None:
    changed: dict[str, Any] = {name: value}
    with pytest.raises(BadSettings, match=name):
        async with serving_orders(log, store, **changed):
            pass


async def test_stopped_fetcher_finishes_every_order(log: SqliteLog, store: SqliteStore) -> None:
    async with serving(a=hanging()) as server:
        put(log, *(order(f"{server.root}/a", order=f"o{n}") for n in range(20)))
        out = Tail(log)
        async with serving_orders(
            log, store, orders_limit=5, first_byte_limit=60.0, visit_limit=60.0
        ):
            while log.lag("fetcher", VISITS_ORDERED.name) > 15:
                await asyncio.sleep(0.001)
        await out.until(5)
    left = log.lag("fetcher", VISITS_ORDERED.name)
    assert len(out.ended) == 20 - left, "every committed order has an outcome"
    assert {one.outcome for one in out.ended} == {Outcome.UNVISITED}
    assert all(one.last for one in out.ended)


async def test_fetcher_reports_its_start_in_each_partition_before_its_orders(
    log: SqliteLog, store: SqliteStore
) -> None:
    tail = Tail(log)
    async with serving(a=page()) as server, serving_orders(log, store, name="f-1"):
        put(log, order(f"{server.root}/a"))
        events = await tail.until(1)
    starts = [one for one in events if isinstance(one, FetcherStarted)]
    assert {one.partition for one in starts} == {*range(log.partitions)}
    home = partition_of(tail.ended[0].site, log.partitions)
    elsewhere = [one for one in starts if one.partition != home]
    reports = [one for one in events if isinstance(one, FetcherStarted | OrderBegun | VisitEnded)]
    own = [type(one) for one in reports if one not in elsewhere]
    assert own == [FetcherStarted, OrderBegun, VisitEnded]
    begun = next(one for one in events if isinstance(one, OrderBegun))
    assert begun.fetcher == "f-1" and begun.order == tail.ended[0].order
    offsets = log.group_offsets("fetcher", [VISITS_ORDERED.name]).values()
    assert begun.offset + 1 in [one.committed for one in offsets]


async def test_fetcher_without_a_name_reports_only_outcomes(
    log: SqliteLog, store: SqliteStore
) -> None:
    tail = Tail(log)
    async with serving(a=page()) as server, serving_orders(log, store):
        put(log, order(f"{server.root}/a"))
        events = await tail.until(1)
    assert not [one for one in events if isinstance(one, FetcherStarted | OrderBegun)]
