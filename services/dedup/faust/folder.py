"""The folder of an instance's table: locked by one process, and bound to one changelog."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from gossamer.errors import GossamerError, Locked
from gossamer.settings import Settings


@contextmanager
def own_folder(settings: Settings, changelog: str) -> Iterator[Path]:
    """Lock the folder, and yield it; *changelog* is the id of the topic that its table is of.

    Raise Locked if another process has it, GossamerError if its table is of another changelog.
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
    if (known := file.read()) not in ("", changelog):
        raise GossamerError(
            f"{folder} belongs to another changelog than there is now ({known}, not "
            f"{changelog}): the topic was made anew. Remove the folder and start again: "
            "the table is then rebuilt from the changelog"
        )
    if not known:
        file.write(changelog)
        file.flush()
