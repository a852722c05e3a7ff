"""Where an export goes: files below a folder, which may be a local one or a bucket, or standard
output.

A file is there whole or not at all. It is written beside its place, or into a temporary file if its
place is not on this machine.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, NamedTuple, cast
from urllib.parse import urlsplit

from gossamer.errors import BadSettings, GossamerError
from gossamer.volumes import PARTIAL_SUFFIX, Volume

STDOUT = "-"


class Target(NamedTuple):
    """A folder, or one file in it; standard output without a folder."""

    shown: str
    """The target as it was named, for people."""
    folder: Volume | None
    name: str
    """The name of the file in the folder; "" means that the whole folder is the target."""

    @property
    def is_folder(self) -> bool:
        """Whether the target is a whole folder."""
        return self.folder is not None and not self.name

    @contextmanager
    def create(self, name: str = "") -> Iterator[BinaryIO]:
        """Yield the file *name* of the folder, or the file that is the target, to be written.

        It is complete at the end of the block, and missing or unchanged after an error.
        """
        if self.folder is None:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
            return
        name = self.name or name
        with self._translate():
            if (local := self.folder.path) is not None:
                with _create_local(local / name) as file:
                    yield file
                return
            with NamedTemporaryFile() as temporary:
                yield cast(BinaryIO, temporary)
                temporary.flush()
                self.folder.put(name, Path(temporary.name))

    @contextmanager
    def _translate(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            raise BadSettings(f"{self.shown} cannot be written: {error}") from error


@contextmanager
def _create_local(path: Path) -> Iterator[BinaryIO]:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL_SUFFIX}")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def open_target(text: str, needs_folder: bool) -> Target:
    """Return the target that is named *text*. Raise BadSettings if it cannot be used.

    It is a folder if it ends with "/", if it is a local folder, or if *needs_folder*.
    """
    if text == STDOUT:
        if needs_folder:
            raise BadSettings("several files cannot be written to standard output: name a folder")
        return Target("standard output", None, "")
    is_remote = bool(urlsplit(text).scheme) and "://" in text
    if needs_folder or text.endswith("/") or (not is_remote and Path(text).is_dir()):
        if not is_remote and Path(text).is_file():
            raise BadSettings(f"{text} is a file: name a folder")
        return Target(text, Volume(text), "")
    place, separator, name = text.rpartition("/")
    if is_remote and (not name or place.endswith(":/") or not place):
        raise BadSettings(f"{text} names no file in a folder or bucket")
    folder = place if is_remote else str(Path(text).parent)
    try:
        return Target(text, Volume(folder), name if separator else Path(text).name)
    except OSError as error:
        raise GossamerError(f"{text} cannot be written: {error}") from error
