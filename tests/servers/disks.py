"""Disks of one test, which can be full. They are in memory; root is needed to mount them."""

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
        """Fill the disk to the last byte."""
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
        """Delete the file."""
        self._ballast.unlink(missing_ok=True)


@contextmanager
def mount_disk(folder: Path, megabytes: int) -> Iterator[Disk]:
    """Mount a disk at *folder* within a block."""
    folder.mkdir(parents=True, exist_ok=True)
    size = f"size={megabytes}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "gossamer-test", folder], check=True)
    try:
        yield Disk(folder)
    finally:
        # Lazily, since a server may still be stopping.
        subprocess.run(["umount", "--lazy", folder], check=True)
