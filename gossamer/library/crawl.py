"""A crawl in a folder: runs it, and yields its pages as they are published."""

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from gossamer.library.answers import Status
from gossamer.library.options import (
    canonical_seeds,
    check_settings,
    given_arguments,
    variables_of,
    words_of,
)
from gossamer.library.pages import Page
from gossamer.library.place import Place
from gossamer.library.process import CrawlError, RunningCrawl, translate_errors
from gossamer.library.progress import progress_for

if TYPE_CHECKING:
    from gossamer.log import Record
    from gossamer.log.sqlite import SqliteLog, SqliteTail

DATABASE = "gossamer.db"
POLL = 0.25
"""Seconds between two looks at the process, and for the folder of a new crawl."""


class Crawl(Place):
    """A crawl in a folder on this machine.

    `run` and `stream` crawl and yield the pages, `wait` only crawls. All of them continue what an
    earlier run has left. One run of a folder at a time; other methods work during a run, too, and
    from other threads.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str] = "gossamer-data",
        *,
        contact: str | None = None,
        seeds: str | Iterable[str] = (),
        scope: str | None = None,
        depth: int | None = None,
        max_pages: int | None = None,
        max_time: float | str | timedelta | None = None,
        delay: float | None = None,
        rules: str | os.PathLike[str] | None = None,
        rules_strict: bool = False,
        profile: str | None = None,
        revisit: str | None = None,
        budget: float | None = None,
        discovery_share: float | None = None,
        external_links: str | None = None,
        relevant: str | None = None,
        follow_irrelevant: bool | None = None,
        strategy: str | None = None,
        purposes: str | Iterable[str] | None = None,
        usage_disallowed: str | None = None,
        usage_unknown: str | None = None,
        no_text: bool | None = None,
        allow_network: str | Iterable[str] | None = None,
        nameserver: str | None = None,
        metrics_port: int | None = None,
        console: bool | int | None = None,
        crawl: str | None = None,
        config: str | os.PathLike[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        quiet: bool = False,
    ) -> None:
        """Name a crawl; nothing is requested or written before it runs.

        Each argument is the option of `gossamer crawl` with its name; None leaves the option out. A
        crawl that is continued keeps what is not given. `contact` is your e-mail address or Web
        page: nothing is fetched without it.

        *settings*: further settings by name, as `{"parser.markdown": True}` (see the page
        Configuration). *quiet*: show no progress. *console*: True, or a port.

        Raise TypeError or ValueError that names a wrong argument.
        """
        arguments = given_arguments(locals())
        words = words_of(arguments)
        check_settings(arguments, settings or {})
        self.folder = Path(folder)
        """The folder of the crawl."""
        place = [f"--data={self.folder}", *words_of({"config": config})]
        super().__init__(place, variables_of(settings or {}), crawl, self.folder)
        self._run_words = [f"--data={self.folder}", *words]
        self._seeds, self._quiet = canonical_seeds(seeds), quiet
        self._running: RunningCrawl | None = None
        self._lock = threading.Lock()
        self._tail: SqliteTail | None = None
        self._unread: deque[Page] = deque()
        """Pages of the last poll that were not yielded yet."""
        self._log: SqliteLog | None = None
        self._crawl_topic: tuple[str, str] | None = None

    def __repr__(self) -> str:
        return f"Crawl({str(self.folder)!r})"

    def run(self) -> Generator[Page, None, None]:
        """Crawl, and yield each page as soon as it is published.

        Every page of the folder is yielded once by this object: first those of earlier runs, and a
        newer version of a page again. A second call yields what the first has not. The crawl ends
        when there is nothing more to visit, or at its limits. If the loop is left, or interrupted,
        visits in flight are completed before the loop is; another call continues.

        Raise ValueError or CrawlError with the message of the program if it fails.
        """
        with self._start_process() as running, translate_errors():
            progress = progress_for(self._quiet)
            while True:
                # Asked first: a page that is published before the end is read after it.
                has_ended = running.has_ended()
                self._poll(0.0 if has_ended else POLL)
                is_complete = has_ended and not self._unread
                while self._unread:
                    yield self._unread.popleft()
                progress.show(running.line)
                if is_complete:
                    break
            running.check()

    async def stream(self) -> AsyncGenerator[Page, None]:
        """Crawl, and yield each page as soon as it is published, in a running event loop.

        It is `run` in a thread of its own. A loop that is left closes it at the next turn of the
        event loop; `contextlib.aclosing` closes it at once.
        """
        loop, steps, executor = asyncio.get_running_loop(), self.run(), ThreadPoolExecutor(1)
        step: Future[Page | None] | None = None

        def close() -> None:
            steps.close()
            if step and not step.cancelled() and not step.exception() and (page := step.result()):
                # It came after the loop was cancelled.
                self._unread.appendleft(page)

        try:
            while page := await asyncio.wrap_future(step := executor.submit(next, steps, None)):
                step = None
                yield page
        finally:
            # After the step that runs in the thread, which takes POLL seconds at most.
            closed = loop.run_in_executor(executor, close)
            executor.shutdown(wait=False)
            await asyncio.shield(closed)

    def wait(self) -> Status:
        """Crawl to the end, or wait for the end of a run of this object in another thread; return
        the status. Pages are left to `run` and `pages`."""
        if running := self._running:
            while running.is_alive():
                time.sleep(POLL)
            return self.status()
        with self._start_process() as running:
            progress, has_ended = progress_for(self._quiet), False
            while not has_ended:
                time.sleep(POLL)
                has_ended = running.has_ended()
                progress.show(running.line)
            running.check()
        return self.status()

    @contextmanager
    def _start_process(self) -> Iterator[RunningCrawl]:
        """Start the process, and stop it at the end of the block."""
        if not self._lock.acquire(blocking=False):
            raise CrawlError(f"a run of {self!r} is under way: leave its loop, or wait() for it")
        try:
            with TemporaryDirectory() as folder:
                words = [*self._run_words]
                if self._seeds:
                    # Too many for a command line.
                    file = Path(folder) / "seeds.txt"
                    file.write_text("\n".join(self._seeds), encoding="utf-8")
                    words.append(f"--seeds={file}")
                if not (self.folder / DATABASE).exists():
                    self._forget_folder()
                self._running = running = RunningCrawl(words, self._variables)
                try:
                    yield running
                finally:
                    self._running = None
                    running.stop()
        finally:
            self._lock.release()

    def _poll(self, timeout: float) -> None:
        """Read the next pages, if there are some within *timeout* seconds."""
        if self._tail is None and (self.folder / DATABASE).exists() and (topic := self._topic()):
            self._tail = self._open_log().tail([topic[1]])
        if self._tail is None:
            time.sleep(timeout)
        else:
            self._unread.extend(self._pages_of(self._tail.poll(timeout)))

    def _read_pages(self) -> Iterator[Page]:
        """Yield the newest version of each page, from the file instead of a command."""
        from gossamer.log import read_topic

        with translate_errors():
            if topic := self._topic(is_expected=True):
                yield from self._pages_of(read_topic(self._open_log(), topic[1]))

    def _pages_of(self, records: Iterable["Record"]) -> Iterator[Page]:
        from gossamer.events import Page as Document
        from gossamer.log.codec import crawl_of, decode

        topic = self._topic()
        for record in records:
            # A record without a value says that a page is gone.
            if record.value and topic and crawl_of(record) == topic[0]:
                document = decode(record)
                assert isinstance(document, Document)
                yield Page(document, self._archive)

    def _topic(self, is_expected: bool = False) -> tuple[str, str] | None:
        """Return the id of the crawl and the topic with its pages; None before it is defined.

        Raise BadSettings if the folder has several crawls, and none is named, or if the named one
        *is_expected* and the folder has others only.
        """
        from gossamer.crawl import choose_crawl, definitions_of
        from gossamer.events.topics import topic_of_pages

        if self._crawl_topic is None:
            definitions = definitions_of(self._open_log())
            if definitions and (self._id is None or self._id in definitions or is_expected):
                name = choose_crawl(definitions, self._id, str(self.folder))
                self._crawl_topic = name, topic_of_pages(definitions[name])
        return self._crawl_topic

    def _open_log(self) -> "SqliteLog":
        from gossamer.log.sqlite import SqliteLog
        from gossamer.sqlite import Database

        if self._log is None:
            file = self.folder / DATABASE
            if not file.exists():
                raise CrawlError(f"{self.folder} has no crawl yet: run() starts one")
            self._log = SqliteLog(Database(file, create=False))
        return self._log

    def _forget_folder(self) -> None:
        """Forget a folder that was removed, and its pages."""
        self._close_archive()
        self._unread.clear()
        self._tail = self._log = self._crawl_topic = None
