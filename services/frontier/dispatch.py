"""Choices over all partitions: which host is ordered next, and which fetcher gets its order.

**Loading.** Hosts are loaded from the directories of all partitions in the order of their request
numbers, while memory has capacity. A loaded host is unloaded for a waiting one that should be
ordered first. If the strategy of a crawl predicts ranks, every tenth host is loaded, and every
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
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from gossamer.runtime.handling import read_ahead
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from services.frontier.ordering import (
    EXPLORATION_INTERVAL,
    MAX_PENALTY,
    is_urgent,
    moment_of,
    rank_of_number,
)
from services.frontier.partition import Partition
from services.frontier.partitions import Partitions
from services.frontier.rows import HostRow, ListedHost, PartitionTallyRow, partition_key
from services.frontier.workbench import Host, servable_crawls

MAX_LOADED_PER_STEP = 500
"""Hosts that are loaded in one step of the loop: the member has to poll between steps."""
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
    """A ready host, and its partition as the crawl sees it that the host is ordered for."""

    partition: Partition
    host: Host

    @property
    def number(self) -> int:
        """The request number of the host in the crawl."""
        return self.host.row.of(self.partition.crawl).number


class ListedEntry(NamedTuple):
    """An entry of the directory, and its partition."""

    partition: Partition
    entry: ListedHost


def check_slots(used: Sequence[int], limit: int) -> list[bool]:
    """Return for each partition whether one more of its hosts may be checked out.

    *used*: the number of slots that each partition uses now; *limit*: the number of all slots.
    """
    reserved = max(1, limit // (2 * max(1, len(used))))
    common = limit - reserved * len(used) - sum(max(0, slots - reserved) for slots in used)
    return [slots < reserved or common > 0 for slots in used]


class HostLoader:
    """Keeps at most `loaded_limit` hosts in memory."""

    def __init__(self, partitions: Partitions, settings: FrontierSettings, store: Store) -> None:
        self._partitions, self._store = partitions, store
        self._limit, self._slots = settings.loaded_limit, settings.checked_out_limit
        self._chosen = self._popped = 0
        """Hosts that were chosen for an order, and loaded."""

    def __len__(self) -> int:
        return sum(len(partition.bench) for partition in self._partitions)

    @property
    def unfinished(self) -> bool:
        """Whether memory has capacity, and a host may wait for it."""
        if len(self) >= self._limit:
            return False
        return any(partition.may_have_listed for partition in self._partitions)

    def load_hosts(self, now: float) -> None:
        """Load waiting hosts while memory has capacity, at most `MAX_LOADED_PER_STEP`."""
        left = MAX_LOADED_PER_STEP
        for _ in range(MAX_READS_PER_STEP):
            if not (popped := self._pop_listed(min(left, self._limit - len(self)))):
                return
            left -= len(popped)
            rows = [(HostRow, entry.site, entry.host) for _, entry in popped]
            read_ahead(self._store, [rows])
            by_partition = sorted(popped, key=lambda listed: listed.partition.number)
            for partition, entries in groupby(by_partition, key=itemgetter(0)):
                partition.load_listed([entry for _, entry in entries], now)

    def _pop_listed(self, limit: int) -> list[ListedEntry]:
        # Hosts of a partition without slots are loaded only if no other host waits.
        popped, with_slots = list[ListedEntry](), self._with_slots()
        while len(popped) < limit and (
            first := self._next_listed(with_slots) or self._next_listed(self._partitions)
        ):
            first.partition.pop_listed(first.entry)
            popped.append(first)
            self._popped += 1
        return popped

    def _next_listed(self, partitions: Iterable[Partition]) -> ListedEntry | None:
        """Return the first waiting entry, or the oldest one at every `EXPLORATION_INTERVAL`-th
        host if a strategy predicts."""
        explores = self._partitions.predicts
        if explores and self._popped % EXPLORATION_INTERVAL == EXPLORATION_INTERVAL - 1:
            return _oldest_listed(partitions)
        return _first_listed(partitions)

    def explore(self, ready: ReadyHost) -> ReadyHost:
        """Return *ready*, the first host of its crawl, or the one with the oldest URL at every
        `EXPLORATION_INTERVAL`-th order if the strategy of the crawl predicts."""
        self._chosen += 1
        if is_urgent(ready.number):
            return ready
        crawl = ready.partition.crawl
        predicts = self._partitions.strategy_of(crawl).predicts
        if not predicts or self._chosen % EXPLORATION_INTERVAL:
            return ready
        worst = rank_of_number(ready.number) + MAX_PENALTY
        oldest = [
            one
            for partition in self._with_slots()
            if (host := partition.bench.oldest_ready(crawl))
            and rank_of_number((one := ReadyHost(partition.of(crawl), host)).number) <= worst
        ]
        return min(oldest, key=lambda one: moment_of(one.number), default=ready)

    def first_ready(self, crawls: Iterable[str]) -> dict[str, ReadyHost]:
        """Return for each of *crawls* the ready host with the lowest request number whose partition
        has a free slot. Crawls without such a host are left out."""
        found, partitions = dict[str, ReadyHost](), self._with_slots()
        for crawl in crawls:
            ready = [
                ReadyHost(partition.of(crawl), host)
                for partition in partitions
                if (host := partition.bench.first_ready(crawl))
            ]
            if ready:
                found[crawl] = min(ready, key=lambda one: one.number)
        return found

    def _late_ready(self) -> ReadyHost | None:
        """Return a ready host whose request number is higher than most, preferably of a partition
        without free slots; None if no host is ready."""
        with_slots = {partition.number for partition in self._with_slots()}
        ready = [
            ReadyHost(partition, host)
            for partition in self._partitions
            if (host := partition.bench.late_ready())
        ]
        return max(
            ready,
            key=lambda one: (one.partition.number not in with_slots, one.host.row.number),
            default=None,
        )

    def is_preceded(self, ready: Mapping[str, ReadyHost], crawls: Collection[str]) -> bool:
        """Return whether a host that waits for memory should be ordered before all that are *ready*
        first, by their crawls. *crawls*: those that may get orders."""
        if len(self) < self._limit:
            return False
        hosts = [one.host for one in ready.values()]
        waiting = _first_listed(self._with_slots())
        host = min(hosts, key=lambda one: one.row.number, default=None)
        if host is None and (late := self._late_ready()) and _must_wait(late.host, crawls):
            # No host may be ordered, and the late one waits for a name, a site, or a paused crawl.
            # A host in its place may have to wait as well, so only one with a lower number replaces
            # it: else the two would replace each other without end.
            host = late.host
        return waiting is not None and (host is None or waiting.entry.number < host.row.number)

    def blocks_waiting_hosts(self, crawls: Collection[str]) -> bool:
        """Return whether a host waits for the memory of ready hosts whose partitions have no free
        slots. *crawls*: those that may get orders."""
        return self._late_ready() is not None and self.is_preceded({}, crawls)

    def unload_one(self) -> bool:
        """Unload a ready host, so that a waiting one can be loaded; return False if no host is
        ready."""
        if late := self._late_ready():
            late.partition.return_to_directory(late.host)
        return late is not None

    def _with_slots(self) -> list[Partition]:
        """Return the partitions with a free slot."""
        partitions = [*self._partitions]
        used = [partition.bench.checked_out for partition in partitions]
        have_slots = check_slots(used, self._slots)
        return [one for one, has_slot in zip(partitions, have_slots, strict=True) if has_slot]


def _must_wait(host: Host, crawls: Collection[str]) -> bool:
    """Return whether a ready *host* waits for another host, or has no URLs of *crawls*."""
    row = host.row
    return host.waits_for is not None or servable_crawls(row, row.ready_at).isdisjoint(crawls)


def _first_listed(partitions: Iterable[Partition]) -> ListedEntry | None:
    waiting = [
        ListedEntry(partition, entry)
        for partition in partitions
        if (entry := partition.first_listed())
    ]
    return min(waiting, key=lambda listed: listed.entry.number, default=None)


def _oldest_listed(partitions: Iterable[Partition]) -> ListedEntry | None:
    waiting = [
        ListedEntry(partition, entry)
        for partition in partitions
        if (entry := partition.oldest_listed())
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

    def choose(self, partition: Partition, site: str, now: float) -> int | None:
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

    def _current_partition(self, partition: Partition, site: str, now: float) -> int | None:
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
            self._foreign_orders = sum((_parse_sent(row) for row in rows), Counter[int]())
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


def _parse_sent(row: PartitionTallyRow) -> Counter[int]:
    return Counter({int(at): count for at, count in row.sent.items()})
