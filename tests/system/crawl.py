"""A crawl as an operator sees it: the installed command, its folder, its output, its processes.

Nothing here or in the tests beside it imports the crawler: they use it as a user does.
"""

import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.support.commands import Done, clean_environment, run_command
from tests.support.waiting import HANG_TIMEOUT
from tests.synthweb import RunningWeb, SynthWeb

BIN = Path(sys.executable).parent
GOSSAMER = str(BIN / "gossamer")
CONTACT = "crawl-test@example.org"
USUAL_SITEMAPS = "GOSSAMER_FETCHER__USUAL_SITEMAPS"
MARK = "CRAWL_UNDER_TEST"
"""The environment variable that marks every process that a command starts."""
LOOPBACK = ("--allow-network", "127.0.0.0/8")
PATIENT = Path(__file__).with_name("patient.toml")
"""The settings of crawls that state none."""

Fields = dict[str, Any]


class Started:
    """A running command, leader of its own process group. It may be killed at any time."""

    def __init__(self, command: list[str], output_folder: Path) -> None:
        output_folder.mkdir(parents=True, exist_ok=True)
        self.mark = uuid.uuid4().hex
        self._out, self._err = (
            output_folder / f"{self.mark}.out",
            output_folder / f"{self.mark}.err",
        )
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment(self.mark),
                start_new_session=True,
            )

    @property
    def out(self) -> str:
        return self._out.read_text()

    @property
    def err(self) -> str:
        return self._err.read_text()

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def wait(self) -> Done:
        code = self.process.wait(HANG_TIMEOUT)
        return Done(code, self.out, self.err)

    def kill(self, group: bool) -> None:
        """Send SIGKILL to the parent alone, or to its process group."""
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.process.pid, signal.SIGKILL)
        self.process.wait(HANG_TIMEOUT)

    def pids(self) -> list[int]:
        return marked_pids(self.mark)

    def is_gone(self) -> bool:
        return not self.pids()


def environment(mark: str = "", **more: str) -> dict[str, str]:
    """Return our environment without settings of Gossamer, except that usual sitemaps are not
    visited: most tests count requests to hosts without sitemaps."""
    return clean_environment(**{MARK: mark, USUAL_SITEMAPS: "never", **more})


def marked_pids(mark: str) -> list[int]:
    """Return the running processes that were started under *mark*, however far removed."""
    wanted = f"{MARK}={mark}".encode()
    return sorted(
        int(folder.name)
        for folder in Path("/proc").iterdir()
        if folder.name.isdecimal() and wanted in _environ(folder).split(b"\0")
    )


def _environ(folder: Path) -> bytes:
    try:
        return (folder / "environ").read_bytes()
    except OSError:
        return b""


class WebCrawl:
    """The crawls of one data folder over one web."""

    def __init__(
        self,
        web: RunningWeb[Any],
        data: Path,
        delay: float = 0.1,
        scope: str = "any",
        config: Path = PATIENT,
    ) -> None:
        self.web, self.data, self.delay, self.scope, self._config = web, data, delay, scope, config
        self.output_folder = data.parent / f"{data.name}-said"

    def command(self, *options: str, seeds: list[str] | None = None) -> list[str]:
        manners = ["--config", str(self._config), "--contact", CONTACT, "--delay", str(self.delay)]
        where = ["--data", str(self.data), *LOOPBACK, "--nameserver", self.web.nameserver]
        scope = ["--scope", self.scope] if self.scope else []
        added = self.web.seeds if seeds is None else seeds
        return [GOSSAMER, "crawl", *manners, *where, *scope, *options, *added]

    def run(
        self,
        *options: str,
        seeds: list[str] | None = None,
        stdin: str = "",
        patience: float = HANG_TIMEOUT,
    ) -> Done:
        """Crawl to the end, which takes *patience* seconds at most."""
        command = self.command(*options, seeds=seeds)
        return run_command(command, stdin, environment(), patience)

    @contextmanager
    def start(self, *options: str, seeds: list[str] | None = None) -> Iterator[Started]:
        """Start the crawl. Its processes are killed at the end of the block."""
        with start_command(self.command(*options, seeds=seeds), self.output_folder) as under_way:
            yield under_way

    def pages(self) -> list[Fields]:
        done = ask(self.data, "pages")
        assert (done.code, done.err) == (0, "")
        return [json.loads(line) for line in done.out.splitlines()]

    def why(self, url: str) -> str:
        done = ask(self.data, "why", "--verbose", url)
        assert (done.code, done.err) == (0, "")
        return done.out

    def logs(self) -> str:
        """Return the logs of the crawl's processes, for a failed test."""
        path = self.data / "gossamer.log"
        return path.read_text() if path.exists() else ""


class Crawl(WebCrawl):
    """The crawls of one data folder over one world."""

    web: SynthWeb


@contextmanager
def start_command(command: list[str], output_folder: Path) -> Iterator[Started]:
    under_way = Started(command, output_folder)
    try:
        yield under_way
    finally:
        under_way.kill(group=True)
        for pid in under_way.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def crawl_urls(data: Path, *words: str, delay: float = 0.01) -> Done:
    """Crawl servers of this machine in the folder *data*. *words* are seeds and options."""
    manners = ["--contact", CONTACT, "--delay", str(delay), *LOOPBACK]
    return ask(data, "crawl", "--config", str(PATIENT), *manners, *words)


def ask(data: Path, *words: str) -> Done:
    """Run a command on the crawl in the folder *data*."""
    return run([GOSSAMER, *words, "--data", str(data)])


def run(command: list[str], stdin: str = "", **more: str) -> Done:
    """Run a command to its end, with *more* in its environment."""
    return run_command(command, stdin, environment(**more))
