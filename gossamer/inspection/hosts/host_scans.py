"""Scans of the table of hosts for the index, in a process of their own, while it is used."""

import multiprocessing
import shutil
from multiprocessing.process import BaseProcess
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from gossamer.errors import Unavailable
from gossamer.inspection.hosts.host_index import HostIndex, fill_index

if TYPE_CHECKING:
    from gossamer.settings import Settings

MIN_INTERVAL = 60.0
"""Seconds from the end of a scan to the next one."""
PAUSE_RATIO = 20
"""Seconds between two scans for each second that a scan takes."""


class HostScans:
    """Keeps an index of the folder *data*, or else of the fleet of *settings*.

    Nothing is scanned before the first call of `index_at`, or while nobody calls it. A process of
    its own reads the table, because a scan of a million hosts needs half a minute of CPU. One
    thread may use the object.
    """

    def __init__(self, data: Path | None, settings: "Settings | None" = None) -> None:
        self._source = data, settings
        self._folder = Path(mkdtemp(prefix="gossamer-hosts-"))
        self._path = self._folder / "hosts.db"
        self._process: BaseProcess | None = None
        self._began_at = 0.0
        self._next_at = 0.0
        self.index = HostIndex(self._path)

    def index_at(self, now: float) -> HostIndex:
        """Return the index for a search at the time *now*, in seconds of a clock that never jumps.

        A scan is started if the last one is old. Its result is used when it has ended; until the
        first one has ended, searches raise Unavailable. Raise Unavailable if it has failed.
        """
        process = self._process
        if process and not process.is_alive():
            self._process = None
            took = self.index.scan_seconds() if self._path.exists() else 0.0
            self._next_at = self._began_at + took + max(MIN_INTERVAL, PAUSE_RATIO * took)
            if process.exitcode and not self._path.exists():
                raise Unavailable("the hosts could not be read: see the log of this process")
        if self._process is None and now >= self._next_at:
            # A forked child would share the connections of this process.
            context = multiprocessing.get_context("spawn")
            self._process = context.Process(
                target=fill_index, args=(self._path, *self._source), daemon=True
            )
            self._began_at = now
            self._process.start()
        return self.index

    def wait(self) -> None:
        """Wait for the end of the present scan."""
        if self._process:
            self._process.join()

    def stop(self) -> None:
        """End a running scan, for which another thread may wait."""
        if (process := self._process) and process.pid:
            process.kill()

    def close(self) -> None:
        """End a running scan and delete the index."""
        self.stop()
        self.wait()
        self.index.close()
        shutil.rmtree(self._folder, ignore_errors=True)
