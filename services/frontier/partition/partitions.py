"""The partitions that a frontier has claimed, the request numbers of their URLs, and their gauges.

The gauges are computed from the totals (`tally.py`), so no step iterates over all hosts.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gossamer.erasures import ErasureRow
from gossamer.errors import GossamerError
from gossamer.events import DEFAULT_CRAWL, FLEET, CrawlDefined, HostCheckedOut, OrderId
from gossamer.log import partition_of
from gossamer.policies import NEVER
from gossamer.runtime.handling import read_ahead
from gossamer.runtime.processor import Key
from gossamer.services.frontier.partition.directory import NUMBERS_PER_BUCKET, PAGE_SIZE, Directory
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.plans import (
    HOSTS,
    IDLE_READ_AHEAD,
    calendar_name,
    first_visit_calendar_name,
    keys_to_load,
)
from gossamer.services.frontier.partition.politeness import Overrides
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.workbench import FrontierCaches
from gossamer.services.frontier.tables.bucketed_log import PAGE_SIZE as CALENDAR_PAGE_SIZE
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow, ListedHost
from gossamer.services.frontier.tables.ordering import (
    BREADTH,
    Strategy,
    request_number,
    strategy_row,
)
from gossamer.services.frontier.tables.partitions import PartitionRow, partition_key
from gossamer.services.frontier.tables.plans import DueRow, PartitionPlansRow
from gossamer.services.frontier.tables.totals import merge
from gossamer.services.frontier.totals.daily import DailyTallyRow, HazardExamplesRow, day_of
from gossamer.services.frontier.totals.tally import PartitionTallyRow, RevisitTotals, TallyRow
from gossamer.settings import FrontierSettings
from gossamer.store import Partition as StorePartition
from gossamer.store import Row, Store
from gossamer.store.claims import Claimant
from gossamer.telemetry import set_age_gauge, set_age_gauges, set_gauge, set_gauges
from gossamer.web.url import HostKey, Site

OF_CRAWL: tuple[type[Row], ...] = (PartitionPlansRow, TallyRow)
SHARED: tuple[type[Row], ...] = (PartitionRow, PartitionTallyRow)
"""The rows of a partition, for each crawl and for all crawls."""


class Partitions:
    """The claimed partitions, of *total* partitions.

    Iterating yields what all crawls share. A share of a crawl is found by the name of the crawl.
    """

    def __init__(
        self, store: Store, settings: FrontierSettings, overrides: Overrides, total: int
    ) -> None:
        self._store, self._settings, self._overrides = store, settings, overrides
        self.total = total
        self._crawls = [DEFAULT_CRAWL]
        """The crawls that a claim opens. There is always one."""
        self._claimed: dict[int, Partition] = {}
        self.removed = set[str]()
        """The crawls that were removed."""
        self._opened_at = 0.0
        self._strategies = dict[str, Strategy]()
        self._claimant, self._caches = Claimant(store), FrontierCaches()
        self._ahead = 0
        """Microseconds that request numbers are ahead of the clock."""

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._claimed.values())

    def __len__(self) -> int:
        return len(self._claimed)

    def of_crawl(self, crawl: str) -> Iterator[tuple[Partition, CrawlShare]]:
        """Yield the claimed partitions and the shares of *crawl*, for changes in this step."""
        return ((one, one.share(crawl, self._opened_at)) for one in self)

    def read_crawl(self, crawl: str) -> Iterator[tuple[Partition, CrawlShare]]:
        """Yield the claimed partitions and the shares of *crawl*, for reading; none before it is
        defined."""
        return ((one, one.shares[crawl]) for one in self if crawl in one.shares)

    def shares(self) -> Iterator[CrawlShare]:
        """Yield the shares of all crawls in all claimed partitions, for reading."""
        return (share for one in self for share in [*one.shares.values()])

    def changed_shares(self) -> Iterator[tuple[Partition, CrawlShare]]:
        """Yield the claimed partitions and the shares that may have changed since they were last
        written."""
        return ((one, one.shares[crawl]) for one in self for crawl in [*one.changed])

    def present_crawls(self) -> list[str]:
        """Return the crawls that are not removed.

        Before the first definition this is the crawl `default`, whose seeds may wait already.
        """
        crawls = [crawl for crawl in self._strategies if crawl not in self.removed]
        return crawls if self._strategies else [DEFAULT_CRAWL]

    def write(self) -> set[str]:
        """Put changed totals and cursors of all partitions into the store; return the crawls that
        may have changed."""
        changed = {share.crawl for _, share in self.changed_shares()}
        for partition in self._claimed.values():
            partition.write()
        return changed

    def define(self, crawl: CrawlDefined, now: float) -> None:
        """Open *crawl* in all claimed partitions, and with each later claim."""
        self._opened_at, self._strategies[crawl.crawl] = now, strategy_row(crawl)
        if crawl.removed:
            self.removed.add(crawl.crawl)
        if crawl.crawl not in self._crawls:
            self._crawls.append(crawl.crawl)
            for _ in self.of_crawl(crawl.crawl):
                pass

    def strategy_of(self, crawl: str) -> Strategy:
        """Return the strategy of *crawl*; `breadth` before it is defined."""
        return self._strategies.get(crawl, BREADTH)

    @property
    def predicts(self) -> bool:
        """Whether the strategy of any crawl predicts."""
        return any(strategy.predicts for strategy in self._strategies.values())

    @property
    def numbers(self) -> frozenset[int]:
        """The numbers of the claimed partitions."""
        return frozenset(self._claimed)

    def assign(self, numbers: frozenset[int], now: float) -> None:
        """Claim the partitions *numbers*, and drop all others.

        Raise GossamerError for a partition that was added while the crawl runs.
        """
        for lost in self._claimed.keys() - numbers:
            del self._claimed[lost]
            self._claimant.release([lost])
        if max(numbers, default=0) >= self.total:
            raise GossamerError(
                f"partition {max(numbers)} was added to a running crawl of {self.total} "
                f"partitions: the number of partitions is fixed for a crawl"
            )
        if gained := numbers - self._claimed.keys():
            epoch = self._claimant.claim(gained, now)
            self._read_ahead(gained, now)
            for number in sorted(gained):
                self._claimed[number] = opened = self._open(number, epoch, now, now)
                opened.tally.orders_before_claim = opened.tally.orders

    def reload(self, now: float) -> None:
        """Read the partitions from the store again, under their present claims."""
        self._read_ahead(self._claimed, now)
        for number, former in self._claimed.items():
            opened = self._open(number, former.epoch, former.claimed_at, now)
            opened.bench.inherit_name_delays(former.bench)
            opened.tally.orders_before_claim = former.tally.orders_before_claim
            self._claimed[number] = opened

    def _read_ahead(self, numbers: Iterable[int], now: float) -> None:
        """Read what the partitions *numbers* read when they are opened, one table at a time.

        The number of requests does not grow with the number of partitions: a member that reads for
        too long without a poll loses its partitions.
        """
        keys = [partition_key(number, self.total) for number in numbers]
        of_crawls = [(crawl, key) for crawl in self._crawls for key in keys]
        rows: list[Key] = [(row, key, crawl) for row in OF_CRAWL for crawl, key in of_crawls]
        rows += [(row, key, "") for row in SHARED for key in keys]
        rows += [(DailyTallyRow, one, day_of(now)) for one in of_crawls]
        read_ahead(self._store, [rows])
        self._store.table(HazardExamplesRow).scan_ahead(of_crawls)
        self._store.table(ErasureRow).scan_ahead([FLEET])
        self._read_calendars_ahead(keys, of_crawls, now)
        stored = self._store.table(PartitionRow).get_all([(key, "") for key in keys])
        entries = self._store.table(ListedHost)
        directories = [
            Directory(crawl, found, entries)
            for row in stored
            for crawl, found in row.directories.items()
        ]
        entries.scan_ahead([key for one in directories for key in one.unread_keys()], PAGE_SIZE)
        tallies = self._store.table(PartitionTallyRow).get_all([(key, "") for key in keys])
        checked_out = [(site, host) for row in tallies for host, site in row.checked_out.items()]
        self._store.table(HostRow).read_ahead(checked_out)

    def read_listed_ahead(self) -> None:
        """Read the entries of all directories together that the choice of hosts has to read. A
        takeover has read them, but its step may have ended."""
        keys = [key for partition in self for key in partition.unread_listed_keys()]
        self._store.table(ListedHost).scan_ahead(keys, PAGE_SIZE)

    def _read_calendars_ahead(
        self, keys: Sequence[str], of_crawls: Sequence[tuple[str, str]], now: float
    ) -> None:
        table = self._store.table(DueRow)
        due, first = list[StorePartition](), list[StorePartition]()
        for row in self._store.table(PartitionRow).get_all([(key, "") for key in keys]):
            due += keys_to_load(table, HOSTS, row.due, now)
        stored = [(key, crawl) for crawl, key in of_crawls]
        for plans in self._store.table(PartitionPlansRow).get_all(stored):
            name = first_visit_calendar_name(plans.crawl)
            due += keys_to_load(table, name, plans.first_visits, now)
            name = calendar_name(plans.crawl, plans.generation)
            revisits = keys_to_load(table, name, plans.revisits, now)
            # Without a policy, one entry of the calendar is read.
            (first if plans.policy == NEVER else due).extend(revisits)
        table.scan_ahead(due, CALENDAR_PAGE_SIZE)
        table.scan_ahead(first, IDLE_READ_AHEAD)

    def _open(self, number: int, epoch: int, claimed_at: float, now: float) -> Partition:
        self._opened_at = now
        opened = Partition(
            number,
            self.total,
            epoch,
            claimed_at,
            self._store,
            self._settings,
            self._overrides,
            self._caches,
            self.removed,
            now,
        )
        for crawl in self._crawls:
            opened.share(crawl)
        opened.load_checked_out(self._crawls[0], now)
        return opened

    def number_of(self, site: Site) -> int:
        """Return the partition number of *site*, whether it is claimed or not."""
        return partition_of(site, self.total)

    def of(self, site: Site) -> Partition | None:
        """Return the partition of *site*; None if it is not claimed."""
        return self._claimed.get(self.number_of(site))

    def find(self, site: Site, crawl: str) -> tuple[Partition, CrawlShare] | None:
        """Return the partition of *site* and the share of *crawl* there, for changes in this step;
        None if the partition is not claimed."""
        if (found := self.of(site)) is None:
            return None
        return found, found.share(crawl, self._opened_at)

    def next_number(self, partition: Partition, now: float, rank: int = 0) -> int:
        """Return the request number of a URL of *partition* that is requested now."""
        return request_number(rank, self.next_moment(partition, now))

    def next_moment(self, partition: Partition, now: float, count: int = 1) -> int:
        """Return the first of *count* consecutive microseconds, for request numbers of *partition*.

        They grow over all claimed partitions, even if the clock is set back.
        """
        last = max(claimed.tally.last_number for claimed in self._claimed.values())
        moment = int(now * 1e6) + self._ahead
        if last - moment > NUMBERS_PER_BUCKET:
            # The clock was ahead before. The numbers stay ahead of the clock and grow with it: if
            # each were the last one plus 1, all would be in one bucket until the clock caught up.
            self._ahead += last - moment
        moment = max(last + 1, moment)
        partition.tally.last_number = moment + count - 1
        return moment


class RecordedOrder(NamedTuple):
    """An order, and when it was made."""

    order: OrderId
    site: Site
    host: HostKey
    at: float


class Gauges:
    """The gauges of one frontier."""

    def __init__(self, partitions: Partitions) -> None:
        self._partitions = partitions
        self._orders: deque[RecordedOrder] = deque()
        self._queued, self._totals = Counter[str](), defaultdict[str, RevisitTotals](RevisitTotals)
        self._numbers = frozenset[int]()
        """The partitions with these totals."""

    def record_order(self, order: HostCheckedOut) -> None:
        """Record an order that was made now."""
        self._orders.append(RecordedOrder(order.order, order.site, order.host, order.at))

    def update(self, changed: set[str]) -> None:
        """Set all gauges; *changed*: the crawls whose totals may have changed."""
        crawls = self._partitions.present_crawls()
        if self._partitions.numbers != self._numbers:
            self._numbers, changed = self._partitions.numbers, {*crawls}
        for crawl in changed.intersection(crawls):
            found = [*self._partitions.read_crawl(crawl)]
            self._queued[crawl] = sum(share.tally.row.queued for _, share in found)
            plans = [share.plans for _, share in found]
            of_partitions = (RevisitTotals.of(one.row, one.crawl) for one in plans)
            self._totals[crawl] = merge(RevisitTotals(), *of_partitions)
        shared = [partition.tally for partition in self._partitions]
        loaded = Counter[str]()
        for partition in self._partitions:
            loaded.update(partition.bench.loaded)
        set_gauges("gossamer_hosts_loaded", {crawl: loaded[crawl] for crawl in crawls})
        set_gauges("gossamer_urls_queued", {crawl: self._queued[crawl] for crawl in crawls})
        for condition in Condition:
            hosts = sum(tally.conditions.get(condition, 0) for tally in shared)
            set_gauge("gossamer_hosts", hosts, condition=condition)
        set_age_gauge("gossamer_oldest_order_seconds", self._oldest_order_at())
        if changed:
            _set_revisit_gauges({crawl: self._totals[crawl] for crawl in crawls})

    def _oldest_order_at(self) -> float | None:
        while self._orders and not self._is_open(self._orders[0]):
            self._orders.popleft()
        return self._orders[0].at if self._orders else None

    def _is_open(self, order: RecordedOrder) -> bool:
        partition = self._partitions.of(order.site)
        host = partition.bench.hosts.get(order.host) if partition else None
        if host is None or host.row.lease.order != order.order:
            return False
        return host.row.condition is Condition.CHECKED_OUT


def _set_revisit_gauges(totals: Mapping[str, RevisitTotals]) -> None:
    """Set the gauges of the revisits of each crawl."""
    set_gauges("gossamer_revisit_policy", {(one.policy, id): 1 for id, one in totals.items()})
    next_at = {id: one.next_at for id, one in totals.items()}
    set_age_gauges("gossamer_revisits_late_seconds", next_at)
    values: dict[str, Callable[[RevisitTotals], float | None]] = {
        "gossamer_revisit_budget": lambda one: one.budget,
        "gossamer_revisits_planned": lambda one: one.planned if one.active else 0,
        "gossamer_new_urls_waiting": lambda one: one.waiting,
        "gossamer_expected_freshness_ratio": lambda one: one.expected_freshness,
        "gossamer_expected_age_seconds": lambda one: one.expected_age,
        "gossamer_visit_price_seconds": lambda one: one.mean_price,
    }
    for name, value in values.items():
        known = {id: found for id, one in totals.items() if (found := value(one)) is not None}
        set_gauges(name, known)
