"""Errors of nodes: the driver's exceptions as ours, and retries while a node is unavailable.

A failed request ends the work of a process: log and store are reopened, and all partitions are
claimed and loaded again. `RetryBudget` therefore bridges short outages, for all requests. Every
request may be repeated without a further effect: a write has our timestamp, and a conditional write
returns the stored row, which may be its own.
"""

import logging
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import structlog
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

from gossamer import clock
from gossamer.errors import GossamerError, Unavailable, retry_waits
from gossamer.settings.servers import CassandraSettings

# Errors are raised, and callers log them. The driver would also log each of them with a traceback,
# for every attempt to reach a node that is down.
logging.getLogger("cassandra").setLevel(logging.CRITICAL)
UNREACHABLE_ERRORS = (NoHostAvailable, UnresolvableContactPoints, ConnectionException)
TEMPORARY_ERRORS = (
    OperationTimedOut,
    Timeout,
    TooFewReplicas,
    ServerError,
    OverloadedErrorMessage,
    IsBootstrappingErrorMessage,
)
CAS_UNKNOWN = 0x1700
"""The error code for a conditional write that another conditional write interrupted. It may still
be applied."""
logger = structlog.get_logger()
MAX_RETRY_SECONDS = 5.0
"""Maximum total seconds of failed requests and their waits between two flushes. A loop that waits
longer does not poll, and its group considers it crashed."""
T = TypeVar("T")


@contextmanager
def translate_errors(where: str, settings: CassandraSettings) -> Iterator[None]:
    """Raise GossamerError for an error of the driver, and Unavailable if a retry may help."""
    try:
        yield
    except (DriverException, ErrorMessage, *UNREACHABLE_ERRORS) as error:
        # The driver maps only some error responses of nodes to a DriverException.
        raise _translate(error, where, settings) from error


def is_handshake_failure(error: NoHostAvailable) -> bool:
    """Return whether a connection was closed during its setup, and another attempt may succeed.

    In rare cases the driver loses its position in the node's stream ("CRC mismatch", the driver's
    issue PYTHON-1337).
    """
    return any(isinstance(cause, ConnectionShutdown) for cause in _by_node(error))


def is_undecided(error: Exception) -> bool:
    """Return whether a conditional write may have been applied, or may still be."""
    if isinstance(error, ErrorMessage):
        return bool(error.code == CAS_UNKNOWN)
    return isinstance(error, Timeout | OperationTimedOut)


def is_temporary(error: Exception) -> bool:
    """Return whether nodes that answered with *error* may accept the request later."""
    return isinstance(error, TEMPORARY_ERRORS) or is_undecided(error)


def _translate(error: Exception, where: str, settings: CassandraSettings) -> GossamerError:
    causes = [error, *_by_node(error)]
    text = _one_line(causes[-1])
    if any(isinstance(cause, AuthenticationFailed) for cause in causes):
        user = f"user {settings.username!r}" if settings.username else "a client without a username"
        return GossamerError(
            f"{where} refuses {user}: check cassandra.username and password ({text})"
        )
    if any(isinstance(cause, ssl.SSLError) or "[SSL" in str(cause) for cause in causes):
        # The driver replaces the SSLError by its own error, and keeps only the text.
        return GossamerError(
            f"{where}: TLS failed: check cassandra.tls, ca_file and cert_file ({text})"
        )
    if isinstance(error, UNREACHABLE_ERRORS):
        return Unavailable(
            f"{where} does not answer ({text}): check that it is running, and cassandra.tls"
        )
    if is_temporary(error):
        return Unavailable(
            f"{where} timed out or is overloaded, or too few of its nodes are up for consistency "
            f"{settings.consistency} ({text})"
        )
    if isinstance(error, Unauthorized):
        return GossamerError(
            f"{where}: user {settings.username!r} lacks a permission: grant it on keyspace "
            f"{settings.keyspace} ({text})"
        )
    return GossamerError(f"{where} refused the request: {text}")


def _by_node(error: Exception) -> list[Exception]:
    errors = getattr(error, "errors", None)
    found = errors.values() if isinstance(errors, dict) else ()
    return [cause for cause in found if isinstance(cause, Exception)]


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]


class RetryBudget:
    """The remaining time for failed requests, until it is renewed."""

    def __init__(self) -> None:
        self._left = MAX_RETRY_SECONDS

    def renew(self) -> None:
        """Reset the remaining time."""
        self._left = MAX_RETRY_SECONDS

    def ask(self, request: Callable[[], T]) -> T:
        """Return the result of *request*, which may be made several times.

        Raise Unavailable if it fails and the remaining time does not suffice for another attempt.
        """
        waits = retry_waits()
        while True:
            began = clock.steady()
            try:
                return request()
            except Unavailable as error:
                wait = next(waits)
                self._left -= clock.steady() - began + wait
                if self._left < 0:
                    raise
                logger.warning(
                    "store unavailable: repeating the request", reason=str(error), seconds=wait
                )
                clock.pause(wait)
