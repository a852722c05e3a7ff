"""The calendar: URLs to try again and blocked hosts, by the time at which they are due.

They wait in due-time buckets in the store; memory holds those of the next hour, however many there
are. A bucket is dropped whole when its time is over. After a crash an entry may be due twice: its
reader must check it against the row of the URL or host.
"""

from collections.abc import Iterator
from heapq import heappop, heappush

from msgspec.structs import replace

from gossamer.store import Table
from services.frontier.rows import DueRow, PartitionRow

BUCKET = 600.0
AHEAD = 7
"""Buckets held in memory, with the current one."""
AT_A_TIME = 20
"""Buckets that are loaded in one step of the log."""

Entry = tuple[float, str, DueRow]


class Calendar:
    """The calendar of one partition."""

    def __init__(self, partition: PartitionRow, entries: Table[DueRow], now: float) -> None:
        self._entries = entries
        self._partition = partition.partition
        self._loaded: list[Entry] = []
        self.first_bucket = _bucket(now) if partition.due_bucket < 0 else partition.due_bucket
        self.last_bucket = partition.last_due_bucket
        self._horizon = self.first_bucket
        self._load(now)

    def add(self, at: float, site: str, host: str, url: str = "") -> None:
        """Bring *url*, or the host itself, back at *at*."""
        bucket = _bucket(at)
        # Sooner than the first where the clock was ahead.
        self.first_bucket = min(self.first_bucket, bucket)
        self.last_bucket = max(self.last_bucket, bucket)
        key = f"{at:017.3f} {host} {url}"
        row = DueRow(self._key(bucket), key, at, site, host, url)
        self._entries.put(row)
        if bucket < self._horizon:
            heappush(self._loaded, (at, key, row))

    def due(self) -> float | None:
        """Return when the next entry is due, or the next bucket must be loaded; None if neither."""
        if self._loaded:
            return self._loaded[0][0]
        if self.last_bucket >= self._horizon:
            return (self._horizon - AHEAD + 1) * BUCKET
        return None

    def next_entry(self) -> float:
        """Return when the next entry is due, if that is within the hour; else 0."""
        return self._loaded[0][0] if self._loaded else 0.0

    def take(self, now: float, most: int) -> list[DueRow]:
        """Remove and return what is due, oldest first, at most *most*."""
        if not self._loaded or self._loaded[0][0] > now:
            self._load(now)
        taken: list[DueRow] = []
        while self._loaded and self._loaded[0][0] <= now and len(taken) < most:
            taken.append(heappop(self._loaded)[2])
        over = min(_bucket(now), self._horizon)
        if self._loaded:
            over = min(over, _bucket(self._loaded[0][0]))
        for bucket in self._from(self.first_bucket, over):
            self._entries.drop(self._key(bucket))
        self.first_bucket = max(self.first_bucket, over)
        return taken

    def _load(self, now: float) -> None:
        ahead = _bucket(now) + AHEAD
        # Not all that was due while nobody was there at once: the next ones when these are taken.
        for bucket in self._from(self._horizon, min(ahead, self._horizon + AT_A_TIME)):
            self._horizon = bucket + 1
            after: str | None = None
            while rows := self._entries.scan(self._key(bucket), after):
                for row in rows:
                    heappush(self._loaded, (row.at, row.key, row))
                after = rows[-1].key
        if self._horizon > self.last_bucket:
            self._horizon = max(self._horizon, ahead)

    def _from(self, first: int, end: int) -> range:
        # Beyond the last there is nothing, however far ahead a clock is.
        return range(first, min(end, self.last_bucket + 1))

    def written(self, partition: PartitionRow) -> PartitionRow:
        """Return *partition* with the buckets in which the calendar begins and ends."""
        return replace(partition, due_bucket=self.first_bucket, last_due_bucket=self.last_bucket)

    def _key(self, bucket: int) -> str:
        return _key(self._partition, bucket)


def entries(partition: PartitionRow, table: Table[DueRow]) -> Iterator[DueRow]:
    """Yield what is in the calendar of *partition*, the soonest first; some may have been taken."""
    for bucket in range(partition.due_bucket, partition.last_due_bucket + 1):
        after: str | None = None
        while rows := table.scan(_key(partition.partition, bucket), after):
            yield from rows
            after = rows[-1].key


def _key(partition: str, bucket: int) -> str:
    return f"{partition}/{bucket}"


def _bucket(at: float) -> int:
    return int(at // BUCKET)
