"""Crashes at a chosen instant: between two system calls of the archive, or within a write."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gossamer import volumes
from gossamer.log.sqlite import SqliteLog, SqliteReader
from gossamer.services.archive import rewriting
from gossamer.services.archive import segments as segment
from gossamer.store.sqlite import SqliteStore

CALLS = ("open", "write", "fsync", "ftruncate", "replace", "truncate", "unlink")


class Crashed(BaseException):
    """A crash, as by kill -9; no handler of the tested code catches it."""


class Crash:
    """Counts instants, and crashes at the chosen one."""

    def __init__(self) -> None:
        self.left: int | None = None
        self._handles: set[int] = set()

    def tick(self) -> bool:
        """Return whether this instant is the last one."""
        if self.left is not None:
            self.left -= 1
        return self.left == -1

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return *call* with an instant before and one after it."""

        def crashing_call(*args: Any, **kwargs: Any) -> Any:
            self.crash_if_due()
            result = call(*args, **kwargs)
            if call is os.open:
                self._handles.add(result)
            self.crash_if_due()
            return result

        return crashing_call

    def write(self, handle: int, data: memoryview) -> int:
        """Write *data*, or crash after half of it."""
        if self.tick():
            os.write(handle, data[: len(data) // 2])
            raise Crashed
        return os.write(handle, data)

    def close(self, handle: int) -> None:
        """Close a handle, and forget its number, which the system may reuse."""
        self._handles.discard(handle)
        os.close(handle)

    def crash_if_due(self) -> None:
        """Crash, if this is the chosen instant."""
        if self.tick():
            raise Crashed

    def interrupts(self, run: Callable[[], object], instant: int) -> bool:
        """Run *run*, and crash at *instant*; return False if it has ended before."""
        self.left = instant
        try:
            run()
        except Crashed:
            return True
        finally:
            self.left = None
        return False

    def clean_up(self) -> None:
        """Close the files of the crashed process, as the system does."""
        for handle in self._handles:
            os.close(handle)
        self._handles.clear()
        self.left = None


class _CrashingSystem:
    def __init__(self, crash: Crash) -> None:
        for name in CALLS:
            setattr(self, name, crash.around(getattr(os, name)))
        self.write, self.close = crash.write, crash.close

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


@contextmanager
def crashing() -> Iterator[Crash]:
    """Add instants around every system call on segments and every step of a commit."""
    crash = Crash()
    with pytest.MonkeyPatch.context() as patch:
        system = _CrashingSystem(crash)
        patch.setattr(segment, "os", system)
        patch.setattr(rewriting, "os", system)
        patch.setattr(volumes, "os", system)
        for kind, name in (
            (SqliteReader, "advance"),
            (SqliteStore, "flush"),
            (SqliteLog, "append"),
            (volumes.Volume, "put"),
        ):
            patch.setattr(kind, name, crash.around(getattr(kind, name)))
        yield crash
        crash.clean_up()
