"""The loop that carries a machine along the log."""

from collections.abc import Sequence

import structlog

from gossamer.clock import Clock
from gossamer.codec import dead_letter, decode, encode
from gossamer.errors import GossamerError, Poison
from gossamer.events import Event
from gossamer.log import Log, Message, Record
from gossamer.service import Service
from gossamer.store import Store
from gossamer.telemetry import count
from gossamer.topics import CONTROL
from gossamer.trace import handling

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
        answers: list[Message] = []
        for record in self._control.poll(0):
            if record.value:  # A tombstone says nothing.
                answers += self._answer(record)
        records = self._reader.poll(timeout)
        # Partitions come and go inside the poll: the service learns of it before their records.
        self._assign()
        for record in records:
            answers += self._answer(record)
        due = self._service.due()
        if due is not None and due <= (now := self._clock()):
            answers += map(encode, self._service.wake(now))
        return self._advance(records, answers)

    def _assign(self) -> None:
        if self._reader.partitions != self._partitions:
            self._partitions = self._reader.partitions
            self._service.assign(self._partitions, self._clock())
            self._service.settle()
            self._reader.advance((), ())

    def _answer(self, record: Record) -> list[Message]:
        return answered(self._service, record, self._clock())

    def _advance(self, records: Sequence[Record], answers: list[Message]) -> bool:
        if not records and not answers:
            return False
        self._service.settle()
        self._reader.advance(records, answers)
        return True

    def close(self) -> None:
        """Leave the log."""
        self._reader.close()


def answered(service: Service, record: Record, now: float) -> list[Message]:
    """Return what *service* answers, or the dead letter of what it cannot handle.

    Raise GossamerError where the record is not to blame.
    """
    try:
        event = decode(record)
        with handling(event):
            # All at once: an answer that breaks half way must not have said half of it.
            return [encode(one) for one in service.handle(event, now)]
    except Exception as error:
        if isinstance(error, GossamerError) and not isinstance(error, Poison):
            raise
        return [encode(buried(record, service.name, error, now))]


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
