"""The life of a partition in a loop, from its assignment to its loss, as one table of transitions.

Only `Partitions` changes the state of a partition, and checks each change against the table.
`docs/partition-life.md` is generated from it.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from gossamer.events.topics import Topic
from gossamer.log import NO_PARTITIONS, Log, Record


class PartitionState(StrEnum):
    """The state of a partition for a member. A partition of another member is lost."""

    LOST = "lost"
    CLAIMED = "claimed"
    CATCHING_UP = "catching up"
    SERVING = "serving"


STATE_MEANINGS = {
    PartitionState.LOST: "The partition is assigned to another member, or to none.",
    PartitionState.CLAIMED: "The member has claimed it, and restores its state outside the store. "
    "Its records wait. Those of other partitions are handled.",
    PartitionState.CATCHING_UP: "Records are handled. Work that needs all earlier ones waits.",
    PartitionState.SERVING: "All records from before the claim were handled.",
}


class Cause(StrEnum):
    """The cause of a transition."""

    ASSIGNED = "assigned"
    RESTORED = "restored"
    CAUGHT_UP = "caught up"
    MUST_CATCH_UP = "must catch up"
    WENT_BACK = "went back"
    REVOKED = "revoked"


class Transition(NamedTuple):
    """A transition from the state *before* to *after* by *cause*. *meaning* is a sentence for
    people."""

    before: PartitionState
    cause: Cause
    after: PartitionState
    meaning: str


TRANSITIONS = (
    Transition(
        PartitionState.LOST,
        Cause.ASSIGNED,
        PartitionState.CLAIMED,
        "The group assigned the partition to this member, which claims it before reading rows.",
    ),
    Transition(
        PartitionState.CLAIMED,
        Cause.RESTORED,
        PartitionState.CATCHING_UP,
        "The processor has the whole state of the partition, and can handle its records.",
    ),
    Transition(
        PartitionState.CATCHING_UP,
        Cause.CAUGHT_UP,
        PartitionState.SERVING,
        "All earlier records of the awaited topics were handled.",
    ),
    Transition(
        PartitionState.SERVING,
        Cause.MUST_CATCH_UP,
        PartitionState.CATCHING_UP,
        "A lease has expired, and its outcome may be on the log.",
    ),
    *(
        Transition(
            before,
            Cause.WENT_BACK,
            PartitionState.CLAIMED,
            "A handler failed halfway, or the clock was set. Memory is reloaded from the store.",
        )
        for before in (PartitionState.CLAIMED, PartitionState.CATCHING_UP, PartitionState.SERVING)
    ),
    *(
        Transition(
            before,
            Cause.REVOKED,
            PartitionState.LOST,
            "The group assigns the partition to another member, or this member leaves.",
        )
        for before in (PartitionState.CLAIMED, PartitionState.CATCHING_UP, PartitionState.SERVING)
    ),
)
_AFTER = {(row.before, row.cause): row.after for row in TRANSITIONS}


@dataclass
class Partition:
    """A partition assigned to the member."""

    life: PartitionState = PartitionState.LOST
    left: dict[str, int] = field(default_factory=dict)
    """Number of records of each awaited topic that must be handled to catch up."""


class Partitions:
    """The partitions of a member of *group*. *topics* are those that its processor awaits."""

    def __init__(self, log: Log, group: str, topics: Sequence[Topic]) -> None:
        self._log, self._group, self._topics = log, group, topics
        self._all: dict[int, Partition] = {}
        self.assigned: frozenset[int] | None = None
        """The numbers of the assigned partitions. None before the first assignment."""

    def assign(self, numbers: frozenset[int]) -> None:
        """Take over *numbers*, and lose all other partitions."""
        for lost in self._all.keys() - numbers:
            self._move([lost], Cause.REVOKED)
            del self._all[lost]
        gained = numbers - self._all.keys()
        self._all |= {number: Partition() for number in gained}
        self._move(gained, Cause.ASSIGNED)
        self.assigned = numbers

    def go_back(self) -> None:
        """Return all partitions to the claimed state, because the processor's memory was
        dropped."""
        self._move(self._all, Cause.WENT_BACK)

    @property
    def restoring(self) -> frozenset[int]:
        """The partitions whose records cannot be handled yet."""
        return frozenset(self._of(PartitionState.CLAIMED))

    def begin_catching_up(self, besides: Set[int] = NO_PARTITIONS) -> None:
        """Note that the processor can handle records of all partitions *besides* these. Claimed
        ones start to catch up."""
        if restored := self.restoring - besides:
            self._move(restored, Cause.RESTORED)
            self._count(restored)

    def catch_up(self) -> None:
        """Let all partitions that serve catch up with the current records of the awaited topics."""
        serving = self._of(PartitionState.SERVING)
        self._move(serving, Cause.MUST_CATCH_UP)
        self._count(serving)

    def _count(self, numbers: Iterable[int]) -> None:
        for topic in self._topics:
            counts = self._log.lag_by_partition(self._group, topic.name)
            for number in numbers:
                self._all[number].left[topic.name] = counts.get(number, 0)

    def count_handled(self, record: Record) -> None:
        """Note that *record* was handled."""
        left = self._all[record.partition].left if record.partition in self._all else {}
        if record.topic in left:
            left[record.topic] -= 1

    def pop_caught_up(self) -> frozenset[int]:
        """Return the partitions that have caught up since the last call. They serve from now on."""
        catching_up = self._of(PartitionState.CATCHING_UP)
        ended = [n for n in catching_up if all(left <= 0 for left in self._all[n].left.values())]
        self._move(ended, Cause.CAUGHT_UP)
        return frozenset(ended)

    def _of(self, life: PartitionState) -> list[int]:
        return [number for number, one in self._all.items() if one.life is life]

    def _move(self, numbers: Iterable[int], cause: Cause) -> None:
        for number in numbers:
            one = self._all[number]
            after = _AFTER.get((one.life, cause))
            assert after, f"a partition that is {one.life} cannot be {cause}"
            one.life = after
