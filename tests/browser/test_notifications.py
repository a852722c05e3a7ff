"""The page of notifications in a browser: hostile notices, and the test button."""

import json
from collections.abc import Iterator

import pytest
from playwright.async_api import Browser

from gossamer.console.cli.main import main
from gossamer.events import NoticeRaised, NoticeSent
from gossamer.inspection.basics.folder import Folder
from gossamer.log.codec import encode
from tests.support.receivers import HookServer

from .console import MODE_CASES, Console, running_console, tab
from .hostile import MARK, attacks

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]


@pytest.fixture(scope="module")
def hooks() -> Iterator[HookServer]:
    """Return a receiver of webhooks."""
    with HookServer() as hooks:
        yield hooks


@pytest.fixture(scope="module")
def notifying(tmp_path_factory: pytest.TempPathFactory, hooks: HookServer) -> Iterator[Console]:
    """Return a console with a webhook, and notices with hostile texts."""
    data = tmp_path_factory.mktemp("notices") / "crawl"
    assert main(["seed", "--data", str(data), "http://a.example/"]) == 0
    log = Folder(data).open().log
    for number, text in enumerate(attacks(f"http://127.0.0.1:{hooks.port}"), 1):
        notice = NoticeRaised(
            at=float(number), id=f"{number}{text}", rule="host_lost", number=number, text=text,
            subjects=(text,), begun_at=1.0,
        )  # fmt: skip
        sent = NoticeSent(at=float(number), id=notice.id, channel="ops", error=text)
        log.append([encode(notice), encode(sent)])
    settings = {
        "GOSSAMER_NOTIFY__WEBHOOKS": f'["ops=http://127.0.0.1:{hooks.port}/"]',
        "GOSSAMER_NOTIFY__ALLOW_NETWORKS": '["127.0.0.0/8"]',
        "GOSSAMER_NOTIFY__REPORT": "weekly",
    }
    with running_console(data, data.parent / "console.log", **settings) as console:
        yield console


async def test_button_sends_a_notice_and_shows_the_result(
    browser: Browser, notifying: Console, hooks: HookServer
) -> None:
    async with tab(browser, notifying) as opened:
        await opened.open("notifications")
        assert "The report is sent on Mondays at 06:00 UTC." in await opened.text()
        button = opened.page.get_by_role("button", name="Test ops")
        await button.click()
        row = opened.page.get_by_role("region", name="Newest notices").locator("tbody tr").first
        await row.get_by_text("This is a test of the channel ops").wait_for()
        await row.get_by_text("ops: sent").wait_for()
        hooks.status = 500
        await button.click()
        await opened.page.get_by_text("not delivered").wait_for()
        hooks.status = 204
        assert opened.faults == []
    first = json.loads(hooks.received[0][0])
    assert first["rule"] == "test" and "by token:generated" in first["text"]


@pytest.mark.parametrize("mode", MODE_CASES)
async def test_hostile_notices_are_text_and_axe_reports_nothing(
    browser: Browser, notifying: Console, mode: str
) -> None:
    async with tab(browser, notifying, mode, bypass_csp=True) as opened:
        await opened.open("notifications")
        assert MARK in await opened.text()
        assert not await opened.page.evaluate(f"'{MARK}' in window")
        assert await opened.violations() == []
        assert opened.faults == []
