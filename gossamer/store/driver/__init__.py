"""One session with Cassandra's nodes: what the store asks of the driver, and no more of it.

Every statement is prepared once and may be sent again: rows are written whole, under a time that
the caller names, so that a repetition changes nothing. What decides between writers
(:meth:`Cassandra.first`) the driver never repeats: it is asked what came of it.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from cassandra import OperationTimedOut, Timeout
from cassandra.cluster import Cluster, Session
from cassandra.policies import ExponentialReconnectionPolicy
from cassandra.query import BoundStatement, PreparedStatement

from gossamer.errors import Absent, BadSettings, GossamerError
from gossamer.servers import CassandraSettings
from gossamer.store.driver.access import FIRST, STANDING, TRIES, credentials, profiles, tls
from gossamer.store.driver.flight import Connection, batches, flight
from gossamer.store.driver.trouble import translated

PROTOCOL = 5
"""Cassandra 4 and later. Named, so that the driver need not try others and warn of each."""
AGREEMENT = 60.0
"""Seconds for all nodes to learn of a new table."""

Values = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Write:
    """Rows of one partition, or what removes it: a statement, its values, when it is to count."""

    stamp: int
    """Microseconds since 1970; of two writes to a cell, the larger one stands."""
    cql: str
    rows: Iterable[Values]


class Cassandra:
    """A session with the nodes that *settings* name."""

    def __init__(self, settings: CassandraSettings) -> None:
        if not settings.hosts:
            raise BadSettings("cassandra.hosts is empty: name at least one node")
        self.where = f"Cassandra at {', '.join(settings.hosts)}, port {settings.port}"
        self._translated = partial(translated, self.where, settings)
        self._stamp = 1
        self._prepared: dict[str, PreparedStatement] = {}
        self._cluster = self._described(settings)
        self._session = self._connected(settings)

    def _described(self, settings: CassandraSettings) -> Cluster:
        # The driver asks for the time of every write while it is being sent.
        with self._translated():
            return Cluster(
                settings.hosts,
                settings.port,
                connection_class=Connection,
                protocol_version=PROTOCOL,
                auth_provider=credentials(settings),
                **tls(settings),
                execution_profiles=profiles(settings),
                timestamp_generator=lambda: self._stamp,
                reconnection_policy=ExponentialReconnectionPolicy(0.5, 5.0),
                connect_timeout=settings.timeout,
                control_connection_timeout=settings.timeout,
                max_schema_agreement_wait=AGREEMENT,
            )

    def _connected(self, settings: CassandraSettings) -> Session:
        try:
            with self._translated():
                return self._cluster.connect()
        except BaseException as error:
            known = {host.datacenter for host in self._cluster.metadata.all_hosts()} - {None}
            self.close()
            if isinstance(error, Absent) and known and settings.datacenter not in known:
                raise GossamerError(
                    f"{self.where}: there is no data centre {settings.datacenter!r}, but "
                    f"{', '.join(sorted(known))}: name that in cassandra.datacenter"
                ) from None
            raise

    def close(self) -> None:
        """Leave."""
        self._cluster.shutdown()

    def ask(self, cql: str, values: Values = ()) -> list[tuple[Any, ...]]:
        """Return all rows of the answer."""
        with self._translated():
            return list(self._session.execute(self._bound(cql, values)))

    def write(self, writes: Iterable[Write]) -> None:
        """Return once all *writes* are acknowledged. They go out together, in no order."""
        with self._translated(), flight(self._session) as send:
            for write in writes:
                prepared = self._prepare(write.cql)
                for batch in batches(prepared.bind(row) for row in write.rows):
                    self._stamp = write.stamp
                    send(batch)

    def first(self, insert: str, values: Values, standing: str, keys: Values) -> dict[str, Any]:
        """Run *insert*, which is IF NOT EXISTS; return the row that stood before, {} if none did.

        When nobody says what came of it, *standing* finds by its *keys* what stands.
        """
        with self._translated():
            for _ in range(TRIES):
                with suppress(Timeout, OperationTimedOut):
                    return self._decided(insert, values)
                # It may stand, or come to stand yet: reading where it was decided ends that.
                if found := self._standing(standing, keys):
                    return found
            return self._decided(insert, values)

    def _decided(self, insert: str, values: Values) -> dict[str, Any]:
        bound = self._bound(insert, values)
        found = dict(self._session.execute(bound, execution_profile=FIRST).one())
        return {} if found.pop("[applied]") else found

    def _standing(self, standing: str, keys: Values) -> dict[str, Any]:
        bound = self._bound(standing, keys)
        return dict(self._session.execute(bound, execution_profile=STANDING).one() or {})

    def change(self, cql: str) -> None:
        """Make or alter a table, and wait until all nodes know of it."""
        with self._translated():
            # Of changes made at once, one node sees the order; two nodes may each see another.
            host = min((pool.host for pool in self._session.get_pools()), key=str)
            self._session.execute(cql, timeout=AGREEMENT, host=host)

    def _prepare(self, cql: str) -> PreparedStatement:
        if cql not in self._prepared:
            self._prepared[cql] = self._session.prepare(cql)
        return self._prepared[cql]

    def _bound(self, cql: str, values: Values) -> BoundStatement:
        return self._prepare(cql).bind(values)
