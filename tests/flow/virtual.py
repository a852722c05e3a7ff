"""A crawl in virtual time and one thread: the real services, log and store, without sockets."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush
from math import inf
from pathlib import Path
from shutil import copytree
from typing import Any, TypeVar

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.events import (
    DEFAULT_CRAWL,
    BlocklistChanged,
    CrawlDefined,
    Event,
    FleetPaused,
    HostCheckedOut,
    Outcome,
    PageFetched,
    SeedAdded,
    SiteOverridden,
    SpeedSet,
    VisitEnded,
)
from gossamer.events.topics import PAGES, TOPICS, VISITS_ORDERED, Retention
from gossamer.log import Record, partition_of
from gossamer.log.codec import decode, encode, split_key
from gossamer.log.sqlite import PARTITIONS, SqliteLog
from gossamer.runtime.loop import Loop
from gossamer.runtime.processor import Processor
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.archive.service import Archive
from gossamer.services.dedup.replicated import ReplicatedSeen
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.dedup.service import Dedup
from gossamer.services.fetcher.outcome import (
    Failure,
    Reply,
    accept_types,
    count_visit,
    failed_result,
    make_events,
)
from gossamer.services.fetcher.steps import (
    Conversation,
    Delay,
    Emit,
    Fetch,
    Keep,
    ReadKept,
    StepResult,
    VisitLimits,
)
from gossamer.services.fetcher.visit import converse, refusal
from gossamer.services.frontier.service import Frontier
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.services.parser.options import Options
from gossamer.settings import ArchiveSettings, DedupSettings, FrontierSettings, Settings
from gossamer.settings.sections import DOCUMENTS
from gossamer.sqlite import Database
from gossamer.store import R, lifetime_of
from gossamer.store.claims import ClaimRow
from gossamer.store.sqlite import SqliteStore
from gossamer.web.http import Headers
from gossamer.web.url import host_key, host_name
from gossamer.web.usage import policy_of
from tests.flow.torn import Died, Fate, TornLog, TornStore
from tests.support.conditional import answer_conditionally
from tests.support.inline_parser import InlineParser
from tests.support.memory_disk import MemoryDisk

START = 1_700_000_000.0
VISIT_LIMIT = 60.0
HTML: Headers = (("Content-Type", "text/html; charset=utf-8"),)

Web = Callable[[str, float], tuple[float, Reply | Failure]]
"""URL and time → seconds until the answer, and the answer, without its times."""


def html_page(body: str | bytes, status: int = 200, *headers: tuple[str, str]) -> Reply:
    """Return a document of HTML with further *headers*."""
    content = body.encode() if isinstance(body, str) else body
    return Reply(status=status, headers=(*HTML, *headers), body=content)


E = TypeVar("E", bound=Event)


def gaps_between(requests: Iterable[tuple[float, float, str]]) -> list[float]:
    """Return the seconds from the end of each request to the next one to its host name."""
    ends, found = dict[str, float](), list[float]()
    for start, end, url in sorted(requests):
        if (name := host_name(url)) in ends:
            found.append(start - ends[name])
        ends[name] = end
    return found


class VirtualFetcher(Processor):
    """Runs the fetcher's real conversations over a web that is a function."""

    name = "fetcher"
    reads = (VISITS_ORDERED,)
    has_other_engine = True  # The real one writes no checkpoints.

    def __init__(
        self,
        web: Web,
        epoch_of: Callable[[str], int],
        requests: list[tuple[float, float, str]],
        kept: dict[str, PageFetched] | None,
    ):
        self._web, self._epoch_of, self._requests = web, epoch_of, requests
        self._kept = kept
        """The captures for other crawls by the names of their blobs; None to keep none."""
        self._blocklist = Blocklist()
        self.sent: list[tuple[str, Headers]] = []
        """The headers of each request, without those that every request has. The last ones are of
        the request that the web answers."""
        self._terms = VisitLimits(
            product="gossamer",
            accepts=accept_types(DOCUMENTS),
            visit_limit=VISIT_LIMIT,
            body_limit=1 << 20,
            body_limits={},
            sitemap_limit=1 << 20,
            robots_limit=1 << 19,
            robots_age=86400.0,
            robots_age_floor=3600.0,
            requisite_limit=1 << 20,
            cookies=10,
            cookie_size=1024,
            blocklist=self._blocklist,
        )
        self._conversations: list[
            tuple[float, int, str, Conversation[None], Reply | Failure | None]
        ] = []
        self._count, self._paused, self._are_all_paused = 0, dict[str, bool](), False
        self._accepted: list[HostCheckedOut] = []
        self._orders: list[HostCheckedOut] = []

    def handle(self, event: Event, now: float) -> Iterator[Event]:
        """Accept an order, or apply an event of the control topic."""
        if isinstance(event, BlocklistChanged):
            self._blocklist.change(event)
        if isinstance(event, SpeedSet):
            self._terms.speeds.change(event)
        if isinstance(event, SiteOverridden):
            self._terms.overridden[event.site] = event.at
        if isinstance(event, FleetPaused):
            self._are_all_paused = event.paused
        if isinstance(event, CrawlDefined):
            self._paused[event.crawl] = event.paused
            self._terms.usage[event.crawl] = policy_of(event)
        if isinstance(event, HostCheckedOut):
            self._accepted.append(event)
        yield from ()

    def _is_paused(self, crawl: str) -> bool:
        return self._are_all_paused or self._paused.get(crawl, False)

    def settle(self) -> None:
        """Start accepted orders after their offsets are committed."""
        self._orders += self._accepted
        self._accepted.clear()

    def _begin(self, order: HostCheckedOut, now: float) -> Iterator[Event]:
        if why := refusal(order, self._epoch_of(order.site), now):
            left = Failure(outcome=Outcome.UNVISITED, reason=why)
            yield from make_events(order, 0, failed_result(left), True, now)
        else:
            yield from self._go_on(order.crawl, converse(order, self._terms, now), None, now)

    def due(self) -> float | None:
        """Return the time of the next end of a delay or next answer."""
        if self._orders:
            return 0.0
        return self._conversations[0][0] if self._conversations else None

    def wake(self, now: float, most: int = 0) -> Iterator[Event]:
        """Continue the conversations whose delay is over or whose answer has arrived."""
        while self._orders:
            yield from self._begin(self._orders.pop(0), now)
        while self._conversations and self._conversations[0][0] <= now:
            _, _, crawl, conversation, answer = heappop(self._conversations)
            result = StepResult(now, self._is_paused(crawl), answer)
            yield from self._go_on(crawl, conversation, result, now)

    def _go_on(
        self, crawl: str, conversation: Conversation[None], result: StepResult | None, now: float
    ) -> Iterator[Event]:
        try:
            step = next(conversation) if result is None else conversation.send(result)
            while not isinstance(step, Delay | Fetch):
                result = StepResult(now, self._is_paused(crawl))
                match step:
                    case Emit(events=events):
                        yield from events
                        count_visit(next(e for e in events if isinstance(e, VisitEnded)))
                    case ReadKept(name=name):
                        result = replace(result, page=(self._kept or {}).get(name))
                    case Keep(page=page) if self._kept is not None:
                        name = f"shared/{page.crawl}/{page.visit.id}"
                        self._kept[name] = page
                        result = replace(result, kept=name)
                step = conversation.send(result)
        except StopIteration:
            return
        self._later(crawl, conversation, step, now)

    def _later(
        self, crawl: str, conversation: Conversation[None], step: Delay | Fetch, now: float
    ) -> None:
        at, answer = now, None
        if isinstance(step, Delay):
            at = now + step.seconds
        else:
            self.sent.append((step.url, step.headers))
            took, answer = self._web(step.url, now)
            if isinstance(answer, Reply):
                answer = replace(answer, started_at=now, took=took)
            at, answer = now + took, answer_conditionally(answer, step.headers)
            self._requests.append((now, at, step.url))
        self._count += 1
        heappush(self._conversations, (at, self._count, crawl, conversation, answer))


class VirtualCrawl:
    """A crawl on one database; `crash` loses everything outside of it.

    With a *fate* it is a fleet with one instance of each service: log and store have no common
    transaction and may crash at any write. With *partitions* it has that number of partitions, and
    a changelog for the URL-seen set.
    """

    def __init__(
        self, folder: Path, web: Web, fate: Fate | None = None, **settings: object
    ) -> None:
        self.fate, self.disk = fate, dict[Any, Any]()
        partitions: Any = settings.pop("partitions", None)
        self.has_changelog, self.seen = partitions is not None, MemoryDisk()
        self.folder, self.web = folder, web
        self.dedup: Any = settings.pop("dedup", DedupSettings())
        self.archived: Any = settings.pop("archive", ArchiveSettings())
        records_limit: Any = settings.pop("records_limit", 0)
        self.text: Any = settings.pop("text", "off")
        # Most tests count the requests to hosts without sitemaps.
        self.usual_sitemaps = str(settings.pop("usual_sitemaps", "never"))
        self.kept: dict[str, PageFetched] | None = {} if settings.pop("keeps", False) else None
        """The captures that crawls share; None if they share none."""
        self.settings = FrontierSettings(**{"probe_after": 0, **settings})  # type: ignore[arg-type]
        self.now = START
        self.requests: list[tuple[float, float, str]] = []
        """Start, end and URL of every request."""
        self.database = Database(":memory:")
        self.log = TornLog(self.database) if fate else SqliteLog(self.database, records_limit)
        if fate and isinstance(self.log, TornLog):
            self.log.fate = fate
        self.log.partitions = partitions or PARTITIONS
        self.start()

    def start(self) -> None:
        """Start every service on the database."""
        stores = [self._store() for _ in range(5)]
        claims = self._store().table(ClaimRow)
        partitions = self.log.partitions
        rows = [claims.get(str(number)) for number in range(partitions)]
        void_through = max((row.epoch for row in rows if row), default=0)

        def claimed_epoch(site: str) -> int:
            claim = claims.get(str(partition_of(site, partitions)))
            return claim.epoch if claim else 0

        epoch_of = claimed_epoch if self.fate else lambda site: void_through + 1
        self.archive = Archive(self.folder, stores[1], self.archived, "me@example.org", "gossamer")
        self.fetcher = VirtualFetcher(self.web, epoch_of, self.requests, self.kept)
        seen = (
            ReplicatedSeen(self.log, self.seen, lambda: self.now)
            if self.has_changelog
            else SeenTable(stores[0])
        )
        services: list[Processor] = [
            Dedup(seen, stores[0], self.dedup, archive=self.archived, tests_links=True),
            self.archive,
            Frontier(
                self.settings,
                stores[2],
                VISIT_LIMIT,
                partitions,
                alone=not self.fate,
                usual_sitemaps=self.usual_sitemaps,
            ),
            self.fetcher,
            InlineParser(
                Options(
                    "gossamer",
                    text=self.text,
                    simhash_words=50,
                    decoded_limit=2 << 20,
                    pdf_limit=20 << 20,
                    sitemap_limit=50 << 20,
                    ratio_limit=1000,
                    links_limit=10_000,
                    links_bytes=2 << 20,
                    entries_limit=50_000,
                    requisites=self.archived.requisites != "off",
                    all_candidates=self.archived.srcset == "all",
                )
            ),
        ]
        self.services = services
        self.runners = [
            # Steps take no virtual time: the real time would decide how many records one handles.
            sequential_loop(service, self.log, store, lambda: self.now, limit=inf)
            for service, store in zip(services, stores, strict=True)
        ]

    def _store(self) -> Any:
        if self.fate:
            return TornStore(self.disk, self.fate)
        given = Settings(frontier=self.settings, dedup=self.dedup, archive=self.archived)
        return SqliteStore(self.database, partial(lifetime_of, settings=given))

    def crash(self) -> None:
        """Crash, and start again. Requests in flight are aborted."""
        done = [request for request in self.requests if request[0] <= self.now]
        self.requests[:] = [(start, min(end, self.now), url) for start, end, url in done]
        if self.fate:
            self.fate.left = None
        self.start()

    def load(self, other: "VirtualCrawl") -> None:
        """Start every service again, with the rows, records and files of *other*, a fleet."""
        self.archive.release()
        copytree(other.folder, self.folder, dirs_exist_ok=True)
        other.database._db.backup(self.database._db)
        self.disk |= {key: dict(rows) for key, rows in other.disk.items()}
        self.now, self.kept = other.now, other.kept
        self.start()

    def define(self, *urls: str, **crawl: object) -> None:
        """Define a crawl and add its seeds; by default the crawl `default`."""
        fields = {"at": self.now, "scope": "any()", "max_depth": 16, **crawl}
        definition = CrawlDefined(**fields)  # type: ignore[arg-type]
        seeds = [SeedAdded(crawl=definition.crawl, url=url) for url in urls]
        events: list[Event] = [definition, *seeds]
        self.log.append([encode(event) for event in events])

    def run(self, steps: int = 1_000_000, until: float = float("inf")) -> bool:
        """Run steps, and advance the time when nothing is to do; return whether all is done.

        Work that is due after *until* is left.
        """
        idle = dict[Loop, tuple[object, float | None]]()
        """The loops whose last step had nothing to do: the log then, and when they are due."""

        def step(runner: Loop) -> bool:
            log = self.database.newer_version(None)
            if runner in idle:
                known, due = idle[runner]
                if known == log and (due is None or due > self.now):
                    return False
            if runner.step():
                idle.pop(runner, None)
                return True
            idle[runner] = log, runner.due()
            return False

        for _ in range(steps):
            if any([step(runner) for runner in self.runners]):
                continue
            dues = [due for _, due in idle.values() if due is not None]
            if not dues:
                return True
            if min(dues) > until:
                self.now = max(self.now, until)
                return False
            self.now = max(self.now, min(dues))
        return False

    def die(self, *deaths: int, seconds: float = inf) -> None:
        """Run a fleet for *seconds* once for each number of *deaths*. It crashes after this number
        of writes, or at the end."""
        assert self.fate
        for writes in deaths:
            self.fate.left = writes
            with suppress(Died):
                self.run(until=self.now + seconds)
            self.crash()

    def requested(self) -> list[str]:
        """Return the requested URLs in their order, without robots.txt."""
        return [url for _, _, url in self.requests if not url.endswith("/robots.txt")]

    def gaps(self) -> list[float]:
        """Return the seconds from the end of each request to the next one to its host name."""
        return gaps_between(self.requests)

    def rows(self, kind: type[R]) -> list[R]:
        """Return all rows of a table."""
        return [*self._store().table(kind).everything()]

    def url_row(self, url: str, crawl: str = DEFAULT_CRAWL) -> UrlRow | None:
        """Return the row of the last outcome of *url*."""
        row: UrlRow | None = self._store().table(UrlRow).get((crawl, host_key(url)), url)
        return row

    def records(self, topic: str) -> list[Record]:
        """Return all records of a topic."""
        tail, found = self.log.tail([topic]), list[Record]()
        while some := tail.poll(0):
            found += some
        return found

    def events(self, topic: str, kind: type[E]) -> list[E]:
        """Return the events of one kind in a topic."""
        decoded = (decode(record) for record in self.records(topic) if record.value)
        return [event for event in decoded if isinstance(event, kind)]

    def published(self) -> set[str]:
        """Return the URLs whose last record on `pages` is a document."""
        newest = {split_key(one.key)[1]: one.value for one in self.records(PAGES.name)}
        return {url for url, value in newest.items() if value}

    def lag(self) -> int:
        """Return the number of records that services have not consumed."""
        return sum(
            self.log.lag(reader, topic.name)
            for topic in TOPICS.values()
            if topic.retention is Retention.UNTIL_CONSUMED
            for reader in topic.consumers
        )
