"""Choices over all partitions: which host is ordered next, and which fetcher gets its order.

**Loading.** Hosts are loaded from the directories of all partitions, while memory has capacity: the
next one is of the crawl with the fewest loaded hosts, and among these in the order of their request
numbers. A loaded host is unloaded for a waiting one of its crawl that should be ordered first.

**Memory of crawls.** If memory is full, each crawl with work is entitled to an equal part of it. A
crawl with fewer hosts lends the rest. When more hosts of it wait, they are loaded in place of ready
hosts of crawls with more than their part. Crawls that cannot get orders, such as paused ones, have
no part: their hosts are not loaded, and are unloaded first. So hosts of one crawl do not wait for
those of another that has a million hosts, has better ranks, or is paused.

**Exploration.** If the strategy of a crawl predicts ranks, every tenth host is loaded, and every
tenth is ordered, for its age: a host with poor prospects waits long, but not for ever.

**Slots.** The number of hosts that are checked out at once is limited. While the parser or the
archive lag in a partition, fetchers start no visits of it, and its hosts stay checked out. If these
hosts could take all slots, no other partition would be visited. So half of the slots are reserved,
the same number for each partition and at least one. Any partition may take the other slots. A
partition that alone has work may therefore take more than half of all slots.

**Balance.** The default partition of `visits.ordered` is that of the order's site. Each fetcher
reads some of the partitions. A fetcher that is slower than the others, or has larger hosts, takes
longer for its orders. After a while its orders would take all slots of the frontiers, while other
fetchers are idle. So an order of a partition with many more unanswered orders than the average goes
to the partition with the fewest. SCrawler's URL distributor (section 3.3) does the same with seeds:
it gives inactive seeds of the most loaded thread to the least loaded one.

All orders of a site are in one partition at a time, because one fetcher must space the visits to
the site and alternate between its hosts. So only an inactive site moves: it has no unanswered
orders, and its last visit is at least one gap ago. A site does not move while the parser or the
archive lag in its partition, because throttling works by partition.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, groupby, islice, zip_longest
from operator import attrgetter
from typing import NamedTuple

from gossamer.runtime.handling import read_ahead
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.partitions import Partitions
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.workbench import Host
from gossamer.services.frontier.tables.hosts import HostRow, ListedHost
from gossamer.services.frontier.tables.ordering import (
    EXPLORATION_INTERVAL,
    MAX_PENALTY,
    is_urgent,
    moment_of,
    rank_of_number,
)
from gossamer.services.frontier.tables.partitions import partition_key
from gossamer.services.frontier.totals.tally import PartitionTallyRow
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.url import Site

MAX_LOADED_PER_STEP = 500
"""Hosts that are loaded in one step of the loop: the member has to poll between steps."""
MAX_LATE_HOSTS = 16
"""The number of ready hosts with high request numbers from which one is chosen to be unloaded."""
MAX_READS_PER_STEP = 8
"""Reads in one step. Each reads as many hosts as fit in memory, and some entries may be stale."""
MAX_LOAD_FACTOR, MAX_EXTRA_ORDERS = 1.25, 4
"""A partition is overloaded if it has more orders than `MAX_LOAD_FACTOR` times the average plus
`MAX_EXTRA_ORDERS`. The margin keeps chance from moving sites: after a move another fetcher has to
resolve the site's name and connect to its server again."""
ORDERS_READ_INTERVAL = 5.0
"""Seconds between two reads of the orders of other frontiers and of the lagging partitions."""
FindLagging = Callable[[], Container[int]]
"""Returns the partitions in which the parser or the archive lag; may raise Unavailable."""


class ReadyHost(NamedTuple):
    """A ready host, its partition, and the crawl that the host is ordered for."""

    partition: Partition
    crawl: str
    host: Host

    @property
    def number(self) -> int:
        """The request number of the host in the crawl."""
        return self.host.row.of(self.crawl).number


class ListedEntry(NamedTuple):
    """An entry of the directory of a crawl, its partition, and the share of the crawl."""

    partition: Partition
    share: CrawlShare
    entry: ListedHost


def check_slots(used: Sequence[int], limit: int) -> list[bool]:
    """Return for each partition whether one more of its hosts may be checked out.

    *used*: the number of slots that each partition uses now; *limit*: the number of all slots.
    """
    reserved = max(1, limit // (2 * max(1, len(used))))
    common = limit - reserved * len(used) - sum(max(0, slots - reserved) for slots in used)
    return [slots < reserved or common > 0 for slots in used]


class HostLoader:
    """Keeps at most `loaded_limit` hosts in memory, each in the part of one crawl.

    *crawls*, an argument of the methods: the crawls that may get orders, sooner or later.
    """

    def __init__(self, partitions: Partitions, settings: FrontierSettings, store: Store) -> None:
        self._partitions, self._store = partitions, store
        self._limit, self._slots = settings.loaded_limit, settings.checked_out_limit
        self._chosen = self._popped = 0
        """Hosts that were chosen for an order, and loaded."""

    def __len__(self) -> int:
        return sum(len(partition.bench) for partition in self._partitions)

    def may_load(self, crawls: Collection[str]) -> bool:
        """Return whether `load_hosts` may load a host: memory has capacity, or more hosts of a
        crawl than its part."""
        waiting = self._with_listed(crawls)
        if len(self) < self._limit or not waiting:
            return bool(waiting)
        return all(self._choose_exchanges(crawls, 1))

    def _with_listed(self, crawls: Collection[str]) -> list[str]:
        """Return the *crawls* with hosts that may wait for memory."""
        listed = set[str]().union(*(one.crawls_with_listed() for one in self._partitions))
        return [crawl for crawl in crawls if crawl in listed]

    def load_hosts(self, now: float, crawls: Collection[str]) -> None:
        """Load waiting hosts while memory has capacity, or in place of hosts of crawls with more
        than their part: at most `MAX_LOADED_PER_STEP`."""
        left = MAX_LOADED_PER_STEP
        self._partitions.read_listed_ahead()
        if len(self) >= self._limit:
            left -= self._share_memory(left, now, crawls)
        for _ in range(MAX_READS_PER_STEP):
            if not (popped := self._pop_listed(min(left, self._limit - len(self)), crawls)):
                return
            left -= len(popped)
            self._load(popped, now)

    def _share_memory(self, limit: int, now: float, crawls: Collection[str]) -> int:
        """Load at most *limit* hosts of crawls with less than their part of the full memory, in
        place of hosts of crawls with more; return their number."""
        short, hosts = self._choose_exchanges(crawls, limit)
        entries, with_slots = list[ListedEntry](), self._with_slots()
        while short and len(entries) < len(hosts):
            if entry := self._pop_next(short[-1], with_slots):
                entries.append(entry)
                short.pop()
            else:
                short = [crawl for crawl in short if crawl != short[-1]]
        self._exchange(entries, hosts, now)
        return len(entries)

    def _load(self, popped: Sequence[ListedEntry], now: float) -> None:
        """Load the hosts of *popped* entries that are not stale."""
        rows = [(HostRow, one.entry.site, one.entry.host) for one in popped]
        read_ahead(self._store, [rows])
        place = attrgetter("partition.number", "share.crawl")
        for _, several in groupby(sorted(popped, key=place), key=place):
            entries = [*several]
            partition, share, _ = entries[0]
            partition.load_listed(share, [one.entry for one in entries], now)

    def _exchange(
        self, entries: Sequence[ListedEntry], hosts: Sequence[ReadyHost], now: float
    ) -> None:
        """Load the hosts of *entries*, which were popped, in place of as many *hosts*."""
        for partition, _, host in hosts[: len(entries)]:
            partition.return_to_directory(host)
        if entries:
            self._load(entries, now)

    def _pop_listed(self, limit: int, crawls: Collection[str]) -> list[ListedEntry]:
        """Pop at most *limit* waiting entries, each of the crawl with the fewest loaded hosts.

        Hosts of a partition without slots are loaded only if no other host waits.
        """
        popped, crawls = list[ListedEntry](), self._with_listed(crawls)
        if limit <= 0 or not crawls:
            return popped
        loaded = self._count_loaded()
        for partitions in (self._with_slots(), [*self._partitions]):
            waiting = [*crawls]
            while waiting and len(popped) < limit:
                crawl = min(waiting, key=loaded.__getitem__)
                if entry := self._pop_next(crawl, partitions):
                    popped.append(entry)
                    loaded[crawl] += 1
                else:
                    waiting.remove(crawl)
        return popped

    def _pop_next(self, crawl: str, partitions: Iterable[Partition]) -> ListedEntry | None:
        """Pop the first waiting entry of *crawl*, or the oldest one at every
        `EXPLORATION_INTERVAL`-th host if its strategy predicts."""
        explores = self._partitions.strategy_of(crawl).predicts
        if explores and self._popped % EXPLORATION_INTERVAL == EXPLORATION_INTERVAL - 1:
            entry = _oldest_listed(crawl, partitions)
        else:
            entry = _first_listed(crawl, partitions)
        if entry:
            entry.partition.pop_listed(entry.share, entry.entry)
            self._popped += 1
        return entry

    def _count_loaded(self) -> Counter[str]:
        """Return the number of loaded hosts in the part of each crawl."""
        return sum((partition.bench.loaded for partition in self._partitions), Counter[str]())

    def _find_shortages(self, crawls: Collection[str]) -> tuple[Counter[str], Counter[str]]:
        """Return for a full memory by how many hosts each crawl has less than its part, if hosts of
        it wait, and more than its part.

        The parts are equal. Only *crawls* with loaded or waiting hosts have one.
        """
        loaded, with_slots = self._count_loaded(), self._with_slots()
        listed = self._with_listed(crawls)
        waiting = [crawl for crawl in listed if _first_listed(crawl, with_slots)]
        active = {*waiting, *(crawl for crawl in crawls if loaded[crawl])}
        part = max(1, self._limit // max(1, len(active)))
        short = Counter({crawl: part - loaded[crawl] for crawl in waiting})
        excess = Counter({one: count - part * (one in active) for one, count in loaded.items()})
        return +short, +excess

    def _choose_exchanges(
        self, crawls: Collection[str], limit: int
    ) -> tuple[list[str], list[ReadyHost]]:
        """Return crawls, each once for each host that it may load, and ready hosts of other crawls
        that make room for these: at most *limit*."""
        short, excess = self._find_shortages(crawls)
        hosts, limit = list[ReadyHost](), min(limit, short.total())
        # The crawls that cannot get orders come first.
        for crawl in sorted(excess, key=lambda one: (one in crawls, -excess[one])):
            most = min(excess[crawl], limit - len(hosts))
            hosts += islice(self._late_ready(crawl), max(0, most))
        return [*islice(short.elements(), limit)], hosts

    def explore(self, ready: ReadyHost) -> ReadyHost:
        """Return *ready*, the first host of its crawl, or the one with the oldest URL at every
        `EXPLORATION_INTERVAL`-th order if the strategy of the crawl predicts."""
        self._chosen += 1
        if is_urgent(ready.number):
            return ready
        crawl = ready.crawl
        predicts = self._partitions.strategy_of(crawl).predicts
        if not predicts or self._chosen % EXPLORATION_INTERVAL:
            return ready
        worst = rank_of_number(ready.number) + MAX_PENALTY
        oldest = [
            one
            for partition in self._with_slots()
            if (host := partition.bench.oldest_ready(crawl))
            and rank_of_number((one := ReadyHost(partition, crawl, host)).number) <= worst
        ]
        return min(oldest, key=lambda one: moment_of(one.number), default=ready)

    def first_ready(self, crawls: Collection[str]) -> dict[str, ReadyHost]:
        """Return for each of *crawls* the ready host with the lowest request number whose partition
        has a free slot. Crawls without such a host are left out."""
        first = dict[str, tuple[float, str]]()
        places = dict[str, Partition]()
        for partition in self._with_slots():
            for crawl, head in partition.bench.first_ready.items():
                if crawl not in first or head < first[crawl]:
                    first[crawl], places[crawl] = head, partition
        return {
            crawl: ReadyHost(places[crawl], crawl, places[crawl].bench.hosts[first[crawl][1]])
            for crawl in crawls
            if crawl in first
        }

    def _late_ready(self, crawl: str) -> Iterator[ReadyHost]:
        """Yield the ready hosts in the part of *crawl* whose request numbers are higher than most,
        those of partitions without free slots first."""
        with_slots = {partition.number for partition in self._with_slots()}
        for has_slots in (False, True):
            late = [
                map(partial(ReadyHost, partition, crawl), partition.bench.late_ready(crawl))
                for partition in self._partitions
                if (partition.number in with_slots) is has_slots
                if crawl in partition.shares
            ]
            yield from filter(None, chain.from_iterable(zip_longest(*late)))

    def _find_preceded(
        self, ready: Mapping[str, ReadyHost], crawls: Collection[str]
    ) -> ReadyHost | None:
        """Return the ready host that is replaced by one that waits for memory, and that should be
        ordered before all that are *ready* first in its crawl."""
        if len(self) < self._limit:
            return None
        with_slots = self._with_slots()
        numbers = {partition.number for partition in with_slots}

        def is_blocked(one: ReadyHost) -> bool:
            """Return whether *one* waits for a slot alone."""
            return one.partition.number not in numbers and not one.host.waits_for

        for crawl in self._with_listed(crawls):
            waiting, first = _first_listed(crawl, with_slots), ready.get(crawl)
            if waiting is None or (first and waiting.entry.number >= first.number):
                continue
            candidates = islice(self._late_ready(crawl), MAX_LATE_HOSTS)
            late = max(candidates, key=lambda one: (is_blocked(one), one.number), default=None)
            # A host in place of one that waits for another host may have to wait as well. So only
            # one with a lower number replaces it: else they would replace each other without end.
            if late and (is_blocked(late) or waiting.entry.number < late.number):
                return late
        return None

    def replace_preceded(
        self, ready: Mapping[str, ReadyHost], crawls: Collection[str], now: float
    ) -> bool:
        """Load a host that should be ordered before all that are *ready* first in its crawl, in
        place of another; return False if there is none."""
        if (late := self._find_preceded(ready, crawls)) is None:
            return False
        waiting = self._pop_next(late.crawl, self._with_slots())
        self._exchange([waiting] if waiting else [], [late], now)
        return waiting is not None

    def blocks_waiting_hosts(self, crawls: Collection[str]) -> bool:
        """Return whether a host waits for the memory of ready hosts that cannot be ordered."""
        return self._find_preceded({}, crawls) is not None

    def _with_slots(self) -> list[Partition]:
        """Return the partitions that have caught up and have a free slot."""
        partitions = [*self._partitions]
        used = [partition.bench.checked_out for partition in partitions]
        have_slots = zip(partitions, check_slots(used, self._slots), strict=True)
        return [one for one, has_slot in have_slots if has_slot and one.caught_up]


def _first_listed(crawl: str, partitions: Iterable[Partition]) -> ListedEntry | None:
    """Return the first waiting entry of *crawl*."""
    waiting = [
        ListedEntry(partition, share, entry)
        for partition in partitions
        if (share := partition.read_listed(crawl)) and (entry := partition.first_listed(share))
    ]
    return min(waiting, key=lambda listed: listed.entry.number, default=None)


def _oldest_listed(crawl: str, partitions: Iterable[Partition]) -> ListedEntry | None:
    """Return the oldest waiting entry of *crawl* among the best ranks."""
    waiting = [
        ListedEntry(partition, share, entry)
        for partition in partitions
        if (share := partition.read_listed(crawl)) and (entry := partition.oldest_listed(share))
    ]
    return min(waiting, key=lambda listed: moment_of(listed.entry.number), default=None)


def choose_partition(home: int, orders: Sequence[int], lagging: Container[int]) -> int:
    """Return the partition for an order of an inactive site of the partition *home*.

    *orders*: the unanswered orders of each partition.
    """
    average = sum(orders) / len(orders)
    if not is_overloaded(home, orders) or home in lagging:
        return home
    candidates = [number for number in range(len(orders)) if number not in lagging]
    idlest = min(candidates, key=orders.__getitem__)
    return idlest if orders[idlest] < average else home


def is_overloaded(partition: int, orders: Sequence[int]) -> bool:
    """Return whether a partition has too many of the *orders*."""
    return orders[partition] > MAX_LOAD_FACTOR * sum(orders) / len(orders) + MAX_EXTRA_ORDERS


class LastVisit(NamedTuple):
    """The last visit to a site: its time, the seconds after which a visit may start in another
    partition, and the partition of `visits.ordered` that its order was sent to."""

    at: float
    gap: float
    sent_to: int | None


class Balance:
    """Distributes the orders of the claimed partitions.

    Without *find_lagging* there is one fetcher, and every order goes to the partition of its site.
    """

    def __init__(
        self, partitions: Partitions, store: Store, gap: float, find_lagging: FindLagging | None
    ) -> None:
        """*gap*: the time between the starts of two visits to a site, as a multiple of the delay of
        its hosts."""
        self._partitions, self._gap = partitions, gap
        self._tallies, self._find_lagging = store.table(PartitionTallyRow), find_lagging
        self._last_visits = OrderedDict[str, LastVisit]()
        self._answered_at = dict[int, float]()
        """Partition of `visits.ordered` → when a fetcher last made a visit of one of its orders."""
        self._foreign_orders = Counter[int]()
        self._lagging: Container[int] = ()
        self._orders_read_at = self._lag_read_at = float("-inf")

    def answers_since_expiry(self, row: HostRow) -> bool:
        """Return whether a fetcher that gets the orders of the host of *row* made a visit since the
        host's last lease expired. True if no lease of the host expired."""
        expired_at = row.suspect.expired_at
        return expired_at is None or self._answered_at.get(self._partition_of(row), 0) > expired_at

    def _partition_of(self, row: HostRow) -> int:
        """Return the partition of `visits.ordered` with the last order of a host; 0 if there is one
        fetcher."""
        if self._find_lagging is None:
            return 0
        sent_to, home = row.lease.sent_to, self._partitions.number_of(row.site)
        return home if sent_to is None or sent_to >= self._partitions.total else sent_to

    def record_visit(self, row: HostRow, now: float) -> None:
        """Record a visit to the host of *row*."""
        self._answered_at[self._partition_of(row)] = now
        if self._find_lagging is None:
            return
        while self._last_visits and not self._is_recent(
            next(iter(self._last_visits.values())), now
        ):
            self._last_visits.popitem(last=False)
        self._last_visits.pop(row.site, None)
        self._last_visits[row.site] = LastVisit(
            now, self._gap * row.politeness.delay, row.lease.sent_to
        )

    def _is_recent(self, last: LastVisit, now: float) -> bool:
        return last.at <= now < last.at + last.gap

    def choose(self, partition: Partition, site: Site, now: float) -> int | None:
        """Return the partition for an order of *site*; None for its own *partition*."""
        if self._find_lagging is None:
            return None
        home, at = partition.number, self._current_partition(partition, site, now)
        if at is None:
            orders = self._count_orders(now)
            at = (
                choose_partition(home, orders, self._read_lagging(now))
                if is_overloaded(home, orders)
                else home
            )
        return None if at == home else at

    def _current_partition(self, partition: Partition, site: Site, now: float) -> int | None:
        """Return the partition that *site* must not leave yet, because its fetcher has orders of
        the site or visited it less than one gap ago; None if *site* is inactive."""
        if other := partition.bench.checked_out_host(site):
            return partition.topic_partition(other.lease.sent_to)
        last = self._last_visits.get(site)
        if last is None or not self._is_recent(last, now):
            return None
        return partition.topic_partition(last.sent_to)

    def _count_orders(self, now: float) -> list[int]:
        if not 0 <= now - self._orders_read_at < ORDERS_READ_INTERVAL:
            self._orders_read_at = now
            foreign = {*range(self._partitions.total)} - self._partitions.numbers
            keys = [(partition_key(n, self._partitions.total), "") for n in sorted(foreign)]
            rows = self._tallies.get_all(keys) if keys else ()
            self._foreign_orders.clear()
            for row in rows:
                self._foreign_orders.update({int(at): orders for at, orders in row.sent.items()})
        claimed = sum((partition.orders_at() for partition in self._partitions), Counter[int]())
        return [claimed[at] + self._foreign_orders[at] for at in range(self._partitions.total)]

    def _read_lagging(self, now: float) -> Container[int]:
        if self._find_lagging and not 0 <= now - self._lag_read_at < ORDERS_READ_INTERVAL:
            self._lag_read_at, self._lagging = now, self._find_lagging()
        return self._lagging

    def report_orders(self) -> None:
        """Report the orders of our partitions to the other frontiers, in the totals."""
        for partition in self._partitions if self._find_lagging else ():
            partition.report_orders()
