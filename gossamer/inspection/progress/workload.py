"""The remaining work: hosts with queued URLs, the time that these take, and waiting hosts and URLs.

The directory of hosts with work, the calendar, and host rows contain the data. The frontier counts
nothing for this module.
"""

from collections.abc import Collection, Iterable, Iterator
from heapq import nlargest
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from gossamer.crawl import blocklist_of, speed_of
from gossamer.events.outcomes import Health
from gossamer.inspection.basics.labels import plain_reason
from gossamer.inspection.crawls.crawl import OpenCrawl, Viewed
from gossamer.inspection.hosts.hosts import Host, host_of
from gossamer.log import Log
from gossamer.log.sqlite import PARTITIONS
from gossamer.services.frontier.partition.plans import HOSTS
from gossamer.services.frontier.tables.bucketed_log import GroupedLog, RangedLog, merge_ranges
from gossamer.services.frontier.tables.conditions import LISTED_CONDITIONS, Condition
from gossamer.services.frontier.tables.hosts import NO_HOST, HostRow, ListedHost, RobotsRow
from gossamer.services.frontier.tables.partitions import PartitionRow, partition_keys
from gossamer.services.frontier.tables.plans import DueRow, PlanRow
from gossamer.services.frontier.tables.sites import ParkedPartsRow
from gossamer.speed import Speeds
from gossamer.store import Store
from gossamer.web.url import HostKey, site_of

MAX_READ_HOSTS = 100
"""Hosts of a workload."""
MAX_READ_ENTRIES = 1000
"""Entries of the directory, or of the calendar, that are read. Some of them may be stale."""
MAX_LOST_ENTRIES = 10_000
"""Entries of the calendar that are searched for lost hosts."""
LOST_KINDS = frozenset({Health.NAME, Health.CONNECTION, Health.TLS, Health.SILENCE, Health.SERVER})
"""Kinds of failures with which a host counts as lost."""
MAX_AWAITED_DELAY = 3600.0
"""Maximum courtesy delay, in seconds, that is shown as the pace of a host; a longer one is shown
as a wait."""
MAX_LISTED_ENTRIES = 5
"""Waiting hosts, and waiting URLs, that are returned."""


class Workload(Struct, frozen=True):
    """The hosts that have queued URLs, and the speed of the crawl."""

    hosts: tuple[Host, ...] = ()
    """At most `MAX_READ_HOSTS` hosts, the one whose queue takes longest first."""
    is_standstill: bool = False
    """Whether the speed of the crawl is 0 now."""
    speed: float | None = None
    """The limit of pages a second for the whole crawl; None without a limit."""

    @property
    def seconds_left(self) -> float:
        """Seconds until the last of `hosts` has no queued URL, if none is added; 0 before the first
        response. A host without a response counts as slow as the others on average."""
        paces = [host.pace for host in self.hosts if host.pace]
        mean = sum(paces) / len(paces) if paces else 0.0
        times = (host.seconds_left if host.pace else host.queued * mean for host in self.hosts)
        return max(times, default=0.0)

    @property
    def is_waiting_for_delays(self) -> bool:
        """Whether all hosts are in their delay or being fetched: more speed would not help."""
        return all(host.condition is not Condition.READY for host in self.hosts)


class ScheduledUrl(Struct, frozen=True):
    """A URL that is fetched at a later time."""

    url: str
    at: float
    reason: str


class Waiting(Struct, frozen=True):
    """Hosts and URLs that wait for a time."""

    first_at: float | None = None
    """When the first host or URL is due; None if none waits."""
    hosts: tuple[Host, ...] = ()
    """The hosts whose backoff ends first."""
    urls: tuple[ScheduledUrl, ...] = ()
    """The URLs that are due first."""
    delayed: tuple[Host, ...] = ()
    """The hosts in a courtesy delay that ends only after `MAX_AWAITED_DELAY`, the longest delay
    first."""
    delayed_count: int = 0
    """The number of all these hosts."""


def read_workload(opened: Viewed, now: float, crawls: Collection[str] | None = None) -> Workload:
    """Return the workload of *crawls*, or of all crawls, *now*.

    At most `MAX_READ_ENTRIES` hosts are read, many of them concurrently.
    """
    with opened.view(PartitionRow, ListedHost, HostRow, RobotsRow) as store:
        listed, blocklist = _list_hosts(opened.log, store, crawls), blocklist_of(opened.log)
        # The URLs of a blocked host are skipped without a visit.
        visited = (row for row in listed if not blocklist.of_url(f"{row.host}/"))
        rows = [*islice(visited, MAX_READ_HOSTS)]
        hosts = sorted(map(host_of, rows), key=lambda host: host.seconds_left, reverse=True)
        if hosts:
            first = next(row for row in rows if row.host == hosts[0].host)
            hosts[0] = host_of(first, store.table(RobotsRow).get(first.host))
        speed = Speeds(speed_of(opened.log)).at(now)
    return Workload(
        hosts=tuple(hosts), is_standstill=0 in (speed.pages, speed.bytes), speed=speed.pages
    )


def next_visit_at(opened: Viewed, crawls: Collection[str], now: float) -> float | None:
    """Return when a URL of *crawls* may be visited next: *now* if one waits at a host that is ready
    or in its delay; else the first end of a wait, or of a long delay; None if no URL waits. Planned
    revisits and parked parts of sites are not counted, except parts that are being released.
    """
    ends = list[float]()
    rows = (PartitionRow, ListedHost, HostRow, DueRow, PlanRow, ParkedPartsRow)
    with opened.view(*rows) as store:
        for host in _list_hosts(opened.log, store, crawls, limit=None):
            if (end := _long_delay_until(host, now)) is None:
                return now
            ends.append(end)
        dues = _calendar(store, opened.log.partitions)
        ends += islice((due.at for due in dues if _is_wait_of(crawls, due, store)), 1)
        return min(ends, default=None)


def _long_delay_until(host: HostRow, now: float) -> float | None:
    """Return when the next page of *host*, which has work, may be visited, if its courtesy delay
    ends only after `MAX_AWAITED_DELAY`; else None. Its robots.txt may be visited before that."""
    if host.condition is Condition.CHECKED_OUT:
        return None
    until = host.politeness.delay_until or 0.0
    if host.condition is Condition.DELAYED:
        until = max(until, host.ready_at)
    return until if until > now + MAX_AWAITED_DELAY else None


def read_delayed(opened: Viewed, crawls: Collection[str], now: float, waiting: Waiting) -> Waiting:
    """Return *waiting* with the hosts of *crawls* that are in a long courtesy delay *now*."""
    with opened.view(PartitionRow, ListedHost, HostRow, RobotsRow) as store:
        listed = _list_hosts(opened.log, store, crawls)
        ends = {row.host: (row, end) for row in listed if (end := _long_delay_until(row, now))}
        if not ends:
            return waiting
        longest = nlargest(
            MAX_LISTED_ENTRIES, ends.values(), key=lambda one: one[0].politeness.delay
        )
        robots = {
            row.host: row
            for row in store.table(RobotsRow).get_all([(row.host, "") for row, _ in longest])
        }
    hosts = [host_of(row, robots.get(row.host)) for row, _ in longest]
    first_at = min(end for _, end in ends.values())
    return replace(
        waiting,
        first_at=min(first_at, waiting.first_at or first_at),
        delayed=tuple(hosts),
        delayed_count=len(ends),
    )


def _is_wait_of(crawls: Collection[str], due: DueRow, store: Store) -> bool:
    """Return whether URLs of *crawls* wait for the time of *due*."""
    if due.host == NO_HOST:
        rows = store.table(ParkedPartsRow).get_all([((crawl, due.site), "") for crawl in crawls])
        return any(part.releasing for row in rows for part in row.parts.values())
    match _find_waiting_row(due, store):
        case PlanRow(crawl=crawl):
            return crawl in crawls
        case HostRow() as host:
            return any(host.of(crawl).queued for crawl in crawls)
    return False


def _list_hosts(
    log: Log,
    store: Store,
    crawls: Collection[str] | None = None,
    limit: int | None = MAX_READ_ENTRIES,
) -> Iterator[HostRow]:
    """Yield hosts with work of *crawls*, or of any crawl, once each: partition by partition and
    crawl by crawl, in the order of their request numbers. At most *limit* entries are read."""
    rows, listed = store.table(HostRow), set[str]()
    entries = islice(_directory_entries(log, store, crawls), limit)
    while batch := [*islice(entries, MAX_READ_HOSTS)]:
        found = rows.get_all([(entry.site, entry.host) for _, entry in batch])
        hosts = {row.host: row for row in found}
        for crawl, entry in batch:
            host = hosts.get(entry.host)
            if host and _has_work(host, crawl, entry) and host.host not in listed:
                listed.add(host.host)
                yield host


def _has_work(host: HostRow, crawl: str, entry: ListedHost) -> bool:
    """Return whether *entry* holds, and *host* has a URL of *crawl* or is being visited."""
    own = host.of(crawl)
    is_visited = host.condition is Condition.CHECKED_OUT
    # A crawl whose last URL was skipped stays listed until the next order of the host.
    is_busy = host.condition in LISTED_CONDITIONS and (own.queued > 0 or is_visited)
    return is_busy and own.listed == entry.number


def _directory_entries(
    log: Log, store: Store, crawls: Collection[str] | None
) -> Iterator[tuple[str, ListedHost]]:
    """Yield the entries of the directories of *crawls*, or of all crawls, and the crawl of each."""
    partitions, directory = store.table(PartitionRow), store.table(ListedHost)
    for key in partition_keys(log.partitions):
        if (row := partitions.get(key)) is None:
            continue
        for crawl, found in row.directories.items():
            if crawls is not None and crawl not in crawls:
                continue
            entries = GroupedLog(directory, crawl, found.groups)
            for bucket in found.buckets:
                yield from ((crawl, entry) for entry in entries.rows(bucket, bucket))


def read_waiting(
    store: Store, backing_off: int, due_count: int = 0, partitions: int = PARTITIONS
) -> Waiting:
    """Return the first waiting hosts and URLs of a folder, or of a fleet with its *partitions*.

    *backing_off*: the number of hosts that back off; *due_count*: the number of all waiting hosts
    and URLs. At most `MAX_READ_ENTRIES` entries of the calendar are read.
    """
    hosts, urls = list[Host](), list[ScheduledUrl]()
    max_hosts = min(MAX_LISTED_ENTRIES, backing_off)
    max_urls = min(MAX_LISTED_ENTRIES, max(0, due_count - backing_off))
    first_at = None
    rows = (_find_waiting_row(due, store) for due in _calendar(store, partitions))
    for read, entry in enumerate(row for row in rows if row):
        at = entry.ready_at if isinstance(entry, HostRow) else entry.waits_until
        first_at = at if first_at is None else first_at
        if isinstance(entry, HostRow):
            hosts.append(host_of(entry))
        else:
            urls.append(
                ScheduledUrl(entry.url, entry.waits_until or 0.0, plain_reason(entry.reason))
            )
        if (len(hosts) >= max_hosts and len(urls) >= max_urls) or read >= MAX_READ_ENTRIES:
            break
    return Waiting(first_at, tuple(hosts[:MAX_LISTED_ENTRIES]), tuple(urls[:MAX_LISTED_ENTRIES]))


def _calendar(store: Store, number: int) -> Iterator[DueRow]:
    """Yield the entries of the calendar of *number* partitions, soonest first. Some are stale."""
    partitions = store.table(PartitionRow)
    ranges = [row.due for key in partition_keys(number) if (row := partitions.get(key))]
    return iter(RangedLog(store.table(DueRow), HOSTS, merge_ranges(ranges)))


def _find_waiting_row(due: DueRow, store: Store) -> HostRow | PlanRow | None:
    """Return the row that waits for the time of *due*; None if the entry is stale.

    Entries stay until their bucket is dropped. An entry holds if its row has the same time.
    """
    if due.plan:
        plan = store.table(PlanRow).get(*due.plan)
        return plan if plan and plan.waits_until == due.at else None
    host = store.table(HostRow).get(due.site, due.host)
    if host and (host.condition, host.ready_at) == (Condition.BACKING_OFF, due.at):
        return host
    return None


def read_lost_hosts(crawl: OpenCrawl, failures: int, also: Iterable[HostKey] = ()) -> list[str]:
    """Return the keys of the hosts that had delivered pages, and have failed at least *failures*
    times in a row, sorted.

    The first `MAX_LOST_ENTRIES` entries of the calendar are searched, and the hosts of the keys
    *also*, whose entries may be later.
    """
    with crawl.view(PartitionRow, DueRow, HostRow) as store:
        hosts = store.table(HostRow)
        dues = islice(_calendar(store, crawl.log.partitions), MAX_LOST_ENTRIES)
        found = dict.fromkeys((due.site, due.host) for due in dues if not due.plan)
        found |= dict.fromkeys((site_of(f"{host}/"), host) for host in also)
        wanted, lost = iter(found), list[str]()
        while batch := [*islice(wanted, MAX_READ_HOSTS)]:
            lost += [row.host for row in hosts.get_all(batch) if _is_lost(row, failures)]
    return sorted(lost)


def _is_lost(row: HostRow, failures: int) -> bool:
    # A host is in other conditions while it is tried again. Without URLs it is not tried.
    if row.condition is Condition.IDLE or not row.totals.pages:
        return False
    return any(row.politeness.failures.get(kind, 0) >= failures for kind in LOST_KINDS)
