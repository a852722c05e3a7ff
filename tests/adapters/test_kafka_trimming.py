"""Records are deleted from Kafka once all groups have committed them, and not before."""

from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from gossamer.events.topics import PAGES_FETCHED, URLS_ADMITTED, VISITS_ENDED
from gossamer.log import Message, Reader, Record
from gossamer.log.kafka import retention
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Topics
from gossamer.settings.servers import KafkaSettings
from gossamer.store.sqlite import SqliteStore
from tests.support.waiting import until

from .kafka_broker import Broker, own_topics

SITES = [f"site{n}.example" for n in range(20)]


@pytest.fixture
def settings(kafka: str) -> KafkaSettings:
    return own_topics(kafka, partitions=2, session=6.0, replay_window=0.0)


@pytest.fixture(autouse=True)
def _trim_at_every_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "TRIM_INTERVAL", 0.0)


def append(log: KafkaLog, topic: str) -> None:
    log.append([Message(topic, site, b"body", site) for site in SITES])


def starts(settings: KafkaSettings, topic: str) -> list[int]:
    """Return the first offset of each partition."""
    consumer = Consumer({"bootstrap.servers": settings.servers, "group.id": "nobody"})
    try:
        return [
            consumer.get_watermark_offsets(TopicPartition(settings.prefix + topic, n), timeout=10)[
                0
            ]
            for n in range(2)
        ]
    finally:
        consumer.close()


def read_records(reader: Reader, count: int) -> None:
    """Read and commit *count* records, then poll once more."""
    records: list[Record] = []

    def poll() -> bool:
        records.extend(reader.poll(0.2))
        return len(records) >= count

    until(poll, "all records arrive")
    assert len(records) == count
    assert reader.advance(records, ())
    reader.poll(0.0)


def test_records_are_deleted_after_both_groups_commit_them(
    settings: KafkaSettings, log: KafkaLog, store: SqliteStore
) -> None:
    topic = PAGES_FETCHED.name
    parser, archive = (log.reader(group, [topic], store) for group in ("parser", "archive"))
    append(log, topic)
    read_records(parser, len(SITES))
    assert starts(settings, topic) == [0, 0], "the archive has read nothing"
    read_records(archive, len(SITES))
    assert sum(starts(settings, topic)) == len(SITES)
    append(log, topic)
    read_records(parser, len(SITES))
    assert sum(starts(settings, topic)) == len(SITES), "only up to where the archive is"
    read_records(archive, len(SITES))
    assert sum(starts(settings, topic)) == 2 * len(SITES)
    assert log.lag("archive", topic) == 0


def test_every_consumed_topic_is_trimmed(
    settings: KafkaSettings, log: KafkaLog, store: SqliteStore
) -> None:
    topics = [VISITS_ENDED.name, URLS_ADMITTED.name]
    frontier = log.reader("frontier", topics, store)
    for topic in topics:
        append(log, topic)
    read_records(frontier, 2 * len(SITES))
    assert [sum(starts(settings, topic)) for topic in topics] == [len(SITES), len(SITES)]


def test_fetched_pages_wait_for_additional_groups(
    settings: KafkaSettings, store: SqliteStore
) -> None:
    topic, indexer = PAGES_FETCHED.name, f"{settings.prefix}another-program"
    waiting = settings.model_copy(update={"further_groups": (indexer,)})
    with closing(KafkaLog(waiting)) as log:
        append(log, topic)
        readers = [log.reader(group, [topic], store) for group in ("parser", "archive")]
        for reader in readers:
            read_records(reader, len(SITES))
        assert starts(settings, topic) == [0, 0], "the other program has read nothing"
        assert sum(log.lag_by_group([topic])[topic][indexer].values()) == len(SITES)
        consumer = Consumer({"bootstrap.servers": settings.servers, "group.id": indexer})
        name = settings.prefix + topic
        consumer.commit(offsets=[TopicPartition(name, n, 3) for n in range(2)], asynchronous=False)
        consumer.close()
        readers[0].poll(0.0)
        assert starts(settings, topic) == [3, 3]
        assert sum(log.lag_by_group([topic])[topic][indexer].values()) == len(SITES) - 6


@pytest.mark.long
def test_deletion_is_retried_after_an_outage_of_the_brokers(
    tmp_path: Path, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "REQUEST_TIMEOUT", 1.0)
    broker, topic = Broker(tmp_path / "kafka"), PAGES_FETCHED.name
    broker.start()
    given = broker.settings(timeout=10.0, session=6.0)
    list(Topics(given).apply())
    with closing(KafkaLog(given)) as log:
        readers = [log.reader(group, [topic], store) for group in ("parser", "archive")]
        append(log, topic)
        for reader in readers:
            read_records(reader, len(SITES))
        broker.server.kill()
        for reader in 4 * readers:
            reader.poll(0.0)
        broker.server.start()
        append(log, topic)
        for reader in readers:
            read_records(reader, len(SITES))

        def is_deleted() -> bool:
            for reader in readers:
                reader.poll(0.1)
            return sum(starts(given, topic)) == 2 * len(SITES)

        until(is_deleted, "the consumed records are deleted")
    broker.server.kill()
