"""The URL-seen set on a disk with a changelog, which all instances read alike."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import Locked
from gossamer.events import DEFAULT_CRAWL, UrlsSeen
from gossamer.events.topics import URLS_SEEN
from gossamer.log import Message, partition_of
from gossamer.log.codec import decode
from gossamer.log.sqlite import SqliteLog
from gossamer.services.dedup.replicated import Disk, ReplicatedSeen
from gossamer.services.dedup.rocksdb import RocksDisk
from gossamer.services.dedup.seen import Finding, SeenMapping, SeenSet, SeenTable
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import Site, fingerprint
from tests.support.memory_disk import MemoryDisk

SITE, NOW = Site("example.org"), 1_700_000_000.0
FINDER, OTHER = "0" * 16, "f" * 16
NEW, REPEATED, SEEN = Finding
NUMBER = partition_of(SITE, SqliteLog.partitions)


def urls(*names: str) -> list[str]:
    return [fingerprint(f"http://{SITE}/{name}") for name in names]


def open_set(log: SqliteLog, disk: Disk, epoch: int = 1) -> ReplicatedSeen:
    seen = ReplicatedSeen(log, disk, lambda: NOW)
    seen.assign(dict.fromkeys(range(log.partitions), epoch))
    while seen.restore():
        pass
    return seen


def add(seen: SeenSet, *names: str, finder: str = FINDER) -> list[Finding]:
    findings = seen.test(DEFAULT_CRAWL, SITE, urls(*names), finder)
    seen.settle()
    return findings


def change_message(partition: int, value: bytes) -> Message:
    return Message(URLS_SEEN.name, SITE, value, SITE, partition=partition)


def changes(log: SqliteLog) -> list[UrlsSeen]:
    found = [decode(record) for record in log.tail([URLS_SEEN.name]).poll(0)]
    return [change for change in found if isinstance(change, UrlsSeen) and change.urls]


@pytest.fixture
def log() -> SqliteLog:
    return SqliteLog(Database(":memory:"))


@pytest.fixture(params=["memory", "rocksdb"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    made = MemoryDisk() if request.param == "memory" else RocksDisk(tmp_path)
    with closing(made):
        yield made


# All implementations of the set.

SETS: dict[str, Callable[[], SeenSet]] = {
    "a table of the store": lambda: SeenTable(SqliteStore(Database(":memory:"))),
    "a mapping, as Faust's": lambda: SeenMapping({}),
    "a disk with a changelog": lambda: open_set(SqliteLog(Database(":memory:")), MemoryDisk()),
}


@pytest.fixture(params=[*SETS.values()], ids=[*SETS])
def any_set(request: pytest.FixtureRequest) -> SeenSet:
    made: SeenSet = request.param()
    return made


def test_first_finder_never_changes(any_set: SeenSet) -> None:
    assert add(any_set, "a", "b") == [NEW, NEW]
    assert add(any_set, "a", "c", finder=OTHER) == [SEEN, NEW]
    assert add(any_set, "a", "b", "c") == [REPEATED, REPEATED, SEEN]


def test_url_without_finder_is_not_in_the_set(any_set: SeenSet) -> None:
    add(any_set, "a")
    assert any_set.contains(DEFAULT_CRAWL, SITE, *urls("a"))
    assert not any_set.contains(DEFAULT_CRAWL, SITE, *urls("b"))


def test_unsettled_url_is_in_the_set(any_set: SeenSet) -> None:
    any_set.test(DEFAULT_CRAWL, SITE, urls("a"), FINDER)
    assert any_set.test(DEFAULT_CRAWL, SITE, urls("a", "b"), OTHER) == [SEEN, NEW]
    assert any_set.contains(DEFAULT_CRAWL, SITE, *urls("a"))


def test_crawls_have_separate_sets(any_set: SeenSet) -> None:
    add(any_set, "a")
    assert not any_set.contains("second", SITE, *urls("a"))
    assert any_set.test("second", SITE, urls("a"), OTHER) == [NEW]
    any_set.settle()
    assert add(any_set, "a") == [REPEATED]
    assert any_set.test("second", SITE, urls("a"), OTHER) == [REPEATED]


def test_dropped_site_of_a_crawl_is_new_and_nothing_else_changes(any_set: SeenSet) -> None:
    add(any_set, "a", "b")
    any_set.test("second", SITE, urls("a"), FINDER)
    any_set.test(DEFAULT_CRAWL, Site("example.org.other"), urls("a"), FINDER)
    any_set.settle()
    if not any_set.drop(DEFAULT_CRAWL, SITE):
        pytest.skip("the set does not know the sites of its URLs")
    assert not any_set.contains(DEFAULT_CRAWL, SITE, *urls("a"))
    assert add(any_set, "a", finder=OTHER) == [NEW], "before the drop is settled"
    assert add(any_set, "a", "b") == [SEEN, NEW]
    assert any_set.contains("second", SITE, *urls("a"))
    assert any_set.contains(DEFAULT_CRAWL, Site("example.org.other"), *urls("a"))


# The changelog.


def test_dropped_site_is_dropped_by_the_next_owner(log: SqliteLog, disk: Disk) -> None:
    behind = MemoryDisk()
    seen = open_set(log, disk)
    add(seen, "a", "b")
    open_set(log, behind, 2)
    seen = open_set(log, disk, 3)
    add(seen, "c")
    seen.drop(DEFAULT_CRAWL, SITE)
    add(seen, "b", finder=OTHER)
    for number, next_disk in enumerate((disk, behind, MemoryDisk()), start=4):
        again = open_set(log, next_disk, number)
        assert add(again, "b", finder=OTHER) == [REPEATED]
        found = [again.contains(DEFAULT_CRAWL, SITE, *urls(name)) for name in "ac"]
        assert found == [False, False]


def test_discarded_drop_keeps_the_site(log: SqliteLog, disk: Disk) -> None:
    seen = open_set(log, disk)
    add(seen, "a")
    seen.drop(DEFAULT_CRAWL, SITE)
    seen.discard()
    assert add(seen, "a", finder=OTHER) == [SEEN]


def test_changelog_separates_crawls(log: SqliteLog, disk: Disk) -> None:
    seen = open_set(log, disk)
    add(seen, "a")
    seen.test("second", SITE, urls("b"), OTHER)
    seen.settle()
    assert [change.crawl for change in changes(log)] == [DEFAULT_CRAWL, "second"]
    for again in (open_set(log, disk, 2), open_set(log, MemoryDisk(), 3)):
        assert again.contains(DEFAULT_CRAWL, SITE, *urls("a"))
        assert again.contains("second", SITE, *urls("b"))
        assert not again.contains("second", SITE, *urls("a"))
        assert not again.contains(DEFAULT_CRAWL, SITE, *urls("b"))


def test_change_is_appended_once(log: SqliteLog, disk: Disk) -> None:
    seen = open_set(log, disk)
    add(seen, "a", "b")
    add(seen, "a", finder=OTHER)
    seen.settle()
    [change] = changes(log)
    assert (change.site, change.finder, list(change.urls)) == (SITE, FINDER, urls("a", "b"))


def test_discarded_url_is_neither_in_the_set_nor_on_the_log(log: SqliteLog, disk: Disk) -> None:
    seen = open_set(log, disk)
    seen.test(DEFAULT_CRAWL, SITE, urls("a"), FINDER)
    seen.discard()
    seen.settle()
    assert not changes(log)
    assert add(seen, "a", finder=OTHER) == [NEW]


def test_instance_with_an_empty_disk_reads_the_whole_changelog(log: SqliteLog, disk: Disk) -> None:
    add(open_set(log, MemoryDisk(), 1), "a", "b")
    assert add(open_set(log, disk, 2), "a", "c", finder=OTHER) == [SEEN, NEW]


def test_instance_reads_changes_of_other_owners(log: SqliteLog, disk: Disk) -> None:
    add(open_set(log, disk, 1), "a")
    add(open_set(log, MemoryDisk(), 2), "b", finder=OTHER)
    back = open_set(log, disk, 3)
    assert add(back, "a", "b", "c") == [REPEATED, SEEN, NEW]
    again = ReplicatedSeen(log, disk, lambda: NOW)
    again.assign({NUMBER: 4})
    assert again.note(), "its own epoch is not read yet"
    assert not again.restore()
    assert not again.note()


def test_late_change_of_a_former_owner_is_ignored(log: SqliteLog) -> None:
    old_disk, new_disk = MemoryDisk(), MemoryDisk()
    old, new = open_set(log, old_disk, 1), open_set(log, new_disk, 2)
    add(old, "a", finder=OTHER)
    assert add(new, "a") == [NEW]
    for disk in (old_disk, new_disk, MemoryDisk()):
        assert add(open_set(log, disk, 3), "a", finder="1" * 16) == [SEEN]
    assert add(open_set(log, MemoryDisk(), 4), "a") == [REPEATED]


def test_site_of_another_partition_is_not_owned(log: SqliteLog) -> None:
    seen = ReplicatedSeen(log, MemoryDisk(), lambda: NOW)
    seen.assign({NUMBER: 1})
    assert seen.owns(SITE)
    others = (f"site{n}.example" for n in range(100))
    assert not seen.owns(Site(next(s for s in others if partition_of(s, log.partitions) != NUMBER)))


def test_note_has_the_number_of_remaining_records(log: SqliteLog) -> None:
    add(open_set(log, MemoryDisk(), 1), "a")
    seen = ReplicatedSeen(log, MemoryDisk(), lambda: NOW)
    seen.assign({NUMBER: 2})
    remaining, waiting = "3 records to go", f"waiting partitions: {NUMBER}"
    assert seen.note() == f"the URL-seen table is read from its changelog: {remaining}; {waiting}"
    while seen.restore():
        pass
    assert seen.note() == ""


@pytest.mark.parametrize("grown", [False, True])
def test_recreated_changelog_is_filled_from_the_table(disk: Disk, grown: bool) -> None:
    before = SqliteLog(Database(":memory:"))
    names = [f"{n}" for n in range(2500)]
    seen = open_set(before, disk, 1)
    for name in names[:5]:
        add(seen, name)
    add(seen, *names, finder=OTHER)
    after = SqliteLog(Database(":memory:"))
    if grown:
        newer = open_set(after, MemoryDisk(), 2)
        for n in range(20):
            add(newer, f"new {n}")
    back = open_set(after, disk, 3)
    assert add(back, names[0], names[5]) == [REPEATED, SEEN]
    other = open_set(after, MemoryDisk(), 4)
    assert add(other, *names) == [*[REPEATED] * 5, *[SEEN] * 2495]
    if grown:
        assert add(other, "new 7") == add(open_set(after, disk, 5), "new 7") == [REPEATED]


def test_partly_published_table_is_published_again(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gossamer.services.dedup.replicated.EVENTS_PER_BATCH", 1)
    monkeypatch.setattr("gossamer.services.dedup.replicated.URLS_PER_EVENT", 10)
    names = [f"{n}" for n in range(100)]
    add(open_set(SqliteLog(Database(":memory:")), disk, 1), *names)
    after = SqliteLog(Database(":memory:"))
    killed = ReplicatedSeen(after, disk, lambda: NOW)
    killed.assign(dict.fromkeys(range(after.partitions), 2))
    while len(changes(after)) < 3:
        assert killed.restore()
    open_set(after, disk, 3)
    assert add(open_set(after, MemoryDisk(), 4), *names, finder=OTHER) == [SEEN] * 100
    before = len(changes(after))
    open_set(after, disk, 5)
    assert len(changes(after)) == before, "the table was published completely before"


def test_foreign_records_on_the_changelog_are_skipped(log: SqliteLog, disk: Disk) -> None:
    add(open_set(log, disk, 1), "a")
    [change] = [r for r in log.tail([URLS_SEEN.name]).poll(0) if b'"urls":["' in r.value]
    for value in (b"", b"{}", change.value.replace(b'"urls":["', b'"urls":["no hex')):
        log.append([change_message(change.partition, value)])
    assert add(open_set(log, disk, 2), "a", "b", finder=OTHER) == [SEEN, NEW]
    assert add(open_set(log, MemoryDisk(), 3), "a", "b") == [REPEATED, SEEN]


STEPS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["take", "add", "add", "add", "lose", "drop"]),
        st.integers(0, 8),
    ),
    max_size=40,
)
"""Steps of three processes: who takes it, and the URL of an "add"."""


def check_first_finders(
    steps: list[tuple[int, str, int]], take_over: Callable[[Disk, int], ReplicatedSeen]
) -> None:
    """Let processes *take_over* the partition one after another, and check that each URL keeps its
    first finder. Former owners continue to append, and disks are lost."""
    disks, sets = [MemoryDisk() for _ in range(3)], dict[int, ReplicatedSeen]()
    first, finders = dict[int, str](), defaultdict[int, list[str]](list)
    for epoch, (who, step, name) in enumerate([(0, "take", 0), *steps], 1):
        if step == "lose":
            sets.pop(who, None)
            disks[who] = MemoryDisk()
        elif step == "take":
            sets[who] = take_over(disks[who], epoch)
            owner = who
        elif step == "drop":
            if who in sets and who == owner:
                sets[who].drop(DEFAULT_CRAWL, SITE)
                sets[who].settle()
                first.clear()
                finders.clear()
        elif who in sets:
            finder = f"{epoch:016x}"
            finders[name].append(finder)
            add(sets[who], str(name), finder=finder)
            if who == owner:
                [found] = (
                    one
                    for one in finders[name]
                    if add(sets[who], str(name), finder=one) == [REPEATED]
                )
                assert found == first.setdefault(name, found)


@pytest.mark.slow
@given(STEPS)
def test_successive_owners_agree_on_every_first_finder(steps: list[tuple[int, str, int]]) -> None:
    log = SqliteLog(Database(":memory:"))
    check_first_finders(steps, lambda disk, epoch: open_set(log, disk, epoch))


# The disk.


def test_disk_keeps_its_filters_after_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        with closing(RocksDisk(tmp_path)) as disk:
            disk.write({b"a": b"1"})
        newest = max(tmp_path.glob("OPTIONS-*"), key=lambda file: int(file.name.split("-")[1]))
        options = newest.read_text()
        assert "filter_policy=bloomfilter" in options
        assert "partition_filters=true" in options


def test_disk_in_use_is_locked(tmp_path: Path) -> None:
    with closing(RocksDisk(tmp_path)), pytest.raises(Locked, match=r"service\.instance"):
        RocksDisk(tmp_path)
    RocksDisk(tmp_path).close()


IO = Path("/proc/self/io")
SITES = [f"default\0site{number}.example\0".encode() for number in range(1000)]
BLOCK = 4096
MIB = 1 << 20


def fill(disk: RocksDisk, count: int) -> None:
    """Write *count* keys of 1,000 sites, 1,000 keys at once."""
    random = Random(0)
    for number in range(count // 1000):
        site = SITES[number % len(SITES)]
        disk.write({site + random.randbytes(16): b"1" * 8 for _ in range(1000)})


def bytes_read() -> int:
    fields = dict(line.split(": ") for line in IO.read_text().splitlines())
    return int(fields["rchar"])


def bytes_read_by_lookup(disk: RocksDisk) -> float:
    """Return the bytes that the lookup of ten unknown URLs of a site reads: the median of some
    hundreds, since compactions may read at the same time."""
    random, counts = Random(1), list[int]()
    for _ in range(1000):
        site, before = random.choice(SITES), bytes_read()
        assert disk.get_many([site + random.randbytes(16) for _ in range(10)]) == [None] * 10
        counts.append(bytes_read() - before)
    return median(counts[500:])


@pytest.mark.slow
@pytest.mark.skipif(not IO.exists(), reason="the system does not count the bytes that are read")
@pytest.mark.parametrize("cache", [64 * MIB, 1 * MIB], ids=["cached", "hardly cached"])
def test_lookup_of_unknown_urls_reads_few_blocks_of_a_large_file(
    tmp_path: Path, cache: int
) -> None:
    with closing(RocksDisk(tmp_path, cache)) as disk:
        fill(disk, 1_500_000)
        disk._db.flush()
        disk._db.compact_range(None, None)
    with closing(RocksDisk(tmp_path, cache)) as disk:
        assert bytes_read_by_lookup(disk) < 3 * BLOCK


@pytest.mark.long
@pytest.mark.skipif(not IO.exists(), reason="the system does not count the bytes that are read")
def test_lookup_of_unknown_urls_among_ten_million_reads_few_blocks(tmp_path: Path) -> None:
    with closing(RocksDisk(tmp_path)) as disk:
        fill(disk, 10_000_000)
        assert bytes_read_by_lookup(disk) < 8 * BLOCK
