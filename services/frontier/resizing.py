"""What is kept of partitions, for another number of them.

Rows of hosts and URLs, and the buckets of directory, calendars and parked URLs, name no partition.
What does is a few rows a partition: which buckets there are, totals, and sums over pages. The new
rows are written beside the old ones, so that this can be done again after a crash.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.log import key_group_of, key_groups_of
from gossamer.store import Store
from services.frontier import revisit
from services.frontier.bucketed_log import (
    NO_BUCKETS,
    BucketList,
    BucketRange,
    RangedLog,
    united,
)
from services.frontier.plans import calendar_name
from services.frontier.revisit import CrawlState
from services.frontier.rows import (
    Applied,
    DueRow,
    PartitionPlansRow,
    PartitionRow,
    PartitionTallyRow,
    TallyRow,
    partition_key,
)

SUMS = ("tokens", "pages", "unseen", "rates", "log_rates", "demand", "weights", "fresh", "age")
"""Of a crawl's state: sums over its pages."""


class Kept(NamedTuple):
    """What is kept of one partition."""

    buckets: PartitionRow
    shared: PartitionTallyRow
    totals: TallyRow
    plans: PartitionPlansRow


class Part(NamedTuple):
    """What a new partition has of an old one."""

    kept: Kept
    groups: frozenset[int]
    share: float
    """Of the old one's key groups."""
    is_heir: bool
    """Whether it gets the totals that cannot be divided: one of the new partitions does."""


def resize(store: Store, crawl: str, before: int, after: int) -> None:
    """Put the rows of *after* partitions that take the place of *before*, with the next flush."""
    if before == after:
        return
    found = [_read(store, crawl, number, before) for number in range(before)]
    generation = max(kept.plans.generation for kept in found)
    found = [kept._replace(plans=_renamed(store, kept.plans, generation)) for kept in found]
    for number in range(after):
        parts = _parts(found, number, before, after)
        key = partition_key(number, after)
        store.table(PartitionRow).put(_buckets(key, parts))
        store.table(PartitionTallyRow).put(_shared(key, parts))
        # Topics that get more partitions keep those that they have.
        judged = found[number].totals.judged if number < before < after else Applied()
        store.table(TallyRow).put(replace(_totals(crawl, key, parts), judged=judged))
        store.table(PartitionPlansRow).put(_plans(crawl, key, parts))


def drop_partitions(store: Store, crawl: str, partitions: int) -> None:
    """Drop what was kept of so many partitions, with the next flush."""
    for number in range(partitions):
        key = partition_key(number, partitions)
        for row in (PartitionRow, PartitionTallyRow):
            store.table(row).drop(key)
        for of_crawl in (TallyRow, PartitionPlansRow):
            store.table(of_crawl).drop((crawl, key))


def _read(store: Store, crawl: str, number: int, partitions: int) -> Kept:
    key = partition_key(number, partitions)
    return Kept(
        store.table(PartitionRow).get(key) or PartitionRow(key),
        store.table(PartitionTallyRow).get(key) or PartitionTallyRow(key),
        store.table(TallyRow).get((crawl, key)) or TallyRow(crawl, key),
        store.table(PartitionPlansRow).get((crawl, key)) or PartitionPlansRow(crawl, key),
    )


def _parts(found: list[Kept], number: int, before: int, after: int) -> list[Part]:
    ours = {*key_groups_of(number, after)}
    parts = list[Part]()
    for old, kept in enumerate(found):
        groups = {*key_groups_of(old, before)}
        if shared := ours & groups:
            heir = min(group % after for group in groups)
            share = len(shared) / len(groups)
            parts.append(Part(kept, frozenset(shared), share, heir == number))
    return parts


def _renamed(store: Store, plans: PartitionPlansRow, generation: int) -> PartitionPlansRow:
    """Return *plans* with its calendar under the name that all have: that of *generation*.

    It is another one where a policy has changed while nobody had the partition.
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


def _buckets(key: str, parts: list[Part]) -> PartitionRow:
    lists = [part.kept.buckets.directory for part in parts]
    groups = {group for part in parts for group in _ours(part, part.kept.buckets.directory.groups)}
    buckets = {bucket for found in lists for bucket in found.buckets} if groups else ()
    return PartitionRow(
        key,
        BucketList(tuple(sorted(buckets)), tuple(sorted(groups))),
        united(_range(part, part.kept.buckets.due) for part in parts),
        tuple(sorted(one for part in parts for one in _ours(part, part.kept.buckets.parked))),
    )


def _ours(part: Part, groups: Iterable[int]) -> tuple[int, ...]:
    return tuple(group for group in groups if group in part.groups)


def _range(part: Part, found: BucketRange) -> BucketRange:
    groups = _ours(part, found.groups)
    return BucketRange(found.first, found.last, groups) if groups else NO_BUCKETS


def _divided(part: Part, count: int) -> int:
    """Return the share of *count* that a part has: the heir has what is left by the others."""
    total = round(1 / part.share)
    return count - (total - 1) * (count // total) if part.is_heir else count // total


def _shared(key: str, parts: list[Part]) -> PartitionTallyRow:
    rows = [part.kept.shared for part in parts]
    conditions = Counter[str]()
    for part in parts:
        found = part.kept.shared.conditions
        conditions.update({name: _divided(part, count) for name, count in found.items()})
    return PartitionTallyRow(
        key,
        last_number=max(row.last_number for row in rows),
        orders=max(row.orders for row in rows),
        conditions=dict(conditions),
        slowest={host: took for row in rows for host, took in row.slowest.items()},
        largest={host: size for row in rows for host, size in row.largest.items()},
        due_count=sum(_divided(part, part.kept.shared.due_count) for part in parts),
        checked_out={
            host: site
            for part in parts
            for host, site in part.kept.shared.checked_out.items()
            if key_group_of(site) in part.groups
        },
    )


def _totals(crawl: str, key: str, parts: list[Part]) -> TallyRow:
    rows = [part.kept.totals for part in parts if part.is_heir]
    hours = dict[str, tuple[int, int, int]]()
    for row in rows:
        for hour, (new, changed, unchanged) in row.hours.items():
            a, b, c = hours.get(hour, (0, 0, 0))
            hours[hour] = (a + new, b + changed, c + unchanged)
    return TallyRow(
        crawl,
        key,
        admitted=sum(row.admitted for row in rows),
        queued=sum(_divided(part, part.kept.totals.queued) for part in parts),
        pages=sum(row.pages for row in rows),
        received=sum(row.received for row in rows),
        outcomes=_added(row.outcomes for row in rows),
        refused=_added(row.refused for row in rows),
        verdicts=_added(row.verdicts for row in rows),
        hazards=_added(row.hazards for row in rows),
        latest=tuple(visit for row in rows for visit in row.latest)[-10:],
        hours=hours,
    )


def _added(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    return dict(sum((Counter(one) for one in counts), Counter[str]()))


def _plans(crawl: str, key: str, parts: list[Part]) -> PartitionPlansRow:
    (first, *_) = rows = [part.kept.plans for part in parts]
    states = [
        _portion(revisit.unpack_crawl(part.kept.plans.statistics), part.share) for part in parts
    ]
    return PartitionPlansRow(
        crawl,
        key,
        policy=max(rows, key=lambda row: row.planned).policy,
        generation=first.generation,
        revisits=united(_range(part, part.kept.plans.revisits) for part in parts),
        moving=united(_range(part, part.kept.plans.moving) for part in parts),
        new=united(_range(part, part.kept.plans.new) for part in parts),
        waiting=sum(_divided(part, part.kept.plans.waiting) for part in parts),
        planned=sum(_divided(part, part.kept.plans.planned) for part in parts),
        spent=_added(part.kept.plans.spent for part in parts if part.is_heir),
        liars=sum(_divided(part, part.kept.plans.liars) for part in parts),
        statistics=revisit.pack(_together(states)),
    )


def _portion(state: CrawlState, share: float) -> CrawlState:
    """Return what a crawl's state is for a share of its pages."""
    sums = {name: getattr(state, name) * share for name in SUMS}
    curve = {cell: asked * share for cell, asked in state.curve.items()}
    return replace(state, visits=round(state.visits * share), curve=curve, **sums)


def _together(states: list[CrawlState]) -> CrawlState:
    """Return what the state is of the pages of all of *states*."""
    curve = Counter[int]()
    for state in states:
        for cell, asked in state.curve.items():
            curve[cell] += asked  # type: ignore[assignment]
    sums = {name: sum(getattr(state, name) for state in states) for name in SUMS}
    largest = max(states, key=lambda state: state.pages)
    visits = sum(state.visits for state in states)
    return replace(largest, visits=visits, curve=dict(curve), **sums)
