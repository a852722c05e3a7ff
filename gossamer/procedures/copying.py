"""A copy of a crawl's state from one log and store to others, or within one log and store.

A procedure says what differs: the tables and topics, and how each row and each record changes on
the way. The walk is the same for all: one table or topic after another, in batches, with one flush
or append for each batch. Memory therefore does not grow with the crawl.

**Within one log and store**, a copy only writes what changes: an unchanged row or record stays, a
row without a result is erased, and of the URL-seen set only sites in another partition are copied.

Only the URL-seen set has two forms: it is a table of a folder, and the changelog `urls.seen` of a
fleet. Everything else goes through the two ports, whatever implements them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from itertools import islice
from typing import Any, TypeVar

from msgspec.structs import replace

from gossamer.events import FleetBegun, UrlsSeen
from gossamer.events.topics import CONTROL, TOPICS
from gossamer.log import Log, Message, Record, partition_of
from gossamer.log.codec import encode
from gossamer.runtime.identity import IdentityRow, identity_rows
from gossamer.services.dedup.replicated import changes_of, read_valid_changes
from gossamer.services.dedup.seen import SeenRow
from gossamer.services.dedup.service import Dedup
from gossamer.store import Row, Store, keys_of
from gossamer.store.claims import Claimant

T = TypeVar("T")
BATCH_SIZE = 1000
"""Rows of one flush, and events of one append."""
RowChange = Callable[[Any], Row | None]
"""Returns the row to write; None to leave the row out."""
RecordChange = Callable[[Record], Message | None]
"""Returns the message to append; None to leave the record out."""


@dataclass(frozen=True)
class Side:
    """The source or the target of a copy."""

    name: str
    """Its name in messages."""
    log: Log
    store: Store
    is_folder: bool
    """Whether the URL-seen set is a table of the store, and not on the topic `urls.seen`."""
    partitions: int
    """The number of partitions among which the crawl's sites are divided."""


def claim_partitions(store: Store, partitions: int, now: float) -> int:
    """Claim all partitions for dedup and for the frontier, so that no former owner can write;
    return the epoch of dedup."""
    epoch = Claimant(store, Dedup.name).claim(range(partitions), now)
    # The last claimant guards all writes that follow, most of which are rows of the frontier.
    Claimant(store).claim(range(partitions), now)
    return epoch


def write_identity(store: Store, event: FleetBegun) -> None:
    """Write the identity of *event* to *store*."""
    for row in identity_rows(event):
        store.table(IdentityRow).put(row)
    store.flush()


@dataclass(frozen=True)
class Copy:
    """A copy from *source* to *target*, which may be one log and one store."""

    source: Side
    target: Side
    rows: Mapping[type[Row], RowChange] = field(default_factory=dict)
    """The copied tables, and the change of each row."""
    records: Mapping[str, RecordChange] = field(default_factory=dict)
    """The copied topics, and the change of each record."""

    @property
    def _is_within(self) -> bool:
        return self.source.log is self.target.log

    def copy_rows(self, is_dry: bool = False) -> Iterator[tuple[str, int]]:
        """Copy the rows of each table; yield its name and the number of written or erased rows.

        A dry run only counts them. Tables without such rows are not yielded.
        """
        for kind, change in self.rows.items():
            count, table = 0, self.target.store.table(kind)
            for rows in _batches(self.source.store.table(kind).everything()):
                for row in rows:
                    copied = change(row)
                    if copied is (row if self._is_within else None):
                        continue
                    count += 1
                    if is_dry:
                        continue
                    if copied is None:
                        table.erase(*keys_of(row))
                    else:
                        table.put(copied)
                self.target.store.flush()
            if count:
                yield kind.table, count

    def copy_records(self, is_dry: bool = False) -> Iterator[tuple[str, int]]:
        """Copy the records of each topic; yield its name and the number of appended messages.

        A dry run only counts them. Topics without such records are not yielded.
        """
        for topic, change in self.records.items():
            count = 0
            with closing(self.source.log.tail([topic])) as tail:
                while records := tail.poll(0):
                    messages = [one for record in records if (one := change(record))]
                    if not is_dry:
                        self.target.log.append(messages)
                    count += len(messages)
            if count:
                yield topic, count

    def copy_seen(self, epoch: int, now: float) -> Iterator[UrlsSeen]:
        """Copy the URL-seen set; yield each change of it that was written.

        *epoch* is newer than all epochs in the target's changelog.
        """
        yield from write_seen(self.target, self._changes_of_seen(), epoch, now)

    def _changes_of_seen(self) -> Iterator[UrlsSeen]:
        if self.source.is_folder:
            yield from changes_of(self.source.store.table(SeenRow).everything())
            return
        for changes in read_valid_changes(self.source.log, self.source.partitions):
            for number, change in changes:
                # A site that was in another partition before has its former changes there, too.
                is_home = number == partition_of(change.site, self.source.partitions)
                stays = number == partition_of(change.site, self.target.partitions)
                if is_home and not (stays and self._is_within):
                    yield change

    def is_target_empty(self) -> bool:
        """Return whether *target* has no rows in the copied tables, and no records but settings."""
        with closing(self.target.log.tail([one for one in TOPICS if one != CONTROL.name])) as tail:
            if tail.poll(0):
                return False
        tables = map(self.target.store.table, self._tables_of_target())
        return not any(True for table in tables for _ in table.everything())

    def clear_target(self) -> None:
        """Drop all rows of *target* in the copied tables."""
        for kind in self._tables_of_target():
            table = self.target.store.table(kind)
            for rows in _batches(table.everything()):
                for partition in {keys_of(row)[0] for row in rows}:
                    table.drop(partition)
                self.target.store.flush()

    def _tables_of_target(self) -> Iterator[type[Row]]:
        yield from self.rows
        if self.target.is_folder:
            yield SeenRow


def write_seen(
    target: Side, changes: Iterable[UrlsSeen], epoch: int, now: float
) -> Iterator[UrlsSeen]:
    """Apply *changes* to the URL-seen set of *target*; yield each one that was written.

    *epoch* is newer than all epochs in its changelog.
    """
    for some in _batches(changes):
        if target.is_folder:
            _write_table(target.store, some)
        else:
            target.log.append(
                replaced(
                    encode(replace(change, epoch=epoch, at=now)),
                    partition=partition_of(change.site, target.partitions),
                )
                for change in some
            )
        yield from some


def _write_table(store: Store, changes: Iterable[UrlsSeen]) -> None:
    table = store.table(SeenRow)
    for change in changes:
        if change.dropped:
            table.drop((change.crawl, change.site))
        for url in map(bytes.fromhex, change.urls):
            if change.erased:
                table.erase((change.crawl, change.site), url)
            else:
                finder = bytes.fromhex(change.finder)
                table.put(SeenRow(change.crawl, change.site, url, finder))
    store.flush()


def _batches(items: Iterable[T]) -> Iterator[list[T]]:
    remaining = iter(items)
    while batch := [*islice(remaining, BATCH_SIZE)]:
        yield batch
