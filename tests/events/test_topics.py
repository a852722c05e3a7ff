"""The topics match the files in `schemas/topics/`, and their definitions are consistent."""

from pathlib import Path

import pytest

from gossamer.events import topics
from gossamer.events.topics import SITE_KEYED, TOPIC_OF, TOPICS, Retention, Topic
from gossamer.log.kafka.topics import topic_specs
from gossamer.schemas.topics import README
from gossamer.services.archive.service import Archive
from gossamer.services.dedup.service import Dedup
from gossamer.services.fetcher.service import Fetcher
from gossamer.services.frontier.service import Frontier
from gossamer.services.parser.service import Parser
from gossamer.settings.servers import KafkaSettings

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "schemas" / "topics"
SERVICES = (Archive, Dedup, Fetcher, Frontier, Parser)
every_topic = pytest.mark.parametrize("topic", TOPICS.values(), ids=TOPICS)


def test_topic_files_match_constants() -> None:
    constants = {name: value for name, value in vars(topics).items() if isinstance(value, Topic)}
    assert {path.name for path in FOLDER.iterdir()} == {f"{t.name}.yaml" for t in TOPICS.values()}
    assert {topic.name: topic for topic in constants.values()} == TOPICS
    for constant, topic in constants.items():
        assert topic.name == constant.lower().replace("_", ".")


@every_topic
def test_topic_has_description_events_and_producers(topic: Topic) -> None:
    assert topic.description.strip()
    assert topic.events and topic.producers
    assert set(topic.producers) <= {"operators", "console", *(service.name for service in SERVICES)}


@every_topic
def test_keys_are_fields_of_events(topic: Topic) -> None:
    for kind in topic.events:
        fields = {"event", *kind.type.__struct_fields__}
        assert fields.issuperset([topic.partitioned_by, *kind.key.split("/")])
        assert TOPIC_OF[kind.type] is topic


@every_topic
def test_only_trimmed_topics_have_consumers(topic: Topic) -> None:
    assert bool(topic.consumers) == (topic.retention is Retention.UNTIL_CONSUMED)


@every_topic
def test_broker_settings_of_topic_are_consistent(topic: Topic) -> None:
    assert (
        bool(topic.tombstone_retention)
        == bool(topic.segment)
        == (topic.retention is Retention.NEWEST)
    )
    assert bool(topic.segment_bytes) == (topic.retention is Retention.UNTIL_CONSUMED)
    assert topic.partitions > 0 and topic.replication > 0
    assert (
        topic.partitions == 1
        or topic.retention is not Retention.NEWEST
        or topic.partitioned_by == "site"
    )


def test_site_keyed_topics_have_equal_partition_counts() -> None:
    assert len({TOPICS[name].partitions for name in SITE_KEYED}) == 1


@pytest.mark.parametrize("service", SERVICES)
def test_service_reads_the_topics_that_list_it_as_consumer(service: type[Fetcher]) -> None:
    named = {topic.name for topic in TOPICS.values() if service.name in topic.consumers}
    assert {topic.name for topic in service.reads} == named


def test_table_in_readme_has_each_topic() -> None:
    text = README.read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in text for name in TOPICS)


def test_all_topics_are_created() -> None:
    assert {topic.name for topic in topic_specs(KafkaSettings())} == set(TOPICS)
