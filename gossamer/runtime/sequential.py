"""The strategy for immediate logic: records are handled in the order of the log.

The number of records of a step is adapted so that the step ends in time (`StepSize`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate

import structlog

from gossamer import clock
from gossamer.clock import Clock, JumpDetector
from gossamer.errors import Poison
from gossamer.log import MAX_POLL_RECORDS, Log, Message, Record
from gossamer.log.codec import Decoded, decode_all, encode
from gossamer.log.throttling import Hold, hold_nothing
from gossamer.runtime.checkpoints import Checkpoints
from gossamer.runtime.handling import (
    events_of,
    handle_records,
    read_ahead,
    reads_of,
)
from gossamer.runtime.loop import Batch, Loop, Report, ignore
from gossamer.runtime.partitions import Partitions
from gossamer.runtime.processor import Processor
from gossamer.store import Store
from gossamer.telemetry import count
from gossamer.telemetry.timing import observe_duration

logger = structlog.get_logger()
FIRST_STEP = 32
"""Number of records of the first step, whose duration is unknown."""
FIRST_BYTES = 1 << 18
"""Bytes of the records of the first step, and of every step at least: five records of a thousand
URLs."""


def sequential_loop(
    processor: Processor,
    log: Log,
    store: Store,
    clock: Clock,
    jumps: JumpDetector | None = None,
    limit: float = 1.0,
    hold: Hold = hold_nothing,
    report: Report = ignore,
) -> Loop:
    """Return a loop of *processor*. See `Sequential` and `Loop`."""
    return Loop(Sequential(processor, log, store, clock, jumps, limit), log, store, hold, report)


class Sequential:
    """Reads, handles and wakes in one step. See `Strategy`.

    A step takes about *limit* seconds at most (`service.step_limit`). Earlier steps determine its
    number of records. *jumps* reports whether *clock* was set. Without it, this is not checked.
    """

    def __init__(
        self,
        processor: Processor,
        log: Log,
        store: Store,
        clock: Clock,
        jumps: JumpDetector | None = None,
        limit: float = 1.0,
    ) -> None:
        self.name, self.topics = processor.name, [topic.name for topic in processor.reads]
        self._processor, self._store, self._clock = processor, store, clock
        self._jumps = jumps
        self._was_set = self._took_over = False
        self._partitions = Partitions(log, processor.name, processor.awaits)
        self.checkpoints = Checkpoints(log, store, processor)
        self._size = StepSize(limit)
        self._step_seconds = 0.0
        """The duration of the last step with an advance."""
        self._records: Sequence[Record] = ()
        self._is_cut = False
        """Whether the records of this step are fewer than were offered."""
        self._outputs: list[Message] = []
        self.is_full = False
        """Whether the last step reached its limit, so that more records are likely waiting."""

    def due(self) -> float | None:
        """Return when the processor shall be woken."""
        return self._processor.due()

    def assign(self, partitions: frozenset[int]) -> None:
        """Let the processor claim newly assigned partitions."""
        self._took_over = True
        self.checkpoints.assign(partitions)
        self._partitions.assign(partitions)
        self._processor.assign(partitions, self._clock())
        self._processor.settle()

    def prepare(self) -> None:
        """Reload the processor's memory if the clock was set, let it catch up if it must, and
        restore a part of its state."""
        if self._clock_was_set():
            logger.warning("clock was set: reloading the memory", service=self.name)
            self._was_set = False
            self._go_back(self._processor.reload_after_clock_set)
        if self._partitions.assigned and self._processor.must_catch_up(self._clock()):
            self._partitions.catch_up()
        if self._partitions.restoring:
            self._partitions.begin_catching_up(besides=self._restore())

    @property
    def restoring(self) -> frozenset[int]:
        """The partitions whose state the processor restores."""
        return self._partitions.restoring

    def _restore(self) -> frozenset[int]:
        """Restore state for as long as the last step took, so that restored partitions have half of
        the time. Return the partitions that are not restored yet."""
        until = clock.steady() + self._step_seconds
        while (restoring := self._processor.restore()) and clock.steady() < until:
            pass
        return restoring

    def room(self) -> int:
        """Return the number of records that a step can handle in time."""
        return min(self._size.records, self._processor.room())

    def control(self, records: Sequence[Record]) -> None:
        """Handle *records* together with the next submitted ones."""
        self._outputs += self._handle(decode_all(records))

    def fits(self, decoded: Sequence[Decoded]) -> int:
        """Return how many of *decoded* can be handled in time; at least one, if there is one."""
        sizes = accumulate(len(one.record.value) for one in decoded)
        count = sum(1 for size in sizes if size <= self._size.bytes)
        self._is_cut = count < len(decoded)
        return max(1, count) if decoded else 0

    def submit(self, decoded: Sequence[Decoded]) -> None:
        """Read the rows that these records need, and handle the records."""
        self._records = records = [one.record for one in decoded]
        if not records:
            return
        with self._phase("read"):
            read_ahead(self._store, reads_of(self._processor, events_of(decoded)))
        with self._phase("handle"):
            self._outputs += self._handle(decoded)
        for record in records:
            self._partitions.count_handled(record)

    def collect(self) -> Batch | None:
        """Wake the processor if it is due, and return the results of the step."""
        now, size = self._clock(), self._size.records
        if ended := self._partitions.pop_caught_up():
            self._processor.finish_catching_up(ended, now)
        orders: list[Message] = []
        if woken := self._is_due(now):
            with self._phase("wake"):
                orders += self._wake(now, size)
        self.is_full = self._is_cut or len(self._records) >= size or len(orders) >= size
        if not (self._records or self._outputs or woken):
            return None
        with self._phase("settle"):
            self._processor.settle()
        self.checkpoints.move_past(self._records)
        self._outputs += orders
        return Batch(self._records, self._outputs)

    def finish_advance(self, ours: bool, seconds: float) -> None:
        """Adapt the size of the next step."""
        self._records, self._outputs = (), []
        self._step_seconds = seconds
        is_full = self.is_full or self._is_overdue(self._clock())
        self._size.adapt(seconds, is_full, self._is_cut)

    def _phase(self, name: str) -> AbstractContextManager[None]:
        return observe_duration("gossamer_step_phase_seconds", service=self.name, phase=name)

    def _is_overdue(self, now: float) -> bool:
        due = self._processor.due()
        return due is not None and due <= now

    def _is_due(self, now: float) -> bool:
        # After a takeover, which may take long, the next poll comes first. If the clock was set in
        # this step, due times must be recomputed first.
        took_over, self._took_over = self._took_over, False
        return not took_over and not self._clock_was_set() and self._is_overdue(now)

    def _clock_was_set(self) -> bool:
        self._was_set |= self._jumps is not None and self._jumps.pop_jump()
        return self._was_set

    def _handle(self, decoded: Sequence[Decoded]) -> list[Message]:
        outputs = handle_records(self._processor, decoded, self._clock, self._restart)
        return [message for found in outputs for message in found]

    def _restart(self) -> None:
        self._go_back(self._processor.restart)

    def _go_back(self, begin: Callable[[frozenset[int], float], None]) -> None:
        """Return to the last advance: drop memory and buffered writes."""
        self._store.discard()
        begin(self._partitions.assigned or frozenset(), self._clock())
        self._partitions.go_back()

    def _wake(self, now: float, most: int) -> Iterator[Message]:
        for event in self._processor.wake(now, most):
            try:
                yield encode(event)
            except Poison as error:
                # There is no record to make a dead letter of. If the event is an order, its lease
                # expires, as after the loss of an order.
                count("gossamer_dead_letters_total", service=self.name)
                logger.error(
                    "event dropped: it cannot be encoded", service=self.name, reason=str(error)
                )


class StepSize:
    """Number and bytes of the records for the next step: as many as were recently handled within
    *limit* seconds.

    A loop that does not poll seems stuck to its consumer group and to its liveness probe, and the
    work of a step is lost if the process is killed. A step is therefore bounded by time. Small
    records say nothing about the time of large ones: a record may have one URL or a thousand. So
    the bytes grow only if a step was limited by bytes.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self.records, self.bytes = FIRST_STEP, FIRST_BYTES

    def adapt(self, seconds: float, is_full: bool, is_cut: bool) -> None:
        """Shrink in proportion after a step beyond the limit, and double after a quick full step.

        *is_cut*: the bytes limited the step.
        """
        if seconds > self._limit:
            part = self._limit / seconds
            self.records = max(1, int(self.records * part))
            self.bytes = max(FIRST_BYTES, int(self.bytes * part))
        elif 2 * seconds <= self._limit:
            if is_full:
                self.records = min(MAX_POLL_RECORDS, 2 * self.records)
            if is_cut:
                self.bytes *= 2
