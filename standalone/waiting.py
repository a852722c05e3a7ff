"""What a crawl waits for: the hosts that back off, and when the first of all that waits is due."""

from collections.abc import Iterator
from dataclasses import dataclass

from gossamer.log.sqlite import PARTITIONS
from gossamer.store import Store
from services.frontier.bucketed_log import RangedLog, merge_ranges
from services.frontier.calendar import HOSTS
from services.frontier.conditions import Condition
from services.frontier.rows import DueRow, HostRow, PartitionRow, PlanRow, partition_keys

MOST = 5
"""The most hosts that are named."""


@dataclass(frozen=True)
class Waiting:
    """What waits, when nothing runs."""

    first_at: float | None = None
    """When the first host or URL is due; None if none waits."""
    hosts: tuple[HostRow, ...] = ()
    """The hosts whose backoff ends first."""


def read_waiting(store: Store, backing_off: int) -> Waiting:
    """Return what waits now in the store of a folder, with *backing_off* hosts that back off."""
    first_at, hosts = None, list[HostRow]()
    for due, host in _waiting(store):
        first_at = due.at if first_at is None else first_at
        if host:
            hosts.append(host)
        if len(hosts) >= min(MOST, backing_off):
            break
    return Waiting(first_at, tuple(hosts))


def _waiting(store: Store) -> Iterator[tuple[DueRow, HostRow | None]]:
    """Yield what waits, the soonest first, with its host where that backs off."""
    partitions, dues = store.table(PartitionRow), store.table(DueRow)
    hosts, plans = store.table(HostRow), store.table(PlanRow)
    ranges = [row.due for key in partition_keys(PARTITIONS) if (row := partitions.get(key))]
    # Entries stay until their bucket is over: they count as far as the rows say the same.
    for due in RangedLog(dues, HOSTS, merge_ranges(ranges)):
        if due.plan:
            plan = plans.get(*due.plan)
            if plan and plan.waits_until == due.at:
                yield due, None
            continue
        host = hosts.get(due.site, due.host)
        if host and (host.condition, host.ready_at) == (Condition.BACKING_OFF, due.at):
            yield due, host
