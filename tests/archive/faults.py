"""Death at a chosen instant: between two system calls of the archive, or half way in a write."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gossamer.log.sqlite import SqliteLog, SqliteReader
from gossamer.store.sqlite import SqliteStore
from services.archive.files import segment

CALLS = ("open", "write", "fsync", "ftruncate", "replace", "truncate", "unlink")


class Killed(BaseException):
    """What kill -9 would have done: no handler of the code under test catches it."""


class Death:
    """Counts instants, and strikes at the one it was set to."""

    def __init__(self) -> None:
        self.left: int | None = None
        self._handles: set[int] = set()

    def tick(self) -> bool:
        """Whether this instant is the last."""
        if self.left is not None:
            self.left -= 1
        return self.left == -1

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return *call* with an instant before and one after it."""

        def mortal(*args: Any, **kwargs: Any) -> Any:
            self.strike()
            result = call(*args, **kwargs)
            if call is os.open:
                self._handles.add(result)
            self.strike()
            return result

        return mortal

    def write(self, handle: int, data: memoryview) -> int:
        """Write, or half of it and die."""
        if self.tick():
            os.write(handle, data[: len(data) // 2])
            raise Killed
        return os.write(handle, data)

    def close(self, handle: int) -> None:
        """Close a handle and forget its number, which the system may give to another file."""
        self._handles.discard(handle)
        os.close(handle)

    def strike(self) -> None:
        """Die, if this is the instant."""
        if self.tick():
            raise Killed

    def bury(self) -> None:
        """Close what the dead process had open, as the system does."""
        for handle in self._handles:
            os.close(handle)
        self._handles.clear()
        self.left = None


class _MortalSystem:
    def __init__(self, death: Death) -> None:
        for name in CALLS:
            setattr(self, name, death.around(getattr(os, name)))
        self.write, self.close = death.write, death.close

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


@contextmanager
def mortality() -> Iterator[Death]:
    """Put instants around every system call on segments and every step of a commit."""
    death = Death()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment, "os", _MortalSystem(death))
        for kind, name in (
            (SqliteReader, "advance"),
            (SqliteStore, "flush"),
            (SqliteLog, "append"),
        ):
            patch.setattr(kind, name, death.around(getattr(kind, name)))
        yield death
        death.bury()
