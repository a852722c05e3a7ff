"""The hazards of robots.txt, each at a server that causes it."""

import pytest

from gossamer.events import Outcome, Purpose
from gossamer.events.hazards import Hazard
from tests.fetcher.orders import Emitted, order, run_order
from tests.fetcher.servers import Server, page, serving
from tests.support.metrics import hazards

PRIVATE = b"User-agent: *\nDisallow: /private/\n"
MALFORMED = {
    "misspelt": b"User-agent: *\nDesallow: /private/\n",
    "without a colon": b"User-agent *\nDisallow /private/\n",
    "HTML at the ends of lines": b"User-agent: *<BR>\nDisallow: /private/<BR>\n",
    "one line": b"User-agent: *<br>Disallow: /private/",
    "UTF-16": PRIVATE.decode().encode("utf-16"),
    "half a byte order mark": b"\xef\xbb" + PRIVATE,
    "rubbish between": b"<html>\n\0\xff\n" + PRIVATE,
}


async def crawl_pages(server: Server, *paths: str) -> tuple[Emitted, Emitted]:
    """Visit robots.txt, then the pages at *paths* with its rules."""
    robots = await run_order(
        given=order(f"{server.root}/robots.txt", purpose=Purpose.ROBOTS, robots=None)
    )
    urls = [server.root + path for path in paths]
    return robots, await run_order(given=order(*urls, robots=robots.one.robots))


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
async def test_malformed_robots_txt_is_parsed_as_intended_and_counted(text: bytes) -> None:
    counted = hazards(Hazard.ROBOTS_MALFORMED)
    async with serving(robots=page(text), open=page(b"hello")) as server:
        robots, pages = await crawl_pages(server, "/open", "/private/x")
        assert server.paths == ["/robots.txt", "/open"]
    assert robots.one.hazards == (Hazard.ROBOTS_MALFORMED,)
    assert pages.outcomes == [Outcome.PAGE, Outcome.ROBOTS_EXCLUDED]
    assert counted() == 1


async def test_valid_robots_txt_is_not_counted() -> None:
    counted = hazards(Hazard.ROBOTS_MALFORMED)
    async with serving(robots=page(PRIVATE)) as server:
        robots, _ = await crawl_pages(server, "/open")
    assert robots.one.hazards == ()
    assert counted() == 0


async def test_excluded_url_is_not_requested_and_counted() -> None:
    counted = hazards(Hazard.ROBOTS_EXCLUDED)
    async with serving(robots=page(PRIVATE), open=page(b"hello")) as server:
        _, pages = await crawl_pages(server, "/private/a", "/open", "/private/b")
        assert server.paths == ["/robots.txt", "/open"]
    assert pages.outcomes == [Outcome.ROBOTS_EXCLUDED, Outcome.PAGE, Outcome.ROBOTS_EXCLUDED]
    assert pages.ended[0].reason == "line 2: Disallow: /private/"
    assert [one.hazards for one in pages.ended] == [("robots_excluded",), (), ("robots_excluded",)]
    assert counted() == 2


async def test_sitemap_of_any_type_is_fetched() -> None:
    body = b"\x1f\x8b"
    async with serving(map=page(body, Content_Type="application/gzip")) as server:
        given = order(f"{server.root}/map", purpose=Purpose.SITEMAP)
        found = await run_order(given=given)
        assert (await run_order(f"{server.root}/map")).outcomes == [Outcome.UNWANTED_TYPE]
    assert found.outcomes == [Outcome.PAGE]
    [kept] = found.pages
    assert (kept.body, kept.visit.purpose) == (body, Purpose.SITEMAP)


async def test_usage_statements_are_on_the_page() -> None:
    text = b"User-agent: *\nContent-Signal: search=yes, ai-train=no\nContent-Usage: /a train-ai=n\n"
    answers = {"a": page(b"a", Content_Usage="search=y"), "b": page(b"b")}
    async with serving(robots=page(text), **answers) as server:
        _, pages = await crawl_pages(server, "/a", "/b")
    signal = "robots.txt line 2: Content-Signal: search=yes, ai-train=no"
    assert [list(map(str, one.usage_statements)) for one in pages.pages] == [
        [
            signal,
            "robots.txt line 3: Content-Usage: /a train-ai=n",
            "header Content-Usage: search=y",
        ],
        [signal],
    ]
