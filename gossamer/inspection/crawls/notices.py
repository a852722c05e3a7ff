"""The notices that were raised, and their deliveries, from the topic `notifications`."""

from heapq import nlargest

from msgspec import Struct

from gossamer.events import NoticeRaised, NoticeSent
from gossamer.events.topics import NOTIFICATIONS
from gossamer.inspection.basics.views import view_of
from gossamer.log import Log, read_newest
from gossamer.log.codec import try_decode

MAX_READ_RECORDS = 5_000
"""Notices and deliveries. A thousand notices with four channels each."""


class Sent(Struct, frozen=True):
    """A delivery of a notice."""

    channel: str
    at: float | None
    """When it ended, in epoch seconds; null if it is still tried."""
    error: str = ""
    """Why it was given up; "" if the channel accepted the notice."""


class Notice(Struct, frozen=True, kw_only=True):
    """A notice and its deliveries."""

    id: str
    at: float
    """Epoch seconds."""
    rule: str
    """The name of the rule, `report` or `test`."""
    crawl: str
    """The id of the crawl, or `-` for all crawls."""
    text: str
    subjects: tuple[str, ...]
    """The concerned hosts, or the days of a report."""
    is_over: bool
    """Whether it says that the condition has ended."""
    sent: tuple[Sent, ...]


def read_notices(log: Log, limit: int = 50) -> list[Notice]:
    """Return the newest notices first, at most *limit*. At most `MAX_READ_RECORDS` records of each
    partition are read."""
    raised, sent = list[NoticeRaised](), dict[str, list[NoticeSent]]()
    for record in read_newest(log, NOTIFICATIONS.name, MAX_READ_RECORDS).records:
        match try_decode(record):
            case NoticeRaised() as notice:
                raised.append(notice)
            case NoticeSent() as one:
                sent.setdefault(one.id, []).append(one)
    newest = nlargest(limit, raised, key=lambda notice: (notice.at, notice.number))
    return [_notice(notice, sent.get(notice.id, [])) for notice in newest]


def _notice(notice: NoticeRaised, sent: list[NoticeSent]) -> Notice:
    ended = {one.channel: Sent(one.channel, one.at, one.error) for one in sent}
    open_ones = {name: Sent(name, None) for name in notice.channels}
    return view_of(Notice, notice, sent=tuple((open_ones | ended).values()))
