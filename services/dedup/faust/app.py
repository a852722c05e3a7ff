"""The Faust app of one instance, built from the settings: topics, table, sessions, credentials."""

import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import faust
from faust.tables.manager import TableManager
from faust.tables.recovery import Recovery
from faust.types import StreamT
from faust.types.auth import CredentialsT

from gossamer.events import topics
from gossamer.settings import Settings
from gossamer.settings.servers import KafkaSettings
from gossamer.store import Store
from services.dedup.faust.changelog import Changelog
from services.dedup.faust.offsets import Offsets
from services.dedup.faust.restore import Restorer
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
