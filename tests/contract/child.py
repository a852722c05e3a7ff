"""Other processes for the contracts: they race with the test, or are killed by it."""

import os
from collections.abc import Callable
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from gossamer.log import Message
from gossamer.store import Row
from tests.contract.backends import BACKENDS, MEMBER, Ports

Report = Callable[[str], None]

# Children are forked from a process that has imported everything: dozens of them would spend more
# time on imports than on their work.
forking = get_context("forkserver")
forking.set_forkserver_preload([__name__])

INPUT, OUTPUT, GROUP = "visits.ordered", "visits.ended", "fetcher"


class ProcessedRow(Row, frozen=True):
    """The result for one record of the input."""

    table = "worked"
    partition_key, sort_key = "partition", "offset"
    partition: str
    offset: int
    value: bytes


def append(ports: Ports, report: Report, name: str, batches: int) -> None:
    """Append batches of ten messages with consecutive numbers, spread over the partitions."""
    numbers = count()
    for _ in range(batches):
        values = [f"{name}-{next(numbers)}" for _ in range(10)]
        ports.log.append(Message(INPUT, v, v.encode(), f"{v}.example") for v in values)


def process_input(ports: Ports, report: Report) -> None:
    """Process all of the input in small steps, and report each step."""
    reader = ports.log.reader(GROUP, [INPUT], ports.store)
    table = ports.store.table(ProcessedRow)
    report("begun")
    while ports.log.lag(GROUP, INPUT):
        records = reader.poll(1.0)
        for start in range(0, len(records), 3):
            step = records[start : start + 3]
            for record in step:
                table.put(ProcessedRow(str(record.partition), record.offset, record.value))
            output = [Message(OUTPUT, r.key, r.value, r.key) for r in step]
            reader.advance(step, output)
            report("advanced")


def open_only(ports: Ports, report: Report) -> None:
    """Open the data and create a table, at the same moment as other processes."""
    ports.store.table(ProcessedRow)


PARTS: dict[str, Callable[..., None]] = {"append": append, "work": process_input, "open": open_only}


class Child:
    """A process that runs one of `PARTS` on the data of a backend."""

    def __init__(self, part: str, backend: str, folder: Path, server: str, words: object) -> None:
        self._reports, sender = forking.Pipe(duplex=False)
        arguments = (part, backend, folder, server, words, sender)
        self._process = forking.Process(target=_play, args=arguments)
        self._process.start()
        sender.close()

    @property
    def running(self) -> bool:
        return self._process.is_alive()

    def receive(self) -> str:
        """Wait for the next message of the process; return "" if the process ended without one."""
        try:
            return str(self._reports.recv())
        except EOFError:
            return ""

    def kill(self) -> None:
        self._process.kill()
        self._process.join()

    def exit_status(self) -> int | None:
        """Wait for the process; return its exit status."""
        self._process.join()
        return self._process.exitcode


def _play(
    part: str,
    backend: str,
    folder: Path,
    server: str,
    words: tuple[object, ...],
    sender: Connection,
) -> None:
    # A process that plays the part again after a crash keeps its name as a member, so that no
    # session has to expire.
    os.environ[MEMBER] = part
    PARTS[part](BACKENDS[backend].open(folder, server), sender.send, *words)
