"""The workbench: loaded hosts, ordered by when they may be visited and in what order.

The invariant that makes politeness correct: a loaded host is in exactly one of *ready*, *resting*
and *checked out*, and only :meth:`update` changes which.

A ready host may have to wait for others, at a gate: at that of its name, while the same server is
visited under another scheme or port, or at that of its site, while as many of its hosts as may be
are checked out. Whenever a host of that name or site is checked out no more, or has had its turn in
vain, the first who waits there has his.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gossamer.web.url import host_name
from services.frontier.conditions import Condition
from services.frontier.rows import HostRow, RobotsRow
from services.frontier.schedule import Schedule
from services.frontier.slots import Slots
from services.frontier.unanswered import Unanswered


@dataclass(slots=True)
class Host:
    """A host, loaded or not: its row, and its robots rules once they were needed."""

    row: HostRow
    robots: RobotsRow | None = None
    robots_read: bool = False
    """Whether it is known that there are none, if there are none."""
    stored: bool = True
    """Whether the store has its row; until then no total counts it."""
    partition: int = -1
    """That of its site, once it was loaded."""
    gate: str = ""
    """At which it waits although it is ready."""


class Workbench:
    """All loaded hosts, of which at most *limit* are checked out (see `Slots`), and of each site at
    most *site_at_once*."""

    def __init__(self, limit: int, partition_of: Callable[[str], int], site_at_once: int) -> None:
        self.hosts: dict[str, Host] = {}
        self.outstanding = 0
        """Visits ordered and not ended."""
        self.slots, self._partition_of = Slots(limit), partition_of
        self.unanswered = Unanswered()
        self._ready = defaultdict[int, Schedule](Schedule)
        """Those of each partition that wait for no other …"""
        self._gates = defaultdict[str, Schedule](Schedule)
        """… and those that wait at each gate …"""
        self._held = defaultdict[int, Schedule](Schedule)
        """… as they are of each partition."""
        self._resting, self._leases = Schedule(), Schedule()
        self._site_at_once = site_at_once
        self._out = defaultdict[str, set[str]](set)
        """Site → its hosts that are checked out."""

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
        stays = after is not None and after.condition is row.condition
        if schedule and not stays:
            schedule.remove(row.host)
        if host.gate and not stays:
            self._pass(host)
        if row.condition is Condition.CHECKED_OUT:
            self.slots.free(host.partition)
            self.unanswered.remove(host.partition, row)
            self.outstanding -= row.ordered - row.done
            self._out[row.site].discard(row.host)
            if not self._out[row.site]:
                del self._out[row.site]
        # A turn that ends in an order leaves none for the next.
        if not stays and not (after and after.condition is Condition.CHECKED_OUT):
            self._next(_gate_of_name(row), _gate_of_site(row))

    def _enter(self, host: Host) -> None:
        row = host.row
        if row.condition is Condition.CHECKED_OUT:
            self.slots.take(host.partition)
            self.unanswered.add(host.partition, row)
            self.outstanding += row.ordered - row.done
            self._out[row.site].add(row.host)
        if schedule := self._schedule(host):
            schedule.put(row.host, _key(row))
        if host.gate:
            self._held[host.partition].put(row.host, _key(row))

    def _schedule(self, host: Host) -> Schedule | None:
        match host.row.condition:
            case Condition.READY:
                return self._gates[host.gate] if host.gate else self._ready[host.partition]
            case Condition.RESTING:
                return self._resting
            case Condition.CHECKED_OUT:
                return self._leases
        return None

    def checked_out(self, site: str) -> HostRow | None:
        """Return one of the hosts of *site* that are checked out, if there is one."""
        out = self._out.get(site)
        return self.hosts[next(iter(out))].row if out else None

    def in_the_way(self, host: Host) -> str:
        """Return the gate at which *host* must wait now, though it is ready; "" if at none."""
        row = host.row
        others = self._out.get(row.site, set()) - {row.host}
        if any(host_name(other) == host_name(row.host) for other in others):
            return _gate_of_name(row)
        return _gate_of_site(row) if len(others) >= self._site_at_once else ""

    def hold(self, host: Host, gate: str) -> None:
        """Have *host*, which is ready, wait at *gate*; another one of its site may go."""
        self._ready[host.partition].remove(host.row.host)
        host.gate = gate
        self._enter(host)
        if gate != _gate_of_site(host.row):
            self._next(_gate_of_site(host.row))

    def _next(self, *gates: str) -> None:
        """Let the first who waits at each of *gates* have his turn."""
        for gate in gates:
            if gate not in self._gates:
                continue
            if first := self._gates[gate].first():
                host = self.hosts[first[1]]
                self._gates[gate].remove(first[1])
                self._pass(host)
                self._enter(host)
            else:
                del self._gates[gate]

    def _pass(self, host: Host) -> None:
        self._held[host.partition].remove(host.row.host)
        host.gate = ""

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
        ready = [*self._ready.values(), *self._held.values()]
        lasts = [self.hosts[last] for some in ready if (last := some.one_of_the_last())]
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


def _gate_of_name(row: HostRow) -> str:
    return host_name(row.host)


def _gate_of_site(row: HostRow) -> str:
    return f"*.{row.site}"


def _key(row: HostRow) -> float:
    match row.condition:
        case Condition.READY:
            return row.number
        case Condition.CHECKED_OUT:
            return row.expires_at
    return row.ready_at
