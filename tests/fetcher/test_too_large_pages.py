"""A page that is too large for an event ends its visit with an internal error."""

from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.events import Outcome, PageFetched, topics
from gossamer.events.topics import DEAD_LETTERS
from gossamer.log.sqlite import SqliteLog
from gossamer.store.sqlite import SqliteStore
from tests.fetcher.orders import order
from tests.fetcher.servers import page, serving
from tests.fetcher.test_runner import Tail, put, serving_orders


@pytest.mark.slow
async def test_too_large_page_ends_its_order_with_an_internal_error(
    log: SqliteLog, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(topics.PAGES_FETCHED, limit=20_000)
    known: dict[Any, Any] = {**topics.TOPIC_OF, PageFetched: small}
    monkeypatch.setattr(topics, "TOPIC_OF", known)
    async with serving(a=page(b"one"), b=page(b"x" * 30_000), c=page(b"three")) as server:
        put(log, order(*(f"{server.root}/{name}" for name in "abc")))
        out = Tail(log)
        async with serving_orders(log, store):
            await out.until(2)
    assert [event.outcome for event in out.ended] == [Outcome.PAGE, Outcome.INTERNAL_ERROR]
    assert "an event for pages.fetched is too large" in out.ended[1].reason
    assert out.ended[1].last
    assert [page.body for page in out.pages] == [b"one"]
    assert not log.tail([DEAD_LETTERS.name]).poll(0)
