"""Runs of a crawl from a program: to the end, left, interrupted, killed, in threads and loops."""

import asyncio
import json
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from pathlib import Path

import pytest

import gossamer
from tests.support.waiting import HANG_TIMEOUT, until
from tests.system.crawl import start_command

from .conftest import Site


def yielded(crawl: gossamer.Crawl) -> list[str]:
    return [page.url for page in crawl.run()]


def test_loop_gets_each_page_once_with_its_contents(site: Site, tmp_path: Path) -> None:
    crawl = site.crawl(tmp_path / "data")
    pages = {}
    for page in crawl.run():
        assert page.url not in pages
        pages[page.url] = page
        # As soon as it is published: its capture may not be written yet.
        assert f"<title>{page.title}</title>" in page.html()
    assert pages.keys() == site.urls
    first = pages[f"{site.url}/"]
    assert (first.title, first.status, first.depth) == ("Page 0", 200, 0)
    assert first.text and site.text in first.text
    assert first.links == (f"{site.url}/p1", f"{site.url}/p2")
    assert (first.markdown, first.extracted, first.duplicate_of) == (None, (), "")
    assert first.body() == first.html().encode()
    assert {*site.requests.values()} == {1}


@pytest.mark.long
def test_loop_that_is_left_is_continued(site: Site, tmp_path: Path) -> None:
    crawl = site.crawl(tmp_path / "data", delay=0.3)
    for page in crawl.run():
        first = page
        break
    assert not crawl.status().is_running
    with pytest.raises(ZeroDivisionError):
        for _ in crawl.run():
            raise ZeroDivisionError
    before = {one.url for one in crawl.pages()}
    assert first.url in before and before < site.urls
    new = site.crawl(tmp_path / "data")
    assert {*yielded(new)} == site.urls, "a new program begins with the pages of the folder"
    assert yielded(new) == [], "a further run has nothing new"
    assert {*site.requests.values()} == {1}


def program_command(site: Site, folder: Path, *more: str) -> list[str]:
    options = site.options(folder=str(folder / "data"), delay=1.0)
    return [sys.executable, "-m", "tests.library.program", json.dumps(options), *more]


@pytest.mark.slow
def test_interrupted_program_ends_its_crawl_which_is_continued(site: Site, tmp_path: Path) -> None:
    with start_command(program_command(site, tmp_path), tmp_path / "said") as program:
        until(lambda: program.out.splitlines(), "a page")
        # The program alone, and not its group, as a notebook's server does.
        program.interrupt()
        assert program.process.wait(HANG_TIMEOUT) == -signal.SIGINT
        until(program.is_gone, "the end of the crawl's processes")
        assert "KeyboardInterrupt" in program.err
    assert_continued(site, tmp_path, program.out)


@pytest.mark.slow
def test_killed_program_with_a_worker_ends_its_crawl_which_is_continued(
    site: Site, tmp_path: Path
) -> None:
    with start_command(program_command(site, tmp_path, "fork"), tmp_path / "said") as program:
        until(lambda: program.out.splitlines(), "a page")
        program.kill(group=False)
        until(lambda: len(program.pids()) == 1, "the end of all processes but the worker")
    assert_continued(site, tmp_path, program.out)


def assert_continued(site: Site, folder: Path, printed: str) -> None:
    """Assert that a program has ended its crawl early, and that another one gets all pages,
    without a second request."""
    assert {*printed.split()} < site.urls
    assert len(site.requests) < len(site.urls)
    assert {*yielded(site.crawl(folder / "data"))} == site.urls
    assert {*site.requests.values()} == {1}


@pytest.mark.long
def test_two_threads_crawl_two_folders(site: Site, tmp_path: Path) -> None:
    found: dict[str, set[str]] = {}

    def crawl(name: str) -> None:
        found[name] = {*yielded(site.crawl(tmp_path / name))}

    threads = [threading.Thread(target=crawl, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG_TIMEOUT)
    assert found == {"one": site.urls, "two": site.urls}


@pytest.mark.slow
def test_pages_that_come_together_are_yielded_once_by_loops_that_are_left(
    site: Site, tmp_path: Path
) -> None:
    site.crawl(tmp_path / "data").wait()
    crawl, found = site.crawl(tmp_path / "data"), []
    for _ in range(3):
        for page in crawl.run():
            found.append(page.url)
            break
    found += yielded(crawl)
    assert sorted(found) == sorted(site.urls)


@pytest.mark.slow
async def test_page_that_comes_as_its_stream_is_cancelled_is_yielded_by_the_next(
    site: Site, tmp_path: Path
) -> None:
    site.crawl(tmp_path / "data").wait()
    crawl, found = site.crawl(tmp_path / "data"), []

    async def read() -> None:
        async with aclosing(crawl.stream()) as pages:
            async for page in pages:
                found.append(page.url)

    for _ in range(3):
        read_before, task = len(found), asyncio.create_task(read())
        while len(found) == read_before and not task.done():
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await read()
    assert sorted(found) == sorted(site.urls)


@pytest.mark.slow
async def test_stream_is_left_and_continued_in_a_running_loop(site: Site, tmp_path: Path) -> None:
    crawl = site.crawl(tmp_path / "data", delay=0.1)
    async with aclosing(crawl.stream()) as pages:
        async for page in pages:
            first = page.url
            break
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    ticking = asyncio.create_task(tick())
    rest = {page.url async for page in crawl.stream()}
    ticking.cancel()
    assert rest == site.urls - {first}
    assert ticks > 10, "the loop went on"


@pytest.mark.long
async def test_cancelled_stream_ends_its_crawl(site: Site, tmp_path: Path) -> None:
    crawl = site.crawl(tmp_path / "data", delay=0.3)
    seen = asyncio.Event()

    async def read() -> None:
        async with aclosing(crawl.stream()) as pages:
            async for _ in pages:
                seen.set()

    task = asyncio.create_task(read())
    await seen.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not crawl.status().is_running


@pytest.mark.slow
def test_second_run_at_once_is_refused(site: Site, tmp_path: Path) -> None:
    crawl = site.crawl(tmp_path / "data", delay=0.3)
    pages = crawl.run()
    next(pages)
    with pytest.raises(gossamer.CrawlError, match="is under way"):
        next(crawl.run())
    with ThreadPoolExecutor(1) as executor:
        waiting = executor.submit(crawl.wait)
        pages.close()
        assert not waiting.result(HANG_TIMEOUT).is_running


@pytest.mark.long
def test_folder_with_a_run_is_refused_with_the_reason(site: Site, tmp_path: Path) -> None:
    pages = site.crawl(tmp_path / "data", delay=1.0).run()
    next(pages)
    with pytest.raises(gossamer.CrawlError, match=r"another crawl \(process \d+\) is running"):
        site.crawl(tmp_path / "data").wait()
    pages.close()
    assert site.crawl(tmp_path / "data").wait().pages == len(site.urls)


@pytest.mark.long
def test_crawls_of_one_folder_have_pages_of_their_own(site: Site, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    assert len(yielded(site.crawl(folder, crawl="home", depth=0))) == 1
    near = site.crawl(folder, crawl="near", depth=1)
    assert len(yielded(near)) == 3
    assert [page.url for page in site.crawl(folder, crawl="home").pages()] == [f"{site.url}/"]
    assert near.status().pages == 3
    with pytest.raises(ValueError, match="has several crawls"):
        [*site.crawl(folder).pages()]
    with pytest.raises(ValueError, match="has no crawl 'far'"):
        [*site.crawl(folder, crawl="far").pages()]


@pytest.mark.slow
def test_failure_has_the_sentence_of_the_program(tmp_path: Path) -> None:
    def crawl(**more: object) -> gossamer.Crawl:
        return gossamer.Crawl(tmp_path / "data", seeds="http://127.0.0.1:1234/", quiet=True, **more)  # type: ignore[arg-type]

    with pytest.raises(ValueError, match=r"(?s)^[^:]*contact"):
        crawl().wait()
    with pytest.raises(gossamer.CrawlError, match="No seed gave a page"):
        crawl(contact="test@example.org", allow_network="127.0.0.0/8", max_time="20s").wait()
    assert not (tmp_path / "elsewhere").exists()
    with pytest.raises(gossamer.CrawlError, match="has no crawl yet"):
        [*gossamer.Crawl(tmp_path / "elsewhere").pages()]


@pytest.mark.slow
def test_progress_is_a_line_on_standard_error(
    site: Site, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert site.crawl(tmp_path / "data", quiet=False).wait().pages == len(site.urls)
    out, err = capfd.readouterr()
    assert out == ""
    assert err.splitlines()[-1].startswith("Ended after ")
    assert site.crawl(tmp_path / "data").wait().queued == 0
    assert capfd.readouterr() == ("", "")
