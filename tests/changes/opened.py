"""A crawl in memory, and all that was appended to its log."""

from pathlib import Path

from gossamer.events import ChangeRecorded
from gossamer.events.topics import TOPICS
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log import Record
from gossamer.log.codec import decode
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore

START = 1_800_000_000.0


class Opened:
    """An empty crawl in a file below *path*."""

    def __init__(self, path: Path) -> None:
        database = Database(path / "gossamer.db")
        self.log, self.store = SqliteLog(database), SqliteStore(database)
        self.crawl = OpenCrawl("data", self.log, lambda: self.store, database.reading)
        self.appended: list[str] = []
        """The topics of appended messages, in the order of the calls."""
        self.appends: list[set[str]] = []
        """The topics of each call. Kafka may store the messages of a call in any order."""
        append = self.log.append

        def note(messages):  # type: ignore[no-untyped-def]
            messages = list(messages)
            self.appended += [message.topic for message in messages]
            self.appends.append({message.topic for message in messages})
            return append(messages)

        self.log.append = note  # type: ignore[method-assign]

    def records(self, *topics: str) -> list[Record]:
        """Return the retained records of *topics*, or of all topics."""
        found: list[Record] = []
        tail = self.log.tail(topics or [*TOPICS])
        while records := tail.poll(0):
            found += records
        return found

    def audit(self) -> list[ChangeRecorded]:
        """Return the recorded changes."""
        events = map(decode, self.records("audit"))
        return [event for event in events if isinstance(event, ChangeRecorded)]
