"""The child processes of a crawl: what each runs, how it is stopped, how it reports its failure."""

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

from gossamer.errors import GossamerError
from gossamer.runtime.event_loop import run_async
from gossamer.settings import Settings
from gossamer.telemetry import configure_logs
from standalone.folder import Folder, Opened
from standalone.metrics import Scraped, answer_scrapes

logger = structlog.get_logger()
_spawn = get_context("spawn")


@dataclass(frozen=True)
class ChildConfig:
    """What a child needs to know."""

    settings: Settings
    folder: Folder
    void_through: int
    """The last epoch of earlier runs: orders up to it are void."""
    logs_to_file: bool


def fetcher(config: ChildConfig, opened: Opened, stop: threading.Event) -> None:
    """Run the fetcher until *stop*."""
    from services.fetcher.wiring import Others, alone_since, serve

    log, store, ours = opened.log, opened.store, Others(alone_since(config.void_through + 1))
    run_async(lambda ended: serve(config.settings, log, store, ours, ended), stop)


def parser(config: ChildConfig, opened: Opened, stop: threading.Event) -> None:
    """Run the parser until *stop*."""
    from services.parser.wiring import serve

    run_async(lambda ended: serve(config.settings, opened.log, opened.store, ended), stop)


def processors(config: ChildConfig, opened: Opened, stop: threading.Event) -> None:
    """Run dedup, frontier and archive until *stop*."""
    from standalone.processors import run_processors

    run_processors(config.settings, opened, stop)


# Each of them imports only what it runs: the processes are smaller, and start sooner.
KINDS = {"processors": processors, "fetcher": fetcher, "parser": parser}


class Child:
    """A child process as its parent sees it. It starts at once."""

    def __init__(self, kind: str, config: ChildConfig) -> None:
        self.kind = kind
        self._pipe, theirs = _spawn.Pipe()
        scraping, scraped = _spawn.Pipe()
        self.scraped = Scraped(scraping)
        self._process: BaseProcess = _spawn.Process(
            target=_child, args=(kind, config, theirs, scraped), name=f"gossamer {kind}"
        )
        with _sigint_blocked():
            self._process.start()
        theirs.close()
        scraped.close()

    def failure(self) -> str | None:
        """Return why the child ended; None while it runs."""
        if self._process.is_alive():
            return None
        try:
            return str(self._pipe.recv()) if self._pipe.poll() else self._exit_status()
        except (EOFError, OSError):
            return self._exit_status()

    def _exit_status(self) -> str:
        code = self._process.exitcode or 0
        how = f"was killed by signal {-code}" if code < 0 else f"ended with status {code}"
        return (
            f"the {self.kind} process {how}: run the same command again to go on; nothing is lost"
        )

    def stop(self) -> None:
        """Ask the child to stop in good order."""
        if self._process.is_alive():
            self._process.terminate()

    def kill(self) -> None:
        """Kill the child if it still runs, and wait for its end."""
        self._process.kill()
        self._process.join()

    def join(self, timeout: float) -> bool:
        """Wait up to *timeout* seconds for its end; return whether it has ended."""
        self._process.join(timeout)
        return not self._process.is_alive()


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """Block Ctrl-C here and in what is started meanwhile; ours is delivered afterwards."""
    ensure_running()  # If it started within, it would undo the mask.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _child(kind: str, config: ChildConfig, parent: Connection, scraped: Connection) -> None:
    stop = threading.Event()
    # The terminal sends Ctrl-C to everybody; what to do about it the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    threading.Thread(target=_die_with_parent, args=(parent,), daemon=True).start()
    threading.Thread(target=answer_scrapes, args=(scraped,), daemon=True).start()
    if config.logs_to_file:
        os.dup2(os.open(config.folder.logs, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), 2)
    configure_logs(
        config.settings.logs.json_lines or config.logs_to_file, config.settings.logs.level
    )
    try:
        config.folder.share()
        KINDS[kind](config, config.folder.open(), stop)
    except GossamerError as error:
        _report(parent, str(error))
    except Exception as error:
        logger.exception("unexpected", process=kind)
        _report(
            parent,
            f"the {kind} process met an error that should not happen ({type(error).__name__}: "
            f"{error}); the log tells more. Run the same command again to go on; nothing is lost",
        )


def _report(parent: Connection, why: str) -> None:
    parent.send(why)
    os._exit(1)


def _die_with_parent(parent: Connection) -> None:
    try:
        parent.recv()
    except (EOFError, OSError):
        os._exit(0)
