"""The rules from a robots.txt over real sockets, for every behaviour of servers."""

import gzip
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

import brotli  # type: ignore[import-untyped]
import pytest
from msgspec.structs import replace

from gossamer.events import Event, Outcome, Purpose, RobotsAnswered, RobotsRequested, VisitEnded
from tests.fetcher.orders import HASTY, Emitted, order, run_order
from tests.fetcher.servers import Answer, Server, endless, hanging, page, raw, serving

E = TypeVar("E", bound=Event)
RULES = b"User-agent: gossamer\nDisallow: /private/\nCrawl-delay: 2.5\n"


def events_of(emitted: Emitted, kind: type[E]) -> list[E]:
    return [event for call in emitted.calls for event in call if isinstance(event, kind)]


async def visit_robots_txt(server: Server, pause: float = 0.0, **changes: Any) -> Emitted:
    url = f"{server.root}/robots.txt"
    given = order(url, purpose=Purpose.ROBOTS, robots=None, pause=pause)
    return await run_order(given=given, **changes)


async def visit_robots(robots: Answer, **changes: Any) -> VisitEnded:
    async with serving(robots=robots) as server:
        emitted = await visit_robots_txt(server, **changes)
    assert emitted.one.last
    return emitted.one


def forbids(ended: VisitEnded, path: str) -> bool:
    assert ended.robots is not None
    return not ended.robots.allows(f"{ended.host}{path}")


async def test_robots_txt_is_parsed_dated_and_archived() -> None:
    async with serving(robots=page(RULES, Content_Type="application/octet-stream")) as server:
        emitted = await visit_robots_txt(server, robots_age=1000.0)
    ended = emitted.one
    assert (ended.outcome, ended.status) == (Outcome.PAGE, 200)
    assert forbids(ended, "/private/x")
    assert not forbids(ended, "/open")
    assert ended.robots is not None
    assert ended.robots.crawl_delay == 2.5
    assert ended.robots.expires_at == ended.robots.fetched_at + 1000.0
    (kept,) = emitted.pages
    assert (kept.body, kept.visit.purpose, kept.visit) == (RULES, Purpose.ROBOTS, ended.visit)


def cut(end: Callable[[bytes], Answer]) -> Answer:
    return end(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nUser-agent: *\nAllow: /")


ANSWERS: dict[str, tuple[Answer, str, str | None, str]] = {
    # The answer; the outcome; None without rules, "" if all is allowed, or why nothing is; hazard
    "400": (page(RULES, 400), "client_error", "", ""),
    "401": (page(RULES, 401), "client_error", "", ""),
    "403": (page(RULES, 403), "client_error", "", ""),
    "404": (page(RULES, 404), "gone", "", ""),
    "410": (page(RULES, 410), "gone", "", ""),
    "418": (page(RULES, 418), "client_error", "", ""),
    "500": (page(RULES, 500), "server_error", "500", ""),
    "503": (page(RULES, 503), "server_error", "503", ""),
    "999": (page(RULES, 999), "server_error", "999", ""),
    "busy, 429": (page(b"", 429, Retry_After="90"), "busy", None, "retry_after"),
    "busy, 503": (page(b"", 503, Retry_After="90"), "busy", None, "retry_after"),
    "silence": (hanging(), "silent_server", None, "silent_server"),
    "cut": (cut(raw), "cut_body", "was cut", "cut_short"),
    "stalled": (cut(hanging), "cut_body", "was cut", "slow_transfer"),
    "no HTTP": (raw(b"what?"), "malformed_head", "closed", "missing_headers"),
    "no target": (page(b"", 301, Location="mailto:me"), "bad_redirect", "", "bad_redirect"),
}


@pytest.mark.parametrize(
    ("answer", "outcome", "forbidden", "hazard"), ANSWERS.values(), ids=ANSWERS
)
async def test_answer_in_place_of_robots_txt_allows_all_or_nothing_or_gives_no_rules(
    answer: Answer, outcome: str, forbidden: str | None, hazard: str
) -> None:
    hangs = hazard in ("silent_server", "slow_transfer")
    ended = await visit_robots(answer, **(HASTY if hangs else {}))
    assert (ended.outcome, ended.hazards) == (outcome, (hazard,) if hazard else ())
    assert ended.retry_after == (90.0 if outcome == "busy" else 0.0)
    if forbidden is None:
        assert ended.robots is None
        return
    assert ended.robots and forbidden in ended.robots.forbidden
    assert ended.robots.status == (0 if forbidden else ended.status)
    for path in ("/private/x", "/open"):
        assert forbids(ended, path) is bool(forbidden)


AGES = {
    "for a while": ({"Cache_Control": "public, max-age=7200"}, 7200.0),
    "part of it is over": ({"Cache_Control": "max-age=7200", "Age": "3000"}, 4200.0),
    "hardly": ({"Cache_Control": "max-age=60"}, 3600.0),
    "not at all": ({"Cache_Control": "no-store"}, 3600.0),
    "for a year": ({"Cache_Control": "max-age=31536000"}, 86400.0),
    "nothing": ({}, 86400.0),
    "nonsense": ({"Cache_Control": "max-age=soon"}, 86400.0),
    "in dates": (
        {"Date": "Sun, 06 Nov 1994 08:00:00 GMT", "Expires": "Sun, 06 Nov 1994 10:00:00 GMT"},
        7200.0,
    ),
    "in no date": ({"Date": "Sun, 06 Nov 1994 08:00:00 GMT", "Expires": "0"}, 3600.0),
}


@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize(("headers", "age"), AGES.values(), ids=AGES)
async def test_validity_of_robots_txt_is_the_servers_within_limits(
    headers: dict[str, str], age: float, status: int
) -> None:
    ended = await visit_robots(page(RULES, status, **headers))
    assert ended.robots
    assert ended.robots.expires_at == ended.robots.fetched_at + age


@pytest.mark.parametrize("status", [301, 404, 500, 429])
async def test_every_response_is_archived(status: int) -> None:
    async with serving(robots=page(b"no", status, Location="mailto:me")) as server:
        emitted = await visit_robots_txt(server)
    (kept,) = emitted.pages
    assert (kept.status, kept.body, kept.visit) == (status, b"no", emitted.one.visit)


async def test_sitemaps_are_reported() -> None:
    text = b"Sitemap: https://maps.example/one.xml\nUser-agent: *\nSitemap: /two.xml\n"
    async with serving(robots=page(text)) as server:
        emitted = await visit_robots_txt(server)
    found = ("https://maps.example/one.xml", f"{server.root}/two.xml")
    assert emitted.one.sitemaps == found
    _, emitted = await visit_on_behalf(page(b"Sitemap: https://maps.example/one.xml"))
    (answer,) = events_of(emitted, RobotsAnswered)
    assert answer.sitemaps == ("https://maps.example/one.xml",)
    assert emitted.one.sitemaps == ()


async def test_five_redirects_are_followed_with_the_pause_of_the_host() -> None:
    hops = {f"h{n}": page(b"", 301, Location=f"/h{n + 1}") for n in range(1, 5)}
    async with serving(robots=page(b"", 302, Location="h1"), h5=page(RULES), **hops) as server:
        emitted = await visit_robots_txt(server, pause=0.05)
        assert server.paths == ["/robots.txt", "/h1", "/h2", "/h3", "/h4", "/h5"]
        came = [request.received_at for request in server.requests]
        left = [request.answered_at for request in server.requests]
        gaps = [after - before for before, after in zip(left, came[1:], strict=False)]
        assert min(gaps) >= 0.05
        kept = [(one.visit.url, one.status, one.body) for one in emitted.captures]
        moved = ["/robots.txt", "/h1", "/h2", "/h3", "/h4"]
        assert kept == [
            (server.root + path, 302 if path == "/robots.txt" else 301, b"") for path in moved
        ] + [(f"{server.root}/h5", 200, RULES)]
        assert {one.visit.purpose for one in emitted.pages} == {Purpose.ROBOTS}
    assert emitted.one.outcome is Outcome.PAGE
    assert emitted.one.visit.url.endswith("/robots.txt")
    assert forbids(emitted.one, "/private/x")


async def test_everything_is_allowed_after_five_redirects() -> None:
    async with serving(robots=page(b"", 302, Location="/robots.txt")) as server:
        emitted = await visit_robots_txt(server)
        assert len(server.paths) == 6
    assert emitted.one.outcome is Outcome.REDIRECT
    assert not forbids(emitted.one, "/private/x")


async def test_redirect_to_another_host_is_requested_from_its_frontier() -> None:
    async with serving(moved=page(RULES)) as other:
        there = f"http://localhost:{other.port}/moved"
        hop = page(b"", 302, Location=there)
        async with serving(robots=page(b"", 301, Location="/hop"), hop=hop) as server:
            emitted = await visit_robots_txt(server)
            assert server.paths == ["/robots.txt", "/hop"]
        assert other.paths == []
    ended = emitted.one
    assert (ended.outcome, ended.robots, ended.location) == (Outcome.REDIRECT, None, there)
    (question,) = events_of(emitted, RobotsRequested)
    assert (question.site, question.url, question.hops) == ("localhost", there, 2)
    assert question.on_behalf_of == server.root


async def visit_on_behalf(robots: Answer, hops: int = 1, **changes: Any) -> tuple[Server, Emitted]:
    """Visit a robots.txt on behalf of another host."""
    async with serving(robots=robots) as server:
        url = f"{server.root}/robots.txt"
        given = order(url, purpose=Purpose.ROBOTS)
        visit = replace(given.visits[0], on_behalf_of="https://www.asker.example", hops=hops)
        return server, await run_order(given=replace(given, visits=(visit,)), **changes)


async def test_rules_go_to_the_host_on_whose_behalf_they_were_read() -> None:
    server, emitted = await visit_on_behalf(page(RULES))
    assert (emitted.one.host, emitted.one.outcome) == (server.root, Outcome.PAGE)
    assert emitted.one.robots is None, "they are not its own"
    (answer,) = events_of(emitted, RobotsAnswered)
    assert (answer.site, answer.host) == ("asker.example", "https://www.asker.example")
    assert answer.robots and not answer.robots.allows("https://www.asker.example/private/x")


async def test_redirect_on_behalf_of_a_host_is_requested_again() -> None:
    moved = page(b"", 301, Location="http://third.example/robots.txt")
    _, emitted = await visit_on_behalf(moved, hops=4)
    (question,) = events_of(emitted, RobotsRequested)
    assert (question.on_behalf_of, question.hops) == ("https://www.asker.example", 5)
    assert not events_of(emitted, RobotsAnswered)
    _, emitted = await visit_on_behalf(moved, hops=5)
    (answer,) = events_of(emitted, RobotsAnswered)
    assert answer.robots and answer.robots.allows("https://www.asker.example/x")
    assert not events_of(emitted, RobotsRequested)


async def test_failure_on_behalf_of_a_host_blames_the_visited_host() -> None:
    _, emitted = await visit_on_behalf(hanging(), **HASTY)
    assert emitted.one.outcome is Outcome.SILENT_SERVER
    (answer,) = events_of(emitted, RobotsAnswered)
    assert answer.outcome is Outcome.BROKEN
    assert answer.robots and answer.robots.forbidden
    _, emitted = await visit_on_behalf(page(b"", 429, Retry_After="90"))
    (answer,) = events_of(emitted, RobotsAnswered)
    assert (answer.outcome, answer.retry_after, answer.robots) == (Outcome.BUSY, 90.0, None)


async def test_unvisited_robots_txt_on_behalf_of_a_host_is_not_answered() -> None:
    _, emitted = await visit_on_behalf(page(RULES), visit_limit=5000.0)
    assert emitted.one.outcome is Outcome.UNVISITED
    assert not events_of(emitted, RobotsAnswered)


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


CODINGS = {
    "gzip": ("gzip", gzip.compress(RULES)),
    "gzip by its old name": ("x-gzip", gzip.compress(RULES)),
    "gzip of several members": ("gzip", b"".join(map(gzip.compress, RULES.splitlines(True)))),
    "deflate": ("deflate", zlib.compress(RULES)),
    "deflate without its wrapper": ("deflate", raw_deflate(RULES)),
    "brotli": ("br", brotli.compress(RULES)),
    "two codings": ("gzip, br", brotli.compress(gzip.compress(RULES))),
    "no coding": ("identity", RULES),
    "twice": ("gzip, gzip", gzip.compress(gzip.compress(RULES))),
    "not applied": ("gzip", RULES),
    "applied once, named twice": ("gzip, gzip", gzip.compress(RULES)),
    "an unknown one, not applied": ("utf-8", RULES),
    "an unknown one over a legacy encoding": ("none", RULES + "# Grüße".encode("latin-1") * 30),
    "not named": ("", gzip.compress(RULES)),
}


@pytest.mark.parametrize(("coding", "body"), CODINGS.values(), ids=CODINGS)
async def test_encoded_robots_txt_is_parsed(coding: str, body: bytes) -> None:
    ended = await visit_robots(page(body, Content_Encoding=coding))
    assert forbids(ended, "/private/x")
    assert not forbids(ended, "/open")


UNREADABLE = {
    "damaged from the start": ("br", b"\xff\xff\xff"),
    "not what it is called, nor text": ("gzip", b"\0\1" + RULES),
    "unknown": ("zebra", b"\x28\xb5\x2f\xfd\x20\x29" + RULES),
}


@pytest.mark.parametrize(("coding", "body"), UNREADABLE.values(), ids=UNREADABLE)
async def test_undecodable_robots_txt_disallows_everything(coding: str, body: bytes) -> None:
    ended = await visit_robots(page(body, Content_Encoding=coding))
    assert ended.outcome is Outcome.BROKEN
    assert forbids(ended, "/open")
    assert repr(coding) in ended.reason


async def test_cut_encoded_robots_txt_is_parsed_to_its_last_whole_line() -> None:
    # Level 0 stores the bytes unchanged, so that the cut is at the intended byte.
    whole = gzip.compress(b"User-agent: *\nDisallow: /private/\nAllow: /private/open/", 0)
    cut = whole[: whole.index(b"open/")]
    ended = await visit_robots(page(cut, Content_Encoding="gzip"))
    assert forbids(ended, "/private/x")
    assert forbids(ended, "/private/open/")


async def test_decompression_bomb_is_parsed_up_to_the_limit() -> None:
    body = gzip.compress(RULES + b"# nothing\n" * 2_000_000)
    ended = await visit_robots(page(body, Content_Encoding="gzip"), robots_limit=20_000)
    assert forbids(ended, "/private/x")


async def test_endless_robots_txt_is_parsed_without_its_last_line() -> None:
    head = b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /private/\n" + b"#" * 61 + b"\n"
    ended = await visit_robots(endless(head, b"Disallow: /private/\n"), robots_limit=110)
    assert forbids(ended, "/private/x")
    assert not forbids(ended, "/prize")
