"""The workbench: loaded hosts, ordered by when they may be visited and in what order.

The invariant that makes politeness correct: a loaded host is in exactly one of *ready*, *resting*
and *checked out*, and only :meth:`update` changes which.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from services.frontier.conditions import Condition
from services.frontier.rows import HostRow, RobotsRow
from services.frontier.schedule import Schedule
from services.frontier.slots import Slots


@dataclass(slots=True)
class Host:
    """A host, loaded or not: its row, and its robots rules once they were needed."""

    row: HostRow
    robots: RobotsRow | None = None
    stored: bool = True
    """Whether the store has its row; until then no total counts it."""
    partition: int = -1
    """That of its site, once it was loaded."""


class Workbench:
    """All loaded hosts, of which at most *limit* are checked out; see `Slots`."""

    def __init__(self, limit: int, partition_of: Callable[[str], int]) -> None:
        self.hosts: dict[str, Host] = {}
        self.outstanding = 0
        """Visits ordered and not ended."""
        self.slots, self._partition_of = Slots(limit), partition_of
        self._ready = defaultdict[int, Schedule](Schedule)
        """Those of each partition."""
        self._resting, self._leases = Schedule(), Schedule()

    def __repr__(self) -> str:
        conditions = [host.row.condition for host in self.hosts.values()]
        return f"<Workbench {', '.join(f'{conditions.count(c)} {c}' for c in Condition)}>"

    def __len__(self) -> int:
        return len(self.hosts)

    def load(self, host: Host) -> None:
        """Add a host, in the condition that its row has."""
        host.partition = self._partition_of(host.row.site)
        self.hosts[host.row.host] = host
        self._enter(host)

    def unload(self, host: Host) -> None:
        """Remove a host."""
        self._leave(host)
        del self.hosts[host.row.host]

    def update(self, host: Host, row: HostRow) -> None:
        """Give *host* its new *row*; the only way its condition changes."""
        self._leave(host, row)
        host.row = row
        self._enter(host)

    def _leave(self, host: Host, after: HostRow | None = None) -> None:
        row, schedule = host.row, self._schedule(host)
        if schedule and not (after and after.condition is row.condition):
            schedule.remove(row.host)
        if row.condition is Condition.CHECKED_OUT:
            self.slots.free(host.partition)
            self.outstanding -= row.ordered - row.done

    def _enter(self, host: Host) -> None:
        row = host.row
        if row.condition is Condition.CHECKED_OUT:
            self.slots.take(host.partition)
            self.outstanding += row.ordered - row.done
        if schedule := self._schedule(host):
            schedule.put(row.host, _key(row))

    def _schedule(self, host: Host) -> Schedule | None:
        match host.row.condition:
            case Condition.READY:
                return self._ready[host.partition]
            case Condition.RESTING:
                return self._resting
            case Condition.CHECKED_OUT:
                return self._leases
        return None

    def first_ready(self) -> Host | None:
        """Return the host whose turn it is: of those that are ready, and of whose partition one
        more may be checked out, that whose first URL was asked for first."""
        firsts = [
            first
            for partition, ready in self._ready.items()
            if (first := ready.first()) and self.slots.has_room(partition)
        ]
        return self.hosts[min(firsts)[1]] if firsts else None

    def late_ready(self) -> Host | None:
        """Return a ready host whose first URL was asked for later than most: one of a partition of
        which none may be checked out, if there is one."""
        lasts = [
            self.hosts[last] for ready in self._ready.values() if (last := ready.one_of_the_last())
        ]
        return max(lasts, key=self._lateness, default=None)

    def _lateness(self, host: Host) -> tuple[bool, int]:
        return not self.slots.has_room(host.partition), host.row.number

    def rested(self, now: float) -> Iterator[Host]:
        """Yield the hosts whose courtesy delay is over; update each before you take the next."""
        return self._timed_out(self._resting, now)

    def expired(self, now: float) -> Iterator[Host]:
        """Yield the hosts whose lease is over; update each before you take the next."""
        return self._timed_out(self._leases, now)

    def _timed_out(self, schedule: Schedule, now: float) -> Iterator[Host]:
        while (first := schedule.first()) and first[0] <= now:
            yield self.hosts[first[1]]

    def next_rested(self) -> float | None:
        """Return when the next courtesy delay is over."""
        first = self._resting.first()
        return first[0] if first else None

    def next_expired(self) -> float | None:
        """Return when the next lease is over."""
        first = self._leases.first()
        return first[0] if first else None


def _key(row: HostRow) -> float:
    match row.condition:
        case Condition.READY:
            return row.number
        case Condition.CHECKED_OUT:
            return row.expires_at
    return row.ready_at
