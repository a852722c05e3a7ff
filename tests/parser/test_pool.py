"""Children that hang, swell, die or are orphaned: what is lost is at most the page that did it."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from gossamer.errors import GossamerError, Poison
from gossamer.events import PageFetched, PageParsed
from services.parser.pool import pool as pool_module
from services.parser.pool.messages import Request
from services.parser.pool.pool import Pool
from tests.parser.pages import HOG, NOW, OPTIONS, QUADRATIC, fetched

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60.0


AMPLE = 512 << 20


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    async with Pool(2, PATIENCE, AMPLE) as pool:
        yield pool


async def read(pool: Pool, page: PageFetched) -> PageParsed:
    return await pool.parse(Request(page, OPTIONS, NOW))


async def titles(pool: Pool, count: int) -> list[str]:
    pages = [fetched(f"<title>{i}</title>".encode()) for i in range(count)]
    return [parsed.title for parsed in await asyncio.gather(*(read(pool, p) for p in pages))]


def lives(pid: int) -> bool:
    try:
        state = stat(pid)[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    # A zombie is dead; nobody has waited for it yet.
    return state != "Z"


async def until_gone(pids: list[int]) -> None:
    async with asyncio.timeout(PATIENCE):
        while any(lives(pid) for pid in pids):
            await asyncio.sleep(0.05)


def timed() -> float:
    return REGISTRY.get_sample_value("gossamer_parse_seconds_count") or 0.0


def replaced() -> float:
    return REGISTRY.get_sample_value("gossamer_parser_replaced_total") or 0.0


@pytest.mark.slow
async def test_pages_are_read_by_all_children(pool: Pool) -> None:
    before = timed()
    assert await titles(pool, 20) == [str(i) for i in range(20)]
    assert len(set(pool.pids)) == 2
    assert timed() == before + 20


@pytest.mark.slow
async def test_a_page_that_takes_too_long_is_given_up_and_others_go_on() -> None:
    before = replaced()
    async with Pool(2, page_limit=1.0, memory_limit=AMPLE) as pool:
        endless = asyncio.create_task(read(pool, fetched(QUADRATIC)))
        assert await titles(pool, 10) == [str(i) for i in range(10)]
        with pytest.raises(Poison, match="longer than 1 s"):
            await endless
        assert await titles(pool, 4) == ["0", "1", "2", "3"]
    assert replaced() == before + 1


@pytest.mark.slow
async def test_a_page_has_its_time_however_little_its_child_comes_to_work() -> None:
    async with Pool(1, page_limit=2.0, memory_limit=AMPLE) as pool:
        await titles(pool, 1)
        [pid] = pool.pids
        server = parent_of(pid)
        ready, before = seconds_of(pid), seconds_of_children(server)
        endless = asyncio.create_task(read(pool, fetched(QUADRATIC)))
        await busy(pool, ready + 0.1, 0)
        os.kill(pid, signal.SIGSTOP)
        # That much of the clock, and nothing of the CPU.
        await asyncio.sleep(2.0)
        os.kill(pid, signal.SIGCONT)
        with pytest.raises(Poison, match="longer than 2 s"):
            await endless
        assert seconds_of_children(server) - before > ready + 1.5


@pytest.mark.slow
async def test_a_page_that_takes_too_much_memory_is_given_up() -> None:
    async with Pool(2, PATIENCE, memory_limit=32 << 20) as pool:
        with pytest.raises(Poison, match="cannot be read"):
            await read(pool, fetched(HOG))
        assert await titles(pool, 4) == ["0", "1", "2", "3"]


@pytest.mark.slow
async def test_a_child_is_replaced_after_so_many_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "MAX_PAGES_PER_CHILD", 3)
    before = replaced()
    async with Pool(1, PATIENCE, AMPLE) as pool:
        assert await titles(pool, 2) == ["0", "1"]
        first = pool.pids
        assert await titles(pool, 1) == ["0"]
        await until_gone(first)
        assert await titles(pool, 4) == ["0", "1", "2", "3"]
        assert pool.pids and pool.pids != first
    assert replaced() == before, "no page is at fault"


@pytest.mark.slow
async def test_the_death_of_an_idle_child_is_no_pages_fault(pool: Pool) -> None:
    await titles(pool, 2)
    killed = pool.pids
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    assert await titles(pool, 4) == ["0", "1", "2", "3"]
    assert not set(killed) & set(pool.pids)


@pytest.mark.slow
async def test_the_death_of_the_fork_server_is_no_pages_fault(pool: Pool) -> None:
    await titles(pool, 2)
    forked = pool.pids
    server = parent_of(forked[0])
    for pid in (server, *forked):
        os.kill(pid, signal.SIGKILL)
    assert await titles(pool, 4) == ["0", "1", "2", "3"]
    assert not {server, *forked} & {parent_of(pool.pids[0]), *pool.pids}


@pytest.mark.slow
async def test_children_end_without_pages_and_come_back_with_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool_module, "MAX_IDLE_SECONDS", 0.05)
    async with Pool(2, PATIENCE, AMPLE) as pool:
        assert pool.pids == [], "no page has come yet"
        before = replaced()
        for _ in range(2):
            assert await titles(pool, 4) == ["0", "1", "2", "3"]
            async with asyncio.timeout(PATIENCE):
                while pool.pids:
                    await asyncio.sleep(0.05)
        assert replaced() == before


@pytest.mark.slow
async def test_a_pool_that_closes_while_a_child_ends_leaves_no_process_unwaited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool_module, "MAX_IDLE_SECONDS", 0.05)
    async with Pool(1, PATIENCE, AMPLE) as pool:
        await titles(pool, 1)
        server = parent_of(pool.pids[0])
        os.kill(server, signal.SIGSTOP)
        async with asyncio.timeout(PATIENCE):
            while pool.pids:
                await asyncio.sleep(0.01)
    with pytest.raises(FileNotFoundError):
        stat(server)


@pytest.mark.slow
async def test_a_page_is_tried_again_when_its_child_is_killed_but_only_once() -> None:
    async with Pool(1, PATIENCE, AMPLE) as pool:
        await titles(pool, 1)
        ready = seconds_of(pool.pids[0])
        endless = asyncio.create_task(read(pool, fetched(QUADRATIC)))
        later = asyncio.create_task(titles(pool, 3))
        pid = 0
        for _ in range(2):
            pid = await busy(pool, 2 * ready + 1, pid)
            os.kill(pid, signal.SIGKILL)
            await until_gone([pid])
        with pytest.raises(Poison, match="SIGKILL"):
            await endless
        assert await later == ["0", "1", "2"]


async def busy(pool: Pool, seconds: float, before: int) -> int:
    """Return the only child's pid, no more *before*, once it has worked for *seconds*."""
    async with asyncio.timeout(PATIENCE):
        while pool.pids in ([], [before]) or seconds_of(pool.pids[0]) < seconds:
            await asyncio.sleep(0.05)
    return pool.pids[0]


def seconds_of(pid: int) -> float:
    return sum(map(int, stat(pid)[11:13])) / os.sysconf("SC_CLK_TCK")


def seconds_of_children(pid: int) -> float:
    """Of those that have died."""
    return sum(map(int, stat(pid)[13:15])) / os.sysconf("SC_CLK_TCK")


def parent_of(pid: int) -> int:
    return int(stat(pid)[1])


def stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


@pytest.mark.slow
async def test_a_page_that_is_cancelled_leaves_no_process_and_no_reply_behind() -> None:
    async with Pool(1, PATIENCE, AMPLE) as pool:
        await titles(pool, 1)
        pids = pool.pids
        endless = asyncio.create_task(read(pool, fetched(QUADRATIC)))
        await asyncio.sleep(0)
        endless.cancel()
        await asyncio.gather(endless, return_exceptions=True)
        assert not any(map(lives, pids))
        assert await titles(pool, 2) == ["0", "1"]
        pids = pool.pids
    assert not any(map(lives, pids))


@pytest.mark.parametrize("python", ["/bin/false", "/no/such/python"])
async def test_a_parser_that_cannot_start_blames_no_page(
    python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", python)
    async with Pool(1, PATIENCE, AMPLE) as pool:
        with pytest.raises(GossamerError) as caught:
            await titles(pool, 1)
        assert not isinstance(caught.value, Poison)


@pytest.mark.slow
async def test_no_child_outlives_a_parent_that_is_killed() -> None:
    command = [sys.executable, "-m", "tests.parser.parent"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout
        line = await asyncio.to_thread(parent.stdout.readline)
        pids = [int(pid) for pid in line.split()]
        pids.append(parent_of(pids[0]))
        assert len(pids) == 3 and all(map(lives, pids))
        parent.kill()
    await until_gone(pids)


@pytest.mark.slow
async def test_a_child_writes_nothing_to_its_parent_but_replies(pool: Pool) -> None:
    """What a library prints would be taken for a reply, and the replies would not fit the pages."""
    pages = [fetched(body) for body in (b"", b"\0", b"<html>", b"<p>x", "<p>é".encode("latin-1"))]
    answers = await asyncio.gather(*(read(pool, page) for page in pages))
    assert [answer.size for answer in answers] == [len(page.body) for page in pages]
