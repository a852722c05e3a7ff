"""The store port: typed rows, each with a partition key and a sort key, as in Cassandra.

Writes are buffered, and flushed when the log advances (`gossamer.log.Reader.advance`), so the store
never lags behind the log. Reads include buffered writes. A row class names its keys:

    class HostRow(Row, frozen=True):
        table = "hosts"
        partition_key, sort_key = "site", "host"
        site: Site
        host: str
        lease: Lease = Lease()

A partition key may have several fields. Its value is then a tuple, in calls as well:

    class UrlRow(Row, frozen=True):
        table = "urls"
        partition_key, sort_key = ("crawl", "host"), "url"

    urls.get((crawl, host), url)

A field whose type is a `ColumnGroup` is stored as the columns `<field>_<column>`, one for each
field of the group: `lease_order` for the `order` of a `Lease`. If the type is `X | None` with the
default None, and X is a number, a text, bytes or an enumeration of texts, None is stored as null.

Processes of two versions use a table at the same time during an upgrade. A write by the older
version leaves columns that it does not know unchanged: null, or the value written by the newer
version. A value that it cannot read, such as an unknown member of an enumeration, raises Newer.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    # Commands that only read a folder start without loading pydantic.
    from gossamer.settings import Settings


class ColumnGroup(Struct, frozen=True, gc=False):
    """The base of a group of columns, which a row contains as one field with a default.

    A group contains no other group and is never None. The keys of a row are not in a group.
    """


class Row(Struct, frozen=True, gc=False):
    """The base of every row. Its fields are the columns. A new field needs a default.

    Frozen rows cannot form reference cycles, so `gc=False` spares the garbage collector many rows.
    """

    table: ClassVar[str]
    partition_key: ClassVar[str | tuple[str, ...]]
    """The field, or the several fields, that rows of one partition share. Their values are not
    empty."""
    sort_key: ClassVar[str] = ""
    """The field that orders the rows of a partition. "" means that a partition has one row."""
    newest_first: ClassVar[bool] = False
    """Whether a partition's rows are in descending order."""
    decides: ClassVar[bool] = False
    """Whether rows of this class make other rows valid. They are written after rows of other
    classes."""
    holder: ClassVar[tuple[str, ...]] = ()
    """The fields with the owner of a row and its lease, for rows that can be taken over
    (`Table.replace`)."""
    buckets: ClassVar[int] = 1
    """Number of Cassandra partitions for one partition of large tables, by a hash of the sort key.
    A scan reads all of them."""
    kept_for: ClassVar[str] = ""
    """The setting, `section.name`, with the retention of rows in seconds. "" means no expiry.
    Cassandra counts from the write, SQLite from the time in the field `aged_by`."""
    aged_by: ClassVar[str] = ""
    """The field with the epoch seconds from which SQLite counts the retention."""
    about: ClassVar[tuple[str, ...]]
    """The fields that name the URL, host or site which the row is about, or each entry of a list or
    a mapping. An erasure removes the row, or these entries. Other fields may name the page that
    links to a URL, for example, and stay."""

    def without(self, is_erased: Callable[[str], bool]) -> Self | None:
        """Return the row without its erased entries: the same row if it has none, None if the row
        itself is about an erased URL, host or site."""
        left = dict[str, Any]()
        for name in self.about:
            value = getattr(self, name)
            if isinstance(value, str):
                if is_erased(value):
                    return None
            elif value:
                entries = value.items() if isinstance(value, dict) else value
                kept = [one for one in entries if not any(map(is_erased, _names_in(one)))]
                if len(kept) < len(value):
                    left[name] = type(value)(kept)
        return replace(self, **left) if left else self


def _names_in(entry: Any) -> list[str]:
    """Return the texts that an entry of a list or a mapping may be about."""
    names = entry if isinstance(entry, tuple) else (getattr(entry, "url", entry),)
    return [name for name in names if isinstance(name, str)]


def holder_of(row: Row) -> tuple[object, ...]:
    """Return the owner of *row* and its lease, which `Table.replace` compares."""
    return tuple(getattr(row, name) for name in row.holder)


def lifetime_of(row: type[Row], settings: "Settings") -> float:
    """Return the retention of rows of this class under *settings*, in seconds, or 0 for no
    expiry."""
    section, _, name = row.kept_for.partition(".")
    return float(getattr(getattr(settings, section), name)) if name else 0.0


def partition_fields(row: type[Row]) -> tuple[str, ...]:
    """Return the fields of the partition key."""
    key = row.partition_key
    return (key,) if isinstance(key, str) else key


R = TypeVar("R", bound=Row)
Partition = str | tuple[str, ...]
"""The value of a partition key: a tuple if the key has several fields."""
Sort = str | int | float | bytes


def keys_of(row: Row) -> tuple[Partition, Sort]:
    """Return the partition key and the sort key of *row*; the latter is "" if it has none."""
    partition: Partition = attrgetter(*partition_fields(type(row)))(row)
    return partition, getattr(row, row.sort_key) if row.sort_key else ""


def partition_values(key: Partition) -> tuple[str, ...]:
    """Return the values of the fields of a partition key."""
    return key if type(key) is tuple else (key,)  # type: ignore[return-value]


class Table(Protocol[R]):
    """All rows of one class."""

    def get(self, partition: Partition, sort: Sort = "") -> R | None:
        """Return the row, or None."""

    def put(self, row: R, last: bool = False) -> None:
        """Write the whole row over a row with its keys. *last*: flush it after the
        drops."""

    def get_many(self, partition: Partition, sorts: Sequence[Sort]) -> list[R]:
        """Return the existing rows of *partition* with these sort keys, in any order."""

    def get_all(self, keys: Sequence[tuple[Partition, Sort]]) -> list[R]:
        """Return the existing rows with these partition and sort keys, in any order.

        Many rows are read concurrently.
        """

    def read_ahead(self, keys: Iterable[tuple[Partition, Sort]]) -> None:
        """Read the rows with these partition and sort keys, if reading them together is cheaper.

        `get`, `get_many` and `get_all` then answer from memory until the next flush, also for rows
        that do not exist.
        """

    def put_if_absent(self, row: R) -> R:
        """Write *row* unless a row with its keys exists. Return the row that is stored then.

        If several processes write, this is decided at once and not at the flush.
        """

    def put_all_if_absent(self, rows: Sequence[R]) -> list[R]:
        """Apply `put_if_absent` to each of *rows* concurrently. No two of them may have equal
        keys."""

    def replace(self, row: R, old: R) -> None:
        """Write *row* if the stored row with its keys has the `holder` fields of *old*.

        This is decided at once, as by `put_if_absent`. The caller is not told whether *row* was
        written. A later `put_if_absent` returns the row that is stored.
        """

    def scan(self, partition: Partition, after: Sort | None = None, limit: int = 1000) -> list[R]:
        """Return at most *limit* rows of *partition* in the order of their keys, beyond *after*."""

    def scan_all(
        self, partitions: Sequence[Partition], after: Sort | None = None, limit: int = 1000
    ) -> list[R]:
        """Return the results of `scan` for each of *partitions*, many of which are read
        concurrently."""

    def scan_ahead(self, partitions: Iterable[Partition], limit: int = 1000) -> None:
        """Read the first *limit* rows of each of *partitions*, if reading them together is cheaper.

        `scan` and `scan_all` then answer from memory until the next flush, as far as these rows
        suffice.
        """

    def drop(self, partition: Partition) -> None:
        """Remove the whole partition."""

    def erase(self, partition: Partition, sort: Sort = "") -> None:
        """Remove one row, if it exists.

        It is flushed after the drops, and before rows that are put last. On Cassandra it slows down
        later reads of the partition. It is therefore for erasures on request and not for rows that
        are no longer needed.
        """

    def everything(self) -> Iterator[R]:
        """Yield all flushed rows in any order, while others may write. It reads the whole table, so
        only tools and the removal of a crawl use it."""


def iterate_partition(table: Table[R], partition: Partition) -> Iterator[R]:
    """Yield all rows of *partition*, read some at a time."""
    after: Sort | None = None
    # Unlike `scan`, `scan_all` reads the buckets of a large partition concurrently.
    while rows := table.scan_all([partition], after):
        yield from rows
        after = keys_of(rows[-1])[1]


class Store(Protocol):
    """The tables of one service.

    One thread at a time writes, scans and flushes. Other threads may get rows by their keys at any
    time.
    """

    def table(self, row: type[R]) -> Table[R]:
        """Return the table of *row*. A store that owns its tables creates a missing one."""

    def flush(self) -> None:
        """Write all buffered rows, drops and erasures.

        They are written in one transaction, or else in this order: rows of classes that do not
        decide, rows of classes that do, drops, erasures, rows put *last*. After a crash before the
        rows that decide are written, the old decision holds. After a crash before a drop, a row
        that names the partition still names it, if it is erased or put last.
        """

    def discard(self) -> None:
        """Forget all writes since the last flush, as in a crash."""

    def write(self, rows: Sequence[Row], timestamp: int) -> None:
        """Write *rows* at once, independently of the buffer.

        If several processes write, *timestamp* is the write timestamp in microseconds since 1970.
        Of two writes of a row, the one with the larger timestamp wins.
        """

    def stamp(self, first: int, end: int) -> None:
        """Use write timestamps from *first* to below *end*, in microseconds, for the next flushes.

        They follow the clock within these limits. A write with a smaller timestamp never replaces
        one with a larger timestamp, however late it arrives.
        """

    def guard(self, check: Callable[[], None]) -> None:
        """Call *check* before each flush, and after each flush that writes.

        *check* raises if this process is not the owner any more. Rows that it has read may be
        outdated then, so no message may follow from them. Rows that it has written may have lost
        against those of the new owner.
        """
