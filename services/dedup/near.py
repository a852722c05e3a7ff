"""Near duplicates: texts of one site whose simhashes differ in at most three bits.

A simhash is cut into four bands of 16 bits. Two that differ in at most three bits are equal in one
band at least, so those that may be near are in four rows, which are read at once (Manku, Jain and
Das Sarma, *Detecting near-duplicates for web crawling*, 2007). The rows are of one site: at ten
million pages a band of all sites would be equal in hundreds of them. A row takes no more than a few
pages; what fills it is boilerplate, and who finds it full is in the other bands. Only who is near
nobody gets there, so a family of pages has its first in the rows, and no others.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from simhash import Simhash

from gossamer.events import PageParsed
from gossamer.runtime.processor import Key
from gossamer.settings import DedupSettings
from gossamer.store import Row, Store
from services.dedup.rows import DocumentRow

BANDS, BITS = 4, 16
MOST = 32
"""Pages in a row."""


class Kept(Struct, frozen=True, array_like=True):
    """A page that others may be near."""

    url: str
    simhash: str
    """16 hexadecimal digits."""
    at: float
    """When it was visited."""


class NearRow(Row, frozen=True):
    """Pages of a site whose simhashes are equal in one band."""

    table = "near"
    partition_key = "crawl", "band"
    kept_for, aged_by = "dedup.documents_age", "at"

    crawl: str
    band: str
    """The site, the number of the band from 0, and its 16 bits: `example.org 3 00ff`."""
    pages: tuple[Kept, ...] = ()
    at: float = 0.0
    """When the page was visited that was added last."""


def distance(one: str, other: str) -> int:
    """Return in how many bits two simhashes, in hexadecimal, differ."""
    return int(Simhash(int(one, 16)).distance(Simhash(int(other, 16))))


def bands(site: str, simhash: str) -> list[str]:
    """Return the keys of the rows in which *simhash* is looked up."""
    digits = BITS // 4
    return [f"{site} {n} {simhash[n * digits : (n + 1) * digits]}" for n in range(BANDS)]


class Near:
    """Finds near duplicates; one instance at a time has a site."""

    def __init__(self, settings: DedupSettings, store: Store) -> None:
        self._limit = settings.near_distance
        self._rows, self._documents = store.table(NearRow), store.table(DocumentRow)

    def reads_of(self, pages: Sequence[PageParsed]) -> list[Key]:
        """Return the keys of the bands of *pages*, which `leader` reads."""
        return [(NearRow, *key) for page in pages for key in _keys(page)]

    def near(self, page: PageParsed) -> set[str]:
        """Return the URLs whose documents `leader` may ask for."""
        return {kept.url for kept in self._near(page, self._rows.get_all(_keys(page)))}

    def _near(self, page: PageParsed, rows: Iterable[NearRow]) -> set[Kept]:
        return {
            kept
            for row in rows
            for kept in row.pages
            if distance(kept.simhash, page.simhash) <= self._limit
        }

    def leader(self, page: PageParsed) -> str:
        """Return the URL that *page* is a near duplicate of; "" if of none: it is kept then.

        A record that comes again finds what it found before: those that were visited later do not
        count.
        """
        if not page.simhash:
            return ""
        rows = {row.band: row for row in self._rows.get_all(_keys(page))}
        near, url = self._near(page, rows.values()), page.visit.url
        if any(kept.url == url for kept in near):
            return ""
        first = self._first({kept for kept in near if kept.at <= page.fetched_at}, page)
        if not first and not page.noindex:
            self._keep(page, rows)
        return first

    def _first(self, near: set[Kept], page: PageParsed) -> str:
        def rank(kept: Kept) -> tuple[int, float, str]:
            return distance(kept.simhash, page.simhash), kept.at, kept.url

        return next((kept.url for kept in sorted(near, key=rank) if self._stands(kept, page)), "")

    def _stands(self, kept: Kept, page: PageParsed) -> bool:
        """Return whether *kept* is still there, with a text that *page* is near."""
        row = self._documents.get((page.crawl, kept.url))
        if row is None or not row.simhash:
            return row is None or not row.gone
        return not row.gone and distance(row.simhash, page.simhash) <= self._limit

    def _keep(self, page: PageParsed, rows: dict[str, NearRow]) -> None:
        own = Kept(page.visit.url, page.simhash, page.fetched_at)
        for band in bands(page.site, page.simhash):
            known = rows[band].pages if band in rows else ()
            pages = tuple(kept for kept in known if kept.url != own.url)
            if len(pages) < MOST:
                self._rows.put(NearRow(page.crawl, band, (*pages, own), own.at))


def _keys(page: PageParsed) -> list[tuple[tuple[str, str], str]]:
    """Return the keys of the rows in which *page* is looked up."""
    found = bands(page.site, page.simhash) if page.simhash else []
    return [((page.crawl, band), "") for band in found]
