"""What the topic `notifications` says: the last notice of each rule, and the deliveries that are
left."""

from collections.abc import Iterable, Iterator

from gossamer.events import NoticeRaised, NoticeSent
from gossamer.log import Record
from gossamer.log.codec import try_decode

Delivery = tuple[str, str]
"""The id of a notice, and the name of a channel."""


class Memory:
    """The state after some records of the topic. The records of a crawl must be in order."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], NoticeRaised] = {}
        self._pending: dict[Delivery, NoticeRaised] = {}

    def add(self, records: Iterable[Record]) -> None:
        """Apply further *records*. Unreadable ones are skipped."""
        for record in records:
            match try_decode(record):
                case NoticeRaised() as notice:
                    self._raise(notice)
                case NoticeSent() as sent:
                    self._pending.pop((sent.id, sent.channel), None)

    def _raise(self, notice: NoticeRaised) -> None:
        key = (notice.rule, notice.crawl)
        last = self._last.get(key)
        if last and notice.number <= last.number:
            return  # Two processes have raised a notice with this number: the first one counts.
        self._last[key] = notice
        self._pending |= {(notice.id, channel): notice for channel in notice.channels}

    def last(self, rule: str, crawl: str) -> NoticeRaised | None:
        """Return the last notice of *rule* about *crawl*; None before the first."""
        return self._last.get((rule, crawl))

    def pending(self) -> Iterator[tuple[NoticeRaised, str]]:
        """Yield the notices that are to be sent, each with the channel, the oldest first."""
        for (_, channel), notice in self._pending.items():
            yield notice, channel
