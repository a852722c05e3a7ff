"""Resizing: writes the rows of partitions for another number of partitions.

The rows of hosts and URLs, and the buckets of directory, calendars and parked URLs, do not name a
partition. Only a few rows per partition do: the lists of buckets, the totals, and sums over pages.
The new rows are written beside the old ones, so that resizing can be repeated after a crash.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from functools import reduce
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.log import key_group_of, key_groups_of
from gossamer.log.control import control_events
from gossamer.services.frontier import revisit
from gossamer.services.frontier.partition.plans import calendar_name
from gossamer.services.frontier.revisit import CrawlState
from gossamer.services.frontier.tables.bucketed_log import NO_BUCKETS, RangedLog
from gossamer.services.frontier.tables.partitions import PartitionRow, partition_key
from gossamer.services.frontier.tables.plans import DueRow, PartitionPlansRow
from gossamer.services.frontier.tables.totals import Portion, S, add, merge, portion_of
from gossamer.services.frontier.totals.daily import (
    MAX_EXAMPLES,
    DailyTallyRow,
    HazardExample,
    HazardExamplesRow,
)
from gossamer.services.frontier.totals.tally import PartitionTallyRow, TallyRow, scan_days
from gossamer.store import Store

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


class Part(NamedTuple):
    """The rows of an old partition, and the portion of them that a new partition gets."""

    rows: PartitionRows
    portion: Portion


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
        parts = _make_parts(found, number, before, after)
        key = partition_key(number, after)
        buckets = _join(PartitionRow(key), parts, lambda rows: rows.buckets)
        store.table(PartitionRow).put(buckets)
        shared = _join(PartitionTallyRow(key), parts, lambda rows: rows.shared)
        store.table(PartitionTallyRow).put(shared)
        totals = _join(TallyRow(crawl, key), parts, lambda rows: rows.totals)
        # A topic that gets more partitions keeps its old partitions and their offsets, so the
        # verdicts that an old partition has counted stay counted.
        if number < before < after:
            totals.applied_verdicts = found[number].totals.applied_verdicts
        store.table(TallyRow).put(totals)
        store.table(PartitionPlansRow).put(_make_plans_row(crawl, key, parts))
        for day in _make_days(crawl, key, parts):
            store.table(DailyTallyRow).put(day)
        for examples in _make_examples(crawl, key, parts):
            store.table(HazardExamplesRow).put(examples)


def drop_partitions(store: Store, crawls: Collection[str], partitions: int) -> None:
    """Drop the rows of *crawls* with this number of *partitions*, with the next flush."""
    for number in range(partitions):
        key = partition_key(number, partitions)
        for row in (PartitionRow, PartitionTallyRow, TallyRow, PartitionPlansRow):
            store.table(row).drop(key)
        for of_crawl in (DailyTallyRow, HazardExamplesRow):
            for crawl in crawls:
                store.table(of_crawl).drop((crawl, key))


def _read(store: Store, crawl: str, number: int, partitions: int) -> PartitionRows:
    key = partition_key(number, partitions)
    return PartitionRows(
        store.table(PartitionRow).get(key) or PartitionRow(key),
        store.table(PartitionTallyRow).get(key) or PartitionTallyRow(key),
        store.table(TallyRow).get(key, crawl) or TallyRow(crawl, key),
        store.table(PartitionPlansRow).get(key, crawl) or PartitionPlansRow(crawl, key),
        scan_days(store, crawl, key),
        store.table(HazardExamplesRow).scan((crawl, key)),
    )


def _make_parts(found: list[PartitionRows], number: int, before: int, after: int) -> list[Part]:
    new_groups = {*key_groups_of(number, after)}
    parts = list[Part]()
    for old, rows in enumerate(found):
        groups = {*key_groups_of(old, before)}
        if shared := new_groups & groups:
            heir = min(group % after for group in groups)
            share = len(shared) / len(groups)
            parts.append(Part(rows, Portion(frozenset(shared), share, heir == number)))
    return parts


def _join(empty: S, parts: list[Part], row_of: Callable[[PartitionRows], S]) -> S:
    """Return the row of a new partition from the portions of old rows; *empty*: without them."""
    portions = (portion_of(row_of(part.rows), empty, part.portion) for part in parts)
    return merge(empty, *portions)


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


def _make_days(crawl: str, key: str, parts: list[Part]) -> list[DailyTallyRow]:
    days = defaultdict[float, list[DailyTallyRow]](list)
    for row in (day for part in parts if part.portion.is_heir for day in part.rows.days):
        days[row.at].append(row)
    return [merge(DailyTallyRow(crawl, key, at), *rows) for at, rows in days.items()]


def _make_examples(crawl: str, key: str, parts: list[Part]) -> list[HazardExamplesRow]:
    """Return the examples of the sites of a new partition, whose frontier erases them on demand."""
    found = dict[str, tuple[float, list[HazardExample]]]()
    for part in parts:
        for row in part.rows.examples:
            at, urls = found.get(row.hazard, (row.at, []))
            urls += [one for one in row.urls if key_group_of(one.site) in part.portion.groups]
            found[row.hazard] = max(at, row.at), urls
    return [
        HazardExamplesRow(crawl, key, hazard, at, tuple(urls[:MAX_EXAMPLES]))
        for hazard, (at, urls) in found.items()
        if urls
    ]


def _make_plans_row(crawl: str, key: str, parts: list[Part]) -> PartitionPlansRow:
    largest = max((part.rows.plans for part in parts), key=lambda row: row.planned)
    states = [
        _scale_state(revisit.unpack_crawl(part.rows.plans.statistics), part.portion.share)
        for part in parts
    ]
    return replace(
        _join(PartitionPlansRow(crawl, key), parts, lambda rows: rows.plans),
        policy=largest.policy,
        statistics=revisit.pack(_merge_states(states)),
    )


def _scale_state(state: CrawlState, share: float) -> CrawlState:
    """Return the state of a crawl for a *share* of its pages."""
    sums = {name: getattr(state, name) * share for name in SUMS}
    curve = {cell: rate * share for cell, rate in state.curve.items()}
    return replace(state, visits=round(state.visits * share), curve=curve, **sums)


def _merge_states(states: list[CrawlState]) -> CrawlState:
    """Return the state of a crawl for the pages of all *states*."""
    curve = reduce(add, (state.curve for state in states))
    sums = {name: sum(getattr(state, name) for state in states) for name in SUMS}
    largest = max(states, key=lambda state: state.pages)
    visits = sum(state.visits for state in states)
    return replace(largest, visits=visits, curve=curve, **sums)
