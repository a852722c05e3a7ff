"""Child processes of the contract tests, which race with the test or are killed."""

import os
from collections.abc import Callable
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from gossamer.log import Message
from gossamer.store import Row
from tests.contract.backends import BACKENDS, MEMBER, Ports

Say = Callable[[str], None]

# Children are forked from one process that has imported all of this: dozens of them would spend
# more on imports than on what they are started for.
forking = get_context("forkserver")
forking.set_forkserver_preload([__name__])

INPUT, OUTPUT, GROUP = "visits.ordered", "visits.ended", "fetcher"


class Worked(Row, frozen=True):
    """The result for one record of the input."""

    table = "worked"
    partition_key, sort_key = "partition", "offset"
    partition: str
    offset: int
    value: bytes


def append(ports: Ports, say: Say, name: str, batches: int) -> None:
    """Append numbered batches of ten messages over all partitions."""
    numbers = count()
    for _ in range(batches):
        values = [f"{name}-{next(numbers)}" for _ in range(10)]
        ports.log.append(Message(INPUT, v, v.encode(), f"{v}.example") for v in values)


def work(ports: Ports, say: Say) -> None:
    """Handle the input in small steps, and report each step."""
    reader = ports.log.reader(GROUP, [INPUT], ports.store)
    table = ports.store.table(Worked)
    say("begun")
    while ports.log.lag(GROUP, INPUT):
        records = reader.poll(1.0)
        for start in range(0, len(records), 3):
            step = records[start : start + 3]
            for record in step:
                table.put(Worked(str(record.partition), record.offset, record.value))
            output = [Message(OUTPUT, r.key, r.value, r.key) for r in step]
            reader.advance(step, output)
            say("advanced")


def open_only(ports: Ports, say: Say) -> None:
    """Open the data and create a table concurrently with other processes."""
    ports.store.table(Worked)


PARTS: dict[str, Callable[..., None]] = {"append": append, "work": work, "open": open_only}


class Child:
    """A process that plays one of `PARTS` on the data of a backend."""

    def __init__(self, part: str, backend: str, folder: Path, server: str, words: object) -> None:
        self._said, saying = forking.Pipe(duplex=False)
        given = (part, backend, folder, server, words, saying)
        self._process = forking.Process(target=_play, args=given)
        self._process.start()
        saying.close()

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.is_alive()

    def heard(self) -> str:
        """Return the next word that the process prints, or "" at its end."""
        try:
            return str(self._said.recv())
        except EOFError:
            return ""

    def kill(self) -> None:
        """Send SIGKILL, and wait for the end."""
        self._process.kill()
        self._process.join()

    def ended(self) -> int | None:
        """Wait for the end; return the exit status."""
        self._process.join()
        return self._process.exitcode


def _play(
    part: str, backend: str, folder: Path, server: str, words: tuple[object, ...], said: Connection
) -> None:
    # After a crash the next process is the same member, so that no session has to time out.
    os.environ[MEMBER] = part
    PARTS[part](BACKENDS[backend].open(folder, server), said.send, *words)
