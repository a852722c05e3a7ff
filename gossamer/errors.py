"""Failures, named by what becomes of them, so that whoever catches one need not guess.

What the Web does wrong is no exception here: it is an outcome (`gossamer.events.Outcome`).
"""


class GossamerError(Exception):
    """Something a person has to know: the message says what, where, and what to do."""


class Poison(GossamerError):
    """A record that cannot be read: it goes to the dead letters, and the log moves on."""


class Newer(GossamerError):
    """Something that a newer version wrote: it waits for a process that knows it."""


class BadSettings(GossamerError):
    """Settings that make no sense: refused by name at the start."""


class Unavailable(GossamerError):
    """A server does not answer: retry, since it may be on its way."""


class Fenced(Unavailable):
    """This member of a group is one no longer: only what is opened anew works again."""


class Corrupt(GossamerError):
    """A data file is not what was written: leave it as it is, and stop."""


class NoSpace(GossamerError):
    """The disk is full: stop here; the next run goes on from the last commit."""


class Locked(GossamerError):
    """Another crawl holds the data folder."""
