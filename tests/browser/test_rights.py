"""What users of different roles see: no button that the API would refuse."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.async_api import Browser

from gossamer.console.api.tokens import add_token
from gossamer.events import DEFAULT_CRAWL
from gossamer.settings.api import Grant

from .console import Console, Tab, running_console, tab
from .hostile import HostileSite
from .test_pages import routes

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

GRANTS = {
    "viewer": Grant("view"),
    "operator": Grant("operate"),
    "operator-of-one": Grant("operate", frozenset({DEFAULT_CRAWL})),
    "admin": Grant("admin"),
}
DAY_USER = "operator"
"""The user who looks at the pages by day: some of the buttons are hidden."""
CHANGES = re.compile(
    "^(Block|Unblock|Erase|Retry|Slow|Fetch|Edit|Pause|Resume|Remove|Apply|Settings|Replay|Discard…)"
)
"""Names of buttons that ask for a change."""
FOR_ALL = re.compile("^(Block|Unblock|Erase|Slow|Apply…|Settings|Replay|Discard…)")
FOR_ADMINS = re.compile("^(Erase|Edit|Remove|Apply a|Discard…)")


@pytest.fixture(scope="module")
def consoles(
    hostile: tuple[HostileSite, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Console]]:
    """Return the console, as each user logs in."""
    folder = tmp_path_factory.mktemp("rights")
    file = folder / "tokens.toml"
    tokens = {name: add_token(file, name, grant, None) for name, grant in GRANTS.items()}
    settings = {"GOSSAMER_API__TOKENS_FILE": str(file)}
    with running_console(hostile[1], folder / "output", tokens["admin"], **settings) as running:
        yield {name: replace(running, token=token) for name, token in tokens.items()}


async def names_of_changes(opened: Tab, route: str) -> list[str]:
    """Return the names of the buttons on a page, after each of them was tried without a change."""
    page = opened.page
    await opened.open(route)
    if route == "dead-letters" and await page.get_by_role("checkbox").count():
        await page.get_by_role("checkbox").first.check()
    buttons = page.get_by_role("main").get_by_role("button", name=CHANGES)
    found = [await one.inner_text() for one in await buttons.all()]
    for name in dict.fromkeys(found):
        button = page.get_by_role("main").get_by_role("button", name=name).first
        await button.click()
        effect = page.get_by_role("dialog").locator(".effect")
        await effect.filter(has_not_text="Computing").wait_for()
        text = await effect.inner_text()
        assert "has the role" not in text and "has rights" not in text, f"{route}: {name}: {text}"
        await page.keyboard.press("Escape")
        await page.get_by_role("dialog").wait_for(state="detached")
    return found


@pytest.mark.parametrize(
    "user",
    [pytest.param(user, marks=[] if user == DAY_USER else pytest.mark.long) for user in GRANTS],
)
async def test_user_sees_only_what_the_role_permits(
    browser: Browser, consoles: dict[str, Console], site: HostileSite, user: str
) -> None:
    async with tab(browser, consoles[user]) as opened:
        pages = await opened.page.locator("nav a").all_inner_texts()
        assert ("Erasures" in pages) == (user == "admin")
        assert ("Dead letters" in pages) == (user != "operator-of-one")
        hidden = {"erasures": user != "admin", "dead-letters": user == "operator-of-one"}
        hidden["notifications"] = hidden["dead-letters"]
        found = [
            name
            for route in routes(site)
            if not hidden.get(route)
            for name in await names_of_changes(opened, route)
        ]
        assert bool(found) == (user != "viewer")
        assert any(map(FOR_ALL.match, found)) == (user in ("operator", "admin"))
        assert any(map(FOR_ADMINS.match, found)) == (user == "admin")
        assert opened.faults == []
