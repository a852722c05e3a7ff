"""What `pages` says of each URL: the newest document, or that it is gone.

A document is gone when its URL says so of itself (410, a redirect for good, noindex), or when visit
after visit does not find it (404, a redirect for now), or when it is refused for long. Errors say
nothing about it. A tombstone then takes its place, and its headers say why; a URL of which `pages`
never had a document gets none. The visit has a verdict then: `gone`, or `redirect`.

A page that asks not to be indexed, or is not relevant to the crawl, has a row as well: its next
version is compared with this one, though neither is published.

A document is published when something of it is new: it is first, it has changed, or it is a copy of
another page, or none any more. Its row remembers which visit that was, and which one found it
changed last. So a record that comes again after a crash is told, and publishes, what it did before,
however many visits later the row is.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.events import Page, PageParsed, Tombstone, Verdict
from gossamer.events.gone import PATIENCE, Gone
from gossamer.events.pages import LinkKind, contents_of
from gossamer.runtime.processor import Key
from gossamer.settings import DedupSettings
from gossamer.store import Store
from gossamer.telemetry import count
from gossamer.text.blocks import unpack_blocks
from gossamer.text.sketch import estimate_change
from gossamer.text.volatile import compare
from services.dedup.links import new_links, sketch_of
from services.dedup.rows import HIDDEN, DocumentRow


class Version(NamedTuple):
    """What a visit found, beside the document that the URL had before."""

    change: float | None
    """How much has changed; None if there was none."""
    row: DocumentRow
    """What is to be kept."""
    new_links: frozenset[str] = frozenset()
    """Where links lead that the document before did not have, or not in these words."""


class Documents:
    """Publishes documents, and says when they are gone; alone in writing about a URL."""

    def __init__(self, settings: DedupSettings, store: Store) -> None:
        self._refused_limit = settings.refused_limit
        self._republish = settings.republish_unchanged
        self._rows = store.table(DocumentRow)
        self.keeps_links = False
        """Whether links are kept, so that the next visit finds those that are new."""

    def reads_of(self, pages: Sequence[PageParsed]) -> list[Key]:
        """Return the keys of the rows of *pages*."""
        return [(DocumentRow, _key(page), "") for page in pages]

    def is_new(self, page: PageParsed) -> bool:
        """Return whether nothing was ever kept of the URL of *page*."""
        return self._rows.get(_key(page)) is None

    def version(self, page: PageParsed) -> Version:
        """Compare *page* with the document that its URL had before.

        A record that comes again is told what it was told before, and changes nothing.
        """
        known, blocks = self._rows.get(_key(page)), unpack_blocks(page.blocks)
        if known and page.fetched_at < known.at:
            return Version(_told_before(known, page.fetched_at), known)
        if known is None or not _continues(page, known):
            seen = known.first_seen or known.at if known else page.fetched_at
            return Version(None, self._row(page, compare(b"", blocks).state, seen))
        if page.fetched_at == known.at and page.digest == known.digest:
            return Version(_told_before(known, page.fetched_at), known)
        same, state = compare(known.volatile, blocks)
        same = same or page.digest == known.digest
        changed = 0.0 if same else estimate_change(known.sketch, page.sketch)
        new = new_links(page, known.links) if changed else frozenset()
        row = self._row(page, state, known.first_seen or known.at)
        return Version(changed, _later(known, row, changed), new)

    def _row(self, page: PageParsed, volatile: bytes, first_seen: float) -> DocumentRow:
        return DocumentRow(
            page.crawl,
            page.visit.url,
            page.fetched_at,
            page.digest,
            simhash=page.simhash,
            sketch=page.sketch,
            volatile=volatile,
            first_seen=first_seen,
            last_changed=page.fetched_at,
            links=sketch_of(page) if self.keeps_links else b"",
        )

    def publish(
        self, page: PageParsed, version: Version, verdict: Verdict, original: str, now: float
    ) -> Iterator[Page]:
        """Yield the document on *page*, if anything of it is news.

        By its *verdict* it is perhaps a copy of *original*. A visit before the one that was
        published, or found the document gone, says nothing more, so `pages` never goes back: what
        the later one said is on the log, or its record comes again behind this one.
        """
        row, at = version.row, page.fetched_at
        if is_overtaken(row, at):
            return
        copy_of = f"{verdict} {original}" if original else ""
        # By the visit, so that a record that comes again is news again.
        news = version.change != 0.0 or copy_of != row.copy_of or at == row.published_at
        if news:
            row = replace(row, published_at=at, copy_of=copy_of)
        self._rows.put(row)
        if news or self._republish:
            yield replace(
                _document(page, version, verdict, now),
                unchanged=not news,
                duplicate_of=original if verdict is Verdict.DUPLICATE else "",
                near_duplicate_of=original if verdict is Verdict.NEAR_DUPLICATE else "",
            )

    def hide(self, page: PageParsed, version: Version, reason: Gone) -> Iterator[Tombstone]:
        """Keep what is known of *page*, which is not published; yield the tombstone of its document
        if there was one until now.

        The visit that found it so yields it again when its record comes again.
        """
        row, at = version.row, page.fetched_at
        if row.at == at:
            since = row.missed_since if row.gone else at
            row = replace(row, gone=reason, missed=row.missed + 1, missed_since=since)
            self._rows.put(row)
        if row.gone and row.published_at is not None and row.missed_since == at:
            yield _tombstone(page, row.gone)

    def confirm(self, page: PageParsed) -> DocumentRow | None:
        """Take in that the document is as it was; return its row, if `pages` has or had it."""
        row = self._rows.get(_key(page))
        if row and not row.gone and row.at < page.fetched_at:
            row = replace(row, at=page.fetched_at, missed=0, missed_since=None)
            self._rows.put(row)
        return row

    def miss(self, page: PageParsed, reason: Gone) -> Iterator[Tombstone]:
        """Take in that *page* is no document; yield the tombstone if the document is now gone.

        The visit that found it gone yields it again when its record comes again.
        """
        row, at = self._rows.get(_key(page)), page.fetched_at
        if row is None or (row.gone and row.at != at):
            return
        if not row.gone:
            if at <= row.at:
                return
            row = self._missed(row, at, reason)
            self._rows.put(row)
        if row.gone:
            yield _tombstone(page, row.gone)

    def _missed(self, row: DocumentRow, at: float, reason: Gone) -> DocumentRow:
        since, missed = row.missed_since, row.missed + 1
        if since is None:
            since = at
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


def _key(page: PageParsed) -> tuple[str, str]:
    return page.crawl, page.visit.url


def _continues(page: PageParsed, known: DocumentRow) -> bool:
    """Return whether *page* is a later version of what is *known*, or a document where none was."""
    return not known.gone or (page.noindex and known.gone in HIDDEN)


def _tombstone(page: PageParsed, reason: str) -> Tombstone:
    count("gossamer_documents_gone_total", reason=reason)
    redirects_to = next((link.url for link in page.links if link.redirect), "")
    return Tombstone(
        page.visit.url,
        page.site,
        verdict=Verdict.REDIRECT if redirects_to else Verdict.GONE,
        redirects_to=redirects_to,
        reason=reason,
        at=page.fetched_at,
        status=page.status,
        trace=page.visit.trace,
    )


def _told_before(known: DocumentRow, at: float) -> float | None:
    """Return what the visit *at* was told, by the row that it or a later one left.

    None also to one whose document has changed since: it has published, or a later one will.
    """
    if at > known.last_changed:
        return 0.0
    return known.change if at == known.last_changed else None


def _later(known: DocumentRow, row: DocumentRow, changed: float) -> DocumentRow:
    if known.gone:
        missed, since = known.missed, known.missed_since
        row = replace(row, gone=known.gone, missed=missed, missed_since=since)
    return replace(
        row,
        last_changed=row.at if changed else known.last_changed,
        change=changed or known.change,
        published_at=known.published_at,
        copy_of=known.copy_of,
    )


def is_overtaken(row: DocumentRow, at: float) -> bool:
    """Return whether `pages` has what a later visit than the one *at* found."""
    is_before = row.published_at is not None and at < row.published_at
    return is_before or (bool(row.gone) and at < row.at)


def _document(page: PageParsed, version: Version, verdict: Verdict, now: float) -> Page:
    return Page(
        **contents_of(page),
        crawl=page.crawl,
        at=now,
        url=page.visit.url,
        site=page.site,
        status=page.status,
        fetched_at=page.fetched_at,
        links=tuple(link.url for link in page.links if link.kind != LinkKind.SCRIPT),
        outlinks=page.links,
        verdict=verdict,
        duplicate_of="",
        depth=page.visit.depth,
        via=page.visit.via,
        trace=page.visit.trace,
        change=version.change,
        first_seen=version.row.first_seen,
        last_changed=min(version.row.last_changed, page.fetched_at),
        last_visited=page.fetched_at,
    )
