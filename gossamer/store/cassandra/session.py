"""A session with Cassandra's nodes: the part of the driver that the store needs.

Every statement is prepared once. Writes are idempotent and the driver retries them: rows are
written as a whole, with the caller's timestamp. A conditional write
(:meth:`Cassandra.insert_if_absent`) is not idempotent. If its outcome is unknown, the stored row is
read before another attempt.

Below are the options of a session: credentials, TLS, consistency levels, and the retry policy.
"""

import ssl
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from cassandra import ConsistencyLevel, DriverException
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import (
    EXEC_PROFILE_DEFAULT,
    Cluster,
    ExecutionProfile,
    NoHostAvailable,
    ResultSet,
    Session,
)
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    ExponentialReconnectionPolicy,
    FallthroughRetryPolicy,
    RetryPolicy,
    TokenAwarePolicy,
)
from cassandra.protocol import ErrorMessage
from cassandra.query import BoundStatement, PreparedStatement, dict_factory, tuple_factory

from gossamer.errors import BadSettings, GossamerError, Unavailable
from gossamer.settings.servers import CassandraSettings
from gossamer.store.cassandra.errors import is_handshake_failure, is_undecided, translate_errors
from gossamer.store.cassandra.writes import (
    IN_FLIGHT,
    Connection,
    batches,
    by_partition_key,
    concurrent_writes,
    statement,
)

PROTOCOL = 5
"""The protocol of Cassandra 4 and later. It is set so that the driver does not try and warn about
others."""
SCHEMA_TIMEOUT = 60.0
"""Maximum seconds until all nodes agree on a changed schema."""
Values = Sequence[Any]
Nodes = Hashable
"""The replicas of a row, as a value that is equal for equal replicas."""
MAX_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Write:
    """A statement on one partition, executed for each of *rows* with the same timestamp."""

    timestamp: int
    """Microseconds since 1970. Of two writes to a cell, the one with the larger timestamp wins."""
    cql: str
    rows: Iterable[Values]


class Cassandra:
    """A session with the nodes of *settings*."""

    def __init__(self, settings: CassandraSettings) -> None:
        if not settings.hosts:
            raise BadSettings("cassandra.hosts is empty: set at least one node")
        self.where = f"Cassandra at {', '.join(settings.hosts)}, port {settings.port}"
        self._errors = partial(translate_errors, self.where, settings)
        self._timestamp, self._keyspace = 1, settings.keyspace
        self._prepared: dict[str, PreparedStatement] = {}
        self._cluster = self._make_cluster(settings)
        self._session = self._connect(settings)

    def _make_cluster(self, settings: CassandraSettings) -> Cluster:
        # The driver asks for the timestamp of a write while `execute` runs.
        with self._errors():
            return Cluster(
                settings.hosts,
                settings.port,
                connection_class=Connection,
                protocol_version=PROTOCOL,
                auth_provider=credentials(settings),
                **tls(settings),
                execution_profiles=profiles(settings),
                timestamp_generator=lambda: self._timestamp,
                reconnection_policy=ExponentialReconnectionPolicy(0.5, 5.0),
                connect_timeout=settings.timeout,
                control_connection_timeout=settings.timeout,
                max_schema_agreement_wait=SCHEMA_TIMEOUT,
            )

    def _connect(self, settings: CassandraSettings) -> Session:
        try:
            with self._errors():
                return self._connect_cluster(settings)
        except BaseException as error:
            centres = {host.datacenter for host in self._cluster.metadata.all_hosts()} - {None}
            self.close()
            if isinstance(error, Unavailable) and centres and settings.datacenter not in centres:
                raise GossamerError(
                    f"{self.where} has no data centre {settings.datacenter!r}, only "
                    f"{', '.join(sorted(centres))}: change cassandra.datacenter"
                ) from None
            raise

    def _connect_cluster(self, settings: CassandraSettings) -> Session:
        try:
            return self._cluster.connect()
        except NoHostAvailable as error:
            if not is_handshake_failure(error):
                raise
        # A cluster object that failed to connect is shut down.
        self._cluster = self._make_cluster(settings)
        return self._cluster.connect()

    def close(self) -> None:
        """End the session."""
        self._cluster.shutdown()

    def query(self, cql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Return all rows of the result."""
        with self._errors():
            return list(self._session.execute(self._bind(cql, values)))

    def query_each_node(self, cql: str) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
        """Yield the address and the result of each connected node."""
        with self._errors():
            bound = self._bind(cql, ())
            for host in sorted((pool.host for pool in self._session.get_pools()), key=str):
                yield str(host.address), list(self._session.execute(bound, host=host))

    def query_whole(self, cql: str) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of the result, which the driver reads page by page."""
        with self._errors():
            yield from self._session.execute(self._bind(cql, ()))

    def query_all(self, cql: str, each: Sequence[Values]) -> list[tuple[Any, ...]]:
        """Return all rows of the results of *cql* for each of these values, with concurrent
        requests."""
        with self._errors():
            answers = execute_concurrent_with_args(
                self._session, self._prepare(cql), each, concurrency=IN_FLIGHT
            )
            return [row for answer in answers for row in answer.result_or_exc]

    def write(self, writes: Iterable[Write]) -> None:
        """Return once all *writes* are acknowledged. They run concurrently, in no order."""
        with self._errors(), concurrent_writes(self._session) as send:
            for (timestamp, _), rows in batches(self._parts(writes)):
                self._timestamp = timestamp
                send(statement(rows))

    def _parts(
        self, writes: Iterable[Write]
    ) -> Iterator[tuple[tuple[int, Nodes], Iterable[BoundStatement]]]:
        """Yield the rows of each partition key, with their timestamp and their replicas."""
        bound = ((one.timestamp, map(self._prepare(one.cql).bind, one.rows)) for one in writes)
        for timestamp, key, rows in by_partition_key(bound):
            nodes = self._cluster.metadata.get_replicas(self._keyspace, key)
            # Rows with unknown replicas do not share a batch.
            yield (timestamp, tuple(nodes) or key), rows

    def insert_if_absent(
        self, insert: str, rows: Sequence[Values], select: str, keys: Sequence[Values]
    ) -> list[dict[str, Any]]:
        """Run *insert*, which is IF NOT EXISTS, concurrently for each of *rows*. Return the rows
        that existed before, or {} for each row that was inserted.

        If an outcome is unknown, *select* reads it with the row's *keys*.
        """
        with self._errors():
            existing = self._insert_all(insert, rows)
            each = zip(existing, rows, keys, strict=True)
            return [
                self._resolve(insert, values, select, key) if found_row is None else found_row
                for found_row, values, key in each
            ]

    def _resolve(self, insert: str, values: Values, select: str, keys: Values) -> dict[str, Any]:
        for _ in range(MAX_ATTEMPTS):
            # The insert may have been applied, or may still be. A serial read completes it or rules
            # it out.
            if found := self._serial_read(select, keys):
                return found
            if (existing := self._try_insert(insert, values)) is not None:
                return existing
        return self._insert(insert, values)

    def update_if(self, update: str, values: Values) -> None:
        """Run the conditional *update*, for which the nodes decide whether it applies.

        If the outcome is unknown, the next `insert_if_absent` of the row completes it.
        """
        with self._errors():
            self._try_insert(update, values)

    def _try_insert(self, insert: str, values: Values) -> dict[str, Any] | None:
        """Return the result of `_insert`, or None if the outcome is unknown."""
        try:
            return self._insert(insert, values)
        except (DriverException, ErrorMessage) as error:
            if is_undecided(error):
                return None
            raise

    def _insert_all(self, insert: str, rows: Sequence[Values]) -> list[dict[str, Any] | None]:
        """Return the result of `_try_insert` for each of *rows*."""
        if len(rows) == 1:
            return [self._try_insert(insert, rows[0])]
        answers = execute_concurrent_with_args(
            self._session,
            self._prepare(insert),
            rows,
            concurrency=IN_FLIGHT,
            raise_on_first_error=False,
            execution_profile=CONDITIONAL,
        )
        for answer in answers:
            if not answer.success and not is_undecided(answer.result_or_exc):
                raise answer.result_or_exc
        return [_existing_row(one.result_or_exc) if one.success else None for one in answers]

    def _insert(self, insert: str, values: Values) -> dict[str, Any]:
        bound = self._bind(insert, values)
        return _existing_row(self._session.execute(bound, execution_profile=CONDITIONAL))

    def _serial_read(self, select: str, keys: Values) -> dict[str, Any]:
        bound = self._bind(select, keys)
        return dict(self._session.execute(bound, execution_profile=SERIAL_READ).one() or {})

    def change(self, cql: str) -> None:
        """Run a statement that creates or alters something, and wait until all nodes agree on the
        schema."""
        with self._errors():
            # All changes go to one node, which serialises them. Two nodes could each create the
            # same table.
            host = min((pool.host for pool in self._session.get_pools()), key=str)
            self._session.execute(cql, timeout=SCHEMA_TIMEOUT, host=host)

    def _prepare(self, cql: str) -> PreparedStatement:
        if cql not in self._prepared:
            self._prepared[cql] = self._session.prepare(cql)
        return self._prepared[cql]

    def _bind(self, cql: str, values: Values) -> BoundStatement:
        return self._prepare(cql).bind(values)


def _existing_row(answer: ResultSet) -> dict[str, Any]:
    """Return the row that existed before the conditional write with this *answer*, or {}."""
    found = dict(answer.one())
    return {} if found.pop("[applied]") else found


CONDITIONAL, SERIAL_READ = "conditional", "serial read"
"""Execution profiles besides the default: for conditional writes, and for reads of their
results."""


def credentials(settings: CassandraSettings) -> PlainTextAuthProvider | None:
    """Return the user and password of *settings*, or None without a user."""
    return (
        PlainTextAuthProvider(settings.username, settings.secret()) if settings.username else None
    )


def tls(settings: CassandraSettings) -> dict[str, Any]:
    """Return the TLS arguments of `Cluster`. Raise BadSettings if a file is unusable."""
    if not (settings.tls or settings.ca_file or settings.cert_file):
        return {}
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
        if settings.cert_file:
            context.load_cert_chain(settings.cert_file, settings.key_file)
    except (ssl.SSLError, OSError) as error:
        raise BadSettings(
            f"cassandra.ca_file, cert_file or key_file is invalid: {error}"
        ) from error
    # Clients connect to nodes by address, and certificates seldom contain addresses. A private
    # authority signs only our nodes, so no name is checked. A certificate of a public authority
    # must contain the name of the first host.
    context.check_hostname = settings.ca_file is None
    return {"ssl_context": context, "ssl_options": {"server_hostname": settings.hosts[0]}}


def profiles(settings: CassandraSettings) -> dict[Any, ExecutionProfile]:
    """Return the execution profile of each kind of request."""
    consistency = getattr(ConsistencyLevel, settings.consistency)
    everywhere = settings.consistency in ("QUORUM", "ALL")
    serial = ConsistencyLevel.SERIAL if everywhere else ConsistencyLevel.LOCAL_SERIAL

    def profile(level: int, retry: RetryPolicy, rows: Any) -> ExecutionProfile:
        return ExecutionProfile(
            load_balancing_policy=TokenAwarePolicy(DCAwareRoundRobinPolicy(settings.datacenter)),
            retry_policy=retry,
            consistency_level=level,
            serial_consistency_level=serial,
            request_timeout=settings.timeout,
            row_factory=rows,
        )

    return {
        EXEC_PROFILE_DEFAULT: profile(consistency, Retry(), tuple_factory),
        CONDITIONAL: profile(consistency, FallthroughRetryPolicy(), dict_factory),
        SERIAL_READ: profile(serial, Retry(), dict_factory),
    }


class Retry(RetryPolicy):  # type: ignore[misc]
    """Retries timed-out requests. Writes are idempotent, because a retry has the same timestamp."""

    def on_read_timeout(self, *args: Any, retry_num: int, **info: Any) -> tuple[int, None]:
        """Retry up to MAX_ATTEMPTS times."""
        return (self.RETRY if retry_num < MAX_ATTEMPTS else self.RETHROW), None

    on_write_timeout = on_read_timeout
