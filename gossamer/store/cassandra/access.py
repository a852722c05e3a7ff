"""How nodes are reached: credentials, TLS, consistency levels, and the retry policy."""

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
from gossamer.settings.servers import CassandraSettings

CONDITIONAL, SERIAL_READ = "conditional", "serial read"
"""Execution profiles besides the default: for conditional writes, and for reads of their
results."""
MAX_ATTEMPTS = 3


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

    def on_write_timeout(self, *args: Any, retry_num: int, **info: Any) -> tuple[int, None]:
        """Retry up to MAX_ATTEMPTS times."""
        return (self.RETRY if retry_num < MAX_ATTEMPTS else self.RETHROW), None
