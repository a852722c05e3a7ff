"""The Faust app of one instance, as the settings say: topics, table, sessions, credentials."""

import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import faust
from faust.tables.manager import TableManager
from faust.tables.recovery import Recovery
from faust.types import StreamT
from faust.types.auth import CredentialsT

from gossamer import topics
from gossamer.config import Settings
from gossamer.servers import KafkaSettings
from gossamer.store import Store
from services.dedup.carrier import Carrier, Stream
from services.dedup.changelog import Changelog
from services.dedup.restore import Restorer
from services.dedup.tables import SeenTable
from services.dedup.transport import Consumer, Transport

COMMIT_EVERY = 1.0
"""Seconds: what was done in them may be done again after a crash."""
REBALANCE_LIMIT = 30.0
"""Seconds that members have to join again, before the others go on without them."""
BUFFERED = 64
"""Most records of a topic that wait in Faust."""
BATCH = 256 << 10
"""Most bytes of one batch to a partition."""


def build(settings: Settings, folder: Path, partitions: int, store: Store) -> Carrier:
    """Make the app and what carries Dedup along it. Needs a running event loop."""
    kafka = settings.kafka
    app = faust.App(
        f"{kafka.prefix}dedup",
        broker=[f"kafka://{server.strip()}" for server in kafka.servers.split(",")],
        broker_credentials=credentials(kafka),
        table_standby_replicas=settings.dedup.standbys,
        datadir=folder,
        canonical_url=f"http://{settings.service.instance}",
        **_ways(kafka),
    )
    transport = Transport(app.conf.broker_consumer, app)
    app.transport, app.producer_transport = transport, transport
    seen = SeenTable(app, partitions)
    changelog = Changelog(kafka, seen)
    tables = cast(TableManager, app.tables)
    tables.add(seen)
    discovered = kafka.prefix + topics.URLS_DISCOVERED.name
    restorer = Restorer(app, discovered, changelog, beacon=tables.beacon)
    tables._recovery = cast(Recovery, restorer)
    carrier = Carrier(app, seen, changelog, store)
    consumer = cast(Consumer, app.consumer)
    consumer.passed, consumer.hand_over = carrier.passed, carrier.hand_over
    _agent(carrier, kafka.prefix + topics.SEEDS.name, carrier.answer)
    _agent(carrier, discovered, carrier.answer)
    _agent(carrier, kafka.prefix + topics.PAGES_PARSED.name, carrier.judge)
    return carrier


def _agent(
    carrier: Carrier, name: str, work: Callable[[Stream], Coroutine[Any, Any, None]]
) -> None:
    async def carry(stream: StreamT[Any]) -> None:
        await carrier.guarded(work(cast(Stream, stream)))

    source = carrier.app.topic(name, key_serializer="raw", value_serializer="raw", allow_empty=True)
    carrier.app.agent(source, name=name)(carry)


def _ways(kafka: KafkaSettings) -> dict[str, Any]:
    """Return what is the same for all instances."""
    return {
        "store": "rocksdb://",
        "broker_session_timeout": kafka.session,
        "broker_heartbeat_interval": kafka.session / 3,
        "broker_rebalance_timeout": REBALANCE_LIMIT,
        # Whoever joins is answered when the others have joined too, or are given up.
        "broker_request_timeout": max(kafka.session, REBALANCE_LIMIT) + 10.0,
        "broker_commit_interval": COMMIT_EVERY,
        "producer_compression_type": "zstd",
        "producer_max_batch_size": BATCH,
        "producer_max_request_size": topics.LETTER_LIMIT + topics.OVERHEAD,
        "producer_request_timeout": kafka.timeout,
        "stream_buffer_maxsize": BUFFERED,
        # The carrier knows better what is under way.
        "stream_wait_empty": False,
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        "web_enabled": False,
    }


def credentials(kafka: KafkaSettings) -> CredentialsT | None:
    """Return how Faust proves who we are, and how it knows the brokers."""
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
