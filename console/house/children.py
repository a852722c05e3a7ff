"""The processes of the house: what each runs, how it is stopped, how it says why it died."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.resource_tracker import ensure_running

import structlog

from console.house.folder import Folder, Opened
from gossamer.config import Settings
from gossamer.errors import GossamerError
from gossamer.telemetry import configure_logs
from gossamer.worker import run_async

logger = structlog.get_logger()
_spawn = get_context("spawn")


@dataclass(frozen=True)
class Brief:
    """What a child needs to know."""

    settings: Settings
    folder: Folder
    void_through: int
    logs_to_file: bool


def fetcher(brief: Brief, opened: Opened, stop: threading.Event) -> None:
    """Fetch."""
    from services.fetcher.wiring import alone_since, serve

    log, store, ours = opened.log, opened.store, alone_since(brief.void_through + 1)
    run_async(lambda ended: serve(brief.settings, log, store, ours, ended), stop)


def parser(brief: Brief, opened: Opened, stop: threading.Event) -> None:
    """Parse."""
    from services.parser.wiring import serve

    run_async(lambda ended: serve(brief.settings, opened.log, opened.store, ended), stop)


def machines(brief: Brief, opened: Opened, stop: threading.Event) -> None:
    """Dedup, frontier and archive."""
    from console.house.machines import run_machines

    run_machines(brief.settings, opened, stop)


# Each of them imports only what it runs: the processes are smaller, and start sooner.
KINDS = {"machines": machines, "fetcher": fetcher, "parser": parser}


class Child:
    """One process of the house, as its parent sees it."""

    def __init__(self, kind: str, brief: Brief) -> None:
        self.kind = kind
        self._line, theirs = _spawn.Pipe()
        self._process: BaseProcess = _spawn.Process(
            target=_child, args=(kind, brief, theirs), name=f"gossamer {kind}"
        )
        with _deaf_to_ctrl_c():
            self._process.start()
        theirs.close()

    def failure(self) -> str | None:
        """Return why the child ended, if it has ended though nobody asked it to."""
        if self._process.is_alive():
            return None
        try:
            return str(self._line.recv()) if self._line.poll() else self._epitaph()
        except (EOFError, OSError):
            return self._epitaph()

    def _epitaph(self) -> str:
        code = self._process.exitcode or 0
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return (
            f"the {self.kind} process {how}: run the same command again to go on; nothing is lost"
        )

    def stop(self) -> None:
        """Ask the child to end in good order."""
        if self._process.is_alive():
            self._process.terminate()

    def kill(self) -> None:
        """End the child now, if it has not ended."""
        self._process.kill()
        self._process.join()

    def join(self, timeout: float) -> bool:
        """Wait for its end; return whether it came."""
        self._process.join(timeout)
        return not self._process.is_alive()


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    """What is started meanwhile is so from its first instant; we hear of Ctrl-C afterwards."""
    ensure_running()  # Started under way, it would undo the mask.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _child(kind: str, brief: Brief, line: Connection) -> None:
    stop = threading.Event()
    # The terminal sends Ctrl-C to everybody; what follows from it is the parent's to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    threading.Thread(target=_die_with_parent, args=(line,), daemon=True).start()
    if brief.logs_to_file:
        os.dup2(os.open(brief.folder.logs, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), 2)
    configure_logs(brief.settings.logs.json_lines or brief.logs_to_file, brief.settings.logs.level)
    try:
        brief.folder.share()
        KINDS[kind](brief, brief.folder.open(), stop)
    except GossamerError as error:
        _say_last(line, str(error))
    except Exception as error:
        logger.exception("unexpected", process=kind)
        _say_last(
            line,
            f"the {kind} process met an error that should not happen ({type(error).__name__}: "
            f"{error}); the log tells more. Run the same command again to go on; nothing is lost",
        )


def _say_last(line: Connection, why: str) -> None:
    line.send(why)
    os._exit(1)


def _die_with_parent(line: Connection) -> None:
    try:
        line.recv()
    except (EOFError, OSError):
        os._exit(0)
