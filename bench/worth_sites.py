"""Memory of a frontier by the number of sites, and of the counters of worth alone. For `bench.worth
memory` and `bench.worth counters`."""

import resource
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gossamer.events import (
    CrawlDefined,
    Event,
    HostCheckedOut,
    Outcome,
    PageDeduplicated,
    Purpose,
    UrlsAdmitted,
    Verdict,
    Visit,
    VisitEnded,
)
from gossamer.events.records import Discovery
from gossamer.events.topics import VISITS_ORDERED
from gossamer.log.codec import encode
from gossamer.log.sqlite import PARTITIONS, SqliteLog
from gossamer.runtime.processor import Processor
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.frontier.partition.parts import Parts
from gossamer.services.frontier.partition.workbench import FrontierCaches
from gossamer.services.frontier.service import Frontier
from gossamer.services.frontier.worth.worth import pack_worth
from gossamer.settings import FrontierSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.robots import RobotsRules
from gossamer.web.url import Site

STORED_TOGETHER = 1000
"""Sites whose rows are written together."""
SITES_PER_ROUND = 5000
"""Sites that are admitted and visited together."""


class SiteServers(Processor):
    """Answers each order at once: the outcomes, and the verdicts that the pages are new."""

    name = "fetcher"
    reads = (VISITS_ORDERED,)

    def __init__(self) -> None:
        self.pages = 0

    def handle(self, event: Event, now: float) -> Iterator[Event]:
        """Yield the outcomes of an order and the verdicts."""
        if not isinstance(event, HostCheckedOut):
            return
        for index, visit in enumerate(event.visits):
            is_robots = visit.purpose is Purpose.ROBOTS
            yield VisitEnded(
                at=now, site=event.site, host=event.host, order=event.order, epoch=event.epoch,
                index=index, last=index == len(event.visits) - 1, visit=visit,
                outcome=Outcome.PAGE, status=200, started_at=now, took=0.1, received=20_000,
                robots=RobotsRules(fetched_at=now, expires_at=now + 1e7) if is_robots else None,
            )  # fmt: skip
            if visit.purpose is Purpose.PAGE:
                self.pages += 1
                yield PageDeduplicated(
                    at=now, site=event.site, host=event.host, visit=visit,
                    verdict=Verdict.FIRST, digest=visit.id, links=3, size=20_000,
                    fetched_at=now, status=200,
                )  # fmt: skip


def memory_by_sites(sites: int, pages: int, loaded: int) -> Iterator[tuple[int, float, int]]:
    """Visit *pages* pages of each of *sites* sites; yield sites, MiB of this process, and bytes of
    the database after every tenth of them.

    *loaded*: the limit of hosts in memory.
    """
    with tempfile.TemporaryDirectory() as folder:
        database = Database(Path(folder) / "gossamer.db")
        log, store, now, servers = SqliteLog(database), SqliteStore(database), 1.7e9, SiteServers()
        settings = FrontierSettings(delay=0.1, loaded_limit=loaded, probe_after=0)
        frontier = Frontier(settings, store, 60.0, PARTITIONS, alone=True)
        loops = [
            sequential_loop(frontier, log, store, lambda: now),
            sequential_loop(servers, log, SqliteStore(database), lambda: now),
        ]
        log.append([encode(CrawlDefined(at=0.0, scope="any()", max_depth=16))])
        for first in range(0, sites, SITES_PER_ROUND):
            last = min(first + SITES_PER_ROUND, sites)
            log.append([encode(_admission(n, pages, now)) for n in range(first, last)])
            while servers.pages < last * pages:
                if not any([loop.step() for loop in loops]):
                    dues = [due for loop in loops if (due := loop.due()) is not None]
                    now = max(now, min(dues))
            if last % max(SITES_PER_ROUND, sites // 10) == 0 or last == sites:
                size = sum(file.stat().st_size for file in Path(folder).iterdir())
                yield last, resident_mib(), size


def _admission(site: int, pages: int, now: float) -> UrlsAdmitted:
    name = f"site{site}.example"
    urls = tuple(Discovery(f"http://{name}/folder{n % 7}/{n}", depth=2) for n in range(pages))
    return UrlsAdmitted(at=now, site=Site(name), via=f"1.1.0@http://from{site}.example/", urls=urls)


def counters_by_sites(sites: int, visits: int) -> Iterator[tuple[int, float, int]]:
    """Count *visits* visits to each of *sites* sites, each visit in a part of its own; yield the
    sites, the MiB of this process, and the bytes of a site in the store, after every tenth of the
    sites."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Database(Path(folder) / "gossamer.db"))
        caches = FrontierCaches().open_partition()
        parts = Parts("crawl", store, caches, lambda *_: None, lambda *_: None)
        for n in range(sites):
            site = f"site{n}.example"
            for number in range(visits):
                visit = Visit("1.1.0", f"http://{site}/folder{number}/list?page={number}")
                parts.record_visit(Site(site), visit, 1.0, 20_000, 1.7e9)
            if n % STORED_TOGETHER == 0:
                store.flush()
            if (n + 1) % max(1, sites // 10) == 0:
                yield n + 1, resident_mib(), len(pack_worth(parts.worth(Site(site))))


def resident_mib() -> float:
    """Return the resident memory of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20
