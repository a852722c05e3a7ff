"""Orders whose claim cannot be read: they wait for the store, but not beyond their lease."""

import time

import pytest

from gossamer import errors
from gossamer.errors import Unavailable
from gossamer.events import Outcome
from services.fetcher.http.client import Web
from tests.fetcher.orders import Emitted, new_fetcher, order, settings
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
    emitted, web = Emitted(), Web(settings(), time.time)
    async with serving(a=page()) as server:
        await new_fetcher(web, Claims(5).epoch_of).work(order(f"{server.root}/a"), emitted.emit)
        assert server.paths == ["/a"]
    await web.close()
    assert emitted.outcomes == ["page"]


async def test_order_is_returned_when_its_lease_becomes_too_short() -> None:
    emitted, web = Emitted(), Web(settings(visit_limit=2.0), time.time)
    async with serving(a=page()) as server:
        given = order(f"{server.root}/a", expires_at=time.time() + 2.05)
        await new_fetcher(web, Claims(1 << 30).epoch_of).work(given, emitted.emit)
        assert server.paths == []
    await web.close()
    ended = emitted.one
    assert (ended.outcome, ended.last) == (Outcome.UNVISITED, True)
    assert "Cassandra does not answer" in ended.reason
