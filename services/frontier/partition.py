"""A claimed partition: its hosts with their queues and robots rules, its sites, plans and totals.

A claim builds a `Partition`, and a loss drops it with everything that it has in memory. So nothing
that another frontier may have written since is ever believed, and nobody has to forget anything.

Every change of a host passes :meth:`Partition.update`, which keeps row, workbench and totals in
step, and checks each change of condition against the table of `conditions.py`.

A host that gets work enters the directory. It is loaded from there onto the workbench when there is
room (`loading.py`), and leaves when it has no work, backs off, or makes room for another.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from msgspec.structs import replace

from gossamer.erasures import Erasures
from gossamer.events import OrderId, Outcome, PageJudged, VisitEnded
from gossamer.events.hazards import Hazard
from gossamer.log import key_groups_of
from gossamer.runtime.processor import Key
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.telemetry import count
from gossamer.web.cookies import Cookie
from services.frontier.calendar import HOSTS, Calendar
from services.frontier.conditions import (
    LISTED,
    Condition,
    ForbiddenTransition,
    Trigger,
    condition_after,
)
from services.frontier.directory import Directory, is_outdated
from services.frontier.memory import Caches, Host, RobotsKnown
from services.frontier.overrides import HELD, Overrides
from services.frontier.parked import Parked
from services.frontier.plans import Plans
from services.frontier.queue import HostQueues
from services.frontier.rows import (
    DueRow,
    HostRow,
    ListedHost,
    PartitionRow,
    Politeness,
    Position,
    QueuedUrl,
    RobotsRow,
    partition_key,
)
from services.frontier.sites import Sites
from services.frontier.tally import Tally
from services.frontier.workbench import Workbench


class Partition:
    """One partition of *in_all*, claimed under *epoch* at *claimed_at*, with the queues, plans and
    totals of *crawl*."""

    def __init__(
        self,
        number: int,
        in_all: int,
        crawl: str,
        epoch: int,
        claimed_at: float,
        store: Store,
        settings: FrontierSettings,
        overrides: Overrides,
        caches: Caches,
        now: float,
    ) -> None:
        key, groups = partition_key(number, in_all), key_groups_of(number, in_all)
        self.number, self.epoch, self.claimed_at = number, epoch, claimed_at
        self.opened_at, self._key, self._in_all = now, key, in_all
        self.erasures = Erasures(store, "frontier", crawl)
        self.erasures.load(groups)
        self.caught_up = False
        """Whether all outcomes from before the claim were applied."""
        self._host_rows, self._robots_rows = store.table(HostRow), store.table(RobotsRow)
        self._rows = store.table(PartitionRow)
        found = self._rows.get(key) or PartitionRow(key)
        # None even if nothing changes: a late write of an earlier owner must be replaced.
        self._written: PartitionRow | None = None
        self._caches = caches
        self.bench = Workbench()
        self.queues = HostQueues(store.table(QueuedUrl), crawl, caches.queue_heads)
        self.sites = Sites(store, settings.site_at_once, overrides, caches.sites)
        self._directory = Directory(found.directory, store.table(ListedHost))
        self._calendar = Calendar(store.table(DueRow), HOSTS, found.due, now)
        self.parked = Parked(crawl, found.parked, store, settings.parked_limit)
        self.plans = Plans(crawl, key, store, now)
        self.tally = Tally(crawl, key, store)
        self._inherits = self.tally.orders > 0
        """Whether anything was ordered before the claim."""
        self._load_checked_out(now)

    def __repr__(self) -> str:
        return f"<Partition {self.number} {self.bench!r}>"

    # Hosts, in memory or in the store.

    def find(self, site: str, key: str) -> Host:
        """Return the host, in memory or not; a new one is idle, and stored at its first update.

        A host whose directory entry the position has passed is listed anew: an earlier owner wrote
        that row after our claim.
        """
        if loaded := self.bench.hosts.get(key):
            return loaded
        if cached := self._caches.hosts.get(key):
            return self._listed(cached)
        # A site without hosts has no rows.
        if self.sites.hosts(site) and (row := self._host_rows.get(site, key)):
            return self._listed(Host(row))
        self._caches.robots.put(key, RobotsKnown(None), site)
        return Host(HostRow(site, key), stored=False)

    def _listed(self, host: Host) -> Host:
        row = host.row
        if row.condition in LISTED and not self._directory.holds(row.host, row.listed):
            listed = self._directory.enlist(row.site, row.host, row.number)
            self.update(host, replace(row, listed=listed))
        return host

    def find_all(self, entries: Sequence[ListedHost | DueRow]) -> list[Host]:
        """Return the hosts of *entries* that exist, each once and as `find` does."""
        loaded = {(entry.site, entry.host): self.bench.hosts.get(entry.host) for entry in entries}
        away = self.read_all(key for key, host in loaded.items() if not host)
        return [
            host or self._listed(away[key]) for key, host in loaded.items() if host or key in away
        ]

    def read_all(self, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Host]:
        """Return the hosts of *places* that are not loaded, each under its site and host key."""
        found, keys = dict[tuple[str, str], Host](), list[tuple[str, str]]()
        for site, key in places:
            if cached := self._caches.hosts.get(key):
                found[site, key] = cached
            else:
                keys.append((site, key))
        rows = self._host_rows.get_all(keys) if keys else ()
        return found | {(row.site, row.host): Host(row) for row in rows}

    def reads_of(self, places: Iterable[tuple[str, str]]) -> Iterator[list[Key]]:
        """Yield the rows of *places*, sites and hosts ("": none), that are not in memory."""
        sites, hosts = dict[str, None](), dict[str, str]()
        for site, key in places:
            sites[site] = None
            if key:
                hosts[key] = site
        yield self.sites.reads_of(sites)
        here = {key: self.bench.hosts.get(key) or self._caches.hosts.get(key) for key in hosts}
        away = [(hosts[key], key) for key, host in here.items() if not host]
        # A site without hosts has no rows. But once a step has added its first host, `find` reads.
        several = Counter(hosts.values())
        away = [place for place in away if self.sites.hosts(place[0]) or several[place[0]] > 1]
        yield [(HostRow, site, key) for site, key in away]
        unread = [key for key, host in here.items() if host and key not in self._caches.robots]
        unread += [row.host for row in self._host_rows.get_all(away)] if away else []
        yield [(RobotsRow, key, "") for key in unread]

    def robots(self, host: Host) -> RobotsRow | None:
        """Return the robots rules of *host*; None if it has none yet."""
        key = host.row.host
        known = self._caches.robots.get(key)
        if known is None:
            known = RobotsKnown(self._robots_rows.get(key) if host.stored else None)
            self._caches.robots.put(key, known, host.row.site)
        return known.row

    def learn_robots(self, host: Host, robots: RobotsRow) -> None:
        """Store the robots rules of *host*."""
        self._caches.robots.put(host.row.host, RobotsKnown(robots), host.row.site)
        self._robots_rows.put(robots)

    def cookies(self, row: HostRow) -> tuple[Cookie, ...]:
        """Return the cookies of a host and of its site."""
        return *row.cookies, *self.sites.cookies(row.site)

    def update(self, host: Host, row: HostRow, trigger: Trigger | None = None) -> None:
        """Give *host* its new *row*, in the store and on the workbench.

        *trigger* changes its condition; without one the condition stays. Raise ForbiddenTransition,
        with nothing changed, where the table has no such change.
        """
        before = host.row.condition
        if trigger:
            row = replace(row, condition=condition_after(before, trigger))
        elif row.condition is not before:
            raise ForbiddenTransition(f"{row.host} is {before}, and cannot be made {row.condition}")
        if trigger or not host.stored:
            self.tally.record_condition(row, before if host.stored else None)
        self.tally.queued += row.queued - host.row.queued
        self._host_rows.put(row)
        if not host.stored:
            self.sites.host_admitted(row.site)
        host.stored = True
        if row.host in self.bench.hosts:
            self.bench.update(host, row)
        else:
            host.row = row
            self._remember(host)

    def _remember(self, host: Host) -> None:
        self._caches.hosts.put(host.row.host, host, host.row.site)

    # The life of a host; `docs/host-conditions.md` draws it.

    def queue(self, host: Host, row: HostRow, urls: Sequence[QueuedUrl], now: float) -> None:
        """Update *host* to *row*, with *urls* behind all others of one of its queues."""
        row = self.queues.append(row, urls)
        if row.is_erased and row.condition is not Condition.CHECKED_OUT:
            row = replace(row, is_erased=False)
        if row.condition is Condition.IDLE:
            self._enter(host, row, now)
        else:
            self.update(host, row)

    def _enter(self, host: Host, row: HostRow, now: float) -> None:
        """Update an idle host that has work now: it is listed, unless its trouble lasts."""
        if row.ready_at <= now:
            self._enlist(host, row, Trigger.QUEUED)
        elif row.backoff_reason:
            self._wait(row)
            self.update(host, row, Trigger.QUEUED_IN_TROUBLE)
        else:
            self._enlist(host, row, Trigger.QUEUED_EARLY)

    def delay(self, host: Host, row: HostRow) -> None:
        """Update a loaded host that was released and has more work."""
        if is_outdated(row.listed, row.number):
            self._directory.delist(row.host, row.listed)
            self._enlist(host, row, Trigger.RELEASED)
        else:
            self.update(host, row, Trigger.RELEASED)

    def back_off(self, host: Host, row: HostRow, trigger: Trigger = Trigger.TROUBLED) -> None:
        """Unload a host that waits until `row.ready_at`."""
        self._wait(row)
        self.unload(host, row, trigger)

    def unload(self, host: Host, row: HostRow, trigger: Trigger) -> None:
        """Update a host that has no work or must wait: it leaves directory and workbench."""
        self._directory.delist(row.host, row.listed)
        self.update(host, replace(row, listed=None), trigger)
        self._leave_bench(host)
        if host.row.may_go:
            self._add_to_calendar(host.row)

    def _leave_bench(self, host: Host) -> None:
        if host.row.host in self.bench.hosts:
            self.bench.unload(host)
            self._remember(host)

    def _enlist(self, host: Host, row: HostRow, trigger: Trigger) -> None:
        listed = self._directory.enlist(row.site, row.host, row.number)
        self.update(
            host, replace(row, listed=listed, backoff_reason=None, backoff_cause=None), trigger
        )

    def wait(self, until: float, site: str, host: str, crawl: str, url: str) -> None:
        """Return *url* of *crawl* at *until*."""
        key = f"{host} {crawl} {url}"
        self._calendar.add(DueRow("", key, until, site, host, crawl, url))
        self.tally.due_count += 1

    def _wait(self, row: HostRow) -> None:
        """Return a host when its backoff ends."""
        self._add_to_calendar(row)
        self.tally.due_count += 1

    def _add_to_calendar(self, row: HostRow) -> None:
        self._calendar.add(DueRow("", row.host, row.ready_at, row.site, row.host))

    def wait_until(self, host: Host, row: HostRow) -> None:
        """Update a host whose backoff ends at another time now, `row.ready_at`."""
        self.stop_waiting()
        self._wait(row)
        self.update(host, row)

    def wait_again(self, host: Host) -> None:
        """Put a host that backs off into our calendar, where an earlier owner may have put it after
        our claim."""
        row = host.row
        if row.condition is Condition.BACKING_OFF:
            self._add_to_calendar(row)

    def due(self) -> float | None:
        """Return when the next URL or host comes back; None: none waits."""
        return self._calendar.due()

    def take_due(self, now: float, most: int) -> list[DueRow]:
        """Remove and return at most *most* URLs and hosts whose time has come."""
        return self._calendar.take(now, most)

    def end_backoffs(self, dues: Sequence[DueRow]) -> None:
        """List each host that one of *dues* is about, if its wait ends then."""
        ends = {(due.host, due.at) for due in dues}
        last = {due.host: due.at for due in sorted(dues, key=attrgetter("at"))}
        for host in self.find_all(dues):
            row = host.row
            if row.condition is Condition.BACKING_OFF and (row.host, row.ready_at) in ends:
                self.stop_waiting()
                self._enlist(host, row, Trigger.WAIT_OVER)
            elif row.may_go and row.ready_at <= last[row.host]:
                self._remove(host)

    def erase(self, host: Host, now: float) -> None:
        """Erase all that is known of *host*; its row stays for its last order, and for its rest.

        Else somebody who asks for the host at once would have it visited too soon, or twice.
        """
        row = self.queues.clear(host.row)
        politeness = Politeness(delay=row.politeness.delay, busy_until=row.politeness.busy_until)
        kept = HostRow(
            row.site,
            row.host,
            condition=row.condition,
            ready_at=row.ready_at,
            new=row.new,
            again=row.again,
            number=row.number,
            listed=row.listed,
            lease=row.lease,
            politeness=politeness,
            erased=row.erased,
            applied=row.applied,
            is_erased=True,
        )
        self._robots_rows.erase(row.host)
        self._caches.robots.put(row.host, RobotsKnown(None), row.site)
        if row.condition is Condition.CHECKED_OUT:
            self.update(host, kept)
            return
        if row.condition is Condition.BACKING_OFF:
            self.stop_waiting()
        if row.backoff_cause == Outcome.BUSY:
            kept = replace(kept, backoff_reason=row.backoff_reason, backoff_cause=row.backoff_cause)
        else:
            kept = replace(kept, ready_at=min(row.ready_at, now + row.politeness.delay))
        if row.condition is Condition.IDLE:
            self.update(host, kept)
        else:
            self.unload(host, kept, Trigger.ERASED)

    def drop_erased(self, host: Host) -> None:
        """Drop the queues of an erased *host*; its row goes once it has rested."""
        self.update(host, self.queues.drop_cleared(host.row))
        if host.row.may_go:
            self._add_to_calendar(host.row)

    def _remove(self, host: Host) -> None:
        """Erase the row of a host, and what its site has of it."""
        row, host.stored = host.row, False
        self._host_rows.erase(row.site, row.host)
        self._caches.hosts.remove(row.host)
        self._caches.robots.remove(row.host)
        self.tally.conditions[row.condition] -= 1
        self.sites.host_erased(row.site, row.host)

    def hosts_of(self, site: str) -> Iterator[Host]:
        """Yield the hosts of *site*."""
        after: str | None = None
        while rows := self._host_rows.scan(site, after):
            after = rows[-1].host
            for row in rows:
                yield self.find(site, row.host)

    def recall(self, site: str, now: float) -> None:
        """Bring the hosts of *site* back now that overrides hold back."""
        after: str | None = None
        while rows := self._host_rows.scan(site, after):
            after = rows[-1].host
            for row in rows:
                if row.condition is Condition.BACKING_OFF and row.host not in self.bench.hosts:
                    host = self._caches.hosts.get(row.host) or Host(row)
                    if host.row.backoff_cause == HELD:
                        self.wait_until(host, replace(host.row, ready_at=now))

    def end_leases(self, until: float, now: float) -> None:
        """Have the hosts rest whose lease was over at *until*."""
        for host in self.bench.expired(until):
            count("gossamer_leases_expired_total")
            row = replace(host.row, ready_at=now + host.row.politeness.delay)
            self.bench.visited(row.host, row.ready_at, now)
            self.update(host, row, Trigger.LEASE_EXPIRED)

    def end_delays(self, now: float) -> None:
        """Make the hosts ready whose courtesy delay is over."""
        for host in self.bench.rested(now):
            self.update(host, host.row, Trigger.DELAY_OVER)

    # What was ordered before the claim.

    def has_ordered(self, row: HostRow) -> bool:
        """Return whether the last order of a host was made under this claim: by our clock."""
        order = row.lease.order
        return order is None or order.startswith(f"{self.epoch}.")

    def was_visited_before(self, row: HostRow) -> bool:
        """Return whether a host's server may have been visited before the claim, and not since:
        under its name, or under another scheme or port."""
        if row.lease.order is not None:
            return not self.has_ordered(row)
        return self._inherits and self.sites.hosts(row.site) > 1

    def _load_checked_out(self, now: float) -> None:
        """Load all hosts that are checked out, even if there is no room.

        The list may name a host whose row was written just after: that host is not loaded.
        """
        listed = self.tally.checked_out
        found = self.read_all((site, key) for key, site in listed.items())
        for key, site in [*listed.items()]:
            host = found.get((site, key))
            if host and host.row.condition is Condition.CHECKED_OUT:
                self._load(host, now)
            else:
                del listed[key]

    def free_checked_out(self, now: float) -> None:
        """Release all hosts that are checked out: their fetchers are dead, and have asked them
        nothing since the last run ended."""
        for host in [*self.bench.hosts.values()]:
            if host.row.condition is Condition.CHECKED_OUT:
                row = replace(host.row, ready_at=now + host.row.politeness.delay)
                self.update(host, row, Trigger.RESTARTED)

    def _load(self, host: Host, now: float) -> None:
        host.row = self._adjusted(host.row, now)
        self.bench.load(host)

    def _adjusted(self, row: HostRow, now: float) -> HostRow:
        """Return *row* with times by our clock where another frontier wrote them by its own.

        A lease lasts as long as it did, from our claim on. A host rests for a delay from then, or
        from now if it says so: the visit may have ended since, and its order is older.
        """
        if self.has_ordered(row):
            return row
        lease = row.lease
        if row.condition is Condition.CHECKED_OUT and lease.ordered_at and lease.expires_at:
            end = self.claimed_at + lease.expires_at - lease.ordered_at
            lease = replace(lease, ordered_at=self.claimed_at, expires_at=end)
            return replace(row, lease=lease)
        if row.condition is Condition.DELAYED:
            delay = row.politeness.delay
            rested = max(self.claimed_at + delay, min(row.ready_at, now + delay))
            return replace(row, ready_at=rested)
        return row

    # The directory: hosts with work that wait for room on the workbench.

    @property
    def may_have_listed(self) -> bool:
        """Whether a host may wait for room."""
        return self._directory.may_have_more

    def first_listed(self) -> ListedHost | None:
        """Return the entry of the host that waits first for room, perhaps a stale one."""
        while (entry := self._directory.peek()) and (host := self.bench.hosts.get(entry.host)):
            self._directory.take(entry)
            if host.row.listed != entry.number:
                self._directory.delist(entry.host, entry.number)
        return entry

    def take_listed(self, entry: ListedHost) -> None:
        """Take *entry*, which `first_listed` returned, to load its host."""
        self._directory.take(entry)

    def load_listed(self, entries: Sequence[ListedHost], now: float) -> None:
        """Load the hosts of *entries*, but for those that are stale."""
        found = self.read_all((entry.site, entry.host) for entry in entries)
        for entry in entries:
            host = found.get((entry.site, entry.host))
            if host and host.row.listed == entry.number and host.row.condition in LISTED:
                self._load(host, now)
            else:
                self._directory.delist(entry.host, entry.number)

    def give_back(self, host: Host) -> None:
        """Unload a ready host that makes room for another; it waits in its turn."""
        row = host.row
        self._directory.delist(row.host, row.listed)
        listed = self._directory.give_back(row.site, row.host, row.number)
        self.update(host, replace(row, listed=listed))
        self._leave_bench(host)

    # Totals.

    def count_admitted(self, urls: int) -> None:
        """Count *urls* that were admitted."""
        self.tally.admitted += urls

    def stop_waiting(self) -> None:
        """Count a URL or host that waits for its time no longer."""
        self.tally.due_count -= 1

    def count_visit(self, event: VisitEnded, received: int) -> None:
        """Count a visit, whose host has sent *received* bytes in all."""
        self.tally.ended(event)
        self.tally.weighed(event.host, received)

    def count_refused(self, rule: Hazard) -> None:
        """Count a URL that *rule* refuses."""
        self.tally.was_refused(rule)

    def count_verdict(self, event: PageJudged, record: Position | None) -> bool:
        """Count a verdict; return whether it was not counted before, from the same *record*."""
        return self.tally.count_verdict(event, record)

    def next_order(self) -> OrderId:
        """Return the id of a new order."""
        self.tally.orders += 1
        return OrderId(f"{self.epoch}.{self.tally.orders}")

    def report_orders(self) -> None:
        """Tell other frontiers, with the totals, where orders of this partition are unanswered."""
        self.tally.sent = {str(at): n for at, n in sorted(self.orders_at().items()) if n}

    def orders_at(self) -> Counter[int]:
        """Return by partition of `visits.ordered` the orders that are unanswered there."""
        counts = Counter[int]()
        for at, orders in self.bench.orders_at.items():
            counts[self.topic_partition(at)] += orders
        return counts

    def topic_partition(self, sent_to: int | None) -> int:
        """Return the partition of `visits.ordered` with an order that has this column `sent_to`."""
        # One that there is no more is that of an order from before the number was changed.
        return self.number if sent_to is None or sent_to >= self._in_all else sent_to

    def write(self) -> None:
        """Put totals and positions that have changed into the store.

        The row names dropped buckets until the next write: a crash before the rows of the hosts
        that have left them are written must still find these hosts there.
        """
        row = PartitionRow(
            self._key,
            directory=self._directory.buckets_to_write(),
            due=self._calendar.log.range_to_write(),
            parked=self.parked.groups,
        )
        if row != self._written:
            self._written = row
            self._rows.put(row)
        self.plans.write()
        self.parked.write()
        self.tally.next_due_at = self._calendar.next_entry()
        self.tally.write()
