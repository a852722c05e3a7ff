"""Claims: whatever clocks say, a new owner's writes count more than those of any earlier one."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.errors import Unavailable
from gossamer.sqlite import Database
from gossamer.store.cassandra.timestamps import Timestamps
from gossamer.store.claims import Claimant, ClaimRow, claim_key
from gossamer.store.sqlite import SqliteStore

NOON = 1_700_000_000.0


class Owner(SqliteStore):
    """One of those who share a store; its writes are stamped as on Cassandra."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._timestamps = Timestamps()

    def claim(self, epoch: int) -> None:
        """Stamp what is written from now on as the owner of *epoch*."""
        self._timestamps.claim(epoch)

    def guard(self, check: Callable[[], None]) -> None:
        """Check before and after each flush, as on Cassandra."""
        self._check = check

    def flush(self) -> None:
        """Write, and see whether that counts."""
        self._check()
        super().flush()
        self._check()

    def write(self) -> int:
        """Return the timestamp of a write."""
        return self._timestamps.next()


claims = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.frozensets(st.integers(0, 5), min_size=1),
        st.floats(NOON - 30 * 86400, NOON + 30 * 86400),
        st.integers(0, 50),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@given(claims)
def test_who_claims_writes_over_all_earlier_owners_by_whatever_clock(
    claims: list[tuple[int, frozenset[int], float, int]],
) -> None:
    database = Database(":memory:")
    owners = [Owner(database) for _ in range(4)]
    last: dict[int, tuple[int, int]] = {}
    """Partition → its owner, and the largest timestamp there."""
    for who, partitions, clock, writes in claims:
        Claimant(owners[who]).claim(partitions, clock)
        for partition in partitions:
            owner, stamp = last.get(partition, (who, 0))
            # The one before writes until now: to this partition with stamps that have grown
            # with all its claims, on others too.
            stamp = max(stamp, owners[owner].write() if owner != who else 0)
            assert owners[who].write() > stamp
        for partition in partitions | {p for p, (owner, _) in last.items() if owner == who}:
            last[partition] = who, [owners[who].write() for _ in range(writes + 1)][-1]


def test_a_claimant_whose_clock_is_behind_passes_what_was_written_since_the_last_claim() -> None:
    database = Database(":memory:")
    old, new = Owner(database), Owner(database)
    Claimant(old).claim([0], NOON)
    Claimant(old).claim([1], NOON + 3600)
    written = [old.write() for _ in range(100_000)][-1]
    Claimant(new).claim([0], NOON + 3540)
    assert new.write() > written


def test_an_owner_whose_partition_was_claimed_learns_it_before_the_log_moves() -> None:
    database = Database(":memory:")
    owner, other = Owner(database), Owner(database)
    mine, others = Claimant(owner), Claimant(other)
    mine.claim([0, 1], NOON)
    others.claim([2], NOON)
    owner.flush()
    others.claim([1], NOON - 60)
    with pytest.raises(Unavailable, match="claimed 1: this one joins anew"):
        owner.flush()
    mine.release([1])
    owner.flush()
    other.flush()


def test_two_who_claim_at_once_have_different_epochs() -> None:
    def epoch(clock: float) -> int:
        database = Database(":memory:")
        Claimant(Owner(database)).claim([0], NOON)
        return Claimant(Owner(database)).claim([0], clock)

    assert epoch(NOON - 1.5) != epoch(NOON - 1.50001)


def test_kinds_of_claims_do_not_meet() -> None:
    store = SqliteStore(Database(":memory:"))
    frontier = Claimant(store).claim([3], NOON)
    archive = Claimant(store, "archive").claim([3], NOON)
    rows = store.table(ClaimRow)
    stored = [rows.get(claim_key(3)), rows.get(claim_key(3, "archive"))]
    assert [row and row.epoch for row in stored] == [frontier, archive]
