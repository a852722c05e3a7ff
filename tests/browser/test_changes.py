"""Changes that an operator makes in the browser, by mouse or keyboard alone."""

import json
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, Locator, Page

from tests.support.commands import run_command

from .console import MODE_CASES, Console, Tab, running_console, tab
from .hostile import HostileSite

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

COMMAND = [sys.executable, "-m", "gossamer.console.cli.main"]
REASON = "<img src=x onerror=alert(1)> complaint 4711"


def status(data: Path) -> dict[str, Any]:
    """Return what `gossamer status` prints."""
    done = run_command([*COMMAND, "status", "--data", str(data), "--json"])
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def set_speed(data: Path, speed: str) -> None:
    done = run_command([*COMMAND, "speed", speed, "--data", str(data)])
    assert done.code == 0, done.err


async def confirm(page: Page) -> str:
    """Give a reason in the dialog and confirm it by keyboard; return the effect that was shown."""
    dialog = page.get_by_role("dialog")
    await dialog.locator(".effect strong").wait_for()
    effect: str = await dialog.locator(".effect").inner_text()
    await dialog.get_by_label("Reason").focus()
    await page.keyboard.type(REASON)
    await page.keyboard.press("Enter")
    await dialog.wait_for(state="detached")
    return effect


async def press(button: Locator) -> None:
    """Use a button by keyboard."""
    await button.focus()
    await button.press("Enter")


async def test_block_and_unblock(browser: Browser, console: Console) -> None:
    async with tab(browser, console) as opened:
        page = opened.page
        await opened.open("blocklist")
        await press(page.get_by_role("button", name="Block…"))
        await page.get_by_label("Rules, one a line").focus()
        await page.keyboard.type("blocked.example")
        await page.locator(".effect", has_text="blocked.example is blocked").wait_for()
        assert not is_blocked(console, "blocked.example"), "a dry run changes nothing"
        assert "1 rule added" in await confirm(page)
        await page.get_by_role("button", name="Unblock blocked.example").wait_for()
        assert is_blocked(console, "blocked.example")
        await press(page.get_by_role("button", name="Unblock blocked.example"))
        await confirm(page)
        await page.get_by_role("button", name="Unblock blocked.example").wait_for(state="detached")
        assert not is_blocked(console, "blocked.example")
        await assert_audited(opened, "unblock")


def is_blocked(console: Console, rule: str) -> bool:
    done = run_command([*COMMAND, "blocklist", "--data", str(console.data)])
    return rule in done.out


async def assert_audited(opened: Tab, action: str) -> None:
    """Assert that the audit page shows the change with its reason as text."""
    await opened.open(f"audit?action={action}")
    assert REASON in await opened.text()
    assert "console" in await opened.text()
    assert opened.faults == []


@pytest.mark.long
async def test_dialog_is_left_without_a_change(browser: Browser, console: Console) -> None:
    async with tab(browser, console) as opened:
        page = opened.page
        await opened.open("blocklist")
        for leave in ("Escape", "back"):
            await press(page.get_by_role("button", name="Block…"))
            await page.get_by_label("Rules, one a line").fill("left.example")
            if leave == "back":
                await page.go_back()
            else:
                await page.keyboard.press("Escape")
            await page.get_by_role("dialog").wait_for(state="detached")
            await opened.open("blocklist")
        assert not is_blocked(console, "left.example")


@pytest.mark.long
async def test_speed_is_set_from_the_grid(browser: Browser, console: Console) -> None:
    async with tab(browser, console) as opened:
        page = opened.page
        await opened.open("speed")
        await page.get_by_label("Pages a second").fill("7")
        await press(page.get_by_role("button", name="Add this limit"))
        await page.get_by_role("gridcell", name="Sunday 03:00").focus()
        await page.keyboard.press("Space")
        await press(page.get_by_role("button", name="Apply…"))
        await confirm(page)
        await opened.settle()
        assert status(console.data)["speeds"] == [
            {"when": "sun 03:00-04:00", "pages": 7.0, "bytes": None}
        ]
        await page.get_by_role("radio", name="no limit").check()
        await page.get_by_role("gridcell", name="Sunday 03:00").focus()
        await page.keyboard.press("Space")
        await press(page.get_by_role("button", name="Apply…"))
        await confirm(page)
        await opened.settle()
        assert status(console.data)["speeds"] == []
        await assert_audited(opened, "speed")


async def test_host_is_slowed_down(browser: Browser, console: Console, site: HostileSite) -> None:
    async with tab(browser, console) as opened:
        page = opened.page
        await opened.open(f"host?host={quote(site.address)}")
        await press(page.get_by_role("button", name="Slow down"))
        await page.get_by_label("Seconds between two visits").fill("33")
        await confirm(page)
        await page.get_by_text("at least 33 s between two visits").first.wait_for()
        await assert_audited(opened, "host")


async def test_url_is_fetched_again(browser: Browser, console: Console, site: HostileSite) -> None:
    async with tab(browser, console) as opened:
        await opened.open(f"url?url={quote(site.urls[0])}")
        await press(opened.page.get_by_role("button", name="Fetch again"))
        await confirm(opened.page)
        await assert_audited(opened, "refetch")


async def test_url_is_fetched_before_all_others(
    browser: Browser, console: Console, site: HostileSite
) -> None:
    async with tab(browser, console) as opened:
        await opened.open(f"url?url={quote(site.urls[4])}")
        await press(opened.page.get_by_role("button", name="Fetch now"))
        await confirm(opened.page)
        await assert_audited(opened, "fetch")


async def test_dead_letters_are_discarded(browser: Browser, console: Console) -> None:
    async with tab(browser, console) as opened:
        page = opened.page
        await opened.open("dead-letters")
        boxes = page.get_by_role("checkbox", name="Choose")
        before = await boxes.count()
        await boxes.first.focus()
        await page.keyboard.press("Space")
        await press(page.get_by_role("button", name="Discard…"))
        await confirm(page)
        await page.wait_for_function(
            "(count) => document.querySelectorAll('main input[type=checkbox]').length === count",
            arg=before - 1,
        )
        await assert_audited(opened, "discard")


@pytest.mark.long
async def test_crawl_is_resumed_and_paused(browser: Browser, console: Console) -> None:
    async with tab(browser, console) as opened:
        page = opened.page
        await opened.open("crawls")
        for verb, other in (("Pause", "Resume"), ("Resume", "Pause")):
            # The run of the fixture has ended, so that the crawl may be in either state.
            if await page.get_by_role("button", name=verb).count():
                await press(page.get_by_role("button", name=verb))
                await confirm(page)
                await page.get_by_role("button", name=other).wait_for()
                assert status(console.data)["definition"]["paused"] is (verb == "Pause")
        await press(page.get_by_role("button", name="Edit…"))
        definition = page.get_by_label("Definition, as TOML")
        text = await definition.input_value()
        await definition.fill(f"weight = 2.5\n{text}")
        await page.locator(".effect", has_text="weight").wait_for()
        await confirm(page)
        assert status(console.data)["definition"]["weight"] == 2.5


async def test_target_of_an_erasure_is_typed(browser: Browser, console: Console) -> None:
    url = "http://erased.example/private"
    async with tab(browser, console) as opened:
        page = opened.page
        await opened.open(f"url?url={quote(url)}")
        await press(page.get_by_role("button", name="Erase…"))
        dialog = page.get_by_role("dialog")
        await dialog.locator(".effect", has_text="will be erased").wait_for()
        erase = dialog.get_by_role("button", name="Erase", exact=True)
        typed = dialog.get_by_label(f"Type “{url}” to confirm")
        for text in ("", url[:-1]):
            await typed.fill(text)
            assert await erase.is_disabled()
            await typed.press("Enter")
            assert await dialog.is_visible(), "nothing is sent before the text is complete"
        await typed.fill("")
        await page.keyboard.type(url)
        assert await erase.is_enabled()
        await confirm(page)
        await assert_audited(opened, "forget")


@pytest.mark.parametrize("mode", MODE_CASES)
async def test_axe_reports_nothing_in_dialogs(
    browser: Browser, console: Console, site: HostileSite, mode: str
) -> None:
    dialogs = {
        f"host?host={quote(site.address)}": ("Slow down", "Block", "Erase…"),
        "site?site=127.0.0.1": ("Settings…",),
        "crawls": ("Edit…", "Remove"),
    }
    async with tab(browser, console, mode, bypass_csp=True) as opened:
        page = opened.page
        for route, names in dialogs.items():
            await opened.open(route)
            for name in names:
                await press(page.get_by_role("main").get_by_role("button", name=name).first)
                await page.locator(".effect :is(strong, .bad)").wait_for()
                expires = page.get_by_label("Expires")
                if await expires.count():
                    await expires.select_option("after some hours")
                    await page.get_by_label("Hours").wait_for()
                assert await opened.violations() == [], name
                await page.keyboard.press("Escape")
                await page.get_by_role("dialog").wait_for(state="detached")
                focused = await page.evaluate("document.activeElement.textContent")
                assert focused == name, "the focus returns to the button"


async def test_invalid_change_is_explained_and_cannot_be_made(
    browser: Browser, console: Console
) -> None:
    async with tab(browser, console) as opened:
        page = opened.page
        await opened.open("blocklist")
        await press(page.get_by_role("button", name="Block…"))
        block = page.get_by_role("dialog").get_by_role("button", name="Block", exact=True)
        rules = page.get_by_label("Rules, one a line")
        assert await block.is_disabled() and not await page.locator(".effect .bad").count()
        await rules.fill("*.10.0.0.0")
        await page.locator(".effect .bad", has_text="a domain must be a name").wait_for()
        assert await block.is_disabled()
        await rules.fill("valid.example")
        await page.locator(".effect", has_text="valid.example is blocked").wait_for()
        assert await block.is_enabled()


@pytest.mark.long
async def test_setting_that_was_changed_since_stays(browser: Browser, console: Console) -> None:
    async with tab(browser, console) as opened:
        page = opened.page
        await opened.open("speed")
        set_speed(console.data, "5/s")
        await press(page.get_by_role("button", name="Apply…"))
        await page.locator(".effect .bad", has_text="after you read it").wait_for()
        button = page.get_by_role("dialog").get_by_role("button", name="Set", exact=True)
        assert await button.is_disabled()
        assert [one["pages"] for one in status(console.data)["speeds"]] == [5.0]
        set_speed(console.data, "none")


@pytest.mark.long
async def test_reason_is_required_if_the_settings_say_so(
    browser: Browser, console: Console, tmp_path: Path
) -> None:
    with running_console(
        console.data, tmp_path / "out", GOSSAMER_API__REQUIRE_REASON="true"
    ) as strict:
        async with tab(browser, strict) as opened:
            page = opened.page
            await opened.open("blocklist")
            await press(page.get_by_role("button", name="Block…"))
            await page.get_by_label("Rules, one a line").fill("reason.example")
            dialog = page.get_by_role("dialog")
            await dialog.get_by_role("button", name="Block", exact=True).click()
            assert await dialog.is_visible()
            await confirm(page)
            await assert_audited(opened, "block")


async def test_log_out_ends_the_session(browser: Browser, console: Console) -> None:
    async with tab(browser, console) as opened:
        page = opened.page
        await press(page.get_by_role("button", name="Log out"))
        await page.get_by_role("heading", name="Log in").wait_for()
        assert await page.get_by_role("button", name="Log out").count() == 0
        assert await page.get_by_role("navigation").get_by_role("link").count() == 0
        assert await page.context.cookies() == []
        await page.goto(console.route("hosts"))
        await page.get_by_label("Token").fill(console.token)
        await page.keyboard.press("Enter")
        await page.get_by_role("heading", name="Hosts", level=1).wait_for()
        await page.get_by_role("button", name="Log out").wait_for()
