"""The content test: which page leads a text, and whether a page's links are released.

The first page with a text is its leader until it is gone or has another text. Then the next page
with the text becomes the leader. A leader is also replaced by the page that it names as canonical,
once that page has the same text. That page must name itself as canonical, or name no canonical URL
and be in the leader's site. A leader at a replica is replaced by the same path of its original
(`host_names`). If several pages would become the leader at once, one does, and the others are its
duplicates.

Near duplicates are texts of one site whose simhashes differ in at most three bits. A simhash is
split into four bands of 16 bits. Two simhashes that differ in at most three bits are equal in at
least one band. So the candidates are in four rows, which are read together (Manku, Jain and Das
Sarma, *Detecting near-duplicates for web crawling*, 2007). Each row belongs to one site: in ten
million pages of all sites, hundreds would share a band. The number of pages in a row is limited.
Boilerplate may fill a row. A page that is not added to a full row is still added to the rows of its
other bands. A near duplicate is not added to the rows, so a family of pages has only its first page
there. A page is in the rows of its present text alone, so that its erasure finds them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from typing import NamedTuple, Self

from msgspec import Struct
from msgspec.structs import replace
from simhash import Simhash

from gossamer.blocklist import Blocklist
from gossamer.events import CrawlDefined, LinksParked, PageParsed, UrlsDiscovered, Verdict
from gossamer.events.hazards import Hazard
from gossamer.events.pages import LinkKind, PageKind
from gossamer.runtime.processor import Key
from gossamer.services.dedup.documents import Version
from gossamer.services.dedup.host_names import HostNames
from gossamer.services.dedup.links import (
    LinkingPage,
    LinkParking,
    Links,
    digest_text_and_links,
    find_links,
    release,
)
from gossamer.services.dedup.novelty import brings_no_text
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.dedup.scores import PageScore
from gossamer.settings import DedupSettings
from gossamer.store import Row, Store
from gossamer.web.url import Site, site_of

MAX_LEADER_ATTEMPTS = 5
"""Attempts to replace a leader while other instances do the same."""
BANDS, BITS_PER_BAND = 4, 16
MAX_PAGES_PER_BAND = 32
"""Maximum number of pages in a `NearRow`."""


class DigestRow(Row, frozen=True):
    """The leader of a text, or of a text with its links, by digest."""

    table = "digests"
    partition_key = "crawl", "digest"
    holder = ("url",)
    kept_for, aged_by = "dedup.documents_age", "at"
    about = ("url",)

    crawl: str
    digest: str
    url: str
    links: str = ""
    """Digest of the text and the links that the URL released, or "". Rows of texts only."""
    at: float = 0.0
    """Time of the visit by which the URL became the leader."""
    canonical: str = ""
    """Canonical URL that the leader's page names. Rows of texts only."""


class ContentVerdict(NamedTuple):
    """The result of the content test for a page."""

    verdict: Verdict
    original: str
    """The leader of the page, if it is a duplicate or near duplicate; "" otherwise."""
    predecessor: str
    """The page that led the text until the page replaced it; "" without one."""
    released: list[UrlsDiscovered]
    parked: list[LinksParked]
    reason: str
    """Why links were withheld; "" if they were released."""
    hazards: tuple[Hazard, ...]
    score: PageScore
    novelty: float | None
    """The share of new words; 0 for the words of the leader in another order."""


class LinkedPage(NamedTuple):
    """A page, with its links after scope and blocklist."""

    page: PageParsed
    links: Links
    digest: str
    """Digest of the text and the links; "" if no link is followed."""


class Content:
    """The content test, for which all instances share the store."""

    def __init__(self, settings: DedupSettings, store: Store, host_names: HostNames) -> None:
        self._limit, self._canonical = settings.duplicates_limit, settings.canonical
        self._host_names, self._predecessor = host_names, ""
        self._digests, self._documents = store.table(DigestRow), store.table(DocumentRow)
        self._near = Near(settings, store)
        self._parking, self.blocklist = LinkParking(), Blocklist()
        self._linked: dict[str, LinkedPage] = {}
        """Visit id → the page, if its rows were read ahead."""
        self._leaders: dict[DigestRow, DigestRow] = {}
        """Row proposed while reading ahead → the row of the leader in the store."""

    def reads_of(
        self, pages: Sequence[PageParsed], documents: Sequence[LinkedPage], new: Set[str]
    ) -> Iterator[list[Key]]:
        """Yield the keys of the rows that `decide` reads for *documents*, a subset of *pages*.

        *new*: the visit ids of documents whose URL has no row. These documents are proposed as
        leaders here, in one batch, because each conditional write takes the nodes several
        milliseconds.
        """
        self._linked = {one.page.visit.id: one for one in documents}
        revisited = [one for one in documents if one.page.visit.id not in new]
        digests = [
            (one.page.crawl, digest)
            for one in revisited
            for digest in (one.page.digest, one.digest)
            if digest
        ]
        bands = self._near.reads_of([one.page for one in documents])
        yield [*bands, *((DigestRow, key, "") for key in digests)]
        first_visits = {_text_key(page): page.visit.id for page in reversed(pages)}
        proposed = [
            _leader_row(one)
            for one in documents
            if one.page.visit.id in new and first_visits[_text_key(one.page)] == one.page.visit.id
        ]
        stored = self._digests.put_all_if_absent(proposed)
        self._leaders = dict(zip(proposed, stored, strict=True))
        rows = self._digests.get_all([(key, "") for key in digests])
        leaders = {(row.crawl, row.url) for row in (*self._leaders.values(), *rows)}
        for one in documents:
            leaders.update((one.page.crawl, url) for url in self._near.candidate_urls(one.page))
        # The rows of the documents themselves were read before.
        own = {(one.page.crawl, one.page.visit.url) for one in documents}
        yield [(DocumentRow, key, "") for key in leaders - own]

    def clear(self) -> None:
        """Drop pages and leaders that were read ahead, which may differ from the store."""
        self._linked, self._leaders = {}, {}

    def decide(
        self,
        page: PageParsed,
        version: Version,
        novelty: float | None,
        crawl: CrawlDefined | None,
        score_by: Callable[[Verdict], PageScore],
        now: float,
    ) -> ContentVerdict:
        """Decide the verdict on *page*, score it, and release or withhold its links.

        *version*: the comparison with the document that its URL had before.
        *novelty*: the share of its words that are new. *score_by*: scores the page with the
        verdict on it.
        """
        linked = self.attach_links(page, crawl)
        links, digest = linked.links, linked.digest
        is_unchanged = version.change == 0.0
        leader = self._find_leader(linked, is_unchanged)
        verdict, original = self._decide_verdict(page, leader, version)
        self._near.leave_former_text(page)
        score = score_by(verdict)
        if (
            novelty
            and verdict is Verdict.NEAR_DUPLICATE
            and self._near.has_words_of(original, page)
        ):
            novelty = 0.0
        is_copy = brings_no_text(page, verdict, novelty)
        duplicates = page.visit.duplicates + 1 if is_copy else 0
        of_page = LinkingPage(duplicates, novelty, score.value, score.links)
        # A list of known pages has no new text, but it may lead to new pages.
        is_trap = bool(links.followed and original) and duplicates > self._limit
        if is_trap:
            reason = f"more than {self._limit} duplicates in a row led here"
        else:
            reason = self._withhold_links(page, leader, digest, is_unchanged)
        hazards = {
            Hazard.EXACT_DUPLICATE: verdict is Verdict.DUPLICATE,
            Hazard.TRAP_DUPLICATES: is_trap,
            Hazard.BLACKLISTED: not reason and Hazard.BLACKLISTED in links.hazards,
        }
        return ContentVerdict(
            verdict,
            original,
            self._predecessor,
            [] if reason else release(page, links.followed, of_page, now),
            [] if reason else [*self._parking.park(page, links.excluded, of_page, now)],
            reason,
            tuple(hazard for hazard, applies in hazards.items() if applies),
            score,
            novelty,
        )

    def reads_of_similar(self, pages: Sequence[PageParsed]) -> list[Key]:
        """Return the keys of the rows that `pages_like` reads for *pages*."""
        bands = self._near.reads_of(pages)
        return [*bands, *((DigestRow, _text_key(page), "") for page in pages)]

    def pages_like(self, page: PageParsed) -> set[str]:
        """Return the URLs of the leaders with the text of *page*, or with a similar one."""
        leader = self._digests.get(_text_key(page))
        return {*self._near.candidate_urls(page), *([leader.url] if leader else [])}

    def follow(
        self, page: PageParsed, links: Links, now: float
    ) -> Iterator[UrlsDiscovered | LinksParked]:
        """Release the *links* of *page*, which has no text to compare, and park excluded links.

        The target of a redirect has the score of the link that led to the redirect. No page links
        to the entries of a listing.
        """
        score = None if page.kind is PageKind.LISTING else page.visit.score
        of_page = LinkingPage(page.visit.duplicates, score=score)
        yield from release(page, links.followed, of_page, now)
        yield from self._parking.park(page, links.excluded, of_page, now)

    def erase_texts(self, page: PageParsed, crawl: CrawlDefined | None) -> None:
        """Erase the leaders that *page* may have become before a crash, after which it is dropped:
        conditional writes are not buffered."""
        digests = {page.digest, self.attach_links(page, crawl).digest} - {""}
        keys = [((page.crawl, digest), "") for digest in sorted(digests)]
        if not (crawl and crawl.removed):
            visit = page.visit.url, page.fetched_at
            rows = self._digests.get_all(keys)
            keys = [((row.crawl, row.digest), "") for row in rows if (row.url, row.at) == visit]
        for key in keys:
            self._digests.erase(*key)

    def attach_links(self, page: PageParsed, crawl: CrawlDefined | None) -> LinkedPage:
        """Return *page* with the links that *crawl* follows and excludes."""
        linked = self._linked.pop(page.visit.id, None)
        if linked and linked.page is page:
            return linked
        links = find_links(self._drop_canonical_links(page), crawl, self.blocklist)
        return LinkedPage(page, links, digest_text_and_links(page, links))

    def _drop_canonical_links(self, page: PageParsed) -> PageParsed:
        if self._canonical:
            return page
        links = (link for link in page.links if link.kind != LinkKind.CANONICAL)
        return replace(page, links=tuple(links))

    def _decide_verdict(
        self, page: PageParsed, leader: DigestRow, version: Version
    ) -> tuple[Verdict, str]:
        """Return the verdict on *page*, and the original of a duplicate or near duplicate."""
        if leader.url != page.visit.url:
            return Verdict.DUPLICATE, leader.url
        if near := self._near.find_leader(page):
            return Verdict.NEAR_DUPLICATE, near
        if version.change is None:
            return Verdict.FIRST, ""
        is_changed = version.change or version.differs
        return Verdict.CHANGED if is_changed else Verdict.UNCHANGED, ""

    def _find_leader(self, linked: LinkedPage, is_unchanged: bool) -> DigestRow:
        """Return the row of the leader of a page's text, which may be the page itself."""
        page, row = linked.page, _leader_row(linked)
        self._predecessor = ""
        if not page.noindex:
            return self._become_leader(row, page, is_unchanged)
        # A page with `noindex` is not a document and does not lead, so nothing is written.
        leader = self._digests.get(_text_key(page))
        return leader if leader and self._still_leads(leader, page) else replace(row, links="")

    def _become_leader(self, row: DigestRow, page: PageParsed, is_unchanged: bool) -> DigestRow:
        """Propose *row*, of *page*, as the leader; return the row of the leader.

        The row of an unchanged text is usually in the store. It is read first, because a read costs
        the nodes an eighth of a conditional write.
        """
        if (
            is_unchanged
            and (stored := self._digests.get((row.crawl, row.digest)))
            and self._still_leads(stored, page)
        ):
            return stored
        # The text with its links has a row of its own, which decides which page has released the
        # links. That may be another page than the new leader of the text.
        successor = replace(row, links="")
        for _ in range(MAX_LEADER_ATTEMPTS):
            leader = self._leaders.pop(row, None) or self._digests.put_if_absent(row)
            if self._still_leads(leader, page):
                return leader
            if row.digest == page.digest and self._cedes(leader, page):
                self._predecessor = leader.url
            # Not `put`: conditional writes have the nodes' timestamps, which may be ahead of ours.
            self._digests.replace(successor, leader)
        return successor

    def _still_leads(self, leader: DigestRow, page: PageParsed) -> bool:
        """Return whether *leader* still leads the text that *page* has, too."""
        url = page.visit.url
        if leader.url == url:
            return True
        if self._cedes(leader, page):
            return False
        row = self._documents.get((leader.crawl, leader.url))
        # A row from before the leader's visit does not count: the row of that visit is not flushed
        # yet.
        has_text = row is not None and not row.gone and row.digest == page.digest
        return row is None or row.at <= leader.at or has_text

    def _cedes(self, leader: DigestRow, page: PageParsed) -> bool:
        """Return whether *page* leads the text instead of *leader*, which has it, too."""
        url = page.visit.url
        is_canonical = leader.canonical == url and _accepts_canonical(page, leader.url)
        is_original = self._host_names.is_replica_of(leader.url, url, page.fetched_at)
        return (self._canonical and is_canonical) or is_original

    def _withhold_links(
        self, page: PageParsed, leader: DigestRow, digest: str, is_unchanged: bool
    ) -> str:
        """Return why the links of *page* are withheld; "" if *page* releases them.

        *digest*: the digest of the text and the links. The store records which page released them,
        so a redelivered record releases its links again.
        """
        if not digest:
            return "the page asks that its links are not followed" if page.nofollow else ""
        if leader.links != digest:
            row = DigestRow(page.crawl, digest, page.visit.url, at=page.fetched_at)
            leader = self._become_leader(row, page, is_unchanged)
        is_other = leader.url != page.visit.url
        return f"the same links were released from {leader.url}" if is_other else ""


def _text_key(page: PageParsed) -> tuple[str, str]:
    """Return the partition key of the row of the text of *page*."""
    return page.crawl, page.digest


def _leader_row(linked: LinkedPage) -> DigestRow:
    """Return the row with which a page is proposed as the leader of its text."""
    page = linked.page
    return DigestRow(
        page.crawl,
        page.digest,
        page.visit.url,
        linked.digest,
        page.fetched_at,
        page.canonical,
    )


def _accepts_canonical(page: PageParsed, leader: str) -> bool:
    """Return whether *page* agrees to be canonical, as the page at *leader* states."""
    url = page.visit.url
    return page.canonical == url or (not page.canonical and site_of(url) == site_of(leader))


class NearCandidate(Struct, frozen=True, array_like=True):
    """A page that others may be near duplicates of."""

    url: str
    simhash: str
    """16 hexadecimal digits."""
    at: float
    """Time of the visit."""


class NearRow(Row, frozen=True):
    """Pages of a site with simhashes that are equal in one band."""

    table = "near"
    partition_key = "crawl", "band"
    kept_for, aged_by = "dedup.documents_age", "at"
    about = ("pages",)

    crawl: str
    band: str
    """The site, the number of the band from 0, and its 16 bits: `example.org 3 00ff`."""
    pages: tuple[NearCandidate, ...] = ()
    at: float = 0.0
    """Time of the visit to the page that was added last."""

    def without(self, is_erased: Callable[[str], bool]) -> Self | None:
        """See `Row`. A row without pages is erased, because its key names the site."""
        left = super().without(is_erased)
        return left if left and left.pages else None


@lru_cache(maxsize=8192)
def distance(one: str, other: str) -> int:
    """Return the number of bits in which two hexadecimal simhashes differ. The package `simhash`
    counts them; the parser computes simhashes by its definition."""
    return int(_parse_simhash(one).distance(_parse_simhash(other)))


@lru_cache(maxsize=8192)
def _parse_simhash(hexadecimal: str) -> Simhash:
    # The package takes longer to make a simhash than to compare two.
    return Simhash(int(hexadecimal, 16))


def bands(site: Site, simhash: str) -> list[str]:
    """Return the keys of the four bands of *simhash*."""
    digits = BITS_PER_BAND // 4
    return [f"{site} {n} {simhash[n * digits : (n + 1) * digits]}" for n in range(BANDS)]


class Near:
    """Finds near duplicates within a site, which one instance owns."""

    def __init__(self, settings: DedupSettings, store: Store) -> None:
        self._limit = settings.near_distance
        self._rows, self._documents = store.table(NearRow), store.table(DocumentRow)

    def reads_of(self, pages: Sequence[PageParsed]) -> list[Key]:
        """Return the keys of the bands of *pages* and of their former texts."""
        return [
            (NearRow, *key)
            for page in pages
            for key in (*_band_keys(page, page.simhash), *_band_keys(page, self._former(page)))
        ]

    def _former(self, page: PageParsed) -> str:
        """Return the simhash of the text that *page* had before, if it has changed; "" without
        one."""
        row = self._documents.get((page.crawl, page.visit.url))
        return row.simhash if row and row.simhash != page.simhash and _is_later(page, row) else ""

    def candidate_urls(self, page: PageParsed) -> set[str]:
        """Return the URLs with documents that `find_leader` may read."""
        rows = self._rows.get_all(_band_keys(page, page.simhash)) if page.simhash else []
        return {candidate.url for candidate in self._find_candidates(page, rows)}

    def _find_candidates(self, page: PageParsed, rows: Iterable[NearRow]) -> set[NearCandidate]:
        # A page is in up to four of the rows.
        pages = {candidate for row in rows for candidate in row.pages}
        return {one for one in pages if distance(one.simhash, page.simhash) <= self._limit}

    def find_leader(self, page: PageParsed) -> str:
        """Return the URL that *page* is a near duplicate of, or "".

        A page without a leader becomes a candidate for later pages. Pages that were visited later
        are ignored, so a redelivered record gets the same verdict.
        """
        if not page.simhash:
            return ""
        rows = {row.band: row for row in self._rows.get_all(_band_keys(page, page.simhash))}
        candidates, url = self._find_candidates(page, rows.values()), page.visit.url
        own = {candidate.simhash for candidate in candidates if candidate.url == url}
        earlier = {candidate for candidate in candidates if candidate.at <= page.fetched_at}
        leader = "" if own else self._nearest(earlier, page)
        if not (leader or page.noindex or page.simhash in own):
            document = self._documents.get((page.crawl, url))
            if document is None or _is_later(page, document):
                self._add_candidate(page, rows)
        return leader

    def leave_former_text(self, page: PageParsed) -> None:
        """Remove *page* from the rows of the text that it had before. So the row of its document
        leads to all rows that name it, and an erasure is complete."""
        former = self._former(page)
        for row in self._rows.get_all(_band_keys(page, former)):
            pages = tuple(
                one for one in row.pages if (one.url, one.simhash) != (page.visit.url, former)
            )
            if not pages:
                self._rows.erase((row.crawl, row.band))
            elif len(pages) < len(row.pages):
                self._rows.put(replace(row, pages=pages))

    def has_words_of(self, leader: str, page: PageParsed) -> bool:
        """Return whether *page* has the words of its *leader*, in another order: a list that is
        sorted in another way."""
        row = self._documents.get((page.crawl, leader))
        return row is not None and row.sketch == page.sketch

    def _nearest(self, candidates: set[NearCandidate], page: PageParsed) -> str:
        def rank(candidate: NearCandidate) -> tuple[int, float, str]:
            return distance(candidate.simhash, page.simhash), candidate.at, candidate.url

        ranked = sorted(candidates, key=rank)
        return next((one.url for one in ranked if self._is_still_near(one, page)), "")

    def _is_still_near(self, candidate: NearCandidate, page: PageParsed) -> bool:
        """Return whether the document of *candidate* still exists and is still near *page*."""
        row = self._documents.get((page.crawl, candidate.url))
        if row is None or not row.simhash:
            return row is None or not row.gone
        return not row.gone and distance(row.simhash, page.simhash) <= self._limit

    def _add_candidate(self, page: PageParsed, rows: dict[str, NearRow]) -> None:
        added = NearCandidate(page.visit.url, page.simhash, page.fetched_at)
        for band in bands(page.site, page.simhash):
            before = rows[band].pages if band in rows else ()
            pages = tuple(candidate for candidate in before if candidate.url != added.url)
            if len(pages) < MAX_PAGES_PER_BAND:
                self._rows.put(NearRow(page.crawl, band, (*pages, added), added.at))


def _is_later(page: PageParsed, row: DocumentRow) -> bool:
    """Return whether *page* was visited after the visit that *row* is from, or by it."""
    return page.fetched_at >= row.at


def _band_keys(page: PageParsed, simhash: str) -> list[tuple[tuple[str, str], str]]:
    """Return the keys of the bands of *page* with *simhash*; none if that is ""."""
    found = bands(page.site, simhash) if simhash else []
    return [((page.crawl, band), "") for band in found]
