"""How nodes are reached: credentials, TLS, and by which rules requests go out and are repeated."""

import ssl
from typing import Any

from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, ExecutionProfile
from cassandra.policies import (
    DCAwareRoundRobinPolicy,
    FallthroughRetryPolicy,
    RetryPolicy,
    TokenAwarePolicy,
)
from cassandra.query import dict_factory, tuple_factory

from gossamer.errors import BadSettings
from gossamer.servers import CassandraSettings

FIRST, STANDING = "first", "standing"
"""Profiles beside the default: to decide between writers, and to see what was decided."""
TRIES = 3


def credentials(settings: CassandraSettings) -> PlainTextAuthProvider | None:
    """Return what the nodes are told of us."""
    return (
        PlainTextAuthProvider(settings.username, settings.secret()) if settings.username else None
    )


def tls(settings: CassandraSettings) -> dict[str, Any]:
    """Return what `Cluster` takes for it."""
    if not (settings.tls or settings.ca_file or settings.cert_file):
        return {}
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
        if settings.cert_file:
            context.load_cert_chain(settings.cert_file, settings.key_file)
    except (ssl.SSLError, OSError) as error:
        raise BadSettings(
            f"cassandra.ca_file, cert_file or key_file is not what it should be: {error}"
        ) from error
    # Nodes are met by their addresses, which certificates seldom name. An authority of one's own
    # signs for nobody else; one that signs for everybody must name the first host.
    context.check_hostname = settings.ca_file is None
    return {"ssl_context": context, "ssl_options": {"server_hostname": settings.hosts[0]}}


def profiles(settings: CassandraSettings) -> dict[Any, ExecutionProfile]:
    """Return how each kind of request is made."""
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
        EXEC_PROFILE_DEFAULT: profile(consistency, Repeat(), tuple_factory),
        FIRST: profile(consistency, FallthroughRetryPolicy(), dict_factory),
        STANDING: profile(serial, Repeat(), dict_factory),
    }


class Repeat(RetryPolicy):  # type: ignore[misc]
    """Repeats what was not done in time, writes too: under their time they are the same writes."""

    def on_read_timeout(self, *args: Any, retry_num: int, **info: Any) -> tuple[int, None]:
        """Decide by how often it was repeated."""
        return (self.RETRY if retry_num < TRIES else self.RETHROW), None

    def on_write_timeout(self, *args: Any, retry_num: int, **info: Any) -> tuple[int, None]:
        """Decide by how often it was repeated."""
        return (self.RETRY if retry_num < TRIES else self.RETHROW), None
