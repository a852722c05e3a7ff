"""The Faust app of one instance, built from the settings: topics, table, sessions, credentials."""

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
from gossamer.log.kafka.gaps import CHECK_EVERY
from gossamer.log.throttling import HOLD_INTERVAL, Throttle
from gossamer.runtime.answers import answer
from gossamer.runtime.health import Health
from gossamer.settings import Settings
from gossamer.settings.servers import KafkaSettings
from gossamer.store import Store
from gossamer.telemetry import gauge
from services.dedup.faust.changelog import Changelog
from services.dedup.faust.restore import Offsets, Restorer, read_by
from services.dedup.faust.runner import FaustRunner, Stream
from services.dedup.faust.tables import SeenTable
from services.dedup.faust.transport import Consumer, Transport
from services.dedup.seen import SeenMapping
from services.dedup.service import Dedup

COMMIT_EVERY = 1.0
"""Seconds between commits: after a crash, their work may be done again."""
REBALANCE_LIMIT = 30.0
"""Seconds that members have to rejoin before the group goes on without them."""
BUFFERED = 64
"""Most records of a topic that Faust buffers."""
BATCH = 256 << 10
"""Most bytes of a batch to one partition."""


def build(
    settings: Settings, folder: Path, partitions: int, store: Store, offsets: Offsets
) -> FaustRunner:
    """Build the app and the runner of Dedup on it. Needs a running event loop."""
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
    seen = SeenTable(app, partitions)
    changelog = Changelog(kafka, seen)
    tables = cast(TableManager, app.tables)
    tables.add(seen)
    discovered = kafka.prefix + topics.URLS_DISCOVERED.name
    restorer = Restorer(app, discovered, changelog, offsets, beacon=tables.beacon)
    tables._recovery = cast(Recovery, restorer)
    dedup = Dedup(SeenMapping(seen), store, settings.dedup, settings.frontier.url_budget)
    runner = FaustRunner(app, dedup, changelog, store)
    restorer.load = runner.load
    consumer = cast(Consumer, app.consumer)
    consumer.passed, consumer.hand_over = runner.passed, runner.hand_over
    consumer.check, consumer.positions = offsets.check, {}
    _agent(runner, kafka.prefix + topics.SEEDS.name, runner.answer)
    _agent(runner, discovered, runner.answer)
    _agent(runner, kafka.prefix + topics.PAGES_PARSED.name, runner.line_up)
    return runner


def _agent(
    runner: FaustRunner, name: str, work: Callable[[Stream], Coroutine[Any, Any, None]]
) -> None:
    async def carry(stream: StreamT[Any]) -> None:
        await runner.guarded(work(cast(Stream, stream)))

    source = runner.app.topic(name, key_serializer="raw", value_serializer="raw", allow_empty=True)
    runner.app.agent(source, name=name)(carry)


def _options(kafka: KafkaSettings) -> dict[str, Any]:
    """Return the options of the app that depend on nothing but the settings."""
    return {
        "store": "rocksdb://",
        "broker_session_timeout": kafka.session,
        "broker_heartbeat_interval": kafka.session / 3,
        "broker_rebalance_timeout": REBALANCE_LIMIT,
        # A member that joins is answered once the others have rejoined, or are given up.
        "broker_request_timeout": max(kafka.session, REBALANCE_LIMIT) + 10.0,
        "broker_commit_interval": COMMIT_EVERY,
        "producer_compression_type": "zstd",
        "producer_max_batch_size": BATCH,
        "producer_max_request_size": topics.LARGEST,
        "producer_request_timeout": kafka.timeout,
        "stream_buffer_maxsize": BUFFERED,
        # The runner keeps track of what is under way.
        "stream_wait_empty": False,
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        "web_enabled": False,
    }


def credentials(kafka: KafkaSettings) -> CredentialsT | None:
    """Return how Faust authenticates, and which certificates it trusts."""
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
