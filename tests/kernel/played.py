"""A process of a fleet whose servers are a folder: `python -m tests.kernel.played FOLDER KIND`.

A file `absent`, `refused` or `bad` in the folder says what they answer from now on. KIND is the
loop that it runs: machine or job.
"""

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gossamer import clock, process
from gossamer.config import Settings
from gossamer.errors import Absent, BadSettings, GossamerError
from gossamer.events import Event, SeedSown
from gossamer.log import BATCH, Log, Record
from gossamer.log.sqlite import SqliteLog, SqliteReader
from gossamer.process import Place
from gossamer.sqlite import Database
from gossamer.store import Store
from gossamer.store.sqlite import SqliteStore
from gossamer.topics import SEEDS, Topic
from gossamer.worker import Emit, Worker, run_async
from tests.kernel.machines import Sower, discovered

FOLDER = Path(sys.argv[1])
SAID = {
    "absent": Absent("nobody answers at kafka:9092"),
    "refused": GossamerError("the password is wrong"),
    "bad": BadSettings("settings: there is no such keyspace"),
}


def answered() -> None:
    """Answer as the servers do now."""
    for name, error in SAID.items():
        if (FOLDER / name).exists():
            raise error


class Asking(SqliteLog):
    """Asks the servers before every poll."""

    def reader(self, group: str, topics: Sequence[str], store: Store) -> SqliteReader:
        """Return a reader that fails as they do."""
        reader = super().reader(group, topics, store)
        poll = reader.poll

        def asking(timeout: float, most: int = BATCH) -> list[Record]:
            answered()
            return poll(timeout, most)

        reader.poll = asking  # type: ignore[method-assign]
        return reader


@contextmanager
def opened(settings: Settings, member: str) -> Iterator[tuple[Log, Store]]:
    """Open the folder, if the servers let us."""
    answered()
    database = Database(FOLDER / "fleet.db")
    try:
        yield Asking(database), SqliteStore(database)
    finally:
        database.close()


class Job:
    """Answers seeds."""

    name = "dedup"
    reads: tuple[Topic, ...] = (SEEDS,)
    begins_once = False

    def control(self, event: Event) -> None:
        """Nothing to learn."""

    async def work(self, event: Event, emit: Emit) -> None:
        """Answer."""
        assert isinstance(event, SeedSown)
        emit(discovered(event.url, 1.0))


def machine(place: Place) -> None:
    """Run a machine."""
    process.run_machine(place, Sower(place.store))


def job(place: Place) -> None:
    """Run a job."""

    async def work(ended: object) -> None:
        worker = Worker(Job(), place.log, place.store, clock.now, 4, lambda: False)
        await worker.run(ended)  # type: ignore[arg-type]

    run_async(work, place.stop)


def chatty(place: Place) -> None:
    """Use a library that warns, and end."""
    logging.getLogger("asyncio").warning("a library has %s", "something to say")
    logging.getLogger("asyncio").info("chat")
    for attempt in range(100):
        logging.getLogger("somebody.else").error("cannot connect, for the %dth time", attempt)


if __name__ == "__main__":
    process.open_fleet = opened  # type: ignore[assignment,attr-defined]
    sys.exit(process.run("played", {"machine": machine, "job": job, "chatty": chatty}[sys.argv[2]]))
