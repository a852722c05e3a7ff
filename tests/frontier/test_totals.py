"""Totals: the rules of their fields, and the counts of several partitions together."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from gossamer.events import DEFAULT_CRAWL, Discovery, Outcome, Verdict
from gossamer.events.hazards import Hazard
from gossamer.log import key_group_of, key_groups_of
from gossamer.services.frontier.tables.harvest import HarvestPoint
from gossamer.services.frontier.tables.plans import PartitionPlansRow
from gossamer.services.frontier.tables.totals import (
    MAX,
    MIN,
    SUM,
    Portion,
    merge,
    portion_of,
    rules_of,
)
from gossamer.services.frontier.totals.daily import (
    DailyTallyRow,
    Downloads,
    FreshnessSums,
    HazardCount,
)
from gossamer.services.frontier.totals.tally import PartitionTallyRow, Tally, TallyRow
from gossamer.sqlite import Database
from gossamer.store import keys_of
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey, Site, site_of
from tests.frontier.test_daily import MORNING, make_verdict, make_visit

counts = st.integers(0, 9)
amounts = counts.map(float)
names = st.sampled_from("abc")
hosts = st.sampled_from([HostKey(f"http://{site}.test") for site in "abcdef"])
by_name = partial(st.dictionaries, names)
ROWS: dict[Any, st.SearchStrategy[Any]] = {
    TallyRow: st.builds(
        TallyRow, st.just("c"), st.just("0/4"), counts, counts, counts, counts,
        outcomes=by_name(counts), parked=by_name(st.integers(-9, 9)), failed_urls=by_name(hosts),
        latest=st.lists(st.tuples(hosts, names), max_size=10).map(tuple),
        hours=by_name(st.tuples(counts, counts, counts)),
        harvest=st.lists(st.builds(HarvestPoint, amounts, counts), max_size=3).map(tuple),
        today=st.none() | st.builds(DailyTallyRow, st.just("c"), st.just("0/4"), amounts, counts),
    ),
    PartitionTallyRow: st.builds(
        PartitionTallyRow, st.just("0/4"), counts, counts, conditions=by_name(counts),
        slowest=st.dictionaries(hosts, amounts), next_due_at=st.none() | amounts, due_count=counts,
    ),
    DailyTallyRow: st.builds(
        DailyTallyRow, st.just("c"), st.just("0/4"), st.just(0.0), counts,
        statuses=by_name(st.builds(Downloads, counts, counts)),
        hazards=by_name(st.builds(HazardCount, counts, counts)),
        seconds=by_name(amounts), freshness=st.builds(FreshnessSums, counts, amounts),
    ),
    PartitionPlansRow: st.builds(
        PartitionPlansRow, st.just("c"), st.just("0/4"), planned=counts, waiting=counts,
        next_at=st.none() | amounts, spent=by_name(counts),
    ),
}  # fmt: skip
"""Totals, with counts that add up exactly."""
of_each_kind = pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
any_order = settings(deadline=None, max_examples=30)


@pytest.fixture(scope="module")
def store() -> Iterator[SqliteStore]:
    """Return a store in memory, which the examples of a test share."""
    database = Database(":memory:")
    yield SqliteStore(database)
    database.close()


def sums_of(row: Struct) -> dict[str, Any]:
    """Return the fields of *row* whose values do not depend on the order of counting."""
    rules = rules_of(type(row)).items()
    ordered = SUM.merge, MAX.merge, MIN.merge
    return {name: getattr(row, name) for name, rule in rules if rule.merge in ordered}


@of_each_kind
@given(data=st.data())
@any_order
def test_totals_do_not_depend_on_the_order_in_which_they_are_merged(
    kind: Any, data: st.DataObject
) -> None:
    first, second, third = (data.draw(ROWS[kind]) for _ in range(3))
    together = sums_of(merge(first, second, third))
    assert sums_of(merge(merge(first, second), third)) == together
    assert sums_of(merge(first, merge(second, third))) == together
    assert sums_of(merge(third, first, second)) == together


@of_each_kind
@given(data=st.data())
@any_order
def test_stored_totals_are_read_as_they_were_counted(
    kind: Any, store: SqliteStore, data: st.DataObject
) -> None:
    row = data.draw(ROWS[kind])
    store.table(kind).put(row)
    store.flush()
    assert store.table(kind).get(*keys_of(row)) == row


@of_each_kind
@given(data=st.data(), partitions=st.sampled_from([1, 2, 3, 12]))
@any_order
def test_portions_of_totals_add_up_to_them(kind: Any, data: st.DataObject, partitions: int) -> None:
    row, old = data.draw(ROWS[kind]), {*key_groups_of(0, 1)}
    groups = [frozenset(old & {*key_groups_of(n, partitions)}) for n in range(partitions)]
    empty = kind(
        *(getattr(row, name) for name in ("crawl", "partition", "at") if hasattr(row, name))
    )
    portions = [
        portion_of(row, empty, Portion(some, len(some) / len(old), is_heir=not number))
        for number, some in enumerate(groups)
    ]
    assert sums_of(merge(empty, *portions)) == sums_of(merge(empty, row))
    listed = [name for name in ("latest", "failed_urls", "slowest") if hasattr(row, name)]
    for name in listed:
        assert sum(len(getattr(one, name)) for one in portions) == len(getattr(row, name))
    for some, portion in zip(groups, portions, strict=True):
        found = [*getattr(portion, "slowest", {}), *getattr(portion, "failed_urls", {}).values()]
        found += [url for url, _ in getattr(portion, "latest", ())]
        assert all(key_group_of(site_of(url)) in some for url in found)


def count_something(tally: Tally, kind: int) -> None:
    """Count one of several events in *tally*."""
    url = f"http://{kind}.test/"
    match kind:
        case 0:
            tally.count_visit(make_visit(content_type="text/html"))
        case 1:
            tally.count_visit(make_visit(404, outcome=Outcome.GONE, received=5))
        case 2:
            tally.count_verdict(make_verdict(Verdict.FIRST), None)
        case 3:
            tally.count_refused(Hazard.TRAP_URLS)
            tally.daily.count_hazards(url, Site("3.test"), ["trap_urls"], ["trap_urls"], True)
        case 4:
            tally.count_parked("budget", 3)
        case _:
            tally.count_parked("budget", -2)
            tally.count_admitted([Discovery(url)], MORNING)
            tally.daily.count_admitted(1)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.booleans())))
@any_order
def test_partitions_together_count_what_one_would_count(
    events: list[tuple[int, int, bool]],
) -> None:
    store = SqliteStore(Database(":memory:"))
    open_tally = partial(Tally, DEFAULT_CRAWL, store=store, now=MORNING)
    whole, parts = open_tally("0/1"), [open_tally(f"{number}/3") for number in range(3)]
    for kind, number, writes in events:
        for tally in (whole, parts[number]):
            count_something(tally, kind)
        if writes:
            parts[number].write()
            parts[number] = open_tally(f"{number}/3")
    for tally in (whole, *parts):
        tally.write()
    empty = TallyRow(DEFAULT_CRAWL, "0/1"), DailyTallyRow(DEFAULT_CRAWL, "0/1", whole.daily.row.at)
    totals = merge(empty[0], *(tally.row for tally in parts))
    assert sums_of(totals) | {"parked": None} == sums_of(whole.row) | {"parked": None}
    assert {name: n for name, n in totals.parked.items() if n} == whole.row.parked
    assert merge(HarvestPoint(), *totals.harvest) == merge(HarvestPoint(), *whole.row.harvest)
    days = merge(empty[1], *(tally.daily.row for tally in parts))
    assert sums_of(days) == sums_of(whole.daily.row)


def test_counting_after_a_write_does_not_change_the_written_row(store: SqliteStore) -> None:
    tally = Tally(DEFAULT_CRAWL, "1/4", store, MORNING)
    tally.count_refused(Hazard.TRAP_URLS)
    tally.write()
    tally.count_refused(Hazard.TRAP_URLS)
    written = store.table(TallyRow).get("1/4", DEFAULT_CRAWL)
    assert written and written.refused == {Hazard.TRAP_URLS: 1}
    assert tally.row.refused == {Hazard.TRAP_URLS: 2}
