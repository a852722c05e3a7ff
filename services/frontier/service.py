"""The frontier as a processor: dispatches events to their handlers, and makes orders at each
wake."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from msgspec.structs import replace

from gossamer.clock import is_future
from gossamer.crawl import accept, why_idle
from gossamer.errors import Poison
from gossamer.events import (
    BlocklistChanged,
    ChangeExpires,
    ChangesHinted,
    CrawlDefined,
    ErasureRequested,
    Event,
    FetcherStarted,
    FetchRequested,
    FleetBegun,
    FleetPaused,
    FleetQuiesced,
    HostOverridden,
    LinksParked,
    MissingPageRead,
    OrderBegun,
    OriginalAnnounced,
    PageDeduplicated,
    RefetchRequested,
    ReleaseRequested,
    RetryRequested,
    RobotsAnswered,
    RobotsRequested,
    SeedsApplied,
    SiteOverridden,
    SpeedSet,
    UrlRulesAnnounced,
    UrlsAdmitted,
    UrlsErased,
    VisitEnded,
    topics,
)
from gossamer.events.outcomes import OUTCOMES, VerdictSubject
from gossamer.expiries import OWNER_PARTITION, Expiries
from gossamer.log import MAX_POLL_RECORDS, Record
from gossamer.log.control import ControlRow, control_row
from gossamer.overrides import overridden_site
from gossamer.runtime.handling import read_ahead
from gossamer.runtime.processor import Handler, Key, Output, Processor, check_handlers
from gossamer.services.frontier.choice.dispatch import Balance, FindLagging, HostLoader, ReadyHost
from gossamer.services.frontier.choice.pacing import Pacing
from gossamer.services.frontier.features.replicas import Replicas
from gossamer.services.frontier.features.shared import SharedCaptures
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.partitions import Gauges, Partitions
from gossamer.services.frontier.partition.parts import may_be_repeated
from gossamer.services.frontier.partition.politeness import Overrides
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.shares import Shares, shares_at
from gossamer.services.frontier.partition.workbench import Host, servable_crawls
from gossamer.services.frontier.procedures.erasing import ErasureHandler
from gossamer.services.frontier.procedures.removal import CrawlRemoval
from gossamer.services.frontier.steps.admission import Admission, release_parts
from gossamer.services.frontier.steps.checkin import CheckIn
from gossamer.services.frontier.steps.checkout import CheckOut
from gossamer.services.frontier.steps.leases import Leases
from gossamer.services.frontier.steps.refusals import Refusals
from gossamer.services.frontier.steps.requisites import RequisiteAdmission, is_requisite
from gossamer.services.frontier.steps.revisits import Revisits, is_late, plans_of
from gossamer.services.frontier.steps.robots import (
    AT_SEEDS,
    NEVER,
    RobotsOnBehalf,
    add_signature_text,
    discover_sitemaps,
    discover_usual_sitemap,
)
from gossamer.services.frontier.steps.urgent import UrgentRequests
from gossamer.services.frontier.steps.verdicts import Verdicts
from gossamer.services.frontier.tables.hosts import NO_HOST, OffsetAndTime
from gossamer.services.frontier.tables.ordering import is_urgent
from gossamer.services.frontier.tables.plans import DueRow, PlanRow
from gossamer.services.frontier.tables.urls import RequisiteRow, UrlRow, VerdictRow
from gossamer.services.frontier.totals.daily import day_of
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.signing import SignMode
from gossamer.web.url import HostKey, Site, host_key

OF_A_CRAWL_ALONE = (
    UrlsAdmitted,
    PageDeduplicated,
    LinksParked,
    RetryRequested,
    RefetchRequested,
    FetchRequested,
    ReleaseRequested,
    ChangesHinted,
    RobotsRequested,
)
"""Events that concern no other crawl than theirs. They are dropped if it is removed."""
Place = tuple[str | None, Site, HostKey | None]
"""A crawl, a site, and a host key; None without one."""
PartitionHandler = Callable[[Partition, CrawlShare, Any, float], Output | None]
"""Handles one type of event about a site of the partition, with the share of the event's crawl."""


class DueVisit(NamedTuple):
    """An entry of the calendar about a URL, its partition, and the share of its crawl."""

    partition: Partition
    share: CrawlShare
    entry: DueRow


class Frontier(Processor):
    """Decides which URLs are fetched next, and when; see the package.

    *visit_limit*: the longest visit, in seconds; *partitions*: the number of all partitions;
    *alone*: all fetchers and frontiers of earlier runs have stopped; *find_lagging*: as for
    `Balance`; *sign*: which requests are signed; *usual_sitemaps*: the hosts whose usual sitemap is
    visited, as in `fetcher.usual_sitemaps`.
    """

    name = "frontier"
    reads = (topics.URLS_ADMITTED, topics.VISITS_ENDED, topics.PAGES_DEDUPLICATED)
    awaits = (topics.VISITS_ENDED,)

    def __init__(
        self,
        settings: FrontierSettings,
        store: Store,
        visit_limit: float,
        partitions: int,
        alone: bool,
        find_lagging: FindLagging | None = None,
        sign: SignMode = SignMode.NEVER,
        usual_sitemaps: str = NEVER,
    ) -> None:
        self._store, self._alone, self._usual_sitemaps = store, alone, usual_sitemaps
        self._overrides, self._expiries = Overrides(), Expiries()
        self._partitions = Partitions(store, settings, self._overrides, partitions)
        self._balance = Balance(self._partitions, store, settings.site_gap, find_lagging)
        self._loading = HostLoader(self._partitions, settings, store)
        self._revisits = Revisits(self._partitions, store)
        self._refusals = Refusals(self._partitions, store)
        self._replicas, self._shared = Replicas(), SharedCaptures(store)
        self._admission = Admission(self._partitions, self._refusals, self._revisits, store)
        self._requisites = RequisiteAdmission(self._partitions, self._refusals, store)
        self._check_out = CheckOut(
            settings,
            visit_limit,
            self._balance,
            self._refusals,
            self._revisits,
            self._replicas,
            self._shared,
            store,
            sign,
        )
        self._check_in = CheckIn(settings, self._balance, self._revisits, self._shared, store, sign)
        self._verdicts = Verdicts(settings, self._revisits, store)
        self._leases = Leases(settings, self._check_in)
        self._urgent = UrgentRequests(self._partitions, self._revisits, store)
        self._robots = RobotsOnBehalf(self._partitions, self._check_in.endings.robots)
        self._erasures = ErasureHandler(store, self._shared)
        self._removal = CrawlRemoval(store, self._partitions, self._erasures)
        self._gauges, self._pacing = Gauges(self._partitions), Pacing(self._partitions)
        self._control_rows = store.table(ControlRow)
        self._handlers, self._controls = self._bind_handlers(), self._bind_controls()
        handled: set[type[Event]] = {*self._handlers, *self._controls, FetcherStarted}
        check_handlers(handled, self.reads, self.name)
        self._day = 0.0
        """The day of the totals that are counted."""
        self._offset: int | None = None
        """The offset of the record that is handled; None if events come without a log."""
        self._shares = Shares()
        self._definitions = dict[str, CrawlDefined]()
        """Crawl → its newest definition."""
        self._left: dict[str, int] | None = None
        """Crawl that may get orders, now or at a known time → the visits that it may have now. None
        if it must be computed again."""
        self._replaced = dict[str, CrawlDefined]()
        """The definitions of removed crawls that refused ones have replaced on `control`. They are
        appended again, because Kafka keeps the newest alone."""
        self._requested_at = 0.0
        """When `must_catch_up` last requested all earlier outcomes."""
        self._unread_partitions: frozenset[int] = frozenset()
        """The partitions whose requested outcomes were not all applied."""

    def __repr__(self) -> str:
        return f"<Frontier {[*self._partitions]!r}>"

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Claim *partitions*, drop all others, and load the hosts with work."""
        self._partitions.assign(partitions, now)
        self._begin(now)
        self._unread_partitions &= partitions

    def restart(self, partitions: frozenset[int], now: float) -> None:
        """Reload *partitions* from the store, under their present claims."""
        # The fetchers of this run may hold some of the hosts, so no host is freed before its lease
        # expires.
        self._alone = False
        self._partitions.reload(now)
        self._begin(now)
        self._unread_partitions = frozenset()

    def _begin(self, now: float) -> None:
        """Forget what is known from other claims or from before a reload, and load hosts."""
        self._replicas.clear()
        self._refusals.reset()
        self._removal.start()
        self._left = None
        self._loading.load_hosts(now, self._open_crawls())

    def reload_after_clock_set(self, partitions: frozenset[int], now: float) -> None:
        """Claim *partitions* again, so that times from before the clock was set are treated as the
        times of another owner."""
        self.assign(frozenset(), now)
        self.restart(partitions, now)
        self.assign(partitions, now)

    def finish_catching_up(self, partitions: frozenset[int], now: float) -> None:
        """Note that all earlier outcomes of *partitions* were applied: their leases may end and
        orders be made now. Other partitions do not wait for those that catch up."""
        for partition in self._partitions:
            if partition.number not in partitions:
                continue
            if partition.number in self._unread_partitions:
                partition.read_until = self._requested_at
            if not partition.caught_up:
                partition.free_checked_out(now, self._alone)
                self._left = None
            partition.caught_up = True
        self._unread_partitions -= partitions

    def must_catch_up(self, now: float) -> bool:
        """Return whether a lease has expired whose order unread outcomes may end.

        While Kafka is unavailable or this frontier lags, the log may have the last outcome of the
        order, which may contain a Retry-After. The outcomes of all partitions that have caught up
        count as requested once this method returns True.
        """
        serving = [partition for partition in self._partitions if partition.caught_up]
        if self._unread_partitions or not any(_has_unread_end(one, now) for one in serving):
            return False
        self._requested_at = now
        self._unread_partitions = frozenset(partition.number for partition in serving)
        return True

    def reads_of(self, events: Sequence[Event]) -> Iterator[Iterable[Key]]:
        """Yield the keys of the rows of the sites, hosts and URLs of *events*."""
        yield url_rows_of_events(events)
        yield from self._erasures.read_ahead(events)
        yield from self._reads_of(hosts_of_events(events))

    def _reads_of(self, places: Iterable[Place]) -> Iterator[Iterable[Key]]:
        """Yield the keys of the rows of *places*, which are crawls, sites and host keys.

        Each yielded group has the keys of all partitions, which are read at once.
        """
        by_partition = defaultdict[tuple[str | None, int], list[tuple[Site, HostKey | None]]](list)
        for crawl, site, host in places:
            by_partition[crawl, self._partitions.number_of(site)].append((site, host))
        groups = [
            partition.reads_of(partition.share(crawl) if crawl else None, several)
            for (crawl, _), several in by_partition.items()
            if (partition := self._partitions.of(several[0][0]))
        ]
        for several in zip(*groups, strict=True):
            yield chain.from_iterable(several)

    def locate(self, record: Record) -> None:
        """Store the offset of the next event."""
        self._offset = record.offset

    def _offset_and_time(self, event: Event) -> OffsetAndTime | None:
        return None if self._offset is None else OffsetAndTime(self._offset, event.at)

    def handle(self, event: Event, now: float) -> Output:
        """Apply one event; `wake` makes the orders that follow.

        Events that concern only a removed crawl are dropped. Raise Poison if the event is of a site
        of another partition.
        """
        self._left = None
        if control := self._controls.get(type(event)):
            outputs = control(event, now) or ()
            self._control_rows.put(control_row(event))
            self._expiries.apply(event)
            return outputs
        if isinstance(event, FetcherStarted):
            self._end_orders_of(event, now)
            return ()
        if (handler := self._handlers.get(type(event))) is None:
            return ()
        site = event.site  # type: ignore[attr-defined]
        if (found := self._partitions.find(site, event.crawl)) is None:
            raise Poison(
                f"{site} belongs to another partition than the record: its producer must choose "
                "partitions by murmur2"
            )
        partition, share = found
        definition = self._crawl_of(share)
        if definition and definition.removed and isinstance(event, OF_A_CRAWL_ALONE):
            return ()
        share.tally.daily.open_day(now)
        return handler(partition, share, event, now) or ()

    def _bind_controls(self) -> dict[type[Event], Handler]:
        """Return the handlers of the events on `control`."""
        return {
            BlocklistChanged: lambda event, now: self._refusals.blocklist.change(event),
            SiteOverridden: self._change_override,
            HostOverridden: self._change_override,
            SpeedSet: lambda event, now: self._pacing.change(event),
            CrawlDefined: self._define_crawl,
            FleetBegun: lambda event, now: None,  # The process checks it at its start.
            SeedsApplied: lambda event, now: None,  # `gossamer crawls apply` reads it.
            ChangeExpires: lambda event, now: None,  # `Expiries` has it.
            FleetPaused: lambda event, now: self._pacing.pause(event.paused),
            FleetQuiesced: lambda event, now: None,  # The loop handles it.
        }

    def _bind_handlers(self) -> dict[type[Event], PartitionHandler]:
        """Return the handlers of the events about one site, which get the site's partition."""
        return {
            UrlsAdmitted: self._admit_urls,
            OrderBegun: lambda partition, share, event, now: self._leases.record_begun(
                partition, event, self._offset
            ),
            VisitEnded: self._check_in_visit,
            PageDeduplicated: self._record_verdict,
            MissingPageRead: lambda partition, share, event, now: add_signature_text(
                partition, event
            ),
            LinksParked: self._park_links,
            RobotsRequested: self._request_robots,
            RobotsAnswered: self._apply_robots_answer,
            RetryRequested: self._admission.retry,
            RefetchRequested: self._admission.refetch,
            FetchRequested: lambda partition, share, event, now: self._urgent.fetch(
                partition, share, event, now, self._offset_and_time(event)
            ),
            ReleaseRequested: release_parts,
            ChangesHinted: self._revisits.record_hints,
            OriginalAnnounced: lambda partition, share, event, now: self._replicas.announce(
                partition, share, event
            ),
            UrlRulesAnnounced: self._replicas.apply_rules,
            ErasureRequested: lambda partition, share, event, now: [
                *self._erasures.begin(partition, share, event, now)
            ],
            UrlsErased: lambda partition, share, event, now: (
                self._removal if event.removal else self._erasures
            ).finish(partition, share, event),
        }

    def _admit_urls(
        self, partition: Partition, share: CrawlShare, event: UrlsAdmitted, now: float
    ) -> Output:
        event, outputs = self._erasures.remove_erased_links(partition, event, now)
        new_at = self._hosts_new_to(partition, share, event)
        newly_seeded = self._hosts_without_seed(partition, share, event)
        if event.urls:
            share.sites.enter(event.site)
        admit = self._admission.promote if event.promoted else self._admission.admit
        if event.urls and is_requisite(event.urls[0]):
            admit = self._requisites.admit
        admit(partition, share, event, self._crawl_of(share), now, self._offset_and_time(event))
        return [
            *outputs,
            *self._discover_stored_sitemaps(partition, share, new_at, now),
            *self._discover_stored_sitemaps(partition, share, newly_seeded, now, is_usual=True),
        ]

    def _hosts_without_seed(
        self, partition: Partition, share: CrawlShare, event: UrlsAdmitted
    ) -> list[Host]:
        """Return the known hosts of the seeds of *event* that had no seed of its crawl before."""
        if self._usual_sitemaps != AT_SEEDS:
            return []
        keys = dict.fromkeys(host_key(found.url) for found in event.urls if found.depth == 0)
        hosts = (partition.find(event.site, key) for key in keys)
        return [host for host in hosts if host.stored and not host.row.of(share.crawl).is_seeded]

    def _hosts_new_to(
        self, partition: Partition, share: CrawlShare, event: UrlsAdmitted
    ) -> list[Host]:
        """Return the hosts of *event* that other crawls have visited, and its crawl has not."""
        if len(self._definitions) < 2:
            return []
        keys = dict.fromkeys(host_key(found.url) for found in event.urls)
        hosts = (partition.find(event.site, key) for key in keys)
        return [host for host in hosts if host.stored and share.crawl not in host.row.crawls]

    def _discover_stored_sitemaps(
        self,
        partition: Partition,
        share: CrawlShare,
        hosts: Iterable[Host],
        now: float,
        is_usual: bool = False,
    ) -> Iterator[Event]:
        """Yield the discoveries of the sitemaps that the valid robots.txt files of *hosts* name, or
        of usual sitemaps, if the crawl has URLs there now. *is_usual*: only of usual sitemaps."""
        crawl = self._crawl_of(share)
        for host in hosts if crawl else ():
            robots = partition.robots(host)
            is_valid = robots is not None and robots.rules.expires_at > now
            if not (crawl and robots and is_valid and share.crawl in host.row.crawls):
                continue
            if robots.sitemaps and not is_usual:
                yield from discover_sitemaps(host.row.host, robots.sitemaps, crawl, now)
            elif not robots.sitemaps:
                yield from discover_usual_sitemap(
                    self._usual_sitemaps, host.row, robots.rules, crawl, now
                )

    def _discover_sitemaps(
        self, partition: Partition, event: VisitEnded | RobotsAnswered, now: float
    ) -> Iterator[Event]:
        """Yield the discoveries of the sitemaps in a robots.txt, or of the usual sitemap if it
        names none, for all crawls of the host."""
        if not event.sitemaps and event.robots is None:
            return
        visit = event.visit.id if isinstance(event, VisitEnded) else ""
        row = partition.find(event.site, event.host).row
        for each in dict.fromkeys((event.crawl, *row.crawls)):
            if not (crawl := self._definitions.get(each)) or crawl.removed:
                continue
            if event.sitemaps:
                yield from discover_sitemaps(event.host, event.sitemaps, crawl, now, visit)
            else:
                yield from discover_usual_sitemap(
                    self._usual_sitemaps, row, event.robots, crawl, now, visit
                )

    def _end_orders_of(self, event: FetcherStarted, now: float) -> None:
        """End the leases of orders that the dead process of the fetcher has begun."""
        for partition in self._partitions:
            if partition.number == event.partition and self._offset is not None:
                self._leases.end_begun(partition, event, self._offset, now)

    def _check_in_visit(
        self, partition: Partition, share: CrawlShare, event: VisitEnded, now: float
    ) -> Output:
        if is_future(event.started_at, now):
            event = replace(event, started_at=now)
        self._check_in.apply_outcome(partition, share, event, now)
        if not event.visit.shared:
            self._pacing.charge_bytes(event.received)
        if partition.erasures.covers(event.visit):
            return ()
        return self._discover_sitemaps(partition, event, now)

    def _request_robots(
        self, partition: Partition, share: CrawlShare, event: RobotsRequested, now: float
    ) -> Output:
        share.sites.enter(event.site)
        return [*self._robots.handle_request(partition, share, event, now)]

    def _record_verdict(
        self, partition: Partition, share: CrawlShare, event: PageDeduplicated, now: float
    ) -> None:
        if partition.erasures.covers(event.visit):
            return
        share.sites.enter(event.site)
        if event.visit.imported is not None:
            self._verdicts.record_imported(partition, share, event)
            return
        if share.count_verdict(event, self._offset_and_time(event)):
            self._verdicts.record(partition, share, event, now)
            self._revisits.record_verdict(partition, share, event)

    def _park_links(
        self, partition: Partition, share: CrawlShare, event: LinksParked, now: float
    ) -> Output:
        counts = share.tally.apply_record(self._offset_and_time(event))
        return self._refusals.park(share, event, self._crawl_of(share), now, counts)

    def _apply_robots_answer(
        self, partition: Partition, share: CrawlShare, event: RobotsAnswered, now: float
    ) -> Output:
        if not partition.find(event.site, event.host).stored:
            return ()  # The host was erased.
        self._robots.handle_answer(partition, share, event, now)
        return self._discover_sitemaps(partition, event, now)

    def _change_override(self, event: SiteOverridden | HostOverridden, now: float) -> None:
        self._overrides.change(event)
        if partition := self._partitions.of(site := overridden_site(event)):
            partition.end_site_backoffs(site, now)

    def _define_crawl(self, event: CrawlDefined, now: float) -> None:
        before = self._definitions.get(event.crawl)
        if before and before.removed and not event.removed:
            self._replaced[event.crawl] = before
        accept(event, before)
        self._revisits.define(event)
        self._partitions.define(event, now)
        self._removal.define(event)
        self._definitions[event.crawl] = event
        self._shared.define(event)
        self._left = None
        self._loading.load_hosts(now, self._open_crawls())

    def _crawl_of(self, share: CrawlShare) -> CrawlDefined | None:
        """Return the definition of the crawl of *share*; None before it is defined."""
        return self._definitions.get(share.crawl)

    def due(self) -> float | None:
        """Return when the next delay, lease or backoff ends; 0 if there is work now."""
        if self._replaced and self._restores_settings:
            return 0.0
        if any(self._refusals.crawls_to_evaluate(self._present_crawls())):
            return 0.0
        if self._loading.may_load(self._open_crawls()):
            return 0.0
        if self._removal.has_work:
            return 0.0
        next_at = self._pacing.next_at if self._may_order() else None
        if next_at == 0:
            return 0.0
        ends = [self._revisits.due(), next_at]
        ends += [self._expiries.due()] if self._restores_settings else []
        for partition in self._partitions:
            ends += [partition.due(), partition.bench.next_delay_end()]
            if partition.caught_up and not self._unread_partitions:
                ends.append(partition.bench.next_lease_end())
        return min((end for end in ends if end is not None), default=None)

    def wake(self, now: float, limit: int = MAX_POLL_RECORDS) -> Iterator[Event]:
        """Update hosts and URLs that are due, then yield orders: at most *limit* of each."""
        if self._restores_settings:
            yield from self._expiries.pop_due(now)
            yield from self._replaced.values()
            self._replaced.clear()
        if day_of(now) != self._day:
            self._day = day_of(now)
            for share in self._partitions.shares():
                share.tally.daily.open_day(now)
        for partition in self._partitions:
            if partition.caught_up:
                self._leases.end(partition, min(now, partition.read_until), now)
        self._pacing.refresh(now)
        self._left = None
        self._queue_due(now, limit)
        self._load_hosts(now)
        yield from self._removal.wake(now)
        for definition in [*self._refusals.crawls_to_evaluate(self._present_crawls())]:
            yield from self._refusals.evaluate_parked(definition, now)
        yield from self._make_orders(now, limit)

    def _present_crawls(self) -> Iterator[CrawlDefined]:
        return (crawl for crawl in self._definitions.values() if not crawl.removed)

    @property
    def _restores_settings(self) -> bool:
        """Whether this frontier restores settings that have expired."""
        return OWNER_PARTITION in self._partitions.numbers

    def _queue_due(self, now: float, limit: int) -> None:
        """Queue at most *limit* due URLs, and end the backoff of due hosts."""
        self._revisits.follow(now, limit)
        ended = list[tuple[Partition, list[DueRow]]]()
        retries, planned = list[DueVisit](), list[DueVisit]()
        woken = list[tuple[Partition, CrawlShare, Site]]()
        for partition in self._partitions:
            due = partition.pop_due(now, limit)
            limit -= sum(entry.host != NO_HOST for entry in due)
            for site in dict.fromkeys(entry.site for entry in due if entry.host == NO_HOST):
                shares = [share for share in partition.all_shares if not share.is_removed]
                woken += [(partition, share, site) for share in shares]
            of_hosts = [entry for entry in due if entry.host != NO_HOST and not entry.url]
            if of_hosts:
                ended.append((partition, of_hosts))
            retries += [
                DueVisit(partition, partition.share(entry.crawl), entry)
                for entry in due
                if entry.url and entry.crawl
            ]
        for partition, share in self._revisits.with_due_plans(now):
            visits = share.plans.pop_due(now, limit)
            planned += [DueVisit(partition, share, entry) for entry in visits]
            limit -= len(visits)
        visits = [one.entry for one in retries + planned]
        of_hosts = [entry for _, due in ended for entry in due]
        places: list[Place] = [(one.crawl, one.site, one.host) for one in of_hosts + visits]
        places += [(share.crawl, site, None) for _, share, site in woken]
        read_ahead(self._store, chain([plans_of(visits)], self._reads_of(places)))
        for partition, due in ended:
            partition.end_backoffs(due)
        for partition, share, entry in retries:
            if not share.is_removed:
                self._admission.queue_due_retry(partition, share, entry, now)
        for partition, share, entry in planned:
            self._admission.queue_due_plan(partition, share, entry, now)
        for partition, share, site in woken:
            self._admission.release_parked(partition, share, site, self._crawl_of(share), now)

    def _load_hosts(self, now: float) -> None:
        # Crawls compete for the memory of hosts whose delay is over.
        self._end_delays(now)
        open_crawls = self._open_crawls()
        names = frozenset(open_crawls)
        for partition in self._partitions:
            partition.bench.open_crawls(names)
        self._loading.load_hosts(now, open_crawls)
        self._end_delays(now)

    def _end_delays(self, now: float) -> None:
        for partition in self._partitions:
            partition.end_delays(now)

    def _make_orders(self, now: float, left: int) -> Iterator[Event]:
        pacing = self._pacing
        visits_left = {crawl: visits for crawl, visits in self._open_crawls().items() if visits}
        while left and visits_left and (most := pacing.max_order_visits(now)):
            if (ready := self._next_host(visits_left, now)) is None:
                return
            left -= 1
            partition, host = ready.partition, ready.host
            share, crawl = partition.share(ready.crawl), self._definitions[ready.crawl]
            most = min(most, visits_left[crawl.crawl])
            order = self._check_out.order(partition, share, host, most, crawl, now, visits_left)
            yield from self._check_out.pop_outputs()
            if order:
                pacing.charge_visits(order.requests, now)
                self._shares.charge(crawl.crawl, order.requests, crawl.weight)
                partition.bench.charge(host.row, order.requests, crawl.weight)
                self._gauges.record_order(order)
                self._left = None
                if visits := pacing.visits_left(crawl):
                    visits_left[crawl.crawl] = visits
                else:
                    del visits_left[crawl.crawl]
                yield order
            elif host.row.host not in partition.bench.hosts:
                self._load_hosts(now)

    def _next_host(self, crawls: Collection[str], now: float) -> ReadyHost | None:
        """Return the next host to order for one of *crawls*; None if no host is ready.

        Where the speed or the slots limit the orders, the crawl with the least of its share chooses
        the host. While hosts of a site wait for each other, the crawl with the least of its share
        at the site chooses among them. At a host, the one with the least of its share there gets
        the order. A crawl with an urgent URL precedes those without.
        """
        loading = self._loading
        first = loading.first_ready(crawls)
        while loading.replace_preceded(first, crawls, now):
            self._load_hosts(now)
            first = loading.first_ready(crawls)
        self._shares.keep(first)
        if not first:
            return None
        urgent = [crawl for crawl, one in first.items() if is_urgent(one.number)]
        partition, _, host = loading.explore(first[self._shares.choose(urgent or first)])
        crawl = _choose_crawl(host, crawls, now)
        neighbour = partition.bench.choose_neighbour(host, crawl, crawls)
        if neighbour is not host:
            host, crawl = neighbour, _choose_crawl(neighbour, crawls, now)
        return ReadyHost(partition, crawl, host)

    def _open_crawls(self) -> dict[str, int]:
        """Return the crawls that may get orders, now or at a known time, each with the visits that
        it may have now."""
        if self._left is None:
            found = {id: self._pacing.visits_left(one) for id, one in self._definitions.items()}
            self._left = {id: visits for id, visits in found.items() if visits is not None}
        return self._left

    def _may_order(self) -> bool:
        """Return whether an order may be made, if the speed of the crawl allows it."""
        may_order, loading = self._open_crawls(), self._loading
        if not may_order:
            return False
        return bool(loading.first_ready(may_order)) or loading.blocks_waiting_hosts(may_order)

    def note(self) -> str:
        """Return the reason why no orders are made, if it is not a fault."""
        queued = sum(share.tally.row.queued for share in self._partitions.shares())
        is_paused = self._pacing.is_paused
        reasons = {why_idle(crawl, queued, is_paused) for crawl in self._definitions.values()}
        return why_idle(None, queued) if not reasons else reasons.pop() if len(reasons) == 1 else ""

    def settle(self) -> None:
        """Put totals and cursors of the partitions into the store, and set the gauges."""
        self._balance.report_orders()
        self._revisits.schedule()
        changed = self._partitions.write()
        self._removal.settle()
        self._gauges.update(changed)


def _has_unread_end(partition: Partition, now: float) -> bool:
    """Return whether a lease has expired whose order unread outcomes may end."""
    end = partition.bench.next_lease_end()
    return end is not None and partition.read_until < end <= now


def _choose_crawl(host: Host, crawls: Iterable[str], now: float) -> str:
    """Return the one of *crawls* with the least of its share at *host*."""
    row, of_row = host.row, servable_crawls(host.row, now)
    servable = [crawl for crawl in crawls if crawl in of_row]
    # Another crawl, which is not open, may have stopped waiting for verdicts since.
    servable = servable or [crawl for crawl in crawls if crawl in row.crawls]
    servable = [crawl for crawl in servable if is_urgent(row.of(crawl).number)] or servable
    return shares_at(row).choose(sorted(servable, key=lambda crawl: row.of(crawl).number))


def hosts_of_events(events: Iterable[Event]) -> Iterator[Place]:
    """Yield the crawls, sites and host keys of *events*; None for the host of an event about a
    site."""
    for event in events:
        crawl, site = event.crawl, Site(getattr(event, "site", ""))
        match event:
            case UrlsAdmitted(urls=urls):
                yield from dict.fromkeys((crawl, site, host_key(found.url)) for found in urls)
            case RobotsRequested(url=url):
                yield crawl, site, host_key(url)
            case LinksParked():
                pass
            case _ if site:
                yield crawl, site, getattr(event, "host", None)


def url_rows_of_events(events: Iterable[Event]) -> Iterator[Key]:
    """Yield the keys of the URL rows with which handlers compare *events*."""
    for event in events:
        match event:
            case ChangesHinted(crawl=crawl, host=host, hints=hints):
                for hint in hints:
                    yield PlanRow, (crawl, host), hint.url
            case PageDeduplicated(crawl=crawl, host=host, visit=visit):
                if is_late(event):
                    yield PlanRow, (crawl, host), visit.url
                if may_be_repeated(event):
                    yield VerdictRow, (crawl, host), visit.url
            case UrlsAdmitted(crawl=crawl, urls=admitted) if admitted and is_requisite(admitted[0]):
                for found in admitted:
                    yield RequisiteRow, (crawl, host_key(found.url)), found.url
            case UrlsAdmitted(crawl=crawl, urls=admitted) if event.repeated:
                for found in admitted:
                    yield PlanRow, (crawl, host_key(found.url)), found.url
                    yield UrlRow, (crawl, host_key(found.url)), found.url
            case (
                RetryRequested(urls=urls) | RefetchRequested(urls=urls) | FetchRequested(urls=urls)
            ):
                for url in urls:
                    yield PlanRow, (event.crawl, event.host), url
                    yield UrlRow, (event.crawl, event.host), url
            case VisitEnded(crawl=crawl, host=host, visit=visit) if visit.earlier:
                if OUTCOMES[event.outcome].verdict_subject is VerdictSubject.ABSENCE:
                    yield VerdictRow, (crawl, host), visit.url
