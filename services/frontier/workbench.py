"""The workbench: loaded hosts, ordered by when they may be visited and in what order.

The invariant that makes politeness correct: a loaded host is in exactly one of *ready*, *resting*
and *checked out*, and only :meth:`update` changes which.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from services.frontier.conditions import Condition
from services.frontier.rows import HostRow, RobotsRow
from services.frontier.schedule import Schedule


@dataclass(slots=True)
class Host:
    """A host, loaded or not: its row, and its robots rules once they were needed."""

    row: HostRow
    robots: RobotsRow | None = None
    stored: bool = True
    """Whether the store has its row; until then no total counts it."""


class Workbench:
    """All loaded hosts."""

    def __init__(self) -> None:
        self.hosts: dict[str, Host] = {}
        self.checked_out = 0
        self.outstanding = 0
        """Visits ordered and not ended."""
        self._ready, self._resting, self._leases = Schedule(), Schedule(), Schedule()
        self._schedules = {
            Condition.READY: self._ready,
            Condition.RESTING: self._resting,
            Condition.CHECKED_OUT: self._leases,
        }

    def __repr__(self) -> str:
        conditions = [host.row.condition for host in self.hosts.values()]
        return f"<Workbench {', '.join(f'{conditions.count(c)} {c}' for c in Condition)}>"

    def __len__(self) -> int:
        return len(self.hosts)

    def load(self, host: Host) -> None:
        """Add a host, in the condition that its row has."""
        self.hosts[host.row.host] = host
        self._enter(host.row)

    def unload(self, host: Host) -> None:
        """Remove a host."""
        self._leave(host.row)
        del self.hosts[host.row.host]

    def update(self, host: Host, row: HostRow) -> None:
        """Give *host* its new *row*; the only way its condition changes."""
        self._leave(host.row, row)
        host.row = row
        self._enter(row)

    def _leave(self, row: HostRow, after: HostRow | None = None) -> None:
        schedule = self._schedules.get(row.condition)
        if schedule and not (after and after.condition is row.condition):
            schedule.remove(row.host)
        if row.condition is Condition.CHECKED_OUT:
            self.checked_out -= 1
            self.outstanding -= row.ordered - row.done

    def _enter(self, row: HostRow) -> None:
        if row.condition is Condition.CHECKED_OUT:
            self.checked_out += 1
            self.outstanding += row.ordered - row.done
        if schedule := self._schedules.get(row.condition):
            schedule.put(row.host, _key(row))

    def first_ready(self) -> Host | None:
        """Return the ready host whose first URL was asked for first."""
        first = self._ready.first()
        return self.hosts[first[1]] if first else None

    def late_ready(self) -> Host | None:
        """Return a ready host whose first URL was asked for later than most."""
        host = self._ready.one_of_the_last()
        return self.hosts[host] if host else None

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
