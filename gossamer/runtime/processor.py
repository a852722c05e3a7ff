"""What a service's logic looks like: a processor is given events and the time, and returns events.

It reads no clock, opens no socket and never sleeps: the runtime owns log, store and time, so that a
test runs a whole crawl in virtual time. Its state lies in the tables that it was given; what it
writes to them is flushed with the log's next advance.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from gossamer.events import Event, Tombstone
from gossamer.events.outcomes import check_complete
from gossamer.events.topics import CONTROL, Topic
from gossamer.log import BATCH, Record
from gossamer.store import Partition, Row, Sort

Answer = Iterable[Event | Tombstone]
Key = tuple[type[Row], Partition, Sort]
"""The class, partition key and sort key of a row."""
Handler = Callable[[Any, float], Answer | None]
"""Handles one kind of event at a time; None: nothing follows from it."""
Emitter = Callable[..., None]
"""Takes events; those of one call are appended together or not at all."""


def complete(handled: Mapping[type[Event], object], reads: Iterable[Topic], name: str) -> None:
    """Raise LookupError unless the processor *name* has *handled* every kind of event on the topics
    that it *reads* and on the control topic."""
    kinds = [kind.type for topic in (*reads, CONTROL) for kind in topic.events]
    check_complete(kinds, handled, f"the table of handlers of {name}")


class Processor(ABC):
    """The logic of one service. After a crash records come again, so handlers are idempotent."""

    name: ClassVar[str]
    """The group it reads under."""
    reads: ClassVar[tuple[Topic, ...]]
    """The topics whose records it handles; every processor gets the control topic besides."""
    awaits: ClassVar[tuple[Topic, ...]] = ()
    """Those of which it is told when it has caught up."""
    has_other_engine: ClassVar[bool] = False
    """Whether another engine may have handled its records, which writes no positions."""

    def assign(self, partitions: frozenset[int], now: float) -> None:  # noqa: B027
        """Take over *partitions* and give up all others; called before any record of them."""

    def restore(self) -> bool:
        """Read some of what `assign` needs and other services may keep us waiting for.

        Return whether that is complete: until then the loop hands over no records.
        """
        return True

    def restart(self, partitions: frozenset[int], now: float) -> None:
        """Drop all memory and reload it from the store, after a handler failed half way.

        The claims on *partitions* stay as they are.
        """
        self.assign(partitions, now)

    def clock_set(self, partitions: frozenset[int], now: float) -> None:  # noqa: B027
        """Take *partitions* over again, after the clock was set, if times are written down."""

    def must_catch_up(self, now: float) -> bool:
        """Return whether what `awaits` holds of all partitions by now is to be read first.

        `caught_up` tells when that is done; meanwhile all else goes on.
        """
        return False

    def caught_up(self, partitions: frozenset[int], now: float) -> None:  # noqa: B027
        """All that `awaits` held of *partitions* has been handled: when they were assigned, or when
        `must_catch_up` asked."""

    def locate(self, record: Record) -> None:  # noqa: B027
        """Learn which record the event lies in that is handled next, if rows remember that."""

    @abstractmethod
    def handle(self, event: Event, now: float) -> Answer:
        """Return what follows from one event.

        Raise Poison, before anything is changed, if it cannot be handled.
        """

    def reads_of(self, events: Sequence[Event]) -> Iterator[Iterable[Key]]:
        """Yield the rows that `handle` will read for *events*, a group at a time.

        The loop reads a group together before it asks for the next one, which may depend on it.
        """
        return iter(())

    def due(self) -> float | None:
        """Return when `wake` is next to be called; no timer by default."""
        return None

    def wake(self, now: float, most: int = BATCH) -> Answer:
        """Return the events that are due at *now* without any record: about *most* at a time.

        The rest is due in the next step.
        """
        return ()

    def note(self) -> str:
        """Return what an operator should know although the service works; "" if nothing."""
        return ""

    def settle(self) -> None:  # noqa: B027
        """Make durable what is held outside the store; called before each advance of the log."""


class AsyncProcessor(Protocol):
    """The logic of a service whose work on a record takes time."""

    name: str
    """The group it reads under."""
    reads: tuple[Topic, ...]
    begins_once: bool
    """Whether the log moves past a record before the work on it starts."""

    def control(self, event: Event) -> None:
        """Take in what operators have set."""

    async def work(self, event: Event, emit: Emitter) -> None:
        """Answer one event through *emit*, now or over time."""
