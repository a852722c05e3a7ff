"""Orders whose claim cannot be read: they wait for the store, but not beyond their lease."""

import time

import pytest

from gossamer import errors
from gossamer.errors import Unavailable
from gossamer.events import Outcome
from tests.fetcher.orders import fetcher, order, work
from tests.fetcher.servers import page, serving


class Claims:
    """A store that does not answer the first requests."""

    def __init__(self, failures: int) -> None:
        self.failures = failures

    async def epoch_of(self, site: str) -> int:
        if self.failures:
            self.failures -= 1
            raise Unavailable("Cassandra does not answer")
        return 1


@pytest.fixture(autouse=True)
def _no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "MIN_RETRY_WAIT", 0.001)
    monkeypatch.setattr(errors, "MAX_RETRY_WAIT", 0.01)


async def test_order_waits_for_the_store() -> None:
    async with serving(a=page()) as server, fetcher(epoch_of=Claims(5).epoch_of) as processor:
        emitted = await work(processor, order(f"{server.root}/a"))
        assert server.paths == ["/a"]
    assert emitted.outcomes == ["page"]


async def test_order_is_returned_when_its_lease_becomes_too_short() -> None:
    away = Claims(1 << 30).epoch_of
    async with serving(a=page()) as server, fetcher(epoch_of=away, visit_limit=2.0) as processor:
        emitted = await work(processor, order(f"{server.root}/a", expires_at=time.time() + 2.05))
        assert server.paths == []
    ended = emitted.one
    assert (ended.outcome, ended.last) == (Outcome.UNVISITED, True)
    assert "Cassandra does not answer" in ended.reason
