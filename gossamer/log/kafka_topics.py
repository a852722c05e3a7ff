"""Makes the topics on Kafka what `schemas/topics` and the settings say, if that loses nothing.

A topic keyed by site is never given more partitions: its sites would move to others, away from
their host's lease, their queue, and what was met of them.
"""

from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from gossamer import clock
from gossamer.errors import Absent, GossamerError
from gossamer.log.kafka_client import BREATH, Trouble, client, error_of, topics_of
from gossamer.servers import KafkaSettings
from gossamer.topics import TOPICS

FOLDER = Path(__file__).resolve().parents[2] / "schemas" / "topics"
"""Beside this package, in the repository and where it is installed."""
CLEANABLE = 0.1
"""How much of a compacted topic may be superseded before it is compacted again."""


@dataclass(frozen=True)
class Wanted:
    """One topic as it is to be; *grows* says whether it may get more partitions."""

    name: str
    partitions: int
    replication: int
    grows: bool
    config: dict[str, str]


def wanted(settings: KafkaSettings) -> list[Wanted]:
    """Return all topics as they are to be under *settings*."""
    return [_wanted(topic, settings) for topic in TOPICS]


def _wanted(topic: str, settings: KafkaSettings) -> Wanted:
    says = yaml.safe_load((FOLDER / f"{topic}.yaml").read_text(encoding="utf-8"))
    by_site = says["partitioned_by"] == "site"
    replication = settings.replication or says["replication"]
    return Wanted(
        name=settings.prefix + topic,
        partitions=(by_site and settings.partitions) or says["partitions"],
        replication=replication,
        # What is compacted has one partition for each key, or old versions stay.
        grows=not by_site and says["keep"] != "newest",
        config={
            **_kept(says),
            "max.message.bytes": str(says["max_message_bytes"]),
            "compression.type": "producer",
            "min.insync.replicas": str(max(1, replication - 1)),
        },
    )


def _kept(says: dict[str, Any]) -> dict[str, str]:
    match says["keep"]:
        case "newest":
            return {
                "cleanup.policy": "compact",
                "delete.retention.ms": str(says["retention"] * 1000),
                "segment.ms": str(says["segment"] * 1000),
                "min.cleanable.dirty.ratio": str(CLEANABLE),
            }
        case "forever":
            return {"cleanup.policy": "delete", "retention.ms": "-1"}
    return {"cleanup.policy": "delete", "retention.ms": str(says["retention"] * 1000)}


class Topics:
    """The topics on the brokers of *settings*."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._trouble = Trouble(settings.servers)
        self._admin: Any = AdminClient(client(settings, self._trouble))
        self.refused: list[str] = []
        """What differs and was left as it is, and why."""

    def apply(self) -> Iterator[str]:
        """Make and change what differs, saying each; what must not change is `refused`."""
        wishes = wanted(self._settings)
        try:
            yield from self._make(wishes)
            found = self._visible(wishes)
            configs = self._configs(wishes)
            for wish in wishes:
                yield from self._partitions(wish, found[wish.name])
                yield from self._config(wish, configs[wish.name])
            self._await(wishes)
        except KafkaException as failure:
            raise self._told(error_of(failure)) from failure

    def _told(self, error: KafkaError) -> GossamerError:
        self._admin.poll(0)
        if error.code() == KafkaError.INVALID_REPLICATION_FACTOR:
            return GossamerError(
                f"Kafka at {self._settings.servers} has too few brokers for so many copies "
                f"({error.str()}): set kafka.replication"
            )
        return self._trouble.told(error)

    def _make(self, wishes: list[Wanted]) -> Iterator[str]:
        there = topics_of(self._admin, self._trouble, self._settings.timeout)
        new = [wish for wish in wishes if wish.name not in there]
        made = (
            self._admin.create_topics(
                [NewTopic(w.name, w.partitions, w.replication, config=w.config) for w in new],
                operation_timeout=self._settings.timeout,
            )
            if new
            else {}
        )
        for wish in new:
            if _done(made[wish.name], KafkaError.TOPIC_ALREADY_EXISTS):
                yield f"{wish.name}: made, {wish.partitions} partitions, copies: {wish.replication}"

    def _visible(self, wishes: list[Wanted]) -> dict[str, Any]:
        """Return what the brokers say of the topics, once they know of all of them."""
        until = clock.steady() + self._settings.timeout
        while True:
            found = topics_of(self._admin, self._trouble, self._settings.timeout)
            usable = [name for name, topic in found.items() if not topic.error and topic.partitions]
            unknown = [wish.name for wish in wishes if wish.name not in usable]
            if not unknown:
                return found
            if clock.steady() > until:
                raise Absent(f"Kafka does not bring up {', '.join(unknown)}")
            clock.pause(BREATH)

    def _partitions(self, wish: Wanted, found: Any) -> Iterator[str]:
        count, copies = len(found.partitions), len(found.partitions[0].replicas)
        if copies != wish.replication:
            self.refused.append(
                f"{wish.name}: copies are {copies}, not {wish.replication}: move them with Kafka's "
                "kafka-reassign-partitions.sh, or set kafka.replication"
            )
        if count > wish.partitions:
            self.refused.append(
                f"{wish.name}: has {count} partitions, not {wish.partitions}: Kafka cannot take "
                "partitions away"
            )
        elif count < wish.partitions and not wish.grows:
            self.refused.append(
                f"{wish.name}: has {count} partitions, not {wish.partitions}: more of them would "
                "move sites and keys away from what is known of them"
            )
        elif count < wish.partitions:
            grown = self._admin.create_partitions([NewPartitions(wish.name, wish.partitions)])
            # Somebody else may have done it just now.
            if _done(grown[wish.name], KafkaError.INVALID_PARTITIONS):
                yield f"{wish.name}: partitions were {count}, now {wish.partitions}"

    def _await(self, wishes: list[Wanted]) -> None:
        """Wait until the brokers say what they were told."""
        until = clock.steady() + self._settings.timeout
        while clock.steady() < until:
            configs = self._configs(wishes)
            if not any(_differing(wish, configs[wish.name]) for wish in wishes):
                return
            clock.pause(BREATH)

    def _configs(self, wishes: list[Wanted]) -> dict[str, dict[str, Any]]:
        asked = self._admin.describe_configs(
            [ConfigResource(ResourceType.TOPIC, wish.name) for wish in wishes]
        )
        return {resource.name: answer.result() for resource, answer in asked.items()}

    def _config(self, wish: Wanted, found: dict[str, Any]) -> Iterator[str]:
        differs = _differing(wish, found)
        if not differs:
            return
        changes = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in differs.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, wish.name, incremental_configs=changes)
        self._admin.incremental_alter_configs([resource])[resource].result()
        for name, value in differs.items():
            before = found[name].value if name in found else "unset"
            yield f"{wish.name}: {name} was {before}, now {value}"


def _differing(wish: Wanted, found: dict[str, Any]) -> dict[str, str]:
    return {n: v for n, v in wish.config.items() if n not in found or found[n].value != v}


def _done(future: "Future[None]", unless: int) -> bool:
    """Wait; return whether it was we who did it, and not somebody else before us."""
    try:
        future.result()
    except KafkaException as failure:
        if error_of(failure).code() != unless:
            raise
        return False
    return True
