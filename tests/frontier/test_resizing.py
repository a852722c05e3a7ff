"""The rows of partitions are complete after resizing, for any numbers of partitions."""

from collections import Counter

import pytest

from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.log import key_group_of, key_groups_of, partition_of
from gossamer.log.control import ControlRow, control_row
from gossamer.services.frontier import revisit
from gossamer.services.frontier.partition.plans import calendar_name
from gossamer.services.frontier.procedures.resizing import crawls_in, drop_partitions, resize
from gossamer.services.frontier.revisit import CrawlState
from gossamer.services.frontier.tables.bucketed_log import BucketList, BucketRange, RangedLog
from gossamer.services.frontier.tables.partitions import PartitionRow, partition_key
from gossamer.services.frontier.tables.plans import DueRow, PartitionPlansRow
from gossamer.services.frontier.totals.daily import DailyTallyRow, HazardExample, HazardExamplesRow
from gossamer.services.frontier.totals.tally import PartitionTallyRow, TallyRow
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey, Site

SITES = [f"s{number}.test" for number in range(60)]


@pytest.fixture
def store() -> SqliteStore:
    return SqliteStore(Database(":memory:"))


def fill(store: SqliteStore, partitions: int, generations: tuple[int, ...] = (1,)) -> None:
    """Put rows of *partitions* partitions, each with a calendar of visits to its sites."""
    for number in range(partitions):
        key, groups = partition_key(number, partitions), key_groups_of(number, partitions)
        generation = generations[number % len(generations)]
        calendar = RangedLog(store.table(DueRow), calendar_name(DEFAULT_CRAWL, generation))
        for at, site in enumerate(SITES):
            if key_group_of(Site(site)) in groups:
                calendar.put(
                    at // 10, DueRow("", f"{at:04d}", at, Site(site), HostKey(f"http://{site}"))
                )
        revisits = calendar.range_to_write()
        due = BucketRange(number, number + 5, revisits.groups)
        row = PartitionRow(
            key,
            {DEFAULT_CRAWL: BucketList((number, 7), revisits.groups)},
            due,
            revisits.groups,
        )
        state = CrawlState(pages=12.0, demand=6.0, curve={-3: 2.4}, visits=12)
        plans = PartitionPlansRow(
            DEFAULT_CRAWL, key, "fixed:1d", generation, revisits, planned=13, waiting=7,
            spent={"a": 2}, statistics=revisit.pack(state),
        )  # fmt: skip
        sites = [Site(site) for site in SITES if key_group_of(Site(site)) in groups]
        out = {HostKey(f"http://{site}"): site for site in sites}
        shared = PartitionTallyRow(
            key, last_number=100 + number, orders=5, conditions={"idle": 11}, due_count=9,
            checked_out=out,
        )  # fmt: skip
        totals = TallyRow(DEFAULT_CRAWL, key, admitted=5, queued=10, outcomes={"page": 3})
        days = [DailyTallyRow(DEFAULT_CRAWL, key, day * 86400.0, admitted=2) for day in range(2)]
        urls = [HazardExample(f"http://{site}/", Site(site)) for site in out.values()]
        examples = HazardExamplesRow(DEFAULT_CRAWL, key, "redirect", 1.0, tuple(urls[:3]))
        for one in (row, plans, shared, totals, *days, examples):
            store.table(type(one)).put(one)
    store.flush()


@pytest.mark.parametrize("before, after", [(4, 12), (12, 4), (4, 48), (8, 12), (1, 2), (3, 2)])
def test_resizing_keeps_totals(store: SqliteStore, before: int, after: int) -> None:
    fill(store, before)
    resize(store, crawls_in(store), before, after)
    drop_partitions(store, crawls_in(store), before)
    store.flush()
    totals = [*store.table(TallyRow).everything()]
    shared = [*store.table(PartitionTallyRow).everything()]
    plans = [*store.table(PartitionPlansRow).everything()]
    assert sorted(row.partition for row in totals) == sorted(
        partition_key(number, after) for number in range(after)
    )
    assert sum(row.admitted for row in totals) == 5 * before
    days = [*store.table(DailyTallyRow).everything()]
    assert {row.partition for row in days} <= {row.partition for row in totals}
    for day in (0.0, 86400.0):
        assert sum(row.admitted for row in days if row.at == day) == 2 * before
    for examples in store.table(HazardExamplesRow).everything():
        number = int(examples.partition.partition("/")[0])
        assert all(partition_of(one.site, after) == number for one in examples.urls)
    assert sum(row.queued for row in totals) == 10 * before
    assert sum((Counter(row.outcomes) for row in totals), Counter()) == {"page": 3 * before}
    assert sum((Counter(row.conditions) for row in shared), Counter()) == {"idle": 11 * before}
    assert sum(row.due_count for row in shared) == 9 * before
    assert (sum(row.planned for row in plans), sum(row.waiting for row in plans)) == (
        13 * before,
        7 * before,
    )
    states = [revisit.unpack_crawl(row.statistics) for row in plans]
    assert sum(state.pages for state in states) == pytest.approx(12.0 * before)
    assert sum(state.curve[-3] for state in states) == pytest.approx(2.4 * before)


def test_resizing_keeps_the_totals_of_each_crawl(store: SqliteStore) -> None:
    fill(store, 4)
    definition = CrawlDefined(at=1.0, scope="any()", max_depth=1, crawl="b")
    store.table(ControlRow).put(control_row(definition))
    for number in range(4):
        store.table(TallyRow).put(TallyRow("b", partition_key(number, 4), admitted=number))
    store.flush()
    resize(store, crawls := crawls_in(store), 4, 3)
    drop_partitions(store, crawls, 4)
    store.flush()
    admitted = Counter[str]()
    for row in store.table(TallyRow).everything():
        admitted[row.crawl] += row.admitted
    assert admitted == {DEFAULT_CRAWL: 20, "b": 6}


@pytest.mark.parametrize("before, after", [(4, 12), (12, 4), (8, 12), (1, 96)])
@pytest.mark.parametrize("generations", [(1,), (1, 2), (0, 2, 1)])
def test_resized_partition_has_entries_of_its_sites_only(
    store: SqliteStore, before: int, after: int, generations: tuple[int, ...]
) -> None:
    fill(store, before, generations)
    for _ in range(2):  # Again, as after a crash.
        resize(store, crawls_in(store), before, after)
        store.flush()
    for number in range(after):
        key, groups = partition_key(number, after), key_groups_of(number, after)
        ours = [site for site in SITES if key_group_of(Site(site)) in groups]
        plans = store.table(PartitionPlansRow).get(key, DEFAULT_CRAWL)
        row, shared = store.table(PartitionRow).get(key), store.table(PartitionTallyRow).get(key)
        assert plans and row and shared
        name = calendar_name(DEFAULT_CRAWL, plans.generation)
        found = RangedLog(store.table(DueRow), name, plans.revisits)
        assert [entry.site for entry in found] == ours
        assert sorted(shared.checked_out.values()) == sorted(ours)
        named = {key_group_of(Site(one)) for one in ours}
        directory = row.directories.get(DEFAULT_CRAWL, BucketList())
        assert {*row.due.groups} == {*directory.groups} == {*row.parked} == named
        assert shared.last_number >= 100


def test_resizing_to_same_number_changes_nothing(store: SqliteStore) -> None:
    fill(store, 4)
    before = [*store.table(PartitionPlansRow).everything()]
    resize(store, [DEFAULT_CRAWL], 4, 4)
    store.flush()
    assert [*store.table(PartitionPlansRow).everything()] == before
