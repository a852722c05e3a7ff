"""Dedup's processor: from seeds and links to admitted URLs, from parsed pages to verdicts."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from msgspec.structs import replace

from gossamer.blacklist import Blacklist
from gossamer.bounds import left_out
from gossamer.crawl import accept, known_as
from gossamer.errors import Poison
from gossamer.events import (
    BlacklistChanged,
    CrawlDefined,
    Discovery,
    Event,
    PageJudged,
    PageParsed,
    Purpose,
    RetryAsked,
    SeedSown,
    SiteOverridden,
    Tombstone,
    UrlsAdmitted,
    UrlsDiscovered,
    Verdict,
    topics,
)
from gossamer.events.gone import Gone
from gossamer.events.hazards import Hazard, count_hazards
from gossamer.events.outcomes import GONE_VERDICTS
from gossamer.events.provenance import by_site, sown
from gossamer.policies import uses_hints
from gossamer.runtime.processor import Answer, Key, Processor
from gossamer.settings import DedupSettings
from gossamer.store import Store
from gossamer.store.claims import Claimant
from gossamer.telemetry import count
from gossamer.web.http import REDIRECTS
from gossamer.web.in_links import linking_site
from gossamer.web.url import BadUrl, canonicalize, fingerprint, host_key, site_of
from gossamer.web.validators import NO_VALIDATORS
from services.dedup.content import Content, Judgement, Linked
from services.dedup.documents import Documents, absence
from services.dedup.guesses import Guesses
from services.dedup.hints import group_by_host, hints_of_links, mark_new
from services.dedup.host_names import HostNames, keys_of
from services.dedup.host_steps import HostSteps
from services.dedup.links import InLinks, images_of, links_of, release, respell
from services.dedup.listings import Listings
from services.dedup.relevance import Kept, is_soft_404, kept
from services.dedup.rows import DocumentRow
from services.dedup.seen import Seen, finder_of, is_same
from services.dedup.verdicts import absent, judged, missing, verdict_of

NO_DOCUMENT = ("", Gone.NOINDEX, Gone.LISTING, Gone.IRRELEVANT, Gone.SOFT_404)
"""What a document is gone for, if it is gone, that a 304 has not changed."""
IS_BACK = "its document was gone: to publish it again, it is wanted without condition"

VERDICTS: dict[float | None, Verdict] = {
    None: Verdict.FIRST,
    0.0: Verdict.UNCHANGED,
    1.0: Verdict.CHANGED,
}
"""Of a listing, by whether it has changed."""


class Dedup(Processor):
    """The URL-seen test and the content test; see the package."""

    name = "dedup"
    reads = (topics.SEEDS, topics.URLS_DISCOVERED, topics.PAGES_PARSED)

    def __init__(
        self, seen: Seen, store: Store, settings: DedupSettings, hints_limit: int = 5000
    ) -> None:
        """*hints_limit*: the most pages of a host that one sitemap or feed says have changed."""
        self._seen, self._claimant = seen, Claimant(store, self.name)
        self._epochs: dict[int, int] = {}
        """The epoch of each claim."""
        self._content, self._documents = Content(settings, store), Documents(settings, store)
        self._in_links, self._guesses, self._listings = InLinks(), Guesses(store), Listings(store)
        self._host_steps, self._host_names = HostSteps(store), HostNames(store, settings)
        self._crawl: CrawlDefined | None = None
        self._url_limit, self._hints_limit = settings.url_limit, hints_limit
        self._spelt: dict[str, PageParsed] = {}
        """Pages that are expected, by the ids of their visits."""

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Claim *partitions*, and give up all others."""
        self._claimant.release(self._epochs.keys() - partitions)
        epochs = {number: self._epochs[number] for number in partitions & self._epochs.keys()}
        if gained := partitions - epochs.keys():
            epochs |= dict.fromkeys(gained, self._claimant.claim(gained, now))
        self._epochs = epochs
        self._forget()
        self._seen.assign(epochs)

    def restore(self) -> bool:
        """Read the URL-seen set of the partitions that are new here."""
        return self._seen.restore()

    def note(self) -> str:
        """Return whether the URL-seen set is still being read."""
        return self._seen.note()

    def handle(self, event: Event, now: float) -> Answer:
        """Answer a seed, discovered URLs or a parsed page.

        Raise Poison if its site is of a partition that is not ours.
        """
        site = getattr(event, "site", "")
        if site and not isinstance(event, SiteOverridden) and not self._seen.owns(site):
            raise Poison(
                f"{site} is of another partition than the record: its producer is to be "
                "set so that it chooses partitions by murmur2"
            )
        match event:
            case SeedSown():
                return (self._seed(event, now),)
            case UrlsDiscovered():
                return self._discovered(event, now)
            case PageParsed():
                self._guesses.answered(event)
                return self._counted(self._parsed(event, now))
            case CrawlDefined():
                accept(event)
                self._crawl = event
                self._documents.keeps_links = self._hinted
            case BlacklistChanged():
                self._content.blacklist.change(event)
        return ()

    @property
    def unsettled(self) -> bool:
        """Whether discovered URLs have left something for `settle`: they write nothing themselves,
        since a fleet reads them in another thread than the pages."""
        return self._listings.unsettled

    def settle(self) -> None:
        """Write down which sitemaps were named, and append which URLs were found first."""
        self._listings.settle()
        self._seen.settle()

    @property
    def _hinted(self) -> bool:
        """Whether pages are visited sooner that have changed by what is said of them."""
        return self._crawl is not None and uses_hints(self._crawl.revisit)

    def restart(self, partitions: frozenset[int], now: float) -> None:
        """Drop memory that the store may have discarded."""
        self._seen.discard()
        self._forget()

    def _forget(self) -> None:
        self._spelt = {}
        for part in (self._content, self._host_steps, self._host_names):
            part.forget()

    def reads_of(self, events: Sequence[Event]) -> Iterator[list[Key]]:
        """Yield the keys of the rows that links and parsed pages need, a group at a time."""
        found = [one for event in events if isinstance(event, UrlsDiscovered) for one in event.urls]
        pages = [event for event in events if isinstance(event, PageParsed)]
        urls = [one.url for one in found] + [page.visit.url for page in pages]
        yield [
            *self._host_names.reads_of(urls),
            *self._host_steps.reads_of(urls, self._crawl),
            *self._guesses.reads_of(found),
            *self._documents.reads_of(pages),
            *self._listings.reads_of(pages),
        ]
        if not pages:
            return
        self._spelt, documents, new = {}, list[Linked](), set[str]()
        for page in pages:
            # What is wrong with one is said when it is handled.
            with suppress(Exception):
                known = self._spelt[page.visit.id] = respell(page, self._crawl, self._url_limit)
                if self._is_document(known):
                    documents.append(self._content.with_links(known, self._crawl))
                    if not page.noindex and self._documents.is_new(page):
                        new.add(page.visit.id)
        for group in self._content.reads_of(pages, documents, new):
            leaders = [url for row, url, _ in group if row is DocumentRow]
            yield [*group, *keys_of(leaders)]

    def _is_document(self, page: PageParsed) -> bool:
        """Return whether *page* is a document for sure."""
        is_page = 200 <= page.status < 300 and page.visit.purpose is not Purpose.PROBE
        is_read = not page.listing and Hazard.PARSER_FAULT not in page.hazards
        return is_page and is_read and kept(page, self._crawl).page is page

    def _seed(self, seed: SeedSown, now: float) -> UrlsDiscovered:
        accept(seed)
        try:
            url = canonicalize(seed.url)
        except BadUrl as error:
            raise Poison(str(error)) from error
        if self._crawl is not None:
            url = known_as(self._crawl, url)
            left = left_out(self._crawl, Blacklist(), sown(seed, url))
            if left and left.rule is Hazard.OUT_OF_SCOPE:
                raise Poison(f"seed {url} is {left.reason}")
        return UrlsDiscovered(
            crawl=seed.crawl, at=now, site=site_of(url), via=seed.via, urls=(sown(seed, url),)
        )

    def _discovered(self, event: UrlsDiscovered, now: float) -> Iterator[Event]:
        finder = finder_of(event.via)
        urls = dict[str, Discovery]()
        for url in event.urls:
            found = self._host_steps.known_as(url, event.via, self._crawl)
            found = self._host_names.known_as(found, event.via, self._crawl, now)
            if self._is_let_through(event.site, found):
                urls.setdefault(found.url, found)
        self._listings.named(event)
        first = self._seen.first_finders(event.site, [*map(fingerprint, urls)], finder)
        fresh, known = list[Discovery](), list[Discovery]()
        for found, finder_of_it in zip(urls.values(), first, strict=True):
            if is_same(finder_of_it, finder):
                fresh.append(found)
            else:
                known.append(found)
        if known and (linking := linking_site(event.via, event.site)):
            self._in_links.met(linking, (found.url for found in known))
        if self._hinted:
            yield from hints_of_links(known, event.crawl, now)
        if event.via.startswith("seed@"):
            # Who sows a seed again wants it tried now; the frontier keeps delay and Retry-After.
            yield from _retries(event, known, now)
        # The original of a replica may be of another site, whose URLs are tested there.
        own = [found for found in fresh if site_of(found.url) == event.site]
        if own:
            count("gossamer_urls_admitted_total", len(own))
            yield UrlsAdmitted(
                crawl=event.crawl, at=now, site=event.site, via=event.via, urls=tuple(own)
            )
        if len(own) < len(fresh):
            elsewhere = [found for found in fresh if site_of(found.url) != event.site]
            yield from by_site(elsewhere, event.via, event.crawl, now)

    def _is_let_through(self, site: str, found: Discovery) -> bool:
        # One that is known costs no visit; or its record comes again, after it was let through.
        if not found.guess or self._seen.knows(site, fingerprint(found.url)):
            return True
        return self._guesses.ask(found.url)

    def _parsed(self, parsed: PageParsed, now: float) -> Iterator[Event | Tombstone]:
        if parsed.visit.purpose is Purpose.PROBE:
            yield from missing(parsed, now)
            return
        known = self._spelt.pop(parsed.visit.id, None)
        page = known or respell(parsed, self._crawl, self._url_limit)
        gone = absence(page)
        if page.status == 304 and page.visit.conditions:
            yield self._not_modified(page, now)
        elif 200 <= page.status < 300 and Hazard.PARSER_FAULT in page.hazards:
            yield verdict_of(page, Verdict.UNREAD, now)
        elif 200 <= page.status < 300 and page.listing:
            yield from self._listed(page, now)
        elif 200 <= page.status < 300:
            taken = kept(page, self._crawl)
            yield from self._judge(taken, gone or Gone.IRRELEVANT, now)
            page, gone = taken.page, None
        elif page.status in REDIRECTS and not is_soft_404(page):
            count_hazards(self.name, self._host_names.redirected(page))
            links = links_of(page, self._crawl, self._content.blacklist)
            duplicates = page.visit.duplicates
            yield from release(page, links.followed, duplicates, now)
            yield from self._content.aside.set_aside(page, links.beyond, duplicates, now)
        count_hazards(self.name, set(page.hazards).difference(parsed.hazards))
        for tombstone in self._documents.miss(page, gone) if gone else ():
            yield from absent(page, tombstone, now)
            yield tombstone

    def _listed(self, page: PageParsed, now: float) -> Iterator[Event]:
        listed = self._listings.read(page, self._crawl, self._content.blacklist)
        duplicates = page.visit.duplicates
        yield from release(page, listed.links.followed, duplicates, now)
        yield from self._content.aside.set_aside(page, listed.links.beyond, duplicates, now)
        if self._hinted:
            yield from group_by_host(listed.hints, page.crawl, now, self._hints_limit)
        hazards = (Hazard.BLACKLISTED,) if Hazard.BLACKLISTED in listed.links.hazards else ()
        count_hazards(self.name, hazards)
        yield replace(
            verdict_of(page, VERDICTS[listed.change], now),
            change=listed.change,
            links=len(listed.links.followed),
            hazards=page.hazards + hazards,
        )

    def _judge(self, taken: Kept, hidden: Gone, now: float) -> Iterator[Event | Tombstone]:
        page = taken.page
        version = self._documents.version(page)
        judgement = self._content.judge(page, version.change, self._crawl, now)
        count_hazards(self.name, judgement.hazards)
        yield from mark_new(judgement.released, version.new_links, page.fetched_at)
        yield from judgement.set_aside
        yield from self._learn(page, judgement, now)
        judgement = self._named(page, judgement, version.change is None)
        yield judged(taken, judgement, version.change, now)
        verdict, original = judgement.verdict, judgement.original
        if page.noindex:
            yield from self._documents.hide(page, version, hidden)
        else:
            yield from self._documents.publish(page, version, verdict, original, now)

    def _learn(self, page: PageParsed, judgement: Judgement, now: float) -> list[UrlsDiscovered]:
        """Learn from *page* how its host spells URLs; return what is to be visited to know it."""
        original = judgement.original if judgement.verdict is Verdict.DUPLICATE else ""
        images = self._host_steps.learn(page, original, self._crawl)
        return images_of(page, images, self._crawl, self._content.blacklist, now)

    def _named(self, page: PageParsed, judgement: Judgement, is_new: bool) -> Judgement:
        """Learn from *page* whose its host is; return *judgement* with the hazard, if it is one."""
        same = judgement.original if judgement.verdict is Verdict.DUPLICATE else ""
        hazards = self._host_names.learn(page, same, is_new)
        count_hazards(self.name, hazards)
        return judgement._replace(hazards=(*judgement.hazards, *hazards))

    def _not_modified(self, page: PageParsed, now: float) -> PageJudged:
        row = self._documents.confirm(page)
        verdict = replace(verdict_of(page, Verdict.UNCHANGED, now), change=0.0)
        if row and row.gone not in NO_DOCUMENT:
            return replace(verdict, reason=IS_BACK, validators=NO_VALIDATORS)
        return replace(verdict, digest=row.digest if row else "")

    def _counted(self, answer: Iterator[Event | Tombstone]) -> Iterator[Event | Tombstone]:
        """Count the verdict of *answer*, which also tells of the links to its page."""
        for event in answer:
            if isinstance(event, PageJudged):
                count("gossamer_verdicts_total", verdict=event.verdict)
                if event.verdict not in GONE_VERDICTS:
                    event = replace(event, in_links=self._in_links.take(event.visit.url))
            yield event


def _retries(event: UrlsDiscovered, known: Sequence[Discovery], now: float) -> Iterator[RetryAsked]:
    """Yield a retry of each *known* seed of the event's site."""
    for found in known:
        if site_of(found.url) == event.site:
            host = host_key(found.url)
            yield RetryAsked(
                crawl=event.crawl, at=now, site=event.site, host=host, urls=(found.url,)
            )
