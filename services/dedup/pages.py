"""Parsed pages: what each kind leads to on `pages.judged`, `pages` and `urls.discovered`.

The parser states the kind of a page. One table here has a handler for each kind.

A page that is not relevant to its crawl is judged, and then treated as one that asks not to be
indexed. A soft 404 is treated so in any case, and its links are not followed.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from gossamer.events import (
    CrawlDefined,
    Event,
    MissingPageRead,
    PageJudged,
    PageKind,
    PageParsed,
    Tombstone,
    Verdict,
)
from gossamer.events.gone import Gone
from gossamer.events.hazards import Hazard, count_hazards
from gossamer.events.outcomes import check_complete
from gossamer.policies import uses_hints, uses_internal_links
from gossamer.relevance import facts_of, parse_relevance
from gossamer.runtime.processor import Key
from gossamer.settings import DedupSettings
from gossamer.store import Store
from gossamer.web.internal_links import sample_links
from gossamer.web.validators import NO_VALIDATORS
from services.dedup.content import Content, Linked
from services.dedup.documents import Documents
from services.dedup.host_facts import HostNames, HostSteps, keys_of
from services.dedup.links import (
    group_by_host,
    images_of,
    internal_links,
    links_of,
    mark_new,
    respell,
)
from services.dedup.listings import Listings
from services.dedup.rows import DocumentRow

NAME = "dedup"
NO_DOCUMENT = ("", Gone.NOINDEX, Gone.LISTING, Gone.IRRELEVANT, Gone.SOFT_404)
"""The states of a document's row that a 304 does not contradict."""
IS_BACK = "its document was gone: to publish it again, it is wanted without condition"
NO_PAGE = "the host answers so where it has no page: it is not published"
UNPUBLISHED = "the page asks not to be indexed: it is not published"
LISTING_VERDICTS: dict[float | None, Verdict] = {
    None: Verdict.FIRST,
    0.0: Verdict.UNCHANGED,
    1.0: Verdict.CHANGED,
}
"""By whether the listing has changed."""
JUDGED = frozenset({PageKind.DOCUMENT, PageKind.SOFT_404})
"""The kinds of pages that the content test compares with others."""


class Taken(NamedTuple):
    """A page as its crawl takes it."""

    page: PageParsed
    hidden: Gone | None = None
    """Why the page is not published."""
    reason: str = ""
    """For people: why the page is not published, or is kept in spite of a failed classifier."""


Answer = Iterator[Event | Tombstone]
Handler = Callable[[Taken, float], Iterable[Event | Tombstone]]


class Pages:
    """Judges parsed pages; *hints_limit*: the most hints for one host from one listing."""

    def __init__(
        self,
        settings: DedupSettings,
        store: Store,
        listings: Listings,
        host_steps: HostSteps,
        host_names: HostNames,
        hints_limit: int,
    ) -> None:
        self._content, self._documents = Content(settings, store), Documents(settings, store)
        self._listings, self._host_steps, self._host_names = listings, host_steps, host_names
        self._url_limit, self._hints_limit = settings.url_limit, hints_limit
        self.blocklist = self._content.blocklist
        self._crawl: CrawlDefined | None = None
        self._expected: dict[str, tuple[PageParsed, Taken]] = {}
        """Visit id → a page whose rows were read ahead, as parsed and as taken."""
        self._handlers = self._bind_handlers()

    def _bind_handlers(self) -> Mapping[PageKind, Handler]:
        handlers: dict[PageKind, Handler] = {
            PageKind.DOCUMENT: self._judge,
            PageKind.SOFT_404: self._judge,
            PageKind.LISTING: self._read_listing,
            PageKind.UNREADABLE: self._report_unreadable,
            PageKind.NOT_MODIFIED: self._confirm,
            PageKind.MOVED: partial(self._redirect, Gone.MOVED),
            PageKind.REDIRECTED: partial(self._redirect, Gone.REDIRECTED),
            PageKind.SOFT_404_REDIRECT: partial(self._miss, Gone.SOFT_404),
            PageKind.REMOVED: partial(self._miss, Gone.REMOVED),
            PageKind.MISSING: partial(self._miss, Gone.MISSING),
            PageKind.REFUSED: partial(self._miss, Gone.REFUSED),
            PageKind.INCONCLUSIVE: lambda taken, now: (),
            PageKind.PROBE: self._report_probe,
        }
        check_complete(PageKind, handlers, "the table of handlers of pages")
        return handlers

    def define(self, crawl: CrawlDefined) -> None:
        """Handle pages by *crawl* from now on, also those whose rows were read ahead."""
        self._crawl, self._expected = crawl, {}
        self._documents.keeps_links = self._hinted

    @property
    def _hinted(self) -> bool:
        return self._crawl is not None and uses_hints(self._crawl.revisit)

    def _sample(self, page: PageParsed) -> tuple[int, ...] | None:
        """Return a sample of the internal links of *page*, if the crawl's policy uses them."""
        if self._crawl is None or not uses_internal_links(self._crawl.revisit):
            return None
        return sample_links(link.url for link in internal_links(page))

    def forget(self) -> None:
        """Drop memory that the store may have discarded."""
        self._expected = {}
        self._content.forget()

    def rows_of(self, pages: Sequence[PageParsed]) -> list[Key]:
        """Return the keys of the rows of the URLs of *pages*."""
        return [*self._documents.reads_of(pages), *self._listings.reads_of(pages)]

    def reads_of(self, pages: Sequence[PageParsed]) -> Iterator[list[Key]]:
        """Yield the keys of the other rows that `handle` reads for *pages*, a group at a time."""
        self._expected, documents, new = {}, list[Linked](), set[str]()
        for page in pages:
            # An error is reported when the page is handled.
            with suppress(Exception):
                taken = self._take(page)
                self._expected[page.visit.id] = page, taken
                if page.kind in JUDGED:
                    documents.append(self._content.with_links(taken.page, self._crawl))
                    if not taken.hidden and self._documents.is_new(page):
                        new.add(page.visit.id)
        for group in self._content.reads_of(pages, documents, new):
            leaders = [key[-1] for row, key, _ in group if row is DocumentRow]
            yield [*group, *keys_of(leaders)]

    def handle(self, parsed: PageParsed, now: float) -> Answer:
        """Yield what follows from *parsed*, by its kind."""
        expected = self._expected.pop(parsed.visit.id, None)
        # A step may have two pages of one visit: a visit may be reported again after a crash.
        taken = expected[1] if expected and expected[0] is parsed else self._take(parsed)
        yield from self._handlers[parsed.kind](taken, now)
        count_hazards(NAME, set(taken.page.hazards).difference(parsed.hazards))

    def _take(self, page: PageParsed) -> Taken:
        """Return *page* as the crawl takes it: its links, and whether it is kept."""
        if page.kind is PageKind.PROBE:
            return Taken(page)
        page = respell(page, self._crawl, self._url_limit)
        if page.kind is PageKind.SOFT_404:
            return Taken(replace(page, noindex=True, links=()), Gone.SOFT_404, NO_PAGE)
        if page.kind is not PageKind.DOCUMENT:
            return Taken(page)
        asked = Taken(page, Gone.NOINDEX, UNPUBLISHED) if page.noindex else Taken(page)
        if self._crawl is None or not self._crawl.relevant:
            return asked
        facts = facts_of(page)
        relevance = parse_relevance(self._crawl.relevant).evaluate(facts)
        if facts.failures:
            page = replace(page, hazards=(*page.hazards, Hazard.CLASSIFIER_FAILED))
        if relevance.inside is None:
            failures = "; ".join(f"{name!r} failed: {why}" for name, why in facts.failures.items())
            return Taken(page, asked.hidden, f"kept, because the classifier {failures}")
        if relevance.inside:
            return asked._replace(page=page)
        links = page.links if self._crawl.follow_irrelevant else ()
        hazards = (*page.hazards, Hazard.IRRELEVANT)
        page = replace(page, noindex=True, links=links, hazards=hazards)
        reason = f"not relevant, by {relevance.rule}: it is not published"
        return Taken(page, asked.hidden or Gone.IRRELEVANT, reason)

    def _judge(self, taken: Taken, now: float) -> Answer:
        page = taken.page
        version = self._documents.version(page)
        content = self._content.judge(page, version.change, self._crawl, now)
        verdict, original = content.verdict, content.original
        yield from mark_new(content.released, version.new_links, page.fetched_at)
        yield from content.parked
        same = original if verdict is Verdict.DUPLICATE else ""
        images = self._host_steps.learn(page, same, self._crawl)
        yield from images_of(page, images, self._crawl, self.blocklist, now)
        replica = self._host_names.learn(page, same, version.change is None)
        hazards = (*content.hazards, *replica)
        count_hazards(NAME, hazards)
        yield _verdict_on(
            page,
            verdict,
            now,
            duplicate_of=same,
            change=version.change,
            near_duplicate_of=original if verdict is Verdict.NEAR_DUPLICATE else "",
            links=sum(len(event.urls) for event in content.released),
            reason="; ".join(filter(None, (content.reason, taken.reason))),
            hazards=page.hazards + hazards,
            internal_links=self._sample(page),
        )
        if taken.hidden:
            yield from self._documents.hide(page, version, taken.hidden)
        else:
            yield from self._documents.publish(page, version, verdict, original, now)

    def _read_listing(self, taken: Taken, now: float) -> Answer:
        page = taken.page
        listed = self._listings.read(page, self._crawl, self.blocklist)
        yield from self._content.follow(page, listed.links, now)
        if self._hinted:
            yield from group_by_host(listed.hints, page.crawl, now, self._hints_limit)
        hazards = (Hazard.BLACKLISTED,) if Hazard.BLACKLISTED in listed.links.hazards else ()
        count_hazards(NAME, hazards)
        yield _verdict_on(
            page,
            LISTING_VERDICTS[listed.change],
            now,
            change=listed.change,
            links=len(listed.links.followed),
            hazards=page.hazards + hazards,
        )
        yield from self._documents.miss(page, Gone.LISTING)

    def _report_unreadable(self, taken: Taken, now: float) -> Answer:
        yield _verdict_on(taken.page, Verdict.UNREADABLE, now)

    def _confirm(self, taken: Taken, now: float) -> Answer:
        page = taken.page
        row = self._documents.confirm(page)
        said: dict[str, Any] = {"digest": row.digest if row else ""}
        if row and row.gone not in NO_DOCUMENT:
            said = {"reason": IS_BACK, "validators": NO_VALIDATORS}
        yield _verdict_on(page, Verdict.UNCHANGED, now, change=0.0, **said)

    def _redirect(self, gone: Gone, taken: Taken, now: float) -> Answer:
        page = taken.page
        count_hazards(NAME, self._host_names.redirected(page))
        links = links_of(page, self._crawl, self.blocklist)
        yield from self._content.follow(page, links, now)
        # The crawl's steps or its limit may leave the target out.
        if page.links:
            yield from self._miss(gone, taken, now)

    def _miss(self, gone: Gone, taken: Taken, now: float) -> Answer:
        page = taken.page
        for tombstone in self._documents.miss(page, gone):
            redirects_to, reason = tombstone.redirects_to, tombstone.reason
            verdict = tombstone.verdict
            yield _verdict_on(page, verdict, now, redirects_to=redirects_to, reason=reason)
            yield tombstone

    def _report_probe(self, taken: Taken, now: float) -> Answer:
        page = taken.page
        yield MissingPageRead(
            crawl=page.crawl,
            at=now,
            site=page.site,
            host=page.host,
            digest=page.digest,
            simhash=page.simhash,
        )


def _verdict_on(page: PageParsed, verdict: Verdict, now: float, **more: Any) -> PageJudged:
    """Return *verdict* on *page*; *more*: fields that say more than the page itself does."""
    fields: dict[str, Any] = {
        "digest": page.digest,
        "reason": page.reason,
        "hazards": page.hazards,
        "validators": page.validators,
    }
    return PageJudged(
        crawl=page.crawl,
        at=now,
        site=page.site,
        host=page.host,
        visit=page.visit,
        verdict=verdict,
        fetched_at=page.fetched_at,
        status=page.status,
        size=page.size,
        expires_at=page.expires_at,
        **{**fields, **more},
    )
