"""Balance: chooses the partition of `visits.ordered` for each order.

The default is the partition of the order's site. Each fetcher reads some of the partitions. A
fetcher that is slower than the others, or has larger hosts, takes longer for its orders. After a
while its orders would take all slots of the frontiers, while other fetchers are idle. So an order
of a partition with many more unanswered orders than the average goes to the partition with the
fewest. SCrawler's URL distributor (section 3.3) does the same with seeds: it gives inactive seeds
of the most loaded thread to the least loaded one.

All orders of a site are in one partition at a time, because one fetcher must space the visits to
the site and alternate between its hosts. So only an inactive site moves: it has no unanswered
orders, and its last visit is at least one gap ago. A site does not move while the parser or the
archive lag in its partition, because throttling works by partition.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from gossamer.store import Store
from services.frontier.partition import Partition
from services.frontier.partitions import Partitions
from services.frontier.rows import HostRow, PartitionTallyRow, partition_key

MAX_LOAD_FACTOR, MAX_EXTRA_ORDERS = 1.25, 4
"""A partition is overloaded if it has more orders than `MAX_LOAD_FACTOR` times the average plus
`MAX_EXTRA_ORDERS`. The margin keeps chance from moving sites: after a move another fetcher has to
resolve the site's name and connect to its server again."""
READ_INTERVAL = 5.0
"""Seconds between two reads of the orders of other frontiers and of the lagging partitions."""

FindLagging = Callable[[], Container[int]]
"""Returns the partitions in which the parser or the archive lag; may raise Unavailable."""


def choose(home: int, orders: Sequence[int], lagging: Container[int]) -> int:
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
        self._foreign_orders = Counter[int]()
        self._lagging: Container[int] = ()
        self._orders_read_at = self._lag_read_at = float("-inf")

    def record_visit(self, row: HostRow, now: float) -> None:
        """Record a visit to the host of *row*."""
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
                choose(home, orders, self._read_lagging(now))
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
        if not 0 <= now - self._orders_read_at < READ_INTERVAL:
            self._orders_read_at = now
            foreign = {*range(self._partitions.total)} - self._partitions.numbers
            keys = [(partition_key(n, self._partitions.total), "") for n in sorted(foreign)]
            rows = self._tallies.get_all(keys) if keys else ()
            self._foreign_orders = sum((_parse_sent(row) for row in rows), Counter[int]())
        claimed = sum((partition.orders_at() for partition in self._partitions), Counter[int]())
        return [claimed[at] + self._foreign_orders[at] for at in range(self._partitions.total)]

    def _read_lagging(self, now: float) -> Container[int]:
        if self._find_lagging and not 0 <= now - self._lag_read_at < READ_INTERVAL:
            self._lag_read_at, self._lagging = now, self._find_lagging()
        return self._lagging

    def report_orders(self) -> None:
        """Report the orders of our partitions to the other frontiers, in the totals."""
        for partition in self._partitions if self._find_lagging else ():
            partition.report_orders()


def _parse_sent(row: PartitionTallyRow) -> Counter[int]:
    return Counter({int(at): count for at, count in row.sent.items()})
