"""A claimed partition: its hosts with their queues and robots rules, its sites, plans and totals.

A claim builds a `Partition`, and a loss drops it with everything that it has in memory. Rows that
another frontier may have changed in the meantime are therefore never used from memory.

The crawls share hosts, robots rules, leases, delays and the calendar: these belong to the
`Partition`. The queues, plans, parked URLs and totals of a crawl are its `CrawlShare` (`share.py`).
A partition has no queues, so a handler cannot take those of another crawl.

Every change of a host goes through :meth:`Partition.update`, which changes row, workbench and
totals together, and checks each change of condition against the table of `conditions.py`.

A host that gets work is listed in the directory of each crawl with URLs there. It is loaded from
one of them onto the workbench when memory has capacity (`dispatch.py`), and unloaded when it has no
work, backs off, or is replaced by another.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from operator import attrgetter

from msgspec.structs import replace

from gossamer.erasures import Erasures
from gossamer.events import OrderId, Outcome, Purpose, VisitEnded
from gossamer.log import key_groups_of
from gossamer.runtime.processor import Key
from gossamer.services.frontier.partition.awaited_visits import PartKey
from gossamer.services.frontier.partition.directory import Directory, is_outdated
from gossamer.services.frontier.partition.parked import ParkedUrls
from gossamer.services.frontier.partition.parts import Parts
from gossamer.services.frontier.partition.plans import HOSTS, Calendar, Plans
from gossamer.services.frontier.partition.politeness import (
    MAX_RESTARTED_DELAY,
    SITE_CAUSE,
    Overrides,
    restarted_delay_until,
    was_visited_before_claim,
)
from gossamer.services.frontier.partition.queue import HostQueues
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.sites import NO_RECORD, CrawlSites, RecordAtSite, Sites
from gossamer.services.frontier.partition.workbench import (
    CachedRobots,
    FrontierCaches,
    Host,
    Places,
    Schedule,
    Workbench,
)
from gossamer.services.frontier.tables.bucketed_log import BucketList
from gossamer.services.frontier.tables.conditions import (
    LISTED_CONDITIONS,
    Condition,
    ForbiddenTransition,
    Trigger,
    condition_after,
)
from gossamer.services.frontier.tables.hosts import (
    NO_HOST,
    HostRow,
    ListedHost,
    Politeness,
    RobotsRow,
)
from gossamer.services.frontier.tables.partitions import PartitionRow, partition_key
from gossamer.services.frontier.tables.plans import DueRow
from gossamer.services.frontier.tables.totals import Counted, count
from gossamer.services.frontier.tables.urls import QueuedUrl
from gossamer.services.frontier.totals.tally import PartitionTallyRow, Tally
from gossamer.settings import FrontierSettings
from gossamer.store import Partition as StorePartition
from gossamer.store import Store, iterate_partition
from gossamer.web.url import HostKey, Site

PARTS = "parts"
"""The key of a site's entry in the calendar, after its name."""
SPARE_HOSTS = 4
"""Ready hosts of a site that are loaded, beyond `frontier.site_at_once`. With fewer, no host of a
crawl may wait for a moment, which costs the crawl its share of the site."""
SITES = 8
"""The memory has place for the hosts of that many sites at least: one site whose hosts are delayed
for long has at most this fraction."""
MAX_PASSED = 1000
"""Entries of the directory that one search passes. Each page of them is a read."""


class Partition:
    """One of *total* partitions, claimed under *epoch* at *claimed_at*."""

    def __init__(
        self,
        number: int,
        total: int,
        epoch: int,
        claimed_at: float,
        store: Store,
        settings: FrontierSettings,
        overrides: Overrides,
        caches: FrontierCaches,
        removed: Set[str],
        now: float,
    ) -> None:
        """*removed*: the crawls that were removed so far."""
        self._store, self._settings = store, settings
        self.number, self.epoch, self.claimed_at = number, epoch, claimed_at
        self.opened_at, self.key, self._total = now, partition_key(number, total), total
        self.erasures = Erasures(store, "frontier")
        self.erasures.load(key_groups_of(number, total))
        self.caught_up = False
        """Whether all outcomes from before the claim were applied. No order is made before."""
        self.read_until = 0.0
        """All outcomes that were on the log by then were applied: earlier leases may end."""
        self._rows = store.table(PartitionRow)
        self._stored = stored = self._rows.get(self.key) or PartitionRow(self.key)
        # None and not `stored`, so that the first `write` always puts the row. It replaces a late
        # write of a former owner.
        self._written: PartitionRow | None = None
        self._host_rows, self._robots_rows = store.table(HostRow), store.table(RobotsRow)
        self._frontier_caches, self._caches = caches, caches.open_partition()
        self.bench = Workbench()
        self.overrides = overrides
        self.sites = Sites(store, overrides, self._caches.sites)
        self.calendar = Calendar(store.table(DueRow), HOSTS, stored.due, now)
        self._totals = Counted(store.table(PartitionTallyRow), PartitionTallyRow(self.key))
        self.tally = self._totals.row
        self._removed = removed
        self.dropped = set[str]()
        """Removed crawls without rows in this partition. Nothing is stored about them."""
        self._hosts_without_queues = set[str]()
        """Erased hosts whose queues are dropped in this step."""
        self.shares = dict[str, CrawlShare]()
        """Crawl → its share, for reading."""
        self._directories = dict(stored.directories)
        self._groups = set(stored.parked)
        self.changed = set[str]()
        """The crawls whose queues, plans, parked URLs or totals may have changed since they were
        last written. The others cost nothing in a step."""
        self._may_have_listed = set[str]()
        """The crawls with hosts that may wait for the workbench."""
        ready = settings.site_at_once + SPARE_HOSTS
        self._places = Places(ready, max(ready, settings.loaded_limit // SITES))
        self._coming = Counter[tuple[str, Site]]()
        """Crawl and site → hosts whose entries were popped, and that are loaded next."""
        self.plans_due = Schedule[str]()
        """The crawls with later visits, by when `Plans.due` says that there is work."""

    def __repr__(self) -> str:
        return f"<Partition {self.number} {self.bench!r}>"

    # The shares of the crawls.

    def share(self, crawl: str, now: float | None = None) -> CrawlShare:
        """Return the share of *crawl*, for changes in this step.

        A crawl without a share gets one, of the time *now*, or else of that of the claim.
        """
        if (found := self.shares.get(crawl)) is None:
            found = self.shares[crawl] = self._open_share(
                crawl, self.opened_at if now is None else now
            )
        self.changed.add(crawl)
        self._may_have_listed.add(crawl)
        return found

    def _open_share(self, crawl: str, now: float) -> CrawlShare:
        # The first crawl uses the caches of the partition: most partitions have one crawl.
        caches = self._caches if not self.shares else self._frontier_caches.open_partition()
        store, key, stored = self._store, self.key, self._stored
        listed = stored.directories.get(crawl, BucketList())
        tally = Tally(crawl, key, store, now)
        share = CrawlShare(
            crawl,
            self._settings,
            self.erasures,
            sites=CrawlSites(self.sites, crawl, self._settings.site_at_once),
            directory=Directory(crawl, listed, store.table(ListedHost)),
            queues=HostQueues(store.table(QueuedUrl), crawl, caches.queue_heads),
            parts=Parts(crawl, store, caches, self._schedule_site, tally.count_parked),
            parked=ParkedUrls(crawl, stored.parked, store, self._settings.parked_limit),
            plans=Plans(crawl, key, store, now),
            tally=tally,
        )
        if crawl in self._removed:
            share.close()
        return share

    @property
    def all_shares(self) -> list[CrawlShare]:
        """The shares of all crawls, for changes in this step."""
        return [self.share(crawl) for crawl in self.shares]

    def write(self) -> None:
        """Put changed totals and cursors into the store, at the end of a step.

        The row still lists the buckets that were dropped since the last write. If a crash comes
        before the rows of the hosts that left these buckets are written, the hosts are found there.
        """
        self._hosts_without_queues.clear()
        # A removed crawl is changed by its removal, in steps without an event of it.
        self.changed |= (self._removed - self.dropped) & self.shares.keys()
        changed = [self.shares[crawl] for crawl in self.changed]
        self.changed.clear()
        # The buckets and groups of crawls that are not open stay.
        for share in changed:
            self._groups.update(share.parked.groups)
            buckets = share.directory.buckets_to_write()
            if buckets != self._directories.get(share.crawl):
                # The next row is without the dropped buckets.
                self.changed.add(share.crawl)
            self._directories[share.crawl] = buckets
        due = self.calendar.log.range_to_write()
        row = self._written
        if changed or row is None or row.due != due:
            directories = {one: found for one, found in self._directories.items() if found.buckets}
            row = PartitionRow(self.key, directories, due, parked=tuple(sorted(self._groups)))
        if row != self._written:
            self._written = row
            self._rows.put(row)
        for share in changed:
            if share.crawl not in self.dropped and share.write():
                self.changed.add(share.crawl)
        self.tally.next_due_at = self.calendar.next_entry()
        if self.calendar.due() is None:
            self.tally.due_count = 0  # After a crash between two writes, a wait may count twice.
        self._totals.write()

    # Hosts, in memory or in the store.

    def find(self, site: Site, key: HostKey) -> Host:
        """Return the host, in memory or not. A new host is idle, and stored at its first update.

        A former owner may have written the host's row after our claim, with a directory entry that
        our position has already passed. Such a host is listed again.
        """
        if loaded := self.bench.hosts.get(key):
            return loaded
        if cached := self._caches.hosts.get(key):
            return self._relist(cached)
        # A site without hosts has no rows.
        if self.sites.hosts(site) and (row := self._host_rows.get(site, key)):
            return self._relist(Host(row))
        self._caches.robots.put(key, CachedRobots(None), site)
        return Host(HostRow(site, key), stored=False)

    def _relist(self, host: Host) -> Host:
        row = listed = host.row
        if row.condition in LISTED_CONDITIONS:
            for crawl, own in row.crawls.items():
                directory = self.share(crawl).directory
                if own.queued and not directory.holds(row.host, own.listed):
                    number = directory.enlist(row.site, row.host, own.number)
                    listed = listed.change_crawl(crawl, listed=number)
        if listed is not row:
            self.update(host, listed)
        return host

    def _list(self, row: HostRow) -> HostRow:
        """Return *row*, of a host with work, listed in the directories of the crawls with URLs at
        it, and in no others."""
        for crawl, own in row.crawls.items():
            if own.queued:
                if is_outdated(own.listed, own.number):
                    directory = self.share(crawl).directory
                    directory.delist(row.host, own.listed)
                    number = directory.enlist(row.site, row.host, own.number)
                    row = row.change_crawl(crawl, listed=number)
            elif own.listed is not None:
                row = self._delist(row, crawl)
        return row

    def _delist(self, row: HostRow, *crawls: str) -> HostRow:
        """Return *row* without entries in the directories of *crawls*."""
        for crawl in crawls:
            if (own := row.of(crawl)).listed is not None:
                self.share(crawl).directory.delist(row.host, own.listed)
                row = row.change_crawl(crawl, listed=None)
        return row

    def find_all(self, keys: Iterable[tuple[str, str]]) -> list[Host]:
        """Return the hosts of *keys* that exist, each once, and listed again as in `find`.

        They are found even if their site counts no hosts, after a crash in the middle of an
        erasure.
        """
        loaded = {(site, key): self.bench.hosts.get(key) for site, key in keys}
        read = self.read_all(key for key, host in loaded.items() if not host)
        return [
            host or self._relist(read[key]) for key, host in loaded.items() if host or key in read
        ]

    def read_all(self, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Host]:
        """Return the hosts of *keys* from the cache or the store, by site and host key.

        None of these hosts may be loaded.
        """
        found, missing = dict[tuple[str, str], Host](), list[tuple[str, str]]()
        for site, key in keys:
            if cached := self._caches.hosts.get(key):
                found[site, key] = cached
            else:
                missing.append((site, key))
        rows = self._host_rows.get_all(missing) if missing else ()
        return found | {(row.site, row.host): Host(row) for row in rows}

    def reads_of(
        self, share: CrawlShare | None, places: Iterable[tuple[Site, HostKey | None]]
    ) -> Iterator[list[Key]]:
        """Yield the keys of the rows of *places* that are not in memory, with those of *share*.

        A place is a site and a host key. The host key is None if only the site's row is needed.
        """
        sites, hosts = dict[Site, None](), dict[HostKey, Site]()
        for site, key in places:
            sites[site] = None
            if key:
                hosts[key] = site
        yield [*self.sites.reads_of(sites), *(share.parts.reads_of(sites) if share else ())]
        cached = {key: self.bench.hosts.get(key) or self._caches.hosts.get(key) for key in hosts}
        missing = [(hosts[key], key) for key, host in cached.items() if not host]
        # A site without hosts has no host rows, so `find` reads none. After a step has added the
        # first host of a site, `find` reads the rows of the other hosts in this step.
        counts = Counter(hosts.values())
        missing = [at for at in missing if self.sites.hosts(at[0]) or counts[at[0]] > 1]
        yield [(HostRow, site, key) for site, key in missing]
        without_robots = [
            key for key, host in cached.items() if host and key not in self._caches.robots
        ]
        without_robots += [row.host for row in self._host_rows.get_all(missing)] if missing else []
        yield [(RobotsRow, key, "") for key in without_robots]

    def hosts_of(self, site: Site) -> Iterator[Host]:
        """Yield the hosts of *site*."""
        after: str | None = None
        while hosts := self.page_of_hosts(site, after):
            after = hosts[-1].row.host
            yield from hosts

    def page_of_hosts(self, site: Site, after: str | None, limit: int = 1000) -> list[Host]:
        """Return at most *limit* hosts of *site*, in the order of their keys, beyond *after*."""
        rows = self._host_rows.scan(site, after, limit)
        return [
            self.bench.hosts.get(row.host)
            or self._relist(self._caches.hosts.get(row.host) or Host(row))
            for row in rows
        ]

    def robots(self, host: Host) -> RobotsRow | None:
        """Return the robots rules of *host*; None if it has none yet."""
        key = host.row.host
        cached = self._caches.robots.get(key)
        if cached is None:
            cached = CachedRobots(self._robots_rows.get(key) if host.stored else None)
            self._caches.robots.put(key, cached, host.row.site)
        return cached.row

    def read_robots_ahead(self, hosts: Iterable[Host]) -> None:
        """Read the robots rules of *hosts* together, for `robots`."""
        keys = (host.row.host for host in hosts)
        self._robots_rows.read_ahead([(key, "") for key in keys if key not in self._caches.robots])

    def learn_robots(self, host: Host, robots: RobotsRow) -> None:
        """Store the robots rules of *host*. Its usage files stay, unless *robots* has others."""
        before = self.robots(host)
        if before and not robots.usage_files:
            robots = replace(robots, usage_files=before.usage_files)
        self._caches.robots.put(host.row.host, CachedRobots(robots), host.row.site)
        self._robots_rows.put(robots)

    def update(
        self,
        host: Host,
        row: HostRow,
        trigger: Trigger | None = None,
        at_site: RecordAtSite = NO_RECORD,
    ) -> None:
        """Give *host* its new *row*, in the store and on the workbench.

        *trigger* changes the condition; without a trigger it stays. *at_site*: the record that the
        change is a part of. Raise ForbiddenTransition, with
        nothing changed, if the table has no such transition.
        """
        before = host.row.condition
        if trigger:
            row = replace(row, condition=condition_after(before, trigger))
        elif row.condition is not before:
            raise ForbiddenTransition(f"{row.host} is {before} and cannot become {row.condition}")
        if trigger or not host.stored:
            self.tally.record_condition(row, before if host.stored else None)
        for crawl, own in row.crawls.items():
            if own is not (before_update := host.row.of(crawl)):
                self.share(crawl).tally.row.queued += own.queued_urls - before_update.queued_urls
        self._host_rows.put(row, last=row.host in self._hosts_without_queues)
        for crawl in row.crawls.keys() - (host.row.crawls.keys() if host.stored else ()):
            if self.share(crawl).sites.count_host(row.site, at_site):
                self.share(crawl).tally.daily.count_site()
        if not host.stored:
            self.sites.count_row(row.site, at_site)
        host.stored = True
        if row.host in self.bench.hosts:
            self.bench.update(host, row)
        else:
            host.row = row
            self._cache_host(host)

    def _cache_host(self, host: Host) -> None:
        self._caches.hosts.put(host.row.host, host, host.row.site)

    # The life of a host; `docs/host-conditions.md` draws it.

    def queue(
        self,
        share: CrawlShare,
        host: Host,
        row: HostRow,
        urls: Sequence[QueuedUrl],
        now: float,
        at_site: RecordAtSite = NO_RECORD,
    ) -> None:
        """Update *host* to *row*, with *urls* appended to the queues of *share*.

        A host that waits in the directory is listed again if one of *urls* gives it a better rank.
        """
        row = share.queues.append(row, urls)
        if row.is_erased and row.condition is not Condition.CHECKED_OUT:
            row = replace(row, is_erased=False)
        if row.condition is Condition.IDLE:
            self._start_work(share, host, row, now, at_site)
            return
        if row.condition in LISTED_CONDITIONS:
            row = self._list(row)
        self.update(host, row, at_site=at_site)

    def queue_urgently(
        self,
        share: CrawlShare,
        host: Host,
        row: HostRow,
        urls: Sequence[QueuedUrl],
        now: float,
    ) -> None:
        """Update *host* to *row*, with the urgent *urls* appended to their queue in *share*.

        Waits that are not for politeness end: those for verdicts, and for a forwarded URL.
        """
        row = row.change_crawl(share.crawl, waits_until=0.0)
        if row.condition is Condition.DELAYED:
            polite_at = max(now, row.politeness.delay_until or now)
            row = replace(row, ready_at=min(row.ready_at, polite_at))
        self.queue(share, host, row, urls, now)

    def _start_work(
        self, share: CrawlShare, host: Host, row: HostRow, now: float, at_site: RecordAtSite
    ) -> None:
        """Update an idle host that has work now: list it, or schedule the end of its backoff."""
        if row.ready_at <= now:
            self._enlist(host, row, Trigger.QUEUED, at_site)
        elif row.backoff_reason:
            self._schedule_host(row)
            self.update(host, row, Trigger.QUEUED_WHILE_FAILING, at_site)
        else:
            share.tally.daily.count_delay(row.ready_at - now)
            self._enlist(host, row, Trigger.QUEUED_EARLY, at_site)

    def release(self, host: Host, row: HostRow, backs_off: bool = False) -> None:
        """Update a host that was checked in: it has no work, or backs off, or else its courtesy
        delay begins."""
        if not row.queued:
            self.unload(host, row, Trigger.EMPTIED)
        elif backs_off:
            self.back_off(host, row)
        else:
            self.update(host, self._list(row), Trigger.RELEASED)

    def back_off(self, host: Host, row: HostRow, trigger: Trigger = Trigger.FAILED) -> None:
        """Unload a host that backs off until `row.ready_at`."""
        self._schedule_host(row)
        self.unload(host, row, trigger)

    def unload(self, host: Host, row: HostRow, trigger: Trigger) -> None:
        """Update a host that has no work or backs off: it leaves the directories and the
        workbench."""
        self.update(host, self._delist(row, *row.crawls), trigger)
        self._leave_bench(host)
        if host.row.is_removable:
            self._add_to_calendar(host.row)

    def _leave_bench(self, host: Host) -> None:
        if host.row.host in self.bench.hosts:
            self.bench.unload(host)
            self._cache_host(host)

    def _enlist(
        self, host: Host, row: HostRow, trigger: Trigger, at_site: RecordAtSite = NO_RECORD
    ) -> None:
        row = replace(self._list(row), backoff_reason=None, backoff_cause=None)
        self.update(host, row, trigger, at_site)

    def erase(self, host: Host, now: float) -> None:
        """Erase *host*. Its row stays until its last order has ended and its delay is over.

        Without the row, a host that is admitted again at once would be visited too soon, or by two
        fetchers.
        """
        row = host.row
        for crawl in row.crawls:
            row = self.share(crawl).queues.clear(row)
        politeness = Politeness(
            delay=row.politeness.delay,
            delay_until=row.politeness.delay_until,
            busy_until=row.politeness.busy_until,
        )
        erased = HostRow(
            row.site,
            row.host,
            condition=row.condition,
            ready_at=row.ready_at,
            crawls=row.crawls,
            lease=row.lease,
            politeness=politeness,
            applied=row.applied,
            is_erased=True,
        )
        self._robots_rows.erase(row.host)
        self._caches.robots.put(row.host, CachedRobots(None), row.site)
        if row.condition is not Condition.CHECKED_OUT and row.backoff_cause == Outcome.BUSY:
            erased = replace(
                erased, backoff_reason=row.backoff_reason, backoff_cause=row.backoff_cause
            )
        elif row.condition is not Condition.CHECKED_OUT:
            # A host may be ready for its robots.txt before its delay is over.
            ready_at = max(row.ready_at, row.politeness.delay_until or 0.0)
            erased = replace(erased, ready_at=min(ready_at, now + row.politeness.delay))
        self._leave_queues(host, erased)

    def clear_queues(self, share: CrawlShare, host: Host) -> None:
        """Empty the queues of *share* at *host*, whose buckets stay until they are dropped."""
        self._leave_queues(host, self._delist(share.queues.clear(host.row), share.crawl))

    def _leave_queues(self, host: Host, row: HostRow) -> None:
        """Update *host* to *row*, after queues were emptied. Without URLs of other crawls it
        becomes idle, or waits for the end of its order."""
        if row.queued or row.condition in (Condition.CHECKED_OUT, Condition.IDLE):
            self.update(host, row)
            return
        if row.condition is Condition.BACKING_OFF:
            self.count_wait_over()
        self.unload(host, row, Trigger.ERASED)

    def leave(self, share: CrawlShare, site: Site) -> None:
        """Erase what the crawl of *share* has in the rows of *site* and its hosts. Its queues were
        dropped."""
        for host in self.hosts_of(site):
            if share.crawl in host.row.crawls:
                self.update(host, host.row.without_crawl(share.crawl))
                if host.row.is_removable:
                    self._add_to_calendar(host.row)
        share.sites.leave(site)

    def drop_erased(self, host: Host) -> None:
        """Drop the queues of an erased *host*. Its row is erased when its delay is over.

        The row is written after the drops: after a crash in between, it must still name the
        buckets.
        """
        row = host.row
        self._hosts_without_queues.add(row.host)
        for crawl in row.crawls:
            row = self.share(crawl).queues.drop_cleared(row)
        self.update(host, row)
        if host.row.is_removable:
            self._add_to_calendar(host.row)

    def _remove(self, host: Host) -> None:
        """Erase the row of a host, and the host in its site's row."""
        row, host.stored = host.row, False
        self._host_rows.erase(row.site, row.host)
        self._caches.hosts.remove(row.host)
        self._caches.robots.remove(row.host)
        count(self.tally.conditions, row.condition, -1)
        leaving = [*row.crawls]
        if (others := self.sites.hosts(row.site) - 1) < 1:
            # After a crash, the site may have counted this erasure before.
            others = len(self._host_rows.scan(row.site))
        if not others:
            # URLs of other hosts may be parked. Without them, nothing about the site is left.
            leaving = [
                crawl for crawl in row.crawls if not self.share(crawl).parts.parked(row.site)
            ]
            for crawl in leaving:
                self.share(crawl).parts.erase(row.site, row.site)
        self.sites.erase_host(row.site, row.host, others, row.crawls, leaving)

    # The calendar: URLs, hosts that back off, and sites with parked parts.

    def schedule_url(self, until: float, site: Site, host: HostKey, crawl: str, url: str) -> None:
        """Schedule *url* of *crawl* for *until*."""
        key = f"{host} {crawl} {url}"
        self.calendar.add(DueRow("", key, until, site, host, crawl, url))
        self.tally.due_count += 1

    def _schedule_host(self, row: HostRow) -> None:
        """Schedule the end of a host's backoff."""
        self._add_to_calendar(row)
        self.tally.due_count += 1

    def _schedule_site(self, site: Site, at: float) -> None:
        """Schedule the parked parts of *site* for *at*."""
        self.calendar.add(DueRow("", f"{site} {PARTS}", at, site, NO_HOST))

    def _add_to_calendar(self, row: HostRow) -> None:
        self.calendar.add(DueRow("", row.host, row.ready_at, row.site, row.host))

    def reschedule_backoff(self, host: Host, row: HostRow) -> None:
        """Update a host whose backoff now ends at another time, `row.ready_at`."""
        self.count_wait_over()
        self._schedule_host(row)
        self.update(host, row)

    def restore_backoff(self, host: Host) -> None:
        """Add a host that backs off to our calendar again.

        A former owner may have added it only to its own calendar, after our claim.
        """
        row = host.row
        if row.condition is Condition.BACKING_OFF:
            self._add_to_calendar(row)

    def due(self) -> float | None:
        """Return when the next URL or host is due; None if none waits."""
        return self.calendar.due()

    def pop_due(self, now: float, limit: int) -> list[DueRow]:
        """Remove and return at most *limit* due entries of URLs and hosts."""
        return self.calendar.pop_due(now, limit)

    def end_backoffs(self, dues: Sequence[DueRow]) -> None:
        """End the backoffs of the hosts in *dues*, and remove erased hosts whose delay is over.

        An entry is ignored if the host's backoff was rescheduled to another time.
        """
        ends = {(due.host, due.at) for due in dues}
        last = {due.host: due.at for due in sorted(dues, key=attrgetter("at"))}
        for host in self.find_all((due.site, due.host) for due in dues):
            row = host.row
            if row.condition is Condition.BACKING_OFF and (row.host, row.ready_at) in ends:
                self.count_wait_over()
                self._enlist(host, row, Trigger.BACKOFF_OVER)
            elif row.is_removable and row.ready_at <= last[row.host]:
                self._remove(host)

    def end_site_backoffs(self, site: Site, now: float) -> None:
        """End the backoffs that the settings or the unreadable pages of *site* caused."""
        for row in iterate_partition(self._host_rows, site):
            if row.condition is Condition.BACKING_OFF and row.host not in self.bench.hosts:
                host = self._caches.hosts.get(row.host) or Host(row)
                if host.row.backoff_cause == SITE_CAUSE:
                    self.reschedule_backoff(host, replace(host.row, ready_at=now))

    def end_delays(self, now: float) -> None:
        """Make the hosts ready whose courtesy delay is over."""
        for host in self.bench.delays_over(now):
            self.update(host, host.row, Trigger.DELAY_OVER)

    # Slow start: waiting for the verdicts on the first visits to a part of a site.

    def end_wait(self, share: CrawlShare, url: str, now: float) -> None:
        """End the wait for the verdict on *url*, and wake the hosts that waited for it."""
        self.wake(share, share.slow_start.end(url), now)

    def end_waits_of_order(self, share: CrawlShare, host: Host, made: int, now: float) -> None:
        """End the waits for the verdicts on the visits of the order of *host* after the first
        *made* ones, and wake the hosts that waited for them."""
        self.wake(share, [*share.slow_start.end_order(host.row.host, made)], now)

    def wake(self, share: CrawlShare, parts: Iterable[PartKey], now: float) -> None:
        """Wake the hosts that wait for verdicts on *parts* and may be visited now."""
        for part in parts:
            room = share.parts.window(part) - share.slow_start.count(part)
            while room >= 1 and (key := share.slow_start.pop_waiting(part)):
                if host := self.bench.hosts.get(key):
                    room -= self._end_wait_of(share.crawl, host, now)

    def _end_wait_of(self, crawl: str, host: Host, now: float) -> bool:
        """End the wait of *host* or of *crawl* at it; return whether either waited."""
        row, own = host.row, host.row.of(crawl)
        if own.waits_until > now:
            row = row.change_crawl(crawl, waits_until=0.0)
        elif row.condition is not Condition.DELAYED:
            return False
        # The host may wait, too: since then, no other crawl can be served there.
        if row.condition is Condition.DELAYED:
            ready_at = max(now, row.politeness.delay_until or now)
            row = replace(row, ready_at=min(ready_at, row.ready_at))
        self.update(host, row)
        return True

    # Orders from before the claim.

    def was_visited_before(self, row: HostRow) -> bool:
        """Return whether the last visit to a host's server may have been before the claim."""
        hosts = self.sites.hosts(row.site) if row.lease.order is None else 0
        had_orders = self.tally.orders_before_claim > 0
        return was_visited_before_claim(row, self.epoch, had_orders, hosts)

    def load_checked_out(self, crawl: str, now: float) -> None:
        """Load all checked-out hosts into the part of *crawl*, whether memory has capacity or not.

        The list may be older than a host's row. A host that is not checked out any more is removed
        from the list and not loaded.
        """
        listed = self.tally.checked_out
        found = self.read_all((site, key) for key, site in listed.items())
        for key, site in [*listed.items()]:
            host = found.get((site, key))
            if host and host.row.condition is Condition.CHECKED_OUT:
                self._load(host, crawl, now)
            else:
                del listed[key]

    def free_checked_out(self, now: float, alone: bool) -> None:
        """End the check-outs of earlier claims whose orders nobody carries out.

        *alone*: all fetchers of earlier runs have stopped. Otherwise those of orders that no
        fetcher has begun.
        """
        for host in self.bench.checked_out_hosts():
            if alone or host.row.lease.is_fenced(self.epoch):
                delay = host.row.politeness.delay
                if host.row.lease.purpose is Purpose.ROBOTS:
                    delay = min(delay, MAX_RESTARTED_DELAY)
                row = replace(host.row, ready_at=now + delay)
                if row.queued:
                    self.update(host, row, Trigger.FENCED)
                else:
                    self.unload(host, row, Trigger.EMPTIED)

    def _load(self, host: Host, crawl: str, now: float) -> None:
        host.row = self._adjust_times(host.row, now)
        self.bench.load(host, crawl)

    def _adjust_times(self, row: HostRow, now: float) -> HostRow:
        """Return *row* with times of our clock instead of times of another frontier's clock.

        A lease keeps its length, and starts at our claim. A courtesy delay starts between our claim
        and now, because a visit of an older order may have ended after the claim.
        """
        if row.has_times_of(self.epoch):
            return row
        lease = row.lease
        if row.condition is Condition.CHECKED_OUT and lease.ordered_at and lease.expires_at:
            end = self.claimed_at + lease.expires_at - lease.ordered_at
            lease = replace(lease, ordered_at=self.claimed_at, expires_at=end)
            return replace(row, lease=lease)
        if row.condition is Condition.DELAYED:
            delay = row.politeness.delay
            ready_at = min(row.ready_at, now + delay)
            return replace(row, ready_at=restarted_delay_until(self.claimed_at, delay, ready_at))
        return row

    # The directories: hosts with URLs of a crawl that wait for the workbench.

    def read_listed(self, crawl: str) -> CrawlShare | None:
        """Return the share of *crawl*, for reading, if hosts in its directory may wait for the
        workbench."""
        return self.shares[crawl] if crawl in self._may_have_listed else None

    def crawls_with_listed(self) -> set[str]:
        """Return the crawls with hosts that may wait for the workbench."""
        self._release_held()
        found = {one for one in self._may_have_listed if self.shares[one].directory.may_have_more}
        self._may_have_listed = found
        return {*found}

    def unread_listed_keys(self) -> list[StorePartition]:
        """Return the keys of the entries that `read_listed` has to read."""
        listed = (self.shares[one].directory for one in self._may_have_listed)
        return [key for directory in listed for key in directory.unread_keys()]

    def first_listed(self, share: CrawlShare) -> ListedHost | None:
        """Return the first waiting entry of *share* whose host is not loaded, and whose site has a
        place on the workbench; None if there is none, or none was found among many.

        The entry may be stale. Entries of loaded hosts before it are removed.
        """
        return self._find_listed(share, share.directory.peek)

    def oldest_listed(self, share: CrawlShare) -> ListedHost | None:
        """Return the oldest waiting entry of the best ranks, as `first_listed` does."""
        if self.first_listed(share) is None:
            return None
        return self._find_listed(share, share.directory.peek_oldest)

    def _find_listed(
        self, share: CrawlShare, peek: Callable[[], ListedHost | None]
    ) -> ListedHost | None:
        self._release_held()
        entry, bench = None, self.bench
        for _ in range(MAX_PASSED):
            if (entry := peek()) is None:
                break
            coming = self._coming[share.crawl, entry.site]
            if host := bench.hosts.get(entry.host):
                self._pop_loaded(share, entry, host)
            elif bench.has_place(share.crawl, entry.site, entry.number, self._places, coming):
                break
            else:
                self.changed.add(share.crawl)
                share.directory.hold(entry)
            entry = None
        if share.directory.has_dropped:
            self.changed.add(share.crawl)
        return entry

    def _release_held(self) -> None:
        """Let a held entry of each site that may have got a place be found again."""
        while self.bench.changed_sites:
            site, _ = self.bench.changed_sites.popitem()
            for crawl, share in self.shares.items():
                if share.directory.release(site):
                    self._may_have_listed.add(crawl)

    def _pop_loaded(self, share: CrawlShare, entry: ListedHost, host: Host) -> None:
        """Remove *entry* of a loaded *host* from the waiting ones."""
        self.changed.add(share.crawl)
        share.directory.pop(entry)
        if host.row.of(share.crawl).listed != entry.number:
            share.directory.delist(entry.host, entry.number)

    def pop_listed(self, share: CrawlShare, entry: ListedHost) -> None:
        """Remove *entry*, which `first_listed` or `oldest_listed` returned, from the waiting
        ones."""
        self.changed.add(share.crawl)
        share.directory.pop(entry)
        self._coming[share.crawl, entry.site] += 1

    def load_listed(self, share: CrawlShare, entries: Sequence[ListedHost], now: float) -> None:
        """Load the hosts of *entries* that are not stale. A host may be loaded already, if another
        crawl had listed it, too."""
        self.changed.add(share.crawl)
        bench = self.bench.hosts
        missing = ((entry.site, entry.host) for entry in entries if entry.host not in bench)
        found = self.read_all(missing)
        for entry in entries:
            if loaded := bench.get(entry.host):
                if loaded.row.of(share.crawl).listed != entry.number:
                    share.directory.delist(entry.host, entry.number)
                continue
            host = found.get((entry.site, entry.host))
            is_listed = host is not None and host.row.of(share.crawl).listed == entry.number
            if host and is_listed and host.row.condition in LISTED_CONDITIONS:
                self._load(host, share.crawl, now)
            else:
                share.directory.delist(entry.host, entry.number)
        for site in dict.fromkeys(entry.site for entry in entries):
            del self._coming[share.crawl, site]
            self.bench.changed_sites[site] = None
            for _ in range(self.bench.excess_ready(share.crawl, site, self._places)):
                if last := self.bench.last_ready(share.crawl, site):
                    self.return_to_directory(last)

    def return_to_directory(self, host: Host) -> None:
        """Unload a ready host, and list it again under its request numbers."""
        row = self._delist(host.row, *host.row.crawls)
        for crawl, own in row.crawls.items():
            if own.queued:
                listed = self.share(crawl).directory.relist(row.site, row.host, own.number)
                row = row.change_crawl(crawl, listed=listed)
        self.update(host, row)
        self._leave_bench(host)

    # Totals.

    def count_visit(self, share: CrawlShare, event: VisitEnded, received: int) -> None:
        """Count a visit for the crawl of *share*; *received*: all bytes that its host has sent so
        far."""
        share.count_hazards(event.site, event.visit.url, share.tally.count_visit(event))
        self.tally.record_visit(event.host, event.took, received)

    def count_wait_over(self) -> None:
        """Count the end of a scheduled wait of a URL or host."""
        # After a crash between two writes, it may be counted twice, as the begin of a wait may.
        self.tally.due_count = max(0, self.tally.due_count - 1)

    def next_order(self) -> OrderId:
        """Return the id of a new order."""
        tally = self.tally
        tally.orders += 1
        return OrderId(f"{self.epoch}.{tally.orders}")

    def report_orders(self) -> None:
        """Copy the numbers of unanswered orders into the totals, which other frontiers read."""
        self.tally.sent = {str(at): n for at, n in sorted(self.orders_at().items()) if n}

    def orders_at(self) -> Counter[int]:
        """Return the unanswered orders by partition of `visits.ordered`."""
        counts = Counter[int]()
        for at, orders in self.bench.orders_at.items():
            counts[self.topic_partition(at)] += orders
        return counts

    def topic_partition(self, sent_to: int | None) -> int:
        """Return the partition of `visits.ordered` for a value of the column `sent_to`."""
        # An order from before a change of the number of partitions may have too high a number.
        return self.number if sent_to is None or sent_to >= self._total else sent_to
