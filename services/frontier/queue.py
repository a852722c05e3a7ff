"""A host's queue: append-only segments in the store, with a cursor in the host's row.

Nothing is ever deleted from within a segment; a segment that the cursor has passed is dropped
whole. (Cassandra pays for deleted rows at every later read.)
"""

from msgspec.structs import replace

from gossamer.store import Table
from services.frontier.rows import HostRow, QueuedUrl

SEGMENT = 100
"""URLs in a segment."""


class HostQueues:
    """The queues of all hosts. Methods take a host's row and return it as it is afterwards."""

    def __init__(self, urls: Table[QueuedUrl]) -> None:
        self._urls = urls

    def append(self, host: HostRow, url: QueuedUrl) -> HostRow:
        """Put *url* behind all others of its host; its segment and position are set here."""
        full = host.tail_size >= SEGMENT
        segment, position = (host.tail + 1, 0) if full else (host.tail, host.tail_size)
        self._urls.put(replace(url, segment=_key(host, segment), position=position))
        number = host.number if host.queued else url.number
        return replace(
            host,
            tail=segment,
            tail_size=position + 1,
            queued=host.queued + 1,
            number=number,
        )

    def first(self, host: HostRow, count: int) -> list[QueuedUrl]:
        """Return the first *count* URLs, fewer at a segment's end; none only if it is empty."""
        if not host.queued:
            return []
        # Beyond the end there may be rows of a flush that a crash has cut short.
        return self._urls.scan(_key(host, host.head), host.cursor - 1, min(count, host.queued))

    def passed(self, host: HostRow, count: int) -> HostRow:
        """Move the cursor past the first *count* URLs."""
        for _ in range(count):
            host = self.advance(host)
        return host

    def advance(self, host: HostRow) -> HostRow:
        """Move the cursor past the first URL."""
        head, cursor = host.head, host.cursor + 1
        if cursor >= SEGMENT:
            self._urls.drop(_key(host, head))
            head, cursor = head + 1, 0
            # The next append goes to a new segment, also when this was the last.
        return replace(host, head=head, cursor=cursor, queued=host.queued - 1)

    def renumbered(self, host: HostRow) -> HostRow:
        """Return the row with the request number of what is now first in the queue."""
        first = self.first(host, 1)
        return replace(host, number=first[0].number) if first else host

    def find(self, host: HostRow, url: str) -> tuple[int, QueuedUrl] | None:
        """Return how many URLs are ahead of *url*, and its entry; None if it is not queued."""
        ahead = 0
        for segment in range(host.head, host.tail + 1):
            after = host.cursor - 1 if segment == host.head else None
            for queued in self._urls.scan(_key(host, segment), after, SEGMENT):
                if queued.url == url:
                    return ahead, queued
                ahead += 1
        return None


def _key(host: HostRow, segment: int) -> str:
    return f"{host.host} {segment}"
