"""A crawl of a generated web by the real frontier and dedup, in virtual time. For `bench.worth`.

The web answers orders with the events of a fetcher and a parser. There are no sockets and no HTML.
The time is rounded up to whole seconds, so that one step has the work of many hosts.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from typing import NamedTuple
from zlib import crc32

from bench.worth_webs import LinkedWeb, WebPage
from gossamer.events import (
    Event,
    HostCheckedOut,
    Outcome,
    PageKind,
    PageParsed,
    Purpose,
    Speed,
    SpeedSet,
    VisitEnded,
)
from gossamer.events.pages import Link
from gossamer.events.topics import VISITS_ORDERED
from gossamer.log import MAX_POLL_RECORDS
from gossamer.log.codec import encode
from gossamer.runtime.loop import Loop
from gossamer.runtime.processor import Processor
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.dedup.service import Dedup
from gossamer.services.frontier.service import Frontier
from gossamer.store.sqlite import SqliteStore
from gossamer.web.robots import RobotsRules
from tests.flow.virtual import VISIT_LIMIT, VirtualCrawl

TICK = 1.0
"""Minimum number of seconds by which the time advances."""
TOOK = 0.1
"""Seconds of each visit."""
SIMHASH_WORDS = 50
"""Texts with fewer words have no simhash, as by the setting `parser.simhash_words`."""


class Request(NamedTuple):
    """One request to the web."""

    url: str
    purpose: Purpose
    is_new: bool
    """Whether it is the first visit to a useful text."""


class WebServers(Processor):
    """Answers orders with the pages of *web*, as fetcher and parser would."""

    name = "fetcher"
    reads = (VISITS_ORDERED,)

    def __init__(self, web: LinkedWeb) -> None:
        self._web = web
        self.requests: list[Request] = []
        """All requests, in order."""
        self._texts: set[str] = set()
        self._visits: list[tuple[float, int, HostCheckedOut, int]] = []
        self._count = 0

    def handle(self, event: Event, now: float) -> Iterator[Event]:
        """Schedule the visits of an order, with the pauses between them."""
        if isinstance(event, HostCheckedOut):
            at = now
            for index in range(len(event.visits)):
                self._count += 1
                heappush(self._visits, (at + TOOK, self._count, event, index))
                at += TOOK + max(event.pause, event.pause_factor * TOOK)
        return iter(())

    def due(self) -> float | None:
        """Return when the next visit ends."""
        return self._visits[0][0] if self._visits else None

    def wake(self, now: float, most: int = MAX_POLL_RECORDS) -> Iterator[Event]:
        """Yield the outcomes and pages of the visits that have ended."""
        while self._visits and self._visits[0][0] <= now:
            at, _, order, index = heappop(self._visits)
            yield from self._answer(order, index, at)

    def _answer(self, order: HostCheckedOut, index: int, at: float) -> Iterator[Event]:
        visit = order.visits[index]
        is_page = visit.purpose is Purpose.PAGE
        page = self._web.page(visit.url) if is_page else None
        is_new = page is not None and page.useful and page.text not in self._texts
        if page and page.useful:
            self._texts.add(page.text)
        self.requests.append(Request(visit.url, visit.purpose, is_new))
        is_robots = visit.purpose is Purpose.ROBOTS
        rules = RobotsRules(fetched_at=at, expires_at=at + 1e7) if is_robots else None
        yield VisitEnded(
            at=at, site=order.site, host=order.host, order=order.order, epoch=order.epoch,
            index=index, last=index == len(order.visits) - 1, visit=visit,
            outcome=Outcome.PAGE, status=200, started_at=at - TOOK, took=TOOK,
            received=7 * page.words if page else 100, robots=rules,
        )  # fmt: skip
        if page:
            yield parsed(order, index, page, at)


def parsed(order: HostCheckedOut, index: int, page: WebPage, at: float) -> PageParsed:
    """Return *page* as the parser's event. A near duplicate differs in one bit of its simhash."""
    name = page.text if not page.variation else f"{page.text} {page.variation}"
    simhash = Random(page.text).getrandbits(64) ^ (
        1 << page.variation % 64 if page.variation else 0
    )
    return PageParsed(
        at=at,
        site=order.site,
        host=order.host,
        visit=order.visits[index],
        fetched_at=at - TOOK,
        status=200,
        kind=PageKind.DOCUMENT,
        content_type="text/html",
        digest=f"{crc32(name.encode()):08x}{name}",
        simhash=f"{simhash:016x}" if page.words >= SIMHASH_WORDS else "",
        size=7 * page.words + 500,
        text=page.body,
        text_kind="main",
        language="en",
        links=tuple(Link(url=url, position=position) for url, position in page.links),
    )


class WorthCrawl(VirtualCrawl):
    """A crawl of a generated web. *speed*: visits a second of the whole crawl."""

    def __init__(self, folder: Path, web: LinkedWeb, speed: float, **settings: object) -> None:
        self._linked_web, self._speed = web, speed
        super().__init__(folder, lambda url, now: (0.0, None), **settings)  # type: ignore[arg-type, return-value]

    def start(self) -> None:
        """Start frontier, dedup and the web on the database."""
        stores = [SqliteStore(self.database) for _ in range(3)]
        self.servers = WebServers(self._linked_web)
        services: list[Processor] = [
            Dedup(SeenTable(stores[0]), stores[0], self.dedup),
            Frontier(self.settings, stores[1], VISIT_LIMIT, self.log.partitions, alone=True),
            self.servers,
        ]
        self.services = services
        self.runners: list[Loop] = [
            sequential_loop(service, self.log, store, lambda: self.now)
            for service, store in zip(services, stores, strict=True)
        ]

    def begin(self, **crawl: object) -> None:
        """Define the crawl, with its speed and seeds."""
        speeds = (Speed(when="", pages=self._speed),)
        self.log.append([encode(SpeedSet(at=self.now, speeds=speeds))])
        self.define(*self._linked_web.seeds, **{"max_depth": 100, **crawl})

    def request(self, limit: int) -> bool:
        """Run until there were *limit* requests; return whether the crawl ended before."""
        while len(self.servers.requests) < limit:
            if any([runner.step() for runner in self.runners]):
                continue
            dues = [due for runner in self.runners if (due := runner.due()) is not None]
            if not dues:
                return True
            self.now = max(self.now + TICK, min(dues))
        return False
