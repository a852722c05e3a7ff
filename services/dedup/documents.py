"""Compares versions of documents, publishes the newest on `pages`, and deletes documents.

A document is gone after one visit with a 410, a permanent redirect or `noindex`, after several
visits with a 404 or a temporary redirect, or after it was refused for a long time. Server errors
do not count. A tombstone then replaces the document. Its headers state the reason. A URL without a
document on `pages` gets no tombstone. The verdict on the visit is `gone` or `redirect`.

A page is hidden if it has `noindex`, or if it is not relevant to the crawl. A hidden page has a
row, with which its next version is compared, but it is not published.

A document is published when it is the first one of its URL, when its text is not the one before,
when the rules of the crawl extract other rows,
and when it became or ceased to be a copy of another page. A text that differs only in places that
change at every visit is published, too, with the change 0: consumers have the page as it was last
fetched, and the schedule does not follow a clock. Its row stores the times of the last visit whose
document was published, and of the last visit that found a change. So a record that is redelivered
after a crash gets the same verdict and publishes the same document, even if the row is from a later
visit.
"""

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from math import inf, nextafter
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.clock import is_future
from gossamer.events import Page, PageParsed, Tombstone, Verdict
from gossamer.events.pages import LinkKind, contents_of
from gossamer.events.public import GONE_RULES, Gone
from gossamer.runtime.processor import Key
from gossamer.services.dedup.links import find_new_links, sketch_links
from gossamer.services.dedup.rows import HIDDEN_REASONS, DocumentRow
from gossamer.settings import DedupSettings
from gossamer.store import Store
from gossamer.telemetry import count
from gossamer.text.blocks import unpack_blocks
from gossamer.text.sketch import estimate_change
from gossamer.text.volatile import compare
from gossamer.web.soft_404 import Signature, is_missing_text
from gossamer.web.url import fingerprint


class Version(NamedTuple):
    """The document that a visit found, compared with the one before."""

    change: float | None
    """The change, from 0 to 1; None if there was no document before."""
    row: DocumentRow
    """The row to store."""
    new_links: frozenset[str] = frozenset()
    """URLs of links that are new, or have another text."""
    differs: bool = False
    """Whether the text is not the last one, if only in places that change at every visit, or the
    extracted rows are not the last ones."""


class Documents:
    """Publishes and deletes documents. One instance writes the row of a URL."""

    def __init__(self, settings: DedupSettings, store: Store) -> None:
        self._refused_limit = settings.refused_limit
        self._republish = settings.republish_unchanged
        self._rows = store.table(DocumentRow)

    def reads_of(self, pages: Sequence[PageParsed]) -> list[Key]:
        """Return the keys of the rows of *pages*."""
        return [(DocumentRow, _key(page), "") for page in pages]

    def is_new(self, page: PageParsed) -> bool:
        """Return whether the URL of *page* has no row."""
        return self._rows.get(_key(page)) is None

    def correct_time(self, page: PageParsed, now: float) -> None:
        """Correct the row of *page* if a clock that was ahead wrote it: it is before this visit."""
        row = self._rows.get(_key(page))
        if row is None or not is_future(max(row.at, row.published_at or row.at), now):
            return
        before = nextafter(page.fetched_at, -inf)
        times = {
            name: min(at, before)
            for name in ("at", "first_seen", "last_changed", "missed_since", "published_at")
            if (at := getattr(row, name)) is not None
        }
        self._rows.put(replace(row, **times))

    def compare(self, page: PageParsed, sketches_links: bool = False) -> Version:
        """Compare *page* with the document that its URL had before.

        *sketches_links*: whether the row gets a sketch of the links, so that the next visit finds
        new links. A redelivered record gets the same verdict, and changes nothing.
        """
        links = sketch_links(page) if sketches_links else b""
        before, blocks = self._rows.get(_key(page)), unpack_blocks(page.blocks)
        was_news = before is not None and page.fetched_at == before.published_at
        if before and page.fetched_at < before.at:
            return Version(_reported_change(before, page.fetched_at), before, differs=was_news)
        if before is None or not _continues(page, before):
            first_seen = before.first_seen or before.at if before else page.fetched_at
            row = _make_row(page, compare(b"", blocks).state, first_seen, links)
            return Version(None, row)
        if page.fetched_at == before.at and page.digest == before.digest:
            return Version(_reported_change(before, page.fetched_at), before, differs=was_news)
        is_equal, volatile = compare(before.volatile, blocks)
        is_equal = is_equal or page.digest == before.digest
        changed = 0.0 if is_equal else estimate_change(before.sketch, page.sketch)
        new_links = find_new_links(page, before.links) if changed else frozenset()
        row = _make_row(page, volatile, before.first_seen or before.at, links)
        # Changed rules may extract other rows from the same text.
        differs = (page.digest, row.extracted) != (before.digest, before.extracted)
        return Version(changed, _carry_over(before, row, changed), new_links, differs)

    def publish(
        self, page: PageParsed, version: Version, verdict: Verdict, original: str, now: float
    ) -> Iterator[Page]:
        """Yield the document of *page*, if it differs from the published one.

        If *original* is not empty, the document is a copy of it, of the kind that *verdict* states.
        A redelivered visit publishes nothing if a later visit has a result, so an older version
        never replaces a newer one on `pages`. If a crash lost the later result, its record is
        redelivered as well.
        """
        row, at = version.row, page.fetched_at
        if is_overtaken(row, at):
            return
        copy_of = f"{verdict} {original}" if original else ""
        # The last condition is true for a redelivered record, which is published again.
        is_news = (
            version.change != 0.0
            or version.differs
            or copy_of != row.copy_of
            or at == row.published_at
        )
        if is_news:
            row = replace(row, published_at=at, copy_of=copy_of)
        self._rows.put(row)
        if is_news or self._republish:
            yield replace(
                _document(page, version, verdict, now),
                unchanged=not is_news,
                duplicate_of=original if verdict is Verdict.DUPLICATE else "",
                near_duplicate_of=original if verdict is Verdict.NEAR_DUPLICATE else "",
            )

    def hide(self, page: PageParsed, version: Version, reason: Gone) -> Iterator[Tombstone]:
        """Store the row of the hidden *page*; yield a tombstone if it was published until now.

        A redelivered record of the first hidden visit yields the tombstone again.
        """
        row, at = version.row, page.fetched_at
        if row.at == at:
            since = row.missed_since if row.gone else at
            row = replace(row, gone=reason, missed=row.missed + 1, missed_since=since)
            self._rows.put(row)
        if row.gone and row.published_at is not None and row.missed_since == at:
            yield _tombstone(page, row.gone)

    def withdraw(self, url: str, probe: PageParsed) -> Iterator[Tombstone]:
        """Yield a tombstone for the document at *url* if it has the text of *probe*, the host's
        response for missing pages.

        A redelivered record of the probe yields the tombstone again.
        """
        row, at = self._rows.get((probe.crawl, url)), probe.fetched_at
        if row is None:
            return
        text = Signature(digest=probe.digest, simhash=probe.simhash)
        is_published = not row.gone and row.published_at is not None and row.at <= at
        if is_published and is_missing_text(text, row.digest, row.simhash):
            row = replace(
                row, at=at, digest="", gone=Gone.SOFT_404, missed=row.missed + 1, missed_since=at
            )
            self._rows.put(row)
        if (row.gone, row.missed_since) == (Gone.SOFT_404, at):
            yield replace(_tombstone(probe, row.gone), url=url, trace=fingerprint(url))

    def confirm(self, page: PageParsed) -> DocumentRow | None:
        """Record that the document of *page* is unchanged; return its row, if there is one."""
        row = self._rows.get(_key(page))
        if row and not row.gone and row.at < page.fetched_at:
            row = replace(row, at=page.fetched_at, missed=0, missed_since=None)
            self._rows.put(row)
        return row

    def record_miss(self, page: PageParsed, reason: Gone) -> Iterator[Tombstone]:
        """Record that *page* is not a document; yield a tombstone if the document is now gone.

        A redelivered record of the visit that deleted the document yields the tombstone again.
        """
        row, at = self._rows.get(_key(page)), page.fetched_at
        if row is None or (row.gone and row.at != at):
            return
        if not row.gone:
            if at <= row.at:
                return
            row = self._count_miss(row, at, reason)
            self._rows.put(row)
        if row.gone:
            yield _tombstone(page, row.gone)

    def _count_miss(self, row: DocumentRow, at: float, reason: Gone) -> DocumentRow:
        since, missed = row.missed_since, row.missed + 1
        if since is None:
            since = at
        is_long_enough = reason is not Gone.REFUSED or at - since >= self._refused_limit
        is_gone = missed >= GONE_RULES[reason].visits and is_long_enough
        return replace(
            row,
            at=at,
            digest="" if is_gone else row.digest,
            gone=reason if is_gone else "",
            missed=missed,
            missed_since=since,
        )


def _key(page: PageParsed) -> tuple[str, str]:
    return page.crawl, page.visit.url


def _make_row(page: PageParsed, volatile: bytes, first_seen: float, links: bytes) -> DocumentRow:
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
        links=links,
        extracted=digest_of_rows(page.extracted),
    )


def digest_of_rows(rows: tuple[str, ...]) -> str:
    """Return a digest of the rows that the rule `extract` returned for a page; "" without any."""
    return blake2b("\n".join(rows).encode(), digest_size=8).hexdigest() if rows else ""


def _continues(page: PageParsed, before: DocumentRow) -> bool:
    """Return whether *page* is the next version of the row *before*, published or hidden."""
    return not before.gone or (page.noindex and before.gone in HIDDEN_REASONS)


def _tombstone(page: PageParsed, reason: str) -> Tombstone:
    count("gossamer_documents_gone_total", reason=reason, crawl=page.crawl)
    redirects_to = next((link.url for link in page.links if link.redirect), "")
    return Tombstone(
        page.crawl,
        page.visit.url,
        page.site,
        verdict=Verdict.REDIRECT if redirects_to else Verdict.GONE,
        redirects_to=redirects_to,
        reason=reason,
        at=page.fetched_at,
        status=page.status,
        trace=page.visit.trace,
    )


def _reported_change(row: DocumentRow, at: float) -> float | None:
    """Return the change reported for the visit at *at*, so that a redelivery reports it again.

    None if the document changed after that visit. The change is then not needed: the document of
    that visit was published, or a later one is published instead.
    """
    if at > row.last_changed:
        return 0.0
    return row.change if at == row.last_changed else None


def _carry_over(before: DocumentRow, row: DocumentRow, changed: float) -> DocumentRow:
    """Return *row* with the columns of *before* that the new version does not affect."""
    if before.gone:
        missed, since = before.missed, before.missed_since
        row = replace(row, gone=before.gone, missed=missed, missed_since=since)
    return replace(
        row,
        last_changed=row.at if changed else before.last_changed,
        change=changed or before.change,
        published_at=before.published_at,
        copy_of=before.copy_of,
    )


def is_overtaken(row: DocumentRow, at: float) -> bool:
    """Return whether `pages` has the result of a visit later than *at*."""
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
        links=tuple([link.url for link in page.links if link.kind != LinkKind.SCRIPT]),
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
