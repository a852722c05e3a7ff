"""Valid epochs: a fetcher reads claims from the store, once for all orders that begin together."""

import asyncio
import threading
from collections.abc import Sequence

from gossamer.log.sqlite import SqliteLog
from gossamer.services.fetcher.wiring import claimed_epoch
from gossamer.sqlite import Database
from gossamer.store.claims import ClaimRow
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import Site

SITE = Site("a.test")


class Claims:
    """A claim on every partition that counts its reads; a read may be blocked."""

    def __init__(self) -> None:
        self.epoch, self.reads = 1, 0
        self.go_on = threading.Event()
        self.go_on.set()

    def table(self, row: type[ClaimRow]) -> "Claims":
        return self

    def get_all(self, keys: Sequence[tuple[str, str]]) -> list[ClaimRow]:
        self.reads += 1
        found = [ClaimRow(partition, self.epoch, 0.0) for partition, _ in keys]
        assert self.go_on.wait(60)
        return found


def log() -> SqliteLog:
    return SqliteLog(Database(":memory:"))


async def test_concurrent_orders_share_a_read_of_the_claim() -> None:
    claims = Claims()
    epoch_of = claimed_epoch(log(), claims)  # type: ignore[arg-type]
    sites = [Site(f"s{number}.test") for number in range(20)]
    assert await asyncio.gather(*map(epoch_of, sites)) == [1] * 20
    assert claims.reads == 1


async def test_epoch_is_never_older_than_its_request() -> None:
    claims = Claims()
    epoch_of = claimed_epoch(log(), claims)  # type: ignore[arg-type]
    claims.go_on.clear()
    early = asyncio.ensure_future(epoch_of(SITE))
    while not claims.reads:
        await asyncio.sleep(0.001)
    claims.epoch = 2
    late = asyncio.ensure_future(epoch_of(SITE))
    while claims.reads < 2:
        await asyncio.sleep(0.001)
    claims.go_on.set()
    assert (await early, await late) == (1, 2)


async def test_cancelled_caller_does_not_cancel_the_shared_read() -> None:
    claims = Claims()
    epoch_of = claimed_epoch(log(), claims)  # type: ignore[arg-type]
    claims.go_on.clear()
    first, second = (asyncio.ensure_future(epoch_of(SITE)) for _ in range(2))
    while not claims.reads:
        await asyncio.sleep(0.001)
    first.cancel()
    claims.go_on.set()
    assert await second == 1


async def test_orders_are_valid_without_a_claim() -> None:
    database = Database(":memory:")
    assert await claimed_epoch(log(), SqliteStore(database))(SITE) == 0
    database.close()
