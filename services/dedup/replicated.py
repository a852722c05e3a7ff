"""The URL-seen set of an instance of a fleet: a table on its disk, and a changelog on the log.

Each new URL is appended to the topic `urls.seen`, in the partition of its site, before its
admission is appended. It is written to the disk once the log has it. The disk stores a *checkpoint*
for each partition: the offset up to which it has the changelog.

An instance that takes over a partition appends a marker with its epoch to the changelog, and reads
from the checkpoint up to that marker. Meanwhile the instance handles the records of its other
partitions. From the marker on the changelog has one writer: late records of a
former owner have an older epoch, and every reader ignores them. So all instances that read a
partition's changelog have the same table.

The checkpoint has the digest of the record at its offset. If the changelog has another record
there, or none, the topic was recreated or truncated, and the disk has URLs that the changelog
lacks. Then the changelog is read from its beginning, and the table is published into it.

With volumes of the archive, an owner regularly stores a copy of each partition there. A new owner
whose disk lacks many records takes the copy first, and reads from its checkpoint (`copies`).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from itertools import groupby, islice
from math import ceil
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
import structlog

from gossamer.clock import Clock
from gossamer.errors import GossamerError, Poison
from gossamer.events import UrlsSeen
from gossamer.events.topics import URLS_SEEN
from gossamer.log import Log, Message, Record, Tail, partition_of
from gossamer.log.codec import decode, encode
from gossamer.services.dedup.copies import (
    COPY_INTERVAL,
    COPY_RECORDS,
    NO_CHECKPOINT,
    Checkpoint,
    Copies,
    Fetched,
    Target,
    digest_of,
)
from gossamer.services.dedup.seen import Finding, SeenRow, SeenSet
from gossamer.telemetry import set_gauge
from gossamer.web.url import Site

POLL_TIMEOUT = 0.1
"""Seconds that one poll of the changelog waits."""
EVENTS_PER_BATCH = 200
"""Events that are published together."""
URLS_PER_EVENT = 1000
"""Maximum number of URLs in a published event."""

logger = structlog.get_logger()


class Disk(Protocol):
    """A durable sorted map."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the value of each of *keys*, or None."""

    def write(self, rows: Mapping[bytes, bytes | None], dropped: Iterable[bytes] = ()) -> None:
        """Remove all keys that begin with one of *dropped*, and then write *rows*, atomically.

        The value None removes a key. No prefix in *dropped* ends with the byte 255.
        """

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys that begin with *prefix* and their values, in the order of the keys."""

    def take_copy(self, prefix: bytes) -> Callable[[Path], None]:
        """Return a function that writes the present keys with *prefix*, and their values, to a
        file. Another thread may call it; later writes do not change the copy."""

    def load_copy(self, prefix: bytes, path: Path) -> None:
        """Replace all keys with *prefix* by those in the file *path*, which is removed.

        After a crash, or with a GossamerError, there may be no keys with *prefix*.
        """


@dataclass
class Partition:
    """A partition that is assigned to this instance."""

    epoch: int
    marker: int | None = None
    """The offset of the record with our epoch, up to which the changelog is read."""
    checkpoint: Checkpoint = NO_CHECKPOINT
    is_checked: bool = True
    """Whether the record at the checkpoint was compared with the changelog."""
    must_publish: bool = False
    """Whether the changelog lacks URLs of the table."""
    is_complete: bool = False
    """Whether the table has all URLs of the changelog."""
    is_fetching: bool = False
    """Whether a copy is being fetched, so that the changelog is not read yet."""
    is_fenced: bool = False
    """Whether another owner has appended to the changelog, so that the table has URLs that other
    readers ignore."""
    copied_at: float = 0.0
    """When the last copy was begun, or the partition was taken over."""
    copied_offset: int = -1
    """The offset that the table had at `copied_at`."""

    @property
    def is_restored(self) -> bool:
        """Whether table and changelog have the same URLs, so that records can be handled."""
        return self.is_complete and not self.must_publish

    @property
    def remaining(self) -> int:
        """Number of records of the changelog that are still to be read."""
        behind = (self.marker or 0) - self.checkpoint.offset
        return 0 if self.is_complete else max(0, behind)

    @property
    def start(self) -> int:
        """The offset to read from: that of the checkpoint until it is checked, then the next
        one."""
        return self.checkpoint.offset + 1 if self.is_checked else self.checkpoint.offset

    def note_copy(self, now: float) -> None:
        """Note that a volume has a copy of the present table, or that the next one may wait."""
        self.copied_at, self.copied_offset = now, self.checkpoint.offset

    def read_from_beginning(self) -> None:
        """Read the changelog from its beginning, and publish the table afterwards."""
        self.checkpoint, self.is_checked, self.must_publish = NO_CHECKPOINT, True, True


class Progress(NamedTuple):
    """The number of records of changelogs that were still to be read at a time."""

    at: float
    remaining: int


@dataclass
class Changes:
    """Changes of the set since the last append."""

    events: list[tuple[str, Site, str, list[str]]] = field(default_factory=list)
    """Crawl, site, finder ("" for an erasure) and fingerprints (none for a dropped site), in
    order."""
    rows: dict[bytes, bytes | None] = field(default_factory=dict)
    """Key → finder; None for an erasure."""
    dropped: set[bytes] = field(default_factory=set)
    """The prefixes of the keys of dropped sites. Rows of these sites were added later."""

    def add(self, crawl: str, site: Site, finder: str, url: str) -> None:
        """Add the fingerprint *url* to the last event, or to a new one.

        A new event begins if crawl, site or finder differ from those of the last event.
        """
        last = self.events[-1] if self.events else None
        if last is None or last[:3] != (crawl, site, finder) or not last[3]:
            self.events.append((crawl, site, finder, []))
        self.events[-1][3].append(url)

    def drop(self, crawl: str, site: Site, prefix: bytes) -> None:
        """Remove all URLs of *site*, whose keys begin with *prefix*, from the set of *crawl*."""
        self.events.append((crawl, site, "", []))
        self.rows = _without(self.rows, prefix)
        self.dropped.add(prefix)


class ReplicatedSeen(SeenSet):
    """The set on *disk*, with its changelog on *log*, and its copies; see
    `gossamer.services.dedup.seen.SeenSet`."""

    def __init__(self, log: Log, disk: Disk, clock: Clock, copies: Copies | None = None) -> None:
        self._log, self._disk, self._clock, self._copies = log, disk, clock, copies
        self._partitions: dict[int, Partition] = {}
        self._changes = Changes()
        self._tail: Tail | None = None
        self._publishing: Iterator[list[Message]] = iter(())
        self._began = Progress(0.0, 0)
        """The progress when partitions were last assigned."""

    def test(self, crawl: str, site: Site, urls: Sequence[str], finder: str) -> list[Finding]:
        """See `SeenSet`."""
        keys = self._keys(crawl, site, urls)
        changed, findings = self._changes.rows, list[Finding]()
        for key, url, stored in zip(keys, urls, self._read_finders(crawl, site, keys), strict=True):
            first = changed.get(key, stored)
            if first is None:
                changed[key] = bytes.fromhex(finder)
                self._changes.add(crawl, site, finder, url)
            findings.append(Finding.of(first.hex() if first else None, finder))
        return findings

    def contains(self, crawl: str, site: Site, url: str) -> bool:
        """See `SeenSet`."""
        [key] = self._keys(crawl, site, [url])
        if key in self._changes.rows:
            return self._changes.rows[key] is not None
        return self._read_finders(crawl, site, [key]) != [None]

    def _read_finders(self, crawl: str, site: Site, keys: list[bytes]) -> list[bytes | None]:
        """Return the finder on disk of each of *keys*, all of *site*, or None."""
        is_dropped = self._prefix(crawl, site) in self._changes.dropped
        return [None] * len(keys) if is_dropped else self._disk.get_many(keys)

    def erase(self, crawl: str, site: Site, urls: Sequence[str]) -> int:
        """See `SeenSet`."""
        erased = [url for url in urls if self.contains(crawl, site, url)]
        for key, url in zip(self._keys(crawl, site, erased), erased, strict=True):
            self._changes.rows[key] = None
            self._changes.add(crawl, site, "", url)
        return len(erased)

    def drop(self, crawl: str, site: Site) -> bool:
        """See `SeenSet`."""
        self._changes.drop(crawl, site, self._prefix(crawl, site))
        return True

    def owns(self, site: Site) -> bool:
        """Return whether the partition of *site* is assigned to this instance."""
        return self._partition_of(site) in self._partitions

    def serves(self, site: Site) -> bool:
        """Return whether this instance owns *site*, and has the URLs of its partition."""
        return self.owns(site) and self._partitions[self._partition_of(site)].is_restored

    def _partition_of(self, site: Site) -> int:
        return partition_of(site, self._log.partitions)

    def _prefix(self, crawl: str, site: Site) -> bytes:
        return _prefix(self._partition_of(site), crawl, site)

    def _keys(self, crawl: str, site: Site, urls: Sequence[str]) -> list[bytes]:
        prefix = self._prefix(crawl, site)
        return [prefix + bytes.fromhex(url) for url in urls]

    def assign(self, epochs: Mapping[int, int]) -> None:
        """Start to read the changelog of each partition with a new epoch; release all others."""
        before = self._partitions
        retained = {
            number: before[number]
            for number, epoch in epochs.items()
            if number in before and before[number].epoch == epoch
        }
        gained = {n: Partition(epoch) for n, epoch in epochs.items() if n not in retained}
        self._partitions = retained | gained
        if gained:
            self._append_markers(gained)
        self._began = Progress(self._clock(), self._remaining)
        self._open_tail()
        self._show_progress()

    def _append_markers(self, gained: Mapping[int, Partition]) -> None:
        """Append our epoch to the changelogs of *gained* partitions, and load their checkpoints."""
        marker_event = UrlsSeen(at=0.0, site=Site(""), epoch=0)
        markers = [self._message(number, marker_event) for number in gained]
        ends = self._log.append(markers)
        checkpoints = self._disk.get_many([_checkpoint_key(number) for number in gained])
        for (number, partition), stored in zip(gained.items(), checkpoints, strict=True):
            if stored:
                partition.checkpoint = msgspec.msgpack.decode(stored, type=Checkpoint)
                partition.is_checked = False
            marker = partition.marker = ends.get((URLS_SEEN.name, number))
            if marker is not None and marker <= partition.checkpoint.offset:
                self._handle_divergence(number)
            partition.note_copy(self._clock())
        if self._copies:
            self._fetch_copies(self._copies, gained)

    def _fetch_copies(self, copies: Copies, gained: Mapping[int, Partition]) -> None:
        """Begin to fetch copies of the *gained* partitions that have many records to read."""
        targets = {
            number: Target(one.epoch, one.checkpoint, one.marker)
            for number, one in gained.items()
            if one.marker is not None and one.remaining > COPY_RECORDS and not one.must_publish
        }
        for number in targets:
            gained[number].is_fetching = True
        if targets:
            copies.fetch(targets)

    def _load_copy(self, fetched: Fetched) -> None:
        """Replace the table of a partition by a copy, and then read the changelog after it."""
        partition = self._partitions.get(fetched.number)
        is_ours = partition is not None and partition.epoch == fetched.epoch
        if partition is None or not is_ours:
            if fetched.path:
                fetched.path.unlink(missing_ok=True)
            return
        partition.is_fetching = False
        if fetched.path:
            try:
                self._disk.load_copy(_partition_prefix(fetched.number), fetched.path)
                partition.checkpoint = fetched.checkpoint
                partition.note_copy(self._clock())
                logger.info(
                    "URL-seen table copied from a volume",
                    partition=fetched.number,
                    offset=fetched.checkpoint.offset,
                    remaining=partition.remaining,
                )
            except GossamerError as error:
                logger.warning(
                    "copy of the URL-seen table ignored: reading the whole changelog",
                    partition=fetched.number,
                    reason=str(error),
                )
                fetched.path.unlink(missing_ok=True)
                partition.checkpoint = NO_CHECKPOINT
            partition.is_checked = True
        self._began = Progress(self._clock(), self._remaining)
        self._open_tail()

    def _open_tail(self) -> None:
        """Open a tail on the changelogs of all partitions that are not complete.

        If all are complete, publish the tables whose URLs the changelog lacks. A table that was
        published in part is published from its beginning.
        """
        if self._tail:
            self._tail.close()
        incomplete = {n: one for n, one in self._partitions.items() if not one.is_complete}
        starts = {n: one.start for n, one in incomplete.items() if not one.is_fetching}
        self._tail = self._log.tail([URLS_SEEN.name], starts) if starts else None
        unpublished = [n for n, one in self._partitions.items() if one.must_publish]
        self._publishing = iter(()) if incomplete else self._publish_tables(unpublished)

    def _handle_divergence(self, number: int) -> None:
        logger.warning(
            "the changelog of the URL-seen set was recreated or truncated: reading it from the "
            "beginning, and publishing the table on disk",
            partition=number,
        )
        self._partitions[number].read_from_beginning()

    def restore(self) -> frozenset[int]:
        """Read the next records; return our partitions whose tables are not complete."""
        is_fetching = any(one.is_fetching for one in self._partitions.values())
        if self._copies and is_fetching:
            timeout = 0.0 if self._tail else POLL_TIMEOUT
            if fetched := self._copies.pop(timeout):
                self._load_copy(fetched)
        if messages := next(self._publishing, None):
            self._append_and_store(messages, {})
        elif self._tail is not None:
            self._read_next(self._tail)
        elif is_fetching:
            pass
        else:
            self._finish_publishing()
        self._show_progress()
        return self._unrestored

    def _read_next(self, tail: Tail) -> None:
        by_partition = defaultdict[int, list[Record]](list)
        for record in tail.poll(POLL_TIMEOUT):
            by_partition[record.partition].append(record)
        diverged = [n for n, some in by_partition.items() if not self._read(n, some)]
        if diverged or all(one.is_complete for one in self._partitions.values()):
            self._open_tail()

    def _read(self, number: int, records: Sequence[Record]) -> bool:
        """Write the changes in *records* to the disk.

        Return False if they do not continue the table on disk, so that the changelog has to be read
        from its beginning.
        """
        partition, rows = self._partitions[number], dict[bytes, bytes | None]()
        dropped = set[bytes]()
        if partition.is_complete:
            return True
        if not partition.is_checked:
            first, checkpoint = records[0], partition.checkpoint
            partition.is_checked = True
            if (first.offset, digest_of(first.value)) != (checkpoint.offset, checkpoint.digest):
                self._handle_divergence(number)
                return first.offset == 0 and self._read(number, records)
            records = records[1:]
        epoch = partition.checkpoint.epoch
        for record in records:
            change = _decode_change(record)
            if change is None or change.epoch < epoch:
                continue
            epoch = change.epoch
            finder = None if change.erased else bytes.fromhex(change.finder)
            prefix = _prefix(number, change.crawl, change.site)
            if change.dropped:
                rows = _without(rows, prefix)
                dropped.add(prefix)
                continue
            rows |= {prefix + bytes.fromhex(url): finder for url in change.urls}
            partition.is_complete |= not change.urls and epoch == partition.epoch
        if records:
            last = records[-1]
            partition.checkpoint = Checkpoint(last.offset, digest_of(last.value), epoch)
            self._disk.write(rows | self._stored_checkpoints([number]), dropped)
        return True

    def _stored_checkpoints(self, numbers: Iterable[int]) -> dict[bytes, bytes]:
        """Return the rows of the checkpoints of the partitions *numbers*.

        While a table is published, the disk keeps the checkpoint in the former changelog, so that
        after a crash the table is published again.
        """
        partitions = {number: self._partitions[number] for number in numbers}
        return {
            _checkpoint_key(number): msgspec.msgpack.encode(one.checkpoint)
            for number, one in partitions.items()
            if not one.must_publish
        }

    def _finish_publishing(self) -> None:
        published = [n for n, one in self._partitions.items() if one.must_publish]
        for number in published:
            self._partitions[number].must_publish = False
        if published:
            self._disk.write(self._stored_checkpoints(published))

    def _publish_tables(self, numbers: Iterable[int]) -> Iterator[list[Message]]:
        """Yield batches of messages that publish the tables of the partitions *numbers*."""
        stored = (row for number in numbers for row in self._scan(number))
        # A partition lost in between is published by its new owner, or when it is assigned again.
        of_partitions = (row for row in stored if self._partition_of(row.site) in self._partitions)
        messages = self._messages_of(of_partitions)
        while batch := [*islice(messages, EVENTS_PER_BATCH)]:
            yield batch

    def _scan(self, number: int) -> Iterator[SeenRow]:
        """Yield the rows of our partition *number*, without those of sites that were in it when the
        fleet had another number of partitions."""
        for key, finder in self._disk.scan(_partition_prefix(number)):
            if key != _checkpoint_key(number):
                row = _decode_row(key, finder)
                if self._partition_of(row.site) == number:
                    yield row

    def _messages_of(self, rows: Iterable[SeenRow]) -> Iterator[Message]:
        for change in changes_of(rows):
            yield self._message(self._partition_of(change.site), change)

    def _message(self, number: int, change: UrlsSeen) -> Message:
        """Return the message of *change* to our partition *number*, with its epoch and the time."""
        epoch = self._partitions[number].epoch
        stamped = msgspec.structs.replace(change, epoch=epoch, at=self._clock())
        return replaced(encode(stamped), partition=number)

    def settle(self) -> None:
        """Append the changes to the log, and then write them to the disk."""
        if not self._changes.events:
            return
        changes, self._changes = self._changes, Changes()
        messages = [
            self._message(self._partition_of(site), _make_change(crawl, site, finder, urls))
            for crawl, site, finder, urls in changes.events
        ]
        self._append_and_store(messages, changes.rows, changes.dropped)
        if self._copies and not self._copies.is_storing:
            self._store_copy(self._copies)

    def _store_copy(self, copies: Copies) -> None:
        """Begin to store a copy of the first partition that is due."""
        now = self._clock()
        for number, one in self._partitions.items():
            grown = one.checkpoint.offset - one.copied_offset
            is_due = grown >= COPY_RECORDS and now - one.copied_at >= COPY_INTERVAL
            if is_due and one.is_restored and not one.is_fenced:
                one.note_copy(now)
                write = self._disk.take_copy(_partition_prefix(number))
                copies.store(number, one.checkpoint, write)
                return

    def _append_and_store(
        self,
        messages: Sequence[Message],
        rows: Mapping[bytes, bytes | None],
        dropped: Iterable[bytes] = (),
    ) -> None:
        """Append *messages* to the log; then write *rows* and the new checkpoints to the disk,
        without the keys that have a prefix in *dropped*.

        A checkpoint advances only if *messages* follow it directly. Records in between are from
        another owner, and are not on this disk.
        """
        by_partition = defaultdict[int | None, list[Message]](list)
        for message in messages:
            by_partition[message.partition].append(message)
        advanced = list[int]()
        for (_, number), offset in self._log.append(messages).items():
            partition, appended = self._partitions[number], by_partition[number]
            if offset == partition.checkpoint.offset + len(appended):
                digest = digest_of(appended[-1].value)
                partition.checkpoint = Checkpoint(offset, digest, partition.epoch)
                advanced.append(number)
            else:
                partition.is_fenced = True
        self._disk.write({**rows, **self._stored_checkpoints(advanced)}, dropped)

    def discard(self) -> None:
        """Drop the changes since the last `settle`."""
        self._changes = Changes()

    def note(self) -> str:
        """Return how much is still to be read, and which partitions wait; "" if none does."""
        waiting = self._unrestored
        if not waiting:
            return ""
        numbers = f"waiting partitions: {', '.join(map(str, sorted(waiting)))}"
        if all(self._partitions[number].is_complete for number in waiting):
            return f"the URL-seen table is published into its changelog: {numbers}"
        left, seconds = f"{self._remaining} records to go", self._seconds_left
        if seconds is not None:
            left += f", about {ceil(seconds / 60)} min"
        is_fetching = all(self._partitions[number].is_fetching for number in waiting)
        way = "copied from a volume" if is_fetching else "read from its changelog"
        return f"the URL-seen table is {way}: {left}; {numbers}"

    @property
    def _unrestored(self) -> frozenset[int]:
        return frozenset(n for n, one in self._partitions.items() if not one.is_restored)

    @property
    def _remaining(self) -> int:
        return sum(one.remaining for one in self._partitions.values())

    @property
    def _seconds_left(self) -> float | None:
        """Estimated seconds until the changelog is read, by the records read since `assign`."""
        began, remaining = self._began, self._remaining
        read = began.remaining - remaining
        return remaining * (self._clock() - began.at) / read if read > 0 else None

    def _show_progress(self) -> None:
        set_gauge("gossamer_restoring_partitions", len(self._unrestored))
        set_gauge("gossamer_restoring_seconds", self._seconds_left or 0.0)


def read_valid_changes(log: Log, partitions: int) -> Iterator[list[tuple[int, UrlsSeen]]]:
    """Yield batches of valid changes, in order, each with its partition.

    A change is valid unless its epoch is outdated. *partitions*: the number of partitions of the
    changelog.
    """
    tail = log.tail([URLS_SEEN.name], dict.fromkeys(range(partitions), 0))
    newest = dict.fromkeys(range(partitions), 0)
    try:
        while records := tail.poll(POLL_TIMEOUT):
            changes = list[tuple[int, UrlsSeen]]()
            for record in records:
                change = _decode_change(record)
                if change is None or change.epoch < newest[record.partition]:
                    continue
                newest[record.partition] = change.epoch
                if change.urls or change.dropped:
                    changes.append((record.partition, change))
            yield changes
    finally:
        tail.close()


def changes_of(rows: Iterable[SeenRow]) -> Iterator[UrlsSeen]:
    """Yield the changes that add *rows*, ordered by site, to an empty set."""
    for (crawl, site), of_site in groupby(rows, key=lambda row: (row.crawl, row.site)):
        while chunk := [*islice(of_site, URLS_PER_EVENT)]:
            urls = defaultdict[str, list[str]](list)
            for row in chunk:
                urls[row.finder.hex()].append(row.fingerprint.hex())
            for finder, found in urls.items():
                yield _make_change(crawl, site, finder, found)


def _make_change(crawl: str, site: Site, finder: str, urls: Sequence[str]) -> UrlsSeen:
    """Return a change without its epoch and time, which its message gets."""
    return UrlsSeen(
        crawl=crawl,
        at=0.0,
        site=site,
        epoch=0,
        finder=finder,
        urls=(*urls,),
        erased=bool(urls) and not finder,
        dropped=not urls,
    )


def _decode_change(record: Record) -> UrlsSeen | None:
    """Return the change in *record*; None if the record is invalid."""
    try:
        change = decode(record)
        assert isinstance(change, UrlsSeen)
        for digits in (change.finder, *change.urls):
            bytes.fromhex(digits)
    except (Poison, ValueError) as error:
        logger.warning(
            "invalid record skipped", topic=record.topic, offset=record.offset, reason=str(error)
        )
        return None
    return change


def _partition_prefix(number: int) -> bytes:
    """Return the byte with which the keys of a partition, and no others, begin."""
    return bytes([number])


def _prefix(number: int, crawl: str, site: Site) -> bytes:
    """Return the bytes with which the keys of *site* in *crawl*, and no others, begin."""
    return _partition_prefix(number) + crawl.encode() + b"\0" + site.encode() + b"\0"


def _without(rows: Mapping[bytes, bytes | None], prefix: bytes) -> dict[bytes, bytes | None]:
    return {key: finder for key, finder in rows.items() if not key.startswith(prefix)}


def _decode_row(key: bytes, finder: bytes) -> SeenRow:
    """Return the row of a key and value on disk."""
    crawl, site, url = key[1:].split(b"\0", 2)
    return SeenRow(crawl.decode(), Site(site.decode()), url, finder)


def _checkpoint_key(number: int) -> bytes:
    """Return the key of a partition's checkpoint, which differs from URLs by its empty crawl."""
    return _partition_prefix(number) + b"\0"
