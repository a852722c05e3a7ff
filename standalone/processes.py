"""The child processes of a crawl: what each runs, how it is stopped, how it reports its failure.

They are forked before the parent opens a file or starts a thread. So what all of them import is
loaded once, and most of its memory is shared. Each child waits for its configuration. It closes
the pipes of the children before it, since an open copy would hide from them that the parent died.
"""

import gc
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import structlog

from gossamer.errors import GossamerError
from gossamer.runtime.event_loop import run_async
from gossamer.settings import Settings
from gossamer.telemetry import configure_logs
from services.fetcher import wiring as fetcher_wiring
from services.parser import wiring as parser_wiring
from standalone.folder import Folder, Opened
from standalone.metrics import Scraped, answer_scrapes
from standalone.processors import refuse, run_processors

logger = structlog.get_logger()
_fork = get_context("fork")


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
    others = fetcher_wiring.Coordination(fetcher_wiring.fixed_epoch(config.void_through + 1))
    run_async(
        lambda ended: fetcher_wiring.serve(
            config.settings, opened.log, opened.store, others, ended, report=refuse
        ),
        stop,
    )


def parser(config: ChildConfig, opened: Opened, stop: threading.Event) -> None:
    """Run the parser until *stop*."""
    run_async(
        lambda ended: parser_wiring.serve(config.settings, opened.log, opened.store, ended, refuse),
        stop,
    )


def processors(config: ChildConfig, opened: Opened, stop: threading.Event) -> None:
    """Run dedup, frontier and archive until *stop*."""
    run_processors(config.settings, opened, stop)


KINDS = {"processors": processors, "fetcher": fetcher, "parser": parser}


class Child:
    """A child process as its parent sees it. It waits until it may begin."""

    def __init__(self, kind: str, elder: Sequence["Child"]) -> None:
        self.kind = kind
        self._pipe, theirs = _fork.Pipe()
        self._scraping, scraped = _fork.Pipe()
        self.scraped = Scraped(self._scraping)
        # Of all descriptors that it inherits these are the ones that it must not have.
        unwanted = [pipe for child in (*elder, self) for pipe in (child._pipe, child._scraping)]
        self._process: BaseProcess = _fork.Process(
            target=_child, args=(kind, theirs, scraped, unwanted), name=f"gossamer {kind}"
        )
        with _signals_blocked():
            self._process.start()
        theirs.close()
        scraped.close()

    def begin(self, config: ChildConfig) -> None:
        """Let the child work."""
        # One that has died already is noticed by `failure`.
        with suppress(OSError):
            self._pipe.send(config)

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


def start_children() -> list[Child]:
    """Start a child of each kind."""
    # A collection would write to the pages of all objects, which then would not be shared.
    gc.freeze()
    children: list[Child] = []
    for kind in KINDS:
        children.append(Child(kind, children))
    return children


STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Block signals here, and in a child until it has handlers; ours are delivered afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _child(
    kind: str, parent: Connection, scraped: Connection, unwanted: Iterable[Connection]
) -> None:
    stop = threading.Event()
    # The terminal sends Ctrl-C to everybody; what to do about it the parent decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    for pipe in unwanted:
        pipe.close()
    try:
        config: ChildConfig = parent.recv()
    except (EOFError, OSError):
        os._exit(0)
    threading.Thread(target=_die_with_parent, args=(parent,), daemon=True).start()
    threading.Thread(target=answer_scrapes, args=(scraped,), daemon=True).start()
    if config.logs_to_file:
        os.dup2(os.open(config.folder.logs, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), 2)
    configure_logs(
        config.settings.logs.json_lines or config.logs_to_file, config.settings.logs.level
    )
    try:
        config.folder.share()
        KINDS[kind](config, config.folder.open(config.settings.standalone), stop)
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
