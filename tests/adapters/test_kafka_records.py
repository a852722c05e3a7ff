"""Records on a real Kafka that other programs wrote, or that are larger than most."""

import os
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from gossamer.console.cli.main import main
from gossamer.errors import GossamerError
from gossamer.events import CrawlDefined, DeadLetter, UrlsDiscovered
from gossamer.events.topics import DEAD_LETTERS, MAX_RECORD_BYTES, PAGES_PARSED, SEEDS
from gossamer.log import Message, Record, murmur2
from gossamer.log.codec import MAX_LETTER_BYTES, decode, encode
from gossamer.log.kafka.log import KafkaLog
from gossamer.runtime.sequential import sequential_loop
from gossamer.settings.servers import KafkaSettings
from gossamer.store.sqlite import SqliteStore
from tests.runtime.processors import Discoverer, drain

from .kafka_broker import own_topics


@pytest.fixture
def settings(kafka: str) -> KafkaSettings:
    """Return settings of empty topics: each test reads a topic from its start."""
    return own_topics(kafka, partitions=4)


def stored_records(log: KafkaLog, topic: str) -> list[Record]:
    return drain(log.tail([topic]))


def test_records_of_other_producers_are_processed_or_dead_letters(
    settings: KafkaSettings, log: KafkaLog, store: SqliteStore
) -> None:
    other = Producer({"bootstrap.servers": settings.servers, "message.max.bytes": 2 * SEEDS.limit})
    for value, key in (
        (b"a", None),
        (b"b", b"\xff\0"),
        (None, b"null"),
        (b"", b"empty"),
        (b"\xff", b"bytes"),
        (b'{"url": "c", "version": 2}', "ключ".encode()),
        (os.urandom(SEEDS.limit - 100), b"large"),
    ):
        other.produce(f"{settings.prefix}seeds", value, key)
    for value in (None, b"garbage", encode(CrawlDefined(at=0.0, scope="any()", max_depth=1)).value):
        other.produce(f"{settings.prefix}control", value, b"default")
    assert other.flush(30) == 0
    sower = Discoverer(store)
    runner = sequential_loop(sower, log, store, lambda: 1.0)
    while log.lag("dedup", "seeds"):
        runner.step(0.1)
    runner.close()
    answers = [decode(record) for record in stored_records(log, "urls.discovered")]
    assert sorted(a.site for a in answers if isinstance(a, UrlsDiscovered)) == ["a", "b"]
    assert "control any()" in sower.calls
    letters = {
        (letter.topic, letter.key): letter
        for letter in map(decode, stored_records(log, "dead.letters"))
        if isinstance(letter, DeadLetter)
    }
    assert {key: letter.reason.partition(":")[0] for key, letter in letters.items()} == {
        ("seeds", "null"): "neither a URL nor a seed in JSON",
        ("seeds", "empty"): "neither a URL nor a seed in JSON",
        ("seeds", "bytes"): "neither a URL nor a seed in JSON",
        ("seeds", "ключ"): "unknown seed version 2",
        ("seeds", "large"): "neither a URL nor a seed in JSON",
        ("control", "default"): "not an event of control",
    }
    large = letters["seeds", "large"]
    assert (len(large.value), large.cut) == (MAX_LETTER_BYTES, True)


def test_dead_letters_are_listed_and_replayed(
    settings: KafkaSettings,
    log: KafkaLog,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    config = tmp_path / "fleet.toml"
    config.write_text(
        f'[kafka]\nservers = "{settings.servers}"\nprefix = "{settings.prefix}"\n'
        '[cassandra]\nhosts = ["nobody.invalid"]\n'
    )
    letter = DeadLetter(
        at=1.0, service="archive", topic="pages.deduplicated", partition=0, offset=1, key="k",
        reason="why",
        value=b"\xff",
    )  # fmt: skip
    log.append([encode(letter)])
    options = ["--config", str(config), "--service", "archive"]
    assert main(["dead-letters", "list", *options]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert "pages.deduplicated/0/1" in line
    assert main(["dead-letters", "replay", line.split()[0], *options]) == 0
    assert "1 dead letter" in capsys.readouterr().out
    (record,) = stored_records(log, "pages.deduplicated")
    assert (record.key, record.value) == ("k", b"\xff")


def test_largest_events_are_accepted_and_larger_ones_refused(log: KafkaLog) -> None:
    for topic in (PAGES_PARSED, DEAD_LETTERS):
        name, body = topic.name, os.urandom(topic.limit)
        log.append([Message(name, "k" * 1000, body, "k")])
        assert stored_records(log, name)[-1].value == body
        with pytest.raises(GossamerError, match=f"too large for .*{name}"):
            log.append([Message(name, "k", os.urandom(2 * MAX_RECORD_BYTES), "k")])
    log.append([Message("pages.parsed", "k", b"next", "k")])
    assert stored_records(log, "pages.parsed")[-1].value == b"next"


def test_other_clients_can_read_the_topics(settings: KafkaSettings, log: KafkaLog) -> None:
    log.append([Message("pages", "https://a.example/é", b"page", "a.example")])
    log.append([Message("pages", "https://a.example/é", b"", "a.example")])
    other = Consumer(
        {"bootstrap.servers": settings.servers, "group.id": "x", "auto.offset.reset": "earliest"}
    )
    other.subscribe([f"{settings.prefix}pages"])
    found: list[Any] = []
    while len(found) < 2:
        found += [message for message in other.consume(2, 1.0) if not message.error()]
    other.close()
    partition = (murmur2(b"a.example") & 0x7FFFFFFF) % 4
    assert [(m.key(), m.value(), m.partition()) for m in found] == [
        ("https://a.example/é".encode(), b"page", partition),
        ("https://a.example/é".encode(), None, partition),
    ]


def test_missing_topics_are_reported(kafka: str) -> None:
    with pytest.raises(
        GossamerError, match=r"no topic nowhere\.seeds, .*run gossamer topics apply"
    ):
        KafkaLog(KafkaSettings(servers=kafka, prefix="nowhere."))
