"""Aligns a log and a store after one of them was replaced by an older state.

A group returns to the positions up to which the store includes its records. Later records are
handled again, as after a crash. Records that the log no longer has are lost, and reported.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.log import KEY_GROUPS, At, GroupPosition, Log
from gossamer.runtime.positions import PositionRow
from gossamer.runtime.processor import Processor
from gossamer.store import Store


@dataclass(frozen=True)
class Alignment:
    """The result for a group. Everything is empty if store and log agreed."""

    group: str
    moved: Mapping[At, int]
    """The altered offsets of the group, by topic and partition."""
    repeated: int = 0
    """Number of records that are handled again."""
    deleted: int = 0
    """Number of records that the store does not include and that the log no longer has."""
    lost: int = 0
    """Number of records that the store or the group has handled, and that the log lacks because it
    was replaced by an older one."""
    rows: Sequence[PositionRow] = ()
    """The new positions."""


def align(
    group: str, standing: Mapping[At, GroupPosition], rows: Iterable[PositionRow], may_lack: bool
) -> Alignment:
    """Return the changes that align *group* with the store, whose positions are *rows*.

    *may_lack*: rows may be missing, because the group handles records without storing positions.
    The committed offset then counts as the position of a partition without a row.
    """
    rows = [*rows]
    stored = {(topic, int(row.partition)): at for row in rows for topic, at in row.offsets.items()}
    known = {int(row.partition) for row in rows}
    moved, positions = dict[At, int](), dict[At, int]()
    repeated = deleted = lost = 0
    for at, (committed, start, end) in sorted(standing.items()):
        position = committed if may_lack and at[1] not in known else stored.get(at, 0)
        target = max(min(committed, max(position, start), end), min(start, end))
        lost += max(0, max(position, committed) - end)
        deleted += max(0, start - position)
        repeated += max(0, min(committed, end) - target)
        if target != committed:
            moved[at] = target
        if position < target or position > end:
            positions[at] = target
    for at in stored.keys() - standing.keys():
        # Without committed offsets, the group starts with the oldest record.
        if stored[at]:
            lost += stored[at]
            positions[at] = 0
    changed = dict[int, dict[str, int]]()
    for (topic, number), offset in (stored | positions).items():
        changed.setdefault(number, {})[topic] = offset
    numbers = {number for _, number in positions}
    new = [PositionRow(group, str(number), changed[number]) for number in sorted(numbers)]
    return Alignment(group, moved, repeated, deleted, lost, new)


def forget_positions(store: Store, group: str, topics: Collection[str]) -> None:
    """Forget the positions of *group* on recreated *topics* with the next flush."""
    table = store.table(PositionRow)
    for row in table.get_all([((group, str(number)), "") for number in range(KEY_GROUPS)]):
        left = {topic: at for topic, at in row.offsets.items() if topic not in topics}
        table.put(replace(row, offsets=left))


def align_group(log: Log, store: Store, service: type[Processor], is_new: bool) -> Alignment:
    """Align the group of *service* on *log* and *store*, and return the changes.

    The rows are flushed with the next flush of *store*. *is_new*: the store was empty.
    """
    aligned = compare_group(log, store, service, is_new)
    if aligned.moved:
        log.move(service.name, aligned.moved)
    for row in aligned.rows:
        store.table(PositionRow).put(row)
    return aligned


def skip_gaps(log: Log, group: str, topics: Sequence[str]) -> Alignment:
    """Move *group*, which stores nothing, past deleted records."""
    skipped = align(group, log.group_positions(group, topics), (), may_lack=True)
    if skipped.moved:
        log.move(group, skipped.moved)
    return skipped


def compare_group(log: Log, store: Store, service: type[Processor], is_new: bool) -> Alignment:
    """Return the changes that would align the group of *service* on *log* and *store*.

    Members of the group may be running. *is_new*: the store was empty.
    """
    group, topics = service.name, [topic.name for topic in service.reads]
    # All of them grow while members run. Committed offsets are read first and ends last, so that no
    # position seems to be behind the former or beyond the latter.
    before = log.group_positions(group, topics)
    numbers = sorted({*range(log.partitions), *(number for _, number in before)})
    rows = store.table(PositionRow).get_all([((group, str(number)), "") for number in numbers])
    after = log.group_positions(group, topics)
    standing = {at: one._replace(end=after[at].end) for at, one in before.items() if at in after}
    return align(group, standing, rows, service.has_other_engine and not is_new)
