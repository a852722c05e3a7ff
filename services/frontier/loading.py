"""Which hosts are in memory: as many as there is room for, in the order of their first URLs.

A host that gets work enters the directory; `fill` loads hosts from there while there is room. A
loaded host leaves when it has no work or is blocked, or to make room for one that waits in the
directory when that should be ordered first.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from services.frontier.claim import Claim
from services.frontier.conditions import LISTED, Condition, Trigger
from services.frontier.directory import Directory, is_outdated
from services.frontier.hosts import Hosts
from services.frontier.overrides import HELD
from services.frontier.rows import DueRow, HostRow, ListedHost
from services.frontier.workbench import Host

AT_A_TIME = 500
"""Hosts that are loaded in one step of the log: between steps a member says that it lives."""
READS = 8
"""Reads in one step, each of as many hosts as there is room for: what is listed may be outdated."""


class Loading:
    """Keeps at most *limit* hosts in memory.

    *alone*: all fetchers of earlier runs are dead, so hosts they had checked out are free.
    """

    def __init__(self, hosts: Hosts, limit: int, alone: bool) -> None:
        self._hosts, self._bench, self._claims = hosts, hosts.bench, hosts.claims
        self._limit, self._alone = limit, alone

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Claim *partitions*, and have the hosts of these in memory, and of no others."""
        gained = partitions - self._claims.partitions
        self._claims.assign(partitions, now)
        self._hosts.forget()
        self._bench.slots.share_out(len(partitions))
        for host in [*self._bench.hosts.values()]:
            if not self._claims.has(host.row.site):
                self._bench.unload(host)
        self._load_checked_out(gained, now)
        self.fill(now)

    def _load_checked_out(self, partitions: frozenset[int], now: float) -> None:
        """Load all hosts of *partitions* that are checked out, even if there is no room.

        The list may name a host whose row was written just after: that host is not loaded.
        """
        lists = [c.tally.checked_out for c in self._claims if c.partition in partitions]
        found = self._hosts.read_all((site, key) for some in lists for key, site in some.items())
        for listed in lists:
            for key, site in [*listed.items()]:
                host = found.get((site, key))
                if host and host.row.condition is Condition.CHECKED_OUT:
                    self._load(host, now)
                else:
                    del listed[key]

    def enter(self, host: Host, row: HostRow, now: float) -> None:
        """Update an idle host that has work now: it is listed, unless its trouble lasts."""
        if row.ready_at <= now:
            self._enlist(host, row, Trigger.QUEUED)
        elif row.blocked_why:
            self._wait(row)
            self._hosts.update(host, row, Trigger.QUEUED_IN_TROUBLE)
        else:
            self._enlist(host, row, Trigger.QUEUED_EARLY)

    def unblock(self, dues: Sequence[DueRow]) -> None:
        """List each host that one of *dues* is about, if that is when its wait ends."""
        ends = {(due.host, due.at) for due in dues}
        for host in self._hosts.find_all(dues):
            row = host.row
            if row.condition is Condition.BLOCKED and (row.host, row.ready_at) in ends:
                self._claims.of(row.site).tally.due_count -= 1
                self._enlist(host, row, Trigger.WAIT_OVER)

    def rest(self, host: Host, row: HostRow) -> None:
        """Update a loaded host that was released and has more work."""
        if is_outdated(row.listed, row.number):
            self._relist(host, row, Trigger.RELEASED)
        else:
            self._hosts.update(host, row, Trigger.RELEASED)

    def block(self, host: Host, row: HostRow, trigger: Trigger = Trigger.TROUBLED) -> None:
        """Unload a host that is left alone until the *row*'s time."""
        self._wait(row)
        self.unload(host, row, trigger)

    def wait_until(self, host: Host, row: HostRow) -> None:
        """Update a blocked host that waits until the *row*'s time now, no more until its old."""
        self._claims.of(row.site).tally.due_count -= 1
        self._wait(row)
        self._hosts.update(host, row)

    def recall(self, site: str, now: float) -> None:
        """Let the hosts of *site* come to their turn that are held back by what was set for it."""
        for host in self._hosts.away(site, Condition.BLOCKED):
            if host.row.blocked_by == HELD:
                self.wait_until(host, replace(host.row, ready_at=now))

    def wait_again(self, host: Host) -> None:
        """See that a host that waits is in our calendar, where an earlier owner may have put it
        after our claim."""
        row = host.row
        if row.condition is Condition.BLOCKED:
            due = DueRow("", f"{row.host} ", row.ready_at, row.site, row.host)
            self._claims.of(row.site).calendar.add(due)

    def unload(self, host: Host, row: HostRow, trigger: Trigger) -> None:
        """Update a host that has no work, or must wait; it leaves directory and memory."""
        self._directory(row).delist(row.host, row.listed)
        self._hosts.update(host, replace(row, listed=0), trigger)
        if row.host in self._bench.hosts:
            self._bench.unload(host)
            self._hosts.remember(host)

    @property
    def unfinished(self) -> bool:
        """Whether there is room, and perhaps somebody who waits for it."""
        if len(self._bench) >= self._limit:
            return False
        return any(claim.directory.may_have_more for claim in self._claims)

    def fill(self, now: float) -> None:
        """Load hosts from the directories while there is room, at most so many at a time."""
        left = AT_A_TIME
        for _ in range(READS):
            entries = self._take(min(left, self._limit - len(self._bench)))
            if not entries:
                return
            left -= len(entries)
            found = self._hosts.read_all((entry.site, entry.host) for entry in entries)
            for entry in entries:
                host = found.get((entry.site, entry.host))
                if host and host.row.listed == entry.number and host.row.condition in LISTED:
                    self._load(host, now)
                else:
                    self._directory(entry).delist(entry.host, entry.number)

    def _take(self, most: int) -> list[ListedHost]:
        # Hosts of a partition of which none may be checked out are loaded if there is room for all.
        taken, able = list[ListedHost](), self._able()
        while len(taken) < most and (
            entry := self._first_waiting(able) or self._first_waiting(self._claims)
        ):
            self._directory(entry).take(entry)
            taken.append(entry)
        return taken

    def is_overtaken(self, host: Host | None) -> bool:
        """Return whether somebody waits for room whose turn is before that of *host*, if any."""
        if len(self._bench) < self._limit:
            return False
        waiting = self._first_waiting(self._able())
        if host is None and (late := self._bench.late_ready()) and late.waits_for:
            host = late  # It waits for others, as one that takes its room may have to.
        return waiting is not None and (host is None or waiting.number < host.row.number)

    @property
    def is_in_the_way(self) -> bool:
        """Whether somebody waits for the room of ready hosts whose partitions have no slots."""
        return self._bench.late_ready() is not None and self.is_overtaken(None)

    def make_room(self) -> bool:
        """Have room for one who waits, in place of a host that is ready; False: none is."""
        host = self._bench.late_ready()
        if host is None:
            return False
        row, directory = host.row, self._directory(host.row)
        directory.delist(row.host, row.listed)
        listed = directory.give_back(row.site, row.host, row.number)
        self._hosts.update(host, replace(row, listed=listed))
        self._bench.unload(host)
        self._hosts.remember(host)
        return True

    def _able(self) -> list[Claim]:
        """Return the claims of which one more host may be checked out."""
        return [claim for claim in self._claims if self._bench.slots.has_room(claim.partition)]

    def _load(self, host: Host, now: float) -> None:
        host.row = self._reckoned(host.row, now)
        self._bench.load(host)
        if self._claims.caught_up:
            self._free(host, now)

    def _reckoned(self, row: HostRow, now: float) -> HostRow:
        """Return *row* with its times by our clock, where they may be somebody else's.

        A lease that began before our claim lasts for a whole one from then; a rest for a delay from
        then, or from now if it says so: the visit may have ended since, and its order is older.
        """
        claim = self._claims.of(row.site)
        if claim.has_ordered(row):
            return row
        if row.condition is Condition.CHECKED_OUT and row.ordered_at:
            end = claim.made_at + row.expires_at - row.ordered_at
            return replace(row, ordered_at=claim.made_at, expires_at=end)
        if row.condition is Condition.RESTING:
            rested = max(claim.made_at + row.delay, min(row.ready_at, now + row.delay))
            return replace(row, ready_at=rested)
        return row

    def start_over(self, now: float) -> None:
        """Load all hosts as the store has them; fetchers that have some of them may live."""
        self._alone = False
        self._claims.reload(now)
        self._hosts.forget()
        for host in [*self._bench.hosts.values()]:
            self._bench.unload(host)
        self._load_checked_out(self._claims.partitions, now)
        self.fill(now)

    def caught_up(self, now: float) -> None:
        """Free what dead fetchers have: what they had to say was taken in, and nothing ordered."""
        for host in [*self._bench.hosts.values()]:
            self._free(host, now)

    def _free(self, host: Host, now: float) -> None:
        if host.row.condition is Condition.CHECKED_OUT and self._alone:
            # Its fetcher is dead, and has asked the host nothing since the last run ended.
            row = replace(host.row, ready_at=now + host.row.delay)
            self._hosts.update(host, row, Trigger.RESTARTED)

    def _first_waiting(self, claims: Iterable[Claim]) -> ListedHost | None:
        waiting = [entry for claim in claims if (entry := self._beyond(claim.directory))]
        return min(waiting, key=lambda entry: entry.number, default=None)

    def _beyond(self, directory: Directory) -> ListedHost | None:
        while (entry := directory.peek()) and (host := self._bench.hosts.get(entry.host)):
            directory.take(entry)
            if host.row.listed != entry.number:
                directory.delist(entry.host, entry.number)
        return entry

    def _enlist(self, host: Host, row: HostRow, trigger: Trigger) -> None:
        listed = self._directory(row).enlist(row.site, row.host, row.number)
        self._hosts.update(host, replace(row, listed=listed, blocked_why=""), trigger)

    def _relist(self, host: Host, row: HostRow, trigger: Trigger) -> None:
        self._directory(row).delist(row.host, row.listed)
        self._enlist(host, row, trigger)

    def _wait(self, row: HostRow) -> None:
        self._claims.of(row.site).wait(row.ready_at, row.site, row.host)

    def _directory(self, of: HostRow | ListedHost) -> Directory:
        return self._claims.of(of.site).directory
