"""A member of a group in a process of its own, to be stopped, killed and started again.

It reports JSON lines on standard output: `partitions` whenever they change; `read` (topic,
partition and offset of each record) with `moved` for every batch; `peak`, its memory, at the end. A
member is `eager` and commits all that it reads; or `busy`, and takes a while for it; or `full`, and
only sends heartbeats; or `late`: it reports what it `holds`, and commits it after SIGUSR1; or
`brief`: it ends, as if killed, when it is asked to give up partitions; or `passing`: it stops
itself (SIGSTOP) as soon as its passing member waits for the group. A named one reports when it has
made the group divide its partitions again (`is_complete`). Each reports why it has opened its log
again (`reopened`).
"""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import Any

from confluent_kafka.admin import AdminClient

from gossamer.errors import Unavailable
from gossamer.log import MAX_POLL_RECORDS, Reader
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.reader import KafkaReader
from gossamer.settings.servers import KafkaSettings

ROOT = Path(__file__).resolve().parents[2]
TOPICS = ("urls.admitted", "visits.ended")
STATUS = Path("/proc/self/status")
MAX_FULL_POLLS = 1500
"""Polls without room after which nothing more can be buffered."""
At = tuple[str, int, int]


class Nothing:
    """A store without tables."""

    def flush(self) -> None:
        """Do nothing."""


class Member:
    """The test's side of such a process."""

    def __init__(self, settings: KafkaSettings, group: str, name: str = "", how: str = "eager"):
        command = [sys.executable, "-m", __name__, settings.model_dump_json(), group, name, how]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self.reports: list[dict[str, Any]] = []
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.reports.append(json.loads(line))

    @property
    def partitions(self) -> frozenset[int]:
        """Return the partitions that it reported last."""
        changes = [what["partitions"] for what in self.reports if "partitions" in what]
        return frozenset(changes[-1]) if changes else frozenset()

    @property
    def changes(self) -> int:
        """Return how often its partitions changed."""
        return sum("partitions" in what for what in self.reports)

    @property
    def moved(self) -> list[At]:
        """Return the records that it has read and committed, in order."""
        return [at for what in self.reports if what.get("moved") for at in map(tuple, what["read"])]

    @property
    def is_complete(self) -> bool:
        """Return whether the group has divided its partitions since this member joined."""
        return any("is_complete" in what for what in self.reports)

    @property
    def was_fenced(self) -> bool:
        """Return whether one of its commits was refused."""
        return any(what.get("moved") is False for what in self.reports)

    def send(self, signal_: int) -> None:
        """Send it a signal."""
        self.process.send_signal(signal_)

    def end(self, signal_: int = signal.SIGTERM) -> int:
        """Stop it, and read its last reports; return its exit status."""
        self.send(signal_)
        status = self.process.wait(60)
        self._listener.join(60)
        if self.process.stdout:
            self.process.stdout.close()
        return status


def say(**what: Any) -> None:
    """Report to the test."""
    print(json.dumps(what), flush=True)


def peak() -> int:
    """Return the largest memory of this process; getrusage would include the parent's memory before
    the fork."""
    (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


def main(settings: str, group: str, name: str, how: str) -> None:
    """Be a member until SIGTERM. After a temporary error, join again, as every service does."""
    running = [True]
    if how == "brief":
        KafkaReader._on_revoke = lambda *_: os._exit(0)  # type: ignore[method-assign]
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    signal.signal(signal.SIGTERM, lambda *_: running.clear())
    while running:
        with closing(KafkaLog(KafkaSettings.model_validate_json(settings), name)) as log:
            try:
                be_member(log.reader(group, TOPICS, Nothing()), how, running)  # type: ignore[arg-type]
            except Unavailable as error:
                print(f"{name}: {error}", file=sys.stderr)
                say(reopened=str(error))
    say(peak=peak())


def be_member(reader: Reader, how: str, running: list[bool]) -> None:
    """Read in the way *how* while *running*."""
    partitions: frozenset[int] = frozenset()
    polls, is_complete = 0, False
    while running:
        records = reader.poll(0.1, 0 if how == "full" else MAX_POLL_RECORDS)
        if how == "passing" and isinstance(reader, KafkaReader) and reader._passing.is_inside:
            stop_while_joining(reader)
            how = "eager"
        if reader.partitions != partitions:
            partitions = reader.partitions
            say(partitions=sorted(partitions))
        if isinstance(reader, KafkaReader) and reader._is_complete and not is_complete:
            is_complete = True
            say(is_complete=True)
        if records and how == "late":
            say(holds=len(records))
            signal.sigwait([signal.SIGUSR1])
        if records and how == "busy":
            time.sleep(0.2)
        if records:
            moved = reader.advance(records, ())
            say(read=[[r.topic, r.partition, r.offset] for r in records], moved=moved)
        elif how == "full":
            polls += 1
            if polls == MAX_FULL_POLLS:
                say(polls=polls)
            time.sleep(0.002)


def stop_while_joining(reader: KafkaReader) -> None:
    """Stop this process as soon as its passing member is in the group, beside it and another."""
    admin = AdminClient({"bootstrap.servers": reader._settings.servers})
    name = reader._gaps._group
    while len(admin.describe_consumer_groups([name])[name].result().members) < 3:
        pass
    os.kill(os.getpid(), signal.SIGSTOP)


if __name__ == "__main__":
    main(*sys.argv[1:])
