"""Hosts as they come and go: between the store, the directory, the calendar and the workbench.

Every change of a host passes :meth:`Hosts.move`, which keeps row, workbench and totals in step.
"""

from msgspec.structs import replace

from gossamer.log import partition_of
from gossamer.store import Store
from services.frontier.claim import Claim, make_claims
from services.frontier.directory import Directory
from services.frontier.queue import HostQueues
from services.frontier.rows import Condition, HostRow, ListedHost, QueuedUrl, RobotsRow
from services.frontier.workbench import Host, Workbench, rest

LOADED = (Condition.READY, Condition.RESTING, Condition.CHECKED_OUT)


class Hosts:
    """All hosts of the claimed partitions; at most *loaded_limit* of them in memory.

    *alone*: nobody of an earlier run is alive, so what was checked out then is free.
    """

    def __init__(self, store: Store, partitions: int, loaded_limit: int, alone: bool) -> None:
        self._store, self._partitions = store, partitions
        self._limit, self._alone = loaded_limit, alone
        self._rows, self._robots = store.table(HostRow), store.table(RobotsRow)
        self.queues = HostQueues(store.table(QueuedUrl))
        self.bench = Workbench()
        self.claims: dict[int, Claim] = {}

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Claim *partitions*, give up all others, and load who has work."""
        for lost in self.claims.keys() - partitions:
            del self.claims[lost]
        for host in list(self.bench.hosts.values()):
            if self._partition(host.row.site) not in partitions:
                self.bench.unload(host)
        gained = partitions - self.claims.keys()
        if gained:
            epoch = make_claims(gained, self._store, now)
            self.claims |= {p: Claim(p, epoch, self._store, now) for p in sorted(gained)}
        self.fill(now)

    def claim(self, site: str) -> Claim:
        """Return the claim that *site* falls under."""
        return self.claims[self._partition(site)]

    def last_number(self) -> int:
        """Return the largest request number given out."""
        return max(claim.tally.last_number for claim in self.claims.values())

    def _partition(self, site: str) -> int:
        return partition_of(site, self._partitions)

    def find(self, site: str, key: str) -> Host:
        """Return the host, loaded or not, born if need be."""
        if host := self.bench.hosts.get(key):
            return host
        row = self._rows.get(site, key)
        if row is None:
            row = HostRow(site, key)
            self.claim(site).tally.moved(None, row.condition)
        return Host(row)

    def robots(self, host: Host) -> RobotsRow | None:
        """Return what is known of the host's robots.txt."""
        if host.robots is None:
            host.robots = self._robots.get(host.row.host)
        return host.robots

    def learn_robots(self, host: Host, robots: RobotsRow) -> None:
        """Remember what a robots.txt said."""
        host.robots = robots
        self._robots.put(robots)

    def move(self, host: Host, row: HostRow) -> None:
        """Give *host* its new *row*, in the store and on the workbench."""
        tally = self.claim(row.site).tally
        if row.condition is not host.row.condition:
            tally.moved(host.row.condition, row.condition)
        tally.queued += row.queued - host.row.queued
        self._rows.put(row)
        if row.host in self.bench.hosts:
            self.bench.move(host, row)
        else:
            host.row = row

    def wake(self, host: Host, now: float) -> None:
        """A host that was idle or blocked has work: it enters the directory, and waits its turn."""
        row = host.row
        if row.blocked_why and row.ready_at > now:
            self._await(row)
            self.move(host, replace(row, condition=Condition.BLOCKED))
            return
        condition = Condition.RESTING if row.ready_at > now else Condition.READY
        listed = self._directory(row).enlist(row.site, row.host, row.number)
        self.move(host, replace(row, condition=condition, listed=listed, blocked_why=""))
        self.fill(now)

    def put_away(self, host: Host, row: HostRow) -> None:
        """A loaded host has no work, or is blocked."""
        self._directory(row).delist(row.listed)
        self.move(host, replace(row, listed=0))
        self.bench.unload(host)

    def block(self, host: Host, until: float, why: str) -> None:
        """Leave a loaded host alone until then."""
        row = replace(host.row, condition=Condition.BLOCKED, ready_at=until, blocked_why=why)
        self._await(row)
        self.put_away(host, row)

    def _await(self, row: HostRow) -> None:
        claim = self.claim(row.site)
        claim.calendar.add(row.ready_at, row.site, row.host)
        claim.tally.due_count += 1

    def unblock(self, site: str, key: str, at: float, now: float) -> None:
        """Wake the host if it is blocked until *at*."""
        host = self.find(site, key)
        if host.row.condition is not Condition.BLOCKED or host.row.ready_at != at:
            return
        self.claim(site).tally.due_count -= 1
        if host.row.queued:
            self.wake(host, now)
        else:
            self.move(host, replace(host.row, condition=Condition.IDLE, blocked_why=""))

    def ready(self, host: Host, now: float) -> None:
        """A loaded host may be visited: unless one that waits in the directory goes before it."""
        row = replace(host.row, condition=Condition.READY)
        waiting = self._first_waiting()
        if waiting and waiting.number < row.number:
            self.relist(host, row)
            self.bench.unload(host)
            self.fill(now)
        else:
            self.move(host, row)

    def relist(self, host: Host, row: HostRow) -> None:
        """List a loaded host under the number that is now first in its queue."""
        directory = self._directory(row)
        directory.delist(row.listed)
        self.move(host, replace(row, listed=directory.enlist(row.site, row.host, row.number)))

    def fill(self, now: float) -> None:
        """Load hosts from the directories while there is room."""
        while len(self.bench) < self._limit and (entry := self._first_waiting()):
            directory = self._directory(entry)
            directory.take()
            row = self._rows.get(entry.site, entry.host)
            if row is None or row.listed != entry.number or row.condition not in LOADED:
                directory.delist(entry.number)
                continue
            host = Host(row)
            self.bench.load(host)
            if row.condition is Condition.CHECKED_OUT and self._alone:
                # Everybody who could hold the order is dead: nobody has asked the host since.
                self.move(host, rest(row, now + row.delay))

    def _first_waiting(self) -> ListedHost | None:
        waiting = [
            entry for claim in self.claims.values() if (entry := self._beyond(claim.directory))
        ]
        return min(waiting, key=lambda entry: entry.number, default=None)

    def _beyond(self, directory: Directory) -> ListedHost | None:
        while (entry := directory.peek()) and (host := self.bench.hosts.get(entry.host)):
            directory.take()
            if host.row.listed != entry.number:
                directory.delist(entry.number)
        return entry

    def _directory(self, of: HostRow | ListedHost) -> Directory:
        return self.claim(of.site).directory

    def write(self) -> None:
        """Put what has changed of the claims into the store."""
        for claim in self.claims.values():
            claim.write()
