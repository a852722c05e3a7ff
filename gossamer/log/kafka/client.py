"""Configuration of Kafka clients, translation of their records and errors, and queries for
diagnostics.

librdkafka connects, reconnects and retries by itself, and reports failures in callbacks. When a
caller gives up, :class:`ConnectionErrors` returns the error that a person can act on.
"""

import logging
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import confluent_kafka
import structlog
from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ConfigResource,
    ResourceType,
)

from gossamer import clock
from gossamer.errors import Fenced, GossamerError, Unavailable
from gossamer.events.topics import PAGES_FETCHED, TOPICS
from gossamer.log import At, Headers, Record
from gossamer.settings.servers import KafkaSettings

logger = structlog.get_logger()
_library = logging.getLogger("librdkafka")
CLOSE_SLACK = 15.0
"""Seconds beyond the session timeout that leaving a group may take."""
MIN_BACKOFF_MS, MAX_BACKOFF_MS = 500, 2000
"""Minimum and maximum milliseconds between two connection attempts to a broker. While all brokers
are away, librdkafka forgets them with each attempt, and never waits longer than the minimum: with
its default of 100 ms each process of a fleet made 100 attempts a second."""
PERMANENT_ERRORS = {
    KafkaError._AUTHENTICATION: "wrong username or password",
    KafkaError.SASL_AUTHENTICATION_FAILED: "wrong username or password",
    KafkaError.UNSUPPORTED_SASL_MECHANISM: "unsupported kafka.mechanism",
    KafkaError._SSL: "TLS failed; see kafka.security and kafka.ca_file",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "the user has no permission for the topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "the user has no permission for the group",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "the user has no permission for this operation",
}
"""Errors that do not pass by waiting."""
MISSING_TOPIC_ERRORS = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
)
TEMPORARY_ERRORS = (
    KafkaError._TRANSPORT,
    KafkaError._RESOLVE,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._DESTROY_BROKER,
    KafkaError._TIMED_OUT,
    KafkaError._TIMED_OUT_QUEUE,
    KafkaError._MSG_TIMED_OUT,
    KafkaError._WAIT_COORD,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NETWORK_EXCEPTION,
    KafkaError.NOT_COORDINATOR,
    KafkaError.NOT_ENOUGH_REPLICAS,
    KafkaError.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.REQUEST_TIMED_OUT,
)
"""Errors that pass by waiting: a broker is starting, or is not the leader any more."""
RETRY_PAUSE, ATTEMPT_TIMEOUT = 0.1, 2.0
"""Seconds between two attempts, and the timeout of one attempt."""
ATTEMPTS_PER_TIMEOUT = 3
"""Number of consecutive requests that may time out within `kafka.timeout`. If a broker vanishes
silently, the client gives it up after the first of them, and has time to find the new leader. A
third of the default timeout is longer than the other brokers need to detect the loss
(`broker.session.timeout.ms`, 9 s)."""
LATEST, EARLIEST = -1, -2
"""Special timestamps in a request for offsets by time: the end and the start of a partition."""
STATE = re.compile(r" \(after \d+ms in state .*\)$")
"""What librdkafka adds to a failure of a connection: how long it took, and how often it was the
same. A reader of the message needs neither."""
T = TypeVar("T")
PROTOCOL_VERSION = "inter.broker.protocol.version"
"""A setting of brokers up to Kafka 3.9. Brokers do not report their version to clients."""


class LibraryLogger:
    """Acts as librdkafka's `logging.Logger` and passes its lines to our logs."""

    def log(self, level: int, text: str, *parts: object) -> None:
        """Log at most a warning, since librdkafka retries or also raises what it calls an error."""
        _library.log(min(level, 30), text, *parts)


class ConnectionErrors:
    """Explains connection failures by the last errors that librdkafka reported."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._refused: KafkaError | None = None
        self._fatal: KafkaError | None = None
        self._last = ""

    def note(self, error: KafkaError) -> None:
        """Remember *error*, which librdkafka reports about its connections."""
        if _is_fatal(error):
            self._fatal = error
        elif error.code() in PERMANENT_ERRORS:
            self._refused = error
        elif error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._last = STATE.sub("", error.str())

    def raise_if_lasting(self, error: KafkaError) -> None:
        """Raise the translated *error* of a consumer's message, unless it passes by waiting."""
        if (
            _is_fatal(error)
            or error.code() in PERMANENT_ERRORS
            or error.code() in MISSING_TOPIC_ERRORS
        ):
            raise self.translate_error(error)

    def check(self) -> None:
        """Raise Fenced after a fatal error, because this client will never work again."""
        if self._fatal:
            raise self.translate_error(self._fatal)

    def clear(self) -> None:
        """Forget reported errors after a success."""
        self._refused, self._last = None, ""

    def translate_error(self, error: KafkaError) -> GossamerError:
        """Return the exception for *error*, which is Unavailable if a retry may help."""
        if _is_fatal(error) or error.code() == KafkaError.FENCED_INSTANCE_ID:
            # A restarting broker may mistake a reconnecting member for another process.
            return Fenced(
                f"Kafka at {self._servers} fenced this member of the group ({error.str()}), which "
                "joins again; if this repeats, another process has the same service.instance"
            )
        cause = error if error.code() in PERMANENT_ERRORS else self._refused or error
        if reason := PERMANENT_ERRORS.get(cause.code()):
            return GossamerError(f"Kafka at {self._servers} refused: {reason} ({cause.str()})")
        if error.code() in MISSING_TOPIC_ERRORS:
            return missing_topics_error(f"Kafka at {self._servers} lacks a topic ({error.str()})")
        if error.code() in TEMPORARY_ERRORS or error.retriable():
            return Unavailable(
                f"Kafka at {self._servers} does not answer ({self._last or error.str()})"
            )
        return GossamerError(f"Kafka at {self._servers}: {error.str()}")


def _is_fatal(error: KafkaError) -> bool:
    # A fatal error in a message has this code, but `fatal()` is False.
    return bool(error.fatal()) or error.code() == KafkaError._FATAL


def retry(call: Callable[[], T], errors: ConnectionErrors, timeout: float) -> T:
    """Return the result of *call*, and retry for *timeout* seconds while Kafka is unavailable.

    Raise the last error, translated.
    """
    until = clock.steady() + timeout
    while True:
        try:
            return call()
        except KafkaException as failure:
            error = errors.translate_error(error_of(failure))
            if not isinstance(error, Unavailable) or clock.steady() > until:
                raise error from failure
        clock.pause(RETRY_PAUSE)


def fetch_topics(asking: Any, errors: ConnectionErrors, timeout: float) -> dict[str, Any]:
    """Return the brokers' metadata of all topics. *asking* is any client.

    Requests are short attempts, since a client with refused credentials would retry for ever.
    """

    def ask() -> dict[str, Any]:
        try:
            found: dict[str, Any] = asking.list_topics(timeout=min(ATTEMPT_TIMEOUT, timeout)).topics
        except KafkaException:
            asking.poll(0)
            raise
        return found

    return retry(ask, errors, timeout)


def is_usable(found: Any) -> bool:
    """Return whether the brokers described a topic without an error."""
    return found is not None and not found.error and bool(found.partitions)


def missing_topics_error(what: str) -> GossamerError:
    """Return the exception for topics that are missing or misconfigured."""
    return GossamerError(f"{what}: run gossamer topics apply")


def error_of(failure: KafkaException) -> KafkaError:
    """Return the KafkaError of *failure*."""
    error = failure.args[0]
    assert isinstance(error, KafkaError)
    return error


def client_config(
    settings: KafkaSettings, errors: ConnectionErrors, service: str = ""
) -> dict[str, Any]:
    """Return the configuration that all clients share. Brokers count, and can limit, the requests
    of each *service* by its client id."""
    unanswered = max(1000, int(settings.timeout * 1000 / ATTEMPTS_PER_TIMEOUT))
    return {
        "bootstrap.servers": settings.servers,
        "client.id": f"gossamer-{service}" if service else "gossamer",
        **({"client.rack": settings.rack} if settings.rack else {}),
        "reconnect.backoff.ms": MIN_BACKOFF_MS,
        "reconnect.backoff.max.ms": MAX_BACKOFF_MS,
        "socket.timeout.ms": unanswered,
        "socket.connection.setup.timeout.ms": unanswered,
        # Brokers routinely close idle connections.
        "log.connection.close": False,
        "error_cb": errors.note,
        "logger": LibraryLogger(),
        **_security(settings),
    }


def _security(settings: KafkaSettings) -> dict[str, Any]:
    found: dict[str, Any] = {"security.protocol": settings.security}
    if settings.security.startswith("sasl"):
        found["sasl.mechanism"] = settings.mechanism
        found["sasl.username"] = settings.username
        found["sasl.password"] = settings.secret()
    for name, file in (
        ("ssl.ca.location", settings.ca_file),
        ("ssl.certificate.location", settings.cert_file),
        ("ssl.key.location", settings.key_file),
    ):
        if file:
            found[name] = str(file)
    return found


def producer_config(settings: KafkaSettings) -> dict[str, Any]:
    """Return the additional configuration of a producer."""
    return {
        "enable.idempotence": True,
        "acks": "all",
        # Level 3 takes 1.5 times as long for 10 % less data (docs/scale.md).
        "compression.type": "zstd",
        "compression.level": 1,
        # Only documentation: the partition is always set, by the same hash.
        "partitioner": "murmur2",
        # The default of brokers for a batch. A record has less (`topics.MAX_RECORD_BYTES`).
        "message.max.bytes": 1_048_588,
        "message.timeout.ms": int(settings.timeout * 1000),
        "queue.buffering.max.kbytes": 64 << 10,
    }


def groups_of(settings: KafkaSettings, topic: str) -> list[str]:
    """Return the full names of the groups that must consume a record of *topic* before its
    deletion."""
    further = settings.further_groups if topic == PAGES_FETCHED.name else ()
    return [*(settings.prefix + group for group in TOPICS[topic].consumers), *further]


class OffsetQueries:
    """Queries the offsets of *consumer*'s group, and of partitions by full name and number.

    A query is repeated for `kafka.timeout` seconds while Kafka is unavailable. The consumer need
    not be a member of its group. librdkafka ends the process if a member queries offsets inside its
    own rebalance callback.
    """

    def __init__(self, consumer: Any, settings: KafkaSettings, errors: ConnectionErrors) -> None:
        self._consumer, self._errors, self._timeout = consumer, errors, settings.timeout

    def starts(self, partitions: Iterable[At]) -> dict[At, int]:
        """Return the offset of the oldest retained record of each of *partitions*."""
        return self._query(self._consumer.offsets_for_times, partitions, EARLIEST)

    def ends(self, partitions: Iterable[At]) -> dict[At, int]:
        """Return the offset of the next record to be appended to each of *partitions*."""
        return self._query(self._consumer.offsets_for_times, partitions, LATEST)

    def committed(self, partitions: Iterable[At]) -> dict[At, int]:
        """Return the committed offset of the group in each of *partitions* that has one."""
        found = self._query(self._consumer.committed, partitions, OFFSET_INVALID)
        return {at: offset for at, offset in found.items() if offset >= 0}

    def _query(self, ask: Any, partitions: Iterable[At], asked_for: int) -> dict[At, int]:
        asked = [TopicPartition(*at, asked_for) for at in partitions]
        timeout = self._timeout / ATTEMPTS_PER_TIMEOUT

        def attempt() -> list[TopicPartition]:
            try:
                found: list[TopicPartition] = ask(asked, timeout)
                for error in filter(None, (one.error for one in found)):
                    raise KafkaException(error)
                return found
            except KafkaException:
                # Without new metadata, the client uses the old leaders for a quarter of an hour.
                self._consumer.list_topics(timeout=timeout)
                raise

        found = retry(attempt, self._errors, self._timeout) if asked else []
        return {(one.topic, one.partition): one.offset for one in found}


def consumer_config(group: str) -> dict[str, Any]:
    """Return the additional configuration of a consumer in *group*, a full name."""
    return {
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        # Prefetch little, in batches that are small when decompressed, and continue to fetch as
        # soon as the queue has capacity.
        "queued.max.messages.kbytes": 16 << 10,
        "fetch.max.bytes": 4 << 20,
        "fetch.queue.backoff.ms": 20,
        # A broker waits this long before it answers that there are no records. A newly assigned
        # partition is in the next request, which is sent only after that answer.
        "fetch.wait.max.ms": 200,
    }


def record_of(message: "Message[bytes, bytes]", topic: str) -> Record:
    """Return *message* as a record of *topic*.

    Any program may produce, so invalid UTF-8 in a key is escaped, and a missing value is an empty
    one.
    """
    key = message.key()
    return Record(
        topic,
        message.partition() or 0,
        message.offset() or 0,
        key.decode("utf-8", "backslashreplace") if key else "",
        message.value() or b"",
        _headers(message.headers()),
    )


def _headers(found: Any) -> Headers:
    return tuple(
        (name, (value or b"").decode("utf-8", "backslashreplace")) for name, value in found or ()
    )


class GroupConsumer(confluent_kafka.Consumer):
    """A member of a group whose `close` always returns.

    After an outage of brokers, librdkafka's `close` may wait for ever for a reply of its own to the
    last unassignment (confluentinc/librdkafka#4884). This `close` then gives up, and the brokers
    end the membership when its session times out, as after a crash.
    """

    def __init__(self, configuration: dict[str, Any]) -> None:
        super().__init__(configuration)
        self._close_limit = configuration["session.timeout.ms"] / 1000 + CLOSE_SLACK

    def close(self) -> None:
        """Leave the group."""
        if not finishes_within(self._close_limit, super().close):
            logger.warning("leaving the consumer group timed out", seconds=self._close_limit)


def finishes_within(seconds: float, call: Callable[[], None]) -> bool:
    """Return whether *call* ends within *seconds*. If not, it continues in its own thread.

    Raise the exception of *call*.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="closing", daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    return not thread.is_alive()


class Brokers:
    """The brokers of *settings*. All methods raise Unavailable if they do not answer."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings, self._errors = settings, ConnectionErrors(settings.servers)
        self._admin: Any = AdminClient(client_config(settings, self._errors))

    def old_version(self) -> str | None:
        """Return the version of brokers older than Kafka 4, such as `3.9-IV0`, or None.

        Raise GossamerError if this user may not read the settings of brokers.
        """

        def ask() -> str | None:
            found = self._admin.list_topics(timeout=self._settings.timeout)
            broker = ConfigResource(ResourceType.BROKER, str(min(found.brokers)))
            asked = self._admin.describe_configs([broker], request_timeout=self._settings.timeout)
            version = asked[broker].result().get(PROTOCOL_VERSION)
            return version and str(version.value)

        return retry(ask, self._errors, self._settings.timeout)

    def members(self, groups: Sequence[str]) -> Mapping[str, int]:
        """Return the number of members of each group, by the group's full name."""

        def ask() -> Mapping[str, int]:
            asked = self._admin.describe_consumer_groups(
                [*groups], request_timeout=self._settings.timeout
            )
            return {group: _count(described) for group, described in asked.items()}

        return retry(ask, self._errors, self._settings.timeout)


def _count(described: Any) -> int:
    try:
        return len(described.result().members)
    except KafkaException as failure:
        if error_of(failure).code() != KafkaError.GROUP_ID_NOT_FOUND:
            raise
        return 0  # The group has never had a member.
