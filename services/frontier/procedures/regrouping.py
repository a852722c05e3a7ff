"""Regrouping: gives hosts the sites of another Public Suffix List.

Rows about URLs, and rows of hosts that do not name the site, stay. The others are written again:

- The entries of directories and calendars, in the buckets of the new site's key group.
- The rows of sites. Each of several sites that were one has what that one had; one site that was
  several has what the first of them had. What is about one host or domain goes with it.
- The URLs that a part or a budget of the site has parked. They are parked as URLs out of scope, so
  that the next start evaluates them: then the new site decides about them.
- The totals of partitions, about: the counts of hosts and of their queues.

`copy` writes all rows but those of the hosts, and `finish` writes these and erases what they leave
behind. After a crash before that, a repetition finds the same hosts, and writes the same rows.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from gossamer.bounds import replica_limit
from gossamer.events.hazards import Hazard
from gossamer.log import key_group_of, partition_of
from gossamer.services.frontier.partition.parked import (
    PARKING_RULES,
    ParkedLimitRow,
    ParkedRow,
    limit_log,
    part_log,
)
from gossamer.services.frontier.partition.plans import (
    HOSTS,
    calendar_name,
    first_visit_calendar_name,
)
from gossamer.services.frontier.partition.queue import queue_log
from gossamer.services.frontier.tables.bucketed_log import BucketList, GroupedLog, RangedLog
from gossamer.services.frontier.tables.hosts import AppliedRecords, HostRow, ListedHost
from gossamer.services.frontier.tables.partitions import PartitionRow, partition_key
from gossamer.services.frontier.tables.plans import DueRow, PartitionPlansRow
from gossamer.services.frontier.tables.sites import ParkedPartsRow, SiteRow, SiteWorthRow
from gossamer.services.frontier.tables.totals import count
from gossamer.services.frontier.tables.urls import QueuedUrl, UrlRow
from gossamer.services.frontier.totals.daily import HazardExamplesRow
from gossamer.services.frontier.totals.tally import PartitionTallyRow, TallyRow
from gossamer.store import Store, iterate_partition
from gossamer.web.url import HostKey, Site, host_key, site_of

CALENDARS = ("revisits", "moving", "first_visits")
"""The columns of `PartitionPlansRow` with the ranges of its calendars."""


class Regrouping:
    """The hosts whose stored site is not the one by the list that this process uses."""

    def __init__(self, store: Store, crawls: Iterable[str], partitions: int) -> None:
        self._store, self._crawls, self._partitions = store, [*crawls], partitions
        self._hosts = store.table(HostRow)
        self.sites: dict[HostKey, tuple[Site, Site]] = {
            row.host: (row.site, site)
            for row in self._hosts.everything()
            if (site := _site_of_host(row.host)) != row.site
        }
        """Host → its stored site and its new one."""
        self._sources = defaultdict[Site, list[Site]](list)
        """New site → the stored sites of its hosts."""
        for old, new in self.sites.values():
            if old not in self._sources[new]:
                self._sources[new].append(old)
        self._rows = [
            store.table(PartitionRow).get(key) or PartitionRow(key) for key in self._keys()
        ]
        plans = store.table(PartitionPlansRow)
        self._plans = {
            crawl: [plans.get(key, crawl) or PartitionPlansRow(crawl, key) for key in self._keys()]
            for crawl in self._crawls
        }

    def _keys(self) -> list[str]:
        return [partition_key(number, self._partitions) for number in range(self._partitions)]

    def partition_of(self, site: Site) -> int:
        """Return the partition of *site*."""
        return partition_of(site, self._partitions)

    def new_site(self, host: HostKey, site: Site) -> Site | None:
        """Return the new site of *host* for a row with the stored *site*; None if it stays."""
        old, new = self.sites.get(host, (None, None))
        return new if site == old else None

    def copy(self) -> None:
        """Write the rows beside the former ones, with the next flush, but those of the hosts."""
        for entry, calendar, column in self._iter_due():
            if site := self.new_site(entry.host, entry.site):
                self._copy_due(replace(entry, site=site), calendar, column)
        for crawl, listed in self._iter_listed():
            if site := self.new_site(listed.host, listed.site):
                self._copy_listed(crawl, replace(listed, site=site))
        for crawl in self._crawls:
            for site in self._old_sites():
                self._release_parts(crawl, site)
            for host, (old, new) in self.sites.items():
                self._copy_replica(crawl, host, old, new)
        self._copy_sites()
        for row in self._rows:
            self._store.table(PartitionRow).put(row)
        for plans in (plans for rows in self._plans.values() for plans in rows):
            self._store.table(PartitionPlansRow).put(plans)

    def finish(self) -> None:
        """Write the rows of the hosts, and erase the former rows, with the next flush."""
        for entry, calendar, column in self._iter_due():
            if self.new_site(entry.host, entry.site):
                self._log(calendar, column, self.partition_of(entry.site)).erase(entry)
        for crawl, listed in self._iter_listed():
            if self.new_site(listed.host, listed.site):
                GroupedLog(self._store.table(ListedHost), crawl, ()).erase(listed)
        self._move_hosts()
        remaining = self._count_hosts(self._old_sites())
        for site in self._old_sites() - remaining.keys():
            self._store.table(SiteRow).drop(site)
            self._store.table(SiteWorthRow).drop(site)

    def urls(self) -> Iterator[tuple[str, Site, str, str]]:
        """Yield crawl, new site, URL and finder of the admitted URLs of the hosts.

        Parked URLs are not among them: they are admitted again.
        """
        for host, (old, new) in self.sites.items():
            row = self._hosts.get(old, host)
            for crawl, own in row.crawls.items() if row else ():
                for known in iterate_partition(self._store.table(UrlRow), (crawl, host)):
                    if known.outcome not in PARKING_RULES:
                        yield crawl, new, known.url, known.origin.via
                for rank, ends in own.new.ranks.items():
                    queue = queue_log(self._store.table(QueuedUrl), crawl, host, rank)
                    for queued in queue.all_rows(ends):
                        yield crawl, new, queued.url, queued.origin.via

    def _old_sites(self) -> set[Site]:
        return {old for old, _ in self.sites.values()}

    # Directories and calendars.

    def _iter_due(self) -> Iterator[tuple[DueRow, str, str]]:
        """Yield all entries of calendars, with the crawl ("" for the calendar of hosts) and the
        column of the calendar."""
        for number in range(self._partitions):
            for entry in self._log("", "due", number):
                yield entry, "", "due"
            for crawl in self._crawls:
                for column in CALENDARS:
                    for entry in self._log(crawl, column, number):
                        yield entry, crawl, column

    def _log(self, crawl: str, column: str, number: int, start: int = 0) -> RangedLog[DueRow]:
        row: PartitionRow | PartitionPlansRow = self._rows[number]
        name = HOSTS
        if crawl:
            row = plans = self._plans[crawl][number]
            name = calendar_name(crawl, plans.generation - (column == "moving"))
            if column == "first_visits":
                name = first_visit_calendar_name(crawl)
        return RangedLog(self._store.table(DueRow), name, getattr(row, column), start)

    def _copy_due(self, entry: DueRow, crawl: str, column: str) -> None:
        number, bucket = self.partition_of(entry.site), _bucket_of(entry)
        log = self._log(crawl, column, number, bucket)
        log.put(bucket, entry)
        rows = self._plans[crawl] if crawl else self._rows
        rows[number] = replace(rows[number], **{column: log.range_to_write()})  # type: ignore

    def _iter_listed(self) -> Iterator[tuple[str, ListedHost]]:
        table = self._store.table(ListedHost)
        for row in [*self._rows]:
            for crawl, stored in row.directories.items():
                log = GroupedLog(table, crawl, stored.groups)
                for bucket in stored.buckets:
                    for entry in log.rows(bucket, bucket):
                        yield crawl, entry

    def _copy_listed(self, crawl: str, entry: ListedHost) -> None:
        number = self.partition_of(entry.site)
        GroupedLog(self._store.table(ListedHost), crawl, ()).put(_bucket_of(entry), entry)
        row = self._rows[number]
        stored = row.directories.get(crawl, BucketList())
        buckets = {*stored.buckets, _bucket_of(entry)}
        groups = {*stored.groups, key_group_of(entry.site)}
        found = BucketList(tuple(sorted(buckets)), tuple(sorted(groups)))
        self._rows[number] = replace(row, directories={**row.directories, crawl: found})

    # Parked URLs.

    def _release_parts(self, crawl: str, site: Site) -> None:
        """Park the URLs of the parts and budgets of *site* as URLs out of scope."""
        table = self._store.table(ParkedPartsRow)
        if (stored := table.get((crawl, site))) is None:
            return
        tallies = self._store.table(TallyRow)
        key = partition_key(self.partition_of(site), self._partitions)
        tally = tallies.get(key, crawl) or TallyRow(crawl, key)
        for name, part in stored.parts.items():
            log = part_log(self._store.table(ParkedRow), crawl, site, name)
            for row in log.all_rows(part):
                by_site = defaultdict[Site, list[object]](list)
                for found in row.urls:
                    by_site[site_of(found.url)].append(found)
                for new, urls in by_site.items():
                    self._park(crawl, new, Hazard.OUT_OF_SCOPE, replace(row, urls=tuple(urls)))
            log.drop_all(part)
            count(tally.parked, part.rule, -part.urls)
        tallies.put(tally)
        table.drop((crawl, site))

    def _copy_replica(self, crawl: str, host: HostKey, old: Site, new: Site) -> None:
        """Park the URLs of *host*, a replica, in the key group of its *new* site."""
        table, name = self._store.table(ParkedLimitRow), replica_limit(host)
        former, later = key_group_of(old), key_group_of(new)
        stored = table.get((crawl, str(former)), name)
        if stored is None or former == later:
            return
        log = limit_log(self._store.table(ParkedRow), stored)
        for row in log.all_rows(stored.ends):
            self._park(crawl, new, name, row)
        log.drop_all(stored.ends)
        table.erase((crawl, str(former)), name)

    def _park(self, crawl: str, site: Site, limit: str, row: ParkedRow) -> None:
        table, group = self._store.table(ParkedLimitRow), key_group_of(site)
        stored = table.get((crawl, str(group)), limit) or ParkedLimitRow(crawl, str(group), limit)
        log = limit_log(self._store.table(ParkedRow), stored)
        ends = log.add(stored.ends, row.via, row.urls)
        table.put(replace(stored, ends=ends, evaluated_by=None))
        number = self.partition_of(site)
        groups = tuple(sorted({*self._rows[number].parked, group}))
        self._rows[number] = replace(self._rows[number], parked=groups)

    # Sites and hosts.

    def _count_hosts(self, sites: Iterable[Site]) -> dict[Site, list[HostRow]]:
        """Return the hosts that each of *sites* has in the end, without sites that have none."""
        wanted, found = {*sites}, defaultdict[Site, dict[HostKey, HostRow]](dict)
        for row in self._hosts.everything():
            if (site := _site_of_host(row.host)) in wanted:
                found[site][row.host] = row
        return {site: [*rows.values()] for site, rows in found.items()}

    def _copy_sites(self) -> None:
        table, worths = self._store.table(SiteRow), self._store.table(SiteWorthRow)
        for site, hosts in self._count_hosts({*self._sources, *self._old_sites()}).items():
            sources = [site, *self._sources[site]]
            stored = {row.site: row for one in sources if (row := table.get(one))}
            table.put(_site_row(site, hosts, [*stored.values()]))
            for crawl in self._crawls:
                if found := [worth for one in sources if (worth := worths.get(one, crawl))]:
                    worths.put(replace(found[0], site=site))

    def _move_hosts(self) -> None:
        shared = self._store.table(PartitionTallyRow)
        tallies = self._store.table(TallyRow)
        of_partition = [shared.get(key) or PartitionTallyRow(key) for key in self._keys()]
        of_crawl = {
            crawl: [tallies.get(key, crawl) or TallyRow(crawl, key) for key in self._keys()]
            for crawl in self._crawls
        }
        for host, (old, new) in self.sites.items():
            if (row := self._hosts.get(old, host)) is None:
                continue
            before, after = self.partition_of(old), self.partition_of(new)
            moved = replace(row, site=new)
            if before != after:
                moved = replace(moved, applied=AppliedRecords())
                count(of_partition[before].conditions, row.condition, -1)
                of_partition[before].checked_out.pop(host, None)
                of_partition[after].last_number = max(one.last_number for one in of_partition)
                for crawl, own in row.crawls.items():
                    of_crawl[crawl][before].queued -= own.queued_urls
                    of_crawl[crawl][after].queued += own.queued_urls
            of_partition[after].record_condition(moved, None if before != after else row.condition)
            self._hosts.erase(old, host)
            self._hosts.put(moved)
        for number, totals in enumerate(of_partition):
            self._forget_examples(totals, [rows[number] for rows in of_crawl.values()])
            shared.put(totals)
        for totals_of_crawl in (one for rows in of_crawl.values() for one in rows):
            tallies.put(totals_of_crawl)

    def _forget_examples(self, shared: PartitionTallyRow, totals: list[TallyRow]) -> None:
        """Remove examples about moved hosts: their new partitions could not erase them."""
        shared.remove_entries(self._is_moved)
        for row in totals:
            row.remove_entries(self._is_moved)
            table = self._store.table(HazardExamplesRow)
            for examples in iterate_partition(table, (row.crawl, row.partition)):
                left = examples.without(self._is_moved)
                if left and left is not examples:
                    table.put(left)

    def _is_moved(self, name: str) -> bool:
        """Return whether *name* is a moved host, or a URL of one."""
        is_url = "://" in name and "/" in name[8:]
        return (host_key(name) if is_url else name) in self.sites


def _site_of_host(host: HostKey) -> Site:
    return site_of(f"{host}/")


def _bucket_of(entry: DueRow | ListedHost) -> int:
    return int(entry.bucket.rpartition("/")[2])


def _site_row(site: Site, hosts: list[HostRow], stored: list[SiteRow]) -> SiteRow:
    """Return the row of *site* with these *hosts*, which were of the *stored* sites."""
    first = stored[0] if stored else SiteRow(site)
    is_known = first.site == site
    counts, seeded = Counter[str](), set[str]()
    for host in hosts:
        counts.update(host.crawls.keys())
        seeded |= {crawl for crawl, own in host.crawls.items() if own.is_seeded}
    crawls = {}
    for crawl in counts.keys() | (first.crawls.keys() if is_known else set()):
        own = next((row.crawls[crawl] for row in stored if crawl in row.crawls), first.of(crawl))
        refused = own.refused if is_known else {}
        has_seed = crawl in seeded or (is_known and own.has_seed)
        crawls[crawl] = replace(own, hosts=counts[crawl], has_seed=has_seed, refused=refused)
    names = {host.host for host in hosts}
    return replace(
        first,
        site=site,
        hosts=len(hosts),
        crawls=crawls,
        unreadable={
            host: pages
            for row in stored
            for host, pages in row.unreadable.items()
            if HostKey(host) in names
        },
        validators={
            host: trust
            for row in stored
            for host, trust in row.validators.items()
            if HostKey(host) in names
        },
        # A host below a new suffix is another owner's, and its domain may have no wildcard.
        wildcard=first.wildcard and is_known,
        cookies=tuple(
            one for row in stored for one in row.cookies if site_of(f"http://{one.domain}/") == site
        ),
        applied=first.applied if is_known else AppliedRecords(),
    )
