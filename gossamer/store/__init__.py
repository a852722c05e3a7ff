"""The store port: typed rows, each with a partition key and a sort key, as in Cassandra.

Writes are buffered, and flushed when the log advances (`gossamer.log.Reader.advance`): the store
never lags behind the log. Reads see buffered writes at once. A row class names its keys:

    class HostRow(Row, frozen=True):
        table = "hosts"
        partition_key, sort_key = "site", "host"
        site: str
        host: str
        lease: Lease = Lease()

A partition key may have several fields. Its value is then a tuple, in a call as well:

    class UrlRow(Row, frozen=True):
        table = "urls"
        partition_key, sort_key = ("crawl", "host"), "url"

    urls.get((crawl, host), url)

A field whose type is a `ColumnGroup` is stored as the columns `<field>_<column>`, one for each
field of the group: `lease_order` for the `order` of a `Lease`. Where `X | None` has the default
None, and X is a number, a text, bytes or an enumeration of texts, None is stored as null.

Processes of two versions use a table at once during an upgrade. What an older one writes leaves the
columns that it does not know as they are: null, or what a newer one wrote before. What it cannot
read (a word that its enumeration lacks) raises Newer.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    # A command that reads a folder has none, and starts without the library behind them.
    from gossamer.settings import Settings


class ColumnGroup(Struct, frozen=True, gc=False):
    """The base of a group of columns, which a row has under one field, with a default.

    A group has no group in it and is never None. The keys of a row are not in a group.
    """


class Row(Struct, frozen=True, gc=False):
    """The base of every row. Its fields are the columns; a new one needs a default.

    What is frozen is in no circle: the garbage collector need not look at the many that are kept.
    """

    table: ClassVar[str]
    partition_key: ClassVar[str | tuple[str, ...]]
    """The field, or the several fields, whose values rows of one partition share; none is empty."""
    sort_key: ClassVar[str] = ""
    """The field that orders the rows of a partition; "" where a partition is one row."""
    newest_first: ClassVar[bool] = False
    """Whether a partition's rows are in descending order."""
    decides: ClassVar[bool] = False
    """Whether rows of this class make others valid: they are written after all that do not."""
    holder: ClassVar[tuple[str, ...]] = ()
    """The fields that say whose a row is, and under which lease, where rows are taken over
    (`Table.replace`)."""
    buckets: ClassVar[int] = 1
    """In how many partitions Cassandra keeps what is one here, by a hash of the sort key: for those
    that may grow large. A scan reads all of them."""
    kept_for: ClassVar[str] = ""
    """The setting, `section.name`, with the seconds after which a row goes by itself; "": it stays.
    Cassandra counts them from the write, SQLite from the time in the field `aged_by`."""
    aged_by: ClassVar[str] = ""
    """The field with the time, in epoch seconds, at which a row was last of use."""


def holder_of(row: Row) -> tuple[object, ...]:
    """Return whose *row* is, and under which lease: what `Table.replace` compares."""
    return tuple(getattr(row, name) for name in row.holder)


def lifetime_of(row: type[Row], settings: "Settings") -> float:
    """Return for how many seconds *settings* keep a row of this class; 0: for ever."""
    section, _, name = row.kept_for.partition(".")
    return float(getattr(getattr(settings, section), name)) if name else 0.0


def partition_fields(row: type[Row]) -> tuple[str, ...]:
    """Return the fields of the partition key."""
    key = row.partition_key
    return (key,) if isinstance(key, str) else key


R = TypeVar("R", bound=Row)
Partition = str | tuple[str, ...]
"""The value of a partition key: a tuple where the key has several fields."""
Sort = str | int | float | bytes


def partition_values(key: Partition) -> tuple[str, ...]:
    """Return the values of the fields of a partition key."""
    return key if type(key) is tuple else (key,)  # type: ignore[return-value]


class Table(Protocol[R]):
    """All rows of one class."""

    def get(self, partition: Partition, sort: Sort = "") -> R | None:
        """Return the row, or None."""

    def put(self, row: R, last: bool = False) -> None:
        """Write the whole row, replacing one with its keys; *last*: flush it with the drops."""

    def get_many(self, partition: Partition, sorts: Sequence[Sort]) -> list[R]:
        """Return the rows of *partition* with these sort keys that exist, in any order."""

    def get_all(self, keys: Sequence[tuple[Partition, Sort]]) -> list[R]:
        """Return the rows with these partition and sort keys that exist, in any order.

        Many are read at a time.
        """

    def read_ahead(self, keys: Iterable[tuple[Partition, Sort]]) -> None:
        """Read the rows with these partition and sort keys, where that is cheaper together.

        `get`, `get_many` and `get_all` then answer from memory until the next flush, also that a
        row does not exist.
        """

    def put_if_absent(self, row: R) -> R:
        """Write *row* unless one with its keys exists; return the row that is there then.

        Where several processes write, this is decided at once and not at the flush.
        """

    def put_all_if_absent(self, rows: Sequence[R]) -> list[R]:
        """Do what `put_if_absent` does with each of *rows*, no two of one key, at once."""

    def replace(self, row: R, old: R) -> None:
        """Write *row* if the row with its keys still has *old*'s `holder` fields.

        It is decided as `put_if_absent` is, which says what came of it if it is asked next.
        """

    def scan(self, partition: Partition, after: Sort | None = None, limit: int = 1000) -> list[R]:
        """Return at most *limit* rows of *partition* in the order of their keys, beyond *after*."""

    def scan_all(
        self, partitions: Sequence[Partition], after: Sort | None = None, limit: int = 1000
    ) -> list[R]:
        """Return what `scan` returns of each of *partitions*. Many are read at a time."""

    def drop(self, partition: Partition) -> None:
        """Remove the whole partition."""

    def erase(self, partition: Partition, sort: Sort = "") -> None:
        """Remove one row, if it exists.

        It is flushed with the drops. Cassandra pays for it at later reads of the partition: this
        is for what somebody asks to be erased, not for what is done with.
        """

    def everything(self) -> Iterator[R]:
        """Yield all rows that were flushed, in any order: for tools, since it reads all of it."""


class Store(Protocol):
    """The tables of one service."""

    def table(self, row: type[R]) -> Table[R]:
        """Return the table of *row*; a store that owns its tables creates a missing one."""

    def flush(self) -> None:
        """Write what was put, dropped and erased.

        In one transaction, or else in this order: rows of classes that do not decide, rows of
        those that do, then drops and rows put *last*. A crash in between leaves the old decision.
        """

    def discard(self) -> None:
        """Forget what was put and dropped since the last flush, as a crash would."""

    def write(self, rows: Sequence[Row], timestamp: int) -> None:
        """Write *rows* at once, beside what was put.

        Where several processes write, that is with *timestamp*, in microseconds since 1970: of two
        writes of a row the one with the larger timestamp stands.
        """

    def stamp(self, first: int, end: int) -> None:
        """Stamp what is flushed with timestamps from *first* on, in microseconds, below *end*.

        They follow the clock inside these limits. A write with a smaller timestamp never replaces
        one with a larger one, however late it arrives.
        """

    def guard(self, check: Callable[[], None]) -> None:
        """Call *check* before each flush, and after each that writes.

        It raises if this process is not the owner any more: then nothing follows from what was
        read, and what was written may be void.
        """
