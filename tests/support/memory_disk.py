"""A map in memory instead of RocksDB. See `gossamer.services.dedup.replicated.Disk`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from gossamer.errors import GossamerError


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

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys with *prefix* and their values, in the order of the keys."""
        yield from sorted(row for row in self.rows.items() if row[0].startswith(prefix))

    def take_copy(self, prefix: bytes) -> Callable[[Path], None]:
        """Return a function that writes the present rows with *prefix* to a file."""
        data = msgspec.msgpack.encode([*self.scan(prefix)])

        def write(path: Path) -> None:
            path.write_bytes(data)

        return write

    def load_copy(self, prefix: bytes, path: Path) -> None:
        """Replace all rows with *prefix* by those in the file *path*, which is removed."""
        self.write({}, [prefix])
        try:
            rows = msgspec.msgpack.decode(path.read_bytes(), type=list[tuple[bytes, bytes]])
        except msgspec.DecodeError as error:
            raise GossamerError(f"a map in memory cannot read {path}") from error
        self.rows |= dict(rows)
        path.unlink()

    def close(self) -> None:
        """Keep all rows."""
