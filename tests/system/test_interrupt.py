"""Ctrl-C, a time limit, and the output of a crawl in a terminal, in a pipe and in a log."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.waiting import HANG_TIMEOUT, until
from tests.synthweb import SynthWeb, World, measure

from .assertions import assert_archived, assert_once, assert_polite, readable
from .conftest import Finished
from .crawl import Crawl, environment, marked_pids

WORLD = World.plain(seed=6, hosts=12, pages=18)
SLOW = World.plain(seed=6, hosts=3, pages=4, jitter=0.0, transfers=1.0, slowness=600.0)
"""Every host has a page that takes ten minutes, or until the client disconnects."""
PATIENT = "[fetcher]\nfirst_byte_limit = 600\nvisit_limit = 600\n"


@pytest.fixture
def web() -> Iterator[SynthWeb]:
    """A world that a crawl does not finish in the time of a test."""
    with SynthWeb(WORLD) as running:
        yield running


def resumed_without_repeats(crawl: Crawl) -> None:
    """Assert that no URL is requested twice, and that all are requested."""
    before = measure.requested_urls(crawl.web.requests())
    crawl.delay = 0.02
    done = crawl.run()
    assert (done.code, done.err) == (0, "")
    requests, truth = crawl.web.requests(), crawl.web.truth
    assert before < measure.requested_urls(requests)
    assert_polite(requests, truth, 0.02)
    assert_once(requests, truth)
    assert {page["url"] for page in crawl.pages()} == readable(truth)
    assert_archived(crawl, requests, truth)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_one_signal_stops_the_run_gracefully(
    tmp_path: Path, web: SynthWeb, number: signal.Signals
) -> None:
    crawl = Crawl(web, tmp_path / "data", delay=0.3)
    with crawl.start() as under_way:
        until(lambda: len(web.requests()) > 30, "thirty requests")
        under_way.process.send_signal(number)
        done = under_way.wait()
        until(under_way.is_gone, "the end of its processes")
    assert (done.code, done.err) == (130, "")
    assert "interrupted" in done.out
    requested = [r for r in web.requests() if r.path != "/robots.txt"]
    assert re.search(rf"pages +{len(requested)} ", done.out), "the requested pages are counted"
    assert len(crawl.pages()) == len(requested)
    resumed_without_repeats(crawl)


@pytest.mark.slow
def test_two_signals_stop_the_run_at_once(tmp_path: Path) -> None:
    (tmp_path / "patient.toml").write_text(PATIENT)
    with SynthWeb(SLOW) as web:
        crawl = Crawl(web, tmp_path / "data", delay=0.02)
        with crawl.start("--config", str(tmp_path / "patient.toml")) as under_way:
            until(lambda: visits_slow_pages(web), "visits that take long")
            under_way.interrupt()
            for _ in range(20):
                assert under_way.running, "the crawl did not wait for requests in flight"
                time.sleep(0.05)
            under_way.interrupt()
            done = under_way.wait()  # A server would have delayed it for ten minutes.
            until(under_way.is_gone, "the end of its processes")
        assert done.code == 130 and done.err == ""
        assert "interrupted at once" in done.out


@pytest.mark.long
@pytest.mark.parametrize("wait", [0.1, 0.3, 0.6])
def test_report_is_printed_despite_more_signals(tmp_path: Path, web: SynthWeb, wait: float) -> None:
    with Crawl(web, tmp_path / "data", delay=0.3).start() as under_way:
        until(lambda: len(web.requests()) > 30, "thirty requests")
        under_way.interrupt()
        time.sleep(wait)
        while under_way.running:  # Some signals arrive during the report and the exit.
            under_way.interrupt()
            time.sleep(0.003)
        done = under_way.wait()
        until(under_way.is_gone, "the end of its processes")
    # After the last output, no process is left to signal.
    assert (done.code, done.err) == (130, "") or done.code == -signal.SIGINT
    assert "interrupted" in done.out


@pytest.mark.long
@pytest.mark.parametrize("wait", [0.0, 0.05, 0.2, 0.6])
def test_signal_during_the_start_prints_no_traceback(
    tmp_path: Path, web: SynthWeb, wait: float
) -> None:
    crawl = Crawl(web, tmp_path / "data", delay=0.3)
    with crawl.start() as under_way:
        until((crawl.data / "lock").exists, "the folder")
        time.sleep(wait)
        os.killpg(
            under_way.process.pid, signal.SIGINT
        )  # Like a terminal: to its foreground process group.
        done = under_way.wait()
        until(under_way.is_gone, "the end of its processes")
    assert (done.code, done.err) == (130, "")


def visits_slow_pages(web: SynthWeb) -> bool:
    """Return whether each host has a request for its slow page now."""
    return sum(url.endswith("/odd/slow") for url in web.under_way()) == SLOW.hosts


@pytest.mark.long
def test_time_limit_stops_the_run_gracefully(tmp_path: Path, web: SynthWeb) -> None:
    crawl = Crawl(web, tmp_path / "data", delay=1.0)
    done = crawl.run("--max-time", "6s")
    assert (done.code, done.err) == (0, "")
    assert "time limit" in done.out
    assert len(crawl.pages()) < len(readable(web.truth))
    resumed_without_repeats(crawl)


# --- output


class Terminal:
    """A terminal with a crawl in it."""

    def __init__(self, command: list[str]) -> None:
        self.seen = b""
        self.mark = f"terminal-{os.getpid()}-{id(self)}"
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment(self.mark, TERM="xterm-256color", COLUMNS="120", LINES="40"),
            start_new_session=True,
            # Ctrl-C goes to the foreground process group of the terminal.
            preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),
        )
        os.close(slave)

    def type(self, keys: bytes) -> None:
        os.write(self._master, keys)

    def read(self) -> bool:
        """Read the drawn output; return whether the crawl still has the terminal."""
        while select.select([self._master], [], [], 0.05)[0]:
            try:
                drawn = os.read(self._master, 65536)
            except OSError:
                return False
            if not drawn:
                return False
            self.seen += drawn
        return True

    def close(self) -> int:
        until(lambda: not self.read(), "the end of the output")
        code = self.process.wait(HANG_TIMEOUT)
        os.close(self._master)
        return code

    def kill(self) -> None:
        for pid in marked_pids(self.mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(HANG_TIMEOUT)


@pytest.mark.long
def test_terminal_shows_a_live_view_and_is_restored_after_ctrl_c(
    tmp_path: Path, web: SynthWeb
) -> None:
    crawl = Crawl(web, tmp_path / "data", delay=0.3)
    terminal = Terminal(crawl.command())
    try:
        until(lambda: terminal.read() and drawn_pages(terminal.seen) > 5, "a count of pages")
        for part in (b"received", b"hosts", b"queue", b"Ctrl-C", b"\x1b[?25l", b"being fetched"):
            assert part in terminal.seen, part
        terminal.type(b"\x03")
        assert terminal.close() == 130
    finally:
        terminal.kill()
    seen = terminal.seen
    assert seen.rindex(b"\x1b[?25h") > seen.rindex(b"\x1b[?25l"), "the cursor is shown again"
    assert b"interrupted" in seen and b"Traceback" not in seen
    assert b"Ended after" in seen[seen.rindex(b"\x1b[?25h") :], "the report is below the view"
    resumed_without_repeats(crawl)


def drawn_pages(seen: bytes) -> int:
    """Return the largest page count that was drawn."""
    plain = re.sub(rb"\x1b\[[0-9;?]*[A-Za-z]", b"", seen)
    return max((int(found) for found in re.findall(rb"pages +(\d+) ", plain)), default=0)


@pytest.mark.long
def test_pipe_receives_lines_without_escape_sequences(tiny: Finished) -> None:
    assert "\x1b" not in tiny.done.out and "\r" not in tiny.done.out
    first = tiny.done.out.splitlines()[0]
    assert re.match(r"\d+ pages? \(\d+\.\d/s\), .* URLs? queued, hosts: ", first)


@pytest.mark.long
def test_quiet_prints_nothing_and_json_prints_only_json(tmp_path: Path) -> None:
    with SynthWeb(World.plain(seed=4, hosts=4, pages=3)) as web:
        quiet = Crawl(web, tmp_path / "quiet", delay=0.02).run("--quiet")
        assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
        # The delay keeps the crawl running until the first progress line, after one second.
        done = Crawl(web, tmp_path / "json", delay=1.0).run("--json-logs")
        assert done.code == 0
        entries = [json.loads(line) for line in done.err.splitlines()]
        assert entries and all(isinstance(entry, dict) for entry in entries)
        assert {"crawl in progress", "crawl ended"} <= {entry["event"] for entry in entries}
        (report,) = [entry for entry in entries if entry["event"] == "crawl ended"]
        assert report["pages"] == len(readable(web.truth))
