"""A small crawl of a friendly and a hostile web, its console, and a browser."""

import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
import pytest_asyncio

if not os.environ.get("CI"):
    pytest.importorskip("playwright")

from playwright.async_api import Browser

from gossamer.events import BlocklistChanged, DeadLetter
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.log.codec import encode
from tests.support.waiting import until
from tests.synthweb import SynthWeb, World
from tests.system.crawl import WebCrawl

from .console import CHROMIUM, Console, chromium, free_port, running_console
from .hostile import HostileSite, attacks, hostile_site

WORLD = World(seed=5, hosts=12, pages=4, seeds=3)


@pytest.fixture(scope="session", autouse=True)
def _chromium() -> None:
    if not CHROMIUM:
        report = pytest.fail if os.environ.get("CI") else pytest.skip
        report("chromium not found: install Debian's package chromium")


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HostileSite, Path]]:
    """Return the hostile site, and the folder of a finished crawl that has visited it."""
    data = tmp_path_factory.mktemp("browser") / "crawl"
    with hostile_site(f"http://127.0.0.1:{free_port()}") as site, SynthWeb(WORLD) as web:
        seeds = [*web.seeds, f"{site.address}/page"]
        failing = [url for url in site.urls if "/fail" in url]
        pages = [url for url in site.urls if url not in failing]

        def are_visited(urls: list[str], times: int) -> bool:
            asked = Counter(unquote(target) for target in site.requests)
            return all(asked[unquote(url.removeprefix(site.address))] >= times for url in urls)

        # First without the URLs that fail: errors in a row slow down their host.
        for urls, times, scope in (
            (pages, 2, f'not prefix("{site.address}/fail")'),
            (failing, 1, "any"),
        ):
            crawl = WebCrawl(web, data, 0.02, scope)
            with crawl.start("--revisit", "fixed:2s", seeds=[*seeds, *urls]) as under_way:
                until(
                    lambda urls=urls, times=times: are_visited(urls, times),  # type: ignore[misc]
                    "the hostile pages are visited",
                )
                under_way.interrupt()
                done = under_way.wait()
            assert done.code == 130, done.err
    add_hostile_records(data, site)
    yield site, data


def add_hostile_records(data: Path, site: HostileSite) -> None:
    """Append records with hostile texts that a crawl cannot produce by itself."""
    opened = Opened(Folder(data))
    for number, text in enumerate(attacks(site.listener)):
        opened.log.append(
            [
                encode(BlocklistChanged(at=1.0, rule=f"{site.address}/{number}{text}")),
                encode(
                    DeadLetter(
                        at=1.0, service="parser", topic="pages.fetched", partition=0, offset=number,
                        key=text, reason=text, value=text.encode(),
                    )
                ),
            ]
        )  # fmt: skip
    opened.database.close()


@pytest.fixture(scope="session")
def site(hostile: tuple[HostileSite, Path]) -> HostileSite:
    """Return the hostile site."""
    return hostile[0]


@pytest.fixture(scope="session")
def console(
    hostile: tuple[HostileSite, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Console]:
    """Return the console of the crawl."""
    with running_console(hostile[1], tmp_path_factory.mktemp("console") / "output") as running:
        yield running


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Return a running browser."""
    async with chromium() as running:
        yield running
