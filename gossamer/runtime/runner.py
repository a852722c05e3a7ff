"""The loop that carries a processor along the log."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import structlog

from gossamer import clock
from gossamer.clock import Clock, Steps
from gossamer.errors import GossamerError, Poison
from gossamer.events import Event
from gossamer.log import BATCH, Log, Message, Record
from gossamer.log.codec import dead_letter, decode, encode
from gossamer.log.control import ControlTail
from gossamer.runtime.arrears import Arrears
from gossamer.runtime.processor import Processor
from gossamer.runtime.trace import handling
from gossamer.store import Store
from gossamer.telemetry import count, observe

logger = structlog.get_logger()


class Runner:
    """One processor on the log: poll, handle, wake, advance, one step after another.

    *steps* tells whether *clock* was set; without it nobody looks.
    """

    def __init__(
        self,
        processor: Processor,
        log: Log,
        store: Store,
        clock: Clock,
        steps: Steps | None = None,
    ) -> None:
        self._processor, self._store, self._clock = processor, store, clock
        self._steps = steps if processor.reckons else None
        self._was_set = self._took_over = False
        self._reader = log.reader(processor.name, [topic.name for topic in processor.reads], store)
        self._control = ControlTail(log)
        self._partitions: frozenset[int] | None = None
        self._arrears = Arrears(log, processor.name, processor.awaits)
        self.began = 0.0
        """When the last step had its records."""
        self.is_full = False
        """Whether these were as many as a step may have: more are likely there."""

    def due(self) -> float | None:
        """Return when a step is due even if no record comes; None if there is no timer."""
        return self._processor.due()

    def step(self, timeout: float = 0.0) -> bool:
        """Take one step; return whether there was anything to do.

        It waits up to *timeout* for records. Raise GossamerError where no record is to blame; then
        the log has not moved.
        """
        self._assign()
        self._look_back()
        records = self._poll(timeout)
        began = self.began = clock.steady()
        # Partitions change inside the poll: the processor is told before it sees their records.
        self._assign()
        answers: list[Message] = []
        # To its end, and only now, since a takeover takes a while: what is ordered by what was set
        # before may be out of the crawl's scope, or too soon.
        while news := self._control.poll(0):
            answers += self._answers(news)
        answers += self._answers(records)
        for record in records:
            self._arrears.read(record)
        if ended := self._arrears.ended():
            self._processor.caught_up(ended, self._clock())
        now = self._clock()
        if woken := self._is_due(now):
            answers += self._woken(now)
        if moved := bool(records or answers or woken):
            self._processor.settle()
            self._reader.advance(records, answers)
            observe("gossamer_step_seconds", clock.steady() - began, service=self._processor.name)
        return moved

    def _poll(self, timeout: float) -> Sequence[Record]:
        records = self._reader.poll(timeout)
        self.is_full = len(records) >= BATCH
        return records

    def _assign(self) -> None:
        if self._reader.partitions != self._partitions:
            self._took_over = True
            before, self._partitions = self._partitions or frozenset(), self._reader.partitions
            self._processor.assign(self._partitions, self._clock())
            self._processor.settle()
            self._reader.advance((), ())
            # Afterwards: what came until then is as old as the partitions' new owner.
            self._arrears.assign(self._partitions - before, before & self._partitions)

    def _look_back(self) -> None:
        if self._clock_was_set():
            logger.warning("the clock was set", service=self._processor.name)
            self._was_set = False
            self._restart()
        if self._partitions and self._processor.must_catch_up(self._clock()):
            self._arrears.assign(self._partitions, frozenset())

    def _is_due(self, now: float) -> bool:
        # A takeover may have lasted, and polling says that we live. If the clock was set since the
        # step began, what is due is known once times are reckoned anew.
        took_over, self._took_over = self._took_over, False
        if took_over or self._clock_was_set():
            return False
        due = self._processor.due()
        return due is not None and due <= now

    def _clock_was_set(self) -> bool:
        self._was_set |= self._steps is not None and self._steps.seen()
        return self._was_set

    def _answers(self, records: Sequence[Record]) -> list[Message]:
        answers = answer_all(self._processor, records, self._clock, self._restart)
        return [message for found in answers for message in found]

    def _restart(self) -> None:
        """Go back to the last advance: what is in memory is neither kept nor known."""
        self._store.discard()
        partitions = self._partitions or frozenset()
        self._processor.restart(partitions, self._clock())
        self._arrears.assign(partitions, frozenset())

    def _woken(self, now: float) -> Iterator[Message]:
        for event in self._processor.wake(now):
            try:
                yield encode(event)
            except Poison as error:
                # No record is to blame. An order that does not go out ends with its lease.
                count("gossamer_dead_letters_total", service=self._processor.name)
                logger.error("answer dropped", service=self._processor.name, reason=str(error))

    def close(self) -> None:
        """Leave the group."""
        self._reader.close()


def answer_all(
    processor: Processor, records: Sequence[Record], clock: Clock, restart: Callable[[], None]
) -> list[list[Message]]:
    """Return what *processor* answers to each of *records*.

    Where a handler came half way, *restart* undoes all that was done of them, and they are handled
    again without the record that broke it.
    """
    letters: dict[Record, list[Message]] = {}
    while True:
        answers: list[list[Message]] = []
        half_way: list[Record] = []
        for record in records:
            undo = partial(half_way.append, record)
            found = letters.get(record) or answer(processor, record, clock(), undo)
            if half_way:
                letters[record] = found
                restart()
                break
            answers.append(found)
        else:
            return answers


def answer(
    processor: Processor, record: Record, now: float, undo: Callable[[], None] = lambda: None
) -> list[Message]:
    """Return what *processor* answers to *record*, or a dead letter if it cannot handle it.

    *undo* is called if the handler may have come half way. Raise GossamerError where the record is
    not to blame.
    """
    try:
        event = decode(record)
        with handling(event):
            answers = [*processor.handle(event, now)]
    except Exception as error:
        if isinstance(error, GossamerError) and not isinstance(error, Poison):
            raise
        if not isinstance(error, Poison):
            undo()
        return [encode(dead_letter_for(record, processor.name, error, now))]
    try:
        # All of it before any is appended.
        return [encode(one) for one in answers]
    except Poison as error:
        undo()
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
