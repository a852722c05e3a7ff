"""A sorted map on an instance's disk, in RocksDB; see `services.dedup.replicated.Disk`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from rocksdict import BlockBasedOptions, Cache, Options, Rdict, WriteBatch

from gossamer.errors import GossamerError, Locked

BLOOM_BITS = 10
"""Bits a key: most lookups are of new URLs, and the filters answer those without a read."""
CACHE = 64 << 20
"""Bytes of blocks, indexes and filters in memory."""
WRITE_BUFFER = 16 << 20
OPEN_FILES = 256


class RocksDisk:
    """The map in *folder*, which one process may have open."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # Named here as well, the default column family keeps its options at every start.
            options = _options()
            self._db = Rdict(str(folder), options, column_families={"default": options})
        except OSError as error:
            raise GossamerError(
                f"{folder} cannot be written to ({error.strerror}): "
                "dedup.folder names where an instance keeps its table"
            ) from error
        except Exception as error:
            if "lock" in str(error).lower():
                raise Locked(
                    f"another process uses {folder}: give each a service.instance of its own"
                ) from error
            raise self._broken(error) from error

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the value of each of *keys*, or None."""
        try:
            return cast(list[bytes | None], self._db[[*keys]]) if keys else []
        except Exception as error:
            raise self._broken(error) from error

    def write(self, rows: Mapping[bytes, bytes | None]) -> None:
        """Write all *rows* or, after a crash, none of them; None removes one."""
        batch = WriteBatch(raw_mode=True)
        for key, value in rows.items():
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        try:
            self._db.write(batch)
        except Exception as error:
            raise self._broken(error) from error

    def scan(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield all keys and values in the order of the keys, as they were at the first."""
        try:
            yield from self._db.snapshot().items()
        except Exception as error:
            raise self._broken(error) from error

    def close(self) -> None:
        """Let another process open it."""
        self._db.close()

    def _broken(self, error: Exception) -> GossamerError:
        return GossamerError(
            f"the table in {self._folder} cannot be read or written ({error}): see that its disk "
            "is sound and has room. If it is lost, remove the folder: the table is read again from "
            "the topic urls.seen"
        )


def _options() -> Options:
    table = BlockBasedOptions()
    table.set_bloom_filter(BLOOM_BITS, block_based=False)
    table.set_block_cache(Cache(CACHE))
    table.set_cache_index_and_filter_blocks(True)
    table.set_pin_l0_filter_and_index_blocks_in_cache(True)
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_block_based_table_factory(table)
    options.set_write_buffer_size(WRITE_BUFFER)
    options.set_max_open_files(OPEN_FILES)
    return options
