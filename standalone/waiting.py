"""Hosts that back off and URLs that are scheduled for later, soonest first."""

from collections.abc import Iterator
from dataclasses import dataclass

from gossamer.log.sqlite import PARTITIONS
from gossamer.store import Store
from services.frontier.bucketed_log import RangedLog, merge_ranges
from services.frontier.calendar import HOSTS
from services.frontier.conditions import Condition
from services.frontier.rows import DueRow, HostRow, PartitionRow, PlanRow, partition_keys

MAX_LISTED_ENTRIES = 5
"""Hosts, and URLs, that a report names."""
MAX_READ_ENTRIES = 1000
"""Entries of the calendar that are read to find them."""


@dataclass(frozen=True)
class Waiting:
    """Hosts and URLs that wait for a time."""

    first_at: float | None = None
    """When the first host or URL is due; None if none waits."""
    hosts: tuple[HostRow, ...] = ()
    """The hosts whose backoff ends first."""
    urls: tuple[PlanRow, ...] = ()
    """The URLs that are tried again first."""


def read_waiting(store: Store, backing_off: int, due_count: int = 0) -> Waiting:
    """Return the hosts and URLs of a folder that wait.

    *backing_off* hosts back off; *due_count* hosts and URLs wait in all.
    """
    hosts, urls = list[HostRow](), list[PlanRow]()
    max_hosts = min(MAX_LISTED_ENTRIES, backing_off)
    max_urls = min(MAX_LISTED_ENTRIES, max(0, due_count - backing_off))
    first_at = None
    for read, entry in enumerate(_valid_entries(store)):
        at = entry.ready_at if isinstance(entry, HostRow) else entry.waits_until
        first_at = at if first_at is None else first_at
        if isinstance(entry, HostRow):
            hosts.append(entry)
        else:
            urls.append(entry)
        if (len(hosts) >= max_hosts and len(urls) >= max_urls) or read >= MAX_READ_ENTRIES:
            break
    return Waiting(first_at, tuple(hosts[:MAX_LISTED_ENTRIES]), tuple(urls[:MAX_LISTED_ENTRIES]))


def _valid_entries(store: Store) -> Iterator[HostRow | PlanRow]:
    """Yield the row of each valid entry of the calendar, soonest first."""
    partitions, entries = store.table(PartitionRow), store.table(DueRow)
    hosts, plans = store.table(HostRow), store.table(PlanRow)
    ranges = [row.due for key in partition_keys(PARTITIONS) if (row := partitions.get(key))]
    # Entries stay until their bucket is dropped. An entry is valid if the row has the same time.
    for due in RangedLog(entries, HOSTS, merge_ranges(ranges)):
        if due.plan:
            plan = plans.get(*due.plan)
            if plan and plan.waits_until == due.at:
                yield plan
            continue
        host = hosts.get(due.site, due.host)
        if host and (host.condition, host.ready_at) == (Condition.BACKING_OFF, due.at):
            yield host
