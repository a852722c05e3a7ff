"""A server that has a page for every URL, over a real socket (hazard `soft_404`)."""

from gossamer.events import Outcome, Purpose
from gossamer.web.soft_404 import missing_page
from tests.fetcher.orders import fetched, order
from tests.fetcher.servers import page, serving

SORRY = b"<title>Oops</title><p>Sorry, we have no such page."


class Everything(dict[str, object]):
    """Answers whatever path is asked for."""

    def get(self, path: str, default: object = None) -> object:
        return page(SORRY)


async def test_what_a_server_answers_to_a_page_that_cannot_exist_is_read_and_passed_on() -> None:
    async with serving() as server:
        server.answers = Everything()  # type: ignore[assignment]
        url = missing_page(server.root, "7.o")
        emitted = await fetched(given=order(url, purpose=Purpose.PROBE))
        assert server.paths == [url.removeprefix(server.root)]
    assert emitted.one.outcome is Outcome.PAGE
    [kept] = emitted.pages
    assert (kept.status, kept.body, kept.visit.purpose) == (200, SORRY, Purpose.PROBE)
