"""Which hosts are in memory: as many as there is room for, in the order of their first URLs.

A host that gets work enters the directory; `fill` loads hosts from there while there is room. A
loaded host leaves when it has no work or is blocked, or when it would be ready before one that
waits in the directory although its first URL was asked for later.
"""

from msgspec.structs import replace

from services.frontier.conditions import LISTED, Condition, Trigger
from services.frontier.directory import BUCKET, Directory
from services.frontier.hosts import Hosts
from services.frontier.rows import DueRow, HostRow, ListedHost
from services.frontier.workbench import Host


class Loading:
    """Keeps at most *limit* hosts in memory.

    *alone*: all fetchers of earlier runs are dead, so hosts they had checked out are free.
    """

    def __init__(self, hosts: Hosts, limit: int, alone: bool) -> None:
        self._hosts, self._bench, self._claims = hosts, hosts.bench, hosts.claims
        self._limit, self._alone = limit, alone

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Claim *partitions*, and have the hosts of these in memory, and of no others."""
        self._claims.assign(partitions, now)
        self._hosts.sites.forget()
        for host in [*self._bench.hosts.values()]:
            if not self._claims.has(host.row.site):
                self._bench.unload(host)
        self.fill(now)

    def enter(self, host: Host, row: HostRow, now: float) -> None:
        """Update an idle host that has work now: it is listed, unless its trouble lasts."""
        if row.ready_at <= now:
            self._enlist(host, row, Trigger.QUEUED)
        elif row.blocked_why:
            self._wait(row)
            self._hosts.update(host, row, Trigger.QUEUED_IN_TROUBLE)
        else:
            self._enlist(host, row, Trigger.QUEUED_EARLY)

    def unblock(self, due: DueRow) -> None:
        """List the host that *due* is about, if that is when its wait ends."""
        host = self._hosts.find(due.site, due.host)
        if host.row.condition is Condition.BLOCKED and host.row.ready_at == due.at:
            self._claims.of(due.site).tally.due_count -= 1
            self._enlist(host, host.row, Trigger.WAIT_OVER)

    def ready(self, host: Host, now: float) -> None:
        """Update a host whose delay is over; one that waits and comes first gets its room."""
        waiting = self._first_waiting()
        if waiting and waiting.number < host.row.number:
            self._relist(host, host.row, Trigger.DELAY_OVER)
            self._bench.unload(host)
            self.fill(now)
        else:
            self._hosts.update(host, host.row, Trigger.DELAY_OVER)

    def rest(self, host: Host, row: HostRow) -> None:
        """Update a loaded host that was released and has more work."""
        if row.number - row.listed > BUCKET:
            # Its entry would keep an old bucket of the directory alive.
            self._relist(host, row, Trigger.RELEASED)
        else:
            self._hosts.update(host, row, Trigger.RELEASED)

    def block(self, host: Host, row: HostRow) -> None:
        """Unload a host that is in trouble until the *row*'s time."""
        self._wait(row)
        self.unload(host, row, Trigger.TROUBLED)

    def unload(self, host: Host, row: HostRow, trigger: Trigger) -> None:
        """Update a loaded host that has no work, or must wait; it leaves directory and memory."""
        self._directory(row).delist(row.listed)
        self._hosts.update(host, replace(row, listed=0), trigger)
        self._bench.unload(host)

    def fill(self, now: float) -> None:
        """Load hosts from the directories while there is room."""
        while len(self._bench) < self._limit and (entry := self._first_waiting()):
            directory = self._directory(entry)
            directory.take()
            host = self._hosts.read(entry.site, entry.host)
            if host and host.row.listed == entry.number and host.row.condition in LISTED:
                self._load(host, now)
            else:
                directory.delist(entry.number)

    def _load(self, host: Host, now: float) -> None:
        self._bench.load(host)
        if host.row.condition is Condition.CHECKED_OUT and self._alone:
            # Its fetcher is dead, and has asked the host nothing since the last run ended.
            row = replace(host.row, ready_at=now + host.row.delay)
            self._hosts.update(host, row, Trigger.RESTARTED)

    def _first_waiting(self) -> ListedHost | None:
        waiting = [entry for claim in self._claims if (entry := self._beyond(claim.directory))]
        return min(waiting, key=lambda entry: entry.number, default=None)

    def _beyond(self, directory: Directory) -> ListedHost | None:
        while (entry := directory.peek()) and (host := self._bench.hosts.get(entry.host)):
            directory.take()
            if host.row.listed != entry.number:
                directory.delist(entry.number)
        return entry

    def _enlist(self, host: Host, row: HostRow, trigger: Trigger) -> None:
        listed = self._directory(row).enlist(row.site, row.host, row.number)
        self._hosts.update(host, replace(row, listed=listed, blocked_why=""), trigger)

    def _relist(self, host: Host, row: HostRow, trigger: Trigger) -> None:
        self._directory(row).delist(row.listed)
        self._enlist(host, row, trigger)

    def _wait(self, row: HostRow) -> None:
        self._claims.of(row.site).wait(row.ready_at, row.site, row.host)

    def _directory(self, of: HostRow | ListedHost) -> Directory:
        return self._claims.of(of.site).directory
