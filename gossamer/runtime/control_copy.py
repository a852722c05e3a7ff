"""A copy of the control topic in the store, so that a lost disk does not cost the blocklist.

Frontiers write it as they read the topic.
"""

from collections.abc import Iterator

from gossamer.events import Event
from gossamer.events.topics import CONTROL
from gossamer.log import Record
from gossamer.log.codec import decode, encode
from gossamer.store import Row, Store


class ControlRow(Row, frozen=True):
    """The newest event of a key of `control`."""

    table = "control"
    partition_key, sort_key = "crawl", "key"

    crawl: str
    key: str
    """The key on the topic: `blocklist_changed/example.org`."""
    value: str
    """The event in JSON."""


def control_row(event: Event) -> ControlRow:
    """Return the row of *event*."""
    message = encode(event)
    return ControlRow(event.crawl, message.key, message.value.decode())


def control_events(store: Store, crawl: str) -> Iterator[Event]:
    """Yield the events of *crawl* in *store*. Raise Poison for an unreadable one."""
    table, after = store.table(ControlRow), None
    while rows := table.scan(crawl, after):
        after = rows[-1].key
        for row in rows:
            yield decode(Record(CONTROL.name, 0, 0, row.key, row.value.encode()))
