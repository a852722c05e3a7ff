"""Children that hang, grow, crash or are orphaned lose at most one page."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gossamer.errors import GossamerError, Poison
from gossamer.events import PageFetched, PageParsed
from gossamer.services.parser.pool import pool as pool_module
from gossamer.services.parser.pool.messages import Request
from gossamer.services.parser.pool.pool import Pool
from tests.parser.pages import HOG, NOW, OPTIONS, QUADRATIC, page_response
from tests.support.metrics import growth

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 60.0


AMPLE_MEMORY = 512 << 20


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    async with Pool(2, TIMEOUT, AMPLE_MEMORY) as pool:
        yield pool


async def parse_page(pool: Pool, page: PageFetched) -> PageParsed:
    return await pool.parse(Request(page, OPTIONS, NOW))


async def read_titles(pool: Pool, count: int) -> list[str]:
    pages = [page_response(f"<title>{i}</title>".encode()) for i in range(count)]
    return [parsed.title for parsed in await asyncio.gather(*(parse_page(pool, p) for p in pages))]


def is_running(pid: int) -> bool:
    try:
        state = stat(pid)[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    # A zombie has ended, but its parent has not waited for it yet.
    return state != "Z"


async def wait_until_gone(pids: list[int]) -> None:
    async with asyncio.timeout(TIMEOUT):
        while any(is_running(pid) for pid in pids):
            await asyncio.sleep(0.05)


@pytest.mark.slow
async def test_pages_are_read_by_all_children(pool: Pool) -> None:
    parsed = growth("gossamer_parse_seconds_count")
    assert await read_titles(pool, 20) == [str(i) for i in range(20)]
    assert len(set(pool.pids)) == 2
    assert parsed() == 20


@pytest.mark.slow
async def test_parsed_page_has_the_seconds_of_its_reading(pool: Pool) -> None:
    parsed = await parse_page(pool, page_response(b"<title>a</title>"))
    assert 0 < parsed.parse_seconds < TIMEOUT


@pytest.mark.slow
async def test_page_over_time_limit_is_poison_and_others_are_read() -> None:
    replaced = growth("gossamer_parser_replaced_total")
    async with Pool(2, page_limit=1.0, memory_limit=AMPLE_MEMORY) as pool:
        endless = asyncio.create_task(parse_page(pool, page_response(QUADRATIC)))
        assert await read_titles(pool, 10) == [str(i) for i in range(10)]
        with pytest.raises(Poison, match="longer than 1 s"):
            await endless
        assert await read_titles(pool, 4) == ["0", "1", "2", "3"]
    assert replaced() == 1


@pytest.mark.slow
async def test_time_limit_counts_cpu_time_of_stopped_child() -> None:
    async with Pool(1, page_limit=2.0, memory_limit=AMPLE_MEMORY) as pool:
        await read_titles(pool, 1)
        [pid] = pool.pids
        server = parent_of(pid)
        ready, before = cpu_seconds(pid), cpu_seconds_of_children(server)
        endless = asyncio.create_task(parse_page(pool, page_response(QUADRATIC)))
        await wait_until_busy(pool, ready + 0.1, 0)
        os.kill(pid, signal.SIGSTOP)
        # Clock time passes, and no CPU time.
        await asyncio.sleep(2.0)
        os.kill(pid, signal.SIGCONT)
        with pytest.raises(Poison, match="longer than 2 s"):
            await endless
        assert cpu_seconds_of_children(server) - before > ready + 1.5


@pytest.mark.slow
async def test_page_over_memory_limit_is_poison() -> None:
    async with Pool(2, TIMEOUT, memory_limit=32 << 20) as pool:
        with pytest.raises(Poison, match="cannot be read"):
            await parse_page(pool, page_response(HOG))
        assert await read_titles(pool, 4) == ["0", "1", "2", "3"]


@pytest.mark.slow
async def test_child_is_replaced_after_max_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MAX_PAGES_PER_CHILD", 3)
    replaced = growth("gossamer_parser_replaced_total")
    async with Pool(1, TIMEOUT, AMPLE_MEMORY) as pool:
        assert await read_titles(pool, 2) == ["0", "1"]
        first = pool.pids
        assert await read_titles(pool, 1) == ["0"]
        await wait_until_gone(first)
        assert await read_titles(pool, 4) == ["0", "1", "2", "3"]
        assert pool.pids and pool.pids != first
    assert replaced() == 0, "a planned replacement is not counted"


@pytest.mark.slow
async def test_killed_idle_children_fail_no_page(pool: Pool) -> None:
    await read_titles(pool, 2)
    killed = pool.pids
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    assert await read_titles(pool, 4) == ["0", "1", "2", "3"]
    assert not set(killed) & set(pool.pids)


@pytest.mark.slow
async def test_killed_fork_server_fails_no_page(pool: Pool) -> None:
    await read_titles(pool, 2)
    forked = pool.pids
    server = parent_of(forked[0])
    for pid in (server, *forked):
        os.kill(pid, signal.SIGKILL)
    assert await read_titles(pool, 4) == ["0", "1", "2", "3"]
    assert not {server, *forked} & {parent_of(pool.pids[0]), *pool.pids}


@pytest.mark.slow
async def test_idle_children_stop_and_restart_for_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MAX_IDLE_SECONDS", 0.05)
    async with Pool(2, TIMEOUT, AMPLE_MEMORY) as pool:
        assert pool.pids == [], "children start with the first page"
        replaced = growth("gossamer_parser_replaced_total")
        for _ in range(2):
            assert await read_titles(pool, 4) == ["0", "1", "2", "3"]
            async with asyncio.timeout(TIMEOUT):
                while pool.pids:
                    await asyncio.sleep(0.05)
        assert replaced() == 0


@pytest.mark.slow
async def test_pool_closed_while_child_stops_leaves_no_zombie(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool_module, "MAX_IDLE_SECONDS", 0.05)
    async with Pool(1, TIMEOUT, AMPLE_MEMORY) as pool:
        await read_titles(pool, 1)
        server = parent_of(pool.pids[0])
        os.kill(server, signal.SIGSTOP)
        async with asyncio.timeout(TIMEOUT):
            while pool.pids:
                await asyncio.sleep(0.01)
    with pytest.raises(FileNotFoundError):
        stat(server)


@pytest.mark.slow
async def test_page_of_killed_child_is_tried_twice() -> None:
    async with Pool(1, TIMEOUT, AMPLE_MEMORY) as pool:
        await read_titles(pool, 1)
        ready = cpu_seconds(pool.pids[0])
        endless = asyncio.create_task(parse_page(pool, page_response(QUADRATIC)))
        later = asyncio.create_task(read_titles(pool, 3))
        pid = 0
        for _ in range(2):
            pid = await wait_until_busy(pool, 2 * ready + 1, pid)
            os.kill(pid, signal.SIGKILL)
            await wait_until_gone([pid])
        with pytest.raises(Poison, match="SIGKILL"):
            await endless
        assert await later == ["0", "1", "2"]


async def wait_until_busy(pool: Pool, seconds: float, before: int) -> int:
    """Return the only child's process id, not *before*, once it has used *seconds* of CPU."""
    async with asyncio.timeout(TIMEOUT):
        while pool.pids in ([], [before]) or cpu_seconds(pool.pids[0]) < seconds:
            await asyncio.sleep(0.05)
    return pool.pids[0]


def cpu_seconds(pid: int) -> float:
    return sum(map(int, stat(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def cpu_seconds_of_children(pid: int) -> float:
    """Return the CPU seconds of the ended children of *pid*."""
    return sum(map(int, stat(pid)[13:15])) / os.sysconf("SC_CLK_TCK")


def parent_of(pid: int) -> int:
    return int(stat(pid)[1])


def stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


@pytest.mark.slow
async def test_cancelled_page_leaves_no_process_and_no_reply() -> None:
    async with Pool(1, TIMEOUT, AMPLE_MEMORY) as pool:
        await read_titles(pool, 1)
        pids = pool.pids
        endless = asyncio.create_task(parse_page(pool, page_response(QUADRATIC)))
        await asyncio.sleep(0)
        endless.cancel()
        await asyncio.gather(endless, return_exceptions=True)
        assert not any(map(is_running, pids))
        assert await read_titles(pool, 2) == ["0", "1"]
        pids = pool.pids
    assert not any(map(is_running, pids))


@pytest.mark.parametrize("python", ["/bin/false", "/no/such/python"])
async def test_unstartable_parser_fails_no_page(
    python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    async with Pool(1, TIMEOUT, AMPLE_MEMORY) as pool:
        with pytest.raises(GossamerError) as caught:
            await read_titles(pool, 1)
        assert not isinstance(caught.value, Poison)


@pytest.mark.slow
async def test_children_end_with_killed_parent() -> None:
    command = [sys.executable, "-m", "tests.parser.parent"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        line = await asyncio.to_thread(parent.stdout.readline)
        pids = [int(pid) for pid in line.split()]
        pids.append(parent_of(pids[0]))
        assert len(pids) == 3 and all(map(is_running, pids))
        parent.kill()
    await wait_until_gone(pids)


@pytest.mark.slow
async def test_output_of_libraries_does_not_reach_parent(pool: Pool) -> None:
    """Such output would be read as a reply, and later replies would belong to other pages."""
    pages = [
        page_response(body) for body in (b"", b"\0", b"<html>", b"<p>x", "<p>é".encode("latin-1"))
    ]
    results = await asyncio.gather(*(parse_page(pool, page) for page in pages))
    assert [result.size for result in results] == [len(page.body) for page in pages]


def test_parent_does_not_load_parsers_of_pages() -> None:
    """Pages are read in children, where a parser that crashes or is exploited does no harm.

    Nor does the parent load the patterns of dates, which take longest to compile.
    """
    loaded = subprocess.run(
        [sys.executable, "-c", "import gossamer.services.parser.wiring, sys; print(*sys.modules)"],
        capture_output=True,
        check=True,
        text=True,
    ).stdout.split()
    native = {"fasttext", "lxml", "pypdfium2", "resiliparse", "selectolax", "trafilatura"}
    assert native.isdisjoint(loaded)
    assert "gossamer.services.parser.dates" not in loaded
