"""A sorted map in RocksDB, on an instance's disk; see `gossamer.services.dedup.replicated.Disk`."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from threading import Lock
from typing import cast

from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    IngestExternalFileOptions,
    Options,
    Rdict,
    Snapshot,
    SstFileWriter,
    WriteBatch,
)

from gossamer.errors import GossamerError, Locked
from gossamer.settings import DedupSettings

BLOOM_BITS = 10
"""Bits of Bloom filter for each key. Most lookups are for new URLs, and need no read then."""
WRITE_BUFFER_BYTES = 16 << 20
MAX_OPEN_FILES = 512
COPY_CACHE = 1 << 20
"""Bytes of cache for a copy, which is only written."""
FILE_GROWTH = 2
"""Factor by which files grow from level to level, from 64 MB on. With 5 billion keys, a map has
about as many files as may be open. A file that has to be opened again costs further reads."""


class RocksDisk:
    """The map in *folder*, which one process at a time may open.

    *cache*: memory for blocks, indexes and filters, in bytes. Indexes and filters are divided into
    partitions of the size of a block. A filter of a whole file does not fit a cache, which has many
    parts, and would be read by every lookup.
    """

    def __init__(self, folder: Path, cache: int = DedupSettings().cache) -> None:
        self._folder = folder
        self._copying, self._is_closed = Lock(), False
        self._snapshot: Snapshot | None = None
        """The snapshot of a copy that is not begun yet."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Without `column_families`, the options would be lost when the map is reopened.
            options = _options(cache)
            self._db = Rdict(str(folder), options, column_families={"default": options})
        except OSError as error:
            raise GossamerError(
                f"{folder} cannot be written to ({error.strerror}): "
                "set dedup.folder to a folder for this instance's table"
            ) from error
        except Exception as error:
            if "lock" in str(error).lower():
                raise Locked(
                    f"another process uses {folder}: set a service.instance for each process"
                ) from error
            raise self._translate_error(error) from error

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """See `Disk`."""
        try:
            return cast(list[bytes | None], self._db[[*keys]]) if keys else []
        except Exception as error:
            raise self._translate_error(error) from error

    def write(self, rows: Mapping[bytes, bytes | None], dropped: Iterable[bytes] = ()) -> None:
        """See `Disk`."""
        batch = WriteBatch(raw_mode=True)
        for prefix in dropped:
            batch.delete_range(prefix, prefix[:-1] + bytes([prefix[-1] + 1]))
        for key, value in rows.items():
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        try:
            self._db.write(batch)
        except Exception as error:
            raise self._translate_error(error) from error

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """See `Disk`. The rows are those of a snapshot."""
        try:
            yield from _rows(self._db.snapshot(), prefix)
        except Exception as error:
            raise self._translate_error(error) from error

    def take_copy(self, prefix: bytes) -> Callable[[Path], None]:
        """See `Disk`. The function writes a file of RocksDB."""
        self._snapshot = self._db.snapshot()
        return lambda path: self._write_copy(prefix, path)

    def _write_copy(self, prefix: bytes, path: Path) -> None:
        with self._copying:
            # A snapshot keeps the map open, so none may outlive the lock.
            snapshot, self._snapshot = self._snapshot, None
            if snapshot is None:
                raise GossamerError("the process ends")
            try:
                writer = SstFileWriter(_options(COPY_CACHE))
                writer.open(str(path))
                with closing(_rows(snapshot, prefix)) as rows:
                    for key, value in rows:
                        if self._is_closed:
                            break
                        writer[key] = value
                writer.finish()
            except Exception as error:
                raise self._translate_error(error) from error
            finally:
                del snapshot
            if self._is_closed:
                raise GossamerError("the process ends")

    def load_copy(self, prefix: bytes, path: Path) -> None:
        """See `Disk`."""
        self.write({}, [prefix])
        options = IngestExternalFileOptions()
        options.set_move_files(True)
        try:
            self._db.ingest_external_file([str(path)], options)
        except Exception as error:
            raise GossamerError(f"RocksDB cannot read the copy: {error}") from error
        path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the map, so that another process may open it."""
        self._is_closed = True
        with self._copying:  # A copy that is being written ends early.
            self._snapshot = None
            self._db.close()

    def _translate_error(self, error: Exception) -> GossamerError:
        return GossamerError(
            f"the table in {self._folder} cannot be read or written ({error}): check the disk and "
            "its free space. If the table is damaged, remove the folder: it is restored from the "
            "topic urls.seen"
        )


def _rows(snapshot: Snapshot, prefix: bytes) -> Generator[tuple[bytes, bytes]]:
    """Yield the keys of *snapshot* that begin with *prefix*, and their values."""
    for row in snapshot.items(from_key=prefix):
        key, value = cast(tuple[bytes, bytes], row)
        if not key.startswith(prefix):
            return
        yield key, value


def _options(cache: int) -> Options:
    table = BlockBasedOptions()
    table.set_bloom_filter(BLOOM_BITS, block_based=False)
    table.set_index_type(BlockBasedIndexType.two_level_index_search())
    table.set_partition_filters(True)
    table.set_block_cache(Cache(cache))
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_top_level_index_and_filter(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(table)
    options.set_write_buffer_size(WRITE_BUFFER_BYTES)
    options.set_max_open_files(MAX_OPEN_FILES)
    options.set_target_file_size_multiplier(FILE_GROWTH)
    return options
