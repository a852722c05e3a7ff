"""Gaps on a real Kafka: deleted records that a group has not consumed stop the group."""

from uuid import uuid4

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from gossamer.events.topics import PAGES_DEDUPLICATED, VISITS_ENDED
from gossamer.log import Message, Reader, Record
from gossamer.log.kafka import reader as reading
from gossamer.log.kafka.client import ConnectionErrors
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.retention import Gap, GapCheck
from gossamer.runtime.checkpoints import skip_gaps
from gossamer.settings.servers import KafkaSettings
from gossamer.store.sqlite import SqliteStore
from tests.support.waiting import until

from .kafka_broker import own_topics

TOPIC, OTHER = VISITS_ENDED.name, PAGES_DEDUPLICATED.name


@pytest.fixture
def settings(kafka: str) -> KafkaSettings:
    """Return settings of topics with one partition."""
    return own_topics(kafka, partitions=1, session=6.0)


def append(log: KafkaLog, count: int, topic: str = TOPIC) -> None:
    log.append([Message(topic, "k", str(n).encode(), "site.example") for n in range(count)])


def delete(settings: KafkaSettings, before: int, topic: str = TOPIC) -> None:
    """Delete the records before an offset, as an operator may."""
    admin = AdminClient({"bootstrap.servers": settings.servers})
    deletions = admin.delete_records([TopicPartition(settings.prefix + topic, 0, before)])
    for done in deletions.values():
        done.result()


def accept(log: KafkaLog) -> None:
    """Set the offsets of the group without members, with the command that the message names."""
    assert skip_gaps(log, "frontier", [OTHER, TOPIC]).moved


def read_records(reader: Reader, count: int) -> list[Record]:
    records: list[Record] = []

    def poll() -> bool:
        records.extend(reader.poll(0.2))
        return len(records) >= count

    until(poll, "all records arrive")
    assert len(records) == count
    return records


def fails(reader: Reader) -> str:
    """Poll until a gap is reported; no record may arrive."""
    gaps: list[str] = []

    def poll() -> bool:
        try:
            assert not reader.poll(0.2)
        except Gap as gap:
            gaps.append(str(gap))
        return bool(gaps)

    until(poll, "the gap is reported")
    return gaps[0]


def test_group_that_returns_to_a_gap_is_stopped_until_the_loss_is_accepted(
    settings: KafkaSettings, log: KafkaLog, store: SqliteStore
) -> None:
    append(log, 10)
    first = log.reader("frontier", [OTHER, TOPIC], store)
    first.advance(read_records(first, 10)[:4], ())
    first.close()
    delete(settings, 7)
    for _ in range(2):
        second = log.reader("frontier", [OTHER, TOPIC], store)
        gap = fails(second)
        second.close()
    name, group = f"{settings.prefix}{TOPIC}", f"{settings.prefix}frontier"
    assert group in gap and f"{name}, partition 0, offsets 4 to 6" in gap
    assert gap.endswith("gossamer restore --align")
    accept(log)
    third = log.reader("frontier", [OTHER, TOPIC], store)
    assert [record.offset for record in read_records(third, 3)] == [7, 8, 9]


def test_running_reader_is_stopped_at_a_jump_of_offsets(
    settings: KafkaSettings, log: KafkaLog, store: SqliteStore
) -> None:
    append(log, 5)
    frontier = log.reader("frontier", [TOPIC], store)
    frontier.advance(read_records(frontier, 5), ())
    frontier._consumer.pause([TopicPartition(settings.prefix + TOPIC, 0)])
    append(log, 5)
    delete(settings, 8)
    frontier._consumer.resume([TopicPartition(settings.prefix + TOPIC, 0)])
    assert "5 to 7" in fails(frontier)


@pytest.mark.parametrize(("committed", "left_out"), [(0, 2), (3, 2), (3, 6)])
def test_records_that_the_client_skipped_are_read_again(
    settings: KafkaSettings,
    log: KafkaLog,
    store: SqliteStore,
    monkeypatch: pytest.MonkeyPatch,
    committed: int,
    left_out: int,
) -> None:
    monkeypatch.setattr(reading, "CHECK_INTERVAL", 1.0)
    append(log, 9)
    if committed:
        log.move("frontier", {(TOPIC, 0): committed})
    frontier = log.reader("frontier", [TOPIC], store)
    until(
        lambda: not frontier.poll(0.0) and bool(frontier.partitions), "the reader has the partition"
    )
    for _ in range(left_out):
        until(lambda: frontier._consumer.poll(0.1), "a record is removed from the client")
    records = read_records(frontier, 9 - committed)
    assert [one.offset for one in records] == [*range(committed, 9)]
    frontier.advance(records, ())
    assert log.lag("frontier", TOPIC) == 0


def test_running_reader_is_stopped_if_all_remaining_records_are_deleted(
    settings: KafkaSettings, log: KafkaLog, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CHECK_INTERVAL", 0.0)
    append(log, 5)
    frontier = log.reader("frontier", [TOPIC], store)
    frontier.advance(read_records(frontier, 5), ())
    frontier._consumer.pause([TopicPartition(settings.prefix + TOPIC, 0)])
    append(log, 5)
    delete(settings, 10)
    assert "5 to 9" in fails(frontier)


def test_group_is_stopped_if_the_end_of_a_partition_is_lost(
    settings: KafkaSettings, log: KafkaLog, store: SqliteStore
) -> None:
    append(log, 5)
    log.move("frontier", {(TOPIC, 0): 8})
    frontier = log.reader("frontier", [TOPIC], store)
    assert "5 to 7" in fails(frontier)
    frontier.close()
    accept(log)
    append(log, 1)
    assert [one.offset for one in read_records(log.reader("frontier", [TOPIC], store), 1)] == [5]


def test_group_without_an_offset_starts_at_the_oldest_record(
    settings: KafkaSettings, log: KafkaLog, store: SqliteStore
) -> None:
    append(log, 5)
    delete(settings, 2)
    frontier = log.reader("frontier", [TOPIC], store)
    assert [record.offset for record in read_records(frontier, 3)] == [2, 3, 4]


def test_offsets_of_transaction_markers_are_not_a_gap(
    settings: KafkaSettings, log: KafkaLog, store: SqliteStore
) -> None:
    producer = Producer({"bootstrap.servers": settings.servers, "transactional.id": uuid4().hex})
    producer.init_transactions(30)
    frontier = log.reader("frontier", [TOPIC], store)
    for _ in range(3):
        producer.begin_transaction()
        producer.produce(settings.prefix + TOPIC, b"x", b"k", 0)
        producer.commit_transaction(30)
    assert [record.offset for record in read_records(frontier, 3)] == [0, 2, 4]


def test_commits_of_a_successor_are_not_a_gap_for_a_stopped_member(
    settings: KafkaSettings, log: KafkaLog
) -> None:
    append(log, 10)
    log.move("frontier", {(TOPIC, 0): 8})
    delete(settings, 8)
    group, trouble = settings.prefix + "frontier", ConnectionErrors(settings.servers)
    asking = Consumer({"bootstrap.servers": settings.servers, "group.id": group})
    check, at = GapCheck(settings, group, asking, trouble), (settings.prefix + TOPIC, 0)
    check.check({at: 5})
    delete(settings, 9)
    with pytest.raises(Gap, match="offsets 5 to 8 were deleted"):
        check.check({at: 5})
    asking.close()
