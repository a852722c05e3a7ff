"""A server that has a page for every URL, over a real socket (hazard `soft_404`)."""

from gossamer.events import Outcome, PageFetched, Purpose
from gossamer.events.hazards import Hazard
from gossamer.services.parser.page import parse
from gossamer.services.parser.result import classify
from gossamer.web.soft_404 import Signature, missing_page
from tests.fetcher.orders import order, run_order
from tests.fetcher.servers import page, raw, serving
from tests.parser.pages import NOW, OPTIONS

SORRY = b"<title>Oops</title><p>Sorry, we have no such page."


class Everything(dict[str, object]):
    """Answers every path."""

    def get(self, path: str, default: object = None) -> object:
        return page(SORRY)


async def test_response_to_a_probe_is_read_and_published() -> None:
    async with serving() as server:
        server.answers = Everything()  # type: ignore[assignment]
        url = missing_page(server.root, "7.o")
        emitted = await run_order(given=order(url, purpose=Purpose.PROBE))
        assert server.paths == [url.removeprefix(server.root)]
    assert emitted.one.outcome is Outcome.PAGE
    [kept] = emitted.pages
    assert (kept.status, kept.body, kept.visit.purpose) == (200, SORRY, Purpose.PROBE)


def is_marked(fetched: PageFetched) -> bool:
    return Hazard.SOFT_404 in classify(fetched, parse(fetched, OPTIONS, NOW)).hazards


async def test_pages_that_match_the_signature_are_marked() -> None:
    moved = raw(b"HTTP/1.1 302 Found\r\nLocation: /sorry\r\nContent-Length: 0\r\n\r\n")
    off = raw(b"HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n")
    answers = {"/": page(SORRY), "/a": page(SORRY), "/b": page(b"<p>A page"), "/c": moved}
    async with serving() as server:
        server.answers.update({**answers, "/d": off})
        digest = await digest_of(server.root + "/a")
        for signature, expected in (
            (Signature(status=200, digest=digest, at=1.0), {"/a"}),
            (Signature(status=302, location="/sorry", at=1.0), {"/c"}),
            (Signature(status=404, at=1.0), set()),
        ):
            urls = [server.root + path for path in ("/", "/a", "/b", "/c", "/d")]
            emitted = await run_order(given=order(*urls, signature=signature))
            met = {one.visit.url for one in emitted.pages if is_marked(one)}
            assert met == {server.root + path for path in expected}


async def digest_of(url: str) -> str:
    [read] = (await run_order(given=order(url))).pages
    return parse(read, OPTIONS, NOW).digest
