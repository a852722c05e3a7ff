"""Small processors for tests of the loops, and a process that kills itself."""

import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from gossamer.events import CrawlDefined, Discovery, Event, SeedAdded, UrlsDiscovered
from gossamer.events.topics import SEEDS, Topic
from gossamer.log import Record, Tail
from gossamer.log.codec import decode
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.processor import Processor
from gossamer.runtime.sequential import sequential_loop
from gossamer.sqlite import Database
from gossamer.store import Row, Store
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import Site


class SeenRow(Row, frozen=True):
    """A seed that was handled."""

    table = "seen"
    partition_key = "url"
    url: str


class Discoverer(Processor):
    """Emits a discovery for each seed, stores its URL, and records the calls."""

    name = "dedup"
    reads: ClassVar[tuple[Topic, ...]] = (SEEDS,)

    def __init__(self, store: Store) -> None:
        self.calls: list[str] = []
        self.at: float | None = None
        self._seen = store.table(SeenRow)

    def assign(self, partitions: frozenset[int], now: float) -> None:
        self.calls.append(f"assign {len(partitions)}")

    def handle(self, event: Event, now: float) -> Iterable[Event]:
        match event:
            case CrawlDefined(scope=scope):
                self.calls.append(f"control {scope}")
            case SeedAdded(url=url):
                self.calls.append(f"seed {url}")
                self._seen.put(SeenRow(url))
                yield make_discovery(Site(url), now)

    def due(self) -> float | None:
        return self.at

    def wake(self, now: float, most: int = 0) -> Iterable[Event]:
        self.at = None
        self.calls.append(f"wake {now:g}")
        yield make_discovery(Site("wake"), now)

    def settle(self) -> None:
        self.calls.append("settle")


def make_discovery(url: Site, now: float) -> UrlsDiscovered:
    """Return an event that names *url*."""
    return UrlsDiscovered(at=now, site=url, via="", urls=(Discovery(url),))


def drain(tail: Tail) -> list[Record]:
    """Return all retained records."""
    found: list[Record] = []
    while records := tail.poll(0):
        found += records
    return found


def events(log: SqliteLog, topic: str) -> list[Event]:
    """Return all retained events of *topic*."""
    return [decode(record) for record in drain(log.tail([topic]))]


class Doomed(Discoverer):
    """Kills its own process at a given call of a method."""

    def __init__(self, store: Store, what: str, most: int) -> None:
        super().__init__(store)
        self._what, self._most = what, most

    def _doom(self, what: str) -> None:
        self._most -= what == self._what
        if self._most == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def handle(self, event: Event, now: float) -> Iterable[Event]:
        yield from super().handle(event, now)
        self._doom("handle")

    def settle(self) -> None:
        self._doom("settle")


def main(path: str, what: str, most: str) -> None:
    """Run a doomed processor until it kills the process or has no records left."""
    database = Database(Path(path))
    store = SqliteStore(database)
    runner = sequential_loop(
        Doomed(store, what, int(most)), SqliteLog(database), store, lambda: 1.0
    )
    while runner.step(0.1):
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
