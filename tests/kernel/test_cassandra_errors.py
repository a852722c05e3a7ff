"""Errors of a node: temporary or permanent, and undecided writes."""

import pytest
from cassandra import DriverException, OperationTimedOut
from cassandra.protocol import ErrorMessage, OverloadedErrorMessage

from gossamer.errors import GossamerError, Unavailable
from gossamer.settings.servers import CassandraSettings
from gossamer.store.cassandra.errors import is_undecided, translate_errors

INTERRUPTED = ErrorMessage(0x1700, "CAS operation result is unknown", None)
OVERLOADED = OverloadedErrorMessage(0x1001, "overloaded", None)
INVALID = ErrorMessage(0x2200, "invalid query", None)


@pytest.mark.parametrize("error", [INTERRUPTED, OVERLOADED, OperationTimedOut()])
def test_temporary_error_is_unavailable(error: Exception) -> None:
    with pytest.raises(Unavailable), translate_errors("Cassandra", CassandraSettings()):
        raise error


def test_permanent_error_is_not_unavailable() -> None:
    with pytest.raises(GossamerError) as raised, translate_errors("Cassandra", CassandraSettings()):
        raise INVALID
    assert not isinstance(raised.value, Unavailable)


@pytest.mark.parametrize(
    ("error", "undecided"),
    [
        (INTERRUPTED, True),
        (OperationTimedOut(), True),
        (OVERLOADED, False),
        (INVALID, False),
        (DriverException(), False),
    ],
)
def test_conditional_write_may_be_undecided(error: Exception, undecided: bool) -> None:
    assert is_undecided(error) is undecided
