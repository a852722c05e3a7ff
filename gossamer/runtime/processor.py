"""The interface of a service's logic: a processor gets events and the time, and returns events.

It reads no clock, opens no socket and never sleeps. The runtime owns log, store and time, so that a
test can run a whole crawl in virtual time. Its state is in the tables that it was given. Its writes
to them are flushed with the next advance of the log.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

from gossamer.events import Event, Tombstone
from gossamer.events.outcomes import check_complete
from gossamer.events.topics import CONTROL, Topic
from gossamer.log import MAX_POLL_RECORDS, Message, Record
from gossamer.store import Partition, Row, Sort

Output = Iterable[Event | Tombstone]
Key = tuple[type[Row], Partition, Sort]
"""The class, partition key and sort key of a row."""
Handler = Callable[[Any, float], Output | None]
"""Handles one kind of event at a given time. It may return None if nothing follows."""
Emitter = Callable[..., None]
"""Accepts events. All events of a call are appended, or none."""


def check_handlers(handled: Collection[type[Event]], reads: Iterable[Topic], name: str) -> None:
    """Raise LookupError unless *handled* includes every kind of event on the control topic and on
    the topics that the processor *name* *reads*."""
    kinds = [kind.type for topic in (*reads, CONTROL) for kind in topic.events]
    check_complete(kinds, handled, f"the table of handlers of {name}")


class Processor(ABC):
    """The logic of one service. Handlers are idempotent, because records are repeated after a
    crash."""

    name: ClassVar[str]
    """The name of the consumer group."""
    reads: ClassVar[tuple[Topic, ...]]
    """The consumed topics. Every processor also gets the control topic."""
    awaits: ClassVar[tuple[Topic, ...]] = ()
    """The consumed topics for which `finish_catching_up` is called."""
    has_other_engine: ClassVar[bool] = False
    """Whether another engine, which stores no checkpoints, may have handled records."""

    def assign(self, partitions: frozenset[int], now: float) -> None:  # noqa: B027
        """Take over *partitions* and give up all others, before any of their records."""

    def restore(self) -> frozenset[int]:
        """Read a part of the assigned partitions' state outside the store, if there is any.

        Return the partitions whose state is not complete. The loop repeats the call, and passes no
        records of these partitions. Each call is short, so that the loop remains a member of its
        group and handles the records of all other partitions.
        """
        return frozenset()

    def restart(self, partitions: frozenset[int], now: float) -> None:
        """Drop all memory and reload it from the store, after a handler failed halfway.

        The claims on *partitions* do not change.
        """
        self.assign(partitions, now)

    def reload_after_clock_set(self, partitions: frozenset[int], now: float) -> None:  # noqa: B027
        """Reload *partitions* after the clock was set, if their state contains times."""

    def must_catch_up(self, now: float) -> bool:
        """Return whether all current records of the topics in `awaits` must be handled first, in
        the partitions that have caught up.

        `finish_catching_up` is called after that. All other work continues in between.
        """
        return False

    def finish_catching_up(self, partitions: frozenset[int], now: float) -> None:  # noqa: B027
        """Note that all awaited records of *partitions* were handled, since their assignment or
        since `must_catch_up` returned True."""

    def locate(self, record: Record) -> None:  # noqa: B027
        """Note from which record the next handled event comes, if rows refer to records."""

    @abstractmethod
    def handle(self, event: Event, now: float) -> Output:
        """Return the events that follow from one event.

        Raise Poison before any change if the event cannot be handled.
        """

    def route(self, message: Message) -> Message:
        """Return *message*, which `handle` caused, or a copy of it for another topic."""
        return message

    def reads_of(self, events: Sequence[Event]) -> Iterator[Iterable[Key]]:
        """Yield the rows that `handle` will read for *events*, in groups.

        The loop reads each group before it requests the next one, which may depend on it.
        """
        return iter(())

    def due(self) -> float | None:
        """Return when `wake` shall be called next, or None without a timer."""
        return None

    def wake(self, now: float, most: int = MAX_POLL_RECORDS) -> Output:
        """Return the events that are due at *now* without any record: about *most* at a time.

        The remaining events are due in the next step.
        """
        return ()

    def room(self) -> int:
        """Return how many records may be handled in the next step. While it is 0, the processor is
        only woken."""
        return MAX_POLL_RECORDS

    def limitation(self) -> str:
        """Return why the service does not do all of its work, or ""."""
        return ""

    def note(self) -> str:
        """Return a note for operators about a working service, or ""."""
        return ""

    def settle(self) -> None:  # noqa: B027
        """Make state outside the store durable. It is called before each advance of the log."""


class AsyncProcessor(Protocol):
    """The logic of a service whose work on a record takes time."""

    name: str
    """The name of the consumer group."""
    reads: tuple[Topic, ...]
    begins_once: bool
    """Whether the log advances past a record before the work on it starts."""

    def control(self, event: Event) -> None:
        """Apply a setting of operators."""

    def announce(self, event: Event, offset: int) -> Iterable[Event]:
        """Return the events that are appended before the log advances past *event*, at *offset*, if
        it does so before the work on it starts."""

    async def work(self, event: Event, emit: Emitter) -> None:
        """Handle one event, and emit its results through *emit* during or after the work."""
