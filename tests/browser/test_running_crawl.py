"""Changes that an operator makes by mouse in the console of a running crawl, seen at the server."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, Locator, Page

from gossamer.events import SeedAdded
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.log import Record
from gossamer.log.codec import dead_letter, encode
from tests.support.waiting import HANG_TIMEOUT, until
from tests.system.crawl import CONTACT, GOSSAMER, LOOPBACK, Started, start_command

from .console import Console, Tab, free_port, tab
from .hostile import listening
from .recorded_web import RecordedWeb, recorded_web

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

HOSTS = range(2, 10)
"""Each test has a host of its own; the others show that the crawl goes on."""
FETCHED, FAILED, BLOCKED, SLOWED, OFF, HIDDEN, TEMPORARY, LETTER = HOSTS
SECOND = 20
"""The host of the second crawl."""
DELAY = 0.5
OTHER_REQUESTS = 20
"""Requests to other hosts after which a change has had its effect: several orders to each."""
REASON = "test of the console"


class Running(NamedTuple):
    """A crawl that runs, its web and its console."""

    web: RecordedWeb
    console: Console
    crawl: Started


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Return a running crawl of all hosts."""
    data, port = tmp_path_factory.mktemp("running") / "data", free_port()
    with recorded_web(f"http://127.0.0.1:{free_port()}", HIDDEN) as web:
        names = ", ".join(f'"127.0.0.{number}"' for number in (*HOSTS, SECOND))
        scope = f'host({names}) and not pattern("/hidden/")'
        options = ["--contact", CONTACT, "--delay", str(DELAY), "--data", str(data), *LOOPBACK]
        command = [GOSSAMER, "crawl", *options, "--scope", scope, "--console", str(port)]
        seeds = [f"{web.host(number)}/" for number in HOSTS]
        with start_command([*command, *seeds], data.parent / "output") as crawl:
            token = data / "console-token"
            until(lambda: token.exists() and token.read_text(), "the token of the console")
            address = f"http://127.0.0.1:{port}"
            yield Running(web, Console(address, token.read_text(), data), crawl)
            assert crawl.running, crawl.err


async def wait_for(happened: Callable[[], object], name: str) -> None:
    """Wait for a condition while the browser goes on."""
    latest = time.monotonic() + HANG_TIMEOUT
    while not happened():
        assert time.monotonic() < latest, f"timed out: {name}"
        await asyncio.sleep(0.05)


async def reload_until(found: Tab, has_come: Callable[[str], bool], name: str) -> None:
    """Reload the page until its text is as expected."""
    latest = time.monotonic() + HANG_TIMEOUT
    while not has_come(await found.text()):
        assert time.monotonic() < latest, f"timed out: {name}"
        await found.page.reload()
        await found.settle()


async def wait_for_text(found: Tab, has_come: Callable[[str], bool], name: str) -> None:
    """Wait until the page, which is not loaded again, has the text."""
    latest = time.monotonic() + HANG_TIMEOUT
    while not has_come(await found.text()):
        assert time.monotonic() < latest, f"timed out: {name}"
        await asyncio.sleep(0.2)


async def wait_for_others(web: RecordedWeb, number: int) -> None:
    """Wait until other hosts than *number* got many requests."""
    before = web.others(number)
    await wait_for(lambda: web.others(number) >= before + OTHER_REQUESTS, "requests to other hosts")


async def assert_no_requests(web: RecordedWeb, number: int) -> None:
    """Assert that host *number* gets no request while the others do, once orders in flight end."""
    await wait_for_others(web, number)
    before = web.count(number)
    await wait_for_others(web, number)
    assert web.count(number) == before


async def assert_requests(web: RecordedWeb, number: int, path: str = "") -> None:
    """Wait for one more request to host *number*, or for *path*."""
    before = web.count(number, path)
    await wait_for(lambda: web.count(number, path) > before, f"a request to {number}{path}")


async def confirm(page: Page, verb: str) -> str:
    """Give a reason in the dialog, and click the button *verb*; return the effect."""
    dialog = page.get_by_role("dialog")
    await dialog.locator(".effect strong").wait_for()
    effect: str = await dialog.locator(".effect").inner_text()
    await dialog.get_by_label("Reason").fill(REASON)
    await dialog.get_by_role("button", name=verb, exact=True).click()
    await dialog.wait_for(state="detached")
    return effect


@asynccontextmanager
async def opened(browser: Browser, running: Running, route: str = "overview") -> AsyncIterator[Tab]:
    """Open a page of the console within the block; assert that nothing went wrong there."""
    async with tab(browser, running.console) as found:
        await found.open(route)
        yield found
        assert found.faults == []


async def change(found: Tab, name: str, verb: str) -> str:
    """Click the button *name* of the page, and confirm the change."""
    await found.page.get_by_role("main").get_by_role("button", name=name, exact=True).click()
    return await confirm(found.page, verb)


def host_route(web: RecordedWeb, number: int) -> str:
    return f"host?host={quote(web.host(number))}"


def authority(web: RecordedWeb, number: int) -> str:
    """Return the rule of the blocklist for host *number*."""
    return web.host(number).removeprefix("http://")


async def explained(found: Tab, url: str, state: str) -> None:
    """Open the page of *url* when it has the state *state*."""
    latest = time.monotonic() + HANG_TIMEOUT
    while True:
        await found.open(f"url?url={quote(url)}")
        badge = found.page.locator("main .sentence .badge")
        if await badge.count() and await badge.inner_text() == state:
            return
        assert time.monotonic() < latest, await found.text()
        await asyncio.sleep(0.2)


@pytest.mark.long
async def test_fetched_url_is_requested_again(browser: Browser, running: Running) -> None:
    web = running.web
    async with opened(browser, running) as found:
        await explained(found, f"{web.host(FETCHED)}/", "fetched")
        assert web.count(FETCHED, "/") == 1
        await change(found, "Fetch again", "Fetch again")
        await wait_for(lambda: web.count(FETCHED, "/") == 2, "a second request")


@pytest.mark.long
async def test_failed_url_is_requested_again(browser: Browser, running: Running) -> None:
    web = running.web
    async with opened(browser, running) as found:
        await explained(found, f"{web.host(FAILED)}/broken", "failed")
        before = web.count(FAILED, "/broken")
        await change(found, "Retry", "Retry")
        await wait_for(lambda: web.count(FAILED, "/broken") > before, "another request")


@pytest.mark.long
async def test_blocked_host_gets_no_requests_until_it_is_released(
    browser: Browser, running: Running
) -> None:
    web = running.web
    async with opened(browser, running, host_route(web, BLOCKED)) as found:
        await assert_requests(web, BLOCKED)
        await change(found, "Block", "Block")
        await assert_no_requests(web, BLOCKED)
        await found.open("blocklist")
        await change(found, f"Unblock {authority(web, BLOCKED)}", "Unblock")
        await assert_requests(web, BLOCKED)


@pytest.mark.long
async def test_block_ends_when_it_expires(browser: Browser, running: Running) -> None:
    web = running.web
    async with opened(browser, running, host_route(web, TEMPORARY)) as found:
        await assert_requests(web, TEMPORARY)
        await found.page.get_by_role("button", name="Block", exact=True).click()
        await found.page.get_by_label("Expires").select_option("after some hours")
        await found.page.get_by_label("Hours").fill("0.01")
        await confirm(found.page, "Block")
        await found.open("blocklist")
        rule = authority(web, TEMPORARY)
        await found.page.get_by_role("button", name=f"Unblock {rule}").wait_for()
        await wait_for_text(found, lambda text: rule not in text, "the rule has expired")
        await assert_requests(web, TEMPORARY)


@pytest.mark.long
async def test_slowed_host_gets_requests_far_apart(browser: Browser, running: Running) -> None:
    web, delay = running.web, 4.0
    async with opened(browser, running, host_route(web, SLOWED)) as found:
        await assert_requests(web, SLOWED)
        await found.page.get_by_role("button", name="Slow down").click()
        await found.page.get_by_label("Seconds between two visits").fill(str(delay))
        await confirm(found.page, "Set the delay")
        start = len(web.requests)

        def gaps() -> list[float]:
            times = web.times(SLOWED, start=start)
            return [after - before for before, after in pairwise(times)]

        # An order that began before the change keeps its pause.
        await wait_for(lambda: any(gap > 0.9 * delay for gap in gaps()), "a long gap")
        slow_from = next(n for n, gap in enumerate(gaps()) if gap > 0.9 * delay)
        await wait_for(lambda: len(gaps()) > slow_from + 3, "more requests")
        assert min(gaps()[slow_from:]) > 0.9 * delay


@pytest.mark.long
async def test_site_without_requests_gets_them_again(browser: Browser, running: Running) -> None:
    web = running.web
    async with opened(browser, running, f"site?site=127.0.0.{OFF}") as found:
        await assert_requests(web, OFF)
        for is_off in (True, False):
            await found.page.get_by_role("button", name="Settings").click()
            await found.page.get_by_label("No requests at all").set_checked(is_off)
            await confirm(found.page, "Set")
            await (assert_no_requests if is_off else assert_requests)(web, OFF)


@pytest.mark.long
async def test_dead_letter_is_replayed(browser: Browser, running: Running) -> None:
    web = running.web
    url = f"{web.host(LETTER)}/replayed"
    message = encode(SeedAdded(at=1.0, url=url, priority=-5))
    record = Record(message.topic, 0, 7, message.key, message.value)
    with open_crawl(None, running.console.data) as crawl:
        crawl.log.append([encode(dead_letter(record, "dedup", "a fault of the test", 1.0))])
    async with opened(browser, running, "dead-letters") as found:
        assert web.count(LETTER, "/replayed") == 0
        await found.page.get_by_role("checkbox", name="Choose").check()
        effect = await change(found, "Replay…", "Replay")
        assert "1 dead letter appended again" in effect
        await wait_for(lambda: web.count(LETTER, "/replayed"), "a request for the seed")


async def test_click_in_an_archived_page_sends_nothing(browser: Browser, running: Running) -> None:
    web = running.web
    url = f"{web.host(FETCHED)}/outside"
    async with opened(browser, running, "crawls") as found:
        with open_crawl(None, running.console.data) as crawl:
            crawl.log.append([encode(SeedAdded(at=1.0, url=url, priority=-5))])
        await explained(found, url, "fetched")
        await found.page.get_by_role("button", name="Show the version").first.click()
        frame = found.page.frame_locator("iframe.archived")
        with listening(web.outside) as connections:
            for text in ("Page /outside", "leave", "send"):
                await frame.get_by_text(text).first.click(modifiers=["Control"])
                await frame.get_by_text(text).first.click()
            assert "w" in await frame.locator("body").inner_text()
            assert connections == []
        assert len(found.page.context.pages) == 1
        assert found.page.url.endswith(quote(url))


@pytest.mark.long
async def test_erased_url_is_not_archived_any_more(browser: Browser, running: Running) -> None:
    web = running.web
    url = f"{web.host(FAILED)}/"
    async with opened(browser, running) as found:
        await explained(found, url, "fetched")
        await found.page.get_by_role("button", name="Erase…").click()
        await found.page.get_by_label("Also block the URL").check()
        await found.page.locator(".effect", has_text="will be blocked").wait_for()
        await found.page.get_by_label(f"Type “{url}” to confirm").fill(url)
        await confirm(found.page, "Erase")
        await explained(found, url, "erased")
        assert await found.page.get_by_role("button", name="Show the version").count() == 0
        await found.open("erasures")
        await wait_for_text(
            found, lambda text: url in text and "being erased" not in text, "the erasure"
        )
        await found.open("blocklist")
        assert f"{authority(web, FAILED)}/" in await found.text()


@pytest.mark.long
async def test_edited_scope_releases_pages(browser: Browser, running: Running) -> None:
    web = running.web
    async with opened(browser, running, "crawls") as found:
        assert web.count(HIDDEN, "/hidden/page") == 0
        await found.page.get_by_role("button", name="Edit…").click()
        definition = found.page.get_by_label("Definition, as TOML")
        text = await definition.input_value()
        await definition.fill(text.replace(' and not pattern(\\"/hidden/\\")', ""))
        await found.page.locator(".effect", has_text="scope").wait_for()
        effect = await confirm(found.page, "Apply")
        assert "/hidden/" in effect, "the difference has the rule that is removed"
        await wait_for(lambda: web.count(HIDDEN, "/hidden/page"), "a request for a parked page")


async def test_crawl_is_applied_paused_resumed_and_removed(
    browser: Browser, running: Running
) -> None:
    web = running.web
    async with opened(browser, running, "crawls") as found:
        await found.page.get_by_role("button", name="Apply a definition…").click()
        await found.page.get_by_label("Id of the crawl").fill("second")
        definition = f'seeds = ["{web.host(SECOND)}/"]\nscope = "host"\n'
        await found.page.get_by_label("Definition, as TOML").fill(definition)
        await found.page.locator(".effect", has_text="second").wait_for()
        await confirm(found.page, "Apply")
        await assert_requests(web, SECOND)
        card = section_of(found.page, "second")
        await found.page.reload()
        await found.open("hosts")
        assert f"127.0.0.{SECOND}:" not in await found.text(), "no host of the other crawl"
        await found.page.get_by_label("With URLs of").select_option("any crawl")
        await reload_until(found, lambda text: web.host(SECOND) in text, "the other crawl's host")
        await found.open("crawls")
        for name, state in (("Pause", "paused"), ("Resume", "active"), ("Remove", "removed")):
            await card.get_by_role("button", name=name).click()
            if name == "Remove":
                await found.page.get_by_label("Type “second” to confirm").fill("second")
            await confirm(found.page, name)
            await card.get_by_text(state, exact=True).wait_for()
            await (assert_requests if name == "Resume" else assert_no_requests)(web, SECOND)
        assert await card.get_by_role("button", name="Resume").count() == 0


@pytest.mark.long
async def test_only_crawl_is_paused_and_resumed(browser: Browser, running: Running) -> None:
    web = running.web
    async with opened(browser, running, "crawls") as found:
        card = section_of(found.page, "default")
        await card.get_by_role("button", name="Pause").click()
        await confirm(found.page, "Pause")
        await card.get_by_text("paused", exact=True).wait_for()
        silence = 8 * DELAY
        await wait_for(lambda: web.requests[-1].at < time.monotonic() - silence, "the last request")
        # Without work the run would end, and its console with it.
        await found.open("overview")
        before = len(web.requests)
        await found.open("crawls")
        await card.get_by_role("button", name="Resume").click()
        await confirm(found.page, "Resume")
        await wait_for(lambda: len(web.requests) > before, "requests again")


def section_of(page: Page, heading: str) -> Locator:
    """Return the section with the heading *heading*."""
    return page.locator("main section").filter(has=page.get_by_role("heading", name=heading))


@pytest.mark.long
async def test_weekly_speed_is_painted_with_the_mouse(browser: Browser, running: Running) -> None:
    web, rate = running.web, 0.5
    async with opened(browser, running, "speed") as found:
        await found.page.get_by_label("Pages a second").fill(str(rate))
        await found.page.get_by_role("button", name="Add this limit").click()
        await paint_the_week(found.page)
        await change(found, "Apply…", "Set")
        # Orders that began before have a faster pace.
        await wait_for(lambda: web.requests[-1].at < time.monotonic() - 1 / rate, "a slower pace")
        start = len(web.requests)
        await wait_for(lambda: len(web.requests) > start + 8, "more requests")
        times = [one.at for one in web.requests[start : start + 9]]
        assert 8 / (times[-1] - times[0]) < 1.5 * rate
        await found.page.get_by_role("radio", name="no limit").check()
        await paint_the_week(found.page)
        await change(found, "Apply…", "Set")
        await wait_for_others(web, 0)


async def paint_the_week(page: Page) -> None:
    """Paint all hours of the grid in one movement of the mouse."""
    days = page.locator(".week tbody tr")
    await days.first.locator("td").first.hover()
    await page.mouse.down()
    for day in range(7):
        cells = days.nth(day).locator("td")
        for hour in range(24) if day % 2 == 0 else reversed(range(24)):
            await cells.nth(hour).hover()
    await page.mouse.up()
