"""The store port: typed rows, each with a partition key and a sort key, as Cassandra likes them.

Writes are kept back and go out together when the log advances (`gossamer.log.Reader.advance`), so
that the log never says more than the store knows. What was put is seen by `get` and `scan` at
once. A row class says what its keys are:

    class HostRow(Row, frozen=True):
        table = "hosts"
        partition_key, sort_key = "site", "host"
        site: str
        host: str
"""

from typing import ClassVar, Protocol, TypeVar

from msgspec import Struct


class Row(Struct, frozen=True):
    """The base of every row. Columns are its fields; new ones need a default."""

    table: ClassVar[str]
    partition_key: ClassVar[str]
    sort_key: ClassVar[str] = ""
    """The field that orders a partition's rows; none where a partition is one row."""


R = TypeVar("R", bound=Row)
Sort = str | int


class Table(Protocol[R]):
    """All rows of one class."""

    def get(self, partition: str, sort: Sort = "") -> R | None:
        """Return the row, or None."""

    def put(self, row: R) -> None:
        """Write the row whole, over what is there."""

    def first(self, row: R) -> R:
        """Write *row* unless one with its keys is there; return the one that stands."""

    def scan(self, partition: str, after: Sort | None = None, limit: int = 1000) -> list[R]:
        """Return rows of *partition* in the order of their sort keys, beyond *after*."""

    def drop(self, partition: str) -> None:
        """Remove the whole partition."""


class Store(Protocol):
    """The tables of one service."""

    def table(self, row: type[R]) -> Table[R]:
        """Return the table of *row*, made where it is missing."""

    def flush(self) -> None:
        """Write out what was put and dropped, in order."""
