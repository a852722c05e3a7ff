"""The right to send notices, which one process at a time has."""

import fcntl
import os
from pathlib import Path
from typing import Protocol

from gossamer.errors import GossamerError, Unavailable
from gossamer.store import Store
from gossamer.store.claims import SECOND, Claimant, WindowRow, claim_key

KIND = "notifier"
LOCK_FILE = "notifier.lock"
"""The file in the folder of a crawl that the sender locks."""


class Lease(Protocol):
    """The right of one process."""

    def hold(self, now: float) -> bool:
        """Return whether this process has the right at *now*. Call it every few seconds.

        Raise Unavailable if the store does not answer.
        """

    def release(self) -> None:
        """Give the right up."""


class FolderLease:
    """A lock on a file, which ends with the process."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_FILE
        self._lock: int | None = None

    def hold(self, now: float) -> bool:
        """Return whether this process has the lock. Raise GossamerError if the folder is not
        writable."""
        if self._lock is not None:
            return True
        try:
            lock = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise GossamerError(f"{self._path} cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return False
        self._lock = lock
        return True

    def release(self) -> None:
        """Unlock the file."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class FleetLease:
    """A claim in the store. It is taken from another process only when that one has stopped to
    renew its window, for about ten seconds."""

    def __init__(self, store: Store) -> None:
        """*store* belongs to the notifier alone, because its flushes renew the claim."""
        self._store = store
        self._claimant = Claimant(store, KIND)
        self._is_claimed = False

    def hold(self, now: float) -> bool:
        """Return whether this process has had the claim since an earlier call. Another process that
        claimed it at the same time has noticed by then."""
        if self._is_claimed:
            try:
                self._store.flush()
            except Unavailable:
                self.release()
                raise
            return True
        window = self._store.table(WindowRow).get(claim_key(0, KIND))
        if window is None or window.ends_at < now * SECOND:
            self._claimant.claim([0], now)
            self._is_claimed = True
        return False

    def release(self) -> None:
        """Let others claim it when the window has ended."""
        self._claimant.release([0])
        self._is_claimed = False
