"""Request lines: the server receives exactly the URL, and the archive records what it received."""

import pytest

from gossamer.services.archive.records import _request_block
from tests.fetcher.orders import run_order
from tests.fetcher.servers import page, serving

TARGETS = (
    "/", "/?", "/q?", "/q??", "/q?&", "/q?=", "/q?a", "/a%2Fb", "/a|b", "/%zz", "/100%", "/d//e",
    "//", "/q?x=[1]&y={2}", "/q?next=/a?b", "/caf%E9?caf%C3%A9", "/q+a?b+c", "/~a'b;c=1",
)  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
async def test_request_on_the_wire_is_the_recorded_one(target: str) -> None:
    """Reports yarl #293, psf/requests #2912; RFC 3986, 6.2.3: an empty query is a query."""
    async with serving(robots=page()) as server:
        emitted = await run_order(f"{server.root}{target}", f"{server.root}{target}")
        heads = [request.head for request in server.requests]
    assert server.paths == [target, target]
    assert [_request_block(one).decode("latin-1") for one in emitted.pages] == heads
