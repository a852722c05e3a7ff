"""What `pages` says of each URL: the newest document, or that it is gone.

A document is gone when its URL says so of itself (410, a redirect for good, noindex), or when visit
after visit does not find it (404, a redirect for now), or when it is refused for long. Errors say
nothing about it. A tombstone then takes its place, and its headers say why; a URL of which `pages`
never had a document gets none.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from gossamer.events import Page, PageParsed, Tombstone, Verdict
from gossamer.events.gone import PATIENCE, Gone
from gossamer.settings import DedupSettings
from gossamer.store import Row, Store
from gossamer.telemetry import count
from gossamer.web.http import REDIRECTS

FOR_GOOD = frozenset({301, 308})
BUSY = 429


class DocumentRow(Row, frozen=True):
    """A URL of which `pages` has, or had, a document."""

    table = "documents"
    partition_key = "url"

    url: str
    at: float
    """When the visit was made that this row was last changed by."""
    digest: str = ""
    """Of its text; "" once it is gone."""
    gone: str = ""
    """Why `pages` has a tombstone instead; "" while it has the document."""
    missed: int = 0
    """How many visits in a row did not find it."""
    missed_since: float = 0.0
    """When the first of them was made."""


def absence(page: PageParsed) -> Gone | None:
    """Return what *page* says against a document at its URL; None if it says nothing."""
    if 200 <= page.status < 300:
        return Gone.NOINDEX if page.noindex else None
    if page.status in REDIRECTS and page.links:
        return Gone.MOVED if page.status in FOR_GOOD else Gone.REDIRECTED
    if page.status == BUSY or page.status // 100 != 4:
        return None
    return {404: Gone.MISSING, 410: Gone.REMOVED}.get(page.status, Gone.REFUSED)


class Documents:
    """Publishes documents, and says when they are gone; alone in writing about a URL."""

    def __init__(self, settings: DedupSettings, store: Store) -> None:
        self._refused_limit = settings.refused_limit
        self._rows = store.table(DocumentRow)

    def publish(self, page: PageParsed, verdict: Verdict, duplicate_of: str, now: float) -> Page:
        """Return the document on *page*."""
        self._rows.put(DocumentRow(page.visit.url, page.fetched_at, page.digest))
        return _document(page, verdict, duplicate_of, now)

    def miss(self, page: PageParsed, reason: Gone) -> Iterator[Tombstone]:
        """Take in that *page* is no document; yield the tombstone if the document is now gone.

        The visit that found it gone yields it again when its record comes again.
        """
        row, at = self._rows.get(page.visit.url), page.fetched_at
        if row is None or (row.gone and row.at != at):
            return
        if not row.gone:
            if at <= row.at:
                return
            row = self._missed(row, at, reason)
            self._rows.put(row)
        if row.gone:
            count("gossamer_documents_gone_total", reason=row.gone)
            yield Tombstone(
                page.visit.url,
                page.site,
                reason=row.gone,
                at=at,
                status=page.status,
                trace=page.visit.trace,
            )

    def _missed(self, row: DocumentRow, at: float, reason: Gone) -> DocumentRow:
        since, missed = row.missed_since if row.missed else at, row.missed + 1
        long_enough = reason is not Gone.REFUSED or at - since >= self._refused_limit
        gone = missed >= PATIENCE[reason].visits and long_enough
        return replace(
            row,
            at=at,
            digest="" if gone else row.digest,
            gone=reason if gone else "",
            missed=missed,
            missed_since=since,
        )


def _document(page: PageParsed, verdict: Verdict, duplicate_of: str, now: float) -> Page:
    return Page(
        crawl=page.crawl,
        at=now,
        url=page.visit.url,
        site=page.site,
        status=page.status,
        fetched_at=page.fetched_at,
        content_type=page.content_type,
        title=page.title,
        description=page.description,
        language=page.language,
        text=page.text,
        links=tuple(link.url for link in page.links),
        verdict=verdict,
        duplicate_of=duplicate_of,
        digest=page.digest,
        depth=page.visit.depth,
        via=page.visit.via,
        canonical=page.canonical,
        noindex=page.noindex,
        truncated=page.truncated,
        hazards=page.hazards,
        trace=page.visit.trace,
    )
