"""URLs are parked in buckets until what withholds them admits them: no crash loses one. Links
outside the scope are parked until the scope becomes wider."""

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.events import BlocklistChanged, Discovery, LinksParked, UrlsDiscovered
from gossamer.services.frontier.partition.parked import (
    BUCKET_ROWS,
    ParkedLimitRow,
    ParkedLog,
    ParkedRow,
)
from gossamer.services.frontier.tables.bucketed_log import BucketEnds
from gossamer.store.sqlite import SqliteTable
from gossamer.web.url import Site
from tests.flow.torn import Died, Disk, Fate, TornStore
from tests.frontier.simulation import Simulation, crawl

NAMES = ("a limit", "a.test a part")
STEPS = st.tuples(
    st.sampled_from(["add", "take", "take", "erase"]),
    st.sampled_from(NAMES),
    st.integers(1, BUCKET_ROWS + 20),
    st.integers(0, 120),
)
"""A change, what withholds the URLs, a number, and the writes before a crash, at most all."""


class ParkedModel:
    """Parked URLs in a store that a crash may tear, and those that must be found there."""

    def __init__(self, seed: int) -> None:
        self.disk, self.fate, self.number, self.has_died = Disk(), Fate(seed), 0, False
        self.taken = dict[str, int]()
        """Name → the bucket that was taken and not dropped yet."""
        self.kept = {name: Counter[str]() for name in NAMES}
        self.count = Counter[str]()
        """Name → its parked URLs, as the returned numbers say."""
        self.open()

    def open(self) -> None:
        """Begin as a new process."""
        self.store = TornStore(self.disk, self.fate)
        rows, limits = self.store.table(ParkedRow), self.store.table(ParkedLimitRow)
        self.logs = {name: ParkedLog(rows, name, "c") for name in NAMES}
        self.ends = dict.fromkeys(NAMES, BucketEnds())
        self.ends |= {row.name: row.ends for row in limits.scan(("c", "0"))}
        self.taken.clear()

    def found(self, name: str) -> Counter[str]:
        """Return the parked URLs of *name*."""
        rows = self.logs[name].rows(self.ends[name].head, self.ends[name].tail)
        return Counter(url.url for row in rows for url in row.urls)

    def step(self, kind: str, name: str, number: int, left: int | None) -> None:
        """Make one step, which a crash ends after *left* writes, or before its messages. Its record
        is not committed then, and comes again; a bucket is taken again some time."""
        changes: dict[str, Callable[[str, int], None]] = {
            "add": self.add,
            "take": self.take,
            "erase": self.erase,
        }
        kept = {one: Counter(urls) for one, urls in self.kept.items()}
        changes[kind](name, number)
        for one, ends in self.ends.items():
            self.store.table(ParkedLimitRow).put(ParkedLimitRow("c", "0", one, ends))
        self.fate.left = left
        try:
            self.store.flush()
            if left is not None:
                raise Died
        except Died:
            self.has_died, self.kept, self.fate.left = True, kept, None
            self.open()
            if kind != "take":
                self.step(kind, name, number, None)
        self.fate.left = None
        for one in NAMES:
            assert self.found(one).keys() >= self.kept[one].keys()
            if not (self.has_died or one in self.taken):
                assert self.found(one) == self.kept[one]
                assert self.count[one] == self.kept[one].total()

    def add(self, name: str, number: int) -> None:
        """Park *number* URLs."""
        for _ in range(number):
            self.park(name, f"http://{self.number % 7}.test/{self.number}")
            self.number += 1

    def park(self, name: str, url: str) -> None:
        self.ends[name] = self.logs[name].add(self.ends[name], "a visit", (Discovery(url),))
        self.count[name] += 1
        self.kept[name][url] += 1

    def take(self, name: str, number: int) -> None:
        """Take a bucket: some URLs stay, others are withheld by something else, the others go."""
        log = self.logs[name]
        ends, dropped = log.drop_taken(self.ends[name])
        self.ends[name], self.count[name] = ends, self.count[name] - dropped
        if (taken := self.taken.pop(name, None)) is not None:
            assert not log.page(taken) and ends.head != taken
            return
        bucket = self.taken[name] = ends.head + number % (ends.tail - ends.head + 1)
        rows = log.page(bucket)
        self.ends[name] = log.take(ends, bucket, rows)
        for url in [found.url for row in rows for found in row.urls]:
            self.kept[name] -= Counter([url])
            if (kind := (int(url.rpartition("/")[2]) + number) % 3) < 2:
                self.park(name if kind else NAMES[0], url)

    def erase(self, name: str, number: int) -> None:
        """Erase the URLs of a host, of which nothing is left."""
        host = f"http://{number % 7}.test"
        for one in NAMES:
            self.count[one] -= self.logs[one].erase(self.ends[one], host)
            assert not any(url.startswith(host) for url in self.found(one))
            for url in [url for url in self.kept[one] if url.startswith(host)]:
                del self.kept[one][url]


@pytest.mark.parametrize("crashes", [False, True])
def test_no_parked_url_is_lost(crashes: bool) -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(STEPS, min_size=8, max_size=25), st.integers(0, 1 << 16))
    # URLs of a bucket that was taken and not dropped yet are erased.
    @example([(kind, NAMES[1], 8, 80) for kind in ("add", "take", "erase", "take")], 0)
    def check(steps: list[tuple[str, str, int, int]], seed: int) -> None:
        model = ParkedModel(seed)
        for kind, name, number, left in steps:
            model.step(kind, name, number, left if crashes and left < 60 else None)

    check()


def test_wider_scope_releases_parked_links_of_all_buckets() -> None:
    sim = Simulation()
    sim.handle(crawl(scope="host('a.test')"))
    links = [f"http://b.test/{n}" for n in range(2 * BUCKET_ROWS + 10)]
    park(sim, *links)
    sim.handle(crawl(scope="any()"))
    assert sorted(released_urls(sim)) == sorted(links)


def test_lifted_rule_reads_only_urls_parked_by_it(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    sim = Simulation()
    sim.handle(crawl(scope="host('a.test')"))
    park(sim, *(f"http://outside.test/{n}" for n in range(3 * BUCKET_ROWS)))
    rules = ("a.test/x/*", "a.test/y/*")
    for rule in rules:
        sim.handle(BlocklistChanged(at=sim.now, rule=rule))
    park(sim, *(f"http://a.test/{part}/{n}" for part in "xy" for n in range(BUCKET_ROWS)))
    scans, scan = list[str](), SqliteTable.scan

    def scan_and_record(table, partition, *more):  # type: ignore[no-untyped-def]
        if table.row is ParkedRow:
            scans.append(partition[1])
        return scan(table, partition, *more)

    monkeypatch.setattr(SqliteTable, "scan", scan_and_record)
    sim.handle(BlocklistChanged(at=sim.now, rule=rules[0], lifted=True))
    assert sorted(released_urls(sim)) == sorted(f"http://a.test/x/{n}" for n in range(BUCKET_ROWS))
    assert scans
    assert all(rules[0] in partition for partition in scans)


def test_url_excluded_by_two_limits_waits_for_both() -> None:
    sim = Simulation()
    sim.handle(crawl(scope="host('a.test')"))
    url = "http://b.test/x"
    sim.handle(BlocklistChanged(at=sim.now, rule="b.test"))
    park(sim, url)
    sim.handle(BlocklistChanged(at=sim.now, rule="b.test", lifted=True))
    assert released_urls(sim) == []
    sim.start()
    sim.handle(crawl(scope="any()"))
    assert released_urls(sim) == [url]


def park(sim: Simulation, *urls: str) -> None:
    """Park *urls*, each discovered by a visit of its own."""
    for url in urls:
        found = (Discovery(url, 1),)
        event = LinksParked(at=sim.now, site=Site("a.test"), via=f"visit of {url}", urls=found)
        assert [*sim.frontier.handle(event, sim.now)] == []


def released_urls(sim: Simulation) -> list[str]:
    """Return the URLs that the frontier has sent to the URL-seen test."""
    found = list[str]()
    while (due := sim.frontier.due()) is not None and due <= sim.now:
        for event in sim.frontier.wake(sim.now):
            if isinstance(event, UrlsDiscovered):
                found += [link.url for link in event.urls]
        sim.frontier.settle()
        sim.store.flush()
    return found
