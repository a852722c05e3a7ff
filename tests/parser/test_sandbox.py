"""A child that a page controls finds no secrets, and reaches no file, host or process."""

import asyncio
import gzip
import os
import platform
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from msgspec.structs import replace

from gossamer.errors import Poison
from gossamer.events import PageFetched, Purpose
from gossamer.log.codec import encode
from gossamer.services.parser.charset import ENCODINGS
from gossamer.services.parser.page import READERS, parse
from gossamer.services.parser.pool import pool as pool_module
from gossamer.services.parser.pool.messages import Request
from gossamer.services.parser.pool.pool import Pool
from gossamer.services.parser.pool.sandbox import (
    ALLOWED_CALLS,
    CREATE_RULESET,
    RULESET_VERSION,
    syscall,
)
from gossamer.services.parser.pool.warm_up import SAMPLES
from gossamer.services.parser.result import start_result
from tests.parser.articles import ARTICLES
from tests.parser.legacy import TEXTS
from tests.parser.listings import LISTINGS
from tests.parser.pages import NOW, OPTIONS, page_response
from tests.parser.pdfs import pdf
from tests.parser.test_files import SOUND

PLAIN_FONTS = pdf("Words in a font that is not in the file").replace(b"Helvetica", b"Unknown-1")
UNUSUAL_ENCODINGS = (
    "big5", "cp852", "cp855", "gb18030", "hz", "iso2022_kr", "johab", "mac_latin2", "utf_16",
)  # fmt: skip
"""Encodings that a detector may return although the Web does not use them."""
ROOT = Path(__file__).resolve().parents[2]
TIMEOUT = 60.0
SECRET = "a password of Kafka"


def has_landlock() -> bool:
    try:
        return syscall(CREATE_RULESET, None, 0, RULESET_VERSION) >= 6
    except OSError:
        return False


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(platform.machine() not in ALLOWED_CALLS, reason="no seccomp filter"),
]
needs_landlock = pytest.mark.skipif(not has_landlock(), reason="no Landlock, or an old one")
REFUSED = "Operation not permitted"
Attempt = Callable[[str], Awaitable[str]]


@asynccontextmanager
async def controlled_child(
    monkeypatch: pytest.MonkeyPatch, *without: str
) -> AsyncIterator[Attempt]:
    """Yield a function by which a child attempts something, *without* some restrictions."""
    async with controlled_pool(monkeypatch, *without) as pool:
        yield partial(_attempt, pool)


@asynccontextmanager
async def controlled_pool(
    monkeypatch: pytest.MonkeyPatch, *without: str, page_limit: float = TIMEOUT
) -> AsyncIterator[Pool]:
    """Yield a pool whose only child obeys the pages, *without* some restrictions."""
    with TemporaryDirectory() as folder:
        python = Path(folder, "python")
        python.write_text(
            "#!/bin/sh\nwhile [ $# -gt 2 ]; do shift; done\n"
            f"PYTHONPATH={ROOT} exec {sys.executable} -P -m tests.parser.intruder"
            f" {' '.join(without)} $@\n"
        )
        python.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(python))
        async with Pool(1, page_limit, 512 << 20) as pool:
            yield pool


async def _attempt(pool: Pool, text: str) -> str:
    return (await pool.parse(Request(page_response(text.encode()), OPTIONS, NOW))).title


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def file_attempts(folder: Path) -> list[str]:
    file, other = folder / "file", folder / "other"
    for one in (file, other):
        one.write_text("x")
    return [
        "read: /etc/passwd",
        f"read: /proc/{os.getpid()}/environ",
        f"read: {file}",
        f"look at: {folder}",
        f"write: {file}",
        f"write: {folder}/new",
        f"link: {file}",
        f"make a folder: {file}",
        f"rename: {file}",
        f"delete: {other}",
    ]


def process_attempts(port: int) -> list[str]:
    parent = os.getpid()
    return [
        f"connect: {port}",
        "listen: ",
        f"trace: {parent}",
        f"read the memory of: {parent}",
        f"signal: {parent}",
    ]


def kernel_attempts(folder: Path, port: int) -> list[str]:
    return [
        f"change mode: {folder}",
        f"send a datagram: {port}",
        "execute: /bin/true",
        "spawn: /bin/true",
        "fork: ",
        f"take a descriptor of: {os.getpid()}",
        "set a limit: ",
        "become: 65534",
        "ask for privileges: ",
        "open a namespace: ",
        "make an io_uring: ",
    ]


async def try_all(attempt: Attempt, attempts: list[str]) -> dict[str, str]:
    return {text: await attempt(text) for text in attempts}


async def test_attempts_succeed_without_restrictions(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the other tests would prove nothing."""
    received: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: received.append(number))
    try:
        async with controlled_child(monkeypatch, "no_new_privs", "landlock", "seccomp") as attempt:
            attempts = [
                *file_attempts(tmp_path),
                *process_attempts(port),
                f"change mode: {tmp_path}",
                "fork: ",
            ]
            harmless = [text for text in attempts if not text.startswith(("trace", "read the mem"))]
            found = await try_all(attempt, harmless)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert {text for text, result in found.items() if not result.startswith("done")} == set()
    assert received


@pytest.mark.parametrize("without", ["", pytest.param("landlock")])
async def test_sandbox_refuses_files_hosts_and_processes(
    without: str, tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = [*file_attempts(tmp_path), *process_attempts(port), *kernel_attempts(tmp_path, port)]
    async with controlled_child(monkeypatch, *without.split()) as attempt:
        assert await try_all(attempt, attempts) == dict.fromkeys(attempts, REFUSED)
        assert await attempt("start a thread: ") == "can't start new thread"


@needs_landlock
async def test_landlock_alone_refuses_files_and_tcp(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = [*file_attempts(tmp_path), *process_attempts(port), "execute: /bin/true"]
    async with controlled_child(monkeypatch, "seccomp") as attempt:
        found = await try_all(attempt, attempts)
    assert set(found.values()) <= {"Permission denied", REFUSED}, found


async def test_child_inherits_no_secrets_and_no_descriptors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_KAFKA__PASSWORD", SECRET)
    monkeypatch.setenv("GOSSAMER_CASSANDRA__PASSWORD", SECRET)
    with (tmp_path / "file").open("w+b") as file:
        os.set_inheritable(file.fileno(), True)
        async with controlled_child(monkeypatch) as attempt:
            environment = await attempt("say the environment: ")
            assert await attempt(f"use the descriptor: {file.fileno()}") == "Bad file descriptor"
    assert "'TZ': 'UTC0'" in environment
    assert SECRET not in environment and "GOSSAMER" not in environment


async def test_whole_process_is_in_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restrictions apply to the thread that installs them and to threads that it starts."""
    async with Pool(1, TIMEOUT, 512 << 20) as pool:
        await pool.parse(Request(page_response(b"<p>"), OPTIONS, NOW))
        (pid,) = pool.pids
        threads = [*Path(f"/proc/{pid}/task").iterdir()]
        status = (threads[0] / "status").read_text()
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    assert len(threads) == 1
    assert "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status
    assert b"PATH=/" not in environment.replace(b"PYTHONPATH=", b"")


async def test_invalid_replies_are_poison(monkeypatch: pytest.MonkeyPatch) -> None:
    async with controlled_child(monkeypatch) as attempt:
        with pytest.raises(Poison, match="4294967295 bytes long"):
            await attempt(f"announce: {0xFFFFFFFF}")
        with pytest.raises(Poison, match="invalid reply"):
            await attempt("announce: 0")
        assert await attempt("read: /etc/passwd") == REFUSED


async def test_reply_cannot_forge_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    async with controlled_pool(monkeypatch) as pool:
        page = replace(page_response(b"forge: https://www.bank.example/"), hazards=("noindex",))
        parsed = await pool.parse(Request(page, OPTIONS, NOW))
    assert parsed.title == "forged"
    expected = replace(start_result(page, NOW), title="forged")
    assert parsed == replace(expected, parse_seconds=parsed.parse_seconds)


async def test_silent_child_is_killed_and_page_is_poison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "REPLY_GRACE", 3.0)
    async with controlled_pool(monkeypatch, page_limit=0.1) as pool:
        async with asyncio.timeout(TIMEOUT):
            with pytest.raises(Poison, match="did not reply within 4 s"):
                await pool.parse(Request(page_response(b"stay: "), OPTIONS, NOW))
        assert pool.pids == []
        assert await _attempt(pool, "read: /etc/passwd") == REFUSED


@pytest.mark.skipif(not has_landlock(), reason="it is missing anyhow")
def test_missing_restriction_is_logged_once_and_pages_are_read() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.parser.without_landlock"],
        cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT,
    )  # fmt: skip
    warning, *rest = done.stdout.splitlines()
    assert "sandbox restrictions are missing" in warning
    assert "landlock" in warning and "seccomp" not in warning
    assert rest == ["{'page was read'}"], done.stderr


def test_every_reader_has_a_warm_up_sample() -> None:
    assert SAMPLES.keys() == READERS.keys()


async def check_read_equally_in_sandbox(pages: list[PageFetched]) -> None:
    async with Pool(2, TIMEOUT, 512 << 20) as pool:
        inside = await asyncio.gather(*(pool.parse(Request(page, OPTIONS, NOW)) for page in pages))
    outside = [parse(page, OPTIONS, NOW) for page in pages]
    read = [replace(parsed, parse_seconds=0.0) for parsed in inside]
    assert [encode(parsed) for parsed in read] == [encode(parsed) for parsed in outside]


async def test_readers_load_nothing_in_sandbox() -> None:
    """A module or a table that is loaded later would be missing, because files cannot be opened."""
    await check_read_equally_in_sandbox(
        [
            *(page_response(article.html.encode()) for article in ARTICLES.values()),
            *(
                page_response(body, ("Content-Type", "text/xml"), purpose=Purpose.SITEMAP)
                for body in LISTINGS.values()
            ),
            *(page_response(body, ("Content-Type", kind)) for kind, body in SOUND.items()),
            page_response(PLAIN_FONTS, ("Content-Type", "application/pdf")),
            *(
                page_response(
                    b"<p>" + bytes(range(256)), ("Content-Type", f"text/html; charset={name}")
                )
                for name in ENCODINGS
            ),
            *(
                page_response(text.encode(name, "ignore"), ("Content-Type", "text/plain"))
                for _, text in TEXTS
                for name in UNUSUAL_ENCODINGS
            ),
        ]
    )


@pytest.mark.parametrize("each", [3, pytest.param(1, marks=pytest.mark.long)])
async def test_real_pages_read_equally_in_sandbox_and_outside(
    suite_folder: Callable[[str], Path], each: int
) -> None:
    pages = sorted((suite_folder("pages") / "pages").glob("*.html.gz"))[::each]
    sitemaps = sorted((suite_folder("sitemaps") / "sitemaps").iterdir())
    await check_read_equally_in_sandbox(
        [
            *(page_response(gzip.decompress(file.read_bytes())) for file in pages),
            *(
                page_response(
                    file.read_bytes(), ("Content-Type", "text/xml"), purpose=Purpose.SITEMAP
                )
                for file in sitemaps
            ),
        ]
    )
