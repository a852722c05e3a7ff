"""The hosts in memory: the workbench of loaded hosts, and the caches.

**Caches** are bounded by bytes, so a website cannot make them grow without end. All partitions of a
frontier share them. A value belongs to one `Partition` object. A later claim makes a new object,
which cannot find the values of the old one, and the cache evicts these because nothing uses them.

**Workbench.** It orders the loaded hosts by the time and the order in which they may be visited.
One invariant makes politeness correct: a loaded host is in exactly one of *ready*, *delayed* and
*checked out*, and only :meth:`Workbench.update` moves it between them.

A host is a scheme, a name and a port, because robots.txt is about these (RFC 9309, 2.3). All hosts
of one name are treated as one server, which is visited by one order at a time, with the courtesy
delay between two orders. All hosts of a site are often run by the same people, who notice the
requests to all of them, so only a few hosts of a site are checked out at once. A ready host may
therefore wait in a queue of its name or of its site. When a host of that name or site is checked in
or skipped, a host leaves the queue and may be ordered: the first one of the crawl with the least of
its share there.

All hosts of a site are in one partition, so the frontier that has claimed it knows all checked-out
hosts of the site from memory, without questions to other frontiers (PolyBot, section 2.4). The
frontier uses the delays of names from memory only: after a takeover all delays start again.
"""

from collections import Counter, defaultdict
from collections.abc import (
    Callable,
    Collection,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
    Set,
)
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Generic, NamedTuple, TypeVar

from gossamer.cache import ENTRY_BYTES, ByteCache
from gossamer.services.frontier.partition.shares import Shares
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow, RobotsRow
from gossamer.services.frontier.tables.ordering import is_urgent, moment_of
from gossamer.services.frontier.tables.sites import ParkedPartsRow, SiteRow
from gossamer.services.frontier.tables.urls import QueuedUrl
from gossamer.services.frontier.worth.worth import SiteWorth
from gossamer.services.frontier.worth.zones import Zones
from gossamer.web.cookies import Cookie
from gossamer.web.url import HostKey, Site, host_name

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T", bound=Hashable)
MAX_STALE_ENTRIES = 64
"""Stale entries that a heap may have in addition to one for each host."""


@dataclass(slots=True)
class Host:
    """A host, whether it is on the workbench or not."""

    row: HostRow
    stored: bool = True
    """Whether the store has the host's row. Until then, no total counts the host."""
    waits_for: str | None = None
    """The name or site that the ready host waits for; None if it waits for none."""
    loaded_for: str = ""
    """The crawl in whose part of the memory a loaded host is: one with URLs at the host."""


class Places(NamedTuple):
    """The hosts of one site that are loaded for one crawl.

    Ready hosts can wait only for others of their site (`frontier.site_at_once`), or for a slot.
    More of them would hold places of hosts that could be ordered.
    """

    ready: int
    """The number of its ready hosts above which no other is loaded."""
    loaded: int
    """The number of its hosts in all conditions, for all crawls."""


class CachedRobots(NamedTuple):
    """The cached robots rules of a host; None if the host has no rules yet."""

    row: RobotsRow | None


class CachePart(Generic[K, V]):
    """The values of one partition in a cache that several partitions share."""

    def __init__(self, cache: ByteCache[tuple[int, K], V], owner: int) -> None:
        self._cache, self._owner = cache, owner

    def __contains__(self, key: K) -> bool:
        return (self._owner, key) in self._cache

    def get(self, key: K) -> V | None:
        """Return the value of *key*; None if it is not cached."""
        return self._cache.get((self._owner, key))

    def put(self, key: K, value: V, site: Site) -> None:
        """Cache *value* under *key*, in the memory budget of *site*."""
        self._cache.put((self._owner, key), value, site)

    def remove(self, key: K) -> None:
        """Remove *key*, if it is cached."""
        self._cache.remove((self._owner, key))


class PartitionCaches(NamedTuple):
    """The caches of one partition."""

    hosts: CachePart[str, Host]
    """Host key → a host that is not on the workbench."""
    robots: CachePart[str, CachedRobots]
    """Host key → robots rules."""
    sites: CachePart[str, SiteRow]
    worth: CachePart[str, SiteWorth]
    parts: CachePart[str, ParkedPartsRow]
    queue_heads: CachePart[str, list[QueuedUrl]]
    """Bucket → consecutive rows, from the cursor on or from before it."""
    zones: Zones
    """The counters of suffixes and addresses, which all partitions share."""


class FrontierCaches:
    """The caches of one process. Each limits its total size, and the size of one site's values."""

    def __init__(self) -> None:
        self._hosts = _cache(64, 4, size_of_host)
        self._robots = _cache(128, 8, size_of_robots)
        self._sites = _cache(64, 4, size_of_site)
        self._worth = _cache(96, 4, size_of_worth)
        self._parts = _cache(32, 4, size_of_parts)
        self._queue_heads = _cache(64, 4, size_of_urls)
        self._zones = Zones()
        self._owners = count()

    def open_partition(self) -> PartitionCaches:
        """Return empty caches for a partition."""
        owner = next(self._owners)
        return PartitionCaches(
            CachePart(self._hosts, owner),
            CachePart(self._robots, owner),
            CachePart(self._sites, owner),
            CachePart(self._worth, owner),
            CachePart(self._parts, owner),
            CachePart(self._queue_heads, owner),
            self._zones,
        )


def _cache(
    megabytes: int, megabytes_per_site: int, size: Callable[[V], int]
) -> ByteCache[tuple[int, str], V]:
    return ByteCache(megabytes << 20, size, megabytes_per_site << 20)


def size_of_host(host: Host) -> int:
    """Estimate the bytes of *host* in memory."""
    row = host.row
    texts = len(row.host) + len(row.backoff_reason or "")
    ranks = sum(2 + len(own.new.ranks) for own in row.crawls.values())
    return (4 + ranks) * ENTRY_BYTES + texts


def size_of_worth(worth: SiteWorth) -> int:
    """Estimate the bytes of *worth* in memory: each counter has eight numbers."""
    parts = len(worth.of_new) + len(worth.of_copies) + len(worth.positions) + len(worth.depths)
    return 2 * (1 + parts) * ENTRY_BYTES


def size_of_parts(row: ParkedPartsRow) -> int:
    """Estimate the bytes of *row* in memory."""
    return (1 + 3 * len(row.parts)) * ENTRY_BYTES


def size_of_robots(cached: CachedRobots) -> int:
    """Estimate the bytes of *cached* in memory."""
    if cached.row is None:
        return ENTRY_BYTES
    both = [rules for rules in (cached.row.rules, cached.row.copy) if rules]
    usage = [one for rules in both for one in rules.usage]
    texts = [rules.lines for rules in both]
    texts += [one.value + one.pattern for one in usage]
    texts += cached.row.sitemaps
    return ENTRY_BYTES * (2 + len(usage)) + sum(map(len, texts))


def size_of_site(row: SiteRow) -> int:
    """Estimate the bytes of *row* in memory."""
    hosts = [*row.unreadable, *row.validators]
    names = sum(ENTRY_BYTES + len(host) for host in hosts)
    crawls = sum(2 * ENTRY_BYTES + len(own.statistics) for own in row.crawls.values())
    return ENTRY_BYTES + crawls + names + size_of_cookies(row.cookies)


def size_of_urls(urls: list[QueuedUrl]) -> int:
    """Estimate the bytes of *urls* in memory."""
    texts = sum(len(url.url) + len(url.origin.via) + len(url.statistics) for url in urls)
    return 2 * len(urls) * ENTRY_BYTES + texts


def size_of_cookies(cookies: Iterable[Cookie]) -> int:
    """Estimate the bytes of *cookies* in memory."""
    return sum(ENTRY_BYTES + len(cookie.name) + len(cookie.value) for cookie in cookies)


class Schedule(Generic[T]):
    """A priority queue in which each item, such as a host, has one key; the least key comes first.

    Stale entries stay in the heap until they reach its top. The heap is rebuilt when more than half
    of it is stale.
    """

    def __init__(self) -> None:
        self._keys: dict[T, float] = {}
        self._heap: list[tuple[float, T]] = []

    def put(self, item: T, key: float) -> None:
        """Insert *item* with *key*, or change its key."""
        if self._keys.get(item) == key:
            return
        self._keys[item] = key
        heappush(self._heap, (key, item))
        if len(self._heap) > 2 * len(self._keys) + MAX_STALE_ENTRIES:
            self._heap = [(key, item) for item, key in self._keys.items()]
            heapify(self._heap)

    def get(self, item: T) -> float | None:
        """Return the key of *item*; None if it is not in the queue."""
        return self._keys.get(item)

    def remove(self, item: T) -> None:
        """Remove *item*, if it is in the queue."""
        self._keys.pop(item, None)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in the queue."""
        return not self._keys

    def first(self) -> tuple[float, T] | None:
        """Return the least key and its item; None if the queue is empty."""
        heap = self._heap
        while heap:
            key, item = heap[0]
            if self._keys.get(item) == key:
                return heap[0]
            heappop(heap)
        return None

    @property
    def least_key(self) -> float | None:
        """The least key; None if the queue is empty."""
        first = self.first()
        return first[0] if first else None

    def pop_until(self, key: float) -> Iterator[T]:
        """Remove and yield the items whose keys are at most *key*, the least first."""
        while (first := self.first()) and first[0] <= key:
            self.remove(first[1])
            yield first[1]

    def late_items(self) -> Iterator[T]:
        """Yield the items from the end of the heap on, whose keys are larger than most. The queue
        may change only after the last one that is needed."""
        while self._heap and self._keys.get(self._heap[-1][1]) != self._heap[-1][0]:
            self._heap.pop()
        yielded = set[T]()
        for key, item in reversed(self._heap):
            if self._keys.get(item) == key and item not in yielded:
                yielded.add(item)
                yield item

    @property
    def size(self) -> int:
        """The length of the heap."""
        return len(self._heap)


class ReadySchedule(Schedule[HostKey]):
    """The ready hosts of one crawl by request number, and by the moment in it."""

    def __init__(self) -> None:
        super().__init__()
        self._by_age = Schedule[HostKey]()

    def put(self, host: HostKey, key: float) -> None:
        """Insert *host* with the request number *key*, or change its number."""
        super().put(host, key)
        self._by_age.put(host, moment_of(int(key)))

    def remove(self, host: HostKey) -> None:
        """Remove *host*, if it is in the queue."""
        super().remove(host)
        self._by_age.remove(host)

    def oldest_host(self) -> HostKey | None:
        """Return the host whose first URL is the oldest; None if the queue is empty."""
        first = self._by_age.first()
        return first[1] if first else None


class ReadyHosts:
    """The ready hosts of each crawl: those with URLs of the crawl, by their request numbers."""

    def __init__(self) -> None:
        self._by_crawl = defaultdict[str, ReadySchedule](ReadySchedule)
        self._crawls_of = dict[str, set[str]]()
        """Host → the crawls for which it is here."""
        self._heads: dict[str, tuple[float, HostKey]] | None = None
        """As `heads` returns them; None after a change."""

    def put(self, row: HostRow) -> None:
        """Insert the host of *row* for each crawl that it may be ordered for, or change its
        numbers."""
        served = servable_crawls(row, row.ready_at)
        self._remove(row.host, self._crawls_of.get(row.host, set()) - served)
        self._crawls_of[row.host] = served
        for crawl in served:
            self._by_crawl[crawl].put(row.host, row.of(crawl).number)

    def remove(self, host: HostKey) -> None:
        """Remove *host* from all crawls."""
        self._remove(host, self._crawls_of.pop(host, set()))

    def _remove(self, host: HostKey, crawls: Set[str]) -> None:
        self._heads = None
        for crawl in crawls:
            self._by_crawl[crawl].remove(host)
            if self._by_crawl[crawl].is_empty:
                del self._by_crawl[crawl]

    @property
    def heads(self) -> Mapping[str, tuple[float, str]]:
        """Crawl → its lowest request number here, and the host with it."""
        if self._heads is None:
            heads = {crawl: schedule.first() for crawl, schedule in self._by_crawl.items()}
            self._heads = {crawl: head for crawl, head in heads.items() if head}
        return self._heads

    @property
    def crawls(self) -> list[str]:
        """The crawls with a host."""
        return [*self._by_crawl]

    def first(self, crawl: str) -> HostKey | None:
        """Return the host with the lowest request number in *crawl*; None without a host."""
        first = self._by_crawl[crawl].first() if crawl in self._by_crawl else None
        return first[1] if first else None

    def oldest(self, crawl: str) -> HostKey | None:
        """Return the host whose first URL in *crawl* is the oldest; None without a host."""
        return self._by_crawl[crawl].oldest_host() if crawl in self._by_crawl else None

    @property
    def size(self) -> int:
        """The length of the heaps of all crawls."""
        return sum(schedule.size for schedule in self._by_crawl.values())


class WaitingHosts(ReadyHosts):
    """The ready hosts that wait for one name or site. Crawls share the name or site by weight."""

    def __init__(self) -> None:
        super().__init__()
        self.shares = Shares()

    def next_host(self, open_crawls: Collection[str]) -> HostKey | None:
        """Return the host that is released next, of the crawl with the least of its share; None
        without a host. A host without URLs of *open_crawls* is released if no other waits."""
        crawls = self.crawls
        self.shares.keep(crawls)
        candidates = [crawl for crawl in crawls if crawl in open_crawls] or crawls
        return self.first(self.choose(candidates)) if candidates else None

    def choose(self, crawls: Sequence[str]) -> str:
        """Return the one of *crawls*, which have hosts here, with the least of its share. A crawl
        with an urgent URL precedes those without."""
        urgent = [one for one in crawls if is_urgent(self._number(one))]
        return self.shares.choose(urgent or crawls)

    def precede(self, crawl: str, number: int, open_crawls: Collection[str]) -> HostKey | None:
        """Return the host that precedes one with the request *number* in *crawl*: its crawl is one
        of *open_crawls* and has used less of its share. None without such a host."""
        crawls = [one for one in self.crawls if one in open_crawls]
        self.shares.keep({*self.crawls, crawl})
        if not crawls or is_urgent(number):
            return None
        best = self.choose(crawls)
        is_first = is_urgent(self._number(best)) or self.shares.choose([crawl, best]) != crawl
        return self.first(best) if is_first else None

    def _number(self, crawl: str) -> int:
        first = self._by_crawl[crawl].first()
        return int(first[0]) if first else 0


def servable_crawls(row: HostRow, now: float) -> set[str]:
    """Return the crawls for which the host of *row* may be ordered *now*, if they are open: those
    with waiting URLs. A crawl that waits for verdicts is served if no other crawl has URLs. A host
    without URLs was erased: the first crawl that it is ordered for finds none, and unloads it."""
    queued = {crawl for crawl, own in row.crawls.items() if own.queued}
    ready = {crawl for crawl in queued if row.of(crawl).waits_until <= now}
    return ready or queued or {*row.crawls}


class Workbench:
    """The loaded hosts of one partition."""

    def __init__(self) -> None:
        self.hosts: dict[str, Host] = {}
        self.checked_out = 0
        """Hosts that are checked out."""
        self.outstanding = Counter[str | None]()
        """Crawl → visits of the checked-out hosts that have not ended."""
        self.orders_at = Counter[int | None]()
        """Partition of `visits.ordered` → unanswered orders; None stands for the partition of the
        site."""
        self._ready = ReadyHosts()
        """Ready hosts that do not wait for another host."""
        self._waiting = defaultdict[str, WaitingHosts](WaitingHosts)
        """Name or site → the ready hosts that wait for it."""
        self._open_crawls = frozenset[str]()
        """The crawls that may get orders."""
        self.loaded = Counter[str]()
        """Crawl → the hosts in its part of the memory."""
        self._unloadable = defaultdict[str, Schedule[HostKey]](Schedule)
        """Crawl → the ready hosts in its part of the memory, also those that wait for another host,
        by their request numbers."""
        self._delayed, self._leases = Schedule[HostKey](), Schedule[HostKey]()
        self._name_delays, self._robots_delays = Schedule[str](), Schedule[str]()
        """Name → when its courtesy delay is over, and when its robots.txt may be visited."""
        self._checked_out_of = defaultdict[str, set[str]](set)
        """Site → its checked-out hosts."""
        self._loaded_of = Counter[Site]()
        self._ready_of = defaultdict[tuple[str, Site], set[HostKey]](set)
        """Crawl and site → the site's ready hosts in the part of the memory of the crawl, also
        those that wait for another host."""
        self.changed_sites = dict[Site, None]()
        """Sites that may have got a place for a host (see `has_place`), in the order of their
        changes. The reader removes them."""

    def __repr__(self) -> str:
        conditions = [host.row.condition for host in self.hosts.values()]
        return f"<Workbench {', '.join(f'{conditions.count(c)} {c}' for c in Condition)}>"

    def __len__(self) -> int:
        return len(self.hosts)

    def load(self, host: Host, crawl: str) -> None:
        """Add a host in the condition of its row, in the part of the memory of *crawl*."""
        self.hosts[host.row.host], host.loaded_for = host, crawl
        self._enter(host)

    def unload(self, host: Host) -> None:
        """Remove a host."""
        self.changed_sites[host.row.site] = None
        self._leave(host)
        del self.hosts[host.row.host]

    def update(self, host: Host, row: HostRow) -> None:
        """Give the loaded *host* its new *row*, and move it to the schedule of its condition."""
        self._leave(host, row)
        host.row = row
        self._enter(host)

    def _leave(self, host: Host, after: HostRow | None = None) -> None:
        row, schedule = host.row, self._schedule(host)
        stays = after is not None and after.condition is row.condition
        if schedule and not stays:
            schedule.remove(row.host)
        self.loaded[host.loaded_for] -= 1
        self._loaded_of[row.site] -= 1
        if not self._loaded_of[row.site]:
            del self._loaded_of[row.site]
        if row.condition is Condition.READY:
            self._leave_ready(host)
        if row.condition is Condition.READY and not stays:
            host.waits_for = None
            self._unloadable[host.loaded_for].remove(row.host)
        if row.condition is Condition.CHECKED_OUT:
            self.checked_out -= 1
            self.orders_at[row.lease.sent_to] -= 1
            self.outstanding[row.lease.crawl] -= row.lease.outstanding
            self._checked_out_of[row.site].discard(row.host)
            if not self._checked_out_of[row.site]:
                del self._checked_out_of[row.site]
        # A host that becomes checked out blocks its name and site, so no waiting host is released.
        if not stays and not (after and after.condition is Condition.CHECKED_OUT):
            self._release_next(_name_key(row), _site_key(row))

    def _leave_ready(self, host: Host) -> None:
        ready = self._ready_of[key := (host.loaded_for, host.row.site)]
        ready.remove(host.row.host)
        if not ready:
            del self._ready_of[key]
        self.changed_sites[host.row.site] = None

    def _enter(self, host: Host) -> None:
        row = host.row
        if not row.of(host.loaded_for).queued:
            self._unloadable[host.loaded_for].remove(row.host)
            waiting = (crawl for crawl, own in row.crawls.items() if own.queued)
            host.loaded_for = next(waiting, host.loaded_for)
        self.loaded[host.loaded_for] += 1
        self._loaded_of[row.site] += 1
        if row.condition is Condition.READY:
            self._unloadable[host.loaded_for].put(row.host, row.of(host.loaded_for).number)
            self._ready_of[host.loaded_for, row.site].add(row.host)
            self.changed_sites[row.site] = None
        if row.condition is Condition.CHECKED_OUT:
            self.checked_out += 1
            self.orders_at[row.lease.sent_to] += 1
            self.outstanding[row.lease.crawl] += row.lease.outstanding
            self._checked_out_of[row.site].add(row.host)
        match self._schedule(host):
            case ReadyHosts() as hosts:
                hosts.put(row)
            case Schedule() as schedule:
                schedule.put(row.host, _ends_at(row))

    def _schedule(self, host: Host) -> ReadyHosts | Schedule[HostKey] | None:
        match host.row.condition:
            case Condition.READY:
                return self._waiting[host.waits_for] if host.waits_for else self._ready
            case Condition.DELAYED:
                return self._delayed
            case Condition.CHECKED_OUT:
                return self._leases
        return None

    def checked_out_host(self, site: Site) -> HostRow | None:
        """Return the row of a checked-out host of *site*; None if no host is."""
        out = self._checked_out_of.get(site)
        return self.hosts[next(iter(out))].row if out else None

    def checked_out_hosts(self) -> list[Host]:
        """Return all checked-out hosts."""
        return [self.hosts[key] for keys in self._checked_out_of.values() for key in keys]

    def has_place(self, crawl: str, site: Site, number: int, places: Places, coming: int) -> bool:
        """Return whether a host of *site*, with the request *number* in *crawl*, may be loaded.

        It may if the site has fewer ready hosts than its *places*, or if it precedes one of them.
        *coming*: hosts of the site that are about to be loaded.
        """
        ready = len(self._ready_of.get((crawl, site), ()))
        if self._loaded_of[site] + coming >= places.loaded:
            return False
        if ready + coming < places.ready:
            return True
        last = self.last_ready(crawl, site) if not coming else None
        return last is not None and number < last.row.of(crawl).number

    def last_ready(self, crawl: str, site: Site) -> Host | None:
        """Return the ready host of *site*, in the part of *crawl*, with the highest request number;
        None without one."""
        hosts = (self.hosts[key] for key in self._ready_of.get((crawl, site), ()))
        return max(hosts, key=lambda host: (host.row.of(crawl).number, host.row.host), default=None)

    def excess_ready(self, crawl: str, site: Site, places: Places) -> int:
        """Return the ready hosts of *site*, in the part of *crawl*, beyond its *places*."""
        return max(0, len(self._ready_of.get((crawl, site), ())) - places.ready)

    def start_name_delay(
        self,
        host: HostKey,
        until: float,
        now: float,
        robots_until: float | None = None,
        former_until: float | None = None,
    ) -> None:
        """Start the courtesy delay of the name of *host*, which ends at *until*, for robots.txt at
        *robots_until*. It replaces the delay that ends at *former_until*; any other delay of the
        name still holds."""
        name = host_name(host)
        for delays in (self._name_delays, self._robots_delays):
            for _ in delays.pop_until(now):
                pass
        if (before := self._name_delays.get(name)) is not None and before != former_until:
            until = max(until, before)
        self._name_delays.put(name, until)
        robots_until = until if robots_until is None else robots_until
        self._robots_delays.put(name, max(robots_until, self._robots_delays.get(name) or 0.0))

    def inherit_name_delays(self, former: "Workbench") -> None:
        """Use the delays of names of *former*, the workbench of the same claim before a reload."""
        self._name_delays, self._robots_delays = former._name_delays, former._robots_delays

    def name_delay_until(self, row: HostRow, is_robots: bool = False) -> float | None:
        """Return when the delay of the host's name, under any scheme and port, is over; None
        without a delay. *is_robots*: for a visit to robots.txt."""
        delays = self._robots_delays if is_robots else self._name_delays
        return delays.get(host_name(row.host))

    def checked_out_neighbours(self, row: HostRow) -> Set[str]:
        """Return the other hosts of the host's site that are checked out."""
        return self._checked_out_of.get(row.site, set()) - {row.host}

    def wait_for_name(self, host: Host) -> None:
        """Queue the ready *host* until no other host of its name is checked out, and release the
        next host that waits for its site."""
        self._queue_behind(host, _name_key(host.row))
        self._release_next(_site_key(host.row))

    def wait_for_site(self, host: Host) -> None:
        """Queue the ready *host* until fewer hosts of its site are checked out."""
        self._queue_behind(host, _site_key(host.row))

    def _queue_behind(self, host: Host, key: str) -> None:
        self._ready.remove(host.row.host)
        host.waits_for = key
        self._waiting[key].put(host.row)

    def _release_next(self, *keys: str) -> None:
        """Release one of the hosts that wait for each of *keys*."""
        for key in keys:
            if key not in self._waiting:
                continue
            if released := self._waiting[key].next_host(self._open_crawls):
                self._release(released)
            else:
                del self._waiting[key]

    def _release(self, key: HostKey) -> Host:
        """End the wait of a host, and return it."""
        host = self.hosts[key]
        if host.waits_for:
            self._waiting[host.waits_for].remove(key)
        host.waits_for = None
        self._ready.put(host.row)
        return host

    def open_crawls(self, crawls: frozenset[str]) -> None:
        """Release only hosts with URLs of *crawls*, those that may get orders, while such hosts
        wait. If *crawls* have changed, release a host for each name and site, because the one that
        was released last may have no URLs of them."""
        if crawls != self._open_crawls:
            self._open_crawls = crawls
            self._release_next(*self._waiting)

    def choose_neighbour(self, host: Host, crawl: str, open_crawls: Collection[str]) -> Host:
        """Return the host to order in place of the ready *host*, which would be ordered for
        *crawl*: one that waits for the site, if its crawl has used less of its share there, or else
        *host* itself. If another one is returned, *host* waits in its place.

        *open_crawls*: the crawls that may get an order now.
        """
        hosts = self._waiting.get(key := _site_key(host.row))
        if hosts is None or host.waits_for:
            return host
        if (found := hosts.precede(crawl, host.row.of(crawl).number, open_crawls)) is None:
            return host
        self._queue_behind(host, key)
        return self._release(found)

    def charge(self, order: HostRow, visits: int, weight: float) -> None:
        """Charge the *visits* of the order of a host to its crawl, which has a *weight*, if other
        hosts wait for the same name or site."""
        for key in (_name_key(order), _site_key(order)):
            if (hosts := self._waiting.get(key)) and (crawl := order.lease.crawl):
                hosts.shares.charge(crawl, visits, weight)

    @property
    def first_ready(self) -> Mapping[str, tuple[float, str]]:
        """Crawl → the lowest request number of its ready hosts, and the host with it."""
        return self._ready.heads

    def oldest_ready(self, crawl: str) -> Host | None:
        """Return the ready host whose first URL in *crawl* is the oldest; None without one."""
        oldest = self._ready.oldest(crawl)
        return self.hosts[oldest] if oldest else None

    def late_ready(self, crawl: str) -> Iterator[Host]:
        """Yield the ready hosts in the part of *crawl* whose request numbers are higher than most.
        The workbench may change only after the last one that is needed."""
        if crawl in self._unloadable:
            yield from map(self.hosts.__getitem__, self._unloadable[crawl].late_items())

    def delays_over(self, now: float) -> Iterator[Host]:
        """Yield the hosts whose courtesy delay is over. The caller must update each host before it
        takes the next, or it gets the same host again."""
        return self._due_hosts(self._delayed, now)

    def leases_over(self, now: float) -> Iterator[Host]:
        """Yield the hosts whose lease has expired. The caller must update each host before it takes
        the next, or it gets the same host again."""
        return self._due_hosts(self._leases, now)

    def _due_hosts(self, schedule: Schedule[HostKey], now: float) -> Iterator[Host]:
        while (first := schedule.first()) and first[0] <= now:
            yield self.hosts[first[1]]

    def next_delay_end(self) -> float | None:
        """Return when the next courtesy delay ends."""
        return self._delayed.least_key

    def next_lease_end(self) -> float | None:
        """Return when the next lease expires."""
        return self._leases.least_key


def _name_key(row: HostRow) -> str:
    return host_name(row.host)


def _site_key(row: HostRow) -> str:
    return f"*.{row.site}"


def _ends_at(row: HostRow) -> float:
    """Return when the lease or the delay of a host ends."""
    is_out = row.condition is Condition.CHECKED_OUT
    return row.lease.expires_at or 0.0 if is_out else row.ready_at
