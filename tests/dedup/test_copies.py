"""Copies of the URL-seen table in volumes save a new owner records, and nothing else changes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import blake2b
from itertools import count
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from structlog.testing import capture_logs

from gossamer.events import DEFAULT_CRAWL
from gossamer.log import Tail
from gossamer.log.sqlite import SqliteLog
from gossamer.services.dedup.copies import COPY_INTERVAL, Copies, Start
from gossamer.services.dedup.replicated import Disk, ReplicatedSeen
from gossamer.services.dedup.rocksdb import RocksDisk
from gossamer.sqlite import Database
from gossamer.volumes import Volume
from tests.object_store import object_store
from tests.support.memory_disk import MemoryDisk

from .test_replicated import (
    FINDER,
    NEW,
    NUMBER,
    OTHER,
    REPEATED,
    SEEN,
    SITE,
    STEPS,
    add,
    check_first_finders,
    urls,
)

FLEET = "fleet"
NAMES = [f"{number}" for number in range(30)]
COPY = f"dedup/{FLEET}/{NUMBER:02}.copy"


class Killed(BaseException):
    """The process is killed."""


class MortalVolume(Volume):
    """A volume before one of whose writes the process is killed."""

    writes = count(1000)

    def put(self, name: str, path: Path) -> None:
        self._write_or_die()
        super().put(name, path)

    def _write_or_die(self) -> None:
        if next(self.writes) == 0:
            raise Killed


class MortalDisk(MemoryDisk):
    """A disk that is lost within the loading of a copy."""

    def load_copy(self, prefix: bytes, path: Path) -> None:
        self.write({}, [prefix])
        raise Killed


class Fleet:
    """Owners of the partition of SITE, one after another, with the volumes that they share."""

    def __init__(self, folder: Path) -> None:
        self.log = SqliteLog(Database(":memory:"))
        self.volume = MortalVolume((folder / "volume").as_uri())
        self._folder, self._epochs, self.now = folder, count(1), 1_700_000_000.0
        self.passing = 0.0
        """Seconds that pass with each look at the clock."""

    def clock(self) -> float:
        self.now += self.passing
        return self.now

    def begin(self, disk: Disk, start: Start = lambda job: job()) -> ReplicatedSeen:
        """Return a set that has begun to take over the partition."""
        epoch = next(self._epochs)
        copies = Copies(
            self.log, FLEET, [self.volume], self._folder / f"copies{epoch}", start=start
        )
        seen = ReplicatedSeen(self.log, disk, self.clock, copies)
        seen.assign({NUMBER: epoch})
        return seen

    def open(self, disk: Disk) -> ReplicatedSeen:
        """Return the set of a new owner that has taken over the partition."""
        seen = self.begin(disk)
        while seen.restore():
            pass
        return seen

    def copy(self, seen: ReplicatedSeen, name: str) -> None:
        """Add the URL *name*, after which a copy is due."""
        self.now += COPY_INTERVAL
        add(seen, name)

    @property
    def stored(self) -> list[str]:
        return [*self.volume.names("dedup")]


@pytest.fixture(autouse=True)
def few_records(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("copies", "replicated"):
        monkeypatch.setattr(f"gossamer.services.dedup.{module}.COPY_RECORDS", 3)


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def fill(fleet: Fleet, seen: ReplicatedSeen) -> None:
    """Add all of NAMES, one a record, and let a copy have the first half of them."""
    for name in NAMES[:14]:
        add(seen, name)
    fleet.copy(seen, NAMES[14])
    for name in NAMES[15:]:
        add(seen, name)


def check_complete(seen: ReplicatedSeen) -> None:
    """Check that no URL was lost or invented, and that each has its first finder."""
    urls_ = urls(*NAMES, "never")
    findings = seen.test(DEFAULT_CRAWL, SITE, urls_, FINDER)
    seen.discard()
    assert findings == [*[REPEATED] * len(NAMES), NEW]


def lines(logs: Sequence[Mapping[str, object]]) -> list[str]:
    return [
        f"{line['event']}: {line.get('reason')}" for line in logs if line["log_level"] != "info"
    ]


@pytest.fixture(params=["memory", "rocksdb"])
def make_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], Disk]]:
    made = list[RocksDisk]()

    def make() -> Disk:
        if request.param == "memory":
            return MemoryDisk()
        made.append(RocksDisk(tmp_path / f"disk{len(made)}"))
        return made[-1]

    yield make
    for disk in made:
        disk.close()


def test_new_owner_loads_the_copy_and_reads_the_records_after_it(
    fleet: Fleet, make_disk: Callable[[], Disk], monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(fleet, fleet.open(make_disk()))
    tail, starts = fleet.log.tail, list[Mapping[int, int] | None]()

    def record_tail(topics: Sequence[str], at: Mapping[int, int] | None = None) -> Tail:
        starts.append(at)
        return tail(topics, at)

    monkeypatch.setattr(fleet.log, "tail", record_tail)
    seen = fleet.begin(make_disk())
    assert seen.note().startswith("the URL-seen table is copied from a volume: 32 records to go")
    while seen.restore():
        pass
    assert starts == [{NUMBER: 15}, {NUMBER: 16}], "the record at the copy, and those after it"
    assert seen.note() == ""
    check_complete(seen)


def test_older_table_is_replaced_by_the_copy(fleet: Fleet, make_disk: Callable[[], Disk]) -> None:
    old, disk = make_disk(), make_disk()
    first = fleet.open(old)
    add(first, "erased", "late")
    owner = fleet.open(disk)
    add(first, "late of a former owner")
    owner = fleet.open(disk)
    owner.erase(DEFAULT_CRAWL, SITE, urls("erased"))
    owner.settle()
    fill(fleet, owner)
    again = fleet.open(old)
    check_complete(again)
    assert add(again, "late", "erased", "late of a former owner", finder=OTHER) == [SEEN, NEW, NEW]


def test_table_with_few_missing_records_is_kept(fleet: Fleet) -> None:
    disk = MemoryDisk()
    fill(fleet, fleet.open(disk))
    with capture_logs() as logs:
        check_complete(fleet.open(disk))
    assert not logs


def test_copy_replaces_the_former_one(fleet: Fleet) -> None:
    seen = fleet.open(MemoryDisk())
    fill(fleet, seen)
    former = fleet.volume.read(COPY)
    fleet.copy(seen, "new")
    assert fleet.stored == [COPY]
    assert former != fleet.volume.read(COPY)


def test_copies_are_an_interval_and_some_records_apart(fleet: Fleet) -> None:
    seen = fleet.open(MemoryDisk())
    fleet.copy(seen, "a")
    assert not fleet.stored, "too few records"
    add(seen, "b")
    add(seen, "c")
    former = fleet.volume.read(COPY)
    for name in NAMES:
        add(seen, name)
    assert fleet.volume.read(COPY) == former, "too early"


def test_owner_that_was_replaced_stores_no_copy(fleet: Fleet) -> None:
    former = fleet.open(MemoryDisk())
    fleet.open(MemoryDisk())
    fill(fleet, former)
    assert not fleet.stored


def change_manifest(at: Fleet, **changes: object) -> None:
    data, _, manifest = at.volume.read(COPY).rpartition(b"\n")
    changed = msgspec.json.encode(msgspec.json.decode(manifest) | changes)
    at.volume.put_bytes(COPY, data + b"\n" + changed)


def change_data(at: Fleet, change: Callable[[bytes], bytes]) -> None:
    data, _, manifest = at.volume.read(COPY).rpartition(b"\n")
    at.volume.put_bytes(COPY, change(data) + b"\n" + manifest)


def accept_no_table(at: Fleet) -> None:
    """Store a file whose digest is right, and which no disk can read."""
    data = b"another format"
    change_data(at, lambda _: data)
    change_manifest(at, size=len(data), digest=blake2b(data, digest_size=32).hexdigest())


INVALID: dict[str, tuple[Callable[[Fleet], None], str]] = {
    "another fleet": (lambda fleet: change_manifest(fleet, fleet="x"), "is of the fleet x"),
    "another partition": (lambda fleet: change_manifest(fleet, partition=7), "is of partition 7"),
    "another number of partitions": (
        lambda fleet: change_manifest(fleet, partitions=7),
        f"is of partition {NUMBER} of 7",
    ),
    "an unknown format": (lambda fleet: change_manifest(fleet, format=2), "unknown format 2"),
    "a position after the end": (
        lambda fleet: change_manifest(fleet, checkpoint=[10**6, "AAAA", 1]),
        "newer than the changelog: it has offset 1000000",
    ),
    "another record at its position": (
        lambda fleet: change_manifest(fleet, checkpoint=[9, "AAAA", 1]),
        "another record at offset 9",
    ),
    "no bytes": (lambda fleet: fleet.volume.put_bytes(COPY, b""), "the manifest is damaged"),
    "a part of a manifest": (
        lambda fleet: fleet.volume.put_bytes(COPY, fleet.volume.read(COPY)[:-9]),
        "the manifest is damaged",
    ),
    "a manifest without fields": (
        lambda fleet: fleet.volume.put_bytes(COPY, b'{"format":1}'),
        "the manifest is damaged",
    ),
    "no data": (lambda fleet: change_data(fleet, lambda data: b""), "is damaged"),
    "a missing byte": (lambda fleet: change_data(fleet, lambda data: data[1:]), "is damaged"),
    "a changed byte": (
        lambda fleet: change_data(fleet, lambda data: bytes([data[0] ^ 1]) + data[1:]),
        "is damaged",
    ),
    "a file that no disk can read": (accept_no_table, "cannot"),
}


@pytest.mark.parametrize("name", INVALID)
def test_invalid_copy_is_ignored_with_one_line(
    fleet: Fleet, name: str, make_disk: Callable[[], Disk]
) -> None:
    fill(fleet, fleet.open(make_disk()))
    damage, reason = INVALID[name]
    damage(fleet)
    with capture_logs() as logs:
        seen = fleet.open(make_disk())
    [line] = lines(logs)
    assert line.startswith("copy of the URL-seen table ignored")
    assert reason in line
    check_complete(seen)
    check_complete(fleet.open(make_disk()))


def test_copy_of_a_recreated_changelog_is_ignored(fleet: Fleet, tmp_path: Path) -> None:
    fill(fleet, fleet.open(MemoryDisk()))
    fleet.log = SqliteLog(Database(":memory:"))
    seen = fleet.open(MemoryDisk())
    for name in range(40):
        add(seen, f"new {name}")
    with capture_logs() as logs:
        again = fleet.open(MemoryDisk())
    [line] = lines(logs)
    assert "another record at offset 15" in line
    assert add(again, "0", "new 0", finder=OTHER) == [NEW, SEEN]


def test_table_of_a_former_changelog_is_published_beside_a_valid_copy(fleet: Fleet) -> None:
    disk = MemoryDisk()
    add(fleet.open(disk), "only here")
    fleet.log = SqliteLog(Database(":memory:"))
    fill(fleet, fleet.open(MemoryDisk()))
    seen = fleet.open(disk)
    check_complete(seen)
    assert add(seen, "only here") == [REPEATED]
    assert add(fleet.open(MemoryDisk()), "only here", finder=OTHER) == [SEEN]


def test_volume_that_does_not_answer_costs_nothing_but_time(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bytes:
        raise OSError("no route to host")

    fill(fleet, fleet.open(MemoryDisk()))
    monkeypatch.setattr(fleet.volume._files, "cat_file", fail)
    monkeypatch.setattr(fleet.volume._files, "put_file", fail)
    with capture_logs() as logs:
        seen = fleet.open(MemoryDisk())
        check_complete(seen)
        fleet.copy(seen, "new")
    assert [line.partition(": ")[0] for line in lines(logs)] == [
        "copy of the URL-seen table ignored",
        "URL-seen table not copied to a volume",
    ]


@pytest.mark.parametrize("writes", range(3))
def test_kill_before_a_write_to_the_volume_loses_nothing(fleet: Fleet, writes: int) -> None:
    disk = MemoryDisk()
    seen = fleet.open(disk)
    fill(fleet, seen)
    fleet.volume.writes = iter(range(writes, -2, -1))  # type: ignore[assignment]
    killed = False
    try:
        add(seen, "more")
        fleet.copy(seen, "more still")
        seen.erase(DEFAULT_CRAWL, SITE, urls("more"))
        add(seen, "more again")
        fleet.copy(seen, "more at last")
    except Killed:
        killed = True
    assert killed == (writes < 2), "each copy is one write"
    fleet.volume.writes = count(1000)
    for taken in (MemoryDisk(), disk):
        again = fleet.open(taken)
        again.erase(DEFAULT_CRAWL, SITE, urls("more"))
        again.settle()
        check_complete(again)
    assert fleet.stored == [COPY]


def test_kill_while_a_copy_is_loaded_loses_nothing(fleet: Fleet) -> None:
    fill(fleet, fleet.open(MemoryDisk()))
    disk = MortalDisk()
    with pytest.raises(Killed):
        fleet.open(disk)
    check_complete(fleet.open(MemoryDisk(disk.rows)))


def test_partition_lost_while_its_copy_is_fetched_is_taken_over_later(fleet: Fleet) -> None:
    fill(fleet, fleet.open(MemoryDisk()))
    jobs = list[Callable[[], None]]()
    seen = fleet.begin(MemoryDisk(), jobs.append)
    assert seen.restore() == {NUMBER}
    seen.assign({})
    seen.assign({NUMBER: 100})
    for job in jobs:
        job()
    while seen.restore():
        pass
    check_complete(seen)


def test_other_partitions_are_restored_while_a_copy_is_fetched(fleet: Fleet) -> None:
    fill(fleet, fleet.open(MemoryDisk()))
    other, jobs = (NUMBER + 1) % fleet.log.partitions, list[Callable[[], None]]()
    seen = fleet.begin(MemoryDisk(), jobs.append)
    seen.assign({NUMBER: 50, other: 51})
    while seen.restore() != {NUMBER}:
        pass
    for job in jobs:
        job()
    while seen.restore():
        pass
    check_complete(seen)


def test_copy_is_stored_in_s3_and_replaced(fleet: Fleet) -> None:
    with object_store():
        fleet.volume = MortalVolume("s3://bucket/prefix")
        fleet.volume._files.mkdir("bucket")
        fill(fleet, fleet.open(MemoryDisk()))
        seen = fleet.open(MemoryDisk())
        check_complete(seen)
        for name in NAMES[:3]:
            add(seen, f"new {name}")
        fleet.copy(seen, "new")
        assert fleet.stored == [COPY]
        check_complete(fleet.open(MemoryDisk()))


def test_disk_that_is_closed_during_a_copy_can_be_opened_again(tmp_path: Path) -> None:
    with closing(RocksDisk(tmp_path / "disk")) as disk:
        disk.write({b"\1a": b"1", b"\2a": b"2"})
        write = disk.take_copy(b"\1")
    with pytest.raises(Exception, match="process ends"):
        write(tmp_path / "copy")
    with closing(RocksDisk(tmp_path / "disk")) as disk:
        assert [*disk.scan(b"\1")] == [(b"\1a", b"1")]


@pytest.mark.slow
@given(STEPS)
def test_successive_owners_with_copies_agree_on_every_first_finder(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, str, int]]
) -> None:
    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    fleet.passing = COPY_INTERVAL
    check_first_finders(steps, lambda disk, _: fleet.open(disk))
