"""The directory of a crawl: hosts with queued URLs of the crawl, in the store, by request number.

Every host that gets work is listed here first. A host with URLs of several crawls is in the
directory of each. So hosts of a paused crawl, or of one with better ranks, are not in the way of
other hosts. Each rank has a list of its own. A position moves forward through the list: hosts
before the position were loaded, hosts after it wait for memory.

Entries are never deleted one by one. An entry is stale when the host's row names another number. A
bucket that was read to its end is rewritten when few of its entries are live, and dropped whole
when none is. The existing buckets are named in the partition's row, so nothing searches for them.
A rank without hosts costs no reads, nor does a time without hosts after a wrong clock. After a
crash all buckets are read again, so every host with work is found.

An entry at the position is held while its site has no place on the workbench, so that the
hosts of one site are not in the way of others. It waits in memory, by site.
"""

from bisect import bisect_right, insort
from collections import Counter, defaultdict
from operator import attrgetter

from gossamer.services.frontier.tables.bucketed_log import BucketList, GroupedLog
from gossamer.services.frontier.tables.hosts import ListedHost
from gossamer.services.frontier.tables.ordering import (
    MAX_PENALTY,
    NUMBERS_PER_RANK,
    moment_of,
    rank_of_number,
)
from gossamer.store import Partition, Table
from gossamer.web.url import HostKey, Site

NUMBERS_PER_BUCKET = 4_000_000_000
"""Request numbers of one bucket: a little more than one hour of admissions. No two ranks share a
bucket."""
PAGE_SIZE = 200
MAX_STALE_PER_LIVE, MAX_STALE_EXTRA = 4, 100
"""A bucket is rewritten when it has more stale entries than `MAX_STALE_PER_LIVE` for each live
entry, plus `MAX_STALE_EXTRA`."""


class Directory:
    """The directory of one *crawl* in one partition."""

    def __init__(self, crawl: str, stored: BucketList, entries: Table[ListedHost]) -> None:
        self._log = GroupedLog(entries, crawl, stored.groups)
        buckets = defaultdict[int, list[int]](list)
        for bucket in stored.buckets:
            buckets[bucket * NUMBERS_PER_BUCKET // NUMBERS_PER_RANK].append(bucket)
        self._lists = {at: RankList(self._log, buckets[at]) for at in sorted(buckets)}
        self._held = dict[Site, list[ListedHost]]()
        """Site → its entries before the position that wait for a place of the site, in order."""

    @property
    def buckets(self) -> tuple[int, ...]:
        """The buckets that may have entries."""
        return tuple(bucket for one in self._lists.values() for bucket in one.buckets)

    def buckets_to_write(self) -> BucketList:
        """Return the buckets to write, including the buckets that were dropped since the last
        call."""
        buckets = {*self.buckets, *self._log.pop_dropped()}
        if not buckets:
            self._log.logs.clear()
        return BucketList(tuple(sorted(buckets)), tuple(sorted(self._log.logs)))

    @property
    def has_dropped(self) -> bool:
        """Whether buckets were dropped since the last call of `buckets_to_write`."""
        return self._log.has_dropped

    def unread_keys(self) -> list[Partition]:
        """Return the keys of the entries that `peek` and `peek_oldest` have to read."""
        return [
            key
            for one in self._lists.values()
            if one.has_unread
            for key in self._log.keys(one.bucket)
        ]

    @property
    def may_have_more(self) -> bool:
        """Whether a host may wait for memory."""
        return any(one.may_have_more for one in self._lists.values())

    def enlist(self, site: Site, host: HostKey, number: int) -> int:
        """List a host after the position; return its number, which is at least *number*."""
        at = number // NUMBERS_PER_RANK
        if at not in self._lists:
            self._lists = dict(sorted([*self._lists.items(), (at, RankList(self._log, []))]))
        return self._lists[at].enlist(site, host, number)

    def relist(self, site: Site, host: HostKey, number: int) -> int:
        """List a host again that is unloaded in favour of another. It keeps its *number*."""
        of_rank = self._lists.get(number // NUMBERS_PER_RANK)
        if of_rank and of_rank.has_passed(number):
            return of_rank.relist(site, host, number)
        return self.enlist(site, host, number)

    def holds(self, host: HostKey, number: int | None) -> bool:
        """Return whether *host* has a live or waiting entry under *number*."""
        if number is None:
            return False
        of_rank = self._lists.get(number // NUMBERS_PER_RANK)
        return of_rank is not None and of_rank.holds(host, number)

    def peek(self) -> ListedHost | None:
        """Return the first waiting entry, which may be stale; None if no host waits."""
        return next((entry for one in self._lists.values() if (entry := one.peek())), None)

    def peek_oldest(self) -> ListedHost | None:
        """Return the oldest of the first waiting entries of the best rank, and of the ranks that
        are worse by at most a penalty; None if no host waits."""
        first = self.peek()
        if first is None:
            return None
        best = first.number // NUMBERS_PER_RANK
        lists = [one for at, one in self._lists.items() if best <= at <= best + MAX_PENALTY]
        entries = [entry for one in lists if (entry := one.peek())]
        return min(entries, key=lambda entry: moment_of(entry.number))

    def pop(self, entry: ListedHost) -> None:
        """Remove *entry*, which `peek` or `peek_oldest` returned, from the waiting ones. It is live
        until it is delisted."""
        self._lists[entry.number // NUMBERS_PER_RANK].pop()

    def hold(self, entry: ListedHost) -> None:
        """Hold *entry*, which `peek` or `peek_oldest` returned, until `release`."""
        self.pop(entry)
        insort(self._held.setdefault(entry.site, []), entry, key=attrgetter("key"))

    def release(self, site: Site) -> bool:
        """Let the first held entry of *site* wait at the position; return whether there is one."""
        if not (held := self._held.get(site)):
            return False
        entry = held.pop(0)
        self._lists[entry.number // NUMBERS_PER_RANK].give_back(entry)
        if not held:
            del self._held[site]
        return True

    def drop(self) -> None:
        """Drop all entries."""
        for bucket in self.buckets:
            self._log.drop(bucket)
        self._lists = {}
        self._held.clear()

    def delist(self, host: HostKey, number: int | None) -> None:
        """Mark the entry of *host* under *number* as stale; None if it has no entry."""
        # An entry after the position is found stale when the position reaches it.
        if number is not None and (of_rank := self._lists.get(number // NUMBERS_PER_RANK)):
            of_rank.delist(host, number)


class RankList:
    """The entries of one rank."""

    def __init__(self, log: GroupedLog[ListedHost], buckets: list[int]) -> None:
        self.buckets = buckets
        """The existing buckets, in order, including the one that the position is in."""
        self._log = log
        self.bucket = buckets[0] if buckets else 0
        """The bucket that the position is in."""
        self._last_popped: ListedHost | None = None
        """The last entry that was popped from the position's bucket."""
        self._returned: list[ListedHost] = []
        """Entries before the position whose hosts wait again. They come first."""
        self._page: list[ListedHost] = []
        self._is_last_page = False
        """Whether the position's bucket has no entries after the page."""
        self._at_end = not buckets
        """Whether no bucket has entries after the page."""
        self._live: defaultdict[int, dict[str, ListedHost]] = defaultdict(dict)
        """Bucket up to the position → its popped entries that are not stale, by key."""
        self._popped_counts = Counter[int]()
        """Bucket up to the position → the number of its stored entries that were popped."""

    @property
    def may_have_more(self) -> bool:
        """Whether a host may wait for memory."""
        return bool(self._returned) or not self._is_read

    @property
    def has_unread(self) -> bool:
        """Whether `peek` has to read entries."""
        return not (self._returned or self._page or self._at_end)

    @property
    def _is_read(self) -> bool:
        return self._at_end and not self._page

    def has_passed(self, number: int) -> bool:
        """Return whether the position has passed *number*."""
        return number < self._next_number()

    def enlist(self, site: Site, host: HostKey, number: int) -> int:
        """List a host after the position; return its number, which is at least *number*."""
        number = max(number, self._next_number())
        bucket = number // NUMBERS_PER_BUCKET
        if not self.buckets:
            self.bucket = bucket
        self._add_to_page(self._put(site, host, number), bucket)
        return number

    def relist(self, site: Site, host: HostKey, number: int) -> int:
        """List a host before the position again."""
        entry = self._put(site, host, number)
        self._record_popped(entry)
        self.give_back(entry)
        return number

    def give_back(self, entry: ListedHost) -> None:
        """Let *entry*, which is before the position, wait again."""
        insort(self._returned, entry, key=attrgetter("key"))

    def holds(self, host: HostKey, number: int) -> bool:
        """Return whether *host* has a live or waiting entry under *number*."""
        bucket, key = number // NUMBERS_PER_BUCKET, _key(host, number)
        if key in self._live.get(bucket, ()) or any(entry.key == key for entry in self._page):
            return True
        if self._at_end or bucket not in self.buckets:
            return False
        read = self._page[-1] if self._page else self._last_popped
        return (bucket, key) > (self.bucket, read.key if read else "")

    def _put(self, site: Site, host: HostKey, number: int) -> ListedHost:
        bucket = number // NUMBERS_PER_BUCKET
        if bucket not in self.buckets:
            insort(self.buckets, bucket)
        return self._log.put(bucket, ListedHost("", _key(host, number), number, site, host))

    def _add_to_page(self, entry: ListedHost, bucket: int) -> None:
        """Add a new entry to the page, if the page has all other entries after the position. Else
        note that the store has more entries."""
        if self._is_read and bucket > self.bucket:
            self._move_to(bucket)
        if self._at_end and bucket == self.bucket and len(self._page) < PAGE_SIZE:
            insort(self._page, entry, key=attrgetter("key"))
            return
        self._at_end = self._is_last_page = False
        if self._page and entry.key < self._page[-1].key:
            self._page.clear()  # The entry belongs inside the page, which is read again.

    def _next_number(self) -> int:
        if not self.buckets:
            return 0
        return (
            self._last_popped.number + 1 if self._last_popped else self.bucket * NUMBERS_PER_BUCKET
        )

    def peek(self) -> ListedHost | None:
        """Return the first waiting entry, which may be stale; None if no host waits."""
        if self._returned:
            return self._returned[0]
        while not self._page and not self._at_end:
            if not self._is_last_page:
                after = self._last_popped.key if self._last_popped else None
                self._page.extend(self._log.page(self.bucket, after, PAGE_SIZE))
                self._is_last_page = len(self._page) < PAGE_SIZE
            if not self._page:
                self._leave_bucket()
        return self._page[0] if self._page else None

    def _leave_bucket(self) -> None:
        following = bisect_right(self.buckets, self.bucket)
        if following < len(self.buckets):
            self._move_to(self.buckets[following])
        else:
            self._at_end = True

    def _move_to(self, bucket: int) -> None:
        left, self.bucket, self._last_popped = self.bucket, bucket, None
        self._is_last_page = False
        self._compact(left)

    def pop(self) -> None:
        """Pop the entry that `peek` returned; the position moves past it."""
        if self._returned:
            self._returned.pop(0)
        else:
            self._last_popped = entry = self._page.pop(0)
            self._record_popped(entry)

    def _record_popped(self, entry: ListedHost) -> None:
        bucket = entry.number // NUMBERS_PER_BUCKET
        self._live[bucket][entry.key] = entry
        self._popped_counts[bucket] += 1

    def delist(self, host: HostKey, number: int) -> None:
        """Mark the entry of *host* under *number* as stale."""
        bucket = number // NUMBERS_PER_BUCKET
        if self._live[bucket].pop(_key(host, number), None):
            self._compact(bucket)

    def _compact(self, bucket: int) -> None:
        """Drop a bucket that was read to its end and has no live entries; rewrite it if it has too
        many stale ones."""
        if bucket == self.bucket and not self._is_read:
            return
        live = self._live[bucket]
        if not live and bucket != self.bucket:
            self._log.drop(bucket)
            self.buckets.remove(bucket)
            del self._live[bucket], self._popped_counts[bucket]
        elif self._popped_counts[bucket] > (MAX_STALE_PER_LIVE + 1) * len(live) + MAX_STALE_EXTRA:
            self._log.drop(bucket)
            for entry in live.values():
                self._log.put(bucket, entry)
            self._popped_counts[bucket] = len(live)


def _key(host: HostKey, number: int) -> str:
    return f"{number:020d} {host}"


def is_outdated(listed: int | None, number: int) -> bool:
    """Return whether a host with the request number *number* needs a new entry.

    It does if it has none (*listed* is None), or if the entry under *listed* has a worse rank or
    would keep an old bucket from being dropped. An entry with a better rank may stay: the host is
    only loaded sooner.
    """
    return (
        listed is None
        or moment_of(number) - moment_of(listed) > NUMBERS_PER_BUCKET
        or rank_of_number(number) < rank_of_number(listed)
    )
