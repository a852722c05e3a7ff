"""Near duplicates: texts of one site whose simhashes differ in at most three bits.

A simhash is split into four bands of 16 bits. Two simhashes that differ in at most three bits are
equal in at least one band. So the candidates are in four rows, which are read together (Manku, Jain
and Das Sarma, *Detecting near-duplicates for web crawling*, 2007). Each row belongs to one site: in
ten million pages of all sites, hundreds would share a band. The number of pages in a row is
limited. Boilerplate may fill a row. A page that is not added to a full row is still added to the
rows of its other bands. A near duplicate is not added to the rows, so a family of pages has only
its first page there.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from simhash import Simhash

from gossamer.events import PageParsed
from gossamer.runtime.processor import Key
from gossamer.settings import DedupSettings
from gossamer.store import Row, Store
from services.dedup.rows import DocumentRow

BANDS, BITS_PER_BAND = 4, 16
MAX_PAGES_PER_BAND = 32
"""Maximum number of pages in a `NearRow`."""


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

    crawl: str
    band: str
    """The site, the number of the band from 0, and its 16 bits: `example.org 3 00ff`."""
    pages: tuple[NearCandidate, ...] = ()
    at: float = 0.0
    """Time of the visit to the page that was added last."""


def distance(one: str, other: str) -> int:
    """Return the number of bits in which two hexadecimal simhashes differ."""
    return int(Simhash(int(one, 16)).distance(Simhash(int(other, 16))))


def bands(site: str, simhash: str) -> list[str]:
    """Return the keys of the four bands of *simhash*."""
    digits = BITS_PER_BAND // 4
    return [f"{site} {n} {simhash[n * digits : (n + 1) * digits]}" for n in range(BANDS)]


class Near:
    """Finds near duplicates within a site, which one instance owns."""

    def __init__(self, settings: DedupSettings, store: Store) -> None:
        self._limit = settings.near_distance
        self._rows, self._documents = store.table(NearRow), store.table(DocumentRow)

    def reads_of(self, pages: Sequence[PageParsed]) -> list[Key]:
        """Return the keys of the bands of *pages*, which `find_leader` reads."""
        return [(NearRow, *key) for page in pages for key in _keys(page)]

    def candidate_urls(self, page: PageParsed) -> set[str]:
        """Return the URLs with documents that `find_leader` may read."""
        rows = self._rows.get_all(_keys(page))
        return {candidate.url for candidate in self._find_candidates(page, rows)}

    def _find_candidates(self, page: PageParsed, rows: Iterable[NearRow]) -> set[NearCandidate]:
        return {
            candidate
            for row in rows
            for candidate in row.pages
            if distance(candidate.simhash, page.simhash) <= self._limit
        }

    def find_leader(self, page: PageParsed) -> str:
        """Return the URL that *page* is a near duplicate of, or "".

        A page without a leader becomes a candidate for later pages. Pages that were visited later
        are ignored, so a redelivered record gets the same answer.
        """
        if not page.simhash:
            return ""
        rows = {row.band: row for row in self._rows.get_all(_keys(page))}
        candidates, url = self._find_candidates(page, rows.values()), page.visit.url
        if any(candidate.url == url for candidate in candidates):
            return ""
        earlier = {candidate for candidate in candidates if candidate.at <= page.fetched_at}
        leader = self._nearest(earlier, page)
        if not leader and not page.noindex:
            self._add_candidate(page, rows)
        return leader

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


def _keys(page: PageParsed) -> list[tuple[tuple[str, str], str]]:
    """Return the keys of the bands of *page*; none if it has no simhash."""
    found = bands(page.site, page.simhash) if page.simhash else []
    return [((page.crawl, band), "") for band in found]
