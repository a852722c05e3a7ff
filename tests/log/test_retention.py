"""Trimming of consumed records by the offsets of all groups, and refusals of brokers."""

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from structlog.testing import capture_logs

from gossamer import clock
from gossamer.log import Record
from gossamer.log.kafka import retention
from gossamer.settings import KafkaSettings
from gossamer.volumes import Volume

NOTHING = -1001
"""Kafka's offset of a group without a committed offset."""


def done(value: object, error: int | None = None) -> "Future[Any]":
    future: Future[Any] = Future()
    if error is None:
        future.set_result(value)
    else:
        future.set_exception(KafkaException(KafkaError(error)))
    return future


class FakeConsumer:
    """The used part of a consumer of *group*."""

    def __init__(self, brokers: "Brokers", group: str) -> None:
        self._brokers, self._group = brokers, group

    def committed(self, asked: list[TopicPartition], timeout: float) -> list[TopicPartition]:
        self._brokers.asked += 1
        known = self._brokers.committed
        return [
            TopicPartition(at.topic, at.partition, known.get((self._group, at.partition), NOTHING))
            for at in asked
        ]

    def offsets_for_times(
        self, asked: list[TopicPartition], timeout: float
    ) -> list[TopicPartition]:
        now = clock.now() * 1000
        return [
            TopicPartition(at.topic, at.partition, self._brokers.offset_since(now - at.offset))
            for at in asked
        ]


class Brokers:
    """The used part of an admin client. *committed*: group and partition → offset."""

    def __init__(self) -> None:
        self.committed: dict[tuple[str, int], int] = {}
        self.deleted: list[tuple[str, int, int]] = []
        self.error: int | None = None
        self.asked = 0
        self.ages: list[float] = []
        """The times of the records of partition 0, in seconds."""

    def offset_since(self, age: float) -> int:
        """Return the first offset not older than the instant in milliseconds, or -1."""
        return next((at for at, old in enumerate(self.ages) if old * 1000 <= age), -1)

    def consumer(self, configuration: dict[str, Any]) -> "FakeConsumer":
        return FakeConsumer(self, configuration["group.id"])

    def delete_records(
        self, asked: list[TopicPartition], **_: object
    ) -> dict[TopicPartition, "Future[Any]"]:
        if self.error is None:
            self.deleted += [(at.topic, at.partition, at.offset) for at in asked]
        return {at: done(None, self.error) for at in asked}


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    """Return brokers with committed offsets of both groups in partition 0."""
    found = Brokers()
    found.committed = {("x.parser", 0): 70, ("x.archive", 0): 50}
    monkeypatch.setattr(retention, "AdminClient", lambda _: found)
    monkeypatch.setattr(retention, "Consumer", found.consumer)
    return found


@pytest.fixture
def trimmer(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> retention.Trimmer:
    """Return a trimmer whose clock advances by the trim interval at each reading."""
    minutes = iter(range(1000))
    monkeypatch.setattr(clock, "steady", lambda: next(minutes) * retention.TRIM_INTERVAL)
    return retention.Trimmer(KafkaSettings(servers="nowhere:1", prefix="x."))


@pytest.fixture
def watched(trimmer: retention.Trimmer, tmp_path: Path) -> tuple[retention.Trimmer, Volume]:
    """Return a trimmer that waits for a group of others, too, and its volume of blobs."""
    settings = KafkaSettings(servers="nowhere:1", prefix="x.", further_groups=("indexer",))
    volume = Volume(tmp_path.as_uri())
    return retention.Trimmer(settings, volume), volume


def fetched_pages(*numbers: int) -> list[tuple[str, int]]:
    return [("pages.fetched", number) for number in numbers]


def test_slowest_group_limits_trimming(trimmer: retention.Trimmer, brokers: Brokers) -> None:
    trimmer.trim(fetched_pages(0))
    brokers.committed["x.archive", 0] = 90
    trimmer.trim(fetched_pages(0))
    trimmer.trim(fetched_pages(0))
    assert brokers.deleted == [("x.pages.fetched", 0, 50), ("x.pages.fetched", 0, 70)]


def test_records_in_replay_window_are_not_trimmed(
    brokers: Brokers, trimmer: retention.Trimmer
) -> None:
    brokers.committed["x.frontier", 0] = 3
    brokers.ages = [90_000.0, 90_000.0, 80_000.0, 60.0]
    trimmer.trim([("visits.ended", 0)])
    assert brokers.deleted == [("x.visits.ended", 0, 2)], "a day, by default"
    brokers.ages = [90_000.0] * 4
    trimmer.trim([("visits.ended", 0)])
    assert brokers.deleted[1:] == [("x.visits.ended", 0, 3)], (
        "records that are not consumed are never trimmed"
    )


def test_nothing_is_trimmed_before_all_groups_have_committed(
    trimmer: retention.Trimmer, brokers: Brokers
) -> None:
    brokers.committed |= {("x.parser", 1): 8, ("x.archive", 2): 9, ("x.parser", 2): 0}
    trimmer.trim(fetched_pages(1, 2, 3))
    trimmer.trim([])
    assert not brokers.deleted


def test_refused_trimming_warns_once_and_is_retried(
    trimmer: retention.Trimmer, brokers: Brokers
) -> None:
    brokers.error = KafkaError.TOPIC_AUTHORIZATION_FAILED
    with capture_logs() as logs:
        for _ in range(3):
            trimmer.trim(fetched_pages(0))
    assert [line["log_level"] for line in logs] == ["warning"]
    brokers.error = None
    trimmer.trim(fetched_pages(0))
    assert brokers.deleted == [("x.pages.fetched", 0, 50)]


def test_trimming_is_retried_after_broker_outage(
    trimmer: retention.Trimmer, brokers: Brokers
) -> None:
    brokers.error = KafkaError._TRANSPORT
    trimmer.trim(fetched_pages(0))
    brokers.error = None
    trimmer.trim(fetched_pages(0))
    assert brokers.deleted == [("x.pages.fetched", 0, 50)]


def test_every_topic_kept_until_read_is_trimmed(
    trimmer: retention.Trimmer, brokers: Brokers
) -> None:
    brokers.committed["x.frontier", 0] = 7
    trimmer.trim([("visits.ended", 0), ("pages.deduplicated", 0)])
    assert sorted(brokers.deleted) == [("x.pages.deduplicated", 0, 7), ("x.visits.ended", 0, 7)]
    assert brokers.asked == 1, "the group is asked about all its topics together"


def test_other_topics_are_not_trimmed(trimmer: retention.Trimmer, brokers: Brokers) -> None:
    trimmer.trim([("pages", 0), ("pages.archived", 0), ("control", 0)])
    assert brokers.asked == 0


def test_further_groups_delay_trimming_of_fetched_pages_only(
    brokers: Brokers, watched: tuple[retention.Trimmer, Volume]
) -> None:
    trimmer, _ = watched
    brokers.committed["x.frontier", 0] = 7
    trimmer.trim([*fetched_pages(0), ("visits.ended", 0)])
    assert brokers.deleted == [("x.visits.ended", 0, 7)], "it has never committed"
    brokers.committed["indexer", 0] = 30
    trimmer.trim(fetched_pages(0))
    assert brokers.deleted[1:] == [("x.pages.fetched", 0, 30)]


def test_blobs_are_removed_when_all_groups_have_consumed_their_records(
    brokers: Brokers, watched: tuple[retention.Trimmer, Volume]
) -> None:
    trimmer, volume = watched
    names = {offset: f"2026-01-01/{'A' * 32}-{offset:016x}" for offset in (10, 49, 50, 60)}
    for offset, name in names.items():
        volume.put_bytes(name, b"body")
        trimmer.note(Record("pages.fetched", 0, offset, "k", b"", (("blob", name),)))
    trimmer.trim(fetched_pages(0))
    trimmer.close()
    assert len(volume.names()) == 4, "a group of others has never committed"
    brokers.committed["indexer", 0] = 55
    trimmer.trim(fetched_pages(0))
    trimmer.close()
    assert volume.names() == [names[50], names[60]], "the archive has not consumed offset 50"
    brokers.committed["x.archive", 0] = 70
    brokers.error = KafkaError.TOPIC_AUTHORIZATION_FAILED
    trimmer.trim(fetched_pages(0))
    trimmer.close()
    assert volume.names() == [names[60]], "also without the right to delete records"
