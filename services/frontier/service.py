"""The frontier as a processor: admits URLs, checks hosts out, checks them in."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

from gossamer.crawl import accept, check_crawl, why_idle
from gossamer.errors import Poison
from gossamer.events import (
    BlocklistChanged,
    ChangesHinted,
    CrawlDefined,
    ErasureRequested,
    Event,
    FleetBegun,
    FleetQuiesced,
    HostOverridden,
    LinksParked,
    MissingPageRead,
    PageJudged,
    RefetchRequested,
    RetryRequested,
    RobotsAnswered,
    RobotsRequested,
    SiteOverridden,
    SpeedSet,
    UrlsAdmitted,
    UrlsErased,
    VisitEnded,
    topics,
)
from gossamer.events.outcomes import OUTCOMES, VerdictSubject
from gossamer.log import MAX_POLL_RECORDS, Record
from gossamer.overrides import overridden_site
from gossamer.runtime.answers import read_ahead
from gossamer.runtime.control_copy import ControlRow, control_row
from gossamer.runtime.processor import Answer, Handler, Key, Processor, check_handlers
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.url import host_key
from services.frontier.admission import Admission, Retries
from services.frontier.balance import Balance, Unread
from services.frontier.checkin import CheckIn
from services.frontier.checkout import CheckOut
from services.frontier.erasing import Erasing
from services.frontier.figures import Figures
from services.frontier.loading import Loading, Turn
from services.frontier.overrides import Overrides
from services.frontier.pacing import Pacing
from services.frontier.partition import Partition
from services.frontier.partitions import Partitions
from services.frontier.probes import learn
from services.frontier.refusals import Refusals
from services.frontier.revisits import Revisits, is_late, plans_of
from services.frontier.robots import Errands, sitemaps_found
from services.frontier.rows import DueRow, PlanRow, Position, UrlRow, VerdictRow

PartitionHandler = Callable[[Partition, Any, float], Answer | None]
"""Handles one kind of event about a site of the partition."""


class Frontier(Processor):
    """What to fetch next, and when; see the package.

    *visit_limit* is the most seconds a visit may take, *partitions* how many there are in all;
    *alone*: all fetchers and frontiers of earlier runs are dead; *unread*: as of `Balance`.
    """

    name = "frontier"
    reads = (topics.URLS_ADMITTED, topics.VISITS_ENDED, topics.PAGES_JUDGED)
    awaits = (topics.VISITS_ENDED,)

    def __init__(
        self,
        settings: FrontierSettings,
        store: Store,
        visit_limit: float,
        partitions: int,
        alone: bool,
        unread: Unread | None = None,
    ) -> None:
        self._store, self._alone = store, alone
        self._overrides = Overrides()
        self._partitions = Partitions(store, settings, self._overrides, partitions)
        self._balance = Balance(self._partitions, store, settings.site_gap, unread)
        self._loading = Loading(self._partitions, settings, store)
        self._revisits = Revisits(self._partitions, store)
        self._refusals = Refusals(self._partitions, store)
        self._admission = Admission(
            settings, self._partitions, self._refusals, self._revisits, store
        )
        self._check_out = CheckOut(
            settings, visit_limit, self._balance, self._refusals, self._revisits
        )
        self._check_in = CheckIn(settings, self._balance, self._revisits, store)
        self._retries = Retries(self._admission)
        self._errands = Errands(self._partitions, self._check_in.robots)
        self._erasing = Erasing(store)
        self._figures, self._pacing = Figures(self._partitions), Pacing(self._partitions)
        self._control_rows = store.table(ControlRow)
        self._handlers, self._controls = self._bind_handlers(), self._bind_controls()
        check_handlers({**self._handlers, **self._controls}, self.reads, self.name)
        self._offset: int | None = None
        """Of the record that is handled; None where events come from no log."""
        self._crawl: CrawlDefined | None = None
        self._asked_at = self._read_until = 0.0
        """When we last asked for all outcomes until then; and until when all were taken in."""
        self._unread: frozenset[int] = frozenset()
        """The partitions of which not all have been taken in since we asked."""

    def __repr__(self) -> str:
        return f"<Frontier {[*self._partitions]!r}>"

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Claim *partitions*, drop all others, and load the hosts that have work."""
        self._partitions.assign(partitions, now)
        self._loading.fill(now)
        self._unread &= partitions

    def restart(self, partitions: frozenset[int], now: float) -> None:
        """Reload *partitions* from the store, under their present claims."""
        # Fetchers that have some of the hosts may live now.
        self._alone = False
        self._partitions.reload(now)
        self._loading.fill(now)
        self._asked_at = self._read_until = 0.0

    def clock_set(self, partitions: frozenset[int], now: float) -> None:
        """Claim *partitions* again: times by the clock before count as another owner's."""
        self.assign(frozenset(), now)
        self.restart(partitions, now)
        self.assign(partitions, now)

    def caught_up(self, partitions: frozenset[int], now: float) -> None:
        """Note that all outcomes of *partitions* from while nobody read were applied: leases may
        end now, and orders be made."""
        before = self._partitions.caught_up
        self._partitions.catch_up(partitions)
        if self._alone and self._partitions.caught_up and not before:
            for partition in self._partitions:
                partition.free_checked_out(now)
        self._unread -= partitions
        if not self._unread:
            self._read_until = self._asked_at

    def must_catch_up(self, now: float) -> bool:
        """Return whether a lease is over, and its order may have been answered unread.

        While Kafka is away, or we are behind, the last outcome may lie on the log: it ends the
        order, and may say for how long the host is to be left alone.
        """
        ends = [end for one in self._partitions if (end := one.bench.next_expired()) is not None]
        end = min(ends, default=None)
        if end is None or not self._read_until < end <= now:
            return False
        if self._unread or not self._partitions.caught_up:
            return False
        self._asked_at, self._unread = now, self._partitions.numbers
        return True

    def reads_of(self, events: Sequence[Event]) -> Iterator[Iterable[Key]]:
        """Yield the rows of the sites, hosts and URLs that *events* name."""
        yield urls_of(events)
        yield from self._reads_of(places_of(events))

    def _reads_of(self, places: Iterable[tuple[str, str]]) -> Iterator[Iterable[Key]]:
        """Yield the rows of *places*, of all partitions together."""
        by_partition = defaultdict[int, list[tuple[str, str]]](list)
        for site, host in places:
            by_partition[self._partitions.number_of(site)].append((site, host))
        claimed = [one for one in self._partitions if one.number in by_partition]
        groups = [one.reads_of(by_partition[one.number]) for one in claimed]
        for several in zip(*groups, strict=True):
            yield chain.from_iterable(several)

    def locate(self, record: Record) -> None:
        """Remember where the next event lies."""
        self._offset = record.offset

    def _position(self, event: Event) -> Position | None:
        return None if self._offset is None else Position(self._offset, event.at)

    def handle(self, event: Event, now: float) -> Answer:
        """Apply one event; the orders that follow from it come from `wake`.

        Raise Poison if it is of another crawl, or its site of a partition that is not ours.
        """
        if control := self._controls.get(type(event)):
            self._control_rows.put(control_row(event))
            return control(event, now) or ()
        if (handler := self._handlers.get(type(event))) is None:
            return ()
        check_crawl(event)
        site = event.site  # type: ignore[attr-defined]
        if (partition := self._partitions.of(site)) is None:
            raise Poison(
                f"{site} is of another partition than the record: its producer is to be "
                "set so that it chooses partitions by murmur2"
            )
        return handler(partition, event, now) or ()

    def _bind_controls(self) -> dict[type[Event], Handler]:
        """Return the handlers of the events on `control`."""
        return {
            BlocklistChanged: lambda event, now: self._refusals.blocklist.change(event),
            SiteOverridden: self._overridden,
            HostOverridden: self._overridden,
            SpeedSet: lambda event, now: self._pacing.change(event),
            CrawlDefined: self._crawl_defined,
            FleetBegun: lambda event, now: None,  # Compared when a process starts.
            FleetQuiesced: lambda event, now: None,  # The loop goes by it.
        }

    def _bind_handlers(self) -> dict[type[Event], PartitionHandler]:
        """Return the handlers of the events about one site, which are given its partition."""
        return {
            UrlsAdmitted: self._urls_admitted,
            VisitEnded: self._visit_ended,
            PageJudged: self._page_judged,
            MissingPageRead: lambda partition, event, now: learn(partition, event),
            LinksParked: lambda partition, event, now: self._refusals.park(
                partition, event, self._crawl, now
            ),
            RobotsRequested: lambda partition, event, now: [
                *self._errands.asked(partition, event, now)
            ],
            RobotsAnswered: self._robots_answered,
            RetryRequested: self._retries.asked,
            RefetchRequested: self._retries.refetch,
            ChangesHinted: self._revisits.record_hints,
            ErasureRequested: lambda partition, event, now: [
                *self._erasing.begin(partition, event, now)
            ],
            UrlsErased: lambda partition, event, now: self._erasing.end(partition, event),
        }

    def _urls_admitted(self, partition: Partition, event: UrlsAdmitted, now: float) -> Answer:
        event, late = self._erasing.admit(partition, event, now)
        self._admission.admit(partition, event, self._crawl, now, self._position(event))
        return late

    def _visit_ended(self, partition: Partition, event: VisitEnded, now: float) -> Answer:
        self._check_in.ended(partition, event, now)
        self._pacing.ended(event.received)
        if partition.erasures.covers(event.visit):
            return ()
        return sitemaps_found(event, self._crawl, now)

    def _page_judged(self, partition: Partition, event: PageJudged, now: float) -> None:
        if partition.erasures.covers(event.visit):
            return
        if partition.count_verdict(event, self._position(event)):
            self._check_in.judged(partition, event)
            self._revisits.record_verdict(partition, event)

    def _robots_answered(self, partition: Partition, event: RobotsAnswered, now: float) -> Answer:
        if not partition.find(event.site, event.host).stored:
            return ()  # It was erased.
        self._errands.answered(partition, event, now)
        return sitemaps_found(event, self._crawl, now)

    def _overridden(self, event: SiteOverridden | HostOverridden, now: float) -> None:
        self._overrides.change(event)
        if partition := self._partitions.of(site := overridden_site(event)):
            partition.recall(site, now)

    def _crawl_defined(self, event: CrawlDefined, now: float) -> None:
        accept(event)
        self._revisits.define(event)
        self._crawl = event

    def due(self) -> float | None:
        """Return when the next delay, lease or wait ends; 0 when there is work now."""
        if self._loading.unfinished or self._refusals.are_behind(self._crawl):
            return 0.0
        next_at = self._pacing.next_at if self._may_order() else None
        if next_at == 0:
            return 0.0
        read = self._partitions.caught_up and not self._unread
        ends = [self._revisits.due(), next_at]
        for partition in self._partitions:
            ends += [partition.due(), partition.bench.next_rested()]
            ends += [partition.bench.next_expired()] if read else []
        return min((end for end in ends if end is not None), default=None)

    def wake(self, now: float, most: int = MAX_POLL_RECORDS) -> Iterator[Event]:
        """Update hosts and URLs whose time has come, then yield orders: at most *most* of each."""
        read_until = self._leases_may_end_until(now)
        for partition in self._partitions if self._partitions.caught_up else ():
            partition.end_leases(read_until, now)
        self._bring_back(now, most)
        self._fill(now)
        if crawl := self._crawl:
            yield from self._refusals.take_up(crawl, now)
            yield from self._orders(crawl, now, most)

    def _leases_may_end_until(self, now: float) -> float:
        """Return until when leases may end at *now*: the outcomes from before then were read."""
        return min(now, self._read_until)

    def _bring_back(self, now: float, most: int) -> None:
        """Queue at most *most* due URLs, and end the backoff of hosts."""
        self._revisits.follow(now, most)
        taken = list[tuple[Partition, list[DueRow], list[DueRow]]]()
        for partition in self._partitions:
            due = partition.take_due(now, most)
            visits = partition.plans.take(now, most := most - len(due))
            most -= len(visits)
            if due or visits:
                taken.append((partition, due, visits))
        places = [(one.site, one.host) for _, due, _ in taken for one in due]
        places += [(one.site, one.host) for _, _, visits in taken for one in visits]
        plans = plans_of(one for _, *both in taken for some in both for one in some)
        read_ahead(self._store, chain([plans], self._reads_of(places)))
        for partition, due, visits in taken:
            partition.end_backoffs([one for one in due if not one.url])
            for one in due:
                if one.url:
                    self._admission.retry_due(partition, one, now)
            for one in visits:
                self._admission.plan_due(partition, one, now)

    def _fill(self, now: float) -> None:
        self._loading.fill(now)
        for partition in self._partitions:
            partition.end_delays(now)

    def _orders(self, crawl: CrawlDefined, now: float, left: int) -> Iterator[Event]:
        pacing = self._pacing
        pacing.look(now)
        while left and (most := pacing.room(crawl, now)) and (turn := self._first(now)):
            left -= 1
            partition, host = turn
            order = self._check_out.order(partition, host, most, crawl, now)
            yield from self._check_out.answers()
            if order:
                pacing.ordered(len(order.visits), now)
                self._figures.ordered(order)
                yield order
            elif host.row.host not in partition.bench.hosts:
                self._fill(now)

    def _first(self, now: float) -> Turn | None:
        """Return the host whose turn it is, if any is ready."""
        first_ready = self._loading.first_ready
        while self._loading.is_overtaken(turn := first_ready()) and self._loading.make_room():
            self._fill(now)
        return turn

    def _may_order(self) -> bool:
        """Return whether a host may be ordered, if the speed of the crawl allows it."""
        if not self._pacing.orderable(self._crawl):
            return False
        return self._loading.first_ready() is not None or self._loading.is_in_the_way

    def note(self) -> str:
        """Return why nothing is ordered although all is well."""
        return why_idle(self._crawl, sum(one.tally.queued for one in self._partitions))

    def settle(self) -> None:
        """Put totals and positions of the partitions into the store, and set the gauges."""
        self._balance.settle()
        for partition in self._partitions:
            partition.write()
        self._figures.show()


def places_of(events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    """Yield the sites and hosts that *events* name; a site alone with "" for its host."""
    for event in events:
        site = getattr(event, "site", "")
        match event:
            case UrlsAdmitted(urls=urls):
                yield from dict.fromkeys((site, host_key(found.url)) for found in urls)
            case RobotsRequested(url=url):
                yield site, host_key(url)
            case LinksParked():
                pass
            case _ if site:
                yield site, getattr(event, "host", "")


def urls_of(events: Iterable[Event]) -> Iterator[Key]:
    """Yield the rows of the URLs that *events* name, where what they say is compared with them."""
    for event in events:
        match event:
            case ChangesHinted(crawl=crawl, host=host, hints=hints):
                for hint in hints:
                    yield PlanRow, (crawl, host), hint.url
            case PageJudged(crawl=crawl, host=host, visit=visit) if is_late(event):
                yield PlanRow, (crawl, host), visit.url
            case UrlsAdmitted(crawl=crawl, urls=admitted, repeated=True):
                for found in admitted:
                    yield PlanRow, (crawl, host_key(found.url)), found.url
                    yield UrlRow, (crawl, host_key(found.url)), found.url
            case RetryRequested(urls=urls) | RefetchRequested(urls=urls):
                for url in urls:
                    yield PlanRow, (event.crawl, event.host), url
                    yield UrlRow, (event.crawl, event.host), url
            case VisitEnded(crawl=crawl, host=host, visit=visit) if visit.earlier:
                if OUTCOMES[event.outcome].verdict_subject is VerdictSubject.ABSENCE:
                    yield VerdictRow, (crawl, host), visit.url
