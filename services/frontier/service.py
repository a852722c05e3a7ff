"""The frontier as a processor: admits URLs, checks hosts out, checks them in."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec.structs import replace

from gossamer.crawl import accept, why_idle
from gossamer.errors import Poison
from gossamer.events import (
    BlacklistChanged,
    ChangesHinted,
    CrawlDefined,
    Event,
    HostOverridden,
    LinksSetAside,
    MissingPageRead,
    PageJudged,
    RefetchAsked,
    RetryAsked,
    RobotsAnswered,
    RobotsAsked,
    SiteOverridden,
    SpeedSet,
    SuffixListPinned,
    UrlsAdmitted,
    VisitEnded,
    topics,
)
from gossamer.log import BATCH, Record
from gossamer.overrides import site_overridden
from gossamer.runtime.answers import read_ahead
from gossamer.runtime.processor import Answer, Handler, Key, Processor, complete
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.telemetry import count
from services.frontier.admission import Admission
from services.frontier.balance import Unread
from services.frontier.checkin import CheckIn
from services.frontier.checkout import CheckOut
from services.frontier.claim import Claims
from services.frontier.conditions import Trigger
from services.frontier.errands import Errands
from services.frontier.figures import Figures
from services.frontier.hosts import Hosts
from services.frontier.judgements import Judgements
from services.frontier.loading import Loading
from services.frontier.pacing import Pacing
from services.frontier.probes import learn
from services.frontier.reads import places_of, urls_due, urls_of
from services.frontier.refusals import Refusals
from services.frontier.retries import Retries
from services.frontier.revisits import Revisits
from services.frontier.robots import sitemaps_found
from services.frontier.rows import DueRow, Position
from services.frontier.workbench import Host


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
        self._settings, self._store = settings, store
        self._claims = Claims(store, partitions)
        self._hosts = hosts = Hosts(store, self._claims, settings, unread)
        self._loading = Loading(hosts, settings.loaded_limit, alone)
        self._revisits = Revisits(hosts, store)
        self._refusals = refusals = Refusals(hosts, self._revisits, store)
        self._admission = Admission(settings, hosts, self._loading, refusals, self._revisits, store)
        self._check_out = CheckOut(settings, visit_limit, hosts, self._loading, refusals, store)
        self._check_in = CheckIn(settings, hosts, self._loading, self._revisits, store)
        self._retries = Retries(hosts, self._loading, self._admission)
        self._errands = Errands(hosts, self._loading, self._admission, self._check_in.robots)
        self._figures, self._pacing = Figures(hosts), Pacing(hosts)
        self._judgements = Judgements(settings, hosts, store)
        self._handlers = self._bind_handlers()
        self._offset: int | None = None
        """Of the record that is handled; None where events come from no log."""
        self._crawl: CrawlDefined | None = None
        self._asked_at = self._read_until = 0.0
        """When we last asked for all outcomes until then; and until when all were taken in."""
        self._unread: frozenset[int] = frozenset()
        """The partitions of which not all have been taken in since we asked."""

    def __repr__(self) -> str:
        return f"<Frontier {self._hosts.bench!r}>"

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Claim *partitions*, give up all others, and load the hosts that have work."""
        self._loading.assign(partitions, now)
        self._unread &= partitions

    def restart(self, partitions: frozenset[int], now: float) -> None:
        """Reload *partitions* from the store, under their present claims."""
        self._loading.start_over(now)
        self._asked_at = self._read_until = 0.0

    def clock_set(self, partitions: frozenset[int], now: float) -> None:
        """Claim *partitions* again: times by the clock before count as another owner's."""
        self.assign(frozenset(), now)
        self.restart(partitions, now)
        self.assign(partitions, now)

    def caught_up(self, partitions: frozenset[int], now: float) -> None:
        """Leases may expire, and orders be made: what came while nobody read was taken in."""
        before = self._claims.caught_up
        self._claims.catch_up(partitions)
        if self._claims.caught_up and not before:
            self._loading.caught_up(now)
        self._unread -= partitions
        if not self._unread:
            self._read_until = self._asked_at

    def must_catch_up(self, now: float) -> bool:
        """Return whether a lease is over, and its order may have been answered unread.

        While Kafka is away, or we are behind, the last outcome may lie on the log: it ends the
        order, and may say for how long the host is to be left alone.
        """
        end = self._hosts.bench.next_expired()
        if end is None or not self._read_until < end <= now:
            return False
        if self._unread or not self._claims.caught_up:
            return False
        self._asked_at, self._unread = now, self._claims.partitions
        return True

    def reads_of(self, events: Sequence[Event]) -> Iterator[Iterable[Key]]:
        """Yield the rows of the sites, hosts and URLs that *events* name."""
        yield urls_of(events)
        yield from self._hosts.reads_of(places_of(events))

    def locate(self, record: Record) -> None:
        """Remember where the next event lies."""
        self._offset = record.offset

    def _position(self, event: Event) -> Position | None:
        return None if self._offset is None else Position(self._offset, event.at)

    def handle(self, event: Event, now: float) -> Answer:
        """Apply one event; the orders that follow from it come from `wake`.

        Raise Poison if its site is of a partition that is not ours.
        """
        site = None if isinstance(event, SiteOverridden) else getattr(event, "site", None)
        if site and not self._claims.has(site):
            raise Poison(
                f"{site} is of another partition than the record: its producer is to be "
                "set so that it chooses partitions by murmur2"
            )
        handler = self._handlers.get(type(event))
        return (handler(event, now) if handler else None) or ()

    def _bind_handlers(self) -> Mapping[type[Event], Handler]:
        """Return what handles each kind of event on the topics that are read and on `control`."""
        handlers: dict[type[Event], Handler] = {
            UrlsAdmitted: self._urls_admitted,
            VisitEnded: self._visit_ended,
            PageJudged: self._page_judged,
            MissingPageRead: lambda event, now: learn(self._hosts, event),
            LinksSetAside: lambda event, now: self._refusals.set_aside(event, self._crawl, now),
            RobotsAsked: lambda event, now: [*self._errands.asked(event, now)],
            RobotsAnswered: self._robots_answered,
            RetryAsked: self._retries.asked,
            RefetchAsked: self._retries.refetch,
            ChangesHinted: self._revisits.hinted,
            BlacklistChanged: lambda event, now: self._refusals.blacklist.change(event),
            SiteOverridden: self._overridden,
            HostOverridden: self._overridden,
            SpeedSet: lambda event, now: self._pacing.change(event),
            CrawlDefined: self._crawl_defined,
            SuffixListPinned: lambda event, now: None,  # Compared when a process starts.
        }
        return complete(handlers, self.reads, self.name)

    def _urls_admitted(self, event: UrlsAdmitted, now: float) -> None:
        self._admission.admit(event, self._crawl, now, self._position(event))

    def _visit_ended(self, event: VisitEnded, now: float) -> Answer:
        self._check_in.ended(event, now)
        self._pacing.ended(event.received)
        return sitemaps_found(event, self._crawl, now)

    def _page_judged(self, event: PageJudged, now: float) -> None:
        self._judgements.judged(event, self._position(event))
        self._revisits.judged(event)

    def _robots_answered(self, event: RobotsAnswered, now: float) -> Answer:
        self._errands.answered(event, now)
        return sitemaps_found(event, self._crawl, now)

    def _overridden(self, event: SiteOverridden | HostOverridden, now: float) -> None:
        self._hosts.sites.overrides.change(event)
        if self._claims.has(site := site_overridden(event)):
            self._loading.recall(site, now)

    def _crawl_defined(self, event: CrawlDefined, now: float) -> None:
        accept(event)
        self._revisits.define(event)
        self._crawl = event

    def due(self) -> float | None:
        """Return when the next delay, lease or wait ends; 0 when there is work now."""
        bench = self._hosts.bench
        if self._loading.unfinished or self._refusals.are_behind(self._crawl):
            return 0.0
        next_at = self._pacing.next_at if self._may_order() else None
        if next_at == 0:
            return 0.0
        read = self._claims.caught_up and not self._unread
        ends = [bench.next_rested(), bench.next_expired() if read else None]
        ends += [claim.calendar.due() for claim in self._claims]
        ends += [self._revisits.due(), next_at]
        return min((end for end in ends if end is not None), default=None)

    def wake(self, now: float, most: int = BATCH) -> Iterator[Event]:
        """Update hosts and URLs whose time has come, then yield orders: at most *most* of each."""
        read_until = self._leases_may_end_until(now)
        for host in self._hosts.bench.expired(read_until) if self._claims.caught_up else ():
            count("gossamer_leases_expired_total")
            row = replace(host.row, ready_at=now + host.row.delay)
            self._hosts.bench.visited(row.host, row.ready_at, now)
            self._hosts.update(host, row, Trigger.LEASE_EXPIRED)
        self._bring_back(now, most)
        self._fill(now)
        if crawl := self._crawl:
            yield from self._refusals.take_up(crawl, now)
            yield from self._orders(crawl, now, most)

    def _leases_may_end_until(self, now: float) -> float:
        """Return until when leases may end at *now*: the outcomes from before then were read."""
        return min(now, self._read_until)

    def _bring_back(self, now: float, most: int) -> None:
        self._revisits.follow(now, most)
        due = list[DueRow]()
        for claim in self._claims:
            due += claim.calendar.take(now, most - len(due))
        visits = self._revisits.taken(now, most - len(due))
        places = [(one.site, one.host) for one in due]
        places += [(one.site, one.host) for one in visits]
        read_ahead(self._store, chain([urls_due(due)], self._hosts.reads_of(places)))
        self._loading.unblock([one for one in due if not one.url])
        for one in due:
            if one.url:
                self._admission.again(one, now)
        for visit in visits:
            self._admission.revisit(visit, now)

    def _fill(self, now: float) -> None:
        self._loading.fill(now)
        for host in self._hosts.bench.rested(now):
            self._hosts.update(host, host.row, Trigger.DELAY_OVER)

    def _orders(self, crawl: CrawlDefined, now: float, left: int) -> Iterator[Event]:
        pacing = self._pacing
        pacing.look(now)
        while left and (most := pacing.room(crawl, now)) and (host := self._first(now)):
            left -= 1
            order = self._check_out.order(host, most, crawl, now)
            yield from self._check_out.answers()
            if order:
                pacing.ordered(len(order.visits), now)
                self._figures.ordered(order)
                yield order
            elif host.row.host not in self._hosts.bench.hosts:
                self._fill(now)

    def _first(self, now: float) -> Host | None:
        """Return the host whose turn it is, if any is ready."""
        first_ready = self._hosts.bench.first_ready
        while self._loading.is_overtaken(host := first_ready()) and self._loading.make_room():
            self._fill(now)
        return host

    def _may_order(self) -> bool:
        """Return whether there is somebody to order, if the speed of the crawl allows it."""
        if not self._pacing.orderable(self._crawl):
            return False
        return self._hosts.bench.first_ready() is not None or self._loading.is_in_the_way

    def note(self) -> str:
        """Return why nothing is ordered although all is well."""
        return why_idle(self._crawl, sum(claim.tally.queued for claim in self._claims))

    def settle(self) -> None:
        """Put the totals and the positions of the claims into the store, and set the gauges."""
        self._hosts.balance.settle()
        self._claims.write()
        self._figures.show()
