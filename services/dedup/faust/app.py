"""The Faust app of one instance: built from the settings, run, and stopped."""

import asyncio
import faulthandler
import logging
import os
import ssl
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast

import faust
import structlog
from aiokafka.errors import CommitFailedError, KafkaError, KafkaTimeoutError
from faust.exceptions import ProducerSendError
from faust.tables.manager import TableManager
from faust.tables.recovery import Recovery
from faust.types import StreamT
from faust.types.auth import CredentialsT

from gossamer import clock
from gossamer.errors import GossamerError, Unavailable
from gossamer.events import topics
from gossamer.log import Log
from gossamer.log.codec import decode_all
from gossamer.log.control import ControlTail
from gossamer.log.kafka.retention import CHECK_INTERVAL
from gossamer.log.throttling import HOLD_INTERVAL, Throttle
from gossamer.runtime.backends import open_blobs
from gossamer.runtime.handling import handle_record
from gossamer.runtime.health import Health
from gossamer.services.dedup.faust.changelog import Changelog
from gossamer.services.dedup.faust.runner import FaustRunner, Stream
from gossamer.services.dedup.faust.tables import FaustSeenTable
from gossamer.services.dedup.faust.transport import (
    Consumer,
    Offsets,
    Restorer,
    Transport,
    consumed_partitions,
)
from gossamer.services.dedup.seen import SeenMapping
from gossamer.services.dedup.service import Dedup
from gossamer.settings import Settings
from gossamer.settings.servers import KafkaSettings
from gossamer.store import Store
from gossamer.telemetry import set_gauge

COMMIT_INTERVAL = 1.0
"""Seconds between commits. After a crash, the records since the last one are processed again."""
REBALANCE_TIMEOUT = 30.0
"""Seconds in which members must rejoin the group."""
MAX_BUFFERED_RECORDS = 64
"""Maximum number of records of a topic that Faust buffers."""
MAX_BATCH_BYTES = 256 << 10
"""Maximum size of a batch to one partition."""
CONTROL_TIMEOUT = 0.2
"""Seconds of one poll of the control topic, and so the longest time that an event of an unknown
crawl waits for the end of this poll."""
HEALTH_INTERVAL = 0.5
"""Seconds between two reports of health."""
STOP_TIMEOUT = 30.0
"""Seconds in which Faust must commit and stop. Deployments kill the process after 40 seconds."""

TRANSIENT_ERRORS = (KafkaTimeoutError, CommitFailedError)
"""Errors that a restart of the app resolves, although aiokafka does not mark them retriable."""

T = TypeVar("T")

logger = structlog.get_logger()

# These loggers would report errors twice: the errors are also raised, and logged where they are
# caught.
for _name in ("faust", "mode", "aiokafka", "gossamer.services.dedup"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


def build(
    settings: Settings, folder: Path, partitions: int, store: Store, offsets: Offsets
) -> FaustRunner:
    """Build the app and its runner. Needs a running event loop."""
    kafka = settings.kafka
    app = faust.App(
        f"{kafka.prefix}dedup",
        broker=[f"kafka://{server.strip()}" for server in kafka.servers.split(",")],
        broker_credentials=credentials(kafka),
        table_standby_replicas=settings.dedup.standbys,
        datadir=folder,
        canonical_url=f"http://{settings.service.instance}",
        **_options(kafka),
    )
    transport = Transport(app.conf.broker_consumer, app)
    app.transport, app.producer_transport = transport, transport
    seen = FaustSeenTable(app, partitions)
    changelog = Changelog(kafka, seen)
    tables = cast(TableManager, app.tables)
    tables.add(seen)
    discovered = kafka.prefix + topics.URLS_DISCOVERED.name
    restorer = Restorer(app, discovered, changelog, offsets, beacon=tables.beacon)
    tables._recovery = cast(Recovery, restorer)
    dedup = Dedup(SeenMapping(seen), store, settings.dedup, archive=settings.archive)
    runner = FaustRunner(app, dedup, changelog, store, open_blobs(settings))
    restorer.load = runner.load
    consumer = cast(Consumer, app.consumer)
    consumer.committable_offsets, consumer.hand_over = runner.committable_offsets, runner.hand_over
    consumer.check, consumer.positions = offsets.check, {}
    _add_agent(runner, kafka.prefix + topics.SEEDS.name, runner.handle_urls)
    _add_agent(runner, discovered, runner.handle_urls)
    _add_agent(runner, kafka.prefix + topics.PAGES_PARSED.name, runner.queue_pages)
    return runner


def _add_agent(
    runner: FaustRunner, name: str, work: Callable[[Stream], Coroutine[Any, Any, None]]
) -> None:
    async def run_guarded(stream: StreamT[Any]) -> None:
        await runner.guard(work(cast(Stream, stream)))

    source = runner.app.topic(name, key_serializer="raw", value_serializer="raw", allow_empty=True)
    runner.app.agent(source, name=name)(run_guarded)


def _options(kafka: KafkaSettings) -> dict[str, Any]:
    """Return the options of the app that depend only on the settings."""
    return {
        "store": "rocksdb://",
        "broker_session_timeout": kafka.session,
        "broker_heartbeat_interval": kafka.session / 3,
        "broker_rebalance_timeout": REBALANCE_TIMEOUT,
        # A join is answered once all members have rejoined, or their timeout is over.
        "broker_request_timeout": max(kafka.session, REBALANCE_TIMEOUT) + 10.0,
        "broker_commit_interval": COMMIT_INTERVAL,
        "producer_compression_type": "zstd",
        "producer_max_batch_size": MAX_BATCH_BYTES,
        "producer_max_request_size": topics.MAX_RECORD_BYTES,
        "producer_request_timeout": kafka.timeout,
        "stream_buffer_maxsize": MAX_BUFFERED_RECORDS,
        # The runner tracks the records in flight.
        "stream_wait_empty": False,
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        "web_enabled": False,
    }


def credentials(kafka: KafkaSettings) -> CredentialsT | None:
    """Return Faust's credentials and trusted certificates."""
    context = _tls(kafka) if kafka.security.endswith("ssl") else None
    if kafka.security.startswith("sasl"):
        return faust.SASLCredentials(
            username=kafka.username,
            password=kafka.secret(),
            mechanism=kafka.mechanism,
            ssl_context=context,
        )
    return faust.SSLCredentials(context) if context else None


def _tls(kafka: KafkaSettings) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(kafka.ca_file) if kafka.ca_file else None)
    if kafka.cert_file:
        context.load_cert_chain(kafka.cert_file, kafka.key_file)
    return context


class FaustWorker:
    """Runs the app of an instance until it is asked to stop."""

    def __init__(self, runner: FaustRunner, offsets: Offsets, log: Log, health: Health) -> None:
        self._runner, self._app, self._dedup = runner, runner.app, runner.dedup
        self._offsets, self._log, self._health = offsets, log, health
        self._throttle = Throttle(log, runner.dedup.name)
        self._thread = ThreadPoolExecutor(1, "control")
        self._publisher, self._halt = ThreadPoolExecutor(1, "publisher"), threading.Event()

    async def run(self, stopped: asyncio.Event) -> None:
        """Run until *stopped* is set.

        Raise Unavailable for an error that a restart may resolve, and GossamerError for others.
        """
        control = ControlTail(self._log)
        await self._read_control(control)
        self._runner.read_control = partial(self._read_control, control)
        try:
            await self._run_jobs(stopped, control)
        except Exception as error:
            raise translate_error(error) from error

    async def _run_jobs(self, stopped: asyncio.Event, control: ControlTail) -> None:
        starting = asyncio.create_task(self._start())
        jobs: list[Coroutine[Any, Any, object]] = [
            stopped.wait(),
            self._app.wait_until_stopped(),
            self._runner.failure(),
            self._runner.handle_pages(),
            _repeat(lambda: self._poll_control(control, CONTROL_TIMEOUT)),
            _repeat(self._report_health),
            _repeat(self._check_lag),
            _repeat(self._check_offsets),
        ]
        tasks = [asyncio.create_task(job) for job in jobs]
        try:
            # `starting` ends when the partitions are restored. If any other job ends, all of them
            # are stopped.
            done, _ = await asyncio.wait([starting, *tasks], return_when=asyncio.FIRST_COMPLETED)
            if done == {starting}:
                starting.result()
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            if self._app.crash_reason:
                raise self._app.crash_reason
        finally:
            with exit_after(STOP_TIMEOUT):
                for task in (starting, *tasks):
                    task.cancel()
                await asyncio.gather(starting, *tasks, return_exceptions=True)
                await self._stop()

    async def _start(self) -> None:
        """Publish what the changelog lacks, before the group assigns our partitions."""
        publish = partial(self._runner.changelog.complete, self._halt)
        await asyncio.get_running_loop().run_in_executor(self._publisher, publish)
        await self._app.start()

    async def _read_control(self, control: ControlTail) -> None:
        """Pass all control events to Dedup that precede this call."""
        await self._in_thread(control.find_end)
        while await self._poll_control(control, 0.0):
            pass

    async def _poll_control(self, control: ControlTail, timeout: float) -> bool:
        """Pass control events to Dedup; return whether there were any."""
        records = await self._in_thread(partial(control.poll, timeout))
        for one in decode_all(records):
            if letters := handle_record(self._dedup, one, clock.now()):
                await self._in_thread(partial(self._log.append, letters))
        return bool(records)

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _report_health(self) -> None:
        if self._app.tables.actives_ready:
            assigned = self._app.assignor.assigned_actives()
            changelogs = self._app.tables.changelog_topics
            set_gauge("gossamer_partitions", sum(tp.topic in changelogs for tp in assigned))
            self._health.report_ready()
        elif reason := self._runner.changelog.waiting_reason:
            self._health.report_waiting(reason)
        else:
            self._health.report_waiting("the group is rebalancing")
        await asyncio.sleep(HEALTH_INTERVAL)

    async def _check_lag(self) -> None:
        """Pause partitions while the consumers of their outputs lag behind."""
        await asyncio.sleep(HOLD_INTERVAL)
        if not self._app.tables.actives_ready:
            return
        try:
            throttled = await self._in_thread(self._throttle.partitions)
        except Unavailable:
            return  # Faust's consumer waits for the brokers too.
        # Nothing is paused during a rebalance, because its end resumes all partitions.
        if self._app.tables.actives_ready:
            consumed = consumed_partitions(self._app)
            paused = {tp for tp in consumed if tp.partition in throttled}
            self._app.consumer.pause_partitions(paused)
            self._app.consumer.resume_partitions(consumed - paused)

    async def _check_offsets(self) -> None:
        """Check for gaps, and delete records that all groups have consumed."""
        await asyncio.sleep(CHECK_INTERVAL)
        if self._app.tables.actives_ready:
            positions = dict(cast(Consumer, self._app.consumer).positions)
            try:
                await self._in_thread(partial(self._offsets.check, positions))
            except Unavailable:
                return
            await self._in_thread(partial(self._offsets.trim, consumed_partitions(self._app)))

    async def _stop(self) -> None:
        self._halt.set()
        self._publisher.shutdown(wait=False)
        if self._app.tables.actives_ready and not self._app.crashed:
            await self._runner.hand_over()
        await self._app.stop()
        self._runner.close()
        self._thread.shutdown(wait=False)


@contextmanager
def exit_after(seconds: float) -> Iterator[None]:
    """Exit the process after *seconds* in the block, even if the block stops the event loop."""
    watchdog = threading.Timer(seconds, _exit)
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()


def _exit() -> None:
    logger.error("Faust does not stop: exiting the process; no records are lost")
    faulthandler.dump_traceback(sys.__stderr__ or 2)
    os._exit(1)


async def _repeat(step: Callable[[], Coroutine[Any, Any, object]]) -> None:
    while True:
        await step()


def translate_error(error: Exception) -> Exception:
    """Return Unavailable for a transient error of Kafka, GossamerError for any other one."""
    cause = error.__cause__ if isinstance(error, ProducerSendError) else error
    if isinstance(cause, KafkaError):
        is_transient = cause.retriable or isinstance(cause, TRANSIENT_ERRORS)
        return (Unavailable if is_transient else GossamerError)(f"Kafka: {cause!r}")
    return error
