"""The loop that carries a processor along the log."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain, islice

import structlog

from gossamer import clock
from gossamer.clock import Clock, Steps
from gossamer.errors import Poison, Unavailable
from gossamer.log import Log, Message, Record
from gossamer.log.codec import encode
from gossamer.log.control import ControlTail
from gossamer.log.throttling import HOLD_INTERVAL, Hold
from gossamer.runtime.answers import (
    Decoded,
    answer_all,
    decode_all,
    events_of,
    read_ahead,
    reads_of,
)
from gossamer.runtime.partitions import Partitions
from gossamer.runtime.processor import Processor
from gossamer.runtime.retries import waits
from gossamer.runtime.step_size import StepSize
from gossamer.store import Store
from gossamer.telemetry import count, observe
from gossamer.telemetry.timing import timed

logger = structlog.get_logger()


READ_TRIES = 4
"""Attempts to read ahead while a server is away, before log and store are reopened."""


class Loop:
    """One processor on the log: poll, read, handle, wake, advance, one step after another.

    A step takes about *limit* seconds at most (`service.step_limit`): as many records are polled as
    earlier steps say.
    *steps* reports whether *clock* was set; without it nobody looks. No record is polled while one
    of the loop's partitions is among those that *hold* returns.
    """

    def __init__(
        self,
        processor: Processor,
        log: Log,
        store: Store,
        clock: Clock,
        steps: Steps | None = None,
        limit: float = 1.0,
        hold: Hold = tuple,
    ) -> None:
        self._processor, self._store, self._clock = processor, store, clock
        self._steps = steps
        self._was_set = self._took_over = False
        self._reader = log.reader(processor.name, [topic.name for topic in processor.reads], store)
        self._control = ControlTail(log)
        self._partitions = Partitions(log, processor.name, processor.awaits)
        self._size = StepSize(limit)
        self._hold, self._asked_at = hold, float("-inf")
        self.is_held = False
        """Whether no record is polled for now: those who read the answers are behind."""
        self.began = 0.0
        """When the last step had its records and partitions, by the steady clock."""
        self.is_full = False
        """Whether the last step was as large as it may be, so that more is likely waiting."""

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
        if not self._processor.restore():
            return self._wait_for_restore()
        self._partitions.restored()
        self._check_hold()
        size = self._size.records
        records = self._reader.poll(timeout, 0 if self.is_held else size)
        # Partitions change inside the poll: the processor learns that before it sees their records.
        self._assign()
        began = self.began = clock.steady()
        answers: list[Message] = []
        # The control topic is read to its end, and only now, since a takeover takes a while: an
        # order by an older definition may be out of the crawl's scope, or too soon.
        while news := self._control.poll(0):
            answers += self._answers(decode_all(news))
        answers += self._answers_to(records)
        if ended := self._partitions.caught_up():
            self._processor.caught_up(ended, self._clock())
        now = self._clock()
        orders: list[Message] = []
        if woken := self._is_due(now):
            with self._phase("wake"):
                orders += self._woken(now, size)
        self.is_full = len(records) >= size or len(orders) >= size
        if moved := bool(records or answers or woken):
            with self._phase("advance"):
                self._processor.settle()
                self._reader.advance(records, answers + orders)
            took = clock.steady() - began
            observe("gossamer_step_seconds", took, service=self._processor.name)
            self._size.adapt(took, self.is_full or self._is_overdue(now))
        return moved

    def _wait_for_restore(self) -> bool:
        """Stay a member of the group, and see whether the claims stand."""
        self._reader.poll(0, 0)
        self._assign()
        self._reader.advance((), ())
        self.is_full = True
        return True

    def _check_hold(self) -> None:
        if clock.steady() >= self._asked_at + HOLD_INTERVAL:
            held, self._asked_at = self._hold(), clock.steady()
            self.is_held = any(number in held for number in self._partitions.assigned or ())

    def _answers_to(self, records: Sequence[Record]) -> list[Message]:
        if not records:
            return []
        decoded = decode_all(records)
        with self._phase("read"):
            self._read_ahead(decoded)
        with self._phase("handle"):
            answers = self._answers(decoded)
        for record in records:
            self._partitions.handled(record)
        return answers

    def _read_ahead(self, decoded: Sequence[Decoded]) -> None:
        """Read together what the handlers will read; a server that is away is asked again."""
        events = events_of(decoded)
        for wait in chain(islice(waits(), READ_TRIES - 1), [None]):
            try:
                read_ahead(self._store, reads_of(self._processor, events))
                return
            except Unavailable as error:
                if wait is None:
                    raise
                logger.warning("waiting", why=str(error), seconds=wait)
                clock.pause(wait)

    def _phase(self, name: str) -> AbstractContextManager[None]:
        return timed("gossamer_step_phase_seconds", service=self._processor.name, phase=name)

    def _is_overdue(self, now: float) -> bool:
        due = self._processor.due()
        return due is not None and due <= now

    def _assign(self) -> None:
        if self._reader.partitions != self._partitions.assigned:
            self._took_over = True
            self._partitions.assign(self._reader.partitions)
            self._processor.assign(self._reader.partitions, self._clock())
            self._processor.settle()
            self._reader.advance((), ())

    def _look_back(self) -> None:
        if self._clock_was_set():
            logger.warning("the clock was set", service=self._processor.name)
            self._was_set = False
            self._go_back(self._processor.clock_set)
        if self._partitions.assigned and self._processor.must_catch_up(self._clock()):
            self._partitions.catch_up()

    def _is_due(self, now: float) -> bool:
        # A takeover may have lasted, and polling says that we live. If the clock was set since the
        # step began, what is due is known once times are reckoned anew.
        took_over, self._took_over = self._took_over, False
        return not took_over and not self._clock_was_set() and self._is_overdue(now)

    def _clock_was_set(self) -> bool:
        self._was_set |= self._steps is not None and self._steps.seen()
        return self._was_set

    def _answers(self, decoded: Sequence[Decoded]) -> list[Message]:
        answers = answer_all(self._processor, decoded, self._clock, self._restart)
        return [message for found in answers for message in found]

    def _restart(self) -> None:
        self._go_back(self._processor.restart)

    def _go_back(self, begin: Callable[[frozenset[int], float], None]) -> None:
        """Go back to the last advance: what is in memory is neither kept nor known."""
        self._store.discard()
        begin(self._partitions.assigned or frozenset(), self._clock())
        self._partitions.go_back()

    def _woken(self, now: float, most: int) -> Iterator[Message]:
        for event in self._processor.wake(now, most):
            try:
                yield encode(event)
            except Poison as error:
                # No record is to blame. An order that does not go out ends with its lease.
                count("gossamer_dead_letters_total", service=self._processor.name)
                logger.error("answer dropped", service=self._processor.name, reason=str(error))

    def close(self) -> None:
        """Leave the group."""
        self._reader.close()
