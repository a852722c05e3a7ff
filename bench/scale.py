"""Growth of a crawl in one folder: URLs admitted and visited a CPU second, memory and disk by size.

    .venv/bin/python -m bench.scale [--urls 1000000] [--hosts URLS/50] [--visits 50000] [--one-site]

Links to hosts of a heavy-tailed size distribution (the largest host has a tenth of all) go through
dedup and frontier as in a crawl in a folder, twenty links of a site at a time. Then a new frontier
opens the file, and its orders are answered at once: each page has a new text. Last, the free pages
of the file are counted, and the file is compacted. Only dedup and frontier are measured, in CPU
seconds of this process. Budgets are as large as the crawl, so that hosts may be large. With
`--one-site` all hosts are of one site; `--hosts 1` is one host.

*Known* are links from other sites to URLs that were admitted at any time. *Menu* are links within a
site to URLs that were tested just before. Bytes read and written are those of all calls, also if
the system's page cache answers them.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from random import Random
from typing import Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from msgspec.structs import replace

from gossamer.events import (
    CrawlDefined,
    Event,
    HostCheckedOut,
    Outcome,
    PageDeduplicated,
    Purpose,
    UrlsDiscovered,
    Verdict,
    VisitEnded,
)
from gossamer.events.records import Discovery
from gossamer.log.codec import decode, encode
from gossamer.log.sqlite import PARTITIONS, SqliteLog
from gossamer.runtime.loop import Loop
from gossamer.runtime.processor import Processor
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.dedup.service import Dedup
from gossamer.services.frontier.service import Frontier
from gossamer.settings import DedupSettings, FrontierSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.robots import RobotsRules
from gossamer.web.url import Site

LINKS_PER_EVENT = 20
"""Links of one page to one site."""
EVENTS_PER_APPEND = 200
"""Events that are appended to the log at once."""
KNOWN_EVENTS, MENU_EVENTS = 5000, 100
"""Events with links to known URLs that are tested at each row of the table, and how many of them
are tested again and again."""
URLS_PER_HOST = 50
MAX_IDLE_SECONDS = 100
"""Seconds of the crawl without an order after which all URLs are visited."""
SEED, TAIL = 1, 1.2
HUGE = 1 << 40
E = TypeVar("E", contravariant=True)
V = TypeVar("V")


class KnownLinks(NamedTuple):
    """Links to known URLs that dedup tests in a CPU second."""

    known: float
    """Of URLs that were admitted at any time."""
    read: float
    """Bytes of files that are read for one of the first."""
    menu: float | None = None
    """Of URLs that were tested just before; None if this is not measured."""


class Growing(Protocol[E]):
    """A set of URLs that grows."""

    cpu: float
    """CPU seconds that were spent on it."""

    @property
    def disk(self) -> int:
        """The bytes of its files."""

    def admit(self, events: Iterator[E], /) -> int:
        """Add the URLs of some *events*, or of all if few are left; return their number."""

    def test_known(self) -> KnownLinks:
        """Link once more to known URLs."""


class Crawl:
    """Dedup and frontier on one file."""

    def __init__(self, folder: Path, loaded: int) -> None:
        self.file = folder / "gossamer.db"
        self.database = Database(self.file)
        self.log = SqliteLog(self.database)
        self.now, self.loaded = time.time(), loaded
        self.cpu = 0.0
        self._sample = Sample[UrlsDiscovered](KNOWN_EVENTS)
        stores = [SqliteStore(self.database) for _ in range(2)]
        self.dedup = self._runner(
            Dedup(SeenTable(stores[0]), stores[0], DedupSettings()), stores[0]
        )
        with self.measure_cpu():
            self.frontier = self._frontier(stores[1])

    def _frontier(self, store: SqliteStore) -> Loop:
        settings = FrontierSettings(
            delay=0.0, url_budget=HUGE, host_budget=HUGE, loaded_limit=self.loaded, site_gap=0.0,
            site_at_once=1000,
        )  # fmt: skip
        frontier = Frontier(settings, store, 60.0, PARTITIONS, alone=True)
        return self._runner(frontier, store)

    def _runner(self, processor: Processor, store: SqliteStore) -> Loop:
        return sequential_loop(processor, self.log, store, lambda: self.now)

    @contextmanager
    def measure_cpu(self) -> Iterator[None]:
        """Count the CPU seconds of a block."""
        before = time.process_time()
        yield
        self.cpu += time.process_time() - before

    def admit(self, events: Iterator[UrlsDiscovered]) -> int:
        """Admit some links, or all if few are left; return their number."""
        some = [*islice(events, EVENTS_PER_APPEND)]
        self.log.append([encode(event) for event in some])
        self.now += 0.01 * len(some)
        with self.measure_cpu():
            while self.dedup.step():
                pass
            while self.frontier.step() and self.log.lag("frontier", "urls.admitted"):
                pass
        for event in some:
            self._sample.add(event)
        return sum(len(event.urls) for event in some)

    def test_known(self) -> KnownLinks:
        """Link once more to known URLs, from other sites; and again and again to some of them, from
        pages of their site."""
        events = [replace(event, via=_via(-1)) for event in self._sample.values]
        before, files = self.cpu, Files.now()
        links = self._test(events)
        spent, read = self.cpu - before, (Files.now().read - files.read) / links
        menus = [
            replace(event, via=f"1.0.0@{event.urls[0].url}") for event in events[-MENU_EVENTS:]
        ]
        self._test(menus)
        before = self.cpu
        again = self._test(menus * (KNOWN_EVENTS // MENU_EVENTS))
        return KnownLinks(links / spent, read, again / (self.cpu - before))

    def _test(self, events: list[UrlsDiscovered]) -> int:
        """Let dedup test the links of *events*, which are known; return their number."""
        self.log.append([encode(event) for event in events])
        self.now += 1.0
        with self.measure_cpu():
            while self.dedup.step():
                pass
        assert not self.log.lag("frontier", "urls.admitted"), "a known URL was admitted"
        return sum(len(event.urls) for event in events)

    @property
    def disk(self) -> int:
        """Return the bytes of the file and of its journal."""
        files = self.file.parent.glob("gossamer.db*")
        return sum(file.stat().st_size for file in files)


class LinkedPages(NamedTuple):
    """Pages of one host that a page of another site links to."""

    number: int
    """The number of the linking page."""
    host: int
    pages: range


def linked_pages(urls: int, hosts: int) -> Iterator[LinkedPages]:
    """Yield about *urls* pages of *hosts* hosts in random order, the pages of each in their
    order."""
    random = np.random.default_rng(SEED)
    weights = 1.0 / np.arange(1, hosts + 1) ** TAIL
    sizes = np.maximum(1, (urls * weights / weights.sum()).astype(np.int64))
    order = np.repeat(np.arange(hosts), -(-sizes // LINKS_PER_EVENT)).astype(np.int32)
    random.shuffle(order)
    done = np.zeros(hosts, dtype=np.int64)
    for n, number in enumerate(order.tolist()):
        first, last = int(done[number]), int(min(done[number] + LINKS_PER_EVENT, sizes[number]))
        done[number] = last
        yield LinkedPages(n, number, range(first, last))


def discovered_links(urls: int, hosts: int, one_site: bool) -> Iterator[UrlsDiscovered]:
    """Yield links to *hosts* hosts in random order, about *urls* in all."""
    for number, host, pages in linked_pages(urls, hosts):
        site = "site.example" if one_site else f"host{host}.example"
        yield _event(number, Site(site), f"host{host}.{site}" if one_site else site, pages)


def _event(number: int, site: Site, host: str, pages: range) -> UrlsDiscovered:
    found = tuple(Discovery(f"http://{host}/some/folder/page-{page}.html", 3) for page in pages)
    return UrlsDiscovered(at=0.0, site=site, via=_via(number), urls=found)


def _via(number: int) -> str:
    return f"1.{number}.0@http://from{number % 1000}.example/{number}"


class Sample(Generic[V]):
    """At most *size* of many values, each with the same chance to be in it."""

    def __init__(self, size: int) -> None:
        self.values = list[V]()
        self._size, self._seen, self._random = size, 0, Random(SEED)

    def add(self, value: V) -> None:
        """Add *value*, or skip it."""
        self._seen += 1
        if len(self.values) < self._size:
            self.values.append(value)
        elif (at := self._random.randrange(self._seen)) < self._size:
            self.values[at] = value


class Files(NamedTuple):
    """Bytes of files that this process has read and written, also those in the page cache."""

    read: int
    written: int

    @classmethod
    def now(cls) -> Self:
        """Return the bytes up to now."""
        lines = Path("/proc/self/io").read_text().splitlines()
        found = {name: int(value) for name, value in (line.split(": ") for line in lines)}
        return cls(found["rchar"], found["wchar"])


def show_growth(
    growing: Growing[E], events: Iterator[E], until: float, first_row: int, factor: float
) -> None:
    """Add URLs until there are *until*; print a table. The first row has *first_row* URLs. Each
    other row has at least *factor* times as many URLs as the row before."""
    print(
        f"{'URLs':>11} {'new/CPU s':>10} {'known/CPU s':>12} {'menu/CPU s':>11} {'MiB':>6} "
        f"{'on disk/URL':>12} {'read/URL':>9} {'written/URL':>12} {'read/known':>11}",
        flush=True,
    )
    total, mark, spent, files, more = 0, 0, growing.cpu, Files.now(), 1
    while total < until and more:
        more = growing.admit(events)
        total += more
        if more and total < min(until, max(mark + first_row, factor * mark)):
            continue
        new, rate, used = total - mark, (total - mark) / (growing.cpu - spent), Files.now()
        disk, links = growing.disk / total, growing.test_known()
        menu = "" if links.menu is None else f"{links.menu:,.0f}"
        print(
            f"{total:11,} {rate:10,.0f} {links.known:12,.0f} {menu:>11} {resident():6,.0f} "
            f"{disk:12,.1f} {(used.read - files.read) / new:9,.0f} "
            f"{(used.written - files.written) / new:12,.0f} {links.read:11,.0f}",
            flush=True,
        )
        mark, spent, files = total, growing.cpu, Files.now()


def visit(folder: Path, visits: int, loaded: int) -> Crawl:
    """Open the file with a new frontier; print the time to the first order, and the visit rate."""
    began = time.process_time()
    crawl = Crawl(folder, loaded)
    crawl.log.append([encode(CrawlDefined(at=0.0, scope="any()", max_depth=16))])
    orders = crawl.log.tail(["visits.ordered"])
    made = first = idle = 0
    while made < visits and idle < MAX_IDLE_SECONDS:
        crawl.now += 1.0
        with crawl.measure_cpu():
            crawl.frontier.step()
        given = [decode(record) for record in orders.poll(0.0, 100_000)]
        if given and not first:
            first = 1
            print(f"first order after {time.process_time() - began:.2f} CPU seconds", flush=True)
            spent = crawl.cpu
        ends = [end for order in given for end in _outcomes_of(order, crawl.now)]
        made += len(ends)
        idle = 0 if ends else idle + 1
        pages = [_verdict_on(end) for end in ends if end.visit.purpose is Purpose.PAGE]
        crawl.log.append([encode(event) for event in (*ends, *pages)])
    print(
        f"{made:,} visits ordered and ended: {made / (crawl.cpu - spent):,.0f} a CPU second, "
        f"{resident():,.0f} MiB, {crawl.disk / 2**20:,.0f} MiB on disk"
    )
    return crawl


def compact(crawl: Crawl) -> None:
    """Compact the file; print its free pages and the saving."""
    [(free,)], [(size,)] = (
        crawl.database.read(f"PRAGMA {name}", ()) for name in ("freelist_count", "page_size")
    )
    before, began = crawl.file.stat().st_size, time.process_time()
    crawl.database.read("VACUUM", ())
    crawl.database.read("PRAGMA wal_checkpoint(TRUNCATE)", ())
    print(
        f"{before / 2**20:,.0f} MiB of which {free * size / 2**20:,.0f} free; compacted "
        f"{crawl.disk / 2**20:,.0f}, in {time.process_time() - began:.1f} CPU seconds"
    )


def _outcomes_of(order: Event, now: float) -> Iterator[VisitEnded]:
    assert isinstance(order, HostCheckedOut)
    for index, visit in enumerate(order.visits):
        robots = visit.purpose is Purpose.ROBOTS
        rules = RobotsRules(fetched_at=now, expires_at=now + 1e6) if robots else None
        yield VisitEnded(
            at=now, site=order.site, host=order.host, order=order.order, epoch=order.epoch,
            index=index, last=index == len(order.visits) - 1, visit=visit,
            outcome=Outcome.PAGE, status=200, started_at=now, took=0.1, received=1000, robots=rules,
        )  # fmt: skip


def _verdict_on(end: VisitEnded) -> PageDeduplicated:
    return PageDeduplicated(
        at=end.at, site=end.site, host=end.host, visit=end.visit, verdict=Verdict.FIRST,
        digest=end.visit.id, score=1.0, fetched_at=end.started_at,
    )  # fmt: skip


def resident() -> float:
    """Return the MiB of memory of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def main() -> None:
    """Measure in a temporary folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--until", type=int, help="stop there; by default all are admitted")
    parser.add_argument("--hosts", type=int, help="by default one for every fifty URLs")
    parser.add_argument("--visits", type=int, default=50_000)
    parser.add_argument("--loaded", type=int, default=50_000)
    parser.add_argument("--one-site", action="store_true")
    parser.add_argument("--folder", help="on which disk")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        hosts = options.hosts or max(1, options.urls // URLS_PER_HOST)
        events = discovered_links(options.urls, hosts, options.one_site)
        crawl = Crawl(Path(folder), options.loaded)
        show_growth(crawl, events, options.until or options.urls, first_row=100_000, factor=1.5)
        if options.visits:
            compact(visit(Path(folder), options.visits, options.loaded))


if __name__ == "__main__":
    main()
