"""Results that are computed once a run, by the first test process that needs them."""

import fcntl
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Hold the lock *path* within a block; other processes wait for it."""
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def once(path: Path, make: Callable[[], Any]) -> Any:
    """Return the result of *make*, a JSON value that is stored in *path*.

    Only the first caller runs *make*; others wait for it. If it fails, the next caller tries again.
    """
    with lock(path.with_suffix(".lock")):
        if not path.exists():
            path.write_text(json.dumps(make()))
    return json.loads(path.read_text())
