"""The pages of the console in a browser: their data, accessibility, and resistance to attacks."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.async_api import Browser

from .console import MODE_CASES, PATIENCE, Console, tab
from .hostile import MARK, HostileSite, listening

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

PAGES = {
    "overview": "Pages by hour",
    "crawls": "default",
    "hosts": "http://127.0.0.1:",
    "sites": "127.0.0.1",
    "url": "Enter a URL",
    "failures": "refused or parked URLs",
    "speed": "No limit now",
    "blocklist": "Unblock",
    "dead-letters": "parser",
    "audit": "The changes that operators made",
    "notifications": "Nothing is sent",
    "erasures": "Nothing was erased",
    "report": "Limits, traps and hazards",
}
"""Page of the navigation → text that it shows about the crawl."""


def routes(site: HostileSite) -> dict[str, str]:
    """Return all pages, with those about one host, site and URL of the hostile site."""
    first, failed = site.urls[0], site.urls[1]
    return {
        **PAGES,
        f"host?host={quote(site.address)}": "queued",
        "site?site=127.0.0.1": "first visit",
        f"url?url={quote(first)}": "Last visit",
        f"url?url={quote(failed)}": "500",
    }


async def test_navigation_leads_to_pages_that_show_the_crawl(
    browser: Browser, console: Console
) -> None:
    async with tab(browser, console) as opened:
        for page, text in PAGES.items():
            await opened.page.get_by_role("navigation").locator(f'a[href="#/{page}"]').click()
            await opened.page.wait_for_function(
                "(text) => document.querySelector('main').innerText.includes(text)", arg=text
            )
            current = opened.page.locator('nav a[aria-current="page"]')
            assert await current.get_attribute("href") == f"#/{page}"
        assert opened.faults == []


@pytest.mark.parametrize("mode", MODE_CASES)
async def test_axe_reports_nothing(
    browser: Browser, console: Console, site: HostileSite, mode: str
) -> None:
    found: dict[str, Any] = {}
    async with tab(browser, console, mode, bypass_csp=True) as opened:
        for route, text in routes(site).items():
            await opened.open(route)
            assert text in await opened.text()
            found[route] = await opened.violations()
            wider = await opened.page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert wider <= 0, f"{route} scrolls sideways"
    assert {route: faults for route, faults in found.items() if faults} == {}


async def test_hostile_texts_run_nothing_and_request_nothing(
    browser: Browser, console: Console, site: HostileSite
) -> None:
    async with tab(browser, console) as opened:
        with listening(site.listener) as connections:
            for route, text in routes(site).items():
                await opened.open(route)
                assert text in await opened.text()
                for summary in await opened.page.locator("main summary").all():
                    await summary.click()
                assert not await opened.page.evaluate(f"'{MARK}' in window"), route
            for name in ("Show the version", "Show the difference"):
                shown = opened.page.get_by_role("button", name=name).first
                if await shown.count():
                    await shown.click()
                    await opened.page.wait_for_selector("main .list h3", timeout=PATIENCE)
            assert not await opened.page.evaluate(f"'{MARK}' in window")
        assert connections == []
        assert opened.faults == []


async def test_hostile_text_is_shown_as_text(
    browser: Browser, console: Console, site: HostileSite
) -> None:
    async with tab(browser, console) as opened:
        await opened.open(f"url?url={quote(site.urls[0])}")
        await opened.page.get_by_role("button", name="Show the version").first.click()
        await opened.page.locator("summary", has_text="Headers").click()
        text = await opened.text()
        assert "<script>window" in text and "X-Attack-0" in text
        elements = opened.page.locator("main script, main img, main style, main link")
        assert await elements.count() == 0


ERRORS = {
    "host": "No host is named",
    "host?host=unknown.example": "was admitted",
    "host?host=http://": "is not a URL",
    "url?url=:::": "is not a URL",
    "site": "No site is named",
    "hosts?condition=none": "Condition: Invalid enum value 'none': choose from",
    "report?days=0": "Days: Expected `int` >= 1.",
    "overview?crawl=unknown": "There is no crawl 'unknown'.",
    "unknown": "The console has no such page.",
}
"""Address that somebody may type → part of the sentence that explains what is wrong."""


@pytest.mark.long
async def test_wrong_address_is_explained(browser: Browser, console: Console) -> None:
    async with tab(browser, console, bypass_csp=True) as opened:
        for route, text in ERRORS.items():
            await opened.open(route)
            assert text in await opened.text(), route
            assert await opened.violations() == []
        assert opened.faults == []


async def test_body_of_a_version_is_saved(
    browser: Browser, console: Console, site: HostileSite
) -> None:
    async with tab(browser, console) as opened:
        await opened.open(f"url?url={quote(site.urls[0])}")
        await opened.page.get_by_role("button", name="Show the version").first.click()
        async with opened.page.expect_download() as download:
            await opened.page.get_by_role("button", name="Download the body").click()
        found = await download.value
        assert found.suggested_filename == "page"
        assert Path(await found.path()).read_text().startswith("<!doctype html><html lang=en>")


@pytest.mark.long
async def test_opened_version_fits_the_screen(
    browser: Browser, console: Console, site: HostileSite
) -> None:
    async with tab(browser, console, "phone", bypass_csp=True) as opened:
        page = opened.page
        await opened.open(f"url?url={quote(site.urls[0])}")
        await page.get_by_role("button", name="Show the version").first.click()
        await page.locator("iframe.archived").wait_for()
        assert await page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        assert await opened.violations() == []


async def test_token_in_the_link_leaves_the_address(browser: Browser, console: Console) -> None:
    async with tab(browser, console) as opened:
        assert console.token not in opened.page.url
        storages = "JSON.stringify([{...localStorage}, {...sessionStorage}])"
        stored = await opened.page.evaluate(storages)
        assert console.token not in stored


async def test_console_asks_for_a_token(browser: Browser, console: Console) -> None:
    page = await browser.new_page()
    await page.goto(console.route("hosts"))
    await page.get_by_text("The console needs a token.").wait_for()
    await page.get_by_label("Token").fill("wrong")
    await page.get_by_role("button", name="Log in").click()
    await page.get_by_role("alert").wait_for()
    await page.get_by_label("Token").fill(console.token)
    await page.keyboard.press("Enter")
    await page.get_by_role("heading", name="Hosts", level=1).wait_for()
    await page.close()


@pytest.mark.long
async def test_theme_is_remembered(browser: Browser, console: Console) -> None:
    async with tab(browser, console) as opened:
        background = "getComputedStyle(document.body).backgroundColor"
        light = await opened.page.evaluate(background)
        await opened.page.get_by_role("button", name="Theme: auto").click()
        await opened.page.get_by_role("button", name="Theme: light").click()
        await opened.page.get_by_role("button", name="Theme: dark").wait_for()
        await opened.page.reload()
        assert await opened.page.evaluate(background) != light


async def test_pages_work_by_keyboard(
    browser: Browser, console: Console, site: HostileSite
) -> None:
    async with tab(browser, console) as opened:
        page = opened.page
        await page.reload()
        await opened.settle()
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")  # Skip to the content
        assert await page.evaluate("document.activeElement.id") == "main"
        await page.locator("#search-text").focus()
        await page.keyboard.type("127.0.0.1")
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name="Hosts", level=1).wait_for()
        await page.locator(f'main table a[title="{site.address}"]').focus()
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name=site.address).wait_for()
        # A screen reader begins to read at the new page.
        assert await page.evaluate("document.activeElement.id") == "main"
