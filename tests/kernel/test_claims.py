"""Claims: for any clocks, a new owner's writes win over an earlier owner's."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import Unavailable
from gossamer.sqlite import Database
from gossamer.store import Row, keys_of
from gossamer.store.cassandra.writes import Timestamps
from gossamer.store.claims import WINDOW, Claimant, ClaimRow, claim_key
from gossamer.store.sqlite import SqliteStore

NOON = 1_700_000_000.0


class Owner(SqliteStore):
    """One of the processes that share a store; its writes are stamped as on Cassandra."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._timestamps = Timestamps()
        self._check: Callable[[], None] = lambda: None

    def write(self, rows: Sequence[Row], timestamp: int) -> None:
        """Write the *rows* whose stored version has a smaller timestamp."""
        super().write([row for row in rows if timestamp > self._stored_at(row)], timestamp)

    def _stored_at(self, row: Row) -> int:
        found = self.table(type(row)).get(*keys_of(row))
        return (getattr(found, "epoch", 0) or getattr(found, "ends_at", 0)) if found else 0

    def stamp(self, first: int, end: int) -> None:
        """Stamp writes from *first* on, below *end*."""
        self._timestamps.stamp(first, end)

    def guard(self, check: Callable[[], None]) -> None:
        """Check before and after each flush, as on Cassandra."""
        self._check = check

    def flush(self) -> None:
        """Write, and check before and after that the claim is valid."""
        self._check()
        super().flush()
        self._check()

    def check(self) -> None:
        self._check()

    def timestamp(self) -> int:
        """Return the timestamp of a write, without a check."""
        return self._timestamps.next()


class Fleet:
    """Processes that claim partitions, each with a clock of its own; time passes for all."""

    def __init__(self, skews: Sequence[float]) -> None:
        self._database, self._skews, self._passed = Database(":memory:"), skews, 0.0
        self._owners: dict[int, Owner] = {}
        self._claimants: dict[int, Claimant] = {}
        self._claimed: dict[int, dict[int, int]] = {}
        """Process → partition → epoch."""
        self.written: dict[int, list[tuple[int, int]]] = {}
        """Partition → the epoch and the timestamp of each write."""

    def clock(self, who: int) -> float:
        return NOON + self._passed + self._skews[who]

    def wait(self, seconds: float) -> None:
        self._passed += seconds

    def claim(self, who: int, partitions: frozenset[int]) -> None:
        if who not in self._owners:
            self._owners[who] = Owner(self._database)
            self._claimants[who] = Claimant(self._owners[who])
        with self._of(who):
            epoch = self._claimants[who].claim(partitions, self.clock(who))
            self._claimed.setdefault(who, {}).update(dict.fromkeys(partitions, epoch))

    def write(self, who: int, looks: bool) -> None:
        """Let a process write to all partitions that it has claimed; it may have been paused
        since its last check."""
        with self._of(who):
            if looks:
                self._owners[who].check()
            timestamp = self._owners[who].timestamp()
            for partition, epoch in self._claimed[who].items():
                self.written.setdefault(partition, []).append((epoch, timestamp))

    @contextmanager
    def _of(self, who: int) -> Iterator[None]:
        with mock.patch("gossamer.clock.now", lambda: self.clock(who)):
            try:
                yield
            except Unavailable:
                # The owner joins again.
                for known in (self._owners, self._claimants, self._claimed):
                    known.pop(who, None)


WHO = st.integers(0, 2)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("claim"), WHO, st.frozensets(st.integers(0, 2), min_size=1)),
        st.tuples(st.just("write"), WHO, st.booleans()),
        st.tuples(st.just("wait"), st.floats(0.0, 30.0)),
    ),
    min_size=2,
    max_size=40,
)
SKEWS = st.lists(st.floats(-600.0, 600.0), min_size=3, max_size=3)


@pytest.mark.slow
@given(SKEWS, STEPS)
def test_writes_under_a_newer_claim_have_the_larger_timestamps_by_any_clock(
    skews: list[float], steps: list[tuple[Any, ...]]
) -> None:
    fleet = Fleet(skews)
    fleet.claim(0, frozenset({0, 1, 2}))
    for name, *arguments in steps:
        if name != "write" or arguments[0] in fleet._claimed:
            getattr(fleet, name)(*arguments)
    for writes in fleet.written.values():
        for epoch, timestamp in writes:
            assert all(timestamp > before for older, before in writes if older < epoch)


def test_timestamps_stay_within_seconds_of_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    owner, now = Owner(Database(":memory:")), NOON
    monkeypatch.setattr("gossamer.clock.now", lambda: now)
    claimant = Claimant(owner)
    for _ in range(50):
        claimant.claim([0], now)
        for wait in (0.0, 1.0, 3.0, 60.0):
            now += wait
            owner.flush()
            assert abs(owner.timestamp() / 1e6 - now) < WINDOW / 1e6 + 2.0
        assert abs(owner.timestamp() / 1e6 - now) < 1.0


def test_successor_of_a_crashed_owner_begins_after_its_window(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    database, now = Database(":memory:"), NOON
    monkeypatch.setattr("gossamer.clock.now", lambda: now)
    old, new = Owner(database), Owner(database)
    Claimant(old).claim([0], now)
    now += 3.0
    Claimant(new).claim([0], now)
    began = new.timestamp()
    assert began > NOON * 1e6 + WINDOW - 1
    now += 3600.0
    # It was paused after it had looked.
    assert old.timestamp() < began


def test_owner_writes_by_the_clock_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    owner, now = Owner(Database(":memory:")), NOON
    monkeypatch.setattr("gossamer.clock.now", lambda: now)
    Claimant(owner).claim([0], now)
    now += 3600.0
    owner.flush()
    assert owner.timestamp() == int(now * 1e6)


def test_flush_of_a_claimed_partition_fails_before_the_log_advances() -> None:
    database = Database(":memory:")
    owner, other = Owner(database), Owner(database)
    mine, others = Claimant(owner), Claimant(other)
    mine.claim([0, 1], NOON)
    others.claim([2], NOON)
    owner.flush()
    others.claim([1], NOON - 60)
    with pytest.raises(Unavailable, match="claimed 1: this one joins again"):
        owner.flush()
    mine.release([1])
    owner.flush()
    other.flush()


def test_concurrent_claims_have_different_epochs() -> None:
    def epoch(clock: float) -> int:
        database = Database(":memory:")
        Claimant(Owner(database)).claim([0], NOON)
        return Claimant(Owner(database)).claim([0], clock)

    assert epoch(NOON - 1.5) != epoch(NOON - 1.50001)


def test_claims_of_different_services_are_independent() -> None:
    store = SqliteStore(Database(":memory:"))
    frontier = Claimant(store).claim([3], NOON)
    archive = Claimant(store, "archive").claim([3], NOON)
    rows = store.table(ClaimRow)
    stored = [rows.get(claim_key(3)), rows.get(claim_key(3, "archive"))]
    assert [row and row.epoch for row in stored] == [frontier, archive]
