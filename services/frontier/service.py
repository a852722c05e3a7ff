"""The frontier's machine: admits URLs, checks hosts out, checks them in."""

from collections.abc import Iterator

from gossamer import topics
from gossamer.config import FrontierSettings
from gossamer.events import (
    CrawlDefined,
    Event,
    HostCheckedOut,
    Outcome,
    PageJudged,
    UrlsAdmitted,
    VisitEnded,
)
from gossamer.service import Answer, Machine
from gossamer.store import Store
from gossamer.telemetry import count, gauge
from services.frontier.admission import Admission
from services.frontier.checkin import CheckIn
from services.frontier.checkout import CheckOut
from services.frontier.hosts import Hosts
from services.frontier.rows import HistoryRow, JudgementRow
from services.frontier.workbench import rest

NO_LIMIT = 1 << 60


class Frontier(Machine):
    """What to fetch next, and when; see the package.

    *visit_limit* is the most seconds a visit may take, *partitions* how many there are in all;
    *alone* says that nobody of an earlier run is alive.
    """

    name = "frontier"
    reads = (topics.URLS_ADMITTED, topics.VISITS_ENDED, topics.PAGES_JUDGED)

    def __init__(
        self,
        settings: FrontierSettings,
        store: Store,
        visit_limit: float,
        partitions: int,
        alone: bool,
    ) -> None:
        self._settings = settings
        self._hosts = Hosts(store, partitions, settings.loaded_limit, alone)
        self._admission = Admission(settings, self._hosts, store)
        self._check_out = CheckOut(settings, visit_limit, self._hosts, store)
        self._check_in = CheckIn(settings, self._hosts, store)
        self._judgements, self._history = store.table(JudgementRow), store.table(HistoryRow)
        self._crawl: CrawlDefined | None = None

    def __repr__(self) -> str:
        return f"<Frontier {self._hosts.bench!r}>"

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Claim the partitions that are ours now."""
        self._hosts.assign(partitions, now)

    def handle(self, event: Event, now: float) -> Answer:
        """Take one event in; what follows from it is said by `wake`."""
        match event:
            case UrlsAdmitted():
                self._admission.admit(event, self._crawl, now)
            case VisitEnded():
                self._check_in.ended(event, now)
            case PageJudged():
                self._judged(event)
            case CrawlDefined():
                self._crawl = event
        return ()

    def _judged(self, event: PageJudged) -> None:
        self._hosts.claim(event.site).tally.judged(event.verdict, event.hazards)
        self._judgements.put(
            JudgementRow(
                host=event.host,
                url=event.visit.url,
                verdict=event.verdict,
                at=event.at,
                digest=event.digest,
                duplicate_of=event.duplicate_of,
                links=event.links,
            )
        )
        self._history.put(
            HistoryRow(
                url=event.visit.url,
                at=event.fetched_at or event.at,
                outcome=Outcome.PAGE,
                status=event.status,
                size=event.size,
                verdict=event.verdict,
                digest=event.digest,
                duplicate_of=event.duplicate_of,
            )
        )

    def due(self) -> float | None:
        """Return when a rest, a lease or a wait ends; 0 when an order could be made already."""
        if self._orderable() and self._hosts.bench.first_ready():
            return 0.0
        ends = [self._hosts.bench.due(), *(c.calendar.due() for c in self._hosts.claims.values())]
        return min((end for end in ends if end is not None), default=None)

    def wake(self, now: float) -> Iterator[Event]:
        """Move hosts whose time has come; then order as much as may be ordered."""
        for host in self._hosts.bench.expired(now):
            count("gossamer_leases_expired_total")
            self._hosts.move(host, rest(host.row, now + host.row.delay))
        for claim in self._hosts.claims.values():
            for due in claim.calendar.take(now):
                if due.url:
                    self._admission.again(due, now)
                else:
                    self._hosts.unblock(due.site, due.host, due.at, now)
        for host in self._hosts.bench.rested(now):
            self._hosts.ready(host, now)
        self._hosts.fill(now)
        yield from self._orders(now)
        gauge("gossamer_hosts_loaded", len(self._hosts.bench))

    def _orders(self, now: float) -> Iterator[HostCheckedOut]:
        while (most := self._orderable()) and (host := self._hosts.bench.first_ready()):
            if order := self._check_out.order(host, most, now):
                yield order

    def _orderable(self) -> int:
        """Return how many URLs may be ordered now."""
        bench, crawl = self._hosts.bench, self._crawl
        if crawl is None or crawl.paused or bench.checked_out >= self._settings.checked_out_limit:
            return 0
        if not crawl.max_pages:
            return NO_LIMIT
        pages = sum(claim.tally.pages for claim in self._hosts.claims.values())
        return max(0, crawl.pages_before + crawl.max_pages - pages - bench.outstanding)

    def settle(self) -> None:
        """Put what has changed of the claims into the store."""
        self._hosts.write()
