"""Whose orders count: a fetcher asks the store, once for all that begin together."""

import asyncio
import threading

from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database
from gossamer.store.claims import ClaimRow
from gossamer.store.sqlite import SqliteStore
from services.fetcher.wiring import claimed_epoch

SITE = "a.test"


class Claims:
    """The claim on every partition, and how often it was read; a read may be made to last."""

    def __init__(self) -> None:
        self.epoch, self.reads = 1, 0
        self.go_on = threading.Event()
        self.go_on.set()

    def table(self, row: type[ClaimRow]) -> "Claims":
        return self

    def get(self, partition: str) -> ClaimRow:
        self.reads += 1
        found = ClaimRow(partition, self.epoch, 0.0)
        assert self.go_on.wait(60)
        return found


def log() -> SqliteLog:
    return SqliteLog(Database(":memory:"))


async def test_orders_that_begin_together_share_a_question() -> None:
    claims = Claims()
    epoch_of = claimed_epoch(log(), claims)  # type: ignore[arg-type]
    assert await asyncio.gather(*(epoch_of(SITE) for _ in range(20))) == [1] * 20
    assert claims.reads == 1


async def test_no_answer_is_older_than_its_question() -> None:
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


async def test_one_that_gives_up_leaves_the_answer_to_the_others() -> None:
    claims = Claims()
    epoch_of = claimed_epoch(log(), claims)  # type: ignore[arg-type]
    claims.go_on.clear()
    first, second = (asyncio.ensure_future(epoch_of(SITE)) for _ in range(2))
    while not claims.reads:
        await asyncio.sleep(0.001)
    first.cancel()
    claims.go_on.set()
    assert await second == 1


async def test_without_a_claim_all_orders_are_as_good() -> None:
    database = Database(":memory:")
    assert await claimed_epoch(log(), SqliteStore(database))(SITE) == 0
    database.close()
