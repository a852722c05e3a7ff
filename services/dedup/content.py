"""The content test: who had a text first, or nearly, and whose links of it are followed.

Who was first leads until it is gone, or has another text: then whoever comes next with the text
takes its place. So does the page that the leader itself names as the canonical one, unless it names
another, or is of another site and does not say the same. Of several who
would take a place at once one does, and the others are its duplicates.
"""

from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.events import CrawlDefined, LinksParked, PageParsed, UrlsDiscovered, Verdict
from gossamer.events.hazards import Hazard
from gossamer.events.pages import LinkKind
from gossamer.runtime.processor import Key
from gossamer.settings import DedupSettings
from gossamer.store import Row, Store
from gossamer.web.url import site_of
from services.dedup.links import LinkParking, Links, digest_with_links, links_of, release
from services.dedup.near import Near
from services.dedup.rows import DocumentRow

ATTEMPTS = 5
"""How often a place is asked for that others take, and lose, or that is left open, meanwhile."""


class DigestRow(Row, frozen=True):
    """The digest of a text, or of a text with its links, and the URL that had it first."""

    table = "digests"
    partition_key = "crawl", "digest"
    holder = ("url",)
    kept_for, aged_by = "dedup.documents_age", "at"

    crawl: str
    digest: str
    url: str
    links: str = ""
    """Of a text: its digest with the links that the URL released; "" if it released none."""
    at: float = 0.0
    """When the URL was visited that has it by this row."""
    canonical: str = ""
    """Of a text: which URL it should have instead, as its page says."""


class ContentVerdict(NamedTuple):
    """What the content test says of a page."""

    verdict: Verdict
    original: str
    """The URL that had the text before, or nearly the same one; "" if none had."""
    released: list[UrlsDiscovered]
    parked: list[LinksParked]
    reason: str
    """Why links were held back, where a rule did."""
    hazards: tuple[Hazard, ...]


class Linked(NamedTuple):
    """A page, and its links as they are followed."""

    page: PageParsed
    links: Links
    digest: str
    """Of its text with its links."""


class Content:
    """The content test of all instances: the store says who was first."""

    def __init__(self, settings: DedupSettings, store: Store) -> None:
        self._limit, self._canonical = settings.duplicates_limit, settings.canonical
        self._digests, self._documents = store.table(DigestRow), store.table(DocumentRow)
        self._near = Near(settings, store)
        self._parking, self.blocklist = LinkParking(), Blocklist()
        self._linked: dict[str, Linked] = {}
        """By the id of its visit."""
        self._claimed: dict[DigestRow, DigestRow] = {}
        """Who is first, by what was claimed."""

    def reads_of(
        self, pages: Sequence[PageParsed], documents: Sequence[Linked], new: Set[str]
    ) -> Iterator[list[Key]]:
        """Yield the keys of the rows that `judge` reads for *documents*, some of *pages*.

        *new* has the visit ids of documents whose URL was never published. Their texts are claimed
        here in one batch, because each conditional write takes the nodes several milliseconds.
        """
        self._linked = {one.page.visit.id: one for one in documents}
        known = [one for one in documents if one.page.visit.id not in new]
        digests = [
            (one.page.crawl, digest)
            for one in known
            for digest in (one.page.digest, one.digest)
            if digest
        ]
        bands = self._near.reads_of([one.page for one in documents])
        yield [*bands, *((DigestRow, key, "") for key in digests)]
        firsts = {_text(page): page.visit.id for page in reversed(pages)}
        asked = (one for one in documents if one.page.visit.id in new)
        own = [_own(one) for one in asked if firsts[_text(one.page)] == one.page.visit.id]
        self._claimed = dict(zip(own, self._digests.put_all_if_absent(own), strict=True))
        kept = self._digests.get_all([(key, "") for key in digests])
        leaders = {(first.crawl, first.url) for first in (*self._claimed.values(), *kept)}
        for one in documents:
            leaders.update((one.page.crawl, url) for url in self._near.near(one.page))
        yield [(DocumentRow, key, "") for key in leaders]

    def forget(self) -> None:
        """Drop claims that were not judged yet: the store may have discarded them."""
        self._linked, self._claimed = {}, {}

    def judge(
        self, page: PageParsed, change: float | None, crawl: CrawlDefined | None, now: float
    ) -> ContentVerdict:
        """Say whether others had the text of *page* or its links, and release these if none had.

        *change* is how much it has changed since the visit before; None if there was none.
        """
        linked = self.with_links(page, crawl)
        links, with_links = linked.links, linked.digest
        was_there = change == 0.0
        first = self._leader(linked, was_there)
        verdict, original = self._verdict(page, first, change)
        duplicates = page.visit.duplicates + 1 if original else 0
        trapped = bool(links.followed) and duplicates > self._limit
        reason = self._trap() if trapped else self._held_back(page, first, with_links, was_there)
        exact = verdict is Verdict.DUPLICATE
        hazards = {
            Hazard.EXACT_DUPLICATE: exact,
            Hazard.TRAP_DUPLICATES: trapped,
            Hazard.BLACKLISTED: not reason and Hazard.BLACKLISTED in links.hazards,
        }
        return ContentVerdict(
            verdict,
            original,
            [] if reason else release(page, links.followed, duplicates, now),
            [] if reason else [*self._parking.park(page, links.beyond, duplicates, now)],
            reason,
            tuple(hazard for hazard, met in hazards.items() if met),
        )

    def follow(
        self, page: PageParsed, links: Links, now: float
    ) -> Iterator[UrlsDiscovered | LinksParked]:
        """Release the *links* of *page*, which has no text to compare, and park the others."""
        duplicates = page.visit.duplicates
        yield from release(page, links.followed, duplicates, now)
        yield from self._parking.park(page, links.beyond, duplicates, now)

    def with_links(self, page: PageParsed, crawl: CrawlDefined | None) -> Linked:
        """Return *page* with its links as *crawl* follows them."""
        known = self._linked.pop(page.visit.id, None)
        if known and known.page is page:
            return known
        links = links_of(self._followed(page), crawl, self.blocklist)
        return Linked(page, links, digest_with_links(page, links))

    def _followed(self, page: PageParsed) -> PageParsed:
        if self._canonical:
            return page
        others = (link for link in page.links if link.kind != LinkKind.CANONICAL)
        return replace(page, links=tuple(others))

    def _verdict(
        self, page: PageParsed, first: DigestRow, change: float | None
    ) -> tuple[Verdict, str]:
        if first.url != page.visit.url:
            return Verdict.DUPLICATE, first.url
        if near := self._near.leader(page):
            return Verdict.NEAR_DUPLICATE, near
        if change is None:
            return Verdict.FIRST, ""
        return Verdict.CHANGED if change else Verdict.UNCHANGED, ""

    def _leader(self, linked: Linked, was_there: bool) -> DigestRow:
        """Return the row of who has the text of a page first: its own, if nobody else does now."""
        page, own = linked.page, _own(linked)
        if not page.noindex:
            return self._claim(own, page, was_there)
        # It is no document, and leads none: nothing is written.
        first = self._digests.get(_text(page))
        return first if first and self._stands(first, page) else replace(own, links="")

    def _claim(self, own: DigestRow, page: PageParsed, was_there: bool) -> DigestRow:
        """Return the row of who is first now, *own* if nobody was.

        Where the text *was_there* at the visit before, so was the row: to read it costs the nodes
        an eighth of what it costs them to decide.
        """
        if (
            was_there
            and (known := self._digests.get((own.crawl, own.digest)))
            and self._stands(known, page)
        ):
            return known
        # The links may have been released by yet another: that is asked for by themselves.
        heir = replace(own, links="")
        for _ in range(ATTEMPTS):
            first = self._claimed.pop(own, None) or self._digests.put_if_absent(own)
            if self._stands(first, page):
                return first
            # Not `put`: what the nodes have decided has their time, and they may be ahead of ours.
            self._digests.replace(heir, first)
        return heir

    def _stands(self, first: DigestRow, page: PageParsed) -> bool:
        """Return whether *first* still comes before *page*."""
        url = page.visit.url
        if first.url == url:
            return True
        if first.canonical == url and self._canonical and _agrees(page, first.url):
            return False
        row = self._documents.get((first.crawl, first.url))
        # An older row is from before its claim: the newer one is not written yet.
        has_it = row is not None and not row.gone and row.digest == page.digest
        return row is None or row.at <= first.at or has_it

    def _trap(self) -> str:
        return f"more than {self._limit} duplicates in a row led here"

    def _held_back(self, page: PageParsed, first: DigestRow, links: str, was_there: bool) -> str:
        """Return why the links of *page* are not released, or "" and remember that they are.

        Who asks again has released them, unless it died before: so it releases them again.
        """
        if not links:
            return "the page asks that its links are not followed" if page.nofollow else ""
        if first.links != links:
            own = DigestRow(page.crawl, links, page.visit.url, at=page.fetched_at)
            first = self._claim(own, page, was_there)
        released = first.url != page.visit.url
        return f"the same links were released from {first.url}" if released else ""


def _text(page: PageParsed) -> tuple[str, str]:
    """Return the partition key of the row about the text of *page*."""
    return page.crawl, page.digest


def _own(linked: Linked) -> DigestRow:
    page = linked.page
    return DigestRow(
        page.crawl,
        page.digest,
        page.visit.url,
        linked.digest,
        page.fetched_at,
        page.canonical,
    )


def _agrees(page: PageParsed, other: str) -> bool:
    """Return whether *page* is, by its own word, what the page at *other* says: the better name."""
    own = page.visit.url
    return page.canonical == own or (not page.canonical and site_of(own) == site_of(other))
