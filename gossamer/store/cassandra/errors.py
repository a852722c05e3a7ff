"""Translates the driver's exceptions into ours, whose messages say what to do."""

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
    UnresolvableContactPoints,
)
from cassandra import Unavailable as TooFewReplicas
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionException, ConnectionShutdown
from cassandra.protocol import (
    ErrorMessage,
    IsBootstrappingErrorMessage,
    OverloadedErrorMessage,
    ServerError,
)

from gossamer.errors import GossamerError, Unavailable
from gossamer.settings.servers import CassandraSettings

# Errors are raised, and logged by whoever knows what they mean. The driver also logs all of them,
# with tracebacks, once for every try to reach a node that is down.
logging.getLogger("cassandra").setLevel(logging.CRITICAL)

UNREACHABLE = (NoHostAvailable, UnresolvableContactPoints, ConnectionException)
TOO_SLOW = (
    OperationTimedOut,
    Timeout,
    TooFewReplicas,
    ServerError,
    OverloadedErrorMessage,
    IsBootstrappingErrorMessage,
)
CAS_UNKNOWN = 0x1700
"""A node's word for a conditional write that another one interrupted: it may be applied yet."""


@contextmanager
def translate_errors(where: str, settings: CassandraSettings) -> Iterator[None]:
    """Raise GossamerError for an error of the driver; Unavailable if a retry may help."""
    try:
        yield
    except (DriverException, ErrorMessage, *UNREACHABLE) as error:
        # What nodes answer is no DriverException unless the driver knows it well.
        raise _translate(error, where, settings) from error


def is_broken_off(error: NoHostAvailable) -> bool:
    """Return whether a connection broke while it was made: the driver loses its place in what a
    node sends, rarely ("CRC mismatch", its issue PYTHON-1337).
    """
    return any(isinstance(cause, ConnectionShutdown) for cause in _by_node(error))


def is_undecided(error: Exception) -> bool:
    """Return whether a conditional write may have been applied, or may be yet."""
    if isinstance(error, ErrorMessage):
        return bool(error.code == CAS_UNKNOWN)
    return isinstance(error, Timeout | OperationTimedOut)


def is_temporary(error: Exception) -> bool:
    """Return whether nodes that answered with *error* may accept the request later."""
    return isinstance(error, TOO_SLOW) or is_undecided(error)


def _translate(error: Exception, where: str, settings: CassandraSettings) -> GossamerError:
    causes = [error, *_by_node(error)]
    text = _one_line(causes[-1])
    if any(isinstance(cause, AuthenticationFailed) for cause in causes):
        who = f"user {settings.username!r}" if settings.username else "a client without a name"
        return GossamerError(
            f"{where} does not let {who} in: see cassandra.username and password ({text})"
        )
    if any(isinstance(cause, ssl.SSLError) or "[SSL" in str(cause) for cause in causes):
        # The driver replaces the SSLError by one of its own, and keeps only the text.
        return GossamerError(
            f"{where} and this client agree on no TLS: see cassandra.tls, ca_file and cert_file "
            f"({text})"
        )
    if isinstance(error, UNREACHABLE):
        return Unavailable(
            f"{where} does not answer ({text}): see that it runs, and whether cassandra.tls is "
            "as it wants it"
        )
    if is_temporary(error):
        return Unavailable(
            f"{where} was too slow or overloaded, or too few of its nodes are up for consistency "
            f"{settings.consistency} ({text})"
        )
    if isinstance(error, Unauthorized):
        return GossamerError(
            f"{where}: user {settings.username!r} may not do this; grant it what it needs on "
            f"keyspace {settings.keyspace} ({text})"
        )
    return GossamerError(f"{where} refuses: {text}")


def _by_node(error: Exception) -> list[Exception]:
    errors = getattr(error, "errors", None)
    found = errors.values() if isinstance(errors, dict) else ()
    return [cause for cause in found if isinstance(cause, Exception)]


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]
