"""Creates and alters topics as `schemas/topics` and the settings define them, without losing data.

`gossamer topics apply` never adds partitions to a topic that is keyed by site: its sites would move
to other partitions, away from the leases and queues of their hosts and from the URL-seen set.
`gossamer topics resize` also moves that data, for a stopped fleet. Topics that are retained until
they are consumed have no limit by time or size, and such limits are removed. Other limits are set
only once, so that an operator's values stay.
"""

from collections.abc import Callable, Iterable, Iterator, Set
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from gossamer import clock
from gossamer.errors import BadSettings, GossamerError, Unavailable
from gossamer.events.topics import SITE_KEYED, TOPICS, URLS_SEEN, Retention, Topic, topic_named
from gossamer.log import KEY_GROUPS
from gossamer.log.kafka.client import (
    RETRY_PAUSE,
    ConnectionErrors,
    client_config,
    error_of,
    fetch_topics,
    is_usable,
)
from gossamer.settings.servers import KafkaSettings

UNLIMITED_RETENTION = {"retention.ms": "-1", "retention.bytes": "-1"}
"""Only the readers' `Trimmer` may delete records, because Kafka does not know which were
consumed."""
RESIZED_TOPICS = (*SITE_KEYED, URLS_SEEN.name)
"""The topics whose numbers of partitions `Topics.resize` changes."""
MIN_DIRTY_RATIO = 0.1
"""Fraction of superseded data in a compacted topic from which Kafka compacts it again."""


@dataclass(frozen=True)
class TopicSpec:
    """The required state of a topic. *grows* states whether partitions may be added."""

    topic: Topic
    name: str
    partitions: int
    replication: int
    grows: bool
    fixed: dict[str, str]
    """Configuration that the code relies on."""
    kept: dict[str, str]
    """Configuration that operators may change. It is set only if the topic has no value of its
    own."""

    @property
    def is_own(self) -> bool:
        """Whether only one crawl has the topic."""
        return self.topic.name not in TOPICS

    @property
    def config(self) -> dict[str, str]:
        """The whole configuration of a new topic."""
        return self.fixed | self.kept


def topic_specs(settings: KafkaSettings, own: Iterable[str] = ()) -> list[TopicSpec]:
    """Return the required state of all topics under *settings*, and of the topics *own* of single
    crawls."""
    return [_spec(topic, settings) for topic in (*TOPICS.values(), *map(topic_named, own))]


def _spec(topic: Topic, settings: KafkaSettings) -> TopicSpec:
    by_site = topic.partitioned_by == "site"
    replication = settings.replication or topic.replication
    return TopicSpec(
        topic=topic,
        name=settings.prefix + topic.name,
        partitions=(by_site and settings.partitions) or topic.partitions,
        replication=replication,
        # More partitions would move a key to another one. Compaction would never remove the key's
        # record in the former partition.
        grows=not by_site and topic.retention is not Retention.NEWEST,
        fixed={
            "cleanup.policy": _cleanup(topic),
            "compression.type": "producer",
            "min.insync.replicas": str(max(1, replication - 1)),
            **(UNLIMITED_RETENTION if topic.retention is Retention.UNTIL_CONSUMED else {}),
        },
        kept=_operator_config(topic),
    )


def _cleanup(topic: Topic) -> str:
    if topic.retention is not Retention.NEWEST:
        return "delete"
    return "compact,delete" if topic.expires else "compact"


def _operator_config(topic: Topic) -> dict[str, str]:
    match topic.retention:
        case Retention.NEWEST:
            return {
                "delete.retention.ms": str(topic.tombstone_retention * 1000),
                "segment.ms": str(topic.segment * 1000),
                "min.cleanable.dirty.ratio": str(MIN_DIRTY_RATIO),
                # Without its own limit the topic would have the brokers' seven days.
                **({"retention.ms": "-1"} if topic.expires else {}),
            }
        case Retention.FOREVER:
            return {"retention.ms": "-1"}
        case Retention.UNTIL_CONSUMED:
            return {"segment.bytes": str(topic.segment_bytes)}


@dataclass(frozen=True)
class Differences:
    """Differences between the topics and their required state, as phrases."""

    appliable: tuple[str, ...] = ()
    """Differences that `Topics.apply` would create or change."""
    refused: tuple[str, ...] = ()
    """Differences that `Topics.apply` would refuse to change."""
    kept: tuple[str, ...] = ()
    """Values that an operator has set and may keep."""


class Topics:
    """The topics on the brokers of *settings*, with the topics *own* of single crawls."""

    def __init__(self, settings: KafkaSettings, own: Iterable[str] = ()) -> None:
        if settings.partitions and KEY_GROUPS % settings.partitions:
            raise BadSettings(
                f"kafka.partitions is {settings.partitions}, but must divide {KEY_GROUPS}"
            )
        self._settings, self._own = settings, tuple(own)
        self._errors = ConnectionErrors(settings.servers)
        self._admin: Any = AdminClient(client_config(settings, self._errors))
        self.refused: list[str] = []
        """A sentence for each difference that `apply` did not change."""

    def counts(self) -> dict[str, int]:
        """Return the number of partitions of each topic, by its name without the prefix."""
        found = self._fetch()
        names = {one.name: one.topic.name for one in topic_specs(self._settings, self._own)}
        return {names[name]: len(one.partitions) for name, one in found.items() if name in names}

    def resize(self, partitions: int) -> Iterator[str]:
        """Change the number of *partitions* of each topic that is keyed by site, and yield a line
        for each.

        Topics with too many partitions are recreated without their records.
        """
        settings = self._settings.model_copy(update={"partitions": partitions})
        resized = [one for one in topic_specs(settings) if one.topic.name in RESIZED_TOPICS]
        counts = self.counts()
        keyed = [one for one in resized if one.topic.name in SITE_KEYED]
        with self._translate_errors():
            self._delete([one for one in keyed if counts.get(one.topic.name, 0) > one.partitions])
            yield from self._create(resized)
            for one in resized:
                if 0 < (before := counts.get(one.topic.name, 0)) < one.partitions:
                    yield from self._add_partitions(one, before)
            self._await("created the new partitions of", lambda: self._smaller(resized))

    def _smaller(self, topics: list[TopicSpec]) -> set[str]:
        """Return the names of those of *topics* that have too few partitions."""
        counts = self.counts()
        return {one.name for one in topics if counts.get(one.topic.name, 0) < one.partitions}

    def _delete(self, topics: list[TopicSpec]) -> None:
        """Delete *topics* and wait until they are gone."""
        if not topics:
            return
        for deleted in self._admin.delete_topics([one.name for one in topics]).values():
            _await_success(deleted, KafkaError.UNKNOWN_TOPIC_OR_PART)
        names = {one.topic.name for one in topics}
        self._await("deleted", lambda: names & self.counts().keys())

    def _await(self, done: str, find_left: Callable[[], Set[str]]) -> None:
        """Wait until *find_left* returns no topics; raise Unavailable if that takes too long."""
        until = clock.steady() + self._settings.timeout
        while left := find_left():
            if clock.steady() > until:
                raise Unavailable(f"Kafka has not {done} {', '.join(sorted(left))} in time")
            clock.pause(RETRY_PAUSE)

    def compare(self) -> Differences:
        """Compare the topics with their required state, without changes.

        Raise Unavailable if the brokers do not answer.
        """
        topics = topic_specs(self._settings, self._own)
        with self._translate_errors():
            found = self._fetch()
            there = [topic for topic in topics if is_usable(found.get(topic.name))]
            configs = self._configs(there) if there else {}
        appliable = [f"{topic.name} is missing" for topic in topics if topic.name not in found]
        refused, kept = list[str](), list[str]()
        for topic in there:
            count, copies = _shape(found[topic.name])
            refused += _refusals(topic, count, copies)
            if _may_grow(topic, count):
                appliable.append(f"{topic.name}: has {count} partitions, not {topic.partitions}")
            config = configs[topic.name]
            for name, value in _find_differences(topic, config).items():
                appliable.append(f"{topic.name}: {name} is {_value(config, name)}, not {value}")
            kept += _find_kept_values(topic, config)
        for name in {topic.name for topic in topics} & found.keys():
            if not is_usable(found[name]):
                refused.append(f"{name}: has no usable partitions: see the logs of the brokers")
        return Differences(tuple(appliable), tuple(refused), tuple(kept))

    def apply(self) -> Iterator[str]:
        """Create missing topics and change differing ones, and yield a line for each change.

        Differences that must not be changed are in `refused` afterwards.
        """
        topics = topic_specs(self._settings, self._own)
        with self._translate_errors():
            yield from self._create(topics)
            found = self._await_topics(topics)
            configs = self._configs(topics)
            for topic in topics:
                yield from self._grow(topic, found[topic.name])
                yield from self._configure(topic, configs[topic.name])
            self._await_configs(topics)

    def create(self) -> Iterator[str]:
        """Create missing topics of single crawls, and yield a line for each."""
        own = [topic for topic in topic_specs(self._settings, self._own) if topic.is_own]
        with self._translate_errors():
            yield from self._create(own)
            self._await_topics(own)

    def _fetch(self) -> dict[str, Any]:
        return fetch_topics(self._admin, self._errors, self._settings.timeout)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except KafkaException as failure:
            error = error_of(failure)
            self._admin.poll(0)
            if error.code() == KafkaError.INVALID_REPLICATION_FACTOR:
                raise GossamerError(
                    f"Kafka at {self._settings.servers} has too few brokers for the replication "
                    f"factor ({error.str()}): set kafka.replication"
                ) from failure
            raise self._errors.translate_error(error) from failure

    def _create(self, topics: list[TopicSpec]) -> Iterator[str]:
        there = self._fetch()
        new = [topic for topic in topics if topic.name not in there]
        made = (
            self._admin.create_topics(
                [NewTopic(w.name, w.partitions, w.replication, config=w.config) for w in new],
                operation_timeout=self._settings.timeout,
            )
            if new
            else {}
        )
        for topic in new:
            if _await_success(made[topic.name], KafkaError.TOPIC_ALREADY_EXISTS):
                shape = f"{topic.partitions} partitions, replication factor {topic.replication}"
                yield f"{topic.name}: created with {shape}"

    def _await_topics(self, topics: list[TopicSpec]) -> dict[str, Any]:
        """Return the brokers' metadata of the topics, once all of them have it."""
        names, found = {topic.name for topic in topics}, dict[str, Any]()

        def find_unknown() -> set[str]:
            found.update(self._fetch())
            return {name for name in names if not is_usable(found.get(name))}

        self._await("created", find_unknown)
        return found

    def _grow(self, topic: TopicSpec, found: Any) -> Iterator[str]:
        count, copies = _shape(found)
        self.refused += _refusals(topic, count, copies)
        if _may_grow(topic, count):
            yield from self._add_partitions(topic, count)

    def _add_partitions(self, topic: TopicSpec, count: int) -> Iterator[str]:
        """Add partitions to the *count* of a topic; yield a line about that."""
        grown = self._admin.create_partitions([NewPartitions(topic.name, topic.partitions)])
        # Another process may have added them just now.
        if _await_success(grown[topic.name], KafkaError.INVALID_PARTITIONS):
            yield f"{topic.name}: partitions changed from {count} to {topic.partitions}"

    def _await_configs(self, topics: list[TopicSpec]) -> None:
        """Wait until the brokers report the new configuration."""
        until = clock.steady() + self._settings.timeout
        while clock.steady() < until:
            configs = self._configs(topics)
            if not any(_find_differences(topic, configs[topic.name]) for topic in topics):
                return
            clock.pause(RETRY_PAUSE)

    def _configs(self, topics: list[TopicSpec]) -> dict[str, dict[str, Any]]:
        asked = self._admin.describe_configs(
            [ConfigResource(ResourceType.TOPIC, topic.name) for topic in topics]
        )
        return {resource.name: answer.result() for resource, answer in asked.items()}

    def _configure(self, topic: TopicSpec, found: dict[str, Any]) -> Iterator[str]:
        yield from _find_kept_values(topic, found)
        differs = _find_differences(topic, found)
        if not differs:
            return
        changes = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in differs.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic.name, incremental_configs=changes)
        self._admin.incremental_alter_configs([resource])[resource].result()
        for name, value in differs.items():
            yield f"{topic.name}: {name} changed from {_value(found, name)} to {value}"


def _shape(found: Any) -> tuple[int, int]:
    """Return the number of partitions of a topic and the number of replicas of each."""
    return len(found.partitions), len(found.partitions[0].replicas)


def _refusals(topic: TopicSpec, count: int, copies: int) -> Iterator[str]:
    """Yield a sentence for each difference that `apply` must not change, with instructions."""
    if copies != topic.replication:
        yield (
            f"{topic.name}: has replication factor {copies}, not {topic.replication}: change it "
            "with Kafka's kafka-reassign-partitions.sh, or set kafka.replication"
        )
    if not _needs_count(topic):
        return
    if count > topic.partitions:
        yield (
            f"{topic.name}: has {count} partitions, not {topic.partitions}: set kafka.partitions "
            f"to {count}, or run gossamer topics resize, which recreates the topic; Kafka cannot "
            "remove partitions"
        )
    elif count < topic.partitions and not topic.grows:
        yield (
            f"{topic.name}: has {count} partitions, not {topic.partitions}: set kafka.partitions "
            f"to {count}, or run gossamer topics resize; new partitions alone would separate "
            "sites and keys from their data"
        )


def _needs_count(topic: TopicSpec) -> bool:
    """Return whether *topic* needs its number of partitions. A topic that is keyed by site and that
    no service consumes may have any."""
    return topic.topic.partitioned_by != "site" or topic.topic.name in SITE_KEYED


def _may_grow(topic: TopicSpec, count: int) -> bool:
    return topic.grows and _needs_count(topic) and count < topic.partitions


def _find_kept_values(topic: TopicSpec, found: dict[str, Any]) -> Iterator[str]:
    for name, value in topic.kept.items():
        if _is_set(found.get(name)) and found[name].value != value:
            yield f"{topic.name}: {name} stays {found[name].value}, not {value}"


def _value(found: dict[str, Any], name: str) -> str:
    return str(found[name].value) if name in found else "unset"


def _find_differences(topic: TopicSpec, found: dict[str, Any]) -> dict[str, str]:
    """Return the values that `apply` sets: fixed values that differ, and values that operators may
    change but that the topic does not have itself."""
    fixed = {n: v for n, v in topic.fixed.items() if n not in found or found[n].value != v}
    return fixed | {n: v for n, v in topic.kept.items() if not _is_set(found.get(n))}


def _is_set(entry: Any) -> bool:
    """Return whether the topic has its own value, from an operator or from us."""
    return entry is not None and entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value


def _await_success(future: "Future[None]", unless: int) -> bool:
    """Wait for *future*. Return False if it failed with the error code *unless*, because another
    process has made this change first."""
    try:
        future.result()
    except KafkaException as failure:
        if error_of(failure).code() != unless:
            raise
        return False
    return True
