"""The archived versions of documents, also of those that are gone, as rows.

A version is a capture whose body differs from that of the capture before. The parser reads it
again, so that it has the fields of the contents. Fields that dedup added, and the uses that a site
allows, are null: the rules of robots.txt at the time are not read here. A fleet has the versions
whose WARC files are in a volume, or on this machine.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from gossamer.events import PageParsed
from gossamer.events.pages import CONTENTS
from gossamer.inspection.archive.captures import iterate_captures
from gossamer.inspection.archive.page_reader import PageReader, read_whole
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.exports.columns import COLUMNS, Row, row_of
from gossamer.inspection.exports.documents import ExportFacts
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.dedup.rows import HIDDEN_REASONS, DocumentRow
from gossamer.web.scope import Expression, Found
from gossamer.web.url import fingerprint

T = TypeVar("T")
BATCH_SIZE = 32
"""Pages that are read at once."""
UNKNOWN = ("usage", "usage_statements")
OK = range(200, 300)


def iterate_batches(items: Iterable[T], size: int = BATCH_SIZE) -> Iterator[list[T]]:
    """Yield *items* in lists of at most *size*."""
    remaining = iter(items)
    while batch := [*islice(remaining, size)]:
        yield batch


@dataclass
class Versions:
    """The versions of the documents of *crawl* that match *where*."""

    crawl: OpenCrawl
    where: Expression[ExportFacts] | None = None
    unreadable: int = 0
    """Versions that cannot be read."""

    def rows(self, reader: PageReader) -> Iterator[Row]:
        """Yield a row for each version, the newest ones of a document first."""
        for batch in iterate_batches(self._captures()):
            found = [version for row in batch if (version := read_whole(self.crawl, row))]
            self.unreadable += len(batch) - len(found)
            for version, parsed in zip(found, reader.parse(found), strict=True):
                if isinstance(parsed, str):
                    self.unreadable += 1
                elif self._matches(version.row, parsed):
                    yield _row_of(version.row, parsed)

    def _captures(self) -> Iterator[CaptureRow]:
        store = self.crawl.store()
        for document in store.table(DocumentRow).everything():
            if document.crawl != self.crawl.id or document.gone in HIDDEN_REASONS:
                continue
            newer: CaptureRow | None = None
            for row in iterate_captures(store, document.crawl, document.url):
                if row.status not in OK and row.record_type != "revisit":
                    continue
                if newer and newer.digest != row.digest:
                    yield newer
                newer = row
            if newer:
                yield newer

    def _matches(self, row: CaptureRow, parsed: PageParsed) -> bool:
        if self.where is None:
            return True
        facts = ExportFacts(Found(row.url, 0), parsed.content_type, parsed)
        return self.where.evaluate(facts).inside is True


def _row_of(capture: CaptureRow, parsed: PageParsed) -> Row:
    contents = row_of(parsed)
    row = {name: contents[name] for name in CONTENTS if name in COLUMNS and name not in UNKNOWN}
    return {
        **row,
        "crawl": capture.crawl,
        "url": capture.url,
        "trace": fingerprint(capture.url),
        "site": parsed.site,
        "status": capture.status,
        "fetched_at": capture.fetched_at,
        "links": [link.url for link in parsed.links],
        "outlinks": contents["links"],
    }
