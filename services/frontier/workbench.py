"""The workbench: loaded hosts, ordered by when they may be visited and in what order.

The invariant that makes politeness correct: a loaded host is in exactly one of *ready*, *resting*
and *checked out*, and only :meth:`move` changes which.

Heaps are cleaned lazily: an entry counts only if the host is still where the entry says.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush

from msgspec.structs import replace

from gossamer.robots import RobotsRules
from services.frontier.rows import Condition, HostRow, RobotsRow


@dataclass(slots=True)
class Host:
    """A loaded host: its row, and its robots rules once they were needed."""

    row: HostRow
    robots: RobotsRow | None = None

    @property
    def rules(self) -> RobotsRules | None:
        """What robots.txt says, if it is known."""
        return self.robots.rules if self.robots else None


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
        """Take a host up, in the condition that its row says."""
        self.hosts[host.row.host] = host
        self._enter(host.row)

    def unload(self, host: Host) -> None:
        """Put a host away."""
        self._leave(host.row)
        del self.hosts[host.row.host]

    def move(self, host: Host, row: HostRow) -> None:
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
        """Yield the hosts whose rest is over, each to be moved before the next."""
        return self._timed_out(self._resting, Condition.RESTING, now)

    def expired(self, now: float) -> Iterator[Host]:
        """Yield the hosts whose lease is over, each to be moved before the next."""
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
        """Return when a rest or a lease ends next; perhaps too early, never too late."""
        ends = [heap[0][0] for heap in (self._resting, self._leases) if heap]
        return min(ends, default=None)


def _until(row: HostRow) -> float:
    return row.expires_at if row.condition is Condition.CHECKED_OUT else row.ready_at


def rest(row: HostRow, until: float) -> HostRow:
    """Return *row* resting, or idle if its queue is empty; no visit before *until* either way."""
    condition = Condition.RESTING if row.queued else Condition.IDLE
    return replace(row, condition=condition, ready_at=until)
