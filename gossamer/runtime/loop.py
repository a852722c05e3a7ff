"""The loop that drives a service's logic along the log.

A step polls, passes the records to a strategy, and advances the log past the records that the
strategy has finished. It is written once, as a generator that yields each call that may block.
`Loop.step` makes these calls itself, and `Loop.step_in` makes them in a thread, beside an event
loop.

A record that only a newer version can decode waits for that version. The loop treats the record's
partition as if it were assigned to another member: the strategy gives it up, and no more of its
records are polled. No record is skipped, because the next owner of the partition starts at the
committed offset. All other partitions continue.

While the fleet is quiesced (`quiescing.py`), a loop whose strategy stores rows pauses: it finishes
its step, records this in the store, and then polls only to remain a member.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

import structlog

from gossamer import clock
from gossamer.errors import GossamerError, Newer
from gossamer.events import FLEET
from gossamer.log import NO_PARTITIONS, Log, Message, Record
from gossamer.log.blobs import has_blob, load_all
from gossamer.log.codec import Decoded, decode_all
from gossamer.log.control import DEFINITION_KEY, ControlTail
from gossamer.log.throttling import HOLD_INTERVAL, Hold, hold_nothing
from gossamer.runtime.checkpoints import Checkpoints
from gossamer.runtime.quiescing import QuiesceRequest
from gossamer.store import Store
from gossamer.telemetry import observe
from gossamer.telemetry.timing import observe_duration

T = TypeVar("T")

IDLE_HOLD_INTERVAL = 5.0
"""Seconds between two lag checks while no record arrives."""

PAUSED_POLL_TIMEOUT = 0.2
"""Seconds between two polls of a paused member, and so the maximum delay of its resumption."""

logger = structlog.get_logger()

Report = Callable[[str], None]
"""Receives a text about work that needs an upgrade of the service, or "" once no work needs it."""

Blocking: TypeAlias = Generator[Callable[[], Any], Any, T]
"""Yields calls that may block, receives their results, and returns a T."""


class Batch(NamedTuple):
    """The records and messages of one advance of the log."""

    records: Sequence[Record]
    messages: Sequence[Message]


class Strategy(Protocol):
    """Handles records between their poll and the advance past them."""

    name: str
    """The name of the consumer group."""
    topics: list[str]
    """The consumed topics, besides the control topic."""

    @property
    def checkpoints(self) -> Checkpoints | None:
        """The checkpoints up to which the store includes the records. None if the strategy stores
        nothing."""

    def assign(self, partitions: frozenset[int]) -> None:
        """Take over *partitions* and give up all others. Writes of this call are flushed at
        once."""

    @property
    def restoring(self) -> frozenset[int]:
        """The assigned partitions whose state is not restored yet. Their records are not
        submitted."""

    def prepare(self) -> None:
        """Restore a part of the state of the partitions in `restoring`, if there are any."""

    def room(self) -> int:
        """Return the number of records that may be submitted now."""

    def control(self, records: Sequence[Record]) -> None:
        """Apply settings of operators."""

    def fits(self, decoded: Sequence[Decoded]) -> int:
        """Return how many of *decoded*, from the first one on, this step takes. The others are
        offered again in the next step."""

    def submit(self, decoded: Sequence[Decoded]) -> None:
        """Handle these records, or start to."""

    def collect(self) -> Batch | None:
        """Return the batch to advance now, or None. It is returned again until
        `finish_advance` is called."""

    def finish_advance(self, ours: bool, seconds: float) -> None:
        """Note that the log was advanced in a step of *seconds*. *ours* is False if this member was
        fenced."""

    def due(self) -> float | None:
        """Return when a step is due without any record, or None without a timer."""


def ignore(reason: str) -> None:
    """Ignore a report."""


class Loop:
    """Drives *strategy* along the log. Records of the partitions that *hold* returns are not
    polled.

    *report* is called whenever the set of partitions that wait for a newer version changes.
    """

    def __init__(
        self,
        strategy: Strategy,
        log: Log,
        store: Store,
        hold: Hold = hold_nothing,
        report: Report = ignore,
    ) -> None:
        self._strategy, self._hold, self._report = strategy, hold, report
        self._blobs = log.blobs
        self._open = partial(log.reader, strategy.name, strategy.topics, store)
        self._reader = self._open()
        self._control = ControlTail(log)
        self._control_records: list[Record] = []
        """Records of the control topic that the strategy has not got yet."""
        self._has_taken_over = False
        """Whether partitions were assigned since the end of the control topic was queried."""
        self._crawls = {FLEET}
        """The ids of all crawls whose definitions were read."""
        self._quiesce_request = QuiesceRequest()
        self._paused_by: str | None = None
        """The id of the event that pauses this loop, set once the store has the notes of its
        partitions. None while the loop may write."""
        self._assigned: frozenset[int] | None = None
        self._waiting: dict[int, str] = {}
        """The partitions that wait for a newer version, with the reason."""
        self._polled: list[Decoded] = []
        """Polled records that were not submitted, because a server became unavailable, because they
        do not fit a step, or because their partition was assigned in the same poll and is not
        restored yet."""
        self._restoring = NO_PARTITIONS
        """The partitions whose state is not restored yet, since the last poll."""
        self._paused = NO_PARTITIONS
        self._hold_checked_at = float("-inf")
        self._is_idle = False
        """Whether the last poll returned no record."""
        self.began = 0.0
        """The steady time from which the duration of the last step is measured: after its poll."""

    def due(self) -> float | None:
        """Return when a step is due without any record, or None without a timer."""
        return self._strategy.due()

    def step(self, timeout: float = 0.0) -> bool:
        """Take one step, and return whether there was anything to do.

        It waits up to *timeout* seconds for records. Raise GossamerError for a failure that no
        record has caused. The log has not advanced then.
        """
        return _run(self._step(timeout))

    async def step_in(self, thread: Executor, timeout: float | None) -> bool:
        """Take one step with all blocking calls in *thread*. With *timeout* None, nothing is
        polled."""
        return await _run_in(thread, self._step(timeout))

    async def flush_in(self, thread: Executor) -> None:
        """Advance the log past all finished records."""
        self.began = clock.steady()
        await _run_in(thread, self._advance())

    def _step(self, timeout: float | None) -> Blocking[bool]:
        strategy = self._strategy
        if timeout is not None:
            if (yield from self._stay_paused()):
                return False
            yield from self._assign()
            strategy.prepare()
            yield from self._check_hold()
            left = len(self._ready())
            room = max(0, strategy.room() - left)
            wait = 0.0 if strategy.restoring or left else timeout
            paused = self._paused | self._waiting.keys() | strategy.restoring
            found = yield partial(self._reader.poll, wait, room, paused)
            self._polled += decode_all(found)
            self._is_idle = not (found or left)
            self._find_newer()
            # Partitions change inside the poll. The strategy must know before it gets records.
            yield from self._assign()
            restored, self._restoring = self._restoring - strategy.restoring, strategy.restoring
            self._has_taken_over |= bool(restored)
        self.began = clock.steady()
        if timeout is not None:
            if self._has_taken_over or self._has_unknown_crawl():
                # A takeover takes time, in which operators may change settings, and orders under
                # the former settings might be out of scope or too fast. A crawl is defined before
                # its first event, but the control topic may arrive later.
                yield self._control.find_end
                self._has_taken_over = False
            yield from self._read_control()
            if self._control_records:
                strategy.control(self._control_records)
                self._control_records = []
        ready, restoring = self._ready(), strategy.restoring
        fits = strategy.fits(ready)
        records = ready[:fits]
        if any(map(has_blob, records)):
            records = yield partial(load_all, records, self._blobs)
        waiting = [one for one in self._polled if one.record.partition in restoring]
        self._polled = waiting + ready[fits:]
        strategy.submit(records)
        moved = yield from self._advance()
        if self._restoring and not moved:
            # Even an empty advance calls the store's guard, which checks the claims.
            yield partial(self._reader.advance, (), ())
        if timeout is not None:
            yield from self._pause_if_quiesced()
        return moved or bool(self._restoring)

    def _ready(self) -> list[Decoded]:
        """Return the polled records whose partitions are restored."""
        restoring = self._strategy.restoring
        return [one for one in self._polled if one.record.partition not in restoring]

    def _read_control(self, timeout: float = 0.0) -> Blocking[None]:
        """Read the control topic, waiting up to *timeout* seconds for the first records.

        It is read at least to the end that was found last.
        """
        while records := (yield partial(self._control.poll, timeout)):
            self._quiesce_request.learn(records)
            self._control_records += records
            self._crawls |= {
                record.key.removeprefix(DEFINITION_KEY)
                for record in records
                if record.key.startswith(DEFINITION_KEY)
            }
            timeout = 0.0

    def _has_unknown_crawl(self) -> bool:
        """Return whether a polled event belongs to a crawl whose definition was not read yet."""
        events = (event for _, event in self._ready() if not isinstance(event, GossamerError))
        return any(event.crawl not in self._crawls for event in events)

    def _pause_if_quiesced(self) -> Blocking[None]:
        """If the fleet is being quiesced, record in the store that nothing more is written."""
        checkpoints, asked = self._strategy.checkpoints, self._quiesce_request.id
        if checkpoints is None or asked is None:
            return
        # Buffered writes are flushed first, because the note must not precede them.
        yield partial(self._reader.advance, (), ())
        checkpoints.note_quiesced(asked)
        yield partial(self._reader.advance, (), ())
        self._paused_by = asked
        logger.info("service quiesced: writing nothing more", service=self._strategy.name)

    def _stay_paused(self) -> Blocking[bool]:
        """Only poll while the fleet is quiesced, and return whether it is.

        A member that has just started also pauses, before it claims anything.
        """
        checkpoints = self._strategy.checkpoints
        if checkpoints is None or not (self._paused_by or self._assigned is None):
            return False
        self.began = clock.steady()
        yield from self._read_control(PAUSED_POLL_TIMEOUT if self._paused_by else 0.0)
        asked = self._quiesce_request.id
        if asked is None or self._paused_by not in (None, asked):
            yield from self._resume()
            return False
        yield partial(self._reader.poll, 0.0, 0, self._paused | self._waiting.keys())
        fresh = self._reader.partitions - self._waiting.keys() - (self._assigned or NO_PARTITIONS)
        if fresh and not (yield partial(checkpoints.are_quiesced, fresh, asked)):
            # Their former member crashed before it wrote its notes. This member takes them over,
            # and then pauses.
            yield from self._resume()
            return False
        self._paused_by = asked
        return True

    def _resume(self) -> Blocking[None]:
        """Withdraw the note in the store before anything else is written."""
        if self._paused_by:
            self._paused_by = None
            assert self._strategy.checkpoints
            self._strategy.checkpoints.note_quiesced(None)
            yield partial(self._reader.advance, (), ())
            logger.info("service not quiesced any more", service=self._strategy.name)

    def _assign(self) -> Blocking[None]:
        partitions = self._reader.partitions - self._waiting.keys()
        if partitions != self._assigned:
            self._assigned, self._has_taken_over = partitions, True
            self._polled = [one for one in self._polled if one.record.partition in partitions]
            self._strategy.assign(partitions)
            yield partial(self._reader.advance, (), ())

    def _find_newer(self) -> None:
        """Find our partitions that wait for a newer version, and report changes."""
        ours = self._reader.partitions
        waiting = {number: reason for number, reason in self._waiting.items() if number in ours}
        for record, event in self._polled:
            number = record.partition
            if isinstance(event, Newer) and number in ours and number not in waiting:
                at = f"{record.topic}, partition {number}, offset {record.offset}"
                waiting[number] = f"{at} ({event})"
                logger.warning(
                    "upgrade this service: a record waits for a newer version",
                    service=self._strategy.name,
                    topic=record.topic,
                    partition=number,
                    offset=record.offset,
                    reason=str(event),
                )
        if waiting != self._waiting:
            self._waiting = waiting
            places = "; ".join(waiting[number] for number in sorted(waiting))
            self._report(f"upgrade this service: it waits at {places}" if places else "")

    def _check_hold(self) -> Blocking[None]:
        is_quiet = self._is_idle and not self._paused
        if clock.steady() >= self._hold_checked_at + (
            IDLE_HOLD_INTERVAL if is_quiet else HOLD_INTERVAL
        ):
            self._paused = yield self._hold
            self._hold_checked_at = clock.steady()

    def _advance(self) -> Blocking[bool]:
        batch = self._strategy.collect()
        if batch is None:
            return False
        name = self._strategy.name
        with observe_duration("gossamer_step_phase_seconds", service=name, phase="advance"):
            ours = yield partial(self._reader.advance, *batch)
        seconds = clock.steady() - self.began
        observe("gossamer_step_seconds", seconds, service=name)
        self._strategy.finish_advance(ours, seconds)
        if not ours:
            yield from self._give_up()
        return True

    def _give_up(self) -> Blocking[None]:
        """Give up all partitions after a fence. Those that are still ours are taken over with the
        next step: another member may have had them meanwhile."""
        self._polled, self._assigned = [], frozenset()
        self._strategy.assign(frozenset())
        yield partial(self._reader.advance, (), ())

    def close(self) -> None:
        """Leave the group."""
        self._reader.close()


def _run(work: Blocking[T]) -> T:
    try:
        call = next(work)
        while True:
            try:
                result = call()
            except Exception as error:
                call = work.throw(error)
            else:
                call = work.send(result)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def _run_in(thread: Executor, work: Blocking[T]) -> T:
    loop = asyncio.get_running_loop()
    try:
        call = next(work)
        while True:
            try:
                result = await loop.run_in_executor(thread, call)
            except Exception as error:
                call = work.throw(error)
            else:
                call = work.send(result)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
