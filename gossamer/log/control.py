"""The topic `control`: settings of operators, which every instance reads completely.

The topic carries several kinds of events, listed with their keys in `schemas/topics/control.yaml`.
A key contains the kind and the subject, as in `crawl_defined/default`, so that compaction keeps the
newest event of each. A new kind needs a struct, a line in that file, and a case in `handle` (or
`control`) of the services that act on it. All other services ignore it.

The processes of a fleet are upgraded one by one. An event of an unknown kind or version is
therefore skipped: an older process must neither stop at it nor write a dead letter, since each
instance would write one at each start.

Frontiers copy the topic to the store as they read it (`ControlRow`), so that a lost disk of the log
does not cost the blocklist.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress

import structlog

from gossamer.errors import Poison
from gossamer.events import Event
from gossamer.events.topics import CONTROL
from gossamer.log import Log, Record
from gossamer.log.codec import decode, encode, key_of, why_newer
from gossamer.store import Row, Store

DEFINITION_KEY = "crawl_defined/"
"""The prefix of the keys of definitions; the id of the crawl follows."""

logger = structlog.get_logger()


class ControlTail:
    """The records of the control topic of *log*, old and new. See `gossamer.log.Tail`."""

    def __init__(self, log: Log) -> None:
        self._tail = log.tail([CONTROL.name])
        self._skipped: set[str] = set()

    def poll(self, timeout: float) -> Sequence[Record]:
        """Return the next records, without tombstones and without events of newer versions."""
        while records := self._tail.poll(timeout):
            if found := [record for record in records if record.value and self._knows(record)]:
                return found
        return ()

    def find_end(self) -> None:
        """Note the current end of the topic, which the following polls read before one is empty."""
        self._tail.find_end()

    def close(self) -> None:
        """Stop reading."""
        self._tail.close()

    def _knows(self, record: Record) -> bool:
        # Records without a kind are not from a newer version. Decoding reports their error.
        reason = why_newer(record)
        if reason and reason not in self._skipped:
            self._skipped.add(reason)
            logger.warning("skipped a newer control event", reason=reason, key=record.key)
        return not reason


def newest_events(log: Log) -> dict[str, Event]:
    """Return the current settings of operators: the newest event of each key.

    Unreadable records are omitted, since the services write dead letters for them.
    """
    return {key_of(event): event for event in _events(log)}


def _events(log: Log) -> Iterator[Event]:
    with closing(ControlTail(log)) as tail:
        while records := tail.poll(0):
            for record in records:
                with suppress(Poison):
                    yield decode(record)


class ControlRow(Row, frozen=True):
    """The newest event of a key of `control`."""

    table = "control"
    partition_key, sort_key = "crawl", "key"
    about = ()

    crawl: str
    key: str
    """The key on the topic: `blocklist_changed/example.org`."""
    value: str
    """The event in JSON."""


def control_row(event: Event) -> ControlRow:
    """Return the row of *event*."""
    message = encode(event)
    return ControlRow(event.crawl, message.key, message.value.decode())


def control_events(store: Store) -> Iterator[Event]:
    """Yield the events in *store*, of all crawls. Raise Poison for an unreadable one."""
    for row in store.table(ControlRow).everything():
        yield decode(Record(CONTROL.name, 0, 0, row.key, row.value.encode()))
