"""Disks of a test's own, which can be full. They are in memory, and to mount them takes root."""

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEGABYTE = 1 << 20


class Disk:
    """A small disk, and the file that fills it."""

    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Leave no byte free."""
        with self._ballast.open("wb", buffering=0) as file:
            size = MEGABYTE
            while size:
                try:
                    file.write(b"\0" * size)
                except OSError as error:
                    if error.errno != errno.ENOSPC:
                        raise
                    size //= 2

    def free(self) -> None:
        """Take the file away."""
        self._ballast.unlink(missing_ok=True)


@contextmanager
def mounted(folder: Path, megabytes: int) -> Iterator[Disk]:
    """Mount one at *folder* for a while."""
    folder.mkdir(parents=True, exist_ok=True)
    size = f"size={megabytes}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "gossamer-test", folder], check=True)
    try:
        yield Disk(folder)
    finally:
        # Lazily: a server may still be about to end.
        subprocess.run(["umount", "--lazy", folder], check=True)
