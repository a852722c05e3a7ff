"""The workbench: loaded hosts, ordered by when they may be visited and in what order.

The invariant that makes politeness correct: a loaded host is in exactly one of *ready*, *delayed*
and *checked out*, and only :meth:`update` changes which.

A host here is a scheme, a name and a port, since robots.txt is about that (RFC 9309, 2.3). What
answers under one name is one server: it is visited by one order at a time, and rests between two. A
site has one owner, who notices the requests to all of its hosts: only a few of them are checked out
at once. So a ready host may have to wait in a queue of its name or of its site. Whenever a host of
that name or site is checked in, or has had its turn in vain, the first host in the queue becomes
ready. All hosts of a site are in one partition, whose owner has all that are checked out in memory,
so this needs no word with others (PolyBot, section 2.4). How long a name rests is only in memory: a
new owner begins all rests anew.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Set
from heapq import heapify, heappop, heappush

from gossamer.web.url import host_name
from services.frontier.conditions import Condition
from services.frontier.memory import Host
from services.frontier.rows import HostRow

SPARE = 64
"""Stale entries that a heap may have beside one for each host."""


class Schedule:
    """Each host once, under a key; the least key comes first.

    The heap is cleaned lazily: what a host was under before counts no more, and when that is more
    than half of the heap it is made anew.
    """

    def __init__(self) -> None:
        self._keys: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []

    def put(self, host: str, key: float) -> None:
        """Have *host* under *key* from now on."""
        if self._keys.get(host) == key:
            return
        self._keys[host] = key
        heappush(self._heap, (key, host))
        if len(self._heap) > 2 * len(self._keys) + SPARE:
            self._heap = [(key, host) for host, key in self._keys.items()]
            heapify(self._heap)

    def get(self, host: str) -> float:
        """Return the key that *host* is under; 0 if it is not here."""
        return self._keys.get(host, 0.0)

    def remove(self, host: str) -> None:
        """Have *host* no more, if it was here."""
        self._keys.pop(host, None)

    def first(self) -> tuple[float, str] | None:
        """Return the least key and its host; None if there is no host."""
        heap = self._heap
        while heap:
            key, host = heap[0]
            if self._keys.get(host) == key:
                return heap[0]
            heappop(heap)
        return None

    def one_of_the_last(self) -> str | None:
        """Return a host that has none behind it in the heap: its key is larger than most."""
        while self._heap:
            key, host = self._heap[-1]
            if self._keys.get(host) == key:
                return host
            self._heap.pop()
        return None

    @property
    def size(self) -> int:
        """The length of the heap."""
        return len(self._heap)


class Workbench:
    """The loaded hosts of one partition."""

    def __init__(self) -> None:
        self.hosts: dict[str, Host] = {}
        self.checked_out = 0
        """Hosts that are checked out …"""
        self.outstanding = 0
        """… and visits ordered and not ended."""
        self.orders_at = Counter[int | None]()
        """Partition of `visits.ordered` → unanswered orders; None for the partition of the site."""
        self._ready = Schedule()
        """Hosts that wait for no other …"""
        self._waiting = defaultdict[str, Schedule](Schedule)
        """… and those that wait for each name or site …"""
        self._held = Schedule()
        """… and those of them all."""
        self._delayed, self._leases = Schedule(), Schedule()
        self._name_rests = Schedule()
        """Name → until when none of its hosts is visited."""
        self._out = defaultdict[str, set[str]](set)
        """Site → its hosts that are checked out."""

    def __repr__(self) -> str:
        conditions = [host.row.condition for host in self.hosts.values()]
        return f"<Workbench {', '.join(f'{conditions.count(c)} {c}' for c in Condition)}>"

    def __len__(self) -> int:
        return len(self.hosts)

    def load(self, host: Host) -> None:
        """Add a host, in the condition that its row has."""
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
        if host.waits_for and not stays:
            self._pass(host)
        if row.condition is Condition.CHECKED_OUT:
            self.checked_out -= 1
            self.orders_at[row.lease.sent_to] -= 1
            self.outstanding -= row.lease.outstanding
            self._out[row.site].discard(row.host)
            if not self._out[row.site]:
                del self._out[row.site]
        # A turn that ends in an order leaves none for the next.
        if not stays and not (after and after.condition is Condition.CHECKED_OUT):
            self._next(_name_key(row), _site_key(row))

    def _enter(self, host: Host) -> None:
        row = host.row
        if row.condition is Condition.CHECKED_OUT:
            self.checked_out += 1
            self.orders_at[row.lease.sent_to] += 1
            self.outstanding += row.lease.outstanding
            self._out[row.site].add(row.host)
        if schedule := self._schedule(host):
            schedule.put(row.host, _key(row))
        if host.waits_for:
            self._held.put(row.host, _key(row))

    def _schedule(self, host: Host) -> Schedule | None:
        match host.row.condition:
            case Condition.READY:
                return self._waiting[host.waits_for] if host.waits_for else self._ready
            case Condition.DELAYED:
                return self._delayed
            case Condition.CHECKED_OUT:
                return self._leases
        return None

    def visited_at(self, site: str) -> HostRow | None:
        """Return one of the hosts of *site* that are checked out, if there is one."""
        out = self._out.get(site)
        return self.hosts[next(iter(out))].row if out else None

    def visited(self, host: str, rests_until: float, now: float) -> None:
        """Note that the server of *host* was visited just now and rests until *rests_until*."""
        rests, name = self._name_rests, host_name(host)
        while (first := rests.first()) and first[0] <= now:
            rests.remove(first[1])
        rests.put(name, max(rests_until, rests.get(name)))

    def take_over_rests(self, former: "Workbench") -> None:
        """Go on with the rests of names that *former*, of the same claim, knew."""
        self._name_rests = former._name_rests

    def name_rests_until(self, row: HostRow) -> float:
        """Return until when a host's name rests, under whatever scheme and port; 0: it does not."""
        return self._name_rests.get(host_name(row.host))

    def others(self, row: HostRow) -> Set[str]:
        """Return the other hosts of a host's site that are checked out."""
        return self._out.get(row.site, set()) - {row.host}

    def wait_for_name(self, host: Host) -> None:
        """Have *host* wait, though it is ready, until no other host of its name is checked out;
        another host of its site may go."""
        self._hold(host, _name_key(host.row))
        self._next(_site_key(host.row))

    def wait_for_site(self, host: Host) -> None:
        """Have *host* wait, though it is ready, until fewer hosts of its site are checked out."""
        self._hold(host, _site_key(host.row))

    def _hold(self, host: Host, key: str) -> None:
        self._ready.remove(host.row.host)
        host.waits_for = key
        self._enter(host)

    def _next(self, *keys: str) -> None:
        """Make the first host that waits for each of *keys* ready."""
        for key in keys:
            if key not in self._waiting:
                continue
            if first := self._waiting[key].first():
                host = self.hosts[first[1]]
                self._waiting[key].remove(first[1])
                self._pass(host)
                self._enter(host)
            else:
                del self._waiting[key]

    def _pass(self, host: Host) -> None:
        self._held.remove(host.row.host)
        host.waits_for = ""

    def first_ready(self) -> Host | None:
        """Return the ready host whose first URL was asked for first."""
        first = self._ready.first()
        return self.hosts[first[1]] if first else None

    def late_ready(self) -> Host | None:
        """Return a ready host whose first URL was asked for later than most, if there is one."""
        lasts = [last for some in (self._ready, self._held) if (last := some.one_of_the_last())]
        return max(map(self.hosts.__getitem__, lasts), key=_number, default=None)

    def rested(self, now: float) -> Iterator[Host]:
        """Yield the hosts whose courtesy delay is over; update each before you take the next."""
        return self._timed_out(self._delayed, now)

    def expired(self, now: float) -> Iterator[Host]:
        """Yield the hosts whose lease is over; update each before you take the next."""
        return self._timed_out(self._leases, now)

    def _timed_out(self, schedule: Schedule, now: float) -> Iterator[Host]:
        while (first := schedule.first()) and first[0] <= now:
            yield self.hosts[first[1]]

    def next_rested(self) -> float | None:
        """Return when the next courtesy delay is over."""
        first = self._delayed.first()
        return first[0] if first else None

    def next_expired(self) -> float | None:
        """Return when the next lease is over."""
        first = self._leases.first()
        return first[0] if first else None


def _name_key(row: HostRow) -> str:
    return host_name(row.host)


def _site_key(row: HostRow) -> str:
    return f"*.{row.site}"


def _number(host: Host) -> int:
    return host.row.number


def _key(row: HostRow) -> float:
    match row.condition:
        case Condition.READY:
            return row.number
        case Condition.CHECKED_OUT:
            return row.lease.expires_at or 0.0
    return row.ready_at
