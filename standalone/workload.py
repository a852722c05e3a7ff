"""Queued URLs by host, the pace of each host, and the time that its queue takes.

Read from the directory of hosts with work and from host rows. The frontier counts nothing for it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from gossamer.crawl import speed_of
from gossamer.log import Log
from gossamer.speed import Speeds
from gossamer.store import Store
from services.frontier.bucketed_log import GroupedLog
from services.frontier.conditions import LISTED_CONDITIONS, Condition
from services.frontier.rows import (
    HostRow,
    ListedHost,
    PartitionRow,
    RobotsRow,
    partition_keys,
)
from standalone.folder import Opened

MAX_READ_HOSTS = 100
MAX_READ_ENTRIES = 1000
"""Entries of the directory that are read to find them: stale entries stay until they are
rewritten."""
DIRECTORY = "hosts"
"""The name of the directory's buckets, as `services.frontier.directory` writes them."""


@dataclass(frozen=True)
class Workload:
    """The hosts that have queued URLs, and the speed of the crawl."""

    hosts: tuple[HostRow, ...] = ()
    """At most `MAX_READ_HOSTS` hosts, the one whose queue takes longest first."""
    robots: RobotsRow | None = None
    """The robots.txt of the first of `hosts`."""
    is_standstill: bool = False
    """Whether the speed of the crawl is 0 now."""
    speed: float | None = None
    """The limit of pages a second for the whole crawl; None without a limit."""

    @property
    def seconds_left(self) -> float:
        """Seconds until the last of `hosts` has no queued URL, if none is added."""
        return max(map(seconds_left, self.hosts), default=0.0)


def pace(host: HostRow) -> float:
    """Return the seconds between the starts of two visits to *host*."""
    return host.politeness.delay + (host.politeness.last_took or 0.0)


def seconds_left(host: HostRow) -> float:
    """Return the seconds until *host* has no queued URL, if none is added."""
    return host.queued * pace(host)


def read_workload(opened: Opened, now: float) -> Workload:
    """Return the workload of the crawl in a folder *now*."""
    log, store = opened.log, opened.store
    for row in (PartitionRow, ListedHost, HostRow, RobotsRow):
        store.table(row)  # A missing table is created before the read transaction.
    with opened.database.reading():
        return _workload(log, store, now)


def _workload(log: Log, store: Store, now: float) -> Workload:
    hosts = sorted(islice(_hosts(log, store), MAX_READ_HOSTS), key=seconds_left, reverse=True)
    speed = Speeds(speed_of(log)).at(now)
    return Workload(
        hosts=tuple(hosts),
        robots=store.table(RobotsRow).get(hosts[0].host) if hosts else None,
        is_standstill=0 in (speed.pages, speed.bytes),
        speed=speed.pages,
    )


def _hosts(log: Log, store: Store) -> Iterator[HostRow]:
    """Yield hosts with work, of each partition in turn, in the order of their request numbers."""
    rows = store.table(HostRow)
    for entry in islice(_entries(log, store), MAX_READ_ENTRIES):
        host = rows.get(entry.site, entry.host)
        is_listed = host is not None and host.listed == entry.number
        if host and is_listed and host.condition in LISTED_CONDITIONS:
            yield host


def _entries(log: Log, store: Store) -> Iterator[ListedHost]:
    partitions, directory = store.table(PartitionRow), store.table(ListedHost)
    for key in partition_keys(log.partitions):
        if (row := partitions.get(key)) is None:
            continue
        entries = GroupedLog(directory, DIRECTORY, row.directory.groups)
        for bucket in row.directory.buckets:
            yield from entries.rows(bucket, bucket)


def is_waiting_for_delays(workload: Workload) -> bool:
    """Return whether every host is in its delay or being fetched: more speed changes nothing."""
    return all(host.condition is not Condition.READY for host in workload.hosts)
