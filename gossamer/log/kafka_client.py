"""How clients of Kafka are made, how a record looks through them, and how their failures are told.

librdkafka connects, reconnects and retries by itself, and says why it cannot in callbacks. Whoever
gives up at last asks :class:`Trouble` for the error that a person can do something with.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, Message

from gossamer import clock
from gossamer.errors import Absent, GossamerError
from gossamer.log import Record
from gossamer.servers import KafkaSettings
from gossamer.topics import LETTER_LIMIT, OVERHEAD

_library = logging.getLogger("librdkafka")

LONGEST_BACKOFF = 2000
"""Most milliseconds until a broker that is away is tried again."""

REFUSED = {
    KafkaError._AUTHENTICATION: "it does not accept the credentials",
    KafkaError.SASL_AUTHENTICATION_FAILED: "it does not accept the credentials",
    KafkaError.UNSUPPORTED_SASL_MECHANISM: "it does not offer this kafka.mechanism",
    KafkaError._SSL: "TLS fails; see kafka.security and kafka.ca_file",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "this user may not use the topic",
    KafkaError.GROUP_AUTHORIZATION_FAILED: "this user may not read in the group",
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: "this user may not do that",
}
"""What waiting does not mend."""

MISSING = (
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
)
AWAY = (
    KafkaError._TRANSPORT,
    KafkaError._RESOLVE,
    KafkaError._ALL_BROKERS_DOWN,
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
"""What passes: somebody is on his way, or somewhere else now."""
BREATH, TRY = 0.1, 2.0
"""Seconds between two tries, and that one takes."""
T = TypeVar("T")


class Voice:
    """Stands where librdkafka wants a `logging.Logger`; what it says goes where our logs go."""

    def log(self, level: int, text: str, *parts: object) -> None:
        """Say it: what it calls an error is mended by itself, or comes as an exception too."""
        _library.log(min(level, 30), text, *parts)


class Trouble:
    """Remembers what the connections suffer from."""

    def __init__(self, servers: str) -> None:
        self._servers = servers
        self._refused: KafkaError | None = None
        self._fatal: KafkaError | None = None
        self._last = ""

    def heard(self, error: KafkaError) -> None:
        """Take note of what librdkafka says about its connections."""
        if _is_fatal(error):
            self._fatal = error
        elif error.code() in REFUSED:
            self._refused = error
        elif error.code() != KafkaError._ALL_BROKERS_DOWN:
            self._last = error.str()

    def judge(self, error: KafkaError) -> None:
        """Raise what a consumer met on its way if that does not mend by itself."""
        if _is_fatal(error) or error.code() in REFUSED or error.code() in MISSING:
            raise self.told(error)

    def check(self) -> None:
        """Raise Absent if the client is no good any more: nothing would ever come of it."""
        if self._fatal:
            raise self.told(self._fatal)

    def over(self) -> None:
        """Forget: something has succeeded."""
        self._refused, self._last = None, ""

    def told(self, error: KafkaError) -> GossamerError:
        """Return what to raise for *error*, which something ended with."""
        if _is_fatal(error) or error.code() == KafkaError.FENCED_INSTANCE_ID:
            # A broker that comes back may take a member that comes back too for somebody else.
            return Absent(
                f"Kafka at {self._servers} has put us out of our group ({error.str()}): it is "
                "joined anew; if that goes on, another process has the same service.instance"
            )
        cause = error if error.code() in REFUSED else self._refused or error
        if why := REFUSED.get(cause.code()):
            return GossamerError(f"Kafka at {self._servers} refuses us: {why} ({cause.str()})")
        if error.code() in MISSING:
            return missing(f"Kafka at {self._servers} lacks a topic ({error.str()})")
        if error.code() in AWAY or error.retriable():
            return Absent(f"Kafka at {self._servers} does not answer ({self._last or error.str()})")
        return GossamerError(f"Kafka at {self._servers}: {error.str()}")


def _is_fatal(error: KafkaError) -> bool:
    # As a message it has a code of its own, and forgets to say so.
    return bool(error.fatal()) or error.code() == KafkaError._FATAL


def patiently(call: Callable[[], T], trouble: Trouble, timeout: float) -> T:
    """Return what *call* returns, tried until it succeeds; raise in our words what it ends with."""
    until = clock.steady() + timeout
    while True:
        try:
            return call()
        except KafkaException as failure:
            told = trouble.told(error_of(failure))
            if not isinstance(told, Absent) or clock.steady() > until:
                raise told from failure
        clock.pause(BREATH)


def topics_of(asking: Any, trouble: Trouble, timeout: float) -> dict[str, Any]:
    """Return what brokers say of all topics; *asking* is a client.

    It is asked in short tries: a client that is refused goes on trying by itself, for ever.
    """

    def ask() -> dict[str, Any]:
        try:
            found: dict[str, Any] = asking.list_topics(timeout=min(TRY, timeout)).topics
        except KafkaException:
            asking.poll(0)
            raise
        return found

    return patiently(ask, trouble, timeout)


def missing(what: str) -> GossamerError:
    """Return what to raise where topics are not as they have to be."""
    return GossamerError(f"{what}: run gossamer topics apply")


def error_of(failure: KafkaException) -> KafkaError:
    """Return the error that *failure* carries."""
    error = failure.args[0]
    assert isinstance(error, KafkaError)
    return error


def client(settings: KafkaSettings, trouble: Trouble) -> dict[str, Any]:
    """Return what every client is configured with."""
    return {
        "bootstrap.servers": settings.servers,
        "client.id": "gossamer",
        "reconnect.backoff.max.ms": LONGEST_BACKOFF,
        # Brokers close idle connections: nobody has to know.
        "log.connection.close": False,
        "error_cb": trouble.heard,
        "logger": Voice(),
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
    """Return what a producer is configured with besides."""
    return {
        "enable.idempotence": True,
        "acks": "all",
        "compression.type": "zstd",
        # Said for whoever reads it: the partition is always given, by the same hash.
        "partitioner": "murmur2",
        "message.max.bytes": LETTER_LIMIT + OVERHEAD,
        "message.timeout.ms": int(settings.timeout * 1000),
        # Of a batch that was flushed whole, only the failures are news.
        "delivery.report.only.error": True,
        "queue.buffering.max.kbytes": 64 << 10,
    }


def consumer(settings: KafkaSettings, group: str) -> dict[str, Any]:
    """Return what a consumer is configured with besides."""
    return {
        "group.id": settings.prefix + group,
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        # Little is fetched ahead, in pieces that stay small when they are unpacked, and fetching
        # goes on as soon as there is room again.
        "queued.max.messages.kbytes": 16 << 10,
        "fetch.max.bytes": 4 << 20,
        "fetch.queue.backoff.ms": 20,
        # A broker asked for records waits for some; a partition that comes later waits for that.
        "fetch.wait.max.ms": 100,
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
    )
