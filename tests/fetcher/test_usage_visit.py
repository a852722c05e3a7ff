"""The statements of usage files over real sockets, for every behaviour of servers."""

import gzip
from typing import Any

import pytest

from gossamer.events import Outcome, Purpose
from gossamer.web.robots import RobotsRules
from gossamer.web.usage.files import UsageFile
from tests.fetcher.orders import HASTY, Emitted, order, run_order
from tests.fetcher.servers import Answer, Server, hanging, page, serving

PATH = "/.well-known/tdmrep.json"
RESERVED = b'[{"location": "/", "tdm-reservation": 1}]'
NAME = PATH.removeprefix("/")


async def visit(server: Server, *paths: str, robots: str = "", **changes: Any) -> Emitted:
    urls = [f"{server.root}{path}" for path in paths or (PATH,)]
    rules = RobotsRules(lines=robots)
    given = order(*urls, purpose=Purpose.USAGE, robots=rules)
    return await run_order(given=given, **changes)


async def visit_tdmrep(answer: Answer, **changes: Any) -> tuple[Emitted, UsageFile]:
    async with serving(**{NAME: answer}) as server:
        emitted = await visit(server, **changes)
    assert emitted.one.usage_file and emitted.one.last
    return emitted, emitted.one.usage_file


async def test_usage_file_is_read_dated_and_archived() -> None:
    answer = page(RESERVED, Content_Type="application/json", Cache_Control="max-age=7200")
    emitted, file = await visit_tdmrep(answer)
    assert (emitted.one.outcome, file.fault) == (Outcome.PAGE, "")
    assert file.statements[0].statement.says == {"train-ai": False, "ai-input": False}
    assert file.expires_at == file.fetched_at + 7200
    (kept,) = emitted.pages
    assert (kept.body, kept.visit.purpose) == (RESERVED, Purpose.USAGE)


async def test_packed_usage_file_is_read() -> None:
    _, file = await visit_tdmrep(page(gzip.compress(RESERVED), Content_Encoding="gzip"))
    assert len(file.statements) == 1


@pytest.mark.parametrize(
    ("answer", "changes", "fault"),
    [
        *((page(RESERVED, status), {}, f"the server answered {status}")
          for status in (400, 402, 403, 404, 410, 500, 503)),
        (page(b"<!doctype html><title>Just a moment", 202), {}, "it is not JSON"),
        (page(b"<html>" + b" " * 5000), {"robots_limit": 4096}, "it was cut after 4096 bytes"),
        (hanging(b""), HASTY, ""),
    ],
    ids=["400", "402", "403", "404", "410", "500", "503", "wall", "too large page", "silence"],
)  # fmt: skip
async def test_file_that_is_not_served_says_nothing(
    answer: Answer, changes: dict[str, Any], fault: str
) -> None:
    emitted, file = await visit_tdmrep(answer, **changes)
    assert file.statements == () and file.fault and file.fault.startswith(fault)
    assert (file.status, file.fault) == (emitted.one.status, emitted.one.reason)


async def test_end_of_a_too_large_file_is_reserved() -> None:
    body = b'[{"location": "/free/", "tdm-reservation": 0},' + b" " * 5000 + RESERVED[1:]
    _, file = await visit_tdmrep(page(body), robots_limit=4096)
    assert [one.says["train-ai"] for one in file.statements_about("http://x/free/")] == [True]
    assert [one.says["train-ai"] for one in file.statements_about("http://x/book")] == [False]
    assert file.fault.startswith("it was cut after 4096 bytes")


async def test_redirect_within_the_host_is_followed() -> None:
    answers = {NAME: page(b"", 301, Location="/moved.json"), "moved.json": page(RESERVED)}
    async with serving(**answers) as server:
        emitted = await visit(server)
        file = emitted.one.usage_file
    assert file and file.url == f"{server.root}{PATH}" and len(file.statements) == 1
    assert [kept.visit.url for kept in emitted.captures] == [
        f"{server.root}{PATH}",
        f"{server.root}/moved.json",
    ]


@pytest.mark.parametrize("location", ["https://other.test/t.json", "/no/t.json", "http://["])
async def test_other_redirects_say_nothing(location: str) -> None:
    answer = page(b"", 302, Location=location)
    emitted, file = await visit_tdmrep(answer, robots="1 - /no/")
    assert file.statements == () and file.fault.startswith("the server answered 302")
    assert len(emitted.pages) == 1


async def test_disallowed_file_is_not_requested() -> None:
    async with serving(**{NAME: page(RESERVED)}) as server:
        emitted = await visit(server, robots="1 - /.well-known/")
        assert server.paths == []
    assert emitted.one.outcome is Outcome.ROBOTS_EXCLUDED and emitted.one.usage_file is None


async def test_license_of_robots_txt_is_read() -> None:
    body = (
        b'<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license>'
        b'<prohibits type="usage">ai-train</prohibits></license></content></rsl>'
    )
    async with serving(**{"l.xml": page(body)}) as server:
        emitted = await visit(server, "/l.xml")
    assert emitted.one.usage_file
    (found,) = emitted.one.usage_file.statements
    assert not found.statement.says["train-ai"]
    assert found.statement.place == f"{server.root}/l.xml, license 1"
