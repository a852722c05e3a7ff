"""The loop that carries a processor along the log."""

import structlog

from gossamer.clock import Clock, steady
from gossamer.errors import GossamerError, Poison
from gossamer.events import Event
from gossamer.log import Log, Message, Record
from gossamer.log.codec import dead_letter, decode, encode
from gossamer.log.control import ControlTail
from gossamer.runtime.arrears import Arrears
from gossamer.runtime.processor import Processor
from gossamer.runtime.trace import handling
from gossamer.store import Store
from gossamer.telemetry import count, observe

logger = structlog.get_logger()


class Runner:
    """One processor on the log: poll, handle, wake, advance, one step after another."""

    def __init__(self, processor: Processor, log: Log, store: Store, clock: Clock) -> None:
        self._processor, self._clock = processor, clock
        self._reader = log.reader(processor.name, [topic.name for topic in processor.reads], store)
        self._control = ControlTail(log)
        self._partitions: frozenset[int] | None = None
        self._arrears = Arrears(log, processor.name, processor.awaits)

    def due(self) -> float | None:
        """Return when a step is due even if no record comes; None if there is no timer."""
        return self._processor.due()

    def step(self, timeout: float = 0.0) -> bool:
        """Take one step; return whether there was anything to do.

        It waits up to *timeout* for records. Raise GossamerError where no record is to blame; then
        the log has not moved.
        """
        self._assign()
        answers: list[Message] = []
        # To its end: what is ordered by a crawl's older definition may be out of its scope.
        while news := self._control.poll(0):
            for record in news:
                answers += self._answer(record)
        records = self._reader.poll(timeout)
        began = steady()
        # Partitions change inside the poll: the processor is told before it sees their records.
        self._assign()
        for record in records:
            answers += self._answer(record)
            self._arrears.read(record)
        if ended := self._arrears.ended():
            self._processor.caught_up(ended, self._clock())
        due = self._processor.due()
        if woken := due is not None and due <= (now := self._clock()):
            answers += map(encode, self._processor.wake(now))
        if moved := bool(records or answers or woken):
            self._processor.settle()
            self._reader.advance(records, answers)
            observe("gossamer_step_seconds", steady() - began, service=self._processor.name)
        return moved

    def _assign(self) -> None:
        if self._reader.partitions != self._partitions:
            before, self._partitions = self._partitions or frozenset(), self._reader.partitions
            self._processor.assign(self._partitions, self._clock())
            self._processor.settle()
            self._reader.advance((), ())
            # Afterwards: what came until then is as old as the partitions' new owner.
            self._arrears.assign(self._partitions - before, before & self._partitions)

    def _answer(self, record: Record) -> list[Message]:
        return answer(self._processor, record, self._clock())

    def close(self) -> None:
        """Leave the group."""
        self._reader.close()


def answer(processor: Processor, record: Record, now: float) -> list[Message]:
    """Return what *processor* answers to *record*, or a dead letter if it cannot handle it.

    Raise GossamerError where the record is not to blame.
    """
    try:
        event = decode(record)
        with handling(event):
            # All of it before any is appended: a handler that fails half way has answered nothing.
            return [encode(one) for one in processor.handle(event, now)]
    except Exception as error:
        if isinstance(error, GossamerError) and not isinstance(error, Poison):
            raise
        return [encode(dead_letter_for(record, processor.name, error, now))]


def dead_letter_for(record: Record, service: str, error: Exception, now: float) -> Event:
    """Return the dead letter for a *record* that could not be handled; count it and log it."""
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
