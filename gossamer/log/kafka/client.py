"""How clients of Kafka are configured, and what their records and errors mean to us.

librdkafka connects, reconnects and retries by itself, and reports in callbacks why it cannot. Who
gives up in the end asks :class:`Trouble` for the error that a person can act on.
"""

import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import confluent_kafka
import structlog
from confluent_kafka import KafkaError, KafkaException, Message, TopicPartition

from gossamer import clock
from gossamer.errors import Fenced, GossamerError, Unavailable
from gossamer.events.topics import LARGEST, PAGES_FETCHED, TOPICS
from gossamer.log import Headers, Record
from gossamer.settings.servers import KafkaSettings

logger = structlog.get_logger()
_library = logging.getLogger("librdkafka")

CLOSE_SLACK = 15.0
"""Seconds that leaving a group may take beyond the session of a member."""

LONGEST_BACKOFF = 2000
"""Most milliseconds between two attempts to reach a broker."""

REFUSED = {
    KafkaError._AUTHENTICATION: "it does not accept the credentials",
    KafkaError.SASL_AUTHENTICATION_FAILED: "it does not accept the credentials",
    KafkaError.UNSUPPORTED_SASL_MECHANISM: "it does not offer this kafka.mechanism",
    KafkaError._SSL: "TLS fails; see kafka.security and kafka.ca_file",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "this user may not use the topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "this user may not read in the group",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "this user may not do that",
}
"""Errors that waiting does not cure."""

MISSING = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
)
AWAY = (
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
"""Errors that pass: a broker is starting, or leads no longer."""
RETRY_PAUSE, ATTEMPT_TIMEOUT = 0.1, 2.0
"""Seconds between two attempts, and that one may take."""
SHARE = 3
"""Requests that may go unanswered one after another while we wait: a broker that vanishes without a
word is given up in time to ask who leads now. A third of the default is longer than the brokers
themselves take to miss one (`broker.session.timeout.ms`, 9 s)."""
LATEST, EARLIEST = -1, -2
"""Stand for instants when a broker is asked for the offset of one."""
T = TypeVar("T")


class LibraryLogger:
    """Stands where librdkafka wants a `logging.Logger`, and passes its lines to our logs."""

    def log(self, level: int, text: str, *parts: object) -> None:
        """Log at most a warning: what it calls an error is retried, or raised as well."""
        _library.log(min(level, 30), text, *parts)


class Trouble:
    """Why the connections fail: what librdkafka last reported of them."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._refused: KafkaError | None = None
        self._fatal: KafkaError | None = None
        self._last = ""

    def note(self, error: KafkaError) -> None:
        """Remember *error*, which librdkafka reports of its connections."""
        if _is_fatal(error):
            self._fatal = error
        elif error.code() in REFUSED:
            self._refused = error
        elif error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._last = error.str()

    def raise_if_lasting(self, error: KafkaError) -> None:
        """Raise *error* of a consumer's message, translated, unless it passes by itself."""
        if _is_fatal(error) or error.code() in REFUSED or error.code() in MISSING:
            raise self.translate_error(error)

    def check(self) -> None:
        """Raise Fenced after a fatal error: this client will never work again."""
        if self._fatal:
            raise self.translate_error(self._fatal)

    def clear(self) -> None:
        """Forget what was reported: something has succeeded since."""
        self._refused, self._last = None, ""

    def translate_error(self, error: KafkaError) -> GossamerError:
        """Return what to raise for *error*: Unavailable where trying again may help."""
        if _is_fatal(error) or error.code() == KafkaError.FENCED_INSTANCE_ID:
            # A broker that restarts may take a member that reconnects for another process.
            return Fenced(
                f"Kafka at {self._servers} has fenced this member of the group ({error.str()}): it "
                "joins anew; if that goes on, another process has the same service.instance"
            )
        cause = error if error.code() in REFUSED else self._refused or error
        if why := REFUSED.get(cause.code()):
            return GossamerError(f"Kafka at {self._servers} refuses us: {why} ({cause.str()})")
        if error.code() in MISSING:
            return missing(f"Kafka at {self._servers} lacks a topic ({error.str()})")
        if error.code() in AWAY or error.retriable():
            return Unavailable(
                f"Kafka at {self._servers} does not answer ({self._last or error.str()})"
            )
        return GossamerError(f"Kafka at {self._servers}: {error.str()}")


def _is_fatal(error: KafkaError) -> bool:
    # One that comes as a message has this code, and `fatal()` is False.
    return bool(error.fatal()) or error.code() == KafkaError._FATAL


def retry(call: Callable[[], T], trouble: Trouble, timeout: float) -> T:
    """Return what *call* returns; try again for *timeout* seconds while Kafka is unavailable.

    Raise the last error, translated.
    """
    until = clock.steady() + timeout
    while True:
        try:
            return call()
        except KafkaException as failure:
            error = trouble.translate_error(error_of(failure))
            if not isinstance(error, Unavailable) or clock.steady() > until:
                raise error from failure
        clock.pause(RETRY_PAUSE)


def topics_of(asking: Any, trouble: Trouble, timeout: float) -> dict[str, Any]:
    """Return the brokers' metadata of all topics; *asking* is any client.

    It is asked in short attempts, since a client that is refused goes on trying for ever.
    """

    def ask() -> dict[str, Any]:
        try:
            found: dict[str, Any] = asking.list_topics(timeout=min(ATTEMPT_TIMEOUT, timeout)).topics
        except KafkaException:
            asking.poll(0)
            raise
        return found

    return retry(ask, trouble, timeout)


def missing(what: str) -> GossamerError:
    """Return what to raise where topics are missing or not as they have to be."""
    return GossamerError(f"{what}: run gossamer topics apply")


def error_of(failure: KafkaException) -> KafkaError:
    """Return the error that *failure* carries."""
    error = failure.args[0]
    assert isinstance(error, KafkaError)
    return error


def client(settings: KafkaSettings, trouble: Trouble) -> dict[str, Any]:
    """Return the configuration that all clients share."""
    unanswered = max(1000, int(settings.timeout * 1000 / SHARE))
    return {
        "bootstrap.servers": settings.servers,
        "client.id": "gossamer",
        "reconnect.backoff.max.ms": LONGEST_BACKOFF,
        "socket.timeout.ms": unanswered,
        "socket.connection.setup.timeout.ms": unanswered,
        # Brokers close idle connections: that is no news.
        "log.connection.close": False,
        "error_cb": trouble.note,
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


def producer(settings: KafkaSettings) -> dict[str, Any]:
    """Return what a producer needs besides."""
    return {
        "enable.idempotence": True,
        "acks": "all",
        # The first level: the third takes half as much again for a tenth less (`bench.batching`).
        "compression.type": "zstd",
        "compression.level": 1,
        # For the reader's sake: the partition is always given, by the same hash.
        "partitioner": "murmur2",
        "message.max.bytes": LARGEST,
        "message.timeout.ms": int(settings.timeout * 1000),
        # The largest record must fit, or it would wait for room for ever.
        "queue.buffering.max.kbytes": (64 << 10) + (LARGEST >> 10),
    }


def groups_of(settings: KafkaSettings, topic: str) -> list[str]:
    """Return the full names of the groups that must have read a record of *topic* before it may
    be deleted."""
    further = settings.further_groups if topic == PAGES_FETCHED.name else ()
    return [*(settings.prefix + group for group in TOPICS[topic].consumers), *further]


def offsets_at(
    asking: Any, instant: int, partitions: list[TopicPartition], timeout: float
) -> list[TopicPartition]:
    """Return the offsets at EARLIEST or LATEST; *asking* is any consumer."""
    asked = [TopicPartition(one.topic, one.partition, instant) for one in partitions]
    found: list[TopicPartition] = asking.offsets_for_times(asked, timeout)
    return found


def consumer(group: str) -> dict[str, Any]:
    """Return what a consumer of *group*, a full name, needs besides."""
    return {
        "group.id": group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        # Fetch little ahead, in batches that stay small when decompressed, and go on fetching as
        # soon as there is room again.
        "queued.max.messages.kbytes": 16 << 10,
        "fetch.max.bytes": 4 << 20,
        "fetch.queue.backoff.ms": 20,
        # What comes ends the wait; but a partition that is assigned meanwhile waits for its end.
        "fetch.wait.max.ms": 200,
    }


def record(message: "Message[bytes, bytes]", topic: str) -> Record:
    """Return *message* as the record of *topic* that it is.

    Anybody may produce: a key is read as far as it is text, no value is an empty one.
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
    """A member of a group, with a `close` that ends.

    librdkafka may wait for ever within `close` for its own answer to the last unassignment, after
    brokers were away (confluentinc/librdkafka#4884). Then the brokers end the membership, as they
    do for a member that died: when its session is over.
    """

    def __init__(self, configuration: dict[str, Any]) -> None:
        super().__init__(configuration)
        self._close_limit = configuration["session.timeout.ms"] / 1000 + CLOSE_SLACK

    def close(self) -> None:
        """Leave the group."""
        if not ends_within(self._close_limit, super().close):
            logger.warning("left the group without an answer", seconds=self._close_limit)


def ends_within(seconds: float, call: Callable[[], None]) -> bool:
    """Return whether *call* ends within *seconds*; if not, leave it to a thread of its own.

    Raise what *call* raises.
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
