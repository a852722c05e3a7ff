"""Calendar entries are popped in time after any clock change, and a wrong clock costs no reads."""

from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.events import DEFAULT_CRAWL
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.partitions import Partitions
from gossamer.services.frontier.partition.plans import MAX_LOADED_ENTRIES, Calendar
from gossamer.services.frontier.partition.politeness import Overrides
from gossamer.services.frontier.tables.bucketed_log import BucketRange
from gossamer.services.frontier.tables.partitions import partition_key
from gossamer.services.frontier.tables.plans import DueRow
from gossamer.services.frontier.totals.tally import PartitionTallyRow
from gossamer.settings import FrontierSettings
from gossamer.sqlite import Database
from gossamer.store import Partition as PartitionKey
from gossamer.store.sqlite import SqliteStore, SqliteTable
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import START

HOUR, DAY, WEEK = 3600.0, 86400.0, 7 * 86400.0
UNLIMITED = 1_000_000


class Entries(SqliteTable[DueRow]):
    """Counts the reads of its table."""

    asked = 0

    def scan(self, *what, **more):  # type: ignore[no-untyped-def]
        """Count the call."""
        self.asked += 1
        return super().scan(*what, **more)

    def drop(self, partition: PartitionKey) -> None:
        """Count the call."""
        self.asked += 1
        super().drop(partition)


class Kept:
    """A calendar that is restarted, on one store."""

    def __init__(self, most: int = MAX_LOADED_ENTRIES) -> None:
        self.store, self.most = SqliteStore(Database(":memory:")), most
        self.buckets = BucketRange()

    def open(self, now: float) -> Calendar:
        """Start on the stored entries."""
        return Calendar(self.store.table(DueRow), "0", self.buckets, now, self.most)

    def close(self, calendar: Calendar) -> None:
        """Store the position and the new entries."""
        self.buckets = calendar.log.range_to_write()
        self.store.flush()


def claim_partition(store: SqliteStore, now: float) -> Partition:
    """Return partition 0, claimed at *now*."""
    partitions = Partitions(store, FrontierSettings(), Overrides(), 1)
    partitions.assign(frozenset([0]), now)
    return next(iter(partitions))


def add(calendar: Calendar, at: float, url: str) -> None:
    calendar.add(
        DueRow(
            "",
            f"http://a.test {url}",
            at,
            Site("a.test"),
            HostKey("http://a.test"),
            DEFAULT_CRAWL,
            url,
        )
    )


def due(calendar: Calendar, now: float) -> list[str]:
    return [row.url or "" for row in calendar.pop_due(now, UNLIMITED)]


def test_retries_are_on_time_after_clock_ahead_and_restart() -> None:
    kept = Kept()
    calendar = kept.open(START + 8 * HOUR)
    calendar.pop_due(START + 8 * HOUR, UNLIMITED)
    add(calendar, START + 600.0, "soon")
    kept.close(calendar)
    calendar = kept.open(START + 60.0)
    at = calendar.due()
    assert at is not None and at <= START + 600.0
    assert due(calendar, START + 599.0) == []
    assert due(calendar, START + 600.0) == ["soon"]


def test_clock_far_ahead_reads_no_empty_buckets() -> None:
    kept = Kept()
    entries = Entries(kept.store._database, DueRow)
    calendar = Calendar(entries, "0", BucketRange(), START)
    add(calendar, START + 2 * HOUR, "later")
    century = 100 * 365 * 24 * HOUR
    assert due(calendar, START + century) == ["later"]
    add(calendar, START + HOUR, "again")
    assert due(calendar, START + HOUR) == ["again"]
    buckets = calendar.log.range_to_write()
    Calendar(entries, "0", buckets, START + HOUR).pop_due(START + century, UNLIMITED)
    assert entries.asked < 100


def test_entries_added_at_1970_cost_no_reads_after_clock_correction() -> None:
    kept = Kept()
    entries = Entries(kept.store._database, DueRow)
    calendar = Calendar(entries, "0", BucketRange(), 5.0)
    add(calendar, 65.0, "soon")
    assert due(calendar, START) == ["soon"]
    add(calendar, START + 60.0, "later")
    assert due(calendar, START + 60.0) == ["later"] and calendar.due() is None
    assert entries.asked < 100


def test_entry_added_twice_for_one_time_is_popped_once() -> None:
    calendar = Kept().open(START)
    add(calendar, START + 1.0, "a")
    add(calendar, START + 1.0, "a")
    assert due(calendar, START + 1.0) == ["a"]


def test_memory_has_bounded_number_of_entries_of_busy_hour() -> None:
    calendar = Kept(most=100).open(START)
    wanted = [f"{n}" for n in range(1000)]
    for n, url in reversed([*enumerate(wanted)]):
        add(calendar, START + n / 10, url)
        assert len(calendar) <= 200
    assert due(calendar, START + HOUR) == wanted


def test_due_entries_after_outage_are_popped_in_steps_and_in_order() -> None:
    kept = Kept(most=200)
    calendar = kept.open(START)
    wanted = [f"{n}" for n in range(2000)]
    for n, url in enumerate(wanted):
        add(calendar, START + n * 30.0, url)
    kept.close(calendar)
    now, came = START + 30 * 24 * HOUR, list[str]()
    while len({*came}) < len(wanted):
        calendar = kept.open(now)
        for _ in range(7):
            at = calendar.due()
            assert at is not None and at <= now
            taken = [row.url or "" for row in calendar.pop_due(now, 90)]
            assert len(taken) <= 90 and len(calendar) <= 400
            came += taken
            if len({*came}) == len(wanted):
                break
        # A crash: entries popped since the row was written may come again; no entry is lost.
        kept.close(calendar)
    assert came[:600] == wanted[:600]
    assert list(dict.fromkeys(came)) == wanted
    assert due(calendar, now) == [] and calendar.due() is None


def test_entry_of_clock_set_back_is_found_by_next_owner() -> None:
    store = SqliteStore(Database(":memory:"))
    partition = claim_partition(store, START)
    partition.write()
    store.flush()
    partition.schedule_url(
        START - HOUR, Site("a.test"), HostKey("http://a.test"), DEFAULT_CRAWL, "set back"
    )
    partition.write()
    store.flush()
    found = claim_partition(store, START + 60.0).pop_due(START + 60.0, UNLIMITED)
    assert [row.url for row in found] == ["set back"]


def test_wait_that_a_crash_counted_twice_is_over_with_the_last_entry() -> None:
    store = SqliteStore(Database(":memory:"))
    store.write([PartitionTallyRow(partition_key(0, 1), due_count=1)], 0)
    partition = claim_partition(store, START)
    partition.schedule_url(
        START + 60.0, Site("a.test"), HostKey("http://a.test"), DEFAULT_CRAWL, "once"
    )
    partition.write()
    assert partition.tally.due_count == 2
    assert partition.pop_due(START + 60.0, UNLIMITED)
    partition.count_wait_over()
    partition.write()
    assert partition.tally.due_count == 0


def test_run_waits_for_due_entries_after_any_pause() -> None:
    kept = Kept(most=2)
    calendar = kept.open(START)
    for n in range(6):
        add(calendar, START + DAY + n, f"{n}")
    kept.close(calendar)
    for until in (START + DAY + 10.0, START + WEEK):
        calendar = kept.open(until)
        came = list[str]()
        while (at := calendar.due()) is not None:
            assert 0 < at <= until and calendar.next_entry() == at
            came += [row.url or "" for row in calendar.pop_due(until, 1)]
        assert came == [*"012345"] and not calendar.next_entry()


def test_unread_entries_are_found_after_second_restart() -> None:
    kept = Kept()
    calendar = kept.open(START)
    add(calendar, START + 5 * DAY, "later")
    for _ in range(2):
        kept.close(calendar)
        calendar = kept.open(START + WEEK)
        assert due(calendar, START + WEEK) == []
    while not (came := due(calendar, START + WEEK)):
        at = calendar.due()
        assert at is not None and at <= START + WEEK
    assert came == ["later"]


@dataclass
class Life:
    """A state machine: claims one after another on one store, and a model of the entries.

    Each step is one of the runner: it is written completely, or lost.
    """

    most: int
    store: SqliteStore = field(default_factory=lambda: SqliteStore(Database(":memory:")))
    now: float = START
    claim: Partition = field(init=False)
    waiting: dict[str, float] = field(default_factory=dict)
    """Entries that were added and flushed, and not popped since."""
    taken: dict[str, float] = field(default_factory=dict)
    """Entries that were popped, and may come again after a restart."""
    given: set[str] = field(default_factory=set)
    """Entries that were popped since the start."""
    latest: float = 0.0
    """The time of the last entry that was popped since the start."""

    def __post_init__(self) -> None:
        self.start()
        self.advance()

    def start(self) -> None:
        self.claim = claim = claim_partition(self.store, self.now)
        buckets = claim.calendar.log.range_to_write()
        # A calendar with little memory.
        dues = self.store.table(DueRow)
        claim.calendar = Calendar(dues, "0", buckets, self.now, self.most)
        self.given.clear()
        self.latest = 0.0

    @property
    def calendar(self) -> Calendar:
        return self.claim.calendar

    def advance(self) -> None:
        self.claim.write()
        self.store.flush()

    def add(self, waits: list[float], stays: bool) -> None:
        """Add an entry after each of *waits*; without *stays* a crash loses them."""
        names = {
            f"{len(self.waiting) + len(self.taken)}.{n}": self.now + wait
            for n, wait in enumerate(waits)
        }
        for name, at in names.items():
            self.claim.schedule_url(
                at, Site("a.test"), HostKey("http://a.test"), DEFAULT_CRAWL, name
            )
            assert len(self.calendar) <= 2 * self.most
        if stays:
            self.advance()
            self.waiting |= names
        else:
            self.crash()

    def take(self, most: int, stays: bool) -> int:
        """Pop due entries; without *stays* a crash loses that."""
        rows = self.calendar.pop_due(self.now, most)
        assert len(rows) <= most
        for row in rows:
            assert row.at <= self.now and row.at >= self.latest, "out of order"
            assert row.url in self.waiting or row.url in self.taken
            assert row.url not in self.given, "popped twice"
            self.given.add(row.url)
            self.latest = row.at
        if not stays:
            self.crash()
            return 0
        self.advance()
        for row in rows:
            if row.url in self.waiting:
                self.taken[row.url] = self.waiting.pop(row.url)
        return len(rows)

    def crash(self) -> None:
        self.store.discard()
        self.start()

    def drain(self, most: int) -> None:
        """Pop all due entries, as long as the calendar has work."""
        steps, span = 0, self.calendar.log.last - self.calendar.log.first
        bound = len(self.waiting) + len(self.taken) + max(span, 0) / 20 + 5
        while (at := self.calendar.due()) is not None and at <= self.now:
            self.take(most, stays=True)
            steps += 1
            assert steps <= bound, "the calendar has work without end"
        assert not [name for name, at in self.waiting.items() if at <= self.now], "lost"


# In milliseconds: an entry that is added behind the last popped one comes a microsecond later.
waits = st.one_of(
    st.floats(0, 5000).map(lambda wait: round(wait, 3)),
    st.floats(0, 10 * DAY).map(lambda wait: round(wait, 3)),
    st.sampled_from([0.0, 600.0]),
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.lists(waits, min_size=1, max_size=12), st.booleans()),
        st.tuples(st.just("take"), st.integers(0, 9), st.booleans()),
        st.tuples(st.just("pass"), st.one_of(waits, st.just(WEEK)), st.integers(0, 9)),
        st.tuples(st.just("restart"), st.none(), st.none()),
    ),
    max_size=25,
)


NOW = [0.0, 0.0]


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(steps=steps, most=st.integers(1, 8))
@example([("add", NOW, True), ("add", 4 * NOW, True), ("take", 3, True), ("add", NOW, True)], 1)
def test_each_entry_is_popped_once_and_in_order(
    steps: list[tuple[str, object, object]], most: int
) -> None:
    life = Life(most)
    for step in steps:
        match step:
            case "add", list(waits), bool(stays):
                life.add(waits, stays)
            case "take", int(many), bool(stays):
                life.take(many, stays)
            case "pass", float(seconds), int(many):
                life.now += seconds
                if many:
                    life.drain(many)
            case _:
                life.start()
    while life.waiting:
        life.now = max(life.now, min(life.waiting.values()))
        life.drain(3)
    life.now += 2 * HOUR
    life.drain(3)
    life.take(3, stays=True)
    assert life.calendar.due() is None or life.calendar.log.last * 600.0 > life.now
    left = life.store._database._db.execute("SELECT count(DISTINCT bucket) FROM due").fetchone()
    assert left[0] <= 1, "old buckets were not dropped"
