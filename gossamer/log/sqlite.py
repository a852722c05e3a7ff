"""The log in a SQLite file, for a crawl with everything embedded.

A group has one member here, since a standalone crawl runs each service once. Records that all
consumers of their topic have moved past are deleted in the same transaction, and SQLite reuses
their space. Other records are deleted only from topics without a consuming service: superseded
records of a key, and old records of `LIMITED` topics. Offsets and records are in one file. A group
therefore never finds a gap.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from sqlite3 import Connection
from typing import TYPE_CHECKING

from gossamer.events.topics import DEAD_LETTERS, PAGES_ARCHIVED, TOPICS, Retention, topic_named
from gossamer.log import (
    MAX_POLL_RECORDS,
    NO_PARTITIONS,
    At,
    Ends,
    GroupOffsets,
    Headers,
    LagByGroup,
    Message,
    Record,
    blob_in,
)
from gossamer.sqlite import Database
from gossamer.store import Store
from gossamer.telemetry.timing import observe_duration

if TYPE_CHECKING:
    from gossamer.volumes import Volume

PARTITIONS = 4
BATCH_BYTES = 8 << 20

SCHEMA = """
CREATE TABLE IF NOT EXISTS log_records (
    topic TEXT, partition INTEGER, offset INTEGER, key TEXT, value BLOB, headers TEXT,
    PRIMARY KEY (topic, partition, offset)
);
CREATE TABLE IF NOT EXISTS log_ends (
    topic TEXT, partition INTEGER, next INTEGER, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS log_newest (
    topic TEXT, key TEXT, partition INTEGER, offset INTEGER, PRIMARY KEY (topic, key)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS log_cursors (
    "group" TEXT, topic TEXT, partition INTEGER, next INTEGER,
    PRIMARY KEY ("group", topic, partition)
) WITHOUT ROWID;
"""
RESERVE = """
INSERT INTO log_ends VALUES (?, ?, ?)
ON CONFLICT DO UPDATE SET next = next + excluded.next RETURNING next
"""
READ = """
SELECT offset, key, value, headers FROM log_records
WHERE topic = ? AND partition = ? AND offset >= ? ORDER BY offset LIMIT ?
"""
WRITE = "INSERT INTO log_records VALUES (?, ?, ?, ?, ?, ?)"
MOVE = """
INSERT INTO log_cursors VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET next = excluded.next
"""
TRIM = """
DELETE FROM log_records WHERE topic = ? AND partition = ? AND offset < (
    SELECT min(next) FROM log_cursors WHERE topic = ? AND partition = ? AND "group" IN ({})
    HAVING count(*) = {}
)
RETURNING headers
"""
SUPERSEDE = """
DELETE FROM log_records WHERE (topic, partition, offset) IN
(SELECT topic, partition, offset FROM log_newest WHERE topic = ? AND key = ?)
"""
LIMITED = frozenset({DEAD_LETTERS.name, PAGES_ARCHIVED.name})
"""Topics that grow during the whole crawl and that no service consumes."""
LIMIT = "DELETE FROM {} WHERE topic = ? AND partition = ? AND offset < ?"
NEWEST = "INSERT OR REPLACE INTO log_newest VALUES (?, ?, ?, ?)"
CURSORS = 'SELECT topic, partition, next FROM log_cursors WHERE "group" = ?'
STARTS = "SELECT topic, partition, min(offset) FROM log_records GROUP BY topic, partition"
ENDS = "SELECT topic, partition, next FROM log_ends"
OFFSETS = """
SELECT e.partition, e.next, (
    SELECT min(offset) FROM log_records r WHERE r.topic = e.topic AND r.partition = e.partition
) FROM log_ends e WHERE e.topic = ?
"""
LAGS = """
SELECT e.partition, e.next - coalesce(c.next, 0) FROM log_ends e LEFT JOIN log_cursors c
ON c.topic = e.topic AND c.partition = e.partition AND c."group" = ? WHERE e.topic = ?
"""


class SqliteLog:
    """A log in *database*, with the guarantees of `gossamer.log.Log`."""

    partitions = PARTITIONS

    def __init__(
        self,
        database: Database,
        records_limit: int = 0,
        blobs: "Volume | None" = None,
        keeps_consumed: bool = False,
    ) -> None:
        """*records_limit*: maximum number of records of a `LIMITED` topic in each partition, or 0.

        The blobs of deleted records are removed from *blobs*. *keeps_consumed*: whether records
        stay that all groups have consumed.
        """
        self._database, self._records_limit, self.blobs = database, records_limit, blobs
        self.keeps_consumed = keeps_consumed
        with database.transaction() as db:
            for statement in SCHEMA.split(";"):
                db.execute(statement)

    def create_topic(self, topic: str) -> None:
        """Do nothing but check the name, because a topic exists with its first record."""
        topic_named(topic)

    def append(self, messages: Iterable[Message]) -> Ends:
        """Return once every message is durable, with the offset of the last message in each
        partition."""
        by_partition: dict[tuple[str, int], list[Message]] = defaultdict(list)
        for message in messages:
            by_partition[message.topic, message.partition_among(self.partitions)].append(message)
        if not by_partition:
            return {}
        with observe_duration("gossamer_log_append_seconds"), self._database.transaction():
            return {at: self._append(*at, group) for at, group in by_partition.items()}

    def _append(self, topic: str, partition: int, messages: list[Message]) -> int:
        with self._database.transaction() as db:
            (end,) = db.execute(RESERVE, (topic, partition, len(messages))).fetchone()
            start = end - len(messages)
            if topic_named(topic).retention is Retention.NEWEST:
                last = {m.key: (m, start + i) for i, m in enumerate(messages)}
                db.executemany(SUPERSEDE, [(topic, key) for key in last])
                db.executemany(NEWEST, [(topic, k, partition, at) for k, (_, at) in last.items()])
                numbered = [(at, m) for m, at in last.values()]
            else:
                numbered = list(enumerate(messages, start))
            db.executemany(WRITE, [(topic, partition, at, *_columns(m)) for at, m in numbered])
            if self._records_limit and topic in LIMITED:
                for table in ("log_records", "log_newest"):
                    db.execute(LIMIT.format(table), (topic, partition, end - self._records_limit))
        return int(end) - 1

    def reader(self, group: str, topics: Sequence[str], store: Store) -> "SqliteReader":
        """Join *group* as its only member."""
        return SqliteReader(self, self._database, group, topics, store)

    def tail(self, topics: Sequence[str], starts: Mapping[int, int] | None = None) -> "SqliteTail":
        """Read *topics*. See `gossamer.log.Log`."""
        return SqliteTail(self._database, topics, starts)

    def lag(self, group: str, topic: str) -> int:
        """Return the number of records that *group* has not moved past."""
        return sum(self.lag_by_partition(group, topic).values())

    def lag_by_partition(self, group: str, topic: str) -> dict[int, int]:
        """Return the lag of *group* in each partition that has any records."""
        with self._database.reading() as db:
            return dict(db.execute(LAGS, (group, topic)))

    def offsets(self, topic: str) -> dict[int, range]:
        """Return partition → the offsets from the oldest retained record of *topic* to its end."""
        with self._database.reading() as db:
            return {
                number: range(end if start is None else start, end)
                for number, end, start in db.execute(OFFSETS, (topic,))
            }

    def group_offsets(self, group: str, topics: Sequence[str]) -> dict[At, GroupOffsets]:
        """Return the offsets of *group* in each partition of *topics* in which it has committed an
        offset."""
        with self._database.reading() as db:
            ends = {(topic, number): end for topic, number, end in db.execute(ENDS)}
            starts = {(topic, number): at for topic, number, at in db.execute(STARTS)}
            moved = [*db.execute(CURSORS, (group,))]
        return {
            (topic, number): GroupOffsets(
                at, starts.get((topic, number), ends[topic, number]), ends[topic, number]
            )
            for topic, number, at in moved
            if topic in topics
        }

    def move(self, group: str, offsets: Mapping[At, int]) -> None:
        """Set the committed offsets of *group* to *offsets*."""
        with self._database.transaction() as db:
            db.executemany(MOVE, [(group, *at, offset) for at, offset in offsets.items()])

    def lags(self, group: str, topics: Sequence[str]) -> dict[str, int]:
        """Return the lag of *group* on each of *topics*."""
        return {topic: self.lag(group, topic) for topic in topics}

    def lag_by_group(self, topics: Sequence[str]) -> LagByGroup:
        """Return the lag of each group that must consume the records of one of *topics*."""
        return {
            topic: {group: self.lag_by_partition(group, topic) for group in TOPICS[topic].consumers}
            for topic in topics
        }


def _columns(message: Message) -> tuple[str, bytes, str | None]:
    headers = json.dumps(message.headers) if message.headers else None
    return message.key, message.value, headers


def _headers(kept: str | None) -> Headers:
    return tuple((name, value) for name, value in json.loads(kept)) if kept else ()


class SqliteTail:
    """Reads all partitions of some topics, with its position only in memory."""

    def __init__(
        self,
        database: Database,
        topics: Sequence[str],
        starts: Mapping[int, int] | None = None,
    ) -> None:
        self._database, self._topics, self._starts = database, topics, starts
        self._positions: Counter[tuple[str, int]] = Counter()
        if starts:
            with database.reading() as db:
                for topic, number, end in db.execute(ENDS):
                    if topic in topics and starts.get(number, 0) <= end:
                        self._positions[topic, number] = starts.get(number, 0)
        self._version: tuple[int, int] | None = None
        self._paused = NO_PARTITIONS

    def poll(
        self, timeout: float, most: int = MAX_POLL_RECORDS, paused: Set[int] = NO_PARTITIONS
    ) -> list[Record]:
        """Return the next records, at most *most*, of partitions that are not *paused*."""
        if not most:
            return []
        if paused != self._paused:
            self._paused, self._version = frozenset(paused), None
        version = self._database.wait(self._version, timeout)
        if version is None:
            return []
        found = self._read(most)
        if not found:
            # Everything up to *version* was read, so the next record needs another commit.
            self._version = version
        return found

    def find_end(self) -> None:
        """Do nothing, because each poll reads to the end at that time."""

    def _read(self, most: int) -> list[Record]:
        found: list[Record] = []
        with self._database.reading() as db:
            for at in self._behind(db.execute(ENDS)):
                found += self._next(db, at, most - len(found))
        return found

    def _next(self, db: Connection, at: tuple[str, int], most: int) -> Iterator[Record]:
        size = 0
        for offset, key, value, kept in db.execute(READ, (*at, self._positions[at], most)):
            record = Record(*at, offset, key, value, _headers(kept))
            yield record
            self._positions[at] = offset + 1
            size += record.size
            if size > BATCH_BYTES:
                return

    def close(self) -> None:
        """Stop reading. A reader leaves its group."""

    def _behind(self, ends: Iterable[tuple[str, int, int]]) -> list[tuple[str, int]]:
        behind = [
            (topic, partition)
            for topic, partition, end in ends
            if topic in self._topics
            and (self._starts is None or partition in self._starts)
            and partition not in self._paused
            and end > self._positions[topic, partition]
        ]
        return sorted(behind, key=lambda at: not topic_named(at[0]).read_first)


class SqliteReader(SqliteTail):
    """The member of a group: a tail that starts at the committed offsets and can advance."""

    def __init__(
        self, log: SqliteLog, database: Database, group: str, topics: Sequence[str], store: Store
    ) -> None:
        super().__init__(database, topics)
        self.partitions = frozenset(range(log.partitions))
        self._log, self._group, self._store = log, group, store
        with database.reading() as db:
            for topic, partition, start in db.execute(CURSORS, (group,)):
                self._positions[topic, partition] = start

    def advance(self, records: Iterable[Record], messages: Iterable[Message]) -> bool:
        """Flush the store, append *messages* and commit past *records*, in one transaction."""
        ends: Counter[tuple[str, int]] = Counter()
        for record in records:
            at = record.topic, record.partition
            ends[at] = max(ends[at], record.offset + 1)
        with self._database.transaction() as db:
            self._store.flush()
            self._log.append(messages)
            blobs: list[str] = []
            for (topic, partition), end in ends.items():
                db.execute(MOVE, (self._group, topic, partition, end))
                blobs += self._trim(topic, partition)
        # After a crash at this instant, the next run removes these blobs.
        if self._log.blobs and blobs:
            self._log.blobs.remove_all(blobs)
        return True

    def _trim(self, topic: str, partition: int) -> Iterator[str]:
        """Delete consumed records, and yield the names of their blobs."""
        is_kept = topic_named(topic).retention is not Retention.UNTIL_CONSUMED
        if is_kept or self._log.keeps_consumed:
            return
        readers = TOPICS[topic].consumers
        with self._database.transaction() as db:
            names = ", ".join("?" * len(readers))
            trim = TRIM.format(names, len(readers))
            for (kept,) in db.execute(trim, (topic, partition) * 2 + readers).fetchall():
                if blob := blob_in(_headers(kept)):
                    yield blob
