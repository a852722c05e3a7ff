"""A dedup that takes a partition over serves its other partitions meanwhile."""

from collections.abc import Sequence

import pytest

from gossamer.events import DEFAULT_CRAWL, Discovery, Link, UrlsAdmitted, UrlsDiscovered
from gossamer.events.topics import PAGES_DEDUPLICATED, URLS_ADMITTED
from gossamer.log import partition_of
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.dedup.replicated import Disk, ReplicatedSeen
from gossamer.services.dedup.service import Dedup
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import Site, fingerprint
from tests.runtime.processors import events
from tests.support.memory_disk import MemoryDisk
from tests.support.metrics import metric
from tests.support.partial_member import PartialMember

from .test_documents import Seen, parsed_page

A, B = 0, 1
SITES = [Site(f"site{number}.example") for number in range(50)]
IN_A, IN_B = (
    next(site for site in SITES if partition_of(site, SqliteLog.partitions) == number)
    for number in (A, B)
)
CHANGELOG = 3000
"""Records in the changelog of partition B, which several polls read."""


class Clock:
    """Time that passes with each call."""

    now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


class Member:
    """A dedup with the partitions *numbers*, on the log and the store of all members."""

    def __init__(
        self, log: SqliteLog, store: SqliteStore, disk: Disk, numbers: frozenset[int]
    ) -> None:
        self.log, clock = PartialMember(log, numbers), Clock()
        self.seen = ReplicatedSeen(self.log, disk, clock)
        dedup = Dedup(self.seen, store, DedupSettings(), tests_links=True)
        self.loop = sequential_loop(dedup, self.log, store, clock)

    @property
    def is_waiting(self) -> bool:
        return bool(self.seen.note())

    def finish(self) -> None:
        while self.loop.step():
            pass


@pytest.fixture
def log() -> SqliteLog:
    return SqliteLog(Database(":memory:"))


@pytest.fixture
def store() -> SqliteStore:
    return SqliteStore(Database(":memory:"))


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


@pytest.fixture
def member(log: SqliteLog, store: SqliteStore, disk: MemoryDisk) -> Member:
    """Return a member with A, complete, beside a former owner of B with a large changelog."""
    former = ReplicatedSeen(log, MemoryDisk(), Clock())
    former.assign({B: 0})
    while former.restore():
        pass
    for number in range(CHANGELOG):
        known = [fingerprint(f"http://{IN_B}/known{number}")]
        former.test(DEFAULT_CRAWL, IN_B, known, f"{number:016x}")
    former.settle()
    member = Member(log, store, disk, frozenset({A}))
    member.finish()
    return member


def discover(log: SqliteLog, site: Site, *paths: str) -> None:
    """Append a discovery of each of *paths*, in their order."""
    for path in paths:
        urls = (Discovery(f"http://{site}/{path}"),)
        log.append([encode(UrlsDiscovered(at=1.0, site=site, via=f"1@{path}", urls=urls))])


def admitted(log: SqliteLog, site: Site) -> Sequence[str]:
    """Return the paths of *site* that were admitted, in their order."""
    found = [one for one in events(log, URLS_ADMITTED.name) if isinstance(one, UrlsAdmitted)]
    urls = [url.url for one in found if one.site == site for url in one.urls]
    return [url.removeprefix(f"http://{site}/") for url in urls]


def test_complete_partition_is_served_while_another_one_is_restored(
    log: SqliteLog, member: Member
) -> None:
    member.log.numbers = frozenset({A, B})
    discover(log, IN_B, "known7", "b1", f"known{CHANGELOG - 1}", "b2")
    served = list[str]()
    while member.is_waiting or not served:
        assert not admitted(log, IN_B)
        served.append(f"a{len(served)}")
        discover(log, IN_A, served[-1])
        member.loop.step()
        assert admitted(log, IN_A) == served
    assert len(served) > 1
    member.finish()
    assert admitted(log, IN_B) == ["b1", "b2"], "known URLs are not admitted again"
    assert not member.is_waiting


def test_links_to_a_site_that_is_restored_are_tested_afterwards(
    log: SqliteLog, member: Member
) -> None:
    links = (Link(f"http://{IN_B}/known{CHANGELOG - 1}"), Link(f"http://{IN_B}/b1"))
    page = parsed_page(f"http://{IN_A}/", Seen(200), 1.0, links=links)
    member.log.numbers = frozenset({A, B})
    member.loop.step()
    assert member.is_waiting
    log.append([encode(page)])
    member.loop.step()
    assert events(log, PAGES_DEDUPLICATED.name), "the page itself does not wait"
    assert not admitted(log, IN_B)
    member.finish()
    assert admitted(log, IN_B) == ["b1"]


def test_progress_of_a_takeover_is_visible(log: SqliteLog, member: Member) -> None:
    member.log.numbers = frozenset({A, B})
    member.loop.step()
    remaining, seconds = list[str](), list[float]()
    while member.is_waiting:
        remaining.append(member.seen.note())
        seconds.append(metric("gossamer_restoring_seconds"))
        assert metric("gossamer_restoring_partitions") == 1
        member.loop.step()
    assert remaining[0].endswith(f"records to go, about 1 min; waiting partitions: {B}")
    assert seconds[0] > seconds[-1] > 0
    assert metric("gossamer_restoring_partitions") == 0
    assert metric("gossamer_restoring_seconds") == 0


def test_partition_lost_during_its_takeover_is_taken_over_later(
    log: SqliteLog, member: Member
) -> None:
    member.log.numbers = frozenset({A, B})
    discover(log, IN_B, "known7", "b1")
    member.loop.step()
    assert member.is_waiting
    member.log.numbers = frozenset({A})
    discover(log, IN_A, "a1")
    member.finish()
    assert (admitted(log, IN_A), admitted(log, IN_B)) == (["a1"], [])
    assert not member.is_waiting
    assert metric("gossamer_restoring_partitions") == 0
    member.log.numbers = frozenset({A, B})
    member.finish()
    assert admitted(log, IN_B) == ["b1"]


def test_takeover_continues_after_a_crash(
    log: SqliteLog, store: SqliteStore, disk: MemoryDisk, member: Member
) -> None:
    member.log.numbers = frozenset({A, B})
    discover(log, IN_A, "a1")
    discover(log, IN_B, "known7", "b1")
    member.loop.step()
    assert member.is_waiting
    again = Member(log, store, disk, frozenset({A, B}))
    discover(log, IN_A, "a2")
    again.finish()
    assert (admitted(log, IN_A), admitted(log, IN_B)) == (["a1", "a2"], ["b1"])


def test_partition_lost_while_its_table_is_published_stops_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gossamer.services.dedup.replicated.EVENTS_PER_BATCH", 1)
    before, disk = SqliteLog(Database(":memory:")), MemoryDisk()
    first = ReplicatedSeen(before, disk, Clock())
    first.assign({A: 1, B: 1})
    while first.restore():
        pass
    for site in (IN_A, IN_B):
        for number in range(3):
            known = [fingerprint(f"http://{site}/known{number}")]
            first.test(DEFAULT_CRAWL, site, known, f"{number:016x}")
            first.settle()
    after, store = SqliteLog(Database(":memory:")), SqliteStore(Database(":memory:"))
    member = Member(after, store, disk, frozenset({A, B}))
    while "published" not in member.seen.note():
        member.loop.step()
    member.loop.step()
    for numbers in ({A}, {B}, {A, B}):
        member.log.numbers = frozenset(numbers)
        member.loop.step()
    discover(after, IN_A, "known2", "a1")
    discover(after, IN_B, "known2", "b1")
    member.finish()
    assert (admitted(after, IN_A), admitted(after, IN_B)) == (["a1"], ["b1"])
    other = Member(after, store, MemoryDisk(), frozenset({A, B}))
    discover(after, IN_B, "known0", "known1", "b2")
    other.finish()
    assert admitted(after, IN_B) == ["b1", "b2"], "the published table is complete"
