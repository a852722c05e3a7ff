"""One instance of dedup as in a fleet, in a thread of the test, with SQLite as its store.

Kafka, the table on disk and its changelog are real.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

from confluent_kafka import Consumer, Producer, TopicPartition

from gossamer.log import partition_of
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.runtime.health import Health, ObservedLog
from gossamer.runtime.process import Backends, Process
from gossamer.services.dedup.__main__ import work
from gossamer.settings import DedupSettings, Settings
from gossamer.settings.servers import KafkaSettings, ServiceSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from tests.support.waiting import until

STOP_TIMEOUT = 120.0
PARTITIONS = 4

Fields = dict[str, Any]


class Topic:
    """The records of a topic, as another client reads them."""

    def __init__(self, settings: KafkaSettings, name: str) -> None:
        self.name = name
        self.records: list[tuple[int, bytes, bytes | None]] = []
        self.headers: dict[bytes, dict[str, bytes]] = {}
        """Key → the headers of its newest record."""
        self._consumer: Any = Consumer(
            {
                "bootstrap.servers": settings.servers,
                "group.id": "test",
                "auto.offset.reset": "earliest",
                "fetch.message.max.bytes": 16 << 20,
            }
        )
        count = len(
            self._consumer.list_topics(settings.prefix + name, timeout=30)
            .topics[settings.prefix + name]
            .partitions
        )
        partitions = [TopicPartition(settings.prefix + name, p, 0) for p in range(count)]
        self._consumer.assign(partitions)

    def read(self) -> list[Fields]:
        """Return all events so far."""
        # Not a test of truth: a message without a value is false.
        while (message := self._consumer.poll(0.2)) is not None:
            assert not message.error(), message.error()
            self.records.append((message.partition(), message.key(), message.value()))
            self.headers[message.key()] = dict(message.headers() or ())
        return [json.loads(value) if value else {} for _, _, value in self.records]

    def at_least(self, count: int) -> list[Fields]:
        """Wait for *count* events, and return all of them."""
        until(lambda: len(self.read()) >= count, f"{count} records on {self.name}")
        return self.read()

    def close(self) -> None:
        self._consumer.close()


class Brokers:
    """The topics of one test, under its own prefix."""

    def __init__(self, server: str, prefix: str) -> None:
        self.settings = KafkaSettings(
            servers=server, prefix=prefix, partitions=PARTITIONS, replication=1, session=6.0
        )
        list(Topics(self.settings).apply())
        self._producer = Producer({"bootstrap.servers": server, "message.max.bytes": 16 << 20})

    def put(self, topic: str, value: bytes | None, partition_key: str = "", key: str = "") -> None:
        """Append one record to the partition of *partition_key*."""
        self.queue(topic, value, partition_key, key)
        self.flush()

    def queue(
        self, topic: str, value: bytes | None, partition_key: str = "", key: str = ""
    ) -> None:
        """Append one record with others, by the next `flush` at the latest."""
        at = partition_of(partition_key, PARTITIONS) if partition_key else -1
        self._producer.produce(self.settings.prefix + topic, value, key or partition_key, at)

    def flush(self) -> None:
        assert self._producer.flush(30) == 0

    @contextmanager
    def topic(self, name: str) -> Iterator[Topic]:
        with closing(Topic(self.settings, name)) as topic:
            yield topic


class Instance:
    """The work of one process; *access* overrides the settings for the brokers."""

    def __init__(
        self,
        brokers: Brokers,
        folder: Path,
        name: str = "one",
        engine: Literal["own", "faust"] = "faust",
        **access: Any,
    ) -> None:
        usual = brokers.settings.model_dump(exclude_defaults=True)
        self.settings = Settings(
            kafka=KafkaSettings.model_validate({**usual, **access}),
            service=ServiceSettings(instance=name),
            dedup=DedupSettings(folder=folder, engine=engine),
        )
        self._folder = folder
        self.health = Health("dedup", name)
        self.failure: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        process = Process("dedup", self.settings, self.health, self._stop)
        try:
            with closing(KafkaLog(self.settings.kafka)) as log:
                observed = ObservedLog(log, self.health)
                work(Backends(process, observed, self.other_store(), "a fleet"))
        except BaseException as error:
            self.failure = error

    def other_store(self) -> SqliteStore:
        """Return the instance's store as another process reads it, with flushed rows only."""
        return SqliteStore(Database(self._folder / "store.db"))

    def start(self) -> "Instance":
        self._folder.mkdir(parents=True, exist_ok=True)
        self._thread.start()
        return self

    def await_ready(self) -> "Instance":
        until(lambda: self.has_ended or not self.health.why_not_ready(), "readiness")
        assert not self.failure, self.failure
        return self

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(STOP_TIMEOUT)
        assert self.has_ended


def event(**fields: Any) -> bytes:
    """Return an event in JSON, as a foreign producer would encode it."""
    return json.dumps({"at": 1.0, **fields}).encode()


def urls_discovered(site: str, via: str, *urls: str) -> bytes:
    return event(event="urls_discovered", site=site, via=via, urls=[{"url": url} for url in urls])


def parsed_page(url: str, site: str, **more: Any) -> bytes:
    visit = {"id": f"1.1.0@{url}", "url": url}
    kind = {404: "missing", 410: "removed"}.get(more.get("status", 200), "document")
    fields = {"fetched_at": 1.0, "status": 200, "kind": kind, "digest": url, **more}
    return event(event="page_parsed", site=site, host=f"http://{site}", visit=visit, **fields)
