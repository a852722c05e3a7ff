"""The URL-seen set of a fleet's instance: a table on its disk, and a changelog on the log.

Every new URL goes to the topic `urls.seen`, in the partition of its site, before its admission is
appended, and to the disk once the log has it. The disk holds a *position* for each partition: up to
where it has the changelog.

An instance that takes a partition over appends its epoch to the changelog, and reads on from the
position until it finds that epoch. From there on the changelog has one writer: what a former owner
appends late has an older epoch and does not count, whoever reads it. So all instances that read a
partition's changelog have the same table.

The position remembers the record that it follows. If the changelog has another record there, or
none, it was recreated or cut short, and the disk has what the changelog lacks. The changelog is
read from its beginning then, and the table is published into it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replaced
from hashlib import blake2b
from itertools import groupby, islice
from typing import Protocol

import msgspec
import structlog

from gossamer.clock import Clock
from gossamer.errors import Poison
from gossamer.events import UrlsSeen
from gossamer.events.topics import URLS_SEEN
from gossamer.log import Log, Message, Record, Tail, partition_of
from gossamer.log.codec import decode, encode
from services.dedup.seen import Finding, Seen, SeenRow

WAIT = 0.1
"""Most seconds that one look at the changelog waits."""
PUBLISHED = 200
"""Events that are published at a time."""
URLS_LIMIT = 1000
"""URLs of one event that is published."""

logger = structlog.get_logger()


class Disk(Protocol):
    """A sorted map that outlives the process."""

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the value of each of *keys*, or None."""

    def write(self, rows: Mapping[bytes, bytes | None]) -> None:
        """Write all *rows* or, after a crash, none of them; None removes one."""

    def scan(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield all keys and values in the order of the keys."""


class Position(msgspec.Struct, frozen=True, array_like=True):
    """Up to where the disk has a partition of the changelog."""

    offset: int
    digest: bytes
    """Of the record there."""
    epoch: int
    """The newest up to there."""


NOWHERE = Position(-1, b"", 0)


@dataclass
class Partition:
    """A partition that is ours."""

    epoch: int
    marker: int | None = None
    """The offset of the record with our epoch, while the changelog is read up to it."""
    position: Position = NOWHERE
    is_checked: bool = True
    """Whether the record at the position was compared with the changelog's."""
    publishes: bool = False
    """Whether the changelog lacks what the table has."""
    is_complete: bool = False
    """Whether the table has all of the changelog."""

    @property
    def start(self) -> int:
        """The offset to read from: that of the position itself until it was compared."""
        return self.position.offset + 1 if self.is_checked else self.position.offset

    def begin_anew(self) -> None:
        """Read the changelog from its beginning, and publish the table afterwards."""
        self.position, self.is_checked, self.publishes = NOWHERE, True, True


@dataclass
class Changes:
    """What has changed since the last append."""

    events: list[tuple[str, str, str, list[str]]] = field(default_factory=list)
    """In order: the crawl, the site, the finder ("": they were erased), and fingerprints."""
    rows: dict[bytes, bytes | None] = field(default_factory=dict)
    """None: erased."""

    def add(self, crawl: str, site: str, finder: str, url: str) -> None:
        """Have one more fingerprint in the last event that it fits in."""
        if not self.events or self.events[-1][:3] != (crawl, site, finder):
            self.events.append((crawl, site, finder, []))
        self.events[-1][3].append(url)


class ReplicatedSeen(Seen):
    """The set on *disk*, with its changelog on *log*; see `services.dedup.seen.Seen`."""

    def __init__(self, log: Log, disk: Disk, clock: Clock) -> None:
        self._log, self._disk, self._clock = log, disk, clock
        self._partitions: dict[int, Partition] = {}
        self._changes = Changes()
        self._tail: Tail | None = None
        self._publishing: Iterator[list[Message]] = iter(())

    def test(self, crawl: str, site: str, urls: Sequence[str], finder: str) -> list[Finding]:
        """See `Seen`."""
        keys = [_key(crawl, site, url) for url in urls]
        added, findings = self._changes.rows, list[Finding]()
        for key, url, stored in zip(keys, urls, self._disk.get_many(keys), strict=True):
            known = added.get(key, stored)
            if known is None:
                added[key] = bytes.fromhex(finder)
                self._changes.add(crawl, site, finder, url)
            findings.append(Finding.of(known.hex() if known else None, finder))
        return findings

    def knows(self, crawl: str, site: str, url: str) -> bool:
        """See `Seen`."""
        key = _key(crawl, site, url)
        if key in self._changes.rows:
            return self._changes.rows[key] is not None
        return self._disk.get_many([key]) != [None]

    def erase(self, crawl: str, site: str, urls: Sequence[str]) -> int:
        """See `Seen`."""
        known = [url for url in urls if self.knows(crawl, site, url)]
        for url in known:
            self._changes.rows[_key(crawl, site, url)] = None
            self._changes.add(crawl, site, "", url)
        return len(known)

    def owns(self, site: str) -> bool:
        """Return whether *site* is of a partition that is ours."""
        return self._partition_of(site) in self._partitions

    def _partition_of(self, site: str) -> int:
        return partition_of(site, self._log.partitions)

    def assign(self, epochs: Mapping[int, int]) -> None:
        """Begin to read the changelog of the partitions that are new in *epochs*, or were claimed
        anew; give up all others."""
        ours = self._partitions
        kept = {n: ours[n] for n, epoch in epochs.items() if n in ours and ours[n].epoch == epoch}
        fresh = {n: Partition(epoch) for n, epoch in epochs.items() if n not in kept}
        self._partitions = kept | fresh
        if fresh:
            self._begin(fresh)
        self._follow()

    def _begin(self, fresh: Mapping[int, Partition]) -> None:
        claim = UrlsSeen(at=0.0, site="", epoch=0)
        markers = [self._message(number, claim) for number in fresh]
        ends = self._log.append(markers)
        found = self._disk.get_many([_position_key(number) for number in fresh])
        for (number, partition), stored in zip(fresh.items(), found, strict=True):
            if stored:
                partition.position = msgspec.msgpack.decode(stored, type=Position)
                partition.is_checked = False
            marker = partition.marker = ends.get((URLS_SEEN.name, number))
            if marker is not None and marker <= partition.position.offset:
                self._diverge(number)

    def _follow(self) -> None:
        """Read the changelogs of all partitions that are not complete."""
        if self._tail:
            self._tail.close()
        starts = {n: one.start for n, one in self._partitions.items() if not one.is_complete}
        self._tail = self._log.tail([URLS_SEEN.name], starts) if starts else None

    def _diverge(self, number: int) -> None:
        logger.warning(
            "the changelog of the URL-seen set lacks what the disk has", partition=number
        )
        self._partitions[number].begin_anew()

    def restore(self) -> bool:
        """Read on; return whether the tables of all our partitions are complete."""
        if messages := next(self._publishing, None):
            self._note_positions(messages, {})
            return False
        if self._tail is None:
            self._end_publishing()
            return True
        records = self._tail.poll(WAIT)
        by_partition = defaultdict[int, list[Record]](list)
        for record in records:
            by_partition[record.partition].append(record)
        diverged = [n for n, some in by_partition.items() if not self._read(n, some)]
        if diverged or all(one.is_complete for one in self._partitions.values()):
            self._follow()
        if self._tail is None:
            numbers = [n for n, one in self._partitions.items() if one.publishes]
            self._publishing = self._table_of(numbers)
        return False

    def _read(self, number: int, records: Sequence[Record]) -> bool:
        """Write the changes in *records* to the disk; return False if they do not follow what is
        there: then the changelog is to be read from its beginning."""
        partition, rows = self._partitions[number], dict[bytes, bytes | None]()
        if partition.is_complete:
            return True
        if not partition.is_checked:
            first, position = records[0], partition.position
            partition.is_checked = True
            if (first.offset, _digest(first.value)) != (position.offset, position.digest):
                self._diverge(number)
                return first.offset == 0 and self._read(number, records)
            records = records[1:]
        epoch = partition.position.epoch
        for record in records:
            change = _change_in(record)
            if change is None or change.epoch < epoch:
                continue
            epoch = change.epoch
            finder = None if change.erased else bytes.fromhex(change.finder)
            rows |= {_key(change.crawl, change.site, url): finder for url in change.urls}
            partition.is_complete |= not change.urls and epoch == partition.epoch
        if records:
            last = records[-1]
            partition.position = Position(last.offset, _digest(last.value), epoch)
            self._disk.write(rows | self._stored_positions([number]))
        return True

    def _stored_positions(self, numbers: Iterable[int]) -> dict[bytes, bytes]:
        """Return the rows of the positions in these partitions.

        Until the changelog has all of a table, the disk keeps the position in the former one: after
        a crash the table is published once more.
        """
        ours = {number: self._partitions[number] for number in numbers}
        return {
            _position_key(number): msgspec.msgpack.encode(one.position)
            for number, one in ours.items()
            if not one.publishes
        }

    def _end_publishing(self) -> None:
        published = [n for n, one in self._partitions.items() if one.publishes]
        for number in published:
            self._partitions[number].publishes = False
        if published:
            self._disk.write(self._stored_positions(published))

    def _table_of(self, numbers: Iterable[int]) -> Iterator[list[Message]]:
        """Yield what publishes the table of these partitions, some messages at a time."""
        chosen = frozenset(numbers)
        if not chosen:
            return
        rows = (_row(*stored) for stored in self._disk.scan() if stored[0][0])
        # One that was lost meanwhile is published by its new owner, or when it is ours again.
        ours = (
            row for row in rows if self._partition_of(row.site) in chosen & self._partitions.keys()
        )
        messages = self._published(ours)
        while some := [*islice(messages, PUBLISHED)]:
            yield some

    def _published(self, rows: Iterable[SeenRow]) -> Iterator[Message]:
        for change in changes_of(rows):
            yield self._message(self._partition_of(change.site), change)

    def _message(self, number: int, change: UrlsSeen) -> Message:
        """Return the message with *change* in *number*, which is ours: now, and under its epoch."""
        epoch = self._partitions[number].epoch
        own = msgspec.structs.replace(change, epoch=epoch, at=self._clock())
        return replaced(encode(own), partition=number)

    def settle(self) -> None:
        """Append what has changed, and write it to the disk once the log has it."""
        if not self._changes.events:
            return
        changes, self._changes = self._changes, Changes()
        messages = [
            self._message(self._partition_of(site), _change(crawl, site, finder, urls))
            for crawl, site, finder, urls in changes.events
        ]
        self._note_positions(messages, changes.rows)

    def _note_positions(
        self, messages: Sequence[Message], rows: Mapping[bytes, bytes | None]
    ) -> None:
        """Append *messages*; write *rows*, and how far the disk has the changelog then.

        A position moves only if nothing lies between it and *messages*: what another owner has
        written there is not on this disk.
        """
        by_partition = defaultdict[int | None, list[Message]](list)
        for message in messages:
            by_partition[message.partition].append(message)
        moved = list[int]()
        for (_, number), offset in self._log.append(messages).items():
            partition, some = self._partitions[number], by_partition[number]
            if offset == partition.position.offset + len(some):
                partition.position = Position(offset, _digest(some[-1].value), partition.epoch)
                moved.append(number)
        self._disk.write({**rows, **self._stored_positions(moved)})

    def discard(self) -> None:
        """Forget what has changed since the last `settle`."""
        self._changes = Changes()

    def note(self) -> str:
        """Return how much is left to read; "" if nothing."""
        left = sum(
            max(0, (one.marker or 0) - one.position.offset)
            for one in self._partitions.values()
            if not one.is_complete
        )
        return (
            f"the URL-seen table is read from its changelog: {left} records to go" if left else ""
        )


def moved(log: Log, before: int, after: int, epoch: int, now: float) -> Iterator[list[Message]]:
    """Yield what makes a changelog of *before* partitions one of *after*, some messages at a time.

    The changes of sites that are in another partition now are appended there, under *epoch*, which
    is newer than all others. They stay where they were as well.
    """
    for changes in standing_changes(log, before):
        messages = list[Message]()
        for number, change in changes:
            target = partition_of(change.site, after)
            if target != number:
                copy = msgspec.structs.replace(change, epoch=epoch, at=now)
                messages.append(replaced(encode(copy), partition=target))
        yield messages


def standing_changes(log: Log, partitions: int) -> Iterator[list[tuple[int, UrlsSeen]]]:
    """Yield the changes on the changelog that count, in order, each with its partition, some at a
    time; *partitions* is how many of them the changelog has."""
    tail = log.tail([URLS_SEEN.name], dict.fromkeys(range(partitions), 0))
    newest = dict.fromkeys(range(partitions), 0)
    try:
        while records := tail.poll(WAIT):
            changes = list[tuple[int, UrlsSeen]]()
            for record in records:
                change = _change_in(record)
                if change is None or change.epoch < newest[record.partition]:
                    continue
                newest[record.partition] = change.epoch
                if change.urls:
                    changes.append((record.partition, change))
            yield changes
    finally:
        tail.close()


def changes_of(rows: Iterable[SeenRow], epoch: int = 0, now: float = 0.0) -> Iterator[UrlsSeen]:
    """Yield the changes that make a set of *rows*, in which the URLs of a site lie together."""
    for (crawl, site), some in groupby(rows, key=lambda row: (row.crawl, row.site)):
        while chunk := [*islice(some, URLS_LIMIT)]:
            urls = defaultdict[str, list[str]](list)
            for row in chunk:
                urls[row.finder.hex()].append(row.fingerprint.hex())
            for finder, found in urls.items():
                yield _change(crawl, site, finder, found, epoch, now)


def _change(
    crawl: str,
    site: str,
    finder: str,
    urls: Sequence[str],
    epoch: int = 0,
    now: float = 0.0,
) -> UrlsSeen:
    return UrlsSeen(
        crawl=crawl,
        at=now,
        site=site,
        epoch=epoch,
        finder=finder,
        urls=(*urls,),
        erased=not finder,
    )


def _change_in(record: Record) -> UrlsSeen | None:
    """Return the change in *record*; None if somebody else has put it there."""
    try:
        change = decode(record)
        assert isinstance(change, UrlsSeen)
        for digits in (change.finder, *change.urls):
            bytes.fromhex(digits)
    except (Poison, ValueError) as error:
        logger.warning("skipped", topic=record.topic, offset=record.offset, why=str(error))
        return None
    return change


def _key(crawl: str, site: str, url: str) -> bytes:
    """Return the key of the URL of *site* with the fingerprint *url*: a site's lie together."""
    return crawl.encode() + b"\0" + site.encode() + b"\0" + bytes.fromhex(url)


def _row(key: bytes, finder: bytes) -> SeenRow:
    """Return a stored URL."""
    crawl, site, url = key.split(b"\0", 2)
    return SeenRow(crawl.decode(), site.decode(), url, finder)


def _position_key(number: int) -> bytes:
    """Return the key of a partition's position; no crawl is named by an empty text."""
    return b"\0" + number.to_bytes(2, "big")


def _digest(value: bytes) -> bytes:
    return blake2b(value, digest_size=8).digest()
