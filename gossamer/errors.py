"""Exceptions, named by their consequence, and the waits before retries of an unavailable server.

Failures of the Web are not exceptions but outcomes (`gossamer.events.Outcome`).
"""

from collections.abc import Iterator


class GossamerError(Exception):
    """An error for a person: the message states what failed, where, and what to do."""


class Poison(GossamerError):
    """An unreadable record: it becomes a dead letter, and the log advances."""


class Newer(GossamerError):
    """Data written by a newer version: it waits for a process that can read it."""


class BadSettings(GossamerError):
    """Invalid settings: refused by name at the start."""


class Unavailable(GossamerError):
    """A server does not answer: retry, because it may be starting."""


class Fenced(Unavailable):
    """This process is not a member of the group any more: log and store must be reopened."""


class Corrupt(GossamerError):
    """A damaged data file: leave it unchanged, and stop."""


class NoSpace(GossamerError):
    """The disk is full: stop, and continue from the last commit in the next run."""


class Locked(GossamerError):
    """Another crawl holds the lock of the data folder."""


MIN_RETRY_WAIT, MAX_RETRY_WAIT = 0.25, 5.0
"""Minimum and maximum seconds of a wait."""


def retry_waits() -> Iterator[float]:
    """Yield the seconds before each further attempt, without end. Each wait is twice the one
    before."""
    wait = MIN_RETRY_WAIT
    while True:
        yield wait
        wait = min(2 * wait, MAX_RETRY_WAIT)
