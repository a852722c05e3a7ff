"""Runs the Faust app until it should stop, and translates the errors that it ends with."""

import asyncio
import faulthandler
import logging
import os
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar, cast

import structlog
from aiokafka.errors import CommitFailedError, KafkaError, KafkaTimeoutError
from faust.exceptions import ProducerSendError

from gossamer import clock
from gossamer.errors import GossamerError, Unavailable
from gossamer.log import Log
from gossamer.log.codec import decode_all
from gossamer.log.control import ControlTail
from gossamer.log.kafka.gaps import CHECK_EVERY
from gossamer.log.throttling import HOLD_INTERVAL, Throttle
from gossamer.runtime.answers import answer
from gossamer.runtime.health import Health
from gossamer.telemetry import gauge
from services.dedup.faust.offsets import Offsets
from services.dedup.faust.restore import read_by
from services.dedup.faust.runner import FaustRunner
from services.dedup.faust.transport import Consumer

CONTROL_WAIT = 1.0
"""Most seconds of one wait for a record on the control topic."""
HEALTH_EVERY = 0.5
"""Seconds between two reports of health."""
STOP_LIMIT = 30.0
"""Seconds that Faust may take to commit and stop; deployments kill the process after 40."""

PASSING = (KafkaTimeoutError, CommitFailedError)
"""What a new start mends, though aiokafka does not say so of them."""

T = TypeVar("T")

logger = structlog.get_logger()

# Their errors are raised to us as well, and we log them.
for _name in ("faust", "mode", "aiokafka", "services.dedup"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class FaustWorker:
    """One run of an instance."""

    def __init__(self, runner: FaustRunner, offsets: Offsets, log: Log, health: Health) -> None:
        self._runner, self._app, self._dedup = runner, runner.app, runner.dedup
        self._offsets, self._log, self._health = offsets, log, health
        self._throttle = Throttle(log, runner.dedup.name)
        self._thread = ThreadPoolExecutor(1, "control")
        self._publisher, self._halt = ThreadPoolExecutor(1, "publisher"), threading.Event()

    async def run(self, ended: asyncio.Event) -> None:
        """Work until *ended*; raise Unavailable if a new start may help, else GossamerError."""
        control = ControlTail(self._log)
        while await self._poll_control(control, 0.0):
            pass
        try:
            await self._work(ended, control)
        except Exception as error:
            raise translate_error(error) from error

    async def _work(self, ended: asyncio.Event, control: ControlTail) -> None:
        starting = asyncio.create_task(self._start())
        jobs: list[Coroutine[Any, Any, object]] = [
            ended.wait(),
            self._app.wait_until_stopped(),
            self._runner.failure(),
            self._runner.judge(),
            _repeat(lambda: self._poll_control(control, CONTROL_WAIT)),
            _repeat(self._report_health),
            _repeat(self._check_lag),
            _repeat(self._check_offsets),
        ]
        tasks = [asyncio.create_task(job) for job in jobs]
        try:
            # Starting takes until all partitions are restored. A job that ends before ends all.
            done, _ = await asyncio.wait([starting, *tasks], return_when=asyncio.FIRST_COMPLETED)
            if done == {starting}:
                starting.result()
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            if self._app.crash_reason:
                raise self._app.crash_reason
        finally:
            with ends_within(STOP_LIMIT):
                for task in (starting, *tasks):
                    task.cancel()
                await asyncio.gather(starting, *tasks, return_exceptions=True)
                await self._stop()

    async def _start(self) -> None:
        """Publish what the changelog lacks before the group gives our partitions to anybody."""
        publish = partial(self._runner.changelog.complete, self._halt)
        await asyncio.get_running_loop().run_in_executor(self._publisher, publish)
        await self._app.start()

    async def _poll_control(self, control: ControlTail, timeout: float) -> bool:
        """Hand what operators have set to Dedup; return whether there was anything."""
        records = await self._in_thread(partial(control.poll, timeout))
        for one in decode_all(records):
            if letters := answer(self._dedup, one, clock.now()):
                await self._in_thread(partial(self._log.append, letters))
        return bool(records)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _report_health(self) -> None:
        if self._app.tables.actives_ready:
            mine = self._app.assignor.assigned_actives()
            names = self._app.tables.changelog_topics
            gauge("gossamer_partitions", sum(tp.topic in names for tp in mine))
            self._health.ready()
        elif why := self._runner.changelog.why_waiting:
            self._health.waiting(why)
        else:
            self._health.waiting("the group shares out its partitions")
        await asyncio.sleep(HEALTH_EVERY)

    async def _check_lag(self) -> None:
        """Pause the partitions whose readers are behind."""
        await asyncio.sleep(HOLD_INTERVAL)
        if not self._app.tables.actives_ready:
            return
        try:
            held = await self._in_thread(self._throttle.partitions)
        except Unavailable:
            return  # Faust waits for the brokers as well.
        # A rebalance that began meanwhile resumes all partitions when it ends.
        if self._app.tables.actives_ready:
            read = read_by(self._app)
            paused = {tp for tp in read if tp.partition in held}
            self._app.consumer.pause_partitions(paused)
            self._app.consumer.resume_partitions(read - paused)

    async def _check_offsets(self) -> None:
        """Look for gaps, and delete what all have read."""
        await asyncio.sleep(CHECK_EVERY)
        if self._app.tables.actives_ready:
            positions = dict(cast(Consumer, self._app.consumer).positions)
            try:
                await self._in_thread(partial(self._offsets.check, positions))
            except Unavailable:
                return
            await self._in_thread(partial(self._offsets.trim, read_by(self._app)))

    async def _stop(self) -> None:
        self._halt.set()
        self._publisher.shutdown(wait=False)
        if self._app.tables.actives_ready and not self._app.crashed:
            await self._runner.hand_over()
        await self._app.stop()
        self._runner.close()
        self._thread.shutdown(wait=False)


@contextmanager
def ends_within(seconds: float) -> Iterator[None]:
    """End the process if what is done here takes longer, even if it blocks the event loop."""
    watchdog = threading.Timer(seconds, _give_up)
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()


def _give_up() -> None:
    logger.error("Faust does not stop: the process ends without it; nothing is lost")
    faulthandler.dump_traceback(sys.__stderr__ or 2)
    os._exit(1)


async def _repeat(step: Callable[[], Coroutine[Any, Any, object]]) -> None:
    while True:
        await step()


def translate_error(error: Exception) -> Exception:
    """Return Unavailable for what passes, GossamerError for what somebody has to mend."""
    cause = error.__cause__ if isinstance(error, ProducerSendError) else error
    if isinstance(cause, KafkaError):
        passes = cause.retriable or isinstance(cause, PASSING)
        return (Unavailable if passes else GossamerError)(f"Kafka: {cause!r}")
    return error
