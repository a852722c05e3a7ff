"""A processor whose work the test finishes, for tests of the concurrent runner."""

import asyncio
from collections.abc import Callable

from gossamer.events import CrawlDefined, DeadLetter, Event, SeedAdded
from gossamer.events.topics import SEEDS, Topic
from gossamer.log import Message
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.processor import Emitter
from gossamer.web.url import Site
from tests.runtime.processors import events, make_discovery


class Manual:
    """Works on each record until the test calls `finish` or `fail` for it."""

    name = "dedup"
    reads: tuple[Topic, ...] = (SEEDS,)
    begins_once = False

    def __init__(self, log: SqliteLog) -> None:
        self.started: list[str] = []
        self.lags: list[int] = []
        self.controls: list[str] = []
        self.most = 0
        self._log = log
        self._open: dict[str, asyncio.Future[None]] = {}

    def control(self, event: Event) -> None:
        """Record the scope. Fail at the scope `broken`."""
        assert isinstance(event, CrawlDefined)
        if event.scope == "broken":
            raise ValueError("cannot be handled")
        self.controls.append(event.scope)

    def announce(self, event: Event, offset: int) -> tuple[Event, ...]:
        return ()

    async def work(self, event: Event, emit: Emitter) -> None:
        assert isinstance(event, SeedAdded)
        self.started.append(event.url)
        self.lags.append(self._log.lag("dedup", "seeds"))
        self._open[event.url] = asyncio.get_running_loop().create_future()
        self.most = max(self.most, len(self._open))
        try:
            await self._open[event.url]
        finally:
            del self._open[event.url]
        emit(make_discovery(Site(event.url), 1.0))

    def finish(self, *urls: str) -> None:
        for url in urls:
            self._open[url].set_result(None)

    def fail(self, url: str, error: Exception) -> None:
        self._open[url].set_exception(error)

    def in_progress(self) -> set[str]:
        return {url for url, future in self._open.items() if not future.done()}


class ManualOnce(Manual):
    """A manual processor of unrepeatable work."""

    begins_once = True


async def until(holds: Callable[[], bool]) -> None:
    """Wait until *condition* holds."""
    async with asyncio.timeout(60):
        while not holds():
            await asyncio.sleep(0.001)


def append_seeds(log: SqliteLog, *urls: str | bytes) -> None:
    """Append seeds to one partition."""
    raw = [url if isinstance(url, bytes) else url.encode() for url in urls]
    log.append(Message("seeds", "k", value, "same place, so in this order") for value in raw)


def emitted_urls(log: SqliteLog) -> list[str]:
    return [event.urls[0].url for event in events(log, "urls.discovered")]  # type: ignore[attr-defined]


def dead_letters(log: SqliteLog) -> list[DeadLetter]:
    return [event for event in events(log, "dead.letters") if isinstance(event, DeadLetter)]


def seed_lag(log: SqliteLog) -> int:
    return log.lag("dedup", "seeds")
