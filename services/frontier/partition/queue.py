"""The queues of a host: append-only buckets in the store, with cursors in the host's row.

URLs that were never visited have a queue for each rank in use (`ordering.py`), and the URLs to
visit again have one queue. So a revisit does not wait behind a million new URLs of its host. While
both kinds have URLs they take turns, an order at a time, so that new URLs get their share of the
visits (`choose_next_queue`). Requisites are in the queue of the worst rank, and revisits precede
them. Urgent URLs, whether they were visited before or not, are in the queue of the best rank, which
precedes revisits. Each crawl has buckets of its own. A bucket is dropped whole when the cursor has
passed it.

A promoted URL has an entry of its admission, and another one in the queue of a better rank. The one
that is reached first is visited. The other one is surplus: check-out skips it, because the row of
the URL shows the visit (`is_surplus`). Only hosts with surplus entries have these rows read. An
urgent URL that waits in another queue has two entries in the same way.

All URLs of an order come from one queue, which the host's row names until the order has ended
(`NewQueues.ordered`, `HostCrawl.is_again_next`). So each outcome moves the cursor of its URL's
queue, although better URLs may have arrived in the meantime.
"""

from collections.abc import Collection, Iterator, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec.structs import replace

from gossamer.events import Purpose
from gossamer.services.frontier.partition.parked import PARKING_RULES
from gossamer.services.frontier.partition.shares import shares_at
from gossamer.services.frontier.partition.workbench import CachePart, FrontierCaches
from gossamer.services.frontier.tables.bucketed_log import BucketedLog
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import (
    ErasedQueues,
    HostCrawl,
    HostRow,
    NewQueues,
    QueueEnds,
)
from gossamer.services.frontier.tables.ordering import (
    EXPLORATION_INTERVAL,
    MAX_RANKS,
    REQUISITE_RANK,
    URGENT_RANK,
    choose_explored_rank,
    is_urgent,
    rank_of_number,
)
from gossamer.services.frontier.tables.urls import Origin, QueuedUrl, UrlRow
from gossamer.store import Partition, Table
from gossamer.web.url import HostKey, Site
from gossamer.web.validators import NO_VALIDATORS

BUCKET_URLS = 100
"""URLs in a bucket."""
RECENT_BUCKETS = 5
"""The number of buckets, before the last one, that one step of the loop may fill."""
MAX_CACHED_URLS = 20
"""URLs of one queue that are cached."""
OWN_RANKS = frozenset({URGENT_RANK, REQUISITE_RANK})
"""Ranks whose URLs never enter the queue of another rank."""


class QueueHeads:
    """A cache of the first URLs of queues.

    A URL that is appended to an empty queue is cached, because it is visited soon. So it is visited
    without a read.
    """

    def __init__(self, rows: CachePart[str, list[QueuedUrl]]) -> None:
        self._rows = rows

    def append(self, site: Site, urls: list[QueuedUrl], is_first: bool) -> None:
        """Cache *urls*, which were appended to one bucket; *is_first*: the queue was empty."""
        if is_first:
            self.put(site, urls)
            return
        rows = self._rows.get(urls[0].bucket)
        if not rows or len(rows) >= MAX_CACHED_URLS:
            return
        if rows[-1].bucket_index == urls[0].bucket_index - 1:
            self.put(site, [*rows, *urls])

    def put(self, site: Site, rows: list[QueuedUrl]) -> None:
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


class FoundUrl(NamedTuple):
    """A URL in a queue of its host."""

    url: QueuedUrl
    ahead: int
    """URLs before it: of its queue, and of the queues of better ranks."""
    rank: int | None
    """The rank of its queue; None for the queue of URLs to visit again."""
    position: int
    """URLs before it in its queue."""


def queue_log(
    table: Table[QueuedUrl], crawl: str, host: HostKey, rank: int | None
) -> BucketedLog[QueuedUrl]:
    """Return the buckets of a queue of *host*: of its URLs of *rank* that were never visited, or
    without a rank of its URLs to visit again."""
    which = "again" if rank is None else f"new/{rank}"
    return BucketedLog(table, f"{host} {which}", crawl)


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
        self._urls, self.crawl = urls, crawl
        self._heads = QueueHeads(heads or FrontierCaches().open_partition().queue_heads)

    def of(self, host: HostRow) -> HostCrawl:
        """Return what the crawl has at *host*."""
        return host.of(self.crawl)

    def _replace(self, host: HostRow, **changes: Any) -> HostRow:
        """Return *host* with *changes* of what the crawl has at it."""
        return host.change_crawl(self.crawl, **changes)

    def append(self, host: HostRow, urls: Sequence[QueuedUrl]) -> HostRow:
        """Append *urls*, all to be visited again or all new, in their order.

        The buckets and positions of *urls* are set here. A new URL of a better rank than the
        host's request number gives the host its number, unless the host is checked out.
        """
        again = is_revisit(urls[0])
        first = urls[0] if again else min(urls, key=attrgetter("number"))
        if not self.of(host).queued:
            used = shares_at(host).used(self.crawl)
            host = self._replace(host, number=first.number, is_again_next=again, used=used)
        elif self._has_better_rank(first, host) and not again:
            host = self._replace(host, number=first.number)
        if again:
            ends = self._append(host.site, self._log(host, None), self.of(host).again, urls)
            return self._replace(host, again=ends)
        by_rank = dict[int, list[QueuedUrl]]()
        for url in urls:
            by_rank.setdefault(rank_of_number(url.number), []).append(url)
        new = self.of(host).new
        for rank, group in by_rank.items():
            new, rank = self._add_rank(host, new, rank)
            ends = self._append(host.site, self._log(host, rank), new.ranks[rank], group)
            queued = new.queued + len(group)
            new = replace(new, ranks={**new.ranks, rank: ends}, queued=queued)
        return self._replace(host, new=new)

    def _append(
        self, site: Site, log: BucketedLog[QueuedUrl], ends: QueueEnds, urls: Sequence[QueuedUrl]
    ) -> QueueEnds:
        queued, by_bucket = ends.queued, dict[str, list[QueuedUrl]]()
        for url in urls:
            url, ends = log.append(ends, url, BUCKET_URLS)
            by_bucket.setdefault(url.bucket, []).append(url)
        for of_bucket in by_bucket.values():
            self._heads.append(site, of_bucket, is_first=not queued)
            queued += len(of_bucket)
        return replace(ends, queued=queued)

    def _has_better_rank(self, url: QueuedUrl, host: HostRow) -> bool:
        is_ordered = host.condition is Condition.CHECKED_OUT and host.lease.crawl == self.crawl
        number = self.of(host).number
        return not is_ordered and rank_of_number(url.number) < rank_of_number(number)

    def _add_rank(self, host: HostRow, new: NewQueues, rank: int) -> tuple[NewQueues, int]:
        """Return *new* with a queue for *rank*, and the rank of that queue: the nearest rank in
        use, if too many are in use.

        The queue begins in a bucket that no earlier queue of the rank has used. Rows of an earlier
        queue that are dropped late are therefore never rows of this one.
        """
        if rank in new.ranks:
            return new, rank
        ranks = new.ranks
        if len(ranks) >= MAX_RANKS and rank not in OWN_RANKS:
            empty = [one for one, ends in ranks.items() if not ends.queued]
            if not empty:
                of_pages = (one for one in ranks if one not in OWN_RANKS)
                return new, min(of_pages, key=lambda one: (abs(one - rank), one))
            for one in empty:
                log, tail = self._log(host, one), ranks[one].tail
                log.drop(tail)
                self._heads.drop(log.bucket(tail))
            new = _without_ranks(new, empty)
        begin = QueueEnds(head=new.next_bucket, tail=new.next_bucket)
        return replace(new, ranks={**new.ranks, rank: begin}), rank

    def _log(self, host: HostRow, rank: int | None) -> BucketedLog[QueuedUrl]:
        """Return the buckets of the queue of *rank*; None: of the queue of URLs to visit again."""
        return queue_log(self._urls, self.crawl, host.host, rank)

    def choose_queue(self, host: HostRow) -> tuple[HostRow, bool]:
        """Choose the queue of the host's next order. Return also whether a rank is explored that
        is worse than the best: one of `EXPLORATION_INTERVAL` orders does.

        A new URL whose better rank gave the host its request number precedes the queue of URLs to
        visit again.
        """
        new = replace(self.of(host).new, ordered=None)
        if self.of(host).is_again_next:
            rank = rank_of_number(self.of(host).number)
            if not (new.queued and min(new.waiting) <= rank) or rank >= rank_of_number(
                self.first(host, 1)[0].number
            ):
                return self._replace(host, new=new), False
            host = self._replace(host, is_again_next=False)
        if not new.queued:
            return self._replace(host, new=new), False
        waiting = new.waiting
        rank, explored, orders = min(waiting), None, 0
        if len(waiting) > 1:
            orders = min(new.orders + 1, EXPLORATION_INTERVAL)
            if orders == EXPLORATION_INTERVAL:
                explored = choose_explored_rank(waiting, new.explored)
        if explored is None:
            new = replace(new, ordered=rank, orders=orders)
        else:
            new = replace(new, ordered=explored, explored=explored, orders=0)
        return self._replace(host, new=new), explored is not None

    def choose_best(self, host: HostRow) -> HostRow:
        """Choose the best rank for the host's next order, instead of an explored one."""
        own = self.of(host)
        return self._replace(host, new=replace(own.new, ordered=min(own.new.waiting)))

    def first(self, host: HostRow, count: int) -> list[QueuedUrl]:
        """Return the first *count* URLs of the queue that is next, or fewer at the end of a bucket.

        The result is empty only if all queues are.
        """
        own = self.of(host)
        if not own.queued:
            return []
        rank = _next_rank(own)
        ends, log = _ends(own, rank), self._log(host, rank)
        limit = ends.readable(count)
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
        """Move the cursor past the first URL. After the last URL of a queue another queue is
        next."""
        own = self.of(host)
        rank = _next_rank(own)
        ends = _ends(own, rank)
        head, cursor = ends.head, ends.cursor + 1
        if cursor >= BUCKET_URLS:
            log = self._log(host, rank)
            log.drop(head)
            self._heads.drop(log.bucket(head))
            head, cursor = head + 1, 0
            # If this was the last bucket, it is full, so the next append begins the new first one.
        ends = replace(ends, head=head, cursor=cursor, queued=ends.queued - 1)
        if rank is None:
            is_next = ends.queued > 0
            surplus = own.new.surplus if own.new.queued + ends.queued > 1 else 0
            new = own.new if surplus == own.new.surplus else replace(own.new, surplus=surplus)
            return self._replace(host, new=new, again=ends, is_again_next=is_next)
        new = replace(
            own.new,
            ranks={**own.new.ranks, rank: ends},
            queued=own.new.queued - 1,
            surplus=own.new.surplus if own.new.queued + own.again.queued > 1 else 0,
            ordered=own.new.ordered if ends.queued else None,
        )
        return self._replace(host, new=new, is_again_next=not new.queued and own.again.queued > 0)

    def move(self, host: HostRow, urls: Sequence[QueuedUrl]) -> HostRow:
        """Move *urls*, the first ones of the queue that is next, to the queues of the ranks in
        their request numbers, which have changed.

        A crash leaves them in the old queue, or in the new ones: the row of the host decides.
        """
        return self._replace(self.append(self.skip(host, len(urls)), urls), is_again_next=False)

    def hold_queue(self, host: HostRow) -> HostRow:
        """Return the row at a check-out: the queue that is next stays next until the order ends."""
        own = self.of(host)
        if own.is_again_next or own.new.ordered is not None:
            return host
        return self._replace(host, new=replace(own.new, ordered=own.new.rank))

    def end_order(self, host: HostRow) -> HostRow:
        """Return the row after the last outcome of its order: the best rank is next, and the
        request number is that of the URL that is now first."""
        own = self.of(host)
        if own.new.ordered is not None:
            host = self._replace(host, new=replace(own.new, ordered=None))
        return self.update_number(host)

    def update_number(self, host: HostRow) -> HostRow:
        """Return the row with the request number of the URL that is now first."""
        first = self.first(host, 1)
        return self._replace(host, number=first[0].number) if first else host

    def new_urls(self, host: HostRow) -> set[str]:
        """Return the URLs that were never visited, without visits on behalf of other hosts. It
        reads all queues of new URLs. Entries that promote a URL do not count: a URL that waits has
        the entry of its admission, too."""
        return {
            queued.url
            for rank in self.of(host).new.ranks
            for queued in self._iter_queued(host, rank)
            if not (queued.on_behalf_of or queued.good_links or is_requisite(queued))
        }

    def urgent_urls(self, host: HostRow) -> set[str]:
        """Return the urgent URLs that wait, and the URLs of the running order. It reads the queue
        of urgent URLs."""
        own, urls = self.of(host), set[str]()
        if URGENT_RANK in own.new.ranks:
            urls = {queued.url for queued in self._iter_queued(host, URGENT_RANK)}
        is_ordered = host.condition is Condition.CHECKED_OUT and host.lease.crawl == self.crawl
        if is_ordered and host.lease.purpose is Purpose.PAGE:
            urls |= {queued.url for queued in self.first(host, host.lease.outstanding)}
        return urls

    def is_recently_queued(self, host: HostRow, url: str, again: bool, attempt: int) -> bool:
        """Return whether *url* is among the last URLs of a queue for this *attempt*: at least those
        that one step of the loop may have appended.

        Visits on behalf of other hosts do not count, because they are not visits to the page.
        Neither does the surplus entry of a promoted URL whose visit failed.
        """
        return any(
            queued.url == url
            and queued.attempt == attempt
            and not queued.on_behalf_of
            and not is_requisite(queued)
            for rank in ((None,) if again else self.of(host).new.ranks)
            for queued in self._iter_queued(
                host, rank, _ends(self.of(host), rank).tail - RECENT_BUCKETS
            )
        )

    def find(self, host: HostRow, url: str, visited: UrlRow | None = None) -> FoundUrl | None:
        """Return *url* in its queue, a promoted one in its best queue; None if it is not queued.

        *visited*: the row of the URL. Surplus entries do not count.
        """
        own = self.of(host)
        ahead = 0
        for rank in (None, *sorted(own.new.ranks)):
            for position, queued in enumerate(self._iter_queued(host, rank)):
                if queued.url == url and not (own.new.surplus and is_surplus(queued, visited)):
                    return FoundUrl(queued, ahead + position, rank, position)
            ahead += 0 if rank is None else _ends(own, rank).queued
        return None

    def iter_all(
        self, host: HostRow, rank: int | None = None, first: int = 0
    ) -> Iterator[tuple[int | None, QueuedUrl]]:
        """Yield the rank of each queue with its entries, surplus ones too, in the order of `find`:
        from the bucket *first* of the queue of *rank* on."""
        for one in (None, *sorted(self.of(host).new.ranks)):
            if rank is None or (one is not None and one >= rank):
                for queued in self._iter_queued(host, one, first if one == rank else 0):
                    yield one, queued

    def add_surplus(self, host: HostRow, count: int) -> HostRow:
        """Count *count* surplus entries more: URLs that wait are about to be queued once more."""
        new = self.of(host).new
        return self._replace(host, new=replace(new, surplus=new.surplus + count))

    def skip_surplus(self, host: HostRow, count: int) -> HostRow:
        """Count *count* surplus entries less, which were skipped."""
        own = self.of(host)
        return self._replace(host, new=replace(own.new, surplus=max(0, own.new.surplus - count)))

    def erase(self, host: HostRow, url: str, visited: UrlRow | None = None) -> int:
        """Erase the URL from the entries of *url*; return the number of entries.

        *visited*: the row of the URL. Surplus entries are marked, because the URL that shows that
        they are surplus is erased: all but one of a URL that waits.
        """
        own = self.of(host)
        count, has_entry = 0, False
        for rank in (None, *own.new.ranks):
            ends, log = _ends(own, rank), self._log(host, rank)
            # Entries before the cursor stay in the store until their bucket is dropped.
            queued = [*log.all_rows(ends)]
            for one in [one for one in queued if one.url == url]:
                surplus = is_new(one) and (has_entry or is_surplus(one, visited))
                has_entry = has_entry or (is_new(one) and not surplus)
                good_links = int(surplus and own.new.surplus > 0)
                erased = replace(
                    one,
                    url="",
                    on_behalf_of="",
                    origin=Origin(),
                    statistics=b"",
                    validators=NO_VALIDATORS,
                    good_links=good_links,
                )
                self._urls.put(erased)
                self._heads.drop(one.bucket)
                count += 1
        return count

    def clear(self, host: HostRow) -> HostRow:
        """Empty all queues. Their rows stay until `drop_cleared`, under `cleared_keys`."""
        own = self.of(host)
        cleared = dict(own.erased.new)
        for rank, ends in own.new.ranks.items():
            cleared[rank] = (cleared.get(rank, (ends.head, 0))[0], ends.tail)
        again = own.again.head if own.erased.again is None else own.erased.again
        # The queues go on in new buckets, so that `drop_cleared` drops no URL that is queued later.
        following = QueueEnds(head=own.again.tail + 1, tail=own.again.tail + 1)
        return self._replace(
            host,
            new=NewQueues(next_bucket=_without_ranks(own.new, own.new.ranks).next_bucket),
            again=following,
            erased=ErasedQueues(cleared, again),
            is_again_next=False,
            owed=0.0,
        )

    def cleared_keys(self, host: HostRow) -> list[Partition]:
        """Return the partition keys of the URLs that `clear` removed from the queues."""
        return [
            self._log(host, rank).key(number)
            for rank, first, last in _cleared_buckets(self.of(host))
            for number in range(first, last + 1)
        ]

    def drop_cleared(self, host: HostRow) -> HostRow:
        """Drop the rows that `clear` removed from the queues."""
        self.drop_cleared_buckets(host)
        return self._replace(host, erased=ErasedQueues())

    def drop_cleared_buckets(self, host: HostRow) -> None:
        """Drop the rows that `clear` removed from the queues. The row of *host* still names
        them."""
        for rank, first, last in _cleared_buckets(self.of(host)):
            log = self._log(host, rank)
            for number in range(first, last + 1):
                log.drop(number)
                self._heads.drop(log.bucket(number))

    def _iter_queued(self, host: HostRow, rank: int | None, first: int = 0) -> Iterator[QueuedUrl]:
        """Yield the URLs of a queue, from the bucket *first* on."""
        ends = _ends(self.of(host), rank)
        if not ends.queued:
            return iter(())
        after = ends.cursor - 1 if first <= ends.head else None
        first = max(first, ends.head)
        return self._log(host, rank).rows(first, ends.tail, after, ends.tail_size)


def is_revisit(url: QueuedUrl) -> bool:
    """Return whether *url* is in the queue of URLs to visit again: an earlier visit to it has
    ended. Requisites and urgent URLs have queues of their own."""
    return url.earlier > 0 and not is_requisite(url) and not is_urgent(url.number)


def is_requisite(url: QueuedUrl) -> bool:
    """Return whether *url* is a requisite."""
    return url.origin.purpose is Purpose.REQUISITE


def is_new(url: QueuedUrl) -> bool:
    """Return whether the entry is of an admission or a promotion."""
    return not (url.attempt or url.earlier or url.on_behalf_of or is_requisite(url))


def is_surplus(url: QueuedUrl, last: UrlRow | None) -> bool:
    """Return whether *url*, an entry of a host with surplus entries, must be skipped, because it
    was visited by another entry.

    *last*: the row of the URL. A retry and a revisit have entries of their own, which are surplus
    if the URL was urgent and was visited since. A row that says that the URL was parked does not
    count, because the URL may have been released.
    """
    if last is None or is_urgent(url.number) or url.on_behalf_of or is_requisite(url):
        return False
    if not is_new(url):
        return (last.earlier, last.attempt) > (url.earlier, url.attempt)
    return not last.queued and (last.outcome not in PARKING_RULES or url.good_links > 0)


def _without_ranks(new: NewQueues, gone: Collection[int]) -> NewQueues:
    """Return *new* without the queues of the ranks *gone*."""
    next_bucket = max([new.next_bucket, *(new.ranks[rank].tail + 1 for rank in gone)])
    ranks = {rank: ends for rank, ends in new.ranks.items() if rank not in gone}
    return replace(new, ranks=ranks, next_bucket=next_bucket)


def _cleared_buckets(own: HostCrawl) -> Iterator[tuple[int | None, int, int]]:
    """Yield the rank of each queue, and its first and last cleared bucket."""
    for rank, (first, last) in own.erased.new.items():
        yield rank, first, last
    if own.erased.again is not None:
        yield None, own.erased.again, own.again.head - 1


def choose_next_queue(own: HostCrawl, made: int, share: float) -> HostCrawl:
    """Return *own*, of a crawl with URLs of both kinds, with the queue of the next order.

    *made*: visits of the last order; *share*: the share of all visits that goes to new URLs.
    Revisits are next while `owed`, the number of visits that they are behind their share, is above
    0, and as long as only requisites are new. Urgent URLs are next in any case.
    """
    if min(own.new.waiting) == URGENT_RANK:
        return replace(own, is_again_next=False)
    if min(own.new.waiting) == REQUISITE_RANK:
        return replace(own, owed=0.0, is_again_next=True)
    owed = own.owed + made * (-share if own.is_again_next else 1 - share)
    return replace(own, owed=owed, is_again_next=owed > 0)


def _next_rank(own: HostCrawl) -> int | None:
    """Return the rank of the queue that is next; None for the queue of URLs to visit again."""
    return None if own.is_again_next else own.new.rank


def _ends(own: HostCrawl, rank: int | None) -> QueueEnds:
    return own.again if rank is None else own.new.ranks[rank]
