"""The other processes of the contracts, to be raced against and to be killed."""

import os
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path

from gossamer.log import Message
from gossamer.store import Row
from tests.contract.backends import BACKENDS, MEMBER, Ports

INPUT, OUTPUT, GROUP = "visits.ordered", "visits.ended", "fetcher"


class Worked(Row, frozen=True):
    """What was done with one record of the input."""

    table = "worked"
    partition_key, sort_key = "partition", "offset"
    partition: str
    offset: int
    value: bytes


def append(ports: Ports, name: str, batches: str) -> None:
    """Append batches of ten, each with a number of its own, all over the partitions."""
    numbers = count()
    for _ in range(int(batches)):
        values = [f"{name}-{next(numbers)}" for _ in range(10)]
        ports.log.append(Message(INPUT, v, v.encode(), f"{v}.example") for v in values)


def work(ports: Ports, *_: str) -> None:
    """Work off the input in small steps, saying when each is done, until there is none."""
    reader = ports.log.reader(GROUP, [INPUT], ports.store)
    table = ports.store.table(Worked)
    print("begun", flush=True)
    while ports.log.backlog(GROUP, INPUT):
        records = reader.poll(1.0)
        for start in range(0, len(records), 3):
            step = records[start : start + 3]
            for record in step:
                table.put(Worked(str(record.partition), record.offset, record.value))
            output = [Message(OUTPUT, r.key, r.value, r.key) for r in step]
            reader.advance(step, output)
            print("advanced", flush=True)


def open_only(ports: Ports, *_: str) -> None:
    """Open the data, and make a table, at the same moment as everybody else."""
    ports.store.table(Worked)


PARTS: dict[str, Callable[..., None]] = {"append": append, "work": work, "open": open_only}

if __name__ == "__main__":
    part, backend, folder, server, *words = sys.argv[1:]
    # Whoever takes the part again after a crash is the same member: nobody waits for the dead.
    os.environ[MEMBER] = part
    PARTS[part](BACKENDS[backend].open(Path(folder), server), *words)
