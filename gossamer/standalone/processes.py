"""The child processes of a crawl: their start, their stop, and the report of a failure.

They are forked before the parent opens a file or starts a thread, so that imported modules are
loaded once and most memory is shared. Each child waits for its configuration. It closes the pipes
of the children before it: an open copy would hide the end of the parent from them. One child runs
dedup, frontier and archive in turn, on one connection.
"""

import gc
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import structlog

from gossamer import clock
from gossamer.errors import GossamerError
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.log.sqlite import PARTITIONS
from gossamer.log.throttling import Hold, Throttle, hold_nothing
from gossamer.runtime.concurrent import run_async
from gossamer.runtime.loop import Loop
from gossamer.runtime.processor import Processor
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.archive.service import Archive
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.dedup.service import Dedup
from gossamer.services.fetcher import wiring as fetcher_wiring
from gossamer.services.frontier.service import Frontier
from gossamer.services.parser import wiring as parser_wiring
from gossamer.settings import Settings
from gossamer.standalone.metrics import ChildMetrics, answer_scrapes
from gossamer.store import lifetime_of
from gossamer.store.sqlite import SqliteStore
from gossamer.telemetry.logs import configure_logs
from gossamer.web.signing import SignMode

logger = structlog.get_logger()
_fork = get_context("fork")
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
MAX_WAIT_SECONDS = 0.5
"""Seconds between two checks of *stop*, at most."""
MAX_UPLOAD_SECONDS = 25.0
"""Seconds for the last uploads at the end of a run, less than the parent waits."""
PAUSE_SECONDS = 0.05
"""Seconds between two checks of the last uploads."""


@dataclass(frozen=True)
class ChildConfig:
    """The configuration of a child."""

    settings: Settings
    folder: Folder
    last_fenced_epoch: int
    """The last epoch of earlier runs: orders up to it are fenced."""
    logs_to_file: bool


def fetcher(config: ChildConfig, opened: Opened, stop: threading.Event) -> None:
    """Run the fetcher until *stop*."""
    others = fetcher_wiring.Coordination(fetcher_wiring.fixed_epoch(config.last_fenced_epoch + 1))
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


Work = Callable[[ChildConfig, Opened, threading.Event], None]
"""The work of a child until the event is set."""
KINDS: dict[str, Work] = {"processors": processors, "fetcher": fetcher, "parser": parser}
CONTINUE = "run the same command again to continue; nothing is lost"


@dataclass(frozen=True)
class Beside:
    """A server that runs beside the crawl: it ends with the crawl, and not the other way round."""

    kind: str
    work: Work
    listener: socket.socket
    """Where it listens. No other process keeps it open, or clients would wait for a dead server."""


class Child:
    """The parent's side of a child process, which waits for its configuration."""

    def __init__(
        self, kind: str, work: Work, earlier: Sequence["Child"], is_optional: bool = False
    ) -> None:
        """*is_optional*: whether the crawl goes on without the child."""
        self.kind, self.is_optional = kind, is_optional
        remedy = "the crawl goes on" if is_optional else CONTINUE
        self._remedy = remedy
        self._pipe, theirs = _fork.Pipe()
        self._scraping, scraped = _fork.Pipe()
        self.scraped = ChildMetrics(self._scraping)
        # The inherited descriptors that the child must close.
        inherited = [pipe for child in (*earlier, self) for pipe in (child._pipe, child._scraping)]
        self._process: BaseProcess = _fork.Process(
            target=_child,
            args=(kind, work, remedy, theirs, scraped, inherited),
            name=f"gossamer {kind}",
        )
        with _block_signals():
            self._process.start()
        theirs.close()
        scraped.close()

    def configure(self, config: ChildConfig) -> None:
        """Send the configuration; the child starts to work."""
        # `failure` reports a child that has died already.
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
        return f"the {self.kind} process {how}: {self._remedy}"

    def stop(self) -> None:
        """Ask the child to stop in good order."""
        if self._process.is_alive():
            self._process.terminate()

    def kill(self) -> None:
        """Kill the child if it runs, and wait for its end."""
        self._process.kill()
        self._process.join()

    def join(self, timeout: float) -> bool:
        """Wait up to *timeout* seconds for its end; return whether it has ended."""
        self._process.join(timeout)
        return not self._process.is_alive()


def start_children(beside: Beside | None = None) -> list[Child]:
    """Start a child of each kind, and the server *beside* them."""
    # A garbage collection would write to all objects, so their memory would not be shared.
    gc.freeze()
    children: list[Child] = []
    if beside:
        children.append(Child(beside.kind, beside.work, children, is_optional=True))
        # Before the other children inherit it.
        beside.listener.close()
    for kind, work in KINDS.items():
        children.append(Child(kind, work, children))
    return children


@contextmanager
def _block_signals() -> Iterator[None]:
    """Block stop signals in this block, and in a new child until it has handlers."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _child(
    kind: str,
    work: Work,
    remedy: str,
    parent: Connection,
    scraped: Connection,
    inherited: Iterable[Connection],
) -> None:
    stop = threading.Event()
    # The terminal sends Ctrl-C to all processes; only the parent acts on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    for pipe in inherited:
        pipe.close()
    try:
        config: ChildConfig = parent.recv()
    except (EOFError, OSError):
        os._exit(0)
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()
    threading.Thread(target=answer_scrapes, args=(scraped,), daemon=True).start()
    if config.logs_to_file:
        os.dup2(os.open(config.folder.logs, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), 2)
    configure_logs(
        config.settings.logs.json_lines or config.logs_to_file, config.settings.logs.level
    )
    try:
        config.folder.share()
        work(config, config.folder.open(config.settings.standalone), stop)
    except GossamerError as error:
        _report(parent, str(error))
    except Exception as error:
        logger.exception("process ends after an internal error", process=kind)
        _report(
            parent,
            f"the {kind} process failed with an unexpected error ({type(error).__name__}: "
            f"{error}), whose details are in the log: {remedy}",
        )


def _report(parent: Connection, reason: str) -> None:
    parent.send(reason)
    os._exit(1)


def _exit_with_parent(parent: Connection) -> None:
    try:
        parent.recv()
    except (EOFError, OSError):
        os._exit(0)


def run_processors(settings: Settings, opened: Opened, stop: threading.Event) -> None:
    """Run the three processors until *stop*; then complete the archive's files."""
    lifetime = partial(lifetime_of, settings=settings)
    stores = [SqliteStore(opened.database, lifetime) for _ in range(3)]
    fetcher = settings.fetcher
    archive = Archive(
        opened.folder.warc, stores[2], settings.archive, fetcher.contact, fetcher.product
    )
    frontier = Frontier(
        settings.frontier,
        stores[1],
        fetcher.visit_limit,
        PARTITIONS,
        alone=True,
        sign=SignMode(fetcher.sign),
        usual_sitemaps=fetcher.usual_sitemaps,
    )
    dedup = Dedup(
        SeenTable(stores[0]), stores[0], settings.dedup, archive=settings.archive, tests_links=True
    )
    processors: tuple[Processor, ...] = (dedup, frontier, archive)
    holds: tuple[Hold, ...] = (
        Throttle(opened.log, dedup.name).partitions,
        hold_nothing,
        hold_nothing,
    )
    limit = settings.service.step_limit
    loops = [
        sequential_loop(
            processor, opened.log, store, clock.now, clock.JumpDetector(), limit, hold, refuse
        )
        for processor, store, hold in zip(processors, stores, holds, strict=True)
    ]
    version = None
    while not stop.is_set():
        # Read before the steps: records that are appended during them must end the wait.
        version = opened.database.newer_version(version) or version
        if not any([loop.step() for loop in loops]):
            opened.database.wait(version, _wait(loops))
    if settings.archive.volumes:
        _finish_archive(archive, loops[-1])
    archive.close()


def _finish_archive(archive: Archive, loop: Loop) -> None:
    """Complete, upload and publish the last WARC files.

    What is not finished in time, or cannot be uploaded, is left to the next run.
    """
    archive.end()
    until = clock.steady() + MAX_UPLOAD_SECONDS
    while not archive.has_ended and clock.steady() < until:
        if not loop.step():
            clock.pause(PAUSE_SECONDS)


def refuse(reason: str) -> None:
    """End the crawl: in a folder, no other process could upgrade and continue a waiting loop."""
    raise GossamerError(reason)


def _wait(loops: list[Loop]) -> float:
    due = min((at for loop in loops if (at := loop.due()) is not None), default=None)
    return MAX_WAIT_SECONDS if due is None else min(MAX_WAIT_SECONDS, max(0.0, due - clock.now()))
