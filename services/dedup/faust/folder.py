"""The folder of an instance's table: locked by one process, and bound to one changelog."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import structlog

from gossamer.errors import GossamerError, Locked
from gossamer.settings import Settings
from services.dedup.faust.tables import forget_offsets

logger = structlog.get_logger()


@contextmanager
def own_folder(settings: Settings, changelog: str) -> Iterator[Path]:
    """Lock the folder, bind it to the topic with the id *changelog*, and yield it.

    If its tables were on another changelog, they are on disk only: they lose their offsets, and are
    published. Raise Locked if another process has the folder.
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
    known = file.read()
    if known == changelog:
        return
    if known:
        logger.warning("the changelog was recreated", folder=str(folder), was=known, now=changelog)
        try:
            forget_offsets(folder)
        except Exception as error:
            raise GossamerError(
                f"the tables in {folder} cannot be read or written ({error}): see that the disk "
                "is sound and has room"
            ) from error
    file.truncate(0)
    file.write(changelog)
    file.flush()
