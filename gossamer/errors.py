"""Exceptions, named by their consequence.

Failures of the Web are not exceptions but outcomes (`gossamer.events.Outcome`).
"""


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
