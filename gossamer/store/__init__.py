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

from collections.abc import Sequence
from typing import ClassVar, Protocol, TypeVar

from msgspec import Struct


class Row(Struct, frozen=True):
    """The base of every row. Columns are its fields; new ones need a default."""

    table: ClassVar[str]
    partition_key: ClassVar[str]
    """The field that says which rows lie together; never empty."""
    sort_key: ClassVar[str] = ""
    """The field that orders a partition's rows; none where a partition is one row."""
    newest_first: ClassVar[bool] = False
    """Whether a partition's rows are in descending order."""
    decides: ClassVar[bool] = False
    """Whether other rows mean nothing until this one says so: it is written after them."""


R = TypeVar("R", bound=Row)
Sort = str | int | float


class Table(Protocol[R]):
    """All rows of one class."""

    def get(self, partition: str, sort: Sort = "") -> R | None:
        """Return the row, or None."""

    def put(self, row: R, last: bool = False) -> None:
        """Write the row whole, over what is there; *last*: with the drops (see `Store.flush`)."""

    def some(self, partition: str, sorts: Sequence[Sort]) -> list[R]:
        """Return those rows of *partition* that are there, in any order, in one read."""

    def first(self, row: R) -> R:
        """Write *row* unless one with its keys is there; return the one that stands.

        Where others write too, it is decided at once, and not with the flush.
        """

    def scan(self, partition: str, after: Sort | None = None, limit: int = 1000) -> list[R]:
        """Return rows of *partition* in the order of their sort keys, beyond *after*."""

    def drop(self, partition: str) -> None:
        """Remove the whole partition."""


class Store(Protocol):
    """The tables of one service."""

    def table(self, row: type[R]) -> Table[R]:
        """Return the table of *row*, made where it is missing."""

    def flush(self) -> None:
        """Write out what was put and dropped.

        Where that is not one transaction: first the rows of classes that do not decide, then those
        that do, then what is dropped or put *last*. Whoever dies in between leaves the old decision
        standing.
        """

    def claim(self, epoch: int) -> None:
        """From now on write as the owner of *epoch*: what somebody writes under a smaller one does
        not replace it, however late that comes. An epoch is the time of its claim in microseconds.
        """
