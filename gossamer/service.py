"""What a service is: a machine that is told events and the time, and answers with events.

It reads no clock, opens no socket, never sleeps: the runtime owns log, store and time, so that a
whole crawl runs in virtual time in a test. Its state is in tables it was given; writes to them go
out with the log's next advance.
"""

from collections.abc import Iterable
from typing import Protocol

from gossamer.events import Event, Tombstone
from gossamer.topics import Topic

Answer = Iterable[Event | Tombstone]


class Service(Protocol):
    """A machine. Records may come again after a crash: every answer must be idempotent."""

    @property
    def name(self) -> str:
        """The group it reads under."""

    @property
    def reads(self) -> tuple[Topic, ...]:
        """The topics whose records it handles; control comes to everyone unasked."""

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Learn which partitions are its own now, before any record of them."""

    def handle(self, event: Event, now: float) -> Answer:
        """Answer one event."""

    def due(self) -> float | None:
        """When `wake` next has something to say; None if never."""

    def wake(self, now: float) -> Answer:
        """Say what only the passing of time calls for."""

    def settle(self) -> None:
        """Make durable what is held outside the store; the log then moves past it."""


class Machine:
    """What most services answer to what does not concern them."""

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Nothing here depends on partitions."""

    def due(self) -> float | None:
        """Time alone calls for nothing."""
        return None

    def wake(self, now: float) -> Answer:
        """Time alone calls for nothing."""
        return ()

    def settle(self) -> None:
        """Everything is in the store."""
