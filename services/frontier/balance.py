"""Which partition of `visits.ordered` an order goes to: that of its site, unless that has too many.

Fetchers share these partitions out. Where one is slower than the others, or has larger hosts, its
orders take longer, and after a while it has all that a frontier may order, while others are idle.
So an order goes elsewhere from a partition where more orders than on the average are unanswered: to
the one that has the fewest. This is SCrawler's URL distributor (section 3.3), whose threads hold
seeds: it gives inactive seeds of the thread that has the most to the one that has the fewest, too.

A site that anybody has an order of is at one partition: its fetcher keeps the starts at the site
apart, and its host's turns. So only an inactive site moves, and only a gap after its last visit.
And only while its pages are read: what is held back for parser or archive is held by partition.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from gossamer.store import Store
from services.frontier.partition import Partition
from services.frontier.partitions import Partitions
from services.frontier.rows import HostRow, PartitionTallyRow, partition_key

FULL, SOME = 1.25, 4
"""A partition has too many orders with so many times the average, and some: a site that moves is
looked up and connected to anew, so chance alone should not move any."""
LOOK_EVERY = 5.0
"""Seconds between two looks at what other frontiers have ordered, and at what is unread."""

Unread = Callable[[], Container[int]]
"""Tells the partitions of which many pages wait for parser or archive; may raise Unavailable."""


def choose(home: int, orders: Sequence[int], unread: Container[int]) -> int:
    """Return the partition for an order of an inactive site of *home*, where so many *orders* are
    unanswered at each partition."""
    average = sum(orders) / len(orders)
    if not is_full(home, orders) or home in unread:
        return home
    able = [number for number in range(len(orders)) if number not in unread]
    least = min(able, key=orders.__getitem__)
    return least if orders[least] < average else home


def is_full(partition: int, orders: Sequence[int]) -> bool:
    """Return whether a partition has more *orders* than it should."""
    return orders[partition] > FULL * sum(orders) / len(orders) + SOME


class Last(NamedTuple):
    """The last visit to a site: until when no other may start elsewhere, and where it was."""

    at: float
    gap: float
    sent_to: int | None


class Balance:
    """Sends the orders of the claimed partitions where there are few.

    Without *unread* there is one fetcher, and every order goes to the partition of its site.
    """

    def __init__(
        self, partitions: Partitions, store: Store, gap: float, unread: Unread | None
    ) -> None:
        """*gap*: between the starts at a site, so many times the delay of its hosts."""
        self._partitions, self._gap = partitions, gap
        self._tallies, self._ask = store.table(PartitionTallyRow), unread
        self._last = OrderedDict[str, Last]()
        self._others = Counter[int]()
        self._unread: Container[int] = ()
        self._looked_at = self._asked_at = float("-inf")

    def visited(self, row: HostRow, now: float) -> None:
        """The host of *row* was visited just now."""
        if self._ask is None:
            return
        while self._last and not self._is_late(next(iter(self._last.values())), now):
            self._last.popitem(last=False)
        self._last.pop(row.site, None)
        self._last[row.site] = Last(now, self._gap * row.politeness.delay, row.lease.sent_to)

    def _is_late(self, last: Last, now: float) -> bool:
        return last.at <= now < last.at + last.gap

    def choose(self, partition: Partition, site: str, now: float) -> int | None:
        """Return the partition for an order of a host of *site*; None for its own *partition*."""
        if self._ask is None:
            return None
        home, at = partition.number, self._bound_to(partition, site, now)
        if at is None:
            orders = self._orders(now)
            at = choose(home, orders, self._are_unread(now)) if is_full(home, orders) else home
        return None if at == home else at

    def _bound_to(self, partition: Partition, site: str, now: float) -> int | None:
        """Return the partition that *site* must not leave yet: its fetcher has orders of the site,
        or visited it less than a gap ago. None if *site* is inactive."""
        if other := partition.bench.visited_at(site):
            return partition.topic_partition(other.lease.sent_to)
        last = self._last.get(site)
        if last is None or not self._is_late(last, now):
            return None
        return partition.topic_partition(last.sent_to)

    def _orders(self, now: float) -> list[int]:
        if not 0 <= now - self._looked_at < LOOK_EVERY:
            self._looked_at = now
            foreign = {*range(self._partitions.in_all)} - self._partitions.numbers
            keys = [(partition_key(n, self._partitions.in_all), "") for n in sorted(foreign)]
            rows = self._tallies.get_all(keys) if keys else ()
            self._others = sum((_sent(row) for row in rows), Counter[int]())
        ours = sum((one.orders_at() for one in self._partitions), Counter[int]())
        return [ours[at] + self._others[at] for at in range(self._partitions.in_all)]

    def _are_unread(self, now: float) -> Container[int]:
        if self._ask and not 0 <= now - self._asked_at < LOOK_EVERY:
            self._asked_at, self._unread = now, self._ask()
        return self._unread

    def settle(self) -> None:
        """Tell the other frontiers, with the totals."""
        for partition in self._partitions if self._ask else ():
            partition.report_orders()


def _sent(row: PartitionTallyRow) -> Counter[int]:
    return Counter({int(at): count for at, count in row.sent.items()})
