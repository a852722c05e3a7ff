"""Hosts: what is known of each, and the one way in which that changes.

Every change of a host passes :meth:`Hosts.update`, which keeps row, workbench and totals in step,
and holds each change of condition against the table of `conditions.py`. Which hosts are in memory
is decided in `loading.py`.
"""

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.cache import ByteCache
from gossamer.runtime.processor import Key
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.cookies import Cookie
from services.frontier.balance import Balance, Unread
from services.frontier.claim import Claims
from services.frontier.conditions import (
    LISTED,
    Condition,
    ForbiddenTransition,
    Trigger,
    condition_after,
)
from services.frontier.queue import HostQueues
from services.frontier.rows import DueRow, HostRow, ListedHost, QueuedUrl, RobotsRow
from services.frontier.sites import Sites
from services.frontier.workbench import Host, Workbench

EMPTY_SIZE = 200
"""Bytes that an object takes in memory beside its texts."""
ROBOTS_BYTES, SITE_ROBOTS_BYTES = 128 << 20, 8 << 20
"""Bytes of robots rules that are kept in memory, and of those of one site."""
REMEMBERED = 5000
"""Hosts that are kept in mind though they are not on the bench, the last used ones."""


class RobotsKnown(NamedTuple):
    """The robots rules of a host; None: it has none yet."""

    row: RobotsRow | None


def _size_of_robots(known: RobotsKnown) -> int:
    """Return about how many bytes *known* takes in memory."""
    if known.row is None:
        return EMPTY_SIZE
    both = (known.row.rules, known.row.copy)
    usage = [one for rules in both for one in rules.usage]
    texts = [rules.lines for rules in both] + [one.value + one.pattern for one in usage]
    return EMPTY_SIZE * (2 + len(usage)) + sum(map(len, texts))


class Hosts:
    """All hosts of the claimed partitions; those in memory are on the *bench*.

    As many are checked out as *settings* allow. *unread*: as of `Balance`.
    """

    def __init__(
        self, store: Store, claims: Claims, settings: FrontierSettings, unread: Unread | None
    ) -> None:
        self._rows, self._robots = store.table(HostRow), store.table(RobotsRow)
        self._recent = OrderedDict[str, Host]()
        self._known_robots = ByteCache[str, RobotsKnown](
            ROBOTS_BYTES, _size_of_robots, SITE_ROBOTS_BYTES
        )
        self.claims, self.sites = claims, Sites(store, settings.site_at_once)
        self.queues = HostQueues(store.table(QueuedUrl))
        self.bench = Workbench(settings.checked_out_limit, claims.partition_of)
        self.balance = Balance(claims, self.bench, store, settings.site_gap, unread)

    def find(self, site: str, key: str) -> Host:
        """Return the host, in memory or not; a new one is idle, and stored at its first update.

        One that the store lists where nobody looks any more is listed anew: an earlier owner wrote
        that after our claim.
        """
        if loaded := self.bench.hosts.get(key):
            return loaded
        if recent := self._recent.get(key):
            return self._listed(recent)
        # Of a site without hosts nothing is stored.
        if self.sites.hosts(site) and (found := self.read(site, key)):
            return self._listed(found)
        return Host(HostRow(site, key), stored=False)

    def reads_of(self, places: Iterable[tuple[str, str]]) -> Iterator[list[Key]]:
        """Yield the rows of *places*, sites and hosts ("": none), that are not in memory."""
        sites, hosts = dict[str, None](), dict[str, str]()
        for site, key in places:
            sites[site] = None
            if key:
                hosts[key] = site
        yield self.sites.reads_of(sites)
        here = {key: self.bench.hosts.get(key) or self._recent.get(key) for key in hosts}
        away = [(hosts[key], key) for key, host in here.items() if not host]
        # A site without hosts has no rows. But once a step has added its first host, `find` reads.
        several = Counter(hosts.values())
        away = [place for place in away if self.sites.hosts(place[0]) or several[place[0]] > 1]
        yield [(HostRow, site, key) for site, key in away]
        unread = [key for key, host in here.items() if host and key not in self._known_robots]
        unread += [row.host for row in self._rows.get_all(away)] if away else []
        yield [(RobotsRow, key, "") for key in unread]

    def find_all(self, entries: Sequence[ListedHost | DueRow]) -> list[Host]:
        """Return the hosts of *entries* that there are, each once and as `find` does."""
        loaded = {(entry.site, entry.host): self.bench.hosts.get(entry.host) for entry in entries}
        away = self.read_all(key for key, host in loaded.items() if not host)
        return [
            host or self._listed(away[key]) for key, host in loaded.items() if host or key in away
        ]

    def _listed(self, host: Host) -> Host:
        row = host.row
        directory = self.claims.of(row.site).directory
        if row.condition in LISTED and not directory.holds(row.host, row.listed):
            listed = directory.enlist(row.site, row.host, row.number)
            self.update(host, replace(row, listed=listed))
        return host

    def read(self, site: str, key: str) -> Host | None:
        """Return the host as it is in the store, if it is there."""
        row = self._rows.get(site, key)
        return self._known(row) if row else None

    def _known(self, row: HostRow) -> Host:
        """Return the host of *row*, which is one object wherever it is found."""
        return self._recent.get(row.host) or Host(row)

    def remember(self, host: Host) -> None:
        """Keep in mind a host that is not on the bench: it may be needed soon."""
        self._recent[host.row.host] = host
        self._recent.move_to_end(host.row.host)
        if len(self._recent) > REMEMBERED:
            self._recent.popitem(last=False)

    def forget(self) -> None:
        """Read anew what is not on the bench: others may have written it meanwhile."""
        self._recent.clear()
        self._known_robots.clear()
        self.queues.forget()
        self.sites.forget()

    def read_all(self, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Host]:
        """Return the stored hosts of *places*, each under its site and host key."""
        found, keys = dict[tuple[str, str], Host](), list[tuple[str, str]]()
        for site, key in places:
            if recent := self._recent.get(key):
                found[site, key] = recent
            else:
                keys.append((site, key))
        rows = self._rows.get_all(keys) if keys else ()
        return found | {(row.site, row.host): Host(row) for row in rows}

    def away(self, site: str, condition: Condition) -> Iterator[Host]:
        """Yield the hosts of *site* in *condition* by their rows that are not in memory."""
        after: str | None = None
        while rows := self._rows.scan(site, after):
            after = rows[-1].host
            for row in rows:
                if row.condition is condition and row.host not in self.bench.hosts:
                    yield self._known(row)

    def robots(self, host: Host) -> RobotsRow | None:
        """Return what is known of the host's robots.txt."""
        key, site = host.row.host, host.row.site
        known = self._known_robots.get(key)
        if known is None:
            known = RobotsKnown(self._robots.get(key) if host.stored else None)
            self._known_robots.put(key, known, site)
        return known.row

    def learn_robots(self, host: Host, robots: RobotsRow) -> None:
        """Remember what a robots.txt said."""
        self._known_robots.put(host.row.host, RobotsKnown(robots), host.row.site)
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
            tally.record_condition(row, before if host.stored else None)
        tally.queued += row.queued - host.row.queued
        self._rows.put(row)
        if not host.stored:
            self.sites.host_admitted(row.site)
        host.stored = True
        if row.host in self.bench.hosts:
            self.bench.update(host, row)
        else:
            host.row = row
            self.remember(host)
