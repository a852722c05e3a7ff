"""Pages as Python objects, and tables of them."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from gossamer.library.answers import time_of
from gossamer.library.process import CrawlError

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from gossamer.events import Page as Document

NOT_COLUMNS = ("at", "version")
"""Fields about the record, and not about the page."""


class Archive(Protocol):
    """The archived responses of a crawl. A body is without its content codings."""

    def read_body(self, url: str, at: float) -> bytes:
        """Return the body of the response to the request for *url* at this time."""

    def read_text(self, url: str, at: float) -> str:
        """Return that body as text, in the encoding that a browser would choose."""

    def versions(self) -> Iterator["Version"]:
        """Yield the archived documents, those of a URL together and the oldest first."""


class Page:
    """The newest version of a page, as the crawl has published it.

    `fields` has all fields of the document (docs/consuming.md); the others are those of most
    programs.
    """

    __slots__ = ("_archive", "_document")

    def __init__(self, document: "Document", archive: Callable[[], Archive]) -> None:
        """*archive* opens the archive when it is first read."""
        self._document, self._archive = document, archive

    @property
    def url(self) -> str:
        """The canonical URL of the page."""
        return self._document.url

    @property
    def title(self) -> str:
        """The title; "" without one."""
        return self._document.title

    @property
    def text(self) -> str | None:
        """The text without menus and the like; None if there is none."""
        return self._document.text

    @property
    def markdown(self) -> str | None:
        """The text as Markdown, if the setting `parser.markdown` is on; otherwise None."""
        return self._document.markdown

    @property
    def links(self) -> tuple[str, ...]:
        """The URLs that the page links to, in its order and without repetition."""
        return self._document.links

    @property
    def extracted(self) -> tuple[dict[str, Any], ...]:
        """The rows that `extract` of the crawl's rules has returned."""
        return tuple(map(json.loads, self._document.extracted))

    @property
    def status(self) -> int:
        """The HTTP status of the response."""
        return self._document.status

    @property
    def fetched_at(self) -> datetime:
        """When the page was requested, in UTC."""
        return time_of(self._document.fetched_at)

    @property
    def language(self) -> str:
        """The language of the text, such as `en`; "" if it is not known."""
        return self._document.language

    @property
    def content_type(self) -> str:
        """The media type of the page, such as `text/html`."""
        return self._document.content_type

    @property
    def depth(self) -> int:
        """Number of links from a seed."""
        return self._document.depth

    @property
    def duplicate_of(self) -> str:
        """The page that had the same text first, or nearly the same text; "" if none had."""
        return self._document.duplicate_of or self._document.near_duplicate_of

    @property
    def change(self) -> float | None:
        """How much of the text has changed since the visit before, from 0 to 1; None for a new
        page."""
        return self._document.change

    @property
    def fields(self) -> dict[str, Any]:
        """All fields of the document by name. Times are in UTC, and None if they are not known."""
        return row_of(self._document)

    def html(self) -> str:
        """Return the archived body as text, also of a page that is not HTML.

        Raise CrawlError if it was not archived, as of a page that asks not to be.
        """
        return self._archive().read_text(self._document.url, self._document.fetched_at)

    def body(self) -> bytes:
        """Return the archived body as bytes, without its content codings; see `html`."""
        return self._archive().read_body(self._document.url, self._document.fetched_at)

    def __repr__(self) -> str:
        return f"Page({self.url!r}, title={self.title!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Page) and self._document == other._document

    def __hash__(self) -> int:
        return hash((self.url, self._document.fetched_at))


@dataclass(frozen=True)
class Version:
    """One archived version of a page."""

    url: str
    fetched_at: datetime
    status: int
    """The HTTP status: 304 if the server confirmed the version before."""
    content_type: str
    """The header Content-Type; "" for a 304."""
    digest: str
    """The SHA-1 of the body, in base 32: equal for versions with the same bytes."""
    _archive: Archive = field(repr=False, compare=False)
    _at: float = field(repr=False, compare=False)

    def html(self) -> str:
        """Return the body as text. Raise CrawlError if it cannot be read."""
        return self._archive.read_text(self.url, self._at)

    def body(self) -> bytes:
        """Return the body as bytes, without its content codings; see `html`."""
        return self._archive.read_body(self.url, self._at)


class Pages:
    """The newest version of each page of a crawl. Pages that are gone are left out.

    Each iteration reads the pages again, one after another.
    """

    def __init__(
        self,
        read: Callable[[], Iterator[Page]],
        write_parquet: Callable[[Path], None],
        archive: Callable[[], Archive],
    ) -> None:
        self._read, self._write_parquet, self._archive = read, write_parquet, archive

    def __iter__(self) -> Iterator[Page]:
        """Yield the pages."""
        return self._read()

    def versions(self) -> Iterator[Version]:
        """Yield all archived versions of all pages, also of pages that are gone: those of a page
        together, the oldest first."""
        return self._archive().versions()

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the pages as a data frame, a row a page and a column a field.

        Times are in UTC, and unknown ones are NaT. It needs pandas.
        """
        try:
            import pandas
        except ImportError as error:
            raise CrawlError("to_pandas needs pandas: pip install pandas") from error
        from gossamer.events import Page as Document

        rows = [page.fields for page in self]
        frame = pandas.DataFrame(rows, columns=columns_of(Document))
        for name in times_of(Document):
            frame[name] = pandas.to_datetime(frame[name], utc=True)
        return frame

    def to_arrow(self) -> "pyarrow.Table":
        """Return the pages as a table of Arrow, with the schema of `gossamer pages --format
        parquet`. It needs pyarrow."""
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise CrawlError("to_arrow needs pyarrow: pip install 'gossamer[parquet]'") from error
        with TemporaryDirectory() as folder:
            file = Path(folder) / "pages.parquet"
            self._write_parquet(file)
            return pyarrow.parquet.read_table(file)


@cache
def columns_of(document: type["Document"]) -> list[str]:
    """Return the fields of pages, the most important first."""
    first = ("url", "title", "text", "status", "fetched_at")
    names = dict.fromkeys((*first, *document.__struct_fields__))
    return [name for name in names if name not in NOT_COLUMNS]


def row_of(document: "Document") -> dict[str, Any]:
    """Return *document* as plain values by field, with times instead of epoch seconds."""
    from msgspec import to_builtins

    row = {name: to_builtins(getattr(document, name)) for name in columns_of(type(document))}
    return row | {
        name: time_of(row[name]) if row[name] else None for name in times_of(type(document))
    }


@cache
def times_of(document: type["Document"]) -> list[str]:
    """Return the columns that are times."""
    from gossamer.events.records import instants_of

    return [name for name in instants_of(document) if name not in NOT_COLUMNS]
