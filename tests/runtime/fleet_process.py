"""A process of a fleet with a folder in place of its servers.

`python -m tests.runtime.fleet_process FOLDER KIND`: a file `absent`, `refused` or `bad` in the
folder makes the servers answer so from then on. KIND is the loop that it runs: `sequential` or
`concurrent`.
"""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gossamer import clock
from gossamer.errors import BadSettings, GossamerError, Unavailable
from gossamer.events import Event, SeedAdded
from gossamer.events.topics import SEEDS, Topic
from gossamer.log import Log, Record
from gossamer.log.sqlite import SqliteLog, SqliteReader
from gossamer.log.throttling import hold_nothing
from gossamer.runtime import process
from gossamer.runtime.concurrent import ConcurrentRunner, run_async
from gossamer.runtime.process import Backends
from gossamer.runtime.processor import Emitter
from gossamer.settings import Settings
from gossamer.sqlite import Database
from gossamer.store import Store
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import Site
from tests.runtime.processors import Discoverer, make_discovery

FOLDER = Path(sys.argv[1])
FAILURES = {
    "absent": Unavailable("nobody answers at kafka:9092"),
    "refused": GossamerError("the password is wrong"),
    "bad": BadSettings("settings: there is no such keyspace"),
}


def answer() -> None:
    """Raise the error that the test has set for the servers."""
    for name, error in FAILURES.items():
        if (FOLDER / name).exists():
            raise error


class AnsweringLog(SqliteLog):
    """Checks the servers before every poll."""

    def reader(self, group: str, topics: Sequence[str], store: Store) -> SqliteReader:
        """Return a reader that fails with the servers."""
        reader = super().reader(group, topics, store)
        poll = reader.poll

        def asking(timeout: float, *how: Any) -> list[Record]:
            answer()
            return poll(timeout, *how)

        reader.poll = asking  # type: ignore[method-assign, assignment]
        return reader


@contextmanager
def open_folder(settings: Settings, member: str) -> Iterator[tuple[Log, Store]]:
    """Open the folder, unless the servers are unavailable."""
    answer()
    database = Database(FOLDER / "fleet.db")
    try:
        yield AnsweringLog(database), SqliteStore(database)
    finally:
        database.close()


class Answering:
    """Handles seeds."""

    name = "dedup"
    reads: tuple[Topic, ...] = (SEEDS,)
    begins_once = False

    def control(self, event: Event) -> None:
        """Ignore control events."""

    def announce(self, event: Event, offset: int) -> tuple[Event, ...]:
        return ()

    async def work(self, event: Event, emit: Emitter) -> None:
        assert isinstance(event, SeedAdded)
        emit(make_discovery(Site(event.url), 1.0))


def sequential(backends: Backends) -> None:
    process.run_processor(backends, Discoverer(backends.store))


def concurrent(backends: Backends) -> None:

    async def work(ended: object) -> None:
        runner = ConcurrentRunner(
            Answering(), backends.log, backends.store, clock.now, 4, hold_nothing
        )
        await runner.run(ended)  # type: ignore[arg-type]

    run_async(work, backends.stop)


def chatty(backends: Backends) -> None:
    """Trigger a library's warning, and end."""
    logging.getLogger("asyncio").warning("a library has %s", "something to say")
    logging.getLogger("asyncio").info("chat")
    for attempt in range(100):
        logging.getLogger("somebody.else").error("cannot connect, for the %dth time", attempt)


KINDS = {"sequential": sequential, "concurrent": concurrent, "chatty": chatty}

if __name__ == "__main__":
    process.open_fleet = open_folder  # type: ignore[assignment,attr-defined]
    sys.exit(process.run("test", KINDS[sys.argv[2]]))
