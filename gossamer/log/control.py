"""The control topic: what operators have set, which every instance of every service reads whole.

It carries several kinds of events, listed with their keys in `schemas/topics/control.yaml`: a key
is the kind and what it is about, as in `crawl_defined/default`, so that compaction keeps the newest
of each. A new kind is a struct, a line in that file, and a case in `handle` (or `control`) of the
services that act on it; all others ignore it.

The processes of a fleet are upgraded one by one. So an event whose kind or version is not known
here is skipped: an older process must neither stop at it nor write a dead letter, of which there
would be one from each instance at each start. And definitions that were keyed by the crawl alone
still count: they stay beside the newer ones, and whatever its key, the newer record is read later.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import structlog

from gossamer.errors import Poison
from gossamer.events import Event
from gossamer.events.topics import CONTROL
from gossamer.log import Log, Record
from gossamer.log.codec import decode, key_of, why_newer

logger = structlog.get_logger()


class ControlTail:
    """What is on the topic of *log* and what comes; see `gossamer.log.Tail`."""

    def __init__(self, log: Log) -> None:
        self._tail = log.tail([CONTROL.name])
        self._skipped: set[str] = set()

    def poll(self, timeout: float) -> Sequence[Record]:
        """Return the next records without tombstones and without those of a newer version."""
        while records := self._tail.poll(timeout):
            if found := [record for record in records if record.value and self._knows(record)]:
                return found
        return ()

    def close(self) -> None:
        """Stop reading."""
        self._tail.close()

    def _knows(self, record: Record) -> bool:
        # What names no kind is not a newer version's: whoever decodes it says what is wrong.
        why = why_newer(record)
        if why and why not in self._skipped:
            self._skipped.add(why)
            logger.warning("control event of a newer version skipped", why=why, key=record.key)
        return not why


def in_force(log: Log) -> dict[str, Event]:
    """Return what operators have set by now: the newest event of each key.

    The keys are those that the events have today. What cannot be read is left out: the services
    write its dead letters.
    """
    return {key_of(event): event for event in _events(log)}


def _events(log: Log) -> Iterator[Event]:
    tail = ControlTail(log)
    while records := tail.poll(0):
        for record in records:
            with suppress(Poison):
                yield decode(record)
