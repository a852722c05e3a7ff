"""The URL-seen set as a Faust table: RocksDB on the instance's disk, with a changelog on Kafka.

Writing to the table does not write to the changelog. The runner sends the changes (`pop_changes`)
with the outputs to an event, and commits the event once the brokers have acknowledged all of them.

One process locks the folder of an instance's tables, which is bound to one changelog.
"""

import fcntl
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import faust
import rocksdict
import structlog
from faust.stores.rocksdb import RocksDBOptions, Store
from faust.types import TP
from faust.types.tuples import RecordMetadata

from gossamer.errors import GossamerError, Locked
from gossamer.settings import Settings

ROCKSDB = {
    "bloom_filter_size": 10,
    "write_buffer_size": 8 << 20,
    "max_write_buffer_number": 2,
    "block_cache_size": 16 << 20,
    "max_open_files": 256,
}
"""Each partition has its own RocksDB, while Faust's defaults are for one on a large machine. Most
lookups are for new URLs, which a Bloom filter of ten bits per key answers without a read."""


def open_table(path: Path) -> rocksdict.Rdict:
    """Open the RocksDB of a partition, with the same options after a restart.

    rocksdict reopens a column family with RocksDB's default options unless it gets the options of
    each, and Faust passes none. A table would lose its Bloom filters when it is reopened. Faust's
    tables have one column family.
    """
    options = RocksDBOptions(**ROCKSDB, use_rocksdict=True)
    return rocksdict.Rdict(
        str(path),
        options=options.as_options(),
        column_families={"default": options.as_options()},
    )


def forget_offsets(folder: Path) -> None:
    """Delete the changelog offsets of all tables in *folder*, so that they are published."""
    for path in folder.rglob("seen-*.db"):
        with closing(open_table(path)) as table:
            _forget_offset(table)


def _forget_offset(table: rocksdict.Rdict) -> None:
    table.delete(Store.offset_key)
    table.flush_wal(sync=True)


class SeenStore(Store):
    """A RocksDB for each partition."""

    def _open_for_partition(self, partition: int) -> rocksdict.Rdict:
        return open_table(self.partition_path(partition))

    def close_partition(self, partition: int) -> None:
        """Close the RocksDB of *partition*; its next use opens it again."""
        if table := self._dbs.pop(partition, None):
            table.close()


class Change(NamedTuple):
    """One change of the table."""

    partition: int
    key: bytes
    value: bytes | None
    """None if the key was removed."""
    offset: int = -1
    """Offset on the changelog; -1 if the change is not there yet."""


class FaustSeenTable(faust.Table[str, str]):
    """Crawl and fingerprint → finder, in the partition of the current event."""

    def __init__(self, app: faust.App, partitions: int) -> None:
        super().__init__(
            app,
            name="seen",
            partitions=partitions,
            key_type=str,
            value_type=str,
        )
        self.key_serializer = self.value_serializer = "raw"
        self._changes: list[Change] = []

    def _new_store(self) -> SeenStore:
        return SeenStore(
            "rocksdb://",
            self.app,
            self,
            driver="rocksdict",
            table_name=self.name,
            key_type=self.key_type,
            key_serializer=self.key_serializer,
            value_type=self.value_type,
            value_serializer=self.value_serializer,
        )

    @property
    def _rocksdb(self) -> SeenStore:
        return cast(SeenStore, self.data)

    def folder(self, partition: int) -> Path:
        """Return the folder of *partition*."""
        return self._rocksdb.partition_path(partition)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the first finder of the URL; *default* if it is new."""
        with self._translate_errors():
            found = self.data.get(key)
        return default if found is None else found

    def __setitem__(self, key: str, value: Any) -> None:
        """Write the first finder of a URL; the caller appends the change to the changelog."""
        with self._translate_errors():
            super().__setitem__(key, value)

    def on_key_set(self, key: str, value: str) -> None:
        """Collect the change for `pop_changes`, because Faust does not report when it sends one."""
        event = faust.current_event()
        assert event, "the table can only be written while an event is handled"
        self._changes.append(Change(event.message.partition, key.encode(), value.encode()))

    def __delitem__(self, key: str) -> None:
        """Remove a URL; the caller appends the removal to the changelog."""
        with self._translate_errors():
            super().__delitem__(key)

    def on_key_del(self, key: str) -> None:
        """Collect the removal for `pop_changes`."""
        event = faust.current_event()
        assert event, "the table can only be written while an event is handled"
        self._changes.append(Change(event.message.partition, key.encode(), None))

    def pop_changes(self) -> Sequence[Change]:
        """Return the changes since the last call."""
        changes, self._changes = self._changes, []
        return changes

    def changelog_offset(self, partition: int) -> int:
        """Return the offset up to which the disk has the changelog, or -1.

        A table with rows and without an offset has to be published into the changelog.
        """
        with self._translate_errors():
            offset = self.persisted_offset(TP(self.changelog_topic_name, partition))
        return -1 if offset is None else offset

    def forget_offset(self, partition: int) -> None:
        """Delete the changelog offset of *partition*, so that its table is published."""
        with self._translate_errors():
            _forget_offset(self._rocksdb._db_for_partition(partition))

    def read_all(self, partition: int) -> Iterator[Change]:
        """Yield all rows of the table of *partition* on disk."""
        with self._translate_errors():
            for key, value in self._rocksdb._db_for_partition(partition).items():
                if key != Store.offset_key:
                    yield Change(partition, key, value)

    def stored_partitions(self) -> list[int]:
        """Return the partitions that have a table in the instance's folder."""
        return [number for number in range(self.partitions or 0) if self.folder(number).exists()]

    def close_partition(self, partition: int) -> None:
        """Close the table of *partition* until it is used again."""
        self._rocksdb.close_partition(partition)

    def record_published(self, first: RecordMetadata, last: RecordMetadata) -> None:
        """Store that the disk has the changelog up to *last*; *first* to *last* are of one event.

        Nothing is stored if *first* does not follow the stored offset. Records in between are from
        an instance that owned the partition, and are read when the table is next restored.
        """
        if first.offset == self.changelog_offset(last.partition) + 1:
            self.data.set_persisted_offset(TP(last.topic, last.partition), last.offset)

    def restore(self, changes: Iterable[Change]) -> None:
        """Write changes from the changelog, with their offset, in one batch per partition."""
        batches: dict[int, rocksdict.WriteBatch] = {}
        offsets: dict[int, int] = {}
        for partition, key, value, offset in changes:
            if partition not in batches:
                batches[partition] = rocksdict.WriteBatch(raw_mode=True)
            if value is None:
                batches[partition].delete(key)
            else:
                batches[partition].put(key, value)
            offsets[partition] = offset
        with self._translate_errors():
            for partition, batch in batches.items():
                batch.put(Store.offset_key, str(offsets[partition]).encode())
                self._rocksdb._db_for_partition(partition).write(batch)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            raise GossamerError(
                f"the table in {self.app.conf.tabledir} cannot be read or written ({error}): "
                "check the disk and its free space, and that no other instance uses the folder"
            ) from error


logger = structlog.get_logger()


@contextmanager
def lock_folder(settings: Settings, changelog: str) -> Iterator[Path]:
    """Lock the instance's folder, bind it to the topic with the id *changelog*, and yield it.

    Tables that were bound to another changelog lose their offsets, so that they are published.
    Raise Locked if another process has the folder.
    """
    folder = settings.dedup.folder / settings.service.instance
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "changelog-id").open("a+")
    except OSError as error:
        raise GossamerError(
            f"{folder} cannot be written to ({error.strerror}): "
            "set dedup.folder to a folder for this instance's table"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Locked(
                f"another process uses {folder}: set a service.instance for each process"
            ) from error
        _bind_to_changelog(lock, folder, changelog)
        yield folder


def _bind_to_changelog(file: IO[str], folder: Path, changelog: str) -> None:
    file.seek(0)
    before = file.read()
    if before == changelog:
        return
    if before:
        logger.warning(
            "the changelog was recreated: publishing the tables on disk into it",
            folder=str(folder),
            was=before,
            now=changelog,
        )
        try:
            forget_offsets(folder)
        except Exception as error:
            raise GossamerError(
                f"the tables in {folder} cannot be read or written ({error}): check the disk and "
                "its free space"
            ) from error
    file.truncate(0)
    file.write(changelog)
    file.flush()
