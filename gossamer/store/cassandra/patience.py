"""Requests to nodes that are away for a moment are made again.

A failed request ends the work of a process: log and store are opened anew, and all partitions are
claimed and loaded again. So a moment is waited for here, whatever the request is part of. All
requests have the effect of one if they are repeated: a write has a timestamp of ours, and a
conditional write returns the row that stands, which may be the one that it has written itself.
"""

from collections.abc import Callable
from typing import TypeVar

import structlog

from gossamer import clock
from gossamer.errors import Unavailable
from gossamer.retries import waits

logger = structlog.get_logger()

LIMIT = 5.0
"""Seconds that failed requests, and the waits after them, may take between two flushes: a loop that
waits for longer does not poll, and looks dead."""

T = TypeVar("T")


class Patience:
    """What is left of the seconds for failed requests, until it is renewed."""

    def __init__(self) -> None:
        self._left = LIMIT

    def renew(self) -> None:
        """Begin to count anew."""
        self._left = LIMIT

    def ask(self, request: Callable[[], T]) -> T:
        """Return the answer to *request*, which may be made several times.

        Raise Unavailable if it fails, and the time that is left does not suffice for another
        attempt.
        """
        for wait in waits():
            began = clock.steady()
            try:
                return request()
            except Unavailable as error:
                self._left -= clock.steady() - began + wait
                if self._left < 0:
                    raise
                logger.warning("waiting", why=str(error), seconds=wait)
                clock.pause(wait)
        raise AssertionError("waits never end")
