"""The two queues of a host: append-only buckets in the store, with cursors in the host's row.

One queue has the URLs that were never visited, the other the URLs to visit again. So a revisit does
not wait behind a million new URLs of its host. While both queues have URLs they take turns, an
order at a time, so that new URLs get their share of the visits (`choose_next_queue`). Each crawl
has buckets of its own. A bucket is dropped whole when the cursor has passed it.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from gossamer.store import Table
from gossamer.web.validators import NO_VALIDATORS
from services.frontier.bucketed_log import BucketedLog
from services.frontier.rows import ErasedQueues, HostRow, Origin, QueuedUrl, QueueEnds
from services.frontier.workbench import CachePart, FrontierCaches

BUCKET_URLS = 100
"""URLs in a bucket."""
RECENT_BUCKETS = 5
"""The number of buckets, before the last one, that one step of the loop may fill."""
MAX_CACHED_URLS = 20
"""URLs of one queue that are cached."""


class QueueHeads:
    """A cache of the first URLs of queues.

    A URL that is appended to an empty queue is cached, because it is visited soon. So it is visited
    without a read.
    """

    def __init__(self, rows: CachePart[str, list[QueuedUrl]]) -> None:
        self._rows = rows

    def append(self, site: str, url: QueuedUrl, is_first: bool) -> None:
        """Cache *url*, which was appended to its queue; *is_first*: the queue was empty."""
        rows = self._rows.get(url.bucket)
        if is_first:
            self.put(site, [url])
        elif rows and rows[-1].bucket_index == url.bucket_index - 1 and len(rows) < MAX_CACHED_URLS:
            self._rows.put(url.bucket, [*rows, url], site)

    def put(self, site: str, rows: list[QueuedUrl]) -> None:
        """Cache *rows* of one bucket in place of its earlier rows, if their positions are without
        gaps."""
        if rows and rows[-1].bucket_index - rows[0].bucket_index == len(rows) - 1:
            self._rows.put(rows[0].bucket, rows[:MAX_CACHED_URLS], site)

    def first(self, bucket: str, cursor: int, limit: int) -> list[QueuedUrl]:
        """Return *limit* rows from *cursor* on, or fewer at the end of the bucket. The list is
        empty if any of these rows is not cached."""
        rows, end = self._rows.get(bucket) or [], min(cursor + limit, BUCKET_URLS)
        while rows and rows[0].bucket_index < cursor:
            rows.pop(0)
        if not rows or rows[0].bucket_index != cursor or rows[-1].bucket_index < end - 1:
            return []
        return rows[: end - cursor]

    def drop(self, bucket: str) -> None:
        """Remove a bucket from the cache."""
        self._rows.remove(bucket)


class HostQueues:
    """The queues of a partition's hosts in one *crawl*. Methods that change a queue return the
    host's new row."""

    def __init__(
        self,
        urls: Table[QueuedUrl],
        crawl: str,
        heads: CachePart[str, list[QueuedUrl]] | None = None,
    ) -> None:
        """*heads*: the cache of the partition; without it, these queues have a cache of their
        own."""
        self._urls, self._crawl = urls, crawl
        self._heads = QueueHeads(heads or FrontierCaches().open_partition().queue_heads)

    def append(self, host: HostRow, urls: Sequence[QueuedUrl]) -> HostRow:
        """Append *urls*, all of one queue, in their order.

        The buckets and positions of *urls* are set here.
        """
        again = is_revisit(urls[0])
        ends = _ends(host, again)
        log, queued = self._log(host, again), ends.queued
        if not host.queued:
            host = replace(host, number=urls[0].number, is_again_next=again)
        for url in urls:
            url, ends = log.append(ends, url, BUCKET_URLS)
            self._heads.append(host.site, url, is_first=not queued)
            queued += 1
        return _with_ends(host, again, replace(ends, queued=queued))

    def _log(self, host: HostRow, again: bool) -> BucketedLog[QueuedUrl]:
        which = "again" if again else "new"
        return BucketedLog(self._urls, f"{host.host} {which}", self._crawl)

    def first(self, host: HostRow, count: int) -> list[QueuedUrl]:
        """Return the first *count* URLs of the queue that is next, or fewer at the end of a bucket.

        The result is empty only if both queues are.
        """
        if not host.queued:
            return []
        ends = _ends(host, host.is_again_next)
        limit = ends.readable(count)
        log = self._log(host, host.is_again_next)
        if found := self._heads.first(log.bucket(ends.head), ends.cursor, limit):
            return found
        found = log.page(ends.head, ends.cursor - 1, limit)
        self._heads.put(host.site, found)
        return found

    def skip(self, host: HostRow, count: int) -> HostRow:
        """Move the cursor past the first *count* URLs."""
        for _ in range(count):
            host = self.advance(host)
        return host

    def advance(self, host: HostRow) -> HostRow:
        """Move the cursor past the first URL. After the last URL of a queue the other queue is
        next."""
        again = host.is_again_next
        ends = _ends(host, again)
        head, cursor = ends.head, ends.cursor + 1
        if cursor >= BUCKET_URLS:
            log = self._log(host, again)
            log.drop(head)
            self._heads.drop(log.bucket(head))
            head, cursor = head + 1, 0
            # If this was the last bucket, it is full, so the next append begins the new first one.
        ends = replace(ends, head=head, cursor=cursor, queued=ends.queued - 1)
        host = _with_ends(host, again, ends)
        return host if ends.queued else replace(host, is_again_next=host.again.queued > 0)

    def update_number(self, host: HostRow) -> HostRow:
        """Return the row with the request number of the URL that is now first."""
        first = self.first(host, 1)
        return replace(host, number=first[0].number) if first else host

    def new_urls(self, host: HostRow) -> set[str]:
        """Return the URLs that were never visited, without visits on behalf of other hosts. It
        reads the whole queue of new URLs."""
        return {queued.url for queued in self._iter_queued(host, False) if not queued.on_behalf_of}

    def is_recently_queued(self, host: HostRow, url: str, again: bool) -> bool:
        """Return whether *url* is among the last URLs of a queue: at least those that one step of
        the loop may have appended.

        Visits on behalf of other hosts do not count, because they are not visits to the page.
        """
        tail = _ends(host, again).tail
        return any(
            queued.url == url and not queued.on_behalf_of
            for queued in self._iter_queued(host, again, tail - RECENT_BUCKETS)
        )

    def find(self, host: HostRow, url: str) -> tuple[int, QueuedUrl] | None:
        """Return the number of URLs before *url* in its queue, and its entry; None if it is not
        queued."""
        return self._find(host, True, url) or self._find(host, False, url)

    def erase(self, host: HostRow, url: str) -> int:
        """Erase the URL from the entries of *url*; return the number of entries."""
        count = 0
        for again in (True, False):
            ends, log = _ends(host, again), self._log(host, again)
            # Entries before the cursor stay in the store until their bucket is dropped.
            queued = [*log.rows(ends.head, ends.tail, end=ends.tail_size)]
            for one in [one for one in queued if one.url == url]:
                erased = replace(one, url="", on_behalf_of="", origin=Origin(), statistics=b"")
                self._urls.put(replace(erased, validators=NO_VALIDATORS))
                self._heads.drop(one.bucket)
                count += 1
        return count

    def clear(self, host: HostRow) -> HostRow:
        """Empty both queues. Their rows stay until `drop_cleared`, so that `iter_cleared`
        finds them."""
        erased = host.erased
        if erased.new is None or erased.again is None:
            erased = ErasedQueues(host.new.head, host.again.head)
        # The queues go on in new buckets, so that `drop_cleared` drops no URL that is queued later.
        new, again = (
            QueueEnds(head=ends.tail + 1, tail=ends.tail + 1) for ends in (host.new, host.again)
        )
        return replace(host, new=new, again=again, erased=erased, is_again_next=False, owed=0.0)

    def iter_cleared(self, host: HostRow) -> Iterator[QueuedUrl]:
        """Yield the URLs that `clear` removed from the queues. It reads all of them."""
        for again, first, last in _cleared_buckets(host):
            yield from self._log(host, again).rows(first, last)

    def drop_cleared(self, host: HostRow) -> HostRow:
        """Drop the rows that `clear` removed from the queues."""
        for again, first, last in _cleared_buckets(host):
            log = self._log(host, again)
            for number in range(first, last + 1):
                log.drop(number)
                self._heads.drop(log.bucket(number))
        return replace(host, erased=ErasedQueues())

    def _find(self, host: HostRow, again: bool, url: str) -> tuple[int, QueuedUrl] | None:
        for ahead, queued in enumerate(self._iter_queued(host, again)):
            if queued.url == url:
                return ahead, queued
        return None

    def _iter_queued(self, host: HostRow, again: bool, first: int = 0) -> Iterator[QueuedUrl]:
        """Yield the URLs of a queue, from the bucket *first* on."""
        ends = _ends(host, again)
        if not ends.queued:
            return iter(())
        after = ends.cursor - 1 if first <= ends.head else None
        first = max(first, ends.head)
        return self._log(host, again).rows(first, ends.tail, after, ends.tail_size)


def is_revisit(url: QueuedUrl) -> bool:
    """Return whether *url* is in the queue of URLs to visit again: an earlier visit to it has
    ended."""
    return url.earlier > 0


def _cleared_buckets(host: HostRow) -> Iterator[tuple[bool, int, int]]:
    """Yield for each queue whether it is `again`, and its first and last cleared bucket."""
    if host.erased.new is not None and host.erased.again is not None:
        yield False, host.erased.new, host.new.head - 1
        yield True, host.erased.again, host.again.head - 1


def choose_next_queue(host: HostRow, made: int, share: float) -> HostRow:
    """Return the row of *host*, whose queues both have URLs, with the queue of the next order.

    *made*: visits of the last order; *share*: the share of all visits that goes to new URLs.
    Revisits are next while `owed`, the number of visits that they are behind their share, is above
    0.
    """
    owed = host.owed + made * (-share if host.is_again_next else 1 - share)
    return replace(host, owed=owed, is_again_next=owed > 0)


def _ends(host: HostRow, again: bool) -> QueueEnds:
    return host.again if again else host.new


def _with_ends(host: HostRow, again: bool, ends: QueueEnds) -> HostRow:
    return replace(host, again=ends) if again else replace(host, new=ends)
