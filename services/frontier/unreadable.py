"""Hosts whose pages the parser cannot read: how long they are left alone.

A page that takes a parser until its time limit costs what a thousand others do. A host that has
nothing but such pages must not take the parsers from everybody else. It is the frontier that holds
it back: its URLs wait in their queue, and none is fetched to be thrown away unread.
"""

from gossamer.events import PageJudged, Verdict
from gossamer.settings import FrontierSettings
from services.frontier.rows import Unread

LONGEST = 86400.0
"""The longest that a host is left alone for it, in seconds."""


def is_unreadable(unread: Unread, settings: FrontierSettings) -> bool:
    """Return whether one page at a time is enough, to see if the host is as it was."""
    return 0 < settings.unread_limit <= unread.pages


def left_alone_until(unread: Unread, settings: FrontierSettings) -> float:
    """Return until when a host is left alone; 0 if it need not be."""
    if not is_unreadable(unread, settings):
        return 0.0
    doubled = 2.0 ** min(unread.pages - settings.unread_limit, 30)
    return unread.at + min(settings.unread_wait * doubled, LONGEST)


def counted(before: Unread, event: PageJudged, settings: FrontierSettings) -> Unread:
    """Return what is known once *event* has come: a page that was read ends it.

    One that was under way when the host began to be left alone makes that no longer.
    """
    if event.verdict is not Verdict.UNREAD:
        return Unread()
    if event.fetched_at < left_alone_until(before, settings):
        return before
    return Unread(before.pages + 1, event.at)
