"""A frontier in virtual time, with a fetcher whose answers and durations a test chooses."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from heapq import heappop, heappush

from gossamer.events import (
    DEFAULT_CRAWL,
    CrawlDefined,
    Discovery,
    ErasureBegun,
    Event,
    HostCheckedOut,
    OrderBegun,
    Outcome,
    PageDeduplicated,
    Purpose,
    RobotsAnswered,
    UrlsAdmitted,
    UrlsDiscovered,
    UrlsErased,
    Verdict,
    VisitEnded,
    VisitsErased,
)
from gossamer.events.outcomes import OUTCOMES
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.sites import NO_RECORD, RecordAtSite
from gossamer.services.frontier.partition.workbench import Host
from gossamer.services.frontier.service import Frontier
from gossamer.services.frontier.tables.conditions import Condition, Trigger
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.settings import FrontierSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.robots import RobotsRules
from gossamer.web.signing import SignMode
from gossamer.web.url import HostKey, Site, host_key, site_of

START = 1_700_000_000.0
PARTITIONS = 4
VISIT_LIMIT = 60.0

Answer = Callable[[str], Mapping[str, object]]
"""URL → fields of the outcome that differ from a page that took no time."""

GiveVerdict = Callable[[VisitEnded], PageDeduplicated]
"""Returns the verdict of dedup on a page."""


def crawl(**fields: object) -> CrawlDefined:
    """Return a definition of a crawl of everything."""
    return CrawlDefined(**{"at": START, "scope": "any()", "max_depth": 16, **fields})  # type: ignore[arg-type]


def page(url: str) -> Mapping[str, object]:
    """Return a page at once for every visit."""
    return {}


def make_verdict(event: VisitEnded, **fields: object) -> PageDeduplicated:
    """Return the verdict on a page, without other *fields* that it is new at its first visit, and
    unchanged later."""
    usual = {
        "at": event.at,
        "verdict": Verdict.FIRST if not event.visit.earlier else Verdict.UNCHANGED,
        "digest": event.visit.url,
        "fetched_at": event.at,
    }
    return PageDeduplicated(
        crawl=event.crawl,
        site=event.site,
        host=event.host,
        visit=event.visit,
        **{**usual, **fields},  # type: ignore[arg-type]
    )


class Simulation:
    """Steps a frontier from one point of interest to the next."""

    def __init__(
        self, answer: Answer = page, alone: bool = True, strategy: str = "", **settings: object
    ) -> None:
        self.sign = SignMode(str(settings.pop("sign", SignMode.NEVER)))
        self.give_verdict: GiveVerdict | None = None
        self.keeps = False
        """Whether the fetchers keep captures for other crawls."""
        self.definition = crawl(strategy=strategy)
        self.others = dict[str, CrawlDefined]()
        """The definitions of further crawls, by their ids."""
        self.unread = False
        """Whether the log has unread outcomes when a frontier starts."""
        self.read_partitions = frozenset(range(PARTITIONS))
        """The partitions whose outcomes are all read."""
        self.settings = FrontierSettings(**{"probe_after": 0, **settings})  # type: ignore[arg-type]
        self.answer, self.alone = answer, alone
        self.database = Database(":memory:")
        self.now = START
        self.orders: list[tuple[float, HostCheckedOut]] = []
        self.answers: list[RobotsAnswered] = []
        self.released: list[UrlsDiscovered] = []
        """Parked URLs that a wider crawl has released."""
        """Answers on behalf of other hosts that needed no visit."""
        self.visits: list[tuple[float, float, str]] = []
        """Start, end and URL of every request."""
        self.changes = Counter[tuple[Condition, Trigger]]()
        """(condition, trigger) → number of transitions."""
        self._coming: list[tuple[float, int, VisitEnded]] = []
        self._count = 0
        self.start()

    def start(self) -> None:
        """Start a frontier on the store; memory and records in flight are lost."""
        self._coming = []
        self.visits = [
            (begin, min(end, self.now), url) for begin, end, url in self.visits if begin <= self.now
        ]
        self.store = SqliteStore(self.database)
        self.frontier = Frontier(
            self.settings, self.store, VISIT_LIMIT, PARTITIONS, self.alone, sign=self.sign
        )
        self.frontier.assign(frozenset(range(PARTITIONS)), self.now)
        for partition in self.partitions:
            self._watch(partition)
        for definition in (self.definition, *self.others.values()):
            self.frontier.handle(definition, self.now)
        if not self.unread:
            self.catch_up()
        self._settle()

    def catch_up(self) -> None:
        """Report to the frontier that all outcomes from before its start were applied."""
        self.unread = False
        self.frontier.finish_catching_up(self.read_partitions, self.now)

    @property
    def partitions(self) -> list[Partition]:
        return [*self.frontier._partitions]

    def partition(self, site: Site) -> Partition:
        """Return the partition of *site*."""
        found = self.frontier._partitions.of(site)
        assert found
        return found

    def share(self, site: Site, crawl: str = DEFAULT_CRAWL) -> CrawlShare:
        """Return what *crawl* has in the partition of *site*."""
        return self.partition(site).shares[crawl]

    def shares(self, crawl: str = DEFAULT_CRAWL) -> list[CrawlShare]:
        """Return what *crawl* has in all partitions."""
        return [partition.shares[crawl] for partition in self.partitions]

    def loaded(self) -> int:
        """Return the number of hosts in memory."""
        return sum(len(partition.bench) for partition in self.partitions)

    def _watch(self, partition: Partition) -> None:
        update = partition.update

        def update_and_count(
            host: Host,
            row: HostRow,
            trigger: Trigger | None = None,
            at_site: RecordAtSite = NO_RECORD,
        ) -> None:
            before = host.row.condition
            update(host, row, trigger, at_site)
            if trigger:
                self.changes[before, trigger] += 1

        partition.update = update_and_count  # type: ignore[method-assign]

    def lose(self) -> list[VisitEnded]:
        """Disconnect the fetchers; return the outcomes that they would have reported, in order."""
        lost = [event for _, _, event in sorted(self._coming, key=lambda coming: coming[:2])]
        self._coming.clear()
        return lost

    def define(self, name: str, **fields: object) -> None:
        """Define the further crawl *name*, or change its definition."""
        self.others[name] = crawl(crawl=name, **fields)
        self.handle(self.others[name])

    def admit(
        self,
        *urls: str,
        depth: int = 0,
        priority: int = 0,
        repeated: bool = False,
        crawl: str = DEFAULT_CRAWL,
        duplicates: int = 0,
    ) -> None:
        """Admit URLs of *crawl*, in this order; *repeated*: dedup may have admitted them before.
        *duplicates*: the pages without a new text that lead to them."""
        for url in urls:
            found = Discovery(url, depth, priority=priority, duplicates=duplicates)
            event = UrlsAdmitted(
                crawl=crawl,
                at=self.now,
                site=site_of(url),
                via="test",
                urls=(found,),
                repeated=repeated,
            )
            self.frontier.handle(event, self.now)
        self._settle()

    def admit_links(
        self, *links: Discovery | str, via: str = "1.1.0@http://a.test/", **fields: object
    ) -> None:
        """Admit links of one site in one record with *fields*; a text is a link at depth 1."""
        found = tuple(Discovery(one, 1) if isinstance(one, str) else one for one in links)
        event = UrlsAdmitted(
            at=self.now,
            site=site_of(found[0].url),
            via=via,
            urls=found,
            **fields,  # type: ignore[arg-type]
        )
        self.handle(event)

    def handle(self, event: Event) -> None:
        """Give the frontier an event."""
        self.frontier.handle(event, self.now)
        self._settle()

    def report_begun(self, order: HostCheckedOut) -> None:
        """Report that a fetcher begins *order*."""
        self.handle(
            OrderBegun(
                at=self.now,
                site=order.site,
                host=order.host,
                order=order.order,
                fetcher="fetcher-0",
                offset=0,
            )
        )

    def run(self, until: float = float("inf"), steps: int = 100_000) -> None:
        """Run until nothing happens any more, until the time, or for the number of steps."""
        for _ in range(steps):
            times = [t for t in (self.frontier.due(), self._next_end()) if t is not None]
            if not times or (at := max(self.now, min(times))) > until:
                break
            self.now = at
            self.step()
        else:
            return
        if until != float("inf"):
            self.now = until

    def step(self) -> None:
        """Deliver the outcomes that are due, and wake the frontier."""
        while self._coming and self._coming[0][0] <= self.now:
            ended = heappop(self._coming)[2]
            self.frontier.handle(ended, self.now)
            page = ended.visit.purpose is Purpose.PAGE
            if self.give_verdict and page and ended.outcome in (Outcome.PAGE, Outcome.NOT_MODIFIED):
                self.frontier.handle(self.give_verdict(ended), self.now)
        if self.frontier.must_catch_up(self.now) and not self.unread:
            self.catch_up()
        for event in [*self.frontier.wake(self.now)]:
            if isinstance(event, ErasureBegun):
                self.frontier.handle(erase_at_once(event), self.now)
                continue
            if isinstance(event, VisitsErased):
                continue
            if isinstance(event, RobotsAnswered):
                self.answers.append(event)
                continue
            if isinstance(event, UrlsDiscovered):
                self.released.append(event)
                continue
            assert isinstance(event, HostCheckedOut)
            self.orders.append((self.now, event))
            for at, end in self._fetch(event):
                self._count += 1
                heappush(self._coming, (at, self._count, end))
        self._settle()

    def _settle(self) -> None:
        self.frontier.settle()
        self.store.flush()

    def _next_end(self) -> float | None:
        return self._coming[0][0] if self._coming else None

    def _fetch(self, order: HostCheckedOut) -> Iterator[tuple[float, VisitEnded]]:
        at = self.now
        for index, visit in enumerate(order.visits):
            fields = {"outcome": Outcome.PAGE, "took": 0.0, **self.answer(visit.url)}
            robots = visit.purpose is Purpose.ROBOTS and "robots" not in fields
            if robots and fields["outcome"] is Outcome.PAGE:
                fields["robots"] = RobotsRules(fetched_at=at, expires_at=at + 86400.0)
            end = at + float(str(fields["took"]))
            asked = fields["outcome"] is not Outcome.UNVISITED and visit.shared is None
            if asked and self.keeps and order.keep and visit.purpose is Purpose.PAGE:
                fields["kept"] = f"shared/{order.crawl}@{visit.url}"
            if asked:
                self.visits.append((at, end, visit.url))
            ends_here = OUTCOMES[Outcome(str(fields["outcome"]))].ends_order
            last = index == len(order.visits) - 1 or ends_here
            yield (
                end,
                VisitEnded(
                    crawl=order.crawl,
                    at=end,
                    site=order.site,
                    host=order.host,
                    order=order.order,
                    epoch=order.epoch,
                    index=index,
                    last=last,
                    visit=visit,
                    started_at=at if asked else 0.0,
                    signed=order.sign and asked,
                    **fields,  # type: ignore[arg-type]
                ),
            )
            if last:
                return
            if asked:
                at = end + max(order.pause, order.pause_factor * (end - at))

    def pages(self) -> list[str]:
        """Visited URLs in order, without robots.txt."""
        return [url for _, _, url in self.visits if not url.endswith("/robots.txt")]

    def starts(self, url: str) -> list[float]:
        """Return when *url* was visited."""
        return [start for start, _, visited in self.visits if visited == url]

    def row(self, host: str = "http://a.test") -> HostRow:
        """Return the stored row of *host*."""
        row = self.store.table(HostRow).get(site_of(host), host)
        assert row
        return row

    def url_row(self, url: str, crawl: str = DEFAULT_CRAWL) -> UrlRow | None:
        """Return the row of the last outcome of *url*."""
        return self.store.table(UrlRow).get((crawl, host_key(url)), url)

    def gaps(self) -> list[tuple[HostKey, float]]:
        """Seconds between the end of a visit to a host and the start of the next one."""
        ends: dict[str, float] = {}
        gaps = []
        for start, end, url in sorted(self.visits):
            if host_key(url) in ends:
                gaps.append((host_key(url), start - ends[host_key(url)]))
            ends[host_key(url)] = end
        return gaps


def erase_at_once(event: ErasureBegun) -> UrlsErased:
    """Return the reply of dedup."""
    return UrlsErased(
        crawl=event.crawl,
        at=event.at,
        site=event.site,
        erasure=event.erasure,
        part=event.part,
        last=event.last,
        hosts=event.hosts,
        urls=event.urls,
        removal=event.removal,
    )
