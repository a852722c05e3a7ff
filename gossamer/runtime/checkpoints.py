"""Checkpoints in the store, which detect a restored store or log, and the alignment of the two.

A step flushes the effects of its records before it commits their offsets. The flush includes the
*checkpoint* in each partition, so the checkpoint in the store is never less than the committed
offset. If it is less, the store was restored from an older backup, and the effects of the records
between the two offsets would be lost silently. If the checkpoint is beyond the end of the
partition, the log was restored from an older backup, or has lost records.

`align_group` sets the offsets of a group to the checkpoints in the store. Later records are handled
again, as after a crash. Records that the log no longer has are lost, and reported.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec import field
from msgspec.structs import replace

from gossamer.errors import GossamerError
from gossamer.log import KEY_GROUPS, At, GroupOffsets, Log, Record
from gossamer.runtime.processor import Processor
from gossamer.store import Row, Store


class CheckpointRow(Row, frozen=True):
    """The offsets up to which the store has the results of a group, in one partition: the store
    includes the effects of all earlier records."""

    table = "checkpoints"
    partition_key = "group", "partition"
    about = ()

    group: str
    partition: str
    """The number of the partition."""
    offsets: dict[str, int] = field(default_factory=dict)
    """Topic → the offset of the first record whose effects the store does not include."""
    quiesced: str | None = None
    """The id of the event `fleet_quiesced` since which nothing is written for the partition. None
    while its member works."""


class Checkpoints:
    """The checkpoints in *store* of the group of *processor*, which reads *log*."""

    def __init__(self, log: Log, store: Store, processor: Processor) -> None:
        self._log, self._group = log, processor.name
        self._topics = [topic.name for topic in processor.reads]
        self._may_be_missing = processor.has_other_engine
        self._rows = store.table(CheckpointRow)
        self._ours = frozenset[int]()
        self._checkpoints: dict[int, CheckpointRow] = {}

    def assign(self, partitions: frozenset[int]) -> None:
        """Read the checkpoints of newly assigned *partitions*, and forget those of revoked ones.

        Raise GossamerError if the store is older than the log, or the log older than the store.
        """
        gained, self._ours = partitions - self._ours, partitions
        self._checkpoints = {
            n: row for n, row in self._checkpoints.items() if self._home(n) in partitions
        }
        if not gained:
            return
        # The committed offsets are read before the store's checkpoints. A former owner may flush
        # and commit in between, so the opposite order could find the store behind the log.
        group_offsets = self._log.group_offsets(self._group, self._topics)
        fresh = {at: one for at, one in group_offsets.items() if self._home(at[1]) in gained}
        numbers = gained | {number for _, number in fresh}
        keys = [((self._group, str(number)), "") for number in sorted(numbers)]
        self._checkpoints |= {int(row.partition): row for row in self._rows.get_all(keys)}
        if self._may_be_missing:
            self._adopt_offsets(fresh, numbers - self._checkpoints.keys())
        for at, one in fresh.items():
            self._compare(at, one)
        self._note(None, numbers & self._checkpoints.keys())

    def _adopt_offsets(
        self, group_offsets: Mapping[At, GroupOffsets], numbers: Collection[int]
    ) -> None:
        """Assume that the store includes all records before the committed offsets of *numbers*."""
        for number in numbers:
            offsets = {at[0]: one.committed for at, one in group_offsets.items() if at[1] == number}
            self._checkpoints[number] = CheckpointRow(self._group, str(number), offsets)

    def _home(self, number: int) -> int:
        """Return the partition of a site-keyed topic that determines the owner of partition
        *number*."""
        return number % self._log.partitions

    def _compare(self, at: At, group_offsets: GroupOffsets) -> None:
        (topic, number), (committed, _, end) = at, group_offsets
        row = self._checkpoints.get(number)
        stored = row.offsets.get(topic, 0) if row else 0
        if stored < committed:
            raise GossamerError(
                f"the store is older than the log: the group {self._group} has committed offset "
                f"{committed} of {topic}, partition {number}, and the store includes records only "
                f"up to {stored}. If a backup was restored, stop all services and run gossamer "
                "restore --align"
            )
        if stored > end:
            raise GossamerError(
                f"the log is older than the store: {topic}, partition {number}, ends at offset "
                f"{end}, and the store includes records up to {stored}. If Kafka has lost records, "
                "stop all services and run gossamer restore --align"
            )

    def note_quiesced(self, id: str | None) -> None:
        """Record with the next flush that our partitions are quiesced since the event *id*.

        None withdraws the record.
        """
        self._note(id, self._ours)

    def _note(self, id: str | None, numbers: Iterable[int]) -> None:
        for number in numbers:
            known = self._checkpoints.get(number) or CheckpointRow(self._group, str(number))
            if known.quiesced != id:
                self._checkpoints[number] = row = replace(known, quiesced=id)
                self._rows.put(row)

    def are_quiesced(self, numbers: Iterable[int], id: str) -> bool:
        """Return whether all partitions *numbers* are quiesced since the event *id*.

        The store has these notes of all members.
        """
        keys = [((self._group, str(number)), "") for number in numbers]
        noted = [row for row in self._rows.get_all(keys) if row.quiesced == id]
        return len(noted) == len(keys)

    def move_past(self, records: Iterable[Record]) -> None:
        """Write the checkpoints after *records* with the next flush."""
        changed: dict[int, dict[str, int]] = {}
        for record in records:
            number = record.partition
            if (offsets := changed.get(number)) is None:
                known = self._checkpoints.get(number)
                offsets = changed[number] = dict(known.offsets) if known else {}
            offsets[record.topic] = max(offsets.get(record.topic, 0), record.offset + 1)
        for number, offsets in changed.items():
            row = self._checkpoints[number] = CheckpointRow(self._group, str(number), offsets)
            # Flushed last: a copy that is made during the flush must not have a checkpoint without
            # the rows that the checkpoint includes.
            self._rows.put(row, last=True)


@dataclass(frozen=True)
class Alignment:
    """The changes that align *group*. All other fields are empty if store and log agree."""

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
    rows: Sequence[CheckpointRow] = ()
    """The new checkpoints."""


def align(
    group: str,
    group_offsets: Mapping[At, GroupOffsets],
    rows: Iterable[CheckpointRow],
    may_be_missing: bool,
) -> Alignment:
    """Return the changes that align *group* with the store, whose checkpoints are *rows*.

    *may_be_missing*: rows may be missing, because the group handles records without storing
    checkpoints. The committed offset then counts as the checkpoint of a partition without a row.
    """
    rows = [*rows]
    stored = {(topic, int(row.partition)): at for row in rows for topic, at in row.offsets.items()}
    known = {int(row.partition) for row in rows}
    moved, checkpoints = dict[At, int](), dict[At, int]()
    repeated = deleted = lost = 0
    for at, (committed, start, end) in sorted(group_offsets.items()):
        checkpoint = committed if may_be_missing and at[1] not in known else stored.get(at, 0)
        target = max(min(committed, max(checkpoint, start), end), min(start, end))
        lost += max(0, max(checkpoint, committed) - end)
        deleted += max(0, start - checkpoint)
        repeated += max(0, min(committed, end) - target)
        if target != committed:
            moved[at] = target
        if checkpoint < target or checkpoint > end:
            checkpoints[at] = target
    for at in stored.keys() - group_offsets.keys():
        # Without committed offsets, the group starts with the oldest record.
        if stored[at]:
            lost += stored[at]
            checkpoints[at] = 0
    changed = dict[int, dict[str, int]]()
    for (topic, number), offset in (stored | checkpoints).items():
        changed.setdefault(number, {})[topic] = offset
    numbers = {number for _, number in checkpoints}
    new = [CheckpointRow(group, str(number), changed[number]) for number in sorted(numbers)]
    return Alignment(group, moved, repeated, deleted, lost, new)


def forget_checkpoints(store: Store, group: str, topics: Collection[str]) -> None:
    """Forget the checkpoints of *group* on recreated *topics* with the next flush."""
    table = store.table(CheckpointRow)
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
        store.table(CheckpointRow).put(row)
    return aligned


def skip_gaps(log: Log, group: str, topics: Sequence[str]) -> Alignment:
    """Move *group*, which stores nothing, past deleted records."""
    skipped = align(group, log.group_offsets(group, topics), (), may_be_missing=True)
    if skipped.moved:
        log.move(group, skipped.moved)
    return skipped


def compare_group(log: Log, store: Store, service: type[Processor], is_new: bool) -> Alignment:
    """Return the changes that would align the group of *service* on *log* and *store*.

    Members of the group may be running. *is_new*: the store was empty.
    """
    group, topics = service.name, [topic.name for topic in service.reads]
    # All of them grow while members run. Committed offsets are read first and ends last, so that no
    # checkpoint seems to be behind the former or beyond the latter.
    before = log.group_offsets(group, topics)
    numbers = sorted({*range(log.partitions), *(number for _, number in before)})
    rows = store.table(CheckpointRow).get_all([((group, str(number)), "") for number in numbers])
    after = log.group_offsets(group, topics)
    group_offsets = {
        at: one._replace(end=after[at].end) for at, one in before.items() if at in after
    }
    return align(group, group_offsets, rows, service.has_other_engine and not is_new)
