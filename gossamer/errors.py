"""Failures, named by their fate, so that the place that catches one need not guess.

What the Web does wrong is no exception here: it is an outcome (`gossamer.events.Outcome`).
"""


class GossamerError(Exception):
    """Something a person has to be told: the text says what, where, and what to do."""


class Poison(GossamerError):
    """A record nobody can read: it goes to the dead letters, and the log moves on."""


class BadSettings(GossamerError):
    """Settings that make no sense: refused at the start, by name."""


class Absent(GossamerError):
    """A server does not answer: it is waited for, since it may be on its way."""


class Damaged(GossamerError):
    """A data file is not what was written: nothing more is done with it."""


class NoSpace(GossamerError):
    """The disk is full: everything stops where it is, and goes on from there later."""


class InUse(GossamerError):
    """Another crawl holds the data folder."""
