"""The folder of an instance's table: its own, lasting, and of one changelog."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gossamer.config import Settings
from gossamer.errors import GossamerError, InUse


@contextmanager
def own_folder(settings: Settings, changelog: str) -> Iterator[Path]:
    """Hold the folder; raise GossamerError if its table is not of the topic with id *changelog*."""
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
            raise InUse(
                f"another process uses {folder}: give each a service.instance of its own"
            ) from error
        lock.seek(0)
        if (known := lock.read()) not in ("", changelog):
            raise GossamerError(
                f"{folder} belongs to another changelog than there is now ({known}, not "
                f"{changelog}): the topic was made anew. Remove the folder and start again: "
                "the table is then rebuilt from the changelog"
            )
        if not known:
            lock.write(changelog)
            lock.flush()
        yield folder
