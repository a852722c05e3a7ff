"""The URL-seen set as a Faust table: RocksDB on the instance's disk, and a changelog beside it.

A change here is not yet on the changelog: the runner sends `written` with the answers of an event,
and moves past the event when the brokers have acknowledged all of them.
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
"""Each partition has a RocksDB of its own, while Faust's sizes are for one on a large machine. Most
lookups are of new URLs: ten bits a key of Bloom filter spare them the disk."""


def open_table(path: Path) -> rocksdict.Rdict:
    """Open the RocksDB of a partition, with its options after a restart as well.

    rocksdict opens the column families that exist with RocksDB's defaults unless it is given the
    options of each, and Faust gives it none: a table would lose its Bloom filters when it is
    reopened. Faust's tables have one column family.
    """
    options = RocksDBOptions(**ROCKSDB, use_rocksdict=True)
    return rocksdict.Rdict(
        str(path),
        options=options.as_options(),
        column_families={"default": options.as_options()},
    )


def forget_offsets(folder: Path) -> None:
    """Note on disk, for all tables in *folder*, that their changes are not on the changelog."""
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
        """Close the RocksDB of *partition*, which opens again when it is used."""
        if table := self._dbs.pop(partition, None):
            table.close()


class Change(NamedTuple):
    """One change of the table; *offset* is where it lies on the changelog, -1 if nowhere yet."""

    partition: int
    key: bytes
    value: bytes | None
    """None: the key was removed."""
    offset: int = -1


class SeenTable(faust.Table[str, str]):
    """Fingerprint → finder, in the partition of the current event."""

    def __init__(self, app: faust.App, partitions: int) -> None:
        super().__init__(
            app,
            name="seen",
            partitions=partitions,
            key_type=str,
            value_type=str,
        )
        self.key_serializer = self.value_serializer = "raw"
        self._written: list[Change] = []

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
        """Return who found the URL first; *default* if nobody has."""
        try:
            found = self.data.get(key)
        except Exception as error:
            raise self._broken(error) from error
        return default if found is None else found

    def __setitem__(self, key: str, value: Any) -> None:
        """Write who found the URL first; the caller appends the change to the changelog."""
        try:
            super().__setitem__(key, value)
        except Exception as error:
            raise self._broken(error) from error

    def on_key_set(self, key: str, value: str) -> None:
        """Note the change for `written`; Faust would send it at some time and tell nobody when."""
        event = faust.current_event()
        assert event, "only while an event is handled is there a partition"
        self._written.append(Change(event.message.partition, key.encode(), value.encode()))

    def __delitem__(self, key: str) -> None:
        """Remove a URL; the caller appends the change to the changelog."""
        try:
            super().__delitem__(key)
        except Exception as error:
            raise self._broken(error) from error

    def on_key_del(self, key: str) -> None:
        """Note the removal for `written`, as `on_key_set` does a change."""
        event = faust.current_event()
        assert event, "only while an event is handled is there a partition"
        self._written.append(Change(event.message.partition, key.encode(), None))

    def written(self) -> Sequence[Change]:
        """Return the changes since the last call."""
        written, self._written = self._written, []
        return written

    def known(self, partition: int) -> int:
        """Return the offset of the changelog up to which the disk holds everything; -1 if none.

        A table with changes and without an offset is not on the changelog: what is
        `stored` has to be published.
        """
        try:
            known = self.persisted_offset(TP(self.changelog_topic_name, partition))
        except Exception as error:
            raise self._broken(error) from error
        return -1 if known is None else known

    def forget_offset(self, partition: int) -> None:
        """Note on disk that the changes of *partition* are not on the changelog."""
        try:
            _forget_offset(self._rocksdb._db_for_partition(partition))
        except Exception as error:
            raise self._broken(error) from error

    def stored(self, partition: int) -> Iterator[Change]:
        """Yield all that the table of *partition* holds on disk."""
        try:
            for key, value in self._rocksdb._db_for_partition(partition).items():
                if key != Store.offset_key:
                    yield Change(partition, key, value)
        except Exception as error:
            raise self._broken(error) from error

    def on_disk(self) -> list[int]:
        """Return the partitions that have a table in the instance's folder."""
        return [number for number in range(self.partitions or 0) if self.folder(number).exists()]

    def close_partition(self, partition: int) -> None:
        """Close the table of *partition* until it is used again."""
        self._rocksdb.close_partition(partition)

    def on_changelog(self, first: RecordMetadata, last: RecordMetadata) -> None:
        """Note that the changes of one event are on the changelog, from *first* to *last*.

        Only if they follow what the disk holds: what lies between was written by another instance
        that owned the partition meanwhile, and is read when the table is next restored.
        """
        if first.offset == self.known(last.partition) + 1:
            self.data.set_persisted_offset(TP(last.topic, last.partition), last.offset)

    def restore(self, changes: Iterable[Change]) -> None:
        """Write changes read from the changelog, with their offset, in one batch a partition."""
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
        try:
            for partition, batch in batches.items():
                batch.put(Store.offset_key, str(offsets[partition]).encode())
                self._rocksdb._db_for_partition(partition).write(batch)
        except Exception as error:
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> GossamerError:
        return GossamerError(
            f"the table in {self.app.conf.tabledir} cannot be read or written ({error}): "
            "see that its disk is sound and has room, and that no other instance uses it"
        )


logger = structlog.get_logger()


@contextmanager
def lock_folder(settings: Settings, changelog: str) -> Iterator[Path]:
    """Lock the folder, bind it to the topic with the id *changelog*, and yield it.

    If its tables were on another changelog, they are on disk only: they lose their offsets, and are
    published. Raise Locked if another process has the folder.
    """
    folder = settings.dedup.folder / settings.service.instance
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "changelog-id").open("a+")
    except OSError as error:
        raise GossamerError(
            f"{folder} cannot be written to ({error.strerror}): "
            "dedup.folder names where an instance keeps its table"
        ) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Locked(
                f"another process uses {folder}: give each a service.instance of its own"
            ) from error
        _bind(lock, folder, changelog)
        yield folder


def _bind(file: IO[str], folder: Path, changelog: str) -> None:
    file.seek(0)
    known = file.read()
    if known == changelog:
        return
    if known:
        logger.warning("the changelog was recreated", folder=str(folder), was=known, now=changelog)
        try:
            forget_offsets(folder)
        except Exception as error:
            raise GossamerError(
                f"the tables in {folder} cannot be read or written ({error}): see that the disk "
                "is sound and has room"
            ) from error
    file.truncate(0)
    file.write(changelog)
    file.flush()
