"""Problems of the machine or of the command: each message names the problem and a remedy."""

import os
import random
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from hashlib import sha256
from pathlib import Path

import pytest

from tests.support.commands import Done
from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .assertions import (
    assert_archived,
    assert_once,
    assert_pages,
    assert_polite,
    assert_thorough,
    warcs,
)
from .crawl import LOOPBACK, Crawl, Started, run

WORLD = World.plain(seed=6, hosts=20, pages=5)
SLOW = World.plain(seed=8, hosts=4, pages=200)
"""A world that a crawl does not finish before the test disturbs it."""
CONTACT = ("--contact", "crawl-test@example.org")


def message_of(done: Done | Started, code: int) -> str:
    """Return the message of a command that failed, without tracebacks."""
    finished_crawl = done.wait() if isinstance(done, Started) else done
    assert finished_crawl.code == code, finished_crawl
    assert finished_crawl.err.strip() and "Traceback" not in finished_crawl.err, finished_crawl.err
    return finished_crawl.err


def assert_complete(crawl: Crawl) -> None:
    """Assert that the crawl ended like one without problems."""
    requests, truth = crawl.web.requests(), crawl.web.truth
    assert_polite(requests, truth, crawl.delay)
    assert_thorough(requests, truth)
    assert_pages(crawl, truth)
    assert_archived(crawl, requests, truth)


# --- the disk


def mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True)


@contextmanager
def disk(folder: Path, size: str) -> Iterator[Path]:
    """A file system of its own, which only root can mount."""
    if os.geteuid() != 0 and not os.environ.get("CI"):
        pytest.skip("only root can mount a disk")
    folder.mkdir()
    mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "hosts"),
    [
        ("4k", 10),
        pytest.param("900k", 30, marks=pytest.mark.long),
        pytest.param("2500k", 60, marks=pytest.mark.long),
    ],
)
def test_crawl_stops_at_a_full_disk_and_continues_after_space_is_freed(
    tmp_path: Path, size: str, hosts: int
) -> None:
    world = World.plain(seed=6, hosts=hosts, pages=12)
    with SynthWeb(world) as web, disk(tmp_path / "d", size) as d:
        crawl = Crawl(web, d / "data", delay=0.02)
        crawl.output_folder = tmp_path / "said"
        err = message_of(crawl.run(), 1)
        assert "no space left" in err and str(d / "data") in err
        mount("-o", "remount,size=100m", str(d))
        done = crawl.run()
        assert (done.code, done.err) == (0, ""), done
        assert_complete(crawl)


# --- the data file


def spoil_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(random.Random(1).randbytes(200))


def spoil_middle(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 3)
        file.write(random.Random(2).randbytes(size // 3))


@pytest.fixture(scope="module")
def finished_crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawl]:
    """A finished crawl, which tests copy before they change it."""
    with SynthWeb(WORLD) as web:
        crawl = Crawl(web, tmp_path_factory.mktemp("ended") / "data", delay=0.02)
        assert crawl.run().code == 0
        yield crawl


def digests(files: list[Path]) -> dict[str, str]:
    return {file.name: sha256(file.read_bytes()).hexdigest() for file in files}


@pytest.mark.long
@pytest.mark.parametrize("spoil", [spoil_header, spoil_middle])
def test_damaged_data_file_is_reported_and_unchanged(
    tmp_path: Path, finished_crawl: Crawl, spoil: Callable[[Path], None]
) -> None:
    subprocess.run(["cp", "-r", str(finished_crawl.data), str(tmp_path / "data")], check=True)
    crawl = Crawl(finished_crawl.web, tmp_path / "data")
    database = crawl.data / "gossamer.db"
    spoil(database)
    before, request_count = (
        digests([database, *warcs(crawl.data)]),
        len(finished_crawl.web.requests()),
    )
    err = message_of(crawl.run(), 1)
    assert str(database) in err and "damaged" in err and "backup" in err and "--data" in err
    assert digests([database, *warcs(crawl.data)]) == before
    assert len(finished_crawl.web.requests()) == request_count


# --- the processes


@pytest.mark.long
def test_second_crawl_on_a_folder_is_refused(tmp_path: Path) -> None:
    with SynthWeb(SLOW) as web:
        crawl = Crawl(web, tmp_path / "data", delay=1.0)
        with crawl.start() as first:
            until(web.requests, "a first request")
            err = message_of(crawl.run(), 1)
            assert f"process {first.process.pid})" in err and str(crawl.data) in err
            assert "--data" in err
            seen = len(web.requests())
            until(lambda: len(web.requests()) > seen, "another request of the first crawl")
            first.interrupt()
            done = first.wait()
        assert (done.code, done.err) == (130, "")
        assert_polite(web.requests(), web.truth, crawl.delay)
        assert_once(web.requests(), web.truth)


def pids_connected_to(pids: list[int], port: int) -> list[int]:
    """Return the *pids* with a connection to *port*: the fetcher's, under any process name."""
    inodes = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if int(fields[2].rpartition(":")[2], 16) == port:
            inodes.add(f"socket:[{fields[9]}]")
    return [pid for pid in pids if inodes & set(open_files(pid))]


def open_files(pid: int) -> Iterator[str]:
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            yield os.readlink(f"/proc/{pid}/fd/{name}")
    except OSError:
        return


@pytest.mark.long
def test_killed_fetcher_stops_the_run_and_the_next_run_continues(tmp_path: Path) -> None:
    with SynthWeb(World.plain(seed=6, hosts=12, pages=12)) as web:
        crawl = Crawl(web, tmp_path / "data", delay=0.2)
        with crawl.start() as under_way:
            (fetcher,) = until(
                lambda: pids_connected_to(under_way.pids(), web.port), "a connection of the fetcher"
            )
            assert fetcher != under_way.process.pid
            os.kill(fetcher, signal.SIGKILL)
            err = message_of(under_way, 1)
            assert "fetcher" in err and "signal 9" in err
            until(under_way.is_gone, "the end of the other processes")
        assert crawl.run().code == 0
        assert_complete(crawl)


@pytest.mark.parametrize("which", [0, pytest.param(2, marks=pytest.mark.long)])
def test_kill_of_any_process_loses_nothing(tmp_path: Path, which: int) -> None:
    with SynthWeb(World.plain(seed=6, hosts=12, pages=6)) as web:
        crawl = Crawl(web, tmp_path / "data", delay=0.2)
        with crawl.start() as under_way:
            until(lambda: len(web.requests()) > 20, "twenty requests")
            others = [pid for pid in under_way.pids() if pid != under_way.process.pid]
            os.kill(others[which % len(others)], signal.SIGKILL)
            done = under_way.wait()
            assert done.code in (0, 1) and "Traceback" not in done.err
            until(under_way.is_gone, "the end of all processes")
        if done.code == 1:
            assert done.err
            assert crawl.run().code == 0
        assert_complete(crawl)


@pytest.mark.long
def test_silent_nameserver_delays_the_crawl_and_loses_nothing(tmp_path: Path) -> None:
    with SynthWeb(WORLD) as web, closing(socket.socket(type=socket.SOCK_DGRAM)) as mute:
        mute.bind(("127.0.0.1", 0))
        crawl = Crawl(web, tmp_path / "data")
        nobody = ("--nameserver", f"127.0.0.1:{mute.getsockname()[1]}")
        settings = tmp_path / "impatient.toml"
        settings.write_text("[standalone]\npatience = 0\n[frontier]\ndown_wait = 15\n")
        done = crawl.run(*nobody, "--config", str(settings))
        assert (done.code, done.err) == (3, ""), "no seed gave a page"
        assert re.search(r"no DNS answer +3", done.out)
        # Sent before other names: the wait is no longer than these seconds.
        why = crawl.why(web.seeds[0])
        assert re.search(r"before .* UTC: .*resolve", why)
        assert web.requests() == [] and crawl.pages() == []
        later = crawl.run()  # With longer timeouts, and a server that answers.
        assert (later.code, later.err) == (0, "")
        assert_complete(crawl)


# --- the request


@pytest.mark.slow
def test_private_address_is_visited_only_if_allowed(tmp_path: Path) -> None:
    with SynthWeb(World.plain(seed=4, hosts=3, pages=1)) as web:
        crawl = Crawl(web, tmp_path / "data")
        strict = [word for word in crawl.command() if word not in LOOPBACK]
        done = run(strict)
        assert (done.code, done.err) == (3, ""), "no seed gave a page"
        assert "--allow-network" in done.out and "private address" in done.out
        assert web.requests() == []
        assert "private address" in crawl.why(web.seeds[0])
        allowed = crawl.run()
        assert allowed.code == 0
        assert "--allow-network" not in allowed.out, "advice that was followed"
