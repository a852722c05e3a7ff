"""`gossamer topics apply` on a real Kafka: its changes, messages and errors."""

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from gossamer.console.cli.main import main
from gossamer.crawl import last_definition
from gossamer.events import CrawlDefined
from gossamer.events.topics import TOPICS
from gossamer.log.codec import encode
from gossamer.log.kafka.log import KafkaLog
from gossamer.log.kafka.topics import Differences, Topics
from gossamer.settings.servers import KafkaSettings
from tests.support.transcripts import Transcript
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
Apply = Callable[..., list[str]]


class Cluster:
    """Topics of one test."""

    def __init__(self, servers: str, folder: Path) -> None:
        self.servers, self.prefix = servers, f"topics-{uuid4().hex[:8]}."
        self.admin: Any = AdminClient({"bootstrap.servers": servers})
        self.config = folder / "fleet.toml"
        self.write()

    def write(self, crawl: str = "", **kafka: object) -> None:
        """Write the settings."""
        given = {"servers": self.servers, "prefix": self.prefix, "replication": 1, **kafka}
        lines = [f"{k} = {v!r}" for k, v in given.items()]
        self.config.write_text("\n".join(["[kafka]", *lines, "[crawl]", crawl]))

    def partition_counts(self) -> dict[str, int]:
        """Return the number of partitions of each topic."""
        topics = self.admin.list_topics(timeout=10).topics
        prefixed = {name: t for name, t in topics.items() if name.startswith(self.prefix)}
        return {name.removeprefix(self.prefix): len(t.partitions) for name, t in prefixed.items()}

    def configure(self, topic: str, **values: str) -> None:
        """Set the configuration of a topic, as an operator does, with "_" for "."."""
        wanted = {name.replace("_", "."): value for name, value in values.items()}
        changes = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in wanted.items()
        ]
        resource = ConfigResource(
            ResourceType.TOPIC, self.prefix + topic, incremental_configs=changes
        )
        self.admin.incremental_alter_configs([resource])[resource].result()
        until(
            lambda: wanted.items() <= self.config_of(topic).items(), "the brokers have the change"
        )

    def config_of(self, topic: str) -> dict[str, str]:
        """Return the configuration of a topic at the brokers."""
        resource = ConfigResource(ResourceType.TOPIC, self.prefix + topic)
        (future,) = self.admin.describe_configs([resource]).values()
        return {name: entry.value for name, entry in future.result().items()}


@pytest.fixture
def cluster(kafka: str, tmp_path: Path) -> Cluster:
    """Return a Kafka without our topics."""
    return Cluster(kafka, tmp_path)


@pytest.fixture
def apply(cluster: Cluster, transcript: Transcript) -> Apply:
    """Return a function that runs the command and returns the lines of its output."""
    transcript.name(cluster.prefix, "PREFIX.")

    def run(status: int = 0) -> list[str]:
        return transcript("topics", "apply", "--config", cluster.config, status=status).splitlines()

    return run


def test_apply_creates_missing_topics_and_then_prints_nothing(
    cluster: Cluster, apply: Apply
) -> None:
    assert len(apply()) == len(TOPICS)
    assert cluster.partition_counts() == {
        **dict.fromkeys(TOPICS, 48),
        "control": 1,
        "audit": 1,
        "notifications": 1,
        "dead.letters": 1,
    }
    week = str(7 * 86400 * 1000)
    pages, fetched, letters = map(cluster.config_of, ("pages", "pages.fetched", "dead.letters"))
    assert (pages["cleanup.policy"], pages["delete.retention.ms"]) == ("compact", week)
    assert fetched["cleanup.policy"] == "delete"
    assert fetched["retention.ms"] == fetched["retention.bytes"] == "-1"
    assert letters["cleanup.policy"] == "compact,delete", "so that one can be erased, or expires"
    assert letters["retention.ms"] == "-1"
    sizes = {config["max.message.bytes"] for config in (pages, fetched, letters)}
    assert sizes == {"1048588"}, "the default"
    assert apply() == []


def test_apply_resets_our_configuration_and_keeps_other_settings(
    cluster: Cluster, apply: Apply
) -> None:
    cluster.write(partitions=2)
    apply()
    cluster.configure("pages", cleanup_policy="delete", retention_bytes="1000000")
    assert len(apply()) == 1
    assert cluster.config_of("pages")["retention.bytes"] == "1000000"
    assert apply() == []


def test_apply_removes_retention_limits_of_consumed_topics(cluster: Cluster, apply: Apply) -> None:
    apply()
    cluster.configure(
        "urls.admitted",
        retention_ms="604800000",
        retention_bytes="1000000",
        segment_bytes="2000000",
    )
    apply()
    after = cluster.config_of("urls.admitted")
    assert (after["retention.ms"], after["retention.bytes"]) == ("-1", "-1")


def test_apply_keeps_retention_set_by_operators(cluster: Cluster, apply: Apply) -> None:
    topics = ("dead.letters", "pages.archived")
    apply()
    for topic in topics:
        cluster.configure(topic, retention_ms="5000")
    apply()
    assert [cluster.config_of(topic)["retention.ms"] for topic in topics] == ["5000", "5000"]


def test_apply_does_not_change_the_number_of_partitions(cluster: Cluster, apply: Apply) -> None:
    name = f"{cluster.prefix}seeds"
    cluster.admin.create_topics([NewTopic(name, 3, 1)])[name].result()
    cluster.write(partitions=4)
    apply()
    for count in (6, 3):
        cluster.write(partitions=count)
        assert len(apply(status=1)) == 7, "the topics with a site as their key"
    cluster.write(partitions=4, replication=2)
    apply(status=1)
    assert cluster.partition_counts()["pages"] == 4


def test_diff_prints_the_changes_of_apply_and_makes_none(cluster: Cluster, apply: Apply) -> None:
    name = f"{cluster.prefix}seeds"
    cluster.admin.create_topics([NewTopic(name, 3, 1)])[name].result()
    settings = KafkaSettings(
        servers=cluster.servers, prefix=cluster.prefix, replication=1, partitions=4
    )
    until(lambda: "seeds" in cluster.partition_counts(), "the brokers have the change")
    found = Topics(settings).compare()
    missing = {one for one in found.appliable if one.endswith(" is missing")}
    assert len(missing) == len(TOPICS) - 1 and cluster.partition_counts() == {"seeds": 3}
    assert any(name in one and "3 partitions" in one for one in found.appliable)
    assert any(one.startswith(f"{name}: retention.ms is ") for one in found.appliable)
    cluster.write(partitions=4)
    apply()
    assert Topics(settings).compare() == Differences()
    fewer = Topics(settings.model_copy(update={"partitions": 3})).compare()
    assert fewer.appliable == () and len(fewer.refused) == 7
    cluster.configure("urls.admitted", segment_bytes="2000000")
    kept = Topics(settings).compare()
    assert (kept.appliable, kept.refused, len(kept.kept)) == ((), (), 1)


def test_partition_number_that_does_not_divide_the_key_groups_is_refused(
    cluster: Cluster, apply: Apply
) -> None:
    cluster.write(partitions=5)
    apply(status=2)


def test_replication_above_the_number_of_brokers_is_reported(
    cluster: Cluster, apply: Apply
) -> None:
    cluster.write(replication=3)
    (err,) = apply(status=1)
    assert "kafka.replication" in err


def test_apply_defines_the_crawl_once(cluster: Cluster, apply: Apply) -> None:
    scope = "domain('a.example')"
    cluster.write(f'scope = "{scope}"\nmax_depth = 3', partitions=2)
    apply()
    cluster.write('scope = "any()"', partitions=2)
    assert apply() == []
    settings = KafkaSettings(servers=cluster.servers, prefix=cluster.prefix)
    with closing(KafkaLog(settings)) as log:
        crawl = last_definition(log)
    assert crawl and (crawl.scope, crawl.max_depth) == (scope, 3)


def test_topic_of_a_single_crawl_is_created_and_listed(
    cluster: Cluster, apply: Apply, tmp_path: Path, transcript: Transcript
) -> None:
    cluster.write(partitions=2)
    apply()
    settings = KafkaSettings(
        servers=cluster.servers, prefix=cluster.prefix, partitions=2, replication=1
    )
    for name, topic in (("news", "own"), ("shops", "shared")):
        file = tmp_path / f"{name}.toml"
        file.write_text(f'seeds = ["http://a.example/"]\n[output]\ntopic = "{topic}"\n')
        assert main(["crawls", "apply", str(file), "--config", str(cluster.config)]) == 0
    assert {"pages.news", "pages.shops"} & cluster.partition_counts().keys() == {"pages.news"}
    with closing(KafkaLog(settings)) as log:
        mine = CrawlDefined(at=1.0, crawl="mine", scope="any()", max_depth=1, own_topic=True)
        log.append([encode(mine)])
    assert cluster.partition_counts()["pages.news"] == 2
    assert cluster.config_of("pages.news")["cleanup.policy"] == "compact"
    differences = Topics(settings, ["pages.news", "pages.mine"]).compare()
    assert differences == Differences((f"{cluster.prefix}pages.mine is missing",))
    # The topic of a definition that was restored, or appended by another program.
    assert len(apply()) == 1
    assert apply() == []
    transcript("topics", "list", "--config", cluster.config)


@pytest.mark.long
def test_concurrent_applies_succeed(cluster: Cluster, apply: Apply) -> None:
    command = [sys.executable, "-m", "gossamer.console.cli.main", "topics", "apply", "--config"]
    running = [
        subprocess.Popen([*command, str(cluster.config)], cwd=ROOT, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    outputs = [process.communicate()[0].decode().splitlines() for process in running]
    assert [process.returncode for process in running] == [0] * 3
    assert sum(map(len, outputs)) == len(TOPICS), "each topic is created once"
    assert apply() == []
