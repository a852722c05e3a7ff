"""What is made once a run, whichever of the test processes needs it first."""

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock *path* meanwhile; other processes wait for it."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def once(path: Path, make: Callable[[], Any]) -> Any:
    """Return what *make* gave to the first who asked: something that JSON can hold, kept in *path*.

    Whoever asks meanwhile waits. If making it fails, the next one tries again.
    """
    with locked(path.with_suffix(".lock")):
        if not path.exists():
            path.write_text(json.dumps(make()))
    return json.loads(path.read_text())
