"""Dedup's processor: seeds and links become admitted URLs, parsed pages become verdicts."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import left_out
from gossamer.crawl import accept, known_as
from gossamer.errors import Poison
from gossamer.events import (
    BlocklistChanged,
    CrawlDefined,
    Discovery,
    ErasureBegun,
    Event,
    FleetBegun,
    FleetQuiesced,
    HostOverridden,
    PageJudged,
    PageParsed,
    RetryRequested,
    SeedAdded,
    SiteOverridden,
    SpeedSet,
    Tombstone,
    UrlsAdmitted,
    UrlsDiscovered,
    topics,
)
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import GONE_VERDICTS
from gossamer.events.provenance import added, by_site
from gossamer.policies import uses_hints
from gossamer.runtime.processor import Answer, Handler, Key, Processor, complete
from gossamer.settings import DedupSettings
from gossamer.store import Store
from gossamer.store.claims import Claimant
from gossamer.telemetry import count
from gossamer.web.in_links import linking_site
from gossamer.web.url import BadUrl, canonicalize, fingerprint, host_key, site_of
from services.dedup.erasing import Erasing
from services.dedup.host_facts import Guesses, HostNames, HostSteps
from services.dedup.links import InLinks, hints_of_links
from services.dedup.listings import Listings
from services.dedup.pages import Pages
from services.dedup.seen import Finding, Seen, finder_of


class Dedup(Processor):
    """The URL-seen test and the content test; see the package."""

    name = "dedup"
    reads = (topics.SEEDS, topics.URLS_DISCOVERED, topics.PAGES_PARSED)
    has_other_engine = True

    def __init__(
        self, seen: Seen, store: Store, settings: DedupSettings, hints_limit: int = 5000
    ) -> None:
        """*hints_limit*: the most pages of a host that one sitemap or feed says have changed."""
        self._seen, self._claimant = seen, Claimant(store, self.name)
        self._epochs: dict[int, int] = {}
        """The epoch of each claim."""
        self._in_links, self._guesses, self._listings = InLinks(), Guesses(store), Listings(store)
        self._host_steps = steps = HostSteps(store)
        self._host_names = names = HostNames(store, settings)
        self._pages = Pages(settings, store, self._listings, steps, names, hints_limit)
        self._erasing = Erasing(seen, store)
        self._crawl: CrawlDefined | None = None
        self._handlers = self._bind_handlers()

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Claim *partitions*, and give up all others."""
        self._claimant.release(self._epochs.keys() - partitions)
        epochs = {number: self._epochs[number] for number in partitions & self._epochs.keys()}
        if gained := partitions - epochs.keys():
            epochs |= dict.fromkeys(gained, self._claimant.claim(gained, now))
        self._epochs = epochs
        self._forget()
        self.load()
        self._seen.assign(epochs)

    def load(self) -> None:
        """Read what was erased."""
        self._erasing.erasures.load()

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
        handler = self._handlers.get(type(event))
        return (handler(event, now) if handler else None) or ()

    def _bind_handlers(self) -> Mapping[type[Event], Handler]:
        """Return the handler of each kind of event on the topics that are read and on `control`."""
        handlers: dict[type[Event], Handler] = {
            SeedAdded: self._seed_added,
            UrlsDiscovered: self._urls_discovered,
            PageParsed: self._page_parsed,
            ErasureBegun: self._erasing.begin,
            CrawlDefined: self._crawl_defined,
            BlocklistChanged: lambda event, now: self._pages.blocklist.change(event),
            FleetBegun: lambda event, now: None,  # Compared when a process starts.
            FleetQuiesced: lambda event, now: None,  # The loop goes by it.
            SiteOverridden: lambda event, now: None,
            HostOverridden: lambda event, now: None,
            SpeedSet: lambda event, now: None,
        }
        complete(handlers, self.reads, self.name)
        return handlers

    @property
    def unsettled(self) -> bool:
        """Whether discovered URLs have left something for `settle`: they write nothing themselves,
        since a fleet reads them in another thread than the pages."""
        return self._listings.unsettled or self._erasing.unsettled

    def settle(self) -> None:
        """Write down which sitemaps were named, erase what is to be erased, and append what has
        changed in the URL-seen set."""
        self._listings.settle()
        if self._erasing.settle():
            self._forget()
            self._guesses.forget()
        self._seen.settle()

    @property
    def _hinted(self) -> bool:
        """Whether pages are visited sooner that have changed by what is said of them."""
        return self._crawl is not None and uses_hints(self._crawl.revisit)

    def restart(self, partitions: frozenset[int], now: float) -> None:
        """Drop memory that the store may have discarded."""
        self._seen.discard()
        self._erasing.discard()
        self.load()
        self._forget()

    def _forget(self) -> None:
        for part in (self._pages, self._host_steps, self._host_names):
            part.forget()

    def reads_of(self, events: Sequence[Event]) -> Iterator[list[Key]]:
        """Yield the keys of the rows that links and parsed pages need, a group at a time."""
        for event in events:
            # Digests are written as they are read: not those of pages that are erased in this step.
            if isinstance(event, ErasureBegun):
                self._erasing.erasures.begin(event.erasure)
        found = [one for event in events if isinstance(event, UrlsDiscovered) for one in event.urls]
        pages = [event for event in events if isinstance(event, PageParsed)]
        urls = [one.url for one in found] + [page.visit.url for page in pages]
        yield [
            *self._host_names.reads_of(urls),
            *self._host_steps.reads_of(urls, self._crawl),
            *self._guesses.reads_of(found),
            *self._pages.rows_of(pages),
        ]
        if pages:
            counted = [one for one in pages if not self._erasing.erasures.covers(one.visit)]
            yield from self._pages.reads_of(counted)

    def _seed_added(self, seed: SeedAdded, now: float) -> list[Event]:
        accept(seed)
        try:
            url = canonicalize(seed.url)
        except BadUrl as error:
            raise Poison(str(error)) from error
        if self._crawl is not None:
            url = known_as(self._crawl, url)
            left = left_out(self._crawl, Blocklist(), added(seed, url))
            if left and left.rule is Hazard.OUT_OF_SCOPE:
                raise Poison(f"seed {url} is {left.reason}")
        urls, site = (added(seed, url),), site_of(url)
        return [UrlsDiscovered(crawl=seed.crawl, at=now, site=site, via=seed.via, urls=urls)]

    def _urls_discovered(self, event: UrlsDiscovered, now: float) -> Iterator[Event]:
        finder = finder_of(event.via)
        urls = dict[str, Discovery]()
        for url in event.urls:
            if self._erasing.erasures.of_link(event.via, url.url):
                continue
            found = self._host_steps.known_as(url, event.via, self._crawl)
            found = self._host_names.known_as(found, event.via, self._crawl, now)
            if self._is_let_through(event, found):
                urls.setdefault(found.url, found)
        self._listings.named(event)
        tested = self._seen.test(event.crawl, event.site, [*map(fingerprint, urls)], finder)
        by_finding: dict[Finding, list[Discovery]] = {finding: [] for finding in Finding}
        for found, finding in zip(urls.values(), tested, strict=True):
            by_finding[finding].append(found)
        known = by_finding[Finding.KNOWN]
        if known and (linking := linking_site(event.via, event.site)):
            self._in_links.met(linking, (found.url for found in known))
        if self._hinted:
            yield from hints_of_links(known, event.crawl, now)
        if event.via.startswith("seed@"):
            # Who sows a seed again wants it tried now; the frontier keeps delay and Retry-After.
            yield from _retries(event, known, now)
        yield from _admitted(event, by_finding[Finding.REPEATED], True, now)
        yield from _admitted(event, by_finding[Finding.NEW], False, now)

    def _is_let_through(self, event: UrlsDiscovered, found: Discovery) -> bool:
        if not found.guess:
            return True
        # One that is known costs no visit; or its record comes again, after it was let through.
        if self._seen.knows(event.crawl, event.site, fingerprint(found.url)):
            return True
        return self._guesses.ask(found.url)

    def _page_parsed(self, page: PageParsed, now: float) -> Iterator[Event | Tombstone]:
        if self._erasing.erasures.covers(page.visit):
            return
        self._guesses.answered(page)
        for event in self._pages.handle(page, now):
            if isinstance(event, PageJudged):
                count("gossamer_verdicts_total", verdict=event.verdict)
                if event.verdict not in GONE_VERDICTS:
                    event = replace(event, in_links=self._in_links.take(event.visit.url))
            yield event

    def _crawl_defined(self, event: CrawlDefined, now: float) -> None:
        accept(event)
        self._crawl = event
        self._pages.define(event)


def _admitted(
    event: UrlsDiscovered, urls: Sequence[Discovery], repeated: bool, now: float
) -> Iterator[Event]:
    """Yield the admission of *urls* of the event's site.

    URLs of other sites, such as the original of a replica, go to the URL-seen test of their site.
    """
    if own := tuple(found for found in urls if site_of(found.url) == event.site):
        count("gossamer_urls_admitted_total", len(own))
        yield UrlsAdmitted(
            crawl=event.crawl,
            at=now,
            site=event.site,
            via=event.via,
            urls=own,
            repeated=repeated,
        )
    elsewhere = [found for found in urls if site_of(found.url) != event.site]
    yield from by_site(elsewhere, event.via, event.crawl, now)


def _retries(
    event: UrlsDiscovered, known: Sequence[Discovery], now: float
) -> Iterator[RetryRequested]:
    """Yield a retry of each *known* seed of the event's site."""
    for found in known:
        if site_of(found.url) == event.site:
            host = host_key(found.url)
            yield RetryRequested(
                crawl=event.crawl, at=now, site=event.site, host=host, urls=(found.url,)
            )
