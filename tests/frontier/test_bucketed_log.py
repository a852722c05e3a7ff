"""Rows in buckets: appended, read from a cursor to the end, dropped a bucket at a time."""

import pytest

from gossamer.log import KEY_GROUPS, key_group_of, key_groups_of, partition_of
from gossamer.services.frontier.partition.parked import ParkedRow
from gossamer.services.frontier.tables.bucketed_log import (
    NO_BUCKETS,
    PAGE_SIZE,
    BucketedLog,
    BucketEnds,
    BucketRange,
    RangedLog,
)
from gossamer.services.frontier.tables.plans import DueRow
from gossamer.sqlite import Database
from gossamer.store import Table
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey, Site

GROUP = key_group_of(Site("a.test"))


@pytest.fixture
def store() -> SqliteStore:
    return SqliteStore(Database(":memory:"))


def append_rows(log: BucketedLog[ParkedRow], ends: BucketEnds, count: int, size: int) -> BucketEnds:
    for number in range(count):
        _, ends = log.append(ends, ParkedRow("a crawl", "", 0, f"{number}", ()), size)
    return ends


def test_appended_rows_are_read_in_order_from_cursor_to_end(store: SqliteStore) -> None:
    log = BucketedLog(store.table(ParkedRow), "a log", "a crawl")
    ends = append_rows(log, BucketEnds(), 7, size=3)
    assert ends == BucketEnds(head=0, tail=2, tail_size=1)
    # A crash interrupted a flush: the rows are stored, and the ends are not.
    append_rows(log, ends, 4, size=3)
    rows = log.rows(ends.head, ends.tail, after=1, end=ends.tail_size)
    assert [(row.bucket, row.bucket_index, row.via) for row in rows] == [
        ("a log/0", 2, "2"),
        ("a log/1", 0, "3"),
        ("a log/1", 1, "4"),
        ("a log/1", 2, "5"),
        ("a log/2", 0, "6"),
    ]


def test_bucket_of_many_pages_is_read_completely(store: SqliteStore) -> None:
    log = BucketedLog(store.table(ParkedRow), "a log", "a crawl")
    ends = append_rows(log, BucketEnds(), 2 * PAGE_SIZE + 1, size=3 * PAGE_SIZE)
    assert len([*log.rows(ends.head, ends.tail)]) == 2 * PAGE_SIZE + 1


def test_dropped_bucket_is_named_once_more(store: SqliteStore) -> None:
    log = RangedLog(store.table(DueRow), "a log", start=5)
    assert log.range_to_write() == NO_BUCKETS
    put(log, 5, 9)
    assert log.range_to_write() == BucketRange(5, 9, (GROUP,))
    log.drop(5)
    log.skip_to(9)
    last = BucketRange(9, 9, (GROUP,))
    assert [log.range_to_write() for _ in range(2)] == [BucketRange(5, 9, (GROUP,)), last]
    log.drop(9)
    log.skip_to(10)
    assert [log.range_to_write() for _ in range(2)] == [last, NO_BUCKETS]


def test_range_grows_in_both_directions_and_is_restored(store: SqliteStore) -> None:
    table: Table[DueRow] = store.table(DueRow)
    log = RangedLog(table, "a log", start=5)
    put(log, 7, 3)
    found = log.range_to_write()
    assert found == BucketRange(3, 7, (GROUP,))
    assert [row.key for row in RangedLog(table, "a log", found)] == ["3", "7"]


def put(log: RangedLog[DueRow], *buckets: int) -> None:
    for bucket in buckets:
        log.put(bucket, DueRow("", str(bucket), 0.0, Site("a.test"), HostKey("http://a.test")))


def test_rows_of_several_key_groups_are_read_in_one_order(store: SqliteStore) -> None:
    log = RangedLog(store.table(DueRow), "a log")
    sites = [f"s{number % 20}.test" for number in range(PAGE_SIZE + 50)]
    for number, site in enumerate(sites):
        log.put(3, DueRow("", f"{number:05d}", 0.0, Site(site), HostKey(f"http://{site}")))
    store.flush()
    assert len(log.logs) > 5
    assert [int(row.key) for row in log.page(3, limit=7)] == [*range(7)]
    assert [int(row.key) for row in log.page(3, "00006", 3)] == [7, 8, 9]
    found = RangedLog(store.table(DueRow), "a log", log.range_to_write())
    assert [int(row.key) for row in found] == [*range(PAGE_SIZE + 50)]
    found.drop(3)
    store.flush()
    assert not [*store.table(DueRow).everything()]


def test_long_range_is_read_in_the_order_of_its_buckets(store: SqliteStore) -> None:
    log = RangedLog(store.table(DueRow), "a log")
    full = [(700, f"{number:05d}") for number in range(PAGE_SIZE + 3)]
    rows = [(0, "b"), (0, "a"), (49, "c"), (50, "d"), *full, (1999, "e")]
    for number, (bucket, key) in enumerate(rows):
        # One group has more rows of a bucket than one read returns.
        site = "a.test" if bucket == 700 else f"s{number}.test"
        log.put(bucket, DueRow("", key, 0.0, Site(site), HostKey(f"http://{site}")))
    store.flush()
    found = RangedLog(store.table(DueRow), "a log", log.range_to_write())
    assert [row.key for row in found] == [key for _, key in sorted(rows)]


@pytest.mark.parametrize("before, after", [(4, 12), (12, 4), (8, 12), (48, 96)])
def test_key_group_is_in_one_partition_for_any_total(before: int, after: int) -> None:
    for partitions in (before, after):
        groups = [key_groups_of(number, partitions) for number in range(partitions)]
        assert sorted(group for some in groups for group in some) == [*range(KEY_GROUPS)]
        for site in ("a.test", "b.test", "xn--bcher-kva.example"):
            assert key_group_of(Site(site)) in key_groups_of(
                partition_of(site, partitions), partitions
            )
