"""The loop that carries a machine along the log."""

from collections.abc import Iterator, Sequence

import structlog

from gossamer.clock import Clock
from gossamer.codec import dead_letter, decode, encode
from gossamer.errors import GossamerError, Poison
from gossamer.events import Event, Tombstone
from gossamer.log import Log, Record
from gossamer.service import Service
from gossamer.store import Store
from gossamer.telemetry import count
from gossamer.topics import CONTROL

logger = structlog.get_logger()


class Runner:
    """One machine on the log: polls, asks, advances, one step at a time."""

    def __init__(self, service: Service, log: Log, store: Store, clock: Clock) -> None:
        self._service, self._clock = service, clock
        self._reader = log.reader(service.name, [topic.name for topic in service.reads], store)
        self._control = log.tail([CONTROL.name])
        self._partitions: frozenset[int] | None = None

    def due(self) -> float | None:
        """When a step is worth taking though nothing was appended."""
        return self._service.due()

    def step(self, timeout: float = 0.0) -> bool:
        """Take one step, waiting for records at most *timeout*; return whether anything moved."""
        self._assign()
        answers: list[Event | Tombstone] = []
        for record in self._control.poll(0):
            answers += self._answer(record)
        records = self._reader.poll(timeout)
        for record in records:
            answers += self._answer(record)
        due = self._service.due()
        if due is not None and due <= (now := self._clock()):
            answers += self._service.wake(now)
        return self._advance(records, answers)

    def _assign(self) -> None:
        if self._reader.partitions != self._partitions:
            self._partitions = self._reader.partitions
            self._service.assign(self._partitions, self._clock())
            self._service.settle()
            self._reader.advance((), ())

    def _answer(self, record: Record) -> Iterator[Event | Tombstone]:
        try:
            # All at once: an answer that breaks half way must not have said half of it.
            yield from list(self._service.handle(decode(record), self._clock()))
        except Exception as error:
            if isinstance(error, GossamerError) and not isinstance(error, Poison):
                raise
            yield buried(record, self._service.name, error, self._clock())

    def _advance(self, records: Sequence[Record], answers: list[Event | Tombstone]) -> bool:
        if not records and not answers:
            return False
        self._service.settle()
        self._reader.advance(records, [encode(answer) for answer in answers])
        return True

    def close(self) -> None:
        """Leave the log."""
        self._reader.close()


def buried(record: Record, service: str, error: Exception, now: float) -> Event:
    """Return the dead letter for a *record* that could not be handled, and say so to a person."""
    reason = str(error) if isinstance(error, Poison) else f"{type(error).__name__}: {error}"
    count("gossamer_dead_letters_total", service=service)
    logger.warning(
        "dead letter",
        service=service,
        topic=record.topic,
        offset=record.offset,
        reason=reason,
        exc_info=None if isinstance(error, Poison) else error,
    )
    return dead_letter(record, service, reason, now)
