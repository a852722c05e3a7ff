"""The web console beside a crawl: `gossamer crawl --console`."""

import json
import os
import signal
import stat
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.servers import free_ports
from tests.support.waiting import HANG_TIMEOUT, until
from tests.synthweb import SynthWeb, World

from .assertions import readable
from .crawl import Crawl, Started

WORLD = World.plain(seed=4, hosts=4, pages=8)
DELAY = 0.5


def answer(port: int, path: str, token: str = "") -> tuple[int, bytes]:
    """Return status and body; raise ConnectionError if nobody listens."""
    connection = HTTPConnection("127.0.0.1", port, timeout=HANG_TIMEOUT)
    try:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def is_refused(port: int) -> bool:
    """Return whether nobody listens, so that clients do not wait."""
    try:
        answer(port, "/healthz")
    except ConnectionError:
        return True
    return False


def listeners(crawl: Started, port: int) -> list[int]:
    """Return the processes of *crawl* that listen on *port*."""
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = {f"socket:[{at[9]}]" for at in lines if at[1].endswith(f":{port:04X}")}
    return [pid for pid in crawl.pids() if listening & open_files(pid)]


def open_files(pid: int) -> set[str]:
    try:
        return {os.readlink(file) for file in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return set()


def token_of(crawl: Crawl) -> str:
    """Return the token when the console has written it, which only the owner can read."""
    file = crawl.data / "console-token"
    until(lambda: file.exists() and bool(file.read_text()), "the file with the token")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    return file.read_text()


@pytest.mark.slow
def test_console_shows_the_running_crawl_and_ends_with_it(tmp_path: Path) -> None:
    with SynthWeb(WORLD) as web:
        crawl, port = Crawl(web, tmp_path / "data", delay=DELAY), free_ports(1)
        with crawl.start("--console", str(port)) as under_way:
            token = token_of(crawl)
            assert answer(port, "/v1/crawls/default/overview")[0] == 401
            status, body = answer(port, "/v1/crawls/default/overview", token)
            assert status == 200 and json.loads(body)["is_running"] is True
            assert b"<title>" in answer(port, "/")[1]
            under_way.interrupt()
            done = under_way.wait()
            until(under_way.is_gone, "the end of its processes")
        assert (done.code, done.err) == (130, "")
        assert f"Console: http://127.0.0.1:{port}/#token={token}\n" in done.out
        assert is_refused(port)
        assert not (crawl.data / "console-token").exists()


@pytest.mark.long
@pytest.mark.parametrize("is_opened", [True, False])
def test_crawl_goes_on_without_its_console(tmp_path: Path, is_opened: bool) -> None:
    with SynthWeb(WORLD) as web:
        crawl, port = Crawl(web, tmp_path / "data", delay=DELAY), free_ports(1)
        with crawl.start("--console", str(port)) as under_way:
            token = token_of(crawl)
            if is_opened:
                assert answer(port, "/v1/crawls", token)[0] == 200
            (console,) = listeners(under_way, port)
            os.kill(console, signal.SIGKILL)
            until(lambda: is_refused(port), "the end of the console")
            assert under_way.running
            done = under_way.wait()
        assert (done.code, done.err) == (0, "")
        assert {page["url"] for page in crawl.pages()} == readable(web.truth)


@pytest.mark.long
def test_seed_may_follow_the_option(tmp_path: Path) -> None:
    (config := tmp_path / "gossamer.toml").write_text(f"[api]\nport = {(port := free_ports(1))}\n")
    with SynthWeb(WORLD) as web:
        crawl = Crawl(web, tmp_path / "data", delay=DELAY, config=config)
        done = crawl.run("--max-pages", "1", "--console")
    assert done.code == 0
    assert f"Console: http://127.0.0.1:{port}/#token=" in done.out
