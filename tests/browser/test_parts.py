"""Parts of the console's pages: the weekly grid, long lists, and the saved report."""

import random
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
from msgspec.structs import replace
from playwright.async_api import Browser

from gossamer.events import Outcome, Speed, SpeedSet
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.policies import DAY
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.speed import Speeds
from tests.support.rows import put_rows

from .console import Console, tab

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

LIMITS: list[dict[str, float | None]] = [
    {"pages": None, "bytes": None},
    {"pages": 0.0, "bytes": None},
    {"pages": 5.0, "bytes": None},
    {"pages": 2.5, "bytes": 1e6},
]
MONDAY = 4 * DAY
"""1970-01-05."""
GRIDS = 15
SPEEDS_OF = """async (grids) => {
  const { speedsOf, gridOf } = await import('./week.js');
  return grids.map((grid) => [speedsOf(grid), gridOf(speedsOf(grid))]);
}"""


def random_grid(chosen: random.Random) -> list[list[dict[str, float | None]]]:
    """Return a week of a few blocks of hours with limits, as people paint them."""
    grid = [[LIMITS[0]] * 24 for _ in range(7)]
    for _ in range(chosen.randrange(6)):
        limit, (first, last) = chosen.choice(LIMITS), sorted(chosen.sample(range(25), 2))
        for day in chosen.sample(range(7), chosen.randrange(1, 8)):
            grid[day][first:last] = [limit] * (last - first)
    return grid


async def test_weekly_grid_sets_the_limit_of_each_hour(browser: Browser, console: Console) -> None:
    chosen = random.Random(7)
    grids = [random_grid(chosen) for _ in range(GRIDS)]
    async with tab(browser, console) as opened:
        results: list[Any] = await opened.page.evaluate(SPEEDS_OF, grids)
    for grid, (speeds, again) in zip(grids, results, strict=True):
        assert again == grid, "the list is painted as the grid that it was made from"
        limits = tuple(msgspec.convert(one, Speed) for one in speeds)
        profile = Speeds(SpeedSet(at=1.0, speeds=limits))
        for day in range(7):
            for hour in range(24):
                active = profile.at(MONDAY + day * DAY + hour * 3600 + 1)
                limit = grid[day][hour]
                assert (active.pages, active.bytes) == (limit["pages"], limit["bytes"])


async def test_grid_is_painted_by_mouse_and_keyboard(browser: Browser, console: Console) -> None:
    async with tab(browser, console) as opened:
        page = opened.page
        await opened.open("speed")
        await page.get_by_label("Pages a second").fill("5")
        await page.get_by_role("button", name="Add this limit").click()
        await page.get_by_role("gridcell", name="Monday 08:00").hover()
        await page.mouse.down()
        for hour in range(8, 12):
            await page.get_by_role("gridcell", name=f"Monday {hour:02}:00").hover()
        await page.mouse.up()
        await page.get_by_role("gridcell", name="Monday 20:00").hover()
        assert "mon 08:00-12:00" in await opened.text()
        await page.get_by_role("gridcell", name="Monday 11:00").focus()
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Space")
        assert "tue 11:00-12:00" in await opened.text()
        name = await page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert name == "Tuesday 11:00: at most 5 pages a second"


LONG_LIST = """async (rows) => {
  const { VirtualTable } = await import('./table.js');
  const load = async (cursor) => {
    const first = cursor ?? 0;
    const last = Math.min(rows, first + 100000);
    const items = Array.from({ length: last - first }, (_, index) => first + index);
    return { items, next: last < rows ? last : null, total: rows, isPartial: false };
  };
  const columns = [{ name: 'Row', cell: (row) => `row ${row}` }];
  window.list = new VirtualTable({ label: 'Rows', columns, load });
  document.querySelector('main').replaceChildren(window.list.element);
  while (!window.list.isComplete) await window.list.loadMore();
}"""


async def test_list_of_a_million_rows_draws_a_few(browser: Browser, console: Console) -> None:
    async with tab(browser, console) as opened:
        page = opened.page
        await page.evaluate(LONG_LIST, 1_000_000)
        assert await page.locator("main table").get_attribute("aria-rowcount") == "1000001"
        for share in (0.0, 0.5, 1.0):
            await page.evaluate(
                "(share) => list.region.scrollTo(0, share * list.region.scrollHeight)",
                share,
            )
            await page.wait_for_function(
                """() => {
                  const { top, bottom } = window.list.region.getBoundingClientRect();
                  const rows = [...window.list.body.querySelectorAll('tr[aria-rowindex]')];
                  return rows.some((row) => row.getBoundingClientRect().top >= top - 1
                    && row.getBoundingClientRect().bottom <= bottom + 1);
                }"""
            )
            assert await page.evaluate("document.querySelectorAll('*').length") < 1000


PARTIAL_LIST = """async () => {
  const { VirtualTable } = await import('./table.js');
  const load = async () => ({ items: [], next: null, isPartial: true });
  const list = new VirtualTable({ label: 'Rows', columns: [], load, empty: 'No row.' });
  await list.loadMore();
  return list.note.textContent;
}"""


async def test_list_that_was_not_searched_to_its_end_is_not_called_empty(
    browser: Browser, console: Console
) -> None:
    async with tab(browser, console) as opened:
        assert await opened.page.evaluate(PARTIAL_LIST) == (
            "0 shown. The search stopped at its limit."
        )


def set_pages(console: Console, pages: int) -> str:
    """Give the first host *pages* fetched pages; return its key."""
    opened = Opened(Folder(console.data))
    first = next(iter(opened.store.table(HostRow).everything()))
    put_rows(opened.store, replace(first, totals=replace(first.totals, pages=pages)))
    opened.database.close()
    return first.host


async def test_list_is_updated_unless_it_is_selected(browser: Browser, console: Console) -> None:
    key = set_pages(console, 5551)
    async with tab(browser, console) as opened:
        page = opened.page
        await page.clock.install()
        await opened.open(f"hosts?search={quote(key.partition('://')[2], safe='')}")
        row = page.locator("tr", has_text=key)
        await row.get_by_text("5,551").wait_for()
        set_pages(console, 5552)
        await page.clock.run_for(10_000)
        await row.get_by_text("5,552").wait_for()
        await row.evaluate("(row) => getSelection().selectAllChildren(row)")
        set_pages(console, 5553)
        await page.clock.run_for(60_000)
        assert "5,552" in await row.inner_text()
        await page.evaluate("getSelection().removeAllRanges()")
        await page.clock.run_for(10_000)
        await row.get_by_text("5,553").wait_for()


async def test_failures_are_updated(browser: Browser, console: Console) -> None:
    async with tab(browser, console) as opened:
        await opened.page.clock.install()
        await opened.open("failures")
        before = await opened.text()
        folder = Opened(Folder(console.data))
        tally = next(iter(folder.store.table(TallyRow).everything()))
        put_rows(folder.store, replace(tally, outcomes=tally.outcomes | {Outcome.HOST_DOWN: 7771}))
        folder.database.close()
        await opened.page.clock.run_for(10_000)
        await opened.page.get_by_text("7,771").first.wait_for()
        assert "7,771" not in before


async def test_report_is_saved_as_one_file(
    browser: Browser, console: Console, tmp_path: Path
) -> None:
    async with tab(browser, console) as opened:
        await opened.open("report")
        async with opened.page.expect_download() as download:
            await opened.page.get_by_role("button", name="Save as a file").click()
        saved = tmp_path / "report.html"
        await (await download.value).save_as(saved)
    page = await browser.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    await page.goto(saved.as_uri())
    assert "Limits, traps and hazards" in await page.inner_text("body")
    assert requests == [saved.as_uri()]
    assert await page.locator("a, script, button").count() == 0
    await page.close()


async def test_files_have_a_strict_policy(browser: Browser, console: Console) -> None:
    async with tab(browser, console) as opened:
        found = await opened.page.evaluate("async () => [...(await fetch('./')).headers.entries()]")
        policy = dict(found)["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        slipped = await opened.page.evaluate(
            "() => { try { document.body.innerHTML = '<b>x</b>'; return true } "
            "catch { return false } }"
        )
        assert not slipped, "text became markup"
