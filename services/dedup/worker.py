"""Runs the Faust app until it is to stop, and says in our words why it cannot go on."""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

import structlog
from aiokafka.errors import KafkaError
from faust.exceptions import ProducerSendError

from gossamer import clock, topics
from gossamer.errors import Absent, GossamerError
from gossamer.health import Health
from gossamer.log import Log, Tail
from gossamer.runtime import answered
from gossamer.telemetry import gauge
from services.dedup.carrier import Carrier

HEED = 1.0
"""Seconds that reading the control topic may wait for something."""
PULSE = 0.5
"""Seconds between two looks at how the app is."""
STOP_LIMIT = 15.0
"""Seconds that Faust may take to stop."""

T = TypeVar("T")

logger = structlog.get_logger()

# All of it comes to us as well, and is said once: by us.
for _name in ("faust", "mode", "aiokafka", "services.dedup"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Worker:
    """One run of an instance."""

    def __init__(self, carrier: Carrier, log: Log, health: Health) -> None:
        self._carrier, self._app, self._dedup = carrier, carrier.app, carrier.dedup
        self._log, self._health = log, health
        self._thread = ThreadPoolExecutor(1, "control")

    async def run(self, ended: asyncio.Event) -> None:
        """Work until *ended*; raise what a person has to be told, or Absent."""
        control = self._log.tail([topics.CONTROL.name])
        while await self._heed(control, 0.0):
            pass
        try:
            await self._work(ended, control)
        except Exception as error:
            raise _told(error) from error
        finally:
            await self._stop()

    async def _work(self, ended: asyncio.Event, control: Tail) -> None:
        starting = asyncio.create_task(self._app.start())
        doings: list[Coroutine[Any, Any, object]] = [
            ended.wait(),
            self._app.wait_until_stopped(),
            self._carrier.failure(),
            self._carrier.send_judged(),
            _repeat(lambda: self._heed(control, HEED)),
            _repeat(self._pulse),
        ]
        tasks = [asyncio.create_task(doing) for doing in doings]
        try:
            # It starts until all partitions are whole; what ends before then ends everything.
            done, _ = await asyncio.wait([starting, *tasks], return_when=asyncio.FIRST_COMPLETED)
            if done == {starting}:
                starting.result()
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            if self._app.crash_reason:
                raise self._app.crash_reason
        finally:
            for task in (starting, *tasks):
                task.cancel()
            await asyncio.gather(starting, *tasks, return_exceptions=True)

    async def _heed(self, control: Tail, timeout: float) -> bool:
        """Learn what the operators say; return whether there was anything."""
        records = await self._in_thread(partial(control.poll, timeout))
        for record in records:
            if not record.value:
                continue  # A tombstone says nothing.
            if letters := answered(self._dedup, record, clock.now()):
                await self._in_thread(partial(self._log.append, letters))
        return bool(records)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _pulse(self) -> None:
        if self._app.tables.actives_ready:
            mine = self._app.assignor.assigned_actives()
            names = self._app.tables.changelog_topics
            gauge("gossamer_partitions", sum(tp.topic in names for tp in mine))
            self._health.ready()
        elif left := self._carrier.changelog.left:
            why = f"the URL-seen table is read from its changelog: {left} records to go"
            self._health.waiting(why)
        else:
            self._health.waiting("the group shares out its partitions")
        await asyncio.sleep(PULSE)

    async def _stop(self) -> None:
        if self._app.tables.actives_ready and not self._app.crashed:
            await self._carrier.hand_over()
        stopping = asyncio.create_task(self._app.stop())
        await asyncio.wait([stopping], timeout=STOP_LIMIT)
        if not stopping.done():
            logger.error("Faust does not stop: the process ends without it; nothing is lost")
            os._exit(1)
        self._carrier.close()
        self._thread.shutdown(wait=False)


async def _repeat(step: Callable[[], Coroutine[Any, Any, object]]) -> None:
    while True:
        await step()


def _told(error: Exception) -> Exception:
    cause = error.__cause__ if isinstance(error, ProducerSendError) else error
    if isinstance(cause, KafkaError):
        return (Absent if cause.retriable else GossamerError)(f"Kafka: {cause!r}")
    return error
