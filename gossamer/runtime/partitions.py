"""The life of a partition in a loop, from its assignment to its loss: one table.

`Partitions` alone changes it, and holds each change against the table, so the table is all that can
happen to a partition; `docs/partition-life.md` is drawn from it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from gossamer.events.topics import Topic
from gossamer.log import Log, Record


class Life(StrEnum):
    """How far a member is with a partition. One that it does not have is lost."""

    LOST = "lost"
    CLAIMED = "claimed"
    CATCHING_UP = "catching up"
    SERVING = "serving"


LIVES = {
    Life.LOST: "Another member has it, or nobody.",
    Life.CLAIMED: "It is ours. The processor restores what it keeps outside the store.",
    Life.CATCHING_UP: "Records are handled; what must know all that came before (`awaits`) waits.",
    Life.SERVING: "Everything that lay on the log when it was claimed was handled.",
}


class Cause(StrEnum):
    """What changes a partition's life."""

    ASSIGNED = "assigned"
    RESTORED = "restored"
    CAUGHT_UP = "caught up"
    MUST_CATCH_UP = "must catch up"
    WENT_BACK = "went back"
    REVOKED = "revoked"


class Transition(NamedTuple):
    """A partition that is *before* becomes *after* by *cause*; *meaning* is for people."""

    before: Life
    cause: Cause
    after: Life
    meaning: str


TRANSITIONS = (
    Transition(
        Life.LOST,
        Cause.ASSIGNED,
        Life.CLAIMED,
        "The group gave it to this member, which claims it before it reads any row.",
    ),
    Transition(
        Life.CLAIMED,
        Cause.RESTORED,
        Life.CATCHING_UP,
        "The processor has all that it needs to handle records.",
    ),
    Transition(
        Life.CATCHING_UP,
        Cause.CAUGHT_UP,
        Life.SERVING,
        "What lay on the awaited topics was handled.",
    ),
    Transition(
        Life.SERVING,
        Cause.MUST_CATCH_UP,
        Life.CATCHING_UP,
        "A lease is over, and its answer may lie on the log.",
    ),
    *(
        Transition(
            before,
            Cause.WENT_BACK,
            Life.CLAIMED,
            "A handler failed half-way, or the clock was set: memory is read from the store again.",
        )
        for before in (Life.CLAIMED, Life.CATCHING_UP, Life.SERVING)
    ),
    *(
        Transition(
            before, Cause.REVOKED, Life.LOST, "The group gives it to another member, or we leave."
        )
        for before in (Life.CLAIMED, Life.CATCHING_UP, Life.SERVING)
    ),
)
_AFTER = {(row.before, row.cause): row.after for row in TRANSITIONS}


@dataclass
class Partition:
    """A partition that a member has."""

    life: Life = Life.LOST
    left: dict[str, int] = field(default_factory=dict)
    """Records of each awaited topic to handle until it has caught up."""


class Partitions:
    """The partitions of a member of *group*, which awaits *topics*."""

    def __init__(self, log: Log, group: str, topics: Sequence[Topic]) -> None:
        self._log, self._group, self._topics = log, group, topics
        self._all: dict[int, Partition] = {}
        self.assigned: frozenset[int] | None = None
        """Those that are ours; None before the first assignment."""

    def assign(self, numbers: frozenset[int]) -> None:
        """Take *numbers* over, and lose all others."""
        for lost in self._all.keys() - numbers:
            self._move([lost], Cause.REVOKED)
            del self._all[lost]
        gained = numbers - self._all.keys()
        self._all |= {number: Partition() for number in gained}
        self._move(gained, Cause.ASSIGNED)
        self.assigned = numbers

    def go_back(self) -> None:
        """Return all partitions to the claimed state: the memory of the processor was dropped."""
        self._move(self._all, Cause.WENT_BACK)

    def restored(self) -> None:
        """The processor can handle records; what lies on the log now is to be caught up with."""
        if claimed := self._of(Life.CLAIMED):
            self._move(claimed, Cause.RESTORED)
            self._count(claimed)

    def catch_up(self) -> None:
        """What lies on the log now is to be caught up with."""
        self._move(self._of(Life.SERVING), Cause.MUST_CATCH_UP)
        self._count(self._of(Life.CATCHING_UP))

    def _count(self, numbers: Iterable[int]) -> None:
        for topic in self._topics:
            counts = self._log.lag_by_partition(self._group, topic.name)
            for number in numbers:
                self._all[number].left[topic.name] = counts.get(number, 0)

    def handled(self, record: Record) -> None:
        """Take note that *record* was handled."""
        left = self._all[record.partition].left if record.partition in self._all else {}
        if record.topic in left:
            left[record.topic] -= 1

    def caught_up(self) -> frozenset[int]:
        """Return, once, the partitions that have caught up: they serve from now on."""
        catching_up = self._of(Life.CATCHING_UP)
        ended = [n for n in catching_up if all(left <= 0 for left in self._all[n].left.values())]
        self._move(ended, Cause.CAUGHT_UP)
        return frozenset(ended)

    def _of(self, life: Life) -> list[int]:
        return [number for number, one in self._all.items() if one.life is life]

    def _move(self, numbers: Iterable[int], cause: Cause) -> None:
        for number in numbers:
            one = self._all[number]
            after = _AFTER.get((one.life, cause))
            assert after, f"a partition that is {one.life} cannot be {cause}"
            one.life = after
