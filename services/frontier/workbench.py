"""The workbench: loaded hosts, ordered by when they may be visited and in what order.

The invariant that makes politeness correct: a loaded host is in exactly one of *ready*, *resting*
and *checked out*, and only :meth:`update` changes which.

Heaps are cleaned lazily: an entry counts only if the host is still where the entry says.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from services.frontier.conditions import Condition
from services.frontier.rows import HostRow, RobotsRow


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
        self._ready: list[tuple[int, str]] = []
        self._resting: list[tuple[float, str]] = []
        self._leases: list[tuple[float, str]] = []

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
        self._leave(host.row)
        host.row = row
        self._enter(row)

    def _leave(self, row: HostRow) -> None:
        if row.condition is Condition.CHECKED_OUT:
            self.checked_out -= 1
            self.outstanding -= row.ordered - row.done

    def _enter(self, row: HostRow) -> None:
        match row.condition:
            case Condition.READY:
                heappush(self._ready, (row.number, row.host))
            case Condition.RESTING:
                heappush(self._resting, (row.ready_at, row.host))
            case Condition.CHECKED_OUT:
                self.checked_out += 1
                self.outstanding += row.ordered - row.done
                heappush(self._leases, (row.expires_at, row.host))

    def first_ready(self) -> Host | None:
        """Return the ready host whose first URL was asked for first."""
        while self._ready:
            number, key = self._ready[0]
            host = self.hosts.get(key)
            if host and host.row.condition is Condition.READY and host.row.number == number:
                return host
            heappop(self._ready)
        return None

    def rested(self, now: float) -> Iterator[Host]:
        """Yield the hosts whose courtesy delay is over; update each before you take the next."""
        return self._timed_out(self._resting, Condition.RESTING, now)

    def expired(self, now: float) -> Iterator[Host]:
        """Yield the hosts whose lease is over; update each before you take the next."""
        return self._timed_out(self._leases, Condition.CHECKED_OUT, now)

    def _timed_out(
        self, heap: list[tuple[float, str]], condition: Condition, now: float
    ) -> Iterator[Host]:
        while heap and heap[0][0] <= now:
            at, key = heappop(heap)
            host = self.hosts.get(key)
            if host and host.row.condition is condition and _until(host.row) == at:
                yield host

    def due(self) -> float | None:
        """Return when the next delay or lease ends; perhaps too early, never too late."""
        ends = [heap[0][0] for heap in (self._resting, self._leases) if heap]
        return min(ends, default=None)


def _until(row: HostRow) -> float:
    return row.expires_at if row.condition is Condition.CHECKED_OUT else row.ready_at
