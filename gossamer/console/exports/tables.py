"""Tables of rows as JSON Lines, CSV or Parquet: in one file, or in a folder with a file for each
value of a column.

Parquet is exact. JSON Lines have instants as epoch seconds, as the topic `pages` has. CSV has
instants in ISO 8601, lists and structures as JSON, and nothing for null. A text of the Web that a
spreadsheet would read as a formula begins with an apostrophe in CSV.
"""

import csv
import io
import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, BinaryIO, NamedTuple, Protocol
from urllib.parse import quote

from msgspec import Struct, inspect, json

from gossamer.console.exports.targets import Target
from gossamer.errors import BadSettings
from gossamer.events.records import instants_of
from gossamer.extras import require_extra
from gossamer.inspection.basics.figures import MAX_INSTANT
from gossamer.inspection.exports.columns import MIN_INSTANT, Row, fields_of
from gossamer.terminal import json_line

SUFFIXES = {"jsonl": ".jsonl", "csv": ".csv", "parquet": ".parquet"}
"""Format of a table → the suffix of its files."""
MAX_OPEN_FILES = 500
"""Files of a partitioned table that are written at once. Another value of the column closes the one
that was written longest ago."""
MAX_BUFFERED_BYTES = 32 << 20
"""Estimated bytes of rows that all files of a table hold in memory."""
CHECK_ROWS = 32
"""Rows after which the bytes in memory are added up."""
MAX_VALUE_CHARACTERS = 120
NULL_VALUE = "__HIVE_DEFAULT_PARTITION__"
"""The name that Hive, DuckDB, Spark and pyarrow read as null."""
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
"""First characters of a cell that spreadsheets execute (OWASP, CSV Injection)."""


class Columns(NamedTuple):
    """The columns of a table."""

    types: Mapping[str, inspect.Type]
    instants: frozenset[str]

    @staticmethod
    def of(struct: type[Struct]) -> "Columns":
        """Return the fields of *struct* as columns."""
        return Columns(fields_of(struct), frozenset(instants_of(struct)))

    def only(self, names: Iterable[str]) -> "Columns":
        """Return the columns with these *names*, in this order."""
        chosen = {name: self.types[name] for name in names}
        return Columns(chosen, self.instants & chosen.keys())


class Writer(Protocol):
    """Writes rows to a file."""

    @property
    def buffer_size(self) -> int:
        """Estimated bytes of the rows that are in memory."""

    def write(self, row: Row) -> None:
        """Write a row. Missing columns are null."""

    def flush(self) -> None:
        """Write the rows that are in memory."""

    def close(self) -> None:
        """Complete the file, which stays open."""


class Unbuffered:
    """A writer that keeps no row in memory."""

    buffer_size = 0

    def flush(self) -> None:
        """Do nothing: all rows are written."""

    def close(self) -> None:
        """Do nothing: the file is complete."""


class JsonLines(Unbuffered):
    """Writes a JSON object a line."""

    def __init__(self, out: BinaryIO, columns: Columns) -> None:
        self._out, self._names = out, tuple(columns.types)

    def write(self, row: Row) -> None:
        """Write a row."""
        line = json.encode({name: row.get(name) for name in self._names})
        self._out.write(json_line(line).encode() + b"\n")


class Csv(Unbuffered):
    """Writes CSV (RFC 4180) in UTF-8, with a line of names."""

    def __init__(self, out: BinaryIO, columns: Columns) -> None:
        self._out, self._columns = out, columns
        self._text = io.StringIO(newline="")
        self._csv = csv.writer(self._text, lineterminator="\n")
        self._write([*columns.types])

    def write(self, row: Row) -> None:
        """Write a row."""
        instants = self._columns.instants
        self._write([_cell(row.get(name), name in instants) for name in self._columns.types])

    def _write(self, cells: list[str]) -> None:
        self._csv.writerow(cells)
        self._out.write(self._text.getvalue().encode("utf-8", "replace"))
        self._text.seek(0)
        self._text.truncate()


def _cell(value: Any, is_instant: bool) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return iso(value) if is_instant else repr(value)
        case str():
            text = value.replace("\0", "\N{REPLACEMENT CHARACTER}")
            return f"'{text}" if text.startswith(FORMULA_STARTS) else text
    return json.encode(value).decode()


def iso(at: float) -> str:
    """Return an instant as `2026-11-22T08:00:00.250Z`; "" if no calendar has it."""
    if not MIN_INSTANT <= at <= MAX_INSTANT:
        return ""
    found = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return found.removesuffix("+00:00") + "Z"


def make_writer(form: str, out: BinaryIO, columns: Columns) -> Writer:
    """Return the writer of *form*, a key of SUFFIXES."""
    if form == "parquet":
        # pyarrow is large and optional.
        from gossamer.console.exports.parquet import ParquetRows

        return ParquetRows(out, columns.types, columns.instants)
    return Csv(out, columns) if form == "csv" else JsonLines(out, columns)


class _OpenFile(NamedTuple):
    stack: ExitStack
    """Completes the writer and its file."""
    writer: Writer


@dataclass
class Table:
    """A table that is written to *target*."""

    target: Target
    form: str
    """A key of SUFFIXES."""
    columns: Columns
    stem: str
    """The name of the file in a folder, without its suffix."""
    partition_by: str = ""
    """The column that has a folder for each of its values; "" for one file."""

    def __post_init__(self) -> None:
        if self.form == "parquet":
            require_extra("parquet")
        if self.partition_by and not _is_scalar(self.columns.types.get(self.partition_by)):
            raise BadSettings(
                f"--partition-by {self.partition_by}: not a column with single values"
            )
        self._open: OrderedDict[str, _OpenFile] = OrderedDict()
        self._written = set[str]()
        self._rows = 0
        in_file = (name for name in self.columns.types if name != self.partition_by)
        self._in_file = self.columns.only(in_file)
        if not self.partition_by:
            self._file("")

    def write(self, row: Row) -> None:
        """Write a row."""
        self._file(self._folder_of(row)).write(row)
        self._rows += 1
        if self._rows % CHECK_ROWS == 0:
            writers = [found.writer for found in self._open.values()]
            while sum(writer.buffer_size for writer in writers) > MAX_BUFFERED_BYTES:
                max(writers, key=lambda writer: writer.buffer_size).flush()

    def _folder_of(self, row: Row) -> str:
        if not self.partition_by:
            return ""
        value = row.get(self.partition_by)
        if value is not None and self.partition_by in self.columns.instants:
            value = iso(value)[:10] or None
        return f"{self.partition_by}={_folder_name(value)}/"

    def _file(self, folder: str) -> Writer:
        if found := self._open.get(folder):
            self._open.move_to_end(folder)
            return found.writer
        if len(self._open) >= MAX_OPEN_FILES:
            self._open.popitem(last=False)[1].stack.close()
        # The number is unique in the whole table: a file system may not tell the folders apart.
        number = f"-{len(self._written)}" if self.partition_by else ""
        name = f"{folder}{self.stem}{number}{SUFFIXES[self.form]}"
        self._written.add(name)
        stack = ExitStack()
        out = stack.enter_context(self.target.create(name))
        writer = make_writer(self.form, out, self._in_file)
        stack.callback(writer.close)
        self._open[folder] = _OpenFile(stack, writer)
        return writer

    @contextmanager
    def complete(self) -> Iterator[None]:
        """Complete all files at the end of the block; after an error, give up the others."""
        try:
            yield
            self._close()
        except BaseException as error:
            while self._open:
                stack = self._open.popitem()[1].stack
                stack.__exit__(type(error), error, error.__traceback__)
            raise

    def _close(self) -> None:
        """Complete all files, and remove those of an earlier table of this name."""
        while self._open:
            self._open.popitem()[1].stack.close()
        if self.partition_by and self.target.folder:
            column, stem = re.escape(self.partition_by), re.escape(self.stem)
            own = re.compile(rf"{column}=[^/]*/{stem}-\d+{re.escape(SUFFIXES[self.form])}")
            for name in self.target.folder.names():
                if own.fullmatch(name) and name not in self._written:
                    self.target.folder.remove(name)


def _is_scalar(kind: inspect.Type | None) -> bool:
    if isinstance(kind, inspect.Metadata):
        return _is_scalar(kind.type)
    if isinstance(kind, inspect.UnionType):
        return all(_is_scalar(one) for one in kind.types)
    scalar = (inspect.StrType, inspect.IntType, inspect.FloatType, inspect.BoolType)
    return isinstance(kind, (*scalar, inspect.EnumType, inspect.NoneType))


def _folder_name(value: Any) -> str:
    """Return *value* for a name, as Hive writes it: nothing in it leads out of the folder."""
    if value is None:
        return NULL_VALUE
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    return quote(text[:MAX_VALUE_CHARACTERS], safe="")[: 2 * MAX_VALUE_CHARACTERS]
