"""Cookies over real sockets (hazard `session_id`), and a server that abuses them."""

import asyncio
import logging

import pytest

from gossamer.events import Outcome, Purpose
from gossamer.web.cookies import Cookie
from gossamer.web.http import all_values
from gossamer.web.robots import RobotsRules
from tests.fetcher.orders import Emitted, order, run_order, visit_pages
from tests.fetcher.servers import Answer, Server, page, raw, serving

SECRET = "7d2f9c"


async def with_sessions(server: Server, writer: asyncio.StreamWriter) -> bool:
    """Add the session to every link for clients without cookie, as PHP's trans-sid does."""
    known = server.requests[-1].header("Cookie") == f"PHPSESSID={SECRET}"
    link = "/b" if known else f"/b?PHPSESSID={len(server.requests)}"
    body = f"<a href='{link}'>on</a>".encode()
    if known:
        return await page(body)(server, writer)
    return await page(body, Set_Cookie=f"PHPSESSID={SECRET}; path=/; HttpOnly")(server, writer)


def links(emitted: Emitted) -> list[bytes]:
    return [one.body.split(b"'")[1] for one in emitted.pages]


async def test_returned_cookie_keeps_session_ids_out_of_links() -> None:
    async with serving(a=with_sessions, b=with_sessions) as server:
        first = await run_order(f"{server.root}/a", f"{server.root}/b")
        [cookie] = first.ended[0].cookies
        again = order(f"{server.root}/b", cookies=(cookie,))
        second = await run_order(given=again)
    assert links(first) == [b"/b?PHPSESSID=1", b"/b"]
    assert links(second) == [b"/b"]
    assert (cookie.value, cookie.domain) == (SECRET, "127.0.0.1")
    assert [one.cookies for one in [*first.ended[1:], *second.ended]] == [(), ()]
    # The archived request is the one that was sent.
    assert all_values(second.pages[0].request_headers, "cookie") == [f"PHPSESSID={SECRET}"]


async def test_no_cookies_are_stored_or_sent_if_cookies_are_off() -> None:
    known = Cookie("PHPSESSID", SECRET, "127.0.0.1", expires_at=9e9)
    async with serving(a=with_sessions, b=with_sessions) as server:
        given = order(f"{server.root}/a", f"{server.root}/b", cookies=(known,))
        emitted = await run_order(given=given, cookies=0)
    assert links(emitted) == [b"/b?PHPSESSID=1", b"/b?PHPSESSID=2"]
    assert [one.cookies for one in emitted.ended] == [(), ()]


async def test_number_and_size_of_cookies_are_limited() -> None:
    lines = [b"HTTP/1.1 200 OK", b"Content-Length: 0"]
    lines += [b"Set-Cookie: large%d=%s" % (n, b"x" * 2000) for n in range(5)]
    lines += [b"Set-Cookie: n%d=v; Path=/" % n for n in range(60)]
    lines += [b"Set-Cookie: everywhere=1; Domain=127.0.0.1; Path=/", b"Set-Cookie: \xff=\xfe"]
    lines += [b"Set-Cookie: crlf=a\tb\x0bc", b"Set-Cookie: foreign=1; Domain=example.org"]
    server, emitted = await visit_pages(
        a=raw(b"\r\n".join([*lines, b"", b""]), keep=True), b=page()
    )
    sent = server.requests[1].header("Cookie")
    assert sent == "; ".join([*(f"n{n}=v" for n in range(12, 60)), "everywhere=1", "\xff=\xfe"])
    assert len(emitted.ended[0].cookies) == 50


async def test_robots_txt_behind_a_cookie_wall_is_read() -> None:
    async def answer_behind_wall(server: Server, writer: asyncio.StreamWriter) -> bool:
        if server.requests[-1].header("Cookie"):
            return await page(b"User-agent: *\nDisallow: /no")(server, writer)
        wall = page(b"", 302, Location="/robots.txt", Set_Cookie="passed=1")
        return await wall(server, writer)

    async with serving(robots=answer_behind_wall) as server:
        given = order(f"{server.root}/robots.txt", purpose=Purpose.ROBOTS, robots=None)
        emitted = await run_order(given=given)
    assert isinstance(emitted.one.robots, RobotsRules)
    assert not emitted.one.robots.allows(f"{server.root}/no")
    assert [one.name for one in emitted.one.cookies] == ["passed"]


async def wall(server: Server, writer: asyncio.StreamWriter) -> bool:
    """Redirect `/a` without cookie to `/a?set=1`, which sets the cookie and redirects back."""
    if server.requests[-1].header("Cookie"):
        return await page(b"<p>the shop")(server, writer)
    if server.paths[-1].endswith("?set=1"):
        return await page(b"", 302, Location="/a", Set_Cookie="passed=1; Path=/")(server, writer)
    return await page(b"", 302, Location="/a?set=1")(server, writer)


async def direct_wall(server: Server, writer: asyncio.StreamWriter) -> bool:
    """Set a cookie and redirect to the same URL."""
    if server.requests[-1].header("Cookie"):
        return await page(b"<p>the shop")(server, writer)
    return await page(b"", 302, Location="/a", Set_Cookie="passed=1; Path=/")(server, writer)


@pytest.mark.parametrize(("answer", "requests"), [(wall, 3), (direct_wall, 2)])
async def test_cookie_wall_is_passed_within_the_visit(answer: Answer, requests: int) -> None:
    async with serving(**{"a": answer, "a?set=1": answer}) as server:
        emitted = await run_order(f"{server.root}/a")
        assert len(server.paths) == requests
    assert emitted.outcomes == [Outcome.PAGE]
    assert [(one.visit.url, one.body) for one in emitted.pages] == [
        (f"{server.root}/a", b"<p>the shop")
    ]
    assert [one.name for one in emitted.one.cookies] == ["passed"]


async def test_cookie_wall_is_a_redirect_if_cookies_are_off() -> None:
    server, emitted = await visit_pages({"cookies": 0}, a=direct_wall)
    assert server.paths == ["/a"]
    assert emitted.outcomes == [Outcome.REDIRECT]


async def test_cookie_values_are_in_no_log_line(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    _, emitted = await visit_pages(a=with_sessions, b=raw(b""))
    printed = capsys.readouterr()
    assert SECRET not in printed.out + printed.err + caplog.text
    assert SECRET not in "".join(one.reason for one in emitted.ended)
    assert SECRET not in repr(emitted.ended)


async def test_octets_of_a_cookie_are_sent_back_byte_for_byte() -> None:
    """wpt `cookies/bytes.window.js`; RFC 6265bis, 5.7."""
    cookies = [b"latin=caf\xe9", b"utf=caf\xc3\xa9", b"all=" + bytes(range(0x80, 0x100))]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n"
    lines = b"".join(b"Set-Cookie: %s\r\n" % one for one in cookies)
    answer = raw(head + lines + b"\r\nhi", keep=True)
    async with serving(a=answer, b=answer, c=answer) as server:
        emitted = await run_order(*(f"{server.root}/{name}" for name in "abc"))
        sent = [request.header("Cookie").encode("latin-1") for request in server.requests]
    assert emitted.outcomes == ["page"] * 3
    assert sent == [b"", b"; ".join(cookies), b"; ".join(cookies)]
    recorded = [dict(one.request_headers).get("Cookie", "") for one in emitted.pages]
    assert [one.encode("latin-1") for one in recorded] == sent
