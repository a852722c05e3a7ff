"""Resizing: writes the rows of partitions for another number of partitions.

The rows of hosts and URLs, and the buckets of directory, calendars and parked URLs, do not name a
partition. Only a few rows per partition do: the lists of buckets, the totals, and sums over pages.
The new rows are written beside the old ones, so that resizing can be repeated after a crash.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.log import key_group_of, key_groups_of
from gossamer.log.control import control_events
from gossamer.store import Store
from services.frontier import revisit
from services.frontier.partition.plans import calendar_name
from services.frontier.revisit import CrawlState
from services.frontier.tables.bucketed_log import (
    NO_BUCKETS,
    BucketList,
    BucketRange,
    RangedLog,
    merge_ranges,
)
from services.frontier.tables.harvest import merge_curves
from services.frontier.tables.hosts import AppliedRecords
from services.frontier.tables.partitions import PartitionRow, partition_key
from services.frontier.tables.plans import DueRow, PartitionPlansRow
from services.frontier.totals.daily import (
    MAX_EXAMPLES,
    DailyTallyRow,
    HazardExample,
    HazardExamplesRow,
    add_days,
    scan_days,
)
from services.frontier.totals.tally import PartitionTallyRow, TallyRow

SUMS = ("tokens", "pages", "unseen", "rates", "log_rates", "demand", "weights", "fresh", "age")
"""Fields of a crawl's state that are sums over its pages."""


class PartitionRows(NamedTuple):
    """The rows of one partition."""

    buckets: PartitionRow
    shared: PartitionTallyRow
    totals: TallyRow
    plans: PartitionPlansRow
    days: list[DailyTallyRow]
    examples: list[HazardExamplesRow]


class Portion(NamedTuple):
    """The part of an old partition that one new partition gets."""

    rows: PartitionRows
    groups: frozenset[int]
    share: float
    """The share of the old partition's key groups."""
    is_heir: bool
    """Whether the new partition gets those totals of the old one that cannot be divided. Each old
    partition has one heir."""


def crawls_in(store: Store) -> list[str]:
    """Return the ids of all crawls that were ever defined, by the control events in *store*."""
    defined = {event.crawl for event in control_events(store) if isinstance(event, CrawlDefined)}
    return sorted(defined | {DEFAULT_CRAWL})


def resize(store: Store, crawls: Iterable[str], before: int, after: int) -> None:
    """Put the rows of *after* partitions in place of *before* partitions, with the next flush."""
    if before == after:
        return
    for crawl in crawls:
        # The rows that crawls share are put once for each crawl, with the same values.
        _resize(store, crawl, before, after)


def _resize(store: Store, crawl: str, before: int, after: int) -> None:
    found = [_read(store, crawl, number, before) for number in range(before)]
    generation = max(rows.plans.generation for rows in found)
    found = [rows._replace(plans=_rename_calendar(store, rows.plans, generation)) for rows in found]
    for number in range(after):
        parts = _make_portions(found, number, before, after)
        key = partition_key(number, after)
        store.table(PartitionRow).put(_make_partition_row(key, parts))
        store.table(PartitionTallyRow).put(_make_partition_tally(key, parts))
        # A topic that gets more partitions keeps its old partitions and their offsets, so the
        # verdicts that an old partition has counted stay counted.
        verdicts = (
            found[number].totals.applied_verdicts if number < before < after else AppliedRecords()
        )
        store.table(TallyRow).put(
            replace(_make_tally(crawl, key, parts), applied_verdicts=verdicts)
        )
        store.table(PartitionPlansRow).put(_make_plans_row(crawl, key, parts))
        for day in _make_days(key, parts):
            store.table(DailyTallyRow).put(day)
        for examples in _make_examples(crawl, key, parts):
            store.table(HazardExamplesRow).put(examples)


def drop_partitions(store: Store, crawls: Collection[str], partitions: int) -> None:
    """Drop the rows of *crawls* with this number of *partitions*, with the next flush."""
    for number in range(partitions):
        key = partition_key(number, partitions)
        for row in (PartitionRow, PartitionTallyRow):
            store.table(row).drop(key)
        for of_crawl in (TallyRow, PartitionPlansRow, DailyTallyRow, HazardExamplesRow):
            for crawl in crawls:
                store.table(of_crawl).drop((crawl, key))


def _read(store: Store, crawl: str, number: int, partitions: int) -> PartitionRows:
    key = partition_key(number, partitions)
    return PartitionRows(
        store.table(PartitionRow).get(key) or PartitionRow(key),
        store.table(PartitionTallyRow).get(key) or PartitionTallyRow(key),
        store.table(TallyRow).get((crawl, key)) or TallyRow(crawl, key),
        store.table(PartitionPlansRow).get((crawl, key)) or PartitionPlansRow(crawl, key),
        scan_days(store, crawl, key),
        store.table(HazardExamplesRow).scan((crawl, key)),
    )


def _make_portions(
    found: list[PartitionRows], number: int, before: int, after: int
) -> list[Portion]:
    new_groups = {*key_groups_of(number, after)}
    parts = list[Portion]()
    for old, rows in enumerate(found):
        groups = {*key_groups_of(old, before)}
        if shared := new_groups & groups:
            heir = min(group % after for group in groups)
            share = len(shared) / len(groups)
            parts.append(Portion(rows, frozenset(shared), share, heir == number))
    return parts


def _rename_calendar(store: Store, plans: PartitionPlansRow, generation: int) -> PartitionPlansRow:
    """Return *plans* with its entries in the calendar of *generation*, so that all partitions have
    the same generation.

    The generation of *plans* is older if the policy changed while no frontier had the partition.
    """
    if plans.generation == generation:
        return plans
    dues = store.table(DueRow)
    into = RangedLog(dues, calendar_name(plans.crawl, generation))
    for former, found in ((1, plans.moving), (0, plans.revisits)):
        name = calendar_name(plans.crawl, plans.generation - former)
        for entry in RangedLog(dues, name, found):
            into.put(int(entry.bucket.rpartition("/")[2]), entry)
    return replace(plans, generation=generation, revisits=into.range_to_write(), moving=NO_BUCKETS)


def _make_partition_row(key: str, parts: list[Portion]) -> PartitionRow:
    crawls = {crawl for part in parts for crawl in part.rows.buckets.directories}
    directories = {crawl: _merge_directories(crawl, parts) for crawl in sorted(crawls)}
    return PartitionRow(
        key,
        {crawl: found for crawl, found in directories.items() if found.groups},
        merge_ranges(_range_of_portion(part, part.rows.buckets.due) for part in parts),
        tuple(
            sorted(
                one for part in parts for one in _groups_of_portion(part, part.rows.buckets.parked)
            )
        ),
    )


def _merge_directories(crawl: str, parts: list[Portion]) -> BucketList:
    """Return the buckets of the directory of *crawl* in a new partition."""
    buckets, groups = set[int](), set[int]()
    for part in parts:
        found = part.rows.buckets.directories.get(crawl, BucketList())
        buckets |= {*found.buckets}
        groups |= {*_groups_of_portion(part, found.groups)}
    return BucketList(tuple(sorted(buckets)), tuple(sorted(groups)))


def _groups_of_portion(part: Portion, groups: Iterable[int]) -> tuple[int, ...]:
    return tuple(group for group in groups if group in part.groups)


def _range_of_portion(part: Portion, found: BucketRange) -> BucketRange:
    groups = _groups_of_portion(part, found.groups)
    return BucketRange(found.first, found.last, groups) if groups else NO_BUCKETS


def _divide(part: Portion, count: int) -> int:
    """Return the portion of *count* for a new partition. The heir gets the remainder."""
    total = round(1 / part.share)
    return count - (total - 1) * (count // total) if part.is_heir else count // total


def _make_partition_tally(key: str, parts: list[Portion]) -> PartitionTallyRow:
    rows = [part.rows.shared for part in parts]
    conditions = Counter[str]()
    for part in parts:
        found = part.rows.shared.conditions
        conditions.update({name: _divide(part, count) for name, count in found.items()})
    return PartitionTallyRow(
        key,
        last_number=max(row.last_number for row in rows),
        orders=max(row.orders for row in rows),
        conditions=dict(conditions),
        slowest={host: took for row in rows for host, took in row.slowest.items()},
        largest={host: size for row in rows for host, size in row.largest.items()},
        due_count=sum(_divide(part, part.rows.shared.due_count) for part in parts),
        checked_out={
            host: site
            for part in parts
            for host, site in part.rows.shared.checked_out.items()
            if key_group_of(site) in part.groups
        },
    )


def _make_tally(crawl: str, key: str, parts: list[Portion]) -> TallyRow:
    rows = [part.rows.totals for part in parts if part.is_heir]
    hours = dict[str, tuple[int, int, int]]()
    for row in rows:
        for hour, (new, changed, unchanged) in row.hours.items():
            a, b, c = hours.get(hour, (0, 0, 0))
            hours[hour] = (a + new, b + changed, c + unchanged)
    return TallyRow(
        crawl,
        key,
        admitted=sum(row.admitted for row in rows),
        queued=sum(_divide(part, part.rows.totals.queued) for part in parts),
        pages=sum(row.pages for row in rows),
        received=sum(row.received for row in rows),
        outcomes=_add_counts(row.outcomes for row in rows),
        refused=_add_counts(row.refused for row in rows),
        verdicts=_add_counts(row.verdicts for row in rows),
        hazards=_add_counts(row.hazards for row in rows),
        parked=_add_counts(row.parked for row in rows),
        latest=tuple(visit for row in rows for visit in row.latest)[-10:],
        failed_urls={name: url for row in rows for name, url in row.failed_urls.items()},
        hours=hours,
        harvest=merge_curves(row.harvest for row in rows),
    )


def _make_days(key: str, parts: list[Portion]) -> list[DailyTallyRow]:
    days = dict[float, DailyTallyRow]()
    for row in (day for part in parts if part.is_heir for day in part.rows.days):
        before = days.get(row.at)
        days[row.at] = add_days(before, row) if before else replace(row, partition=key)
    return [*days.values()]


def _make_examples(crawl: str, key: str, parts: list[Portion]) -> list[HazardExamplesRow]:
    """Return the examples of the sites of a new partition, whose frontier erases them on demand."""
    found = dict[str, tuple[float, list[HazardExample]]]()
    for part in parts:
        for row in part.rows.examples:
            at, urls = found.get(row.hazard, (row.at, []))
            urls += [one for one in row.urls if key_group_of(one.site) in part.groups]
            found[row.hazard] = max(at, row.at), urls
    return [
        HazardExamplesRow(crawl, key, hazard, at, tuple(urls[:MAX_EXAMPLES]))
        for hazard, (at, urls) in found.items()
        if urls
    ]


def _add_counts(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    return dict(sum((Counter(one) for one in counts), Counter[str]()))


def _make_plans_row(crawl: str, key: str, parts: list[Portion]) -> PartitionPlansRow:
    (first, *_) = rows = [part.rows.plans for part in parts]
    states = [
        _scale_state(revisit.unpack_crawl(part.rows.plans.statistics), part.share) for part in parts
    ]
    return PartitionPlansRow(
        crawl,
        key,
        policy=max(rows, key=lambda row: row.planned).policy,
        generation=first.generation,
        revisits=merge_ranges(_range_of_portion(part, part.rows.plans.revisits) for part in parts),
        moving=merge_ranges(_range_of_portion(part, part.rows.plans.moving) for part in parts),
        first_visits=merge_ranges(
            _range_of_portion(part, part.rows.plans.first_visits) for part in parts
        ),
        waiting=sum(_divide(part, part.rows.plans.waiting) for part in parts),
        planned=sum(_divide(part, part.rows.plans.planned) for part in parts),
        spent=_add_counts(part.rows.plans.spent for part in parts if part.is_heir),
        distrusted_hosts=sum(_divide(part, part.rows.plans.distrusted_hosts) for part in parts),
        statistics=revisit.pack(_merge_states(states)),
    )


def _scale_state(state: CrawlState, share: float) -> CrawlState:
    """Return the state of a crawl for a *share* of its pages."""
    sums = {name: getattr(state, name) * share for name in SUMS}
    curve = {cell: rate * share for cell, rate in state.curve.items()}
    return replace(state, visits=round(state.visits * share), curve=curve, **sums)


def _merge_states(states: list[CrawlState]) -> CrawlState:
    """Return the state of a crawl for the pages of all *states*."""
    curve = Counter[int]()
    for state in states:
        for cell, rate in state.curve.items():
            curve[cell] += rate  # type: ignore[assignment]
    sums = {name: sum(getattr(state, name) for state in states) for name in SUMS}
    largest = max(states, key=lambda state: state.pages)
    visits = sum(state.visits for state in states)
    return replace(largest, visits=visits, curve=dict(curve), **sums)
