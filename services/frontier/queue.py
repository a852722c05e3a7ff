"""A host's two queues: append-only buckets in the store, with cursors in the host's row.

One has the URLs that were never visited, the other those to visit again; so what is due of a host
with a million new URLs does not wait behind all of them. While both have some they take turns, an
order at a time, so that new URLs get their share of the visits (`turned`). Each crawl has buckets
of its own. A bucket that the cursor has passed is dropped whole.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from gossamer.store import Table
from gossamer.web.validators import NO_VALIDATORS
from services.frontier.bucketed_log import BucketedLog
from services.frontier.memory import CachePart, Memory
from services.frontier.rows import ErasedQueues, HostRow, Origin, QueuedUrl, QueueEnds

BUCKET = 100
"""URLs in a bucket."""
LATELY = 5
"""Buckets before the last that one step may fill."""
MOST = 20
"""URLs of one queue that are kept in memory."""


class Heads:
    """The first URLs of queues, in memory: what comes alone is visited soon, and is not read."""

    def __init__(self, rows: CachePart[str, list[QueuedUrl]]) -> None:
        self._rows = rows

    def append(self, site: str, url: QueuedUrl, is_first: bool) -> None:
        """Take in *url*, put behind all others; *is_first*: there is no other."""
        rows = self._rows.get(url.bucket)
        if is_first:
            self.put(site, [url])
        elif rows and rows[-1].position == url.position - 1 and len(rows) < MOST:
            self._rows.put(url.bucket, [*rows, url], site)

    def put(self, site: str, rows: list[QueuedUrl]) -> None:
        """Take in *rows* of one bucket, in place of what there was."""
        if rows and rows[-1].position - rows[0].position == len(rows) - 1:
            self._rows.put(rows[0].bucket, rows[:MOST], site)

    def first(self, bucket: str, cursor: int, most: int) -> list[QueuedUrl]:
        """Return the rows from *cursor*, *most* or up to the bucket's end, if all are here."""
        rows, end = self._rows.get(bucket) or [], min(cursor + most, BUCKET)
        while rows and rows[0].position < cursor:
            rows.pop(0)
        if not rows or rows[0].position != cursor or rows[-1].position < end - 1:
            return []
        return rows[: end - cursor]

    def drop(self, bucket: str) -> None:
        """Forget a bucket that was passed."""
        self._rows.remove(bucket)


class HostQueues:
    """The queues of a partition's hosts in one *crawl*. Methods take a host's row and return its
    new row."""

    def __init__(
        self,
        urls: Table[QueuedUrl],
        crawl: str,
        heads: CachePart[str, list[QueuedUrl]] | None = None,
    ) -> None:
        """*heads* is the cache of the partition; without one, these queues have their own."""
        self._urls, self._crawl = urls, crawl
        self._heads = Heads(heads or Memory().part().queue_heads)

    def append(self, host: HostRow, urls: Sequence[QueuedUrl]) -> HostRow:
        """Put *urls*, all of the crawl and of one queue, behind all others there, in their order.

        Their buckets and positions are set here.
        """
        again = is_again(urls[0])
        ends = _ends(host, again)
        log, queued = self._log(host, again), ends.queued
        if not host.queued:
            host = replace(host, number=urls[0].number, is_again_next=again)
        for url in urls:
            url, ends = log.append(ends, url, BUCKET)
            self._heads.append(host.site, url, is_first=not queued)
            queued += 1
        return _with_ends(host, again, replace(ends, queued=queued))

    def _log(self, host: HostRow, again: bool) -> BucketedLog[QueuedUrl]:
        which = "again" if again else "new"
        return BucketedLog(self._urls, f"{host.host} {which}", self._crawl)

    def first(self, host: HostRow, count: int) -> list[QueuedUrl]:
        """Return the first *count* URLs of the queue whose turn it is, fewer at a bucket's end.

        None only if both are empty.
        """
        if not host.queued:
            return []
        ends = _ends(host, host.is_again_next)
        most = ends.readable(count)
        log = self._log(host, host.is_again_next)
        if found := self._heads.first(log.bucket(ends.head), ends.cursor, most):
            return found
        found = log.page(ends.head, ends.cursor - 1, most)
        self._heads.put(host.site, found)
        return found

    def passed(self, host: HostRow, count: int) -> HostRow:
        """Move the cursor past the first *count* URLs."""
        for _ in range(count):
            host = self.advance(host)
        return host

    def advance(self, host: HostRow) -> HostRow:
        """Move the cursor past the first URL; after the last one it is the other queue's turn."""
        again = host.is_again_next
        ends = _ends(host, again)
        head, cursor = ends.head, ends.cursor + 1
        if cursor >= BUCKET:
            log = self._log(host, again)
            log.drop(head)
            self._heads.drop(log.bucket(head))
            head, cursor = head + 1, 0
            # The next append goes to a new bucket, also when this was the last.
        ends = replace(ends, head=head, cursor=cursor, queued=ends.queued - 1)
        host = _with_ends(host, again, ends)
        return host if ends.queued else replace(host, is_again_next=host.again.queued > 0)

    def renumbered(self, host: HostRow) -> HostRow:
        """Return the row with the request number of what is now first."""
        first = self.first(host, 1)
        return replace(host, number=first[0].number) if first else host

    def new_urls(self, host: HostRow) -> set[str]:
        """Return the URLs that were never visited, without errands; all of them are read."""
        return {queued.url for queued in self._queued(host, False) if not queued.on_behalf_of}

    def has_lately(self, host: HostRow, url: str, again: bool) -> bool:
        """Return whether *url* is among the last URLs of a queue, as many as one step appends.

        Errands do not count: they are no visits to the page at their URL.
        """
        tail = _ends(host, again).tail
        return any(
            queued.url == url and not queued.on_behalf_of
            for queued in self._queued(host, again, tail - LATELY)
        )

    def find(self, host: HostRow, url: str) -> tuple[int, QueuedUrl] | None:
        """Return how many URLs of its queue are ahead of *url*, and its entry; None if it is in
        neither."""
        return self._find(host, True, url) or self._find(host, False, url)

    def erase(self, host: HostRow, url: str) -> int:
        """Erase the entries of *url*, which then have none; return how many there were."""
        count = 0
        for again in (True, False):
            ends, log = _ends(host, again), self._log(host, again)
            # Those before the cursor, too: a bucket is dropped whole.
            queued = [*log.rows(ends.head, ends.tail, end=ends.tail_size)]
            for one in [one for one in queued if one.url == url]:
                erased = replace(one, url="", on_behalf_of="", origin=Origin(), statistics=b"")
                self._urls.put(replace(erased, validators=NO_VALIDATORS))
                self._heads.drop(one.bucket)
                count += 1
        return count

    def clear(self, host: HostRow) -> HostRow:
        """Empty both queues. Their rows stay until `drop_cleared`, so that `cleared` finds them."""
        erased = host.erased
        if erased.new is None or erased.again is None:
            erased = ErasedQueues(host.new.head, host.again.head)
        # In a new bucket: what is put there is not dropped with the others.
        new, again = (
            QueueEnds(head=ends.tail + 1, tail=ends.tail + 1) for ends in (host.new, host.again)
        )
        return replace(host, new=new, again=again, erased=erased, is_again_next=False, owed=0.0)

    def cleared(self, host: HostRow) -> Iterator[QueuedUrl]:
        """Yield the URLs that `clear` has taken out of the queues; all of them are read."""
        for again, first, last in _cleared(host):
            yield from self._log(host, again).rows(first, last)

    def drop_cleared(self, host: HostRow) -> HostRow:
        """Drop what `clear` has taken out of the queues."""
        for again, first, last in _cleared(host):
            log = self._log(host, again)
            for number in range(first, last + 1):
                log.drop(number)
                self._heads.drop(log.bucket(number))
        return replace(host, erased=ErasedQueues())

    def _find(self, host: HostRow, again: bool, url: str) -> tuple[int, QueuedUrl] | None:
        for ahead, queued in enumerate(self._queued(host, again)):
            if queued.url == url:
                return ahead, queued
        return None

    def _queued(self, host: HostRow, again: bool, first: int = 0) -> Iterator[QueuedUrl]:
        """Yield the URLs of a queue, from the bucket *first* on."""
        ends = _ends(host, again)
        if not ends.queued:
            return iter(())
        after = ends.cursor - 1 if first <= ends.head else None
        first = max(first, ends.head)
        return self._log(host, again).rows(first, ends.tail, after, ends.tail_size)


def is_again(url: QueuedUrl) -> bool:
    """Return whether *url* waits among those to visit again: a visit to it has ended before."""
    return url.earlier > 0


def _cleared(host: HostRow) -> Iterator[tuple[bool, int, int]]:
    """Yield for each queue whether it is `again`, and its first and last cleared bucket."""
    if host.erased.new is not None and host.erased.again is not None:
        yield False, host.erased.new, host.new.head - 1
        yield True, host.erased.again, host.again.head - 1


def turned(host: HostRow, made: int, share: float) -> HostRow:
    """Return a host of which both queues wait with the one whose turn is next.

    *made* visits were of the one whose turn it was; *share* of all visits are to be to new URLs.
    """
    owed = host.owed + made * (-share if host.is_again_next else 1 - share)
    return replace(host, owed=owed, is_again_next=owed > 0)


def _ends(host: HostRow, again: bool) -> QueueEnds:
    return host.again if again else host.new


def _with_ends(host: HostRow, again: bool, ends: QueueEnds) -> HostRow:
    return replace(host, again=ends) if again else replace(host, new=ends)
