"""The driver's failures in words that tell a person what to do, named by their fate."""

import logging
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from cassandra import (
    AuthenticationFailed,
    DriverException,
    OperationTimedOut,
    Timeout,
    Unauthorized,
    Unavailable,
    UnresolvableContactPoints,
)
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionException

from gossamer.errors import Absent, GossamerError
from gossamer.servers import CassandraSettings

# What goes wrong is raised, and said by whoever knows what it means. The driver says all of it
# besides, with tracebacks, once for every try to reach a node that is down.
logging.getLogger("cassandra").setLevel(logging.CRITICAL)

AWAY = (NoHostAvailable, UnresolvableContactPoints, ConnectionException)
LATE = (OperationTimedOut, Timeout, Unavailable)


@contextmanager
def translated(where: str, settings: CassandraSettings) -> Iterator[None]:
    """Raise GossamerError, Absent if waiting may help, for what goes wrong with *where*."""
    try:
        yield
    except (DriverException, *AWAY) as error:
        raise _translation(error, where, settings) from error


def _translation(error: Exception, where: str, settings: CassandraSettings) -> GossamerError:
    causes = [error, *_by_node(error)]
    said = _said(causes[-1])
    if any(isinstance(cause, AuthenticationFailed) for cause in causes):
        who = f"user {settings.username!r}" if settings.username else "a client without a name"
        return GossamerError(
            f"{where} does not let {who} in: see cassandra.username and password ({said})"
        )
    if any(isinstance(cause, ssl.SSLError) or "[SSL" in str(cause) for cause in causes):
        # The driver puts its own error in the place of the one it met, and keeps only the text.
        return GossamerError(
            f"{where} and this client agree on no TLS: see cassandra.tls, ca_file and cert_file "
            f"({said})"
        )
    if isinstance(error, AWAY):
        return Absent(
            f"{where} does not answer ({said}): see that it runs, and whether cassandra.tls is "
            "as it wants it"
        )
    if isinstance(error, LATE):
        return Absent(
            f"{where} was too slow, or too few of its nodes are up for consistency "
            f"{settings.consistency} ({said})"
        )
    if isinstance(error, Unauthorized):
        return GossamerError(
            f"{where}: user {settings.username!r} may not do this; grant it what it needs on "
            f"keyspace {settings.keyspace} ({said})"
        )
    return GossamerError(f"{where} refuses: {said}")


def _by_node(error: Exception) -> list[Exception]:
    errors = getattr(error, "errors", None)
    found = errors.values() if isinstance(errors, dict) else ()
    return [cause for cause in found if isinstance(cause, Exception)]


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:500]
