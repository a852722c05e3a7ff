"""Retries requests to nodes that are unavailable for a moment.

A failed request ends the work of a process: log and store are reopened, and all partitions are
claimed and loaded again. Short outages are therefore bridged here, for all requests. Every request
may be repeated without a further effect: a write has our timestamp, and a conditional write returns
the stored row, which may be its own.
"""

from collections.abc import Callable
from typing import TypeVar

import structlog

from gossamer import clock
from gossamer.errors import Unavailable
from gossamer.retries import waits

logger = structlog.get_logger()

MAX_RETRY_SECONDS = 5.0
"""Maximum total seconds of failed requests and their waits between two flushes. A loop that waits
longer does not poll, and its group considers it crashed."""

T = TypeVar("T")


class RetryBudget:
    """The remaining time for failed requests, until it is renewed."""

    def __init__(self) -> None:
        self._left = MAX_RETRY_SECONDS

    def renew(self) -> None:
        """Reset the remaining time."""
        self._left = MAX_RETRY_SECONDS

    def ask(self, request: Callable[[], T]) -> T:
        """Return the result of *request*, which may be made several times.

        Raise Unavailable if it fails and the remaining time does not suffice for another attempt.
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
