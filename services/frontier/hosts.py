"""Hosts: what is known of each, and the one way in which that changes.

Every change of a host passes :meth:`Hosts.update`, which keeps row, workbench and totals in step,
and holds each change of condition against the table of `conditions.py`. Which hosts are in memory
is decided in `loading.py`.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from gossamer.store import Store
from gossamer.web.cookies import Cookie
from services.frontier.claim import Claims
from services.frontier.conditions import LISTED, ForbiddenTransition, Trigger, condition_after
from services.frontier.queue import HostQueues
from services.frontier.rows import HostRow, ListedHost, QueuedUrl, RobotsRow
from services.frontier.sites import Sites
from services.frontier.workbench import Host, Workbench


class Hosts:
    """All hosts of the claimed partitions; those in memory are on the *bench*.

    At most *checked_out_limit* are checked out.
    """

    def __init__(self, store: Store, claims: Claims, checked_out_limit: int) -> None:
        self._rows, self._robots = store.table(HostRow), store.table(RobotsRow)
        self.claims, self.sites = claims, Sites(store)
        self.queues = HostQueues(store.table(QueuedUrl))
        self.bench = Workbench(checked_out_limit, claims.partition_of)

    def find(self, site: str, key: str) -> Host:
        """Return the host, in memory or not; a new one is idle, and stored at its first update.

        One that the store lists where nobody looks any more is listed anew: an earlier owner wrote
        that after our claim.
        """
        if loaded := self.bench.hosts.get(key):
            return loaded
        host = self.read(site, key) or Host(HostRow(site, key), stored=False)
        directory, row = self.claims.of(site).directory, host.row
        if row.condition in LISTED and not directory.holds(key, row.listed):
            listed = directory.enlist(site, key, row.number)
            self.update(host, replace(row, listed=listed))
        return host

    def read(self, site: str, key: str) -> Host | None:
        """Return the host as it is in the store, if it is there."""
        row = self._rows.get(site, key)
        return Host(row) if row else None

    def read_all(self, entries: Sequence[ListedHost]) -> dict[tuple[str, str], Host]:
        """Return by site and host, as they are in the store, those of *entries* that are there."""
        rows = self._rows.get_all([(entry.site, entry.host) for entry in entries])
        return {(row.site, row.host): Host(row) for row in rows}

    def robots(self, host: Host) -> RobotsRow | None:
        """Return what is known of the host's robots.txt."""
        if host.robots is None:
            host.robots = self._robots.get(host.row.host)
        return host.robots

    def learn_robots(self, host: Host, robots: RobotsRow) -> None:
        """Remember what a robots.txt said."""
        host.robots = robots
        self._robots.put(robots)

    def cookies(self, row: HostRow) -> tuple[Cookie, ...]:
        """Return the cookies of a host, and those of its site."""
        return *row.cookies, *self.sites.cookies(row.site)

    def update(self, host: Host, row: HostRow, trigger: Trigger | None = None) -> None:
        """Give *host* its new *row*, in the store and on the workbench.

        *trigger* is what changes its condition; without one the condition stays. Raise
        ForbiddenTransition, with nothing changed, where the table has no such change.
        """
        before = host.row.condition
        if trigger:
            row = replace(row, condition=condition_after(before, trigger))
        elif row.condition is not before:
            raise ForbiddenTransition(f"{row.host} is {before}, and cannot be made {row.condition}")
        tally = self.claims.of(row.site).tally
        if trigger or not host.stored:
            tally.changed(before if host.stored else None, row.condition)
        tally.queued += row.queued - host.row.queued
        self._rows.put(row)
        if not host.stored:
            self.sites.host_admitted(row.site)
        host.stored = True
        if row.host in self.bench.hosts:
            self.bench.update(host, row)
        else:
            host.row = row
