"""Brings a log and a store together again of which one was replaced by an older state.

A group goes back to where the store has what followed from its records: they are handled once more,
as after a crash. What the log does not have any more is lost, and said to be.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from gossamer.log import KEY_GROUPS, At, Log, Standing
from gossamer.runtime.positions import PositionRow
from gossamer.runtime.processor import Processor
from gossamer.store import Store


@dataclass(frozen=True)
class Aligned:
    """What became of a group; all empty if store and log were in step."""

    group: str
    moved: Mapping[At, int]
    """Where the group went back, and to which offset."""
    repeated: int = 0
    """Records that are handled again."""
    deleted: int = 0
    """Records that were not handled, or are not in the store, and that the log has no longer."""
    lost: int = 0
    """Records that an older log lacks, and that the store or the group has seen."""
    rows: Sequence[PositionRow] = ()
    """The positions as they are now."""


def align(
    group: str, standing: Mapping[At, Standing], rows: Iterable[PositionRow], may_lack: bool
) -> Aligned:
    """Return what brings *group* and the store together, whose positions are *rows*.

    *may_lack*: a partition without a row is where the group is.
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
        # A log that knows nothing of the group: it begins with the oldest record.
        if stored[at]:
            lost += stored[at]
            positions[at] = 0
    changed = dict[int, dict[str, int]]()
    for (topic, number), offset in (stored | positions).items():
        changed.setdefault(number, {})[topic] = offset
    numbers = {number for _, number in positions}
    new = [PositionRow(group, str(number), changed[number]) for number in sorted(numbers)]
    return Aligned(group, moved, repeated, deleted, lost, new)


def forget_positions(store: Store, group: str, topics: Collection[str]) -> None:
    """Forget the positions of *group* on *topics*, which were recreated, with the next flush."""
    table = store.table(PositionRow)
    for row in table.get_all([((group, str(number)), "") for number in range(KEY_GROUPS)]):
        left = {topic: at for topic, at in row.offsets.items() if topic not in topics}
        table.put(replace(row, offsets=left))


def align_group(log: Log, store: Store, service: type[Processor], is_new: bool) -> Aligned:
    """Bring the group of *service* on *log* and *store* together; return what that took.

    The rows are flushed with the next flush of *store*. *is_new*: the store was empty.
    """
    aligned = compare_group(log, store, service, is_new)
    if aligned.moved:
        log.move(service.name, aligned.moved)
    for row in aligned.rows:
        store.table(PositionRow).put(row)
    return aligned


def skip_gaps(log: Log, group: str, topics: Sequence[str]) -> Aligned:
    """Have *group*, which keeps nothing in the store, go on behind records that were deleted."""
    skipped = align(group, log.standing(group, topics), (), may_lack=True)
    if skipped.moved:
        log.move(group, skipped.moved)
    return skipped


def compare_group(log: Log, store: Store, service: type[Processor], is_new: bool) -> Aligned:
    """Return what would bring the group of *service* on *log* and *store* together.

    Its members may be running. *is_new*: the store was empty.
    """
    group, topics = service.name, [topic.name for topic in service.reads]
    # What is committed is read before the positions, and the ends after them: each grows.
    before = log.standing(group, topics)
    numbers = sorted({*range(log.partitions), *(number for _, number in before)})
    rows = store.table(PositionRow).get_all([((group, str(number)), "") for number in numbers])
    after = log.standing(group, topics)
    standing = {at: one._replace(end=after[at].end) for at, one in before.items() if at in after}
    return align(group, standing, rows, service.has_other_engine and not is_new)
