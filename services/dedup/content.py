"""The content test: who had a text first, and whose links of it are followed."""

from typing import NamedTuple

from gossamer.events import CrawlDefined, PageParsed, UrlsDiscovered
from gossamer.events.outcomes import Hazard
from gossamer.settings import DedupSettings
from gossamer.store import Row, Store
from services.dedup.links import digest_with_links, followed, release


class DigestRow(Row, frozen=True):
    """The digest of a text, or of a text with its links, and the URL that had it first."""

    table = "digests"
    partition_key = "digest"

    digest: str
    url: str
    links: str = ""
    """Of a text: its digest with the links that the URL released; "" if it released none."""


class Judgement(NamedTuple):
    """What the content test says of a page."""

    duplicate_of: str
    """The URL that had the text before; "" if none had."""
    released: list[UrlsDiscovered]
    reason: str
    """Why links were held back, where a rule did."""
    hazards: tuple[Hazard, ...]


class Content:
    """The content test of all instances: the store says who was first."""

    def __init__(self, settings: DedupSettings, store: Store) -> None:
        self._limit = settings.duplicates_limit
        self._digests = store.table(DigestRow)

    def judge(self, page: PageParsed, crawl: CrawlDefined | None, now: float) -> Judgement:
        """Say whether *page* is a duplicate, and release its links unless somebody did."""
        url, found = page.visit.url, followed(page, crawl)
        links = digest_with_links(page, found)
        first = self._digests.put_if_absent(DigestRow(page.digest, url, links))
        duplicate = first.url != url
        duplicates = page.visit.duplicates + 1 if duplicate else 0
        trapped = bool(found) and duplicates > self._limit
        reason = self._trap() if trapped else self._held_back(page, first, links)
        hazards = {Hazard.EXACT_DUPLICATE: duplicate, Hazard.TRAP_DUPLICATES: trapped}
        return Judgement(
            first.url if duplicate else "",
            [] if reason else release(page, found, duplicates, now),
            reason,
            tuple(hazard for hazard, met in hazards.items() if met),
        )

    def _trap(self) -> str:
        return f"more than {self._limit} duplicates in a row led here"

    def _held_back(self, page: PageParsed, first: DigestRow, links: str) -> str:
        """Return why the links of *page* are not released, or "" and remember that they are.

        Who asks again has released them, unless it died before: so it releases them again.
        """
        if not links:
            return "the page asks that its links are not followed" if page.nofollow else ""
        if first.links != links:
            first = self._digests.put_if_absent(DigestRow(links, page.visit.url))
        released = first.url != page.visit.url
        return f"the same links were released from {first.url}" if released else ""
