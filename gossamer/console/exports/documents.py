"""Exports of documents and URLs: from the rows of the read model to tables and Markdown.

Rows are written as they are read; memory has a batch of pages at a time.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass

from msgspec import Struct
from msgspec.inspect import StrType

from gossamer import clock
from gossamer.console.exports.markdown_files import MarkdownFiles, format_page
from gossamer.console.exports.tables import Columns, Table
from gossamer.console.exports.targets import Target
from gossamer.errors import BadSettings
from gossamer.events import Page
from gossamer.inspection.archive.page_reader import PageReader
from gossamer.inspection.basics.figures import plural
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.crawls.documents import Cursor, iterate_records
from gossamer.inspection.exports.chunks import split_markdown
from gossamer.inspection.exports.columns import COLUMNS, SINCE_COLUMNS, Row, check_columns, row_of
from gossamer.inspection.exports.documents import (
    DOCUMENT_RULES,
    UNREADABLE,
    UNSELECTED,
    URL_RULES,
    USAGE,
    VERSION_RULES,
    Document,
    Selection,
    parse_where,
)
from gossamer.inspection.exports.known_urls import KnownUrl, iterate_urls
from gossamer.inspection.exports.versions import Versions, iterate_batches

EMPTY = "empty"
"""The reason if a document that still exists has no chunks any more."""


class ChunkRow(Struct, frozen=True):
    """A part of a document's Markdown, as a row."""

    id: str
    """The id of the document and a hash of headings and text."""
    url: str
    trace: str
    """The id of the document."""
    title: str
    language: str
    headings: tuple[str, ...]
    """The headings that the chunk is below, the highest first."""
    start: int
    """Offset of its first character in the document's Markdown."""
    end: int
    tokens: int
    """Estimated number of tokens."""
    text: str


@dataclass(frozen=True)
class ExportOptions:
    """The options of an export."""

    target: Target
    form: str
    where: str = ""
    purposes: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    since: str = ""
    partition_by: str = ""
    chunk_tokens: int = 0
    title: str = ""


def export_documents(crawl: OpenCrawl, options: ExportOptions) -> Iterator[str]:
    """Write the newest version of each document to a table, or what changed since a cursor. Yield
    the sentences of the result."""
    selection = Selection(crawl, parse_where(options.where, DOCUMENT_RULES), options.purposes)
    cursor = Cursor(crawl, options.since) if options.since else None
    records = cursor.records() if cursor else iterate_records(crawl, follow=False)
    has_gone = cursor is not None and not cursor.is_new
    documents = selection.select(records, cursor is not None, has_gone)
    counts = Counter[str]()
    table = _table_of(options, _columns_of(options))
    needs_markdown = options.chunk_tokens or "markdown" in options.columns
    with PageReader(crawl) if needs_markdown else nullcontext() as reader, table.complete():
        for batch in iterate_batches(documents):
            for document in _with_markdown(batch, reader):
                counts[document.state or "all"] += 1
                for row in _rows_of(document, options.chunk_tokens):
                    counts["rows"] += 1
                    table.write(row)
    if cursor:
        cursor.advance()
        before = "the first export" if cursor.is_new else "since the last export"
        yield (
            f"{counts['new']} new, {counts['changed']} changed and {counts['gone']} gone pages, "
            f"{before} as {options.since}, written to {options.target.shown}."
        )
    else:
        chunks = f"{plural(counts['rows'], 'chunk')} of " if options.chunk_tokens else ""
        yield f"{chunks}{plural(counts['all'], 'page')} written to {options.target.shown}."
    yield from _sentences(selection, reader.unstructured if reader else 0)


def _columns_of(options: ExportOptions) -> Columns:
    """Return the columns of a table of documents or chunks. Raise BadSettings for unknown ones."""
    pages = Columns.of(Page).only(COLUMNS)
    own = Columns.of(ChunkRow) if options.chunk_tokens else pages
    known = dict.fromkeys((*own.types, *COLUMNS, *(SINCE_COLUMNS if options.since else ())))
    chosen = check_columns(options.columns, known) or tuple(own.types)
    if options.since:
        chosen = tuple(dict.fromkeys((*SINCE_COLUMNS, *chosen)))
        if not {"url", "trace"} & {*chosen}:
            raise BadSettings("--since needs the column url or trace, which names what is gone")
    texts = dict.fromkeys(SINCE_COLUMNS, StrType())
    return Columns({**texts, **pages.types, **own.types}, pages.instants).only(chosen)


def _table_of(options: ExportOptions, columns: Columns, stem: str = "") -> Table:
    stem = stem or ("chunks" if options.chunk_tokens else "pages")
    if options.since:
        # An earlier export with this cursor is not replaced.
        stem = f"{stem}-{clock.now():.3f}".replace(".", "-")
    return Table(options.target, options.form, columns, stem, options.partition_by)


def _with_markdown(batch: list[Document], reader: PageReader | None) -> Iterator[Document]:
    """Yield the documents of *batch*, with the Markdown that *reader* finds."""
    pages = [document.page for document in batch if document.page]
    filled = iter(reader.fill(pages) if reader else pages)
    for document in batch:
        yield document._replace(page=next(filled)) if document.page else document


def _rows_of(document: Document, chunk_tokens: int) -> Iterator[Row]:
    row = document.row()
    if not chunk_tokens or document.page is None:
        yield row
        return
    chunk = None
    for chunk in split_markdown(document.page.markdown or "", chunk_tokens, document.trace):
        yield {**row, **chunk._asdict()}
    if chunk is None and document.state:
        # The chunks of an earlier version are gone.
        yield document._replace(state="gone", gone=EMPTY, page=None).row()


def export_versions(crawl: OpenCrawl, options: ExportOptions) -> Iterator[str]:
    """Write all archived versions of documents to a table. Yield the sentences of the result."""
    versions, count = Versions(crawl, parse_where(options.where, VERSION_RULES)), 0
    table = _table_of(options, _columns_of(options), "versions")
    with PageReader(crawl) as reader, table.complete():
        for row in versions.rows(reader):
            count += 1
            table.write(row)
    yield f"{plural(count, 'archived version')} written to {options.target.shown}."
    if versions.unreadable:
        yield f"{plural(versions.unreadable, 'version')} left out: they cannot be read."


def export_urls(crawl: OpenCrawl, options: ExportOptions) -> Iterator[str]:
    """Write every known URL to a table. Yield the sentences of the result."""
    columns = Columns.of(KnownUrl)
    chosen = check_columns(options.columns, columns.types) or tuple(columns.types)
    counts = Counter[str]()
    table = _table_of(options, columns.only(chosen), "urls")
    with table.complete():
        for found in iterate_urls(crawl, parse_where(options.where, URL_RULES)):
            counts[found.state] += 1
            table.write(row_of(found))
    states = ", ".join(f"{number:,} {state}" for state, number in sorted(counts.items()))
    shown = f" ({states})" if states else ""
    yield f"{plural(counts.total(), 'URL')} written to {options.target.shown}{shown}."


def export_markdown(crawl: OpenCrawl, options: ExportOptions) -> Iterator[str]:
    """Write Markdown: a file for each page in a folder, or all pages one after the other. Yield the
    sentences of the result."""
    selection = Selection(crawl, parse_where(options.where, DOCUMENT_RULES), options.purposes)
    records = iterate_records(crawl, follow=False)
    selected = selection.select(records, is_since=False, has_gone=False)
    pages = (document.page for document in selected if document.page)
    with PageReader(crawl) as reader:
        write = _update_folder if options.target.is_folder else _write_one_file
        yield from write(pages, reader, options)
    yield from _sentences(selection, reader.unstructured)


def _update_folder(
    pages: Iterable[Page], reader: PageReader, options: ExportOptions
) -> Iterator[str]:
    files, current = MarkdownFiles(options.target, options.title, options.chunk_tokens), 0
    for batch in iterate_batches(pages):
        outdated = [page for page in batch if not files.is_current(page)]
        current += len(batch) - len(outdated)
        for page in reader.fill(outdated):
            files.write(page)
    files.close()
    yield (
        f"{plural(files.written, 'file')} written to {options.target.shown}, "
        f"{files.removed} removed; {plural(current, 'page')} unchanged."
    )
    if files.empty:
        yield f"{plural(files.empty, 'page')} without a text."


def _write_one_file(
    pages: Iterable[Page], reader: PageReader, options: ExportOptions
) -> Iterator[str]:
    count = empty = 0
    with options.target.create() as out:
        for batch in iterate_batches(pages):
            for page in reader.fill(batch):
                empty += not page.markdown
                if page.markdown:
                    count += 1
                    out.write(f"{format_page(page)}\n".encode("utf-8", "replace"))
    yield f"{plural(count, 'page')} written to {options.target.shown}."
    if empty:
        yield f"{plural(empty, 'page')} without a text."


def _sentences(selection: Selection, unstructured: int) -> Iterator[str]:
    left_out = selection.left_out
    if number := left_out[USAGE]:
        purposes = " or ".join(selection.purposes)
        yield f"{plural(number, 'page')} left out: their sites disallow {purposes}."
    if number := left_out[UNSELECTED]:
        yield f"{plural(number, 'page')} left out by --where."
    if number := left_out[UNREADABLE]:
        yield f"{plural(number, 'record')} left out: they are not documents that can be read."
    if unstructured:
        yield (
            f"{plural(unstructured, 'page')} with the plain text as Markdown: no archived capture "
            "has more."
        )
