"""A map in memory instead of RocksDB. See `gossamer.services.dedup.replicated.Disk`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence


class MemoryDisk:
    """Stores rows until it is dropped."""

    def __init__(self, rows: dict[bytes, bytes] | None = None) -> None:
        self.rows = {} if rows is None else rows

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the value of each of *keys*, or None."""
        return [self.rows.get(key) for key in keys]

    def write(self, rows: Mapping[bytes, bytes | None], dropped: Iterable[bytes] = ()) -> None:
        """Remove all keys that begin with one of *dropped*; write all *rows*; None removes one."""
        for key in [key for key in self.rows if key.startswith(tuple(dropped))]:
            del self.rows[key]
        for key, value in rows.items():
            if value is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = value

    def scan(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield all keys and values in the order of the keys."""
        yield from sorted(self.rows.items())

    def close(self) -> None:
        """Keep all rows."""
