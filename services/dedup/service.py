"""Dedup's processor: from seeds and links to admitted URLs, from parsed pages to verdicts."""

from collections.abc import Iterator, MutableMapping

from gossamer.errors import BadSettings, Poison
from gossamer.events import (
    CrawlDefined,
    Event,
    Page,
    PageJudged,
    PageParsed,
    SeedSown,
    Tombstone,
    UrlsAdmitted,
    UrlsDiscovered,
    Verdict,
    topics,
)
from gossamer.events.outcomes import Hazard, count_hazards
from gossamer.events.provenance import sown
from gossamer.runtime.processor import Answer, Processor
from gossamer.store import Row, Store
from gossamer.telemetry import count
from gossamer.web.http import GONE
from gossamer.web.scope import parse_scope
from gossamer.web.url import BadUrl, canonicalize, fingerprint, site_of
from services.dedup.links import release


class DigestRow(Row, frozen=True):
    """The digest of a text, and the URL that had it first."""

    table = "digests"
    partition_key = "digest"

    digest: str
    url: str


class Dedup(Processor):
    """The URL-seen test and the content test; see the package."""

    name = "dedup"
    reads = (topics.SEEDS, topics.URLS_DISCOVERED, topics.PAGES_PARSED)

    def __init__(self, seen: MutableMapping[str, str], store: Store) -> None:
        self._seen = seen
        self._digests = store.table(DigestRow)
        self._crawl: CrawlDefined | None = None

    def handle(self, event: Event, now: float) -> Answer:
        """Answer a seed, discovered URLs or a parsed page."""
        match event:
            case SeedSown():
                return (self._seed(event, now),)
            case UrlsDiscovered():
                return self._discovered(event, now)
            case PageParsed():
                return self._parsed(event, now)
            case CrawlDefined():
                self._define(event)
        return ()

    def _define(self, crawl: CrawlDefined) -> None:
        try:
            parse_scope(crawl.scope)
        except BadSettings as error:
            raise Poison(str(error)) from error
        self._crawl = crawl

    def _seed(self, seed: SeedSown, now: float) -> UrlsDiscovered:
        try:
            url = canonicalize(seed.url)
        except BadUrl as error:
            raise Poison(str(error)) from error
        if self._crawl is not None:
            judgement = parse_scope(self._crawl.scope).judge(url, seed.depth)
            if not judgement.inside:
                raise Poison(f"seed {url} is out of scope: {judgement.rule}")
        return UrlsDiscovered(
            crawl=seed.crawl, at=now, site=site_of(url), via=seed.via, urls=(sown(seed, url),)
        )

    def _discovered(self, event: UrlsDiscovered, now: float) -> Iterator[Event]:
        fresh = tuple(
            found
            for found in event.urls
            if self._seen.setdefault(fingerprint(found.url), event.via) == event.via
        )
        if fresh:
            count("gossamer_urls_admitted_total", len(fresh))
            yield UrlsAdmitted(
                crawl=event.crawl, at=now, site=event.site, via=event.via, urls=fresh
            )

    def _parsed(self, page: PageParsed, now: float) -> Iterator[Event | Tombstone]:
        if page.status in GONE:
            yield Tombstone(page.visit.url, page.site)
        elif not 200 <= page.status < 300:
            yield from release(page, self._crawl, now)
        else:
            yield from self._document(page, now)

    def _document(self, page: PageParsed, now: float) -> Iterator[Event]:
        first = self._digests.put_if_absent(DigestRow(page.digest, page.visit.url)).url
        duplicate_of = "" if first == page.visit.url else first
        released = [] if duplicate_of else release(page, self._crawl, now)
        verdict = Verdict.DUPLICATE if duplicate_of else Verdict.FIRST
        count("gossamer_verdicts_total", verdict=verdict)
        if duplicate_of:
            count_hazards(self.name, [Hazard.EXACT_DUPLICATE])
        yield from released
        yield _judged(page, verdict, duplicate_of, sum(len(e.urls) for e in released), now)
        yield _published(page, verdict, duplicate_of, now)


def _judged(
    page: PageParsed, verdict: Verdict, duplicate_of: str, links: int, now: float
) -> PageJudged:
    duplicate = (Hazard.EXACT_DUPLICATE,) if duplicate_of else ()
    return PageJudged(
        crawl=page.crawl,
        at=now,
        site=page.site,
        host=page.host,
        visit=page.visit,
        verdict=verdict,
        digest=page.digest,
        duplicate_of=duplicate_of,
        links=links,
        fetched_at=page.fetched_at,
        status=page.status,
        size=page.size,
        hazards=page.hazards + duplicate,
    )


def _published(page: PageParsed, verdict: Verdict, duplicate_of: str, now: float) -> Page:
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
