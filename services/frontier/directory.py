"""The directory: hosts with work, in the store, listed by the request number of their first URL.

Every host that gets work is listed here first. Each priority has a lane of its own, read once, in
order, by a position that only moves forward: behind it are the hosts that have been loaded, beyond
it those that wait for room in memory. Entries are never deleted one by one: an entry is stale when
its host's row names another number. A bucket that was read to its end is written anew when little
of it is live, and dropped whole when nothing is. Which buckets there are is known, and none is
looked for: so neither a priority nor a clock that was wrong costs anything. After a crash all of
them are read again, so every host with work is found.
"""

from bisect import bisect_right, insort
from collections import Counter, defaultdict
from operator import attrgetter

from gossamer.events import PRIORITY_LIMIT
from gossamer.store import Table
from services.frontier.bucketed_log import BucketList, GroupedLog
from services.frontier.rows import ListedHost

STEP = 10**16
"""Request numbers of one priority: microseconds for 300 years. The largest fits in 64 bits."""
BUCKET = 4_000_000_000
"""Request numbers of one bucket, which no lane shares: a good hour of admissions."""
PAGE = 200
STALE, SPARE = 4, 100
"""A bucket may have so many stale entries for each live one, and so many besides."""


def request_number(priority: int, moment: int) -> int:
    """Return the number of what was asked for at *moment* (microseconds): by priority, then age."""
    return (priority + PRIORITY_LIMIT) * STEP + moment


class Directory:
    """The directory of one partition."""

    def __init__(self, found: BucketList, entries: Table[ListedHost]) -> None:
        self._log = GroupedLog(entries, "hosts", found.groups)
        buckets = defaultdict[int, list[int]](list)
        for bucket in found.buckets:
            buckets[bucket * BUCKET // STEP].append(bucket)
        self._lanes = {lane: Lane(self._log, buckets[lane]) for lane in sorted(buckets)}

    @property
    def buckets(self) -> tuple[int, ...]:
        """The buckets that may have entries."""
        return tuple(bucket for lane in self._lanes.values() for bucket in lane.buckets)

    def buckets_to_write(self) -> BucketList:
        """Return the buckets to write, with those that were dropped since the last call."""
        buckets = {*self.buckets, *self._log.pop_dropped()}
        if not buckets:
            self._log.logs.clear()
        return BucketList(tuple(sorted(buckets)), tuple(sorted(self._log.logs)))

    @property
    def may_have_more(self) -> bool:
        """Whether somebody may wait."""
        return any(lane.may_have_more for lane in self._lanes.values())

    def enlist(self, site: str, host: str, number: int) -> int:
        """List a host beyond the position, under *number* if that is beyond; return the number."""
        at = number // STEP
        if at not in self._lanes:
            self._lanes = dict(sorted([*self._lanes.items(), (at, Lane(self._log, []))]))
        return self._lanes[at].enlist(site, host, number)

    def give_back(self, site: str, host: str, number: int) -> int:
        """List a host that was loaded, and makes room for another, so that it waits in its turn."""
        lane = self._lanes.get(number // STEP)
        if lane and lane.is_behind(number):
            return lane.give_back(site, host, number)
        return self.enlist(site, host, number)

    def holds(self, host: str, number: int | None) -> bool:
        """Return whether the entry of *host* under *number* was taken and is live, or waits."""
        if number is None:
            return False
        lane = self._lanes.get(number // STEP)
        return lane is not None and lane.holds(host, number)

    def peek(self) -> ListedHost | None:
        """Return the entry of the first who waits, perhaps a stale one."""
        return next((entry for lane in self._lanes.values() if (entry := lane.peek())), None)

    def take(self, entry: ListedHost) -> None:
        """Take *entry*, which `peek` returned, for good; it is live until delisted."""
        self._lanes[entry.number // STEP].take()

    def delist(self, host: str, number: int | None) -> None:
        """The entry of *host* under *number* is stale from now on; None: it has no entry."""
        # An entry beyond the position is found stale when the position comes to it.
        if number is not None and (lane := self._lanes.get(number // STEP)):
            lane.delist(host, number)


class Lane:
    """The entries of one priority."""

    def __init__(self, log: GroupedLog[ListedHost], buckets: list[int]) -> None:
        self.buckets = buckets
        """In order; the one that the position is in stays among them."""
        self._log = log
        self._bucket = buckets[0] if buckets else 0
        """The bucket that the position is in …"""
        self._taken: ListedHost | None = None
        """… and the last entry of it that was taken."""
        self._back: list[ListedHost] = []
        """Entries up to the position whose hosts wait again: they come first."""
        self._page: list[ListedHost] = []
        self._is_last_page = False
        """Whether the bucket has nothing beyond the page."""
        self._at_end = not buckets
        """Whether there is nothing beyond the page."""
        self._live: defaultdict[int, dict[str, ListedHost]] = defaultdict(dict)
        """Bucket up to the position → its entries that are taken and not stale, by key."""
        self._passed = Counter[int]()
        """Bucket up to the position → how many of its entries are in the store and taken."""

    @property
    def may_have_more(self) -> bool:
        """Whether somebody may wait."""
        return bool(self._back) or not self._is_read

    @property
    def _is_read(self) -> bool:
        return self._at_end and not self._page

    def is_behind(self, number: int) -> bool:
        """Return whether the position has passed *number*."""
        return number < self._beyond()

    def enlist(self, site: str, host: str, number: int) -> int:
        """List a host beyond the position, under *number* if that is beyond; return the number."""
        number = max(number, self._beyond())
        bucket = number // BUCKET
        if not self.buckets:
            self._bucket = bucket
        self._read_ahead(self._put(site, host, number), bucket)
        return number

    def give_back(self, site: str, host: str, number: int) -> int:
        """List a host that was loaded behind the position."""
        entry = self._put(site, host, number)
        self._took(entry)
        insort(self._back, entry, key=attrgetter("key"))
        return number

    def holds(self, host: str, number: int) -> bool:
        """Return whether the entry of *host* under *number* was taken and is live, or waits."""
        bucket, key = number // BUCKET, _key(host, number)
        if key in self._live.get(bucket, ()) or any(entry.key == key for entry in self._page):
            return True
        if self._at_end or bucket not in self.buckets:
            return False
        read = self._page[-1] if self._page else self._taken
        return (bucket, key) > (self._bucket, read.key if read else "")

    def _put(self, site: str, host: str, number: int) -> ListedHost:
        bucket = number // BUCKET
        if bucket not in self.buckets:
            insort(self.buckets, bucket)
        return self._log.put(bucket, ListedHost("", _key(host, number), number, site, host))

    def _read_ahead(self, entry: ListedHost, bucket: int) -> None:
        """Keep a new entry in mind if all that is beyond the position is."""
        if self._is_read and bucket > self._bucket:
            self._move_to(bucket)
        if self._at_end and bucket == self._bucket and len(self._page) < PAGE:
            insort(self._page, entry, key=attrgetter("key"))
            return
        self._at_end = self._is_last_page = False
        if self._page and entry.key < self._page[-1].key:
            self._page.clear()  # It belongs among those read ahead: they are read again.

    def _beyond(self) -> int:
        if not self.buckets:
            return 0
        return self._taken.number + 1 if self._taken else self._bucket * BUCKET

    def peek(self) -> ListedHost | None:
        """Return the entry of the first who waits, perhaps a stale one."""
        if self._back:
            return self._back[0]
        while not self._page and not self._at_end:
            if not self._is_last_page:
                after = self._taken.key if self._taken else None
                self._page.extend(self._log.page(self._bucket, after, PAGE))
                self._is_last_page = len(self._page) < PAGE
            if not self._page:
                self._leave_bucket()
        return self._page[0] if self._page else None

    def _leave_bucket(self) -> None:
        following = bisect_right(self.buckets, self._bucket)
        if following < len(self.buckets):
            self._move_to(self.buckets[following])
        else:
            self._at_end = True

    def _move_to(self, bucket: int) -> None:
        left, self._bucket, self._taken = self._bucket, bucket, None
        self._is_last_page = False
        self._tidy(left)

    def take(self) -> None:
        """Take the entry that `peek` returned; the position moves past it."""
        if self._back:
            self._back.pop(0)
        else:
            self._taken = entry = self._page.pop(0)
            self._took(entry)

    def _took(self, entry: ListedHost) -> None:
        bucket = entry.number // BUCKET
        self._live[bucket][entry.key] = entry
        self._passed[bucket] += 1

    def delist(self, host: str, number: int) -> None:
        """The entry of *host* under *number* is stale from now on."""
        bucket = number // BUCKET
        if self._live[bucket].pop(_key(host, number), None):
            self._tidy(bucket)

    def _tidy(self, bucket: int) -> None:
        """Drop a bucket that is read to its end, or much of it, when it is stale."""
        if bucket == self._bucket and not self._is_read:
            return
        live = self._live[bucket]
        if not live and bucket != self._bucket:
            self._log.drop(bucket)
            self.buckets.remove(bucket)
            del self._live[bucket], self._passed[bucket]
        elif self._passed[bucket] > (STALE + 1) * len(live) + SPARE:
            self._log.drop(bucket)
            for entry in live.values():
                self._log.put(bucket, entry)
            self._passed[bucket] = len(live)


def _key(host: str, number: int) -> str:
    return f"{number:020d} {host}"


def is_outdated(listed: int | None, number: int) -> bool:
    """Return whether an entry keeps an old bucket alive, is in the wrong lane, or is missing."""
    return listed is None or number - listed > BUCKET or number // STEP != listed // STEP
