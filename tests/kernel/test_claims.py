"""Claims: whatever clocks say, a new owner's writes count more than those of any earlier one."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.sqlite import Database
from gossamer.store.cassandra.store import Timestamps
from gossamer.store.claims import ClaimRow, claim_key, make_claims
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


@given(claims)
def test_who_claims_writes_over_all_earlier_owners_by_whatever_clock(
    claims: list[tuple[int, frozenset[int], float, int]],
) -> None:
    database = Database(":memory:")
    owners = [Owner(database) for _ in range(4)]
    last: dict[int, tuple[int, int]] = {}
    """Partition → its owner, and the largest timestamp there."""
    for who, partitions, clock, writes in claims:
        make_claims(partitions, owners[who], clock)
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
    make_claims([0], old, NOON)
    make_claims([1], old, NOON + 3600)
    written = [old.write() for _ in range(100_000)][-1]
    make_claims([0], new, NOON + 3540)
    assert new.write() > written


def test_kinds_of_claims_do_not_meet() -> None:
    store = SqliteStore(Database(":memory:"))
    frontier = make_claims([3], store, NOON)
    archive = make_claims([3], store, NOON, "archive")
    rows = store.table(ClaimRow)
    stored = [rows.get(claim_key(3)), rows.get(claim_key(3, "archive"))]
    assert [row and row.epoch for row in stored] == [frontier, archive]
