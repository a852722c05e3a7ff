"""Dedup's processor: it admits seeds and links, and decides the verdicts on parsed pages."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import exclusion_of
from gossamer.crawl import accept, crawl_url
from gossamer.errors import Poison
from gossamer.events import (
    DEFAULT_CRAWL,
    BlocklistChanged,
    ChangeExpires,
    CrawlDefined,
    Discovery,
    ErasureBegun,
    Event,
    FleetBegun,
    FleetPaused,
    FleetQuiesced,
    HostOverridden,
    HostsCompared,
    PageDeduplicated,
    PageKind,
    PageParsed,
    Purpose,
    RetryRequested,
    SeedAdded,
    SeedsApplied,
    SiteOverridden,
    SpeedSet,
    Tombstone,
    UrlsAdmitted,
    UrlsDiscovered,
    topics,
)
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import GONE_VERDICTS
from gossamer.events.pages import group_by_site, is_in_content, seed_discovery
from gossamer.events.topics import PAGES, topic_of_pages
from gossamer.log import Message
from gossamer.log.codec import split_key
from gossamer.policies import uses_hints
from gossamer.runtime.processor import Handler, Key, Output, Processor, check_handlers
from gossamer.services.dedup.erasing import Erasing
from gossamer.services.dedup.guesses import Guesses
from gossamer.services.dedup.host_names import HostNames
from gossamer.services.dedup.host_steps import HostSteps
from gossamer.services.dedup.links import InLinks, KnownUrl, hints_of_links, make_known_urls
from gossamer.services.dedup.listings import Listings
from gossamer.services.dedup.pages import Pages
from gossamer.services.dedup.promotions import Promotions
from gossamer.services.dedup.requisites import Requisites, split_requisites
from gossamer.services.dedup.rows import HostRules
from gossamer.services.dedup.seen import Finding, SeenSet, hash_finder
from gossamer.settings import ArchiveSettings, DedupSettings
from gossamer.store import Store
from gossamer.store.claims import Claimant
from gossamer.telemetry import count
from gossamer.web.links import linking_site
from gossamer.web.url import BadUrl, HostKey, Site, canonicalize, fingerprint, host_key, site_of

MAX_HINTS = 5000
"""Hints for one host from one sitemap or feed."""

EVENTS_OF_CRAWLS = (SeedAdded, UrlsDiscovered, PageParsed)
"""Events that concern their crawl only. Others concern hosts, or erase data of a removed crawl."""


class Dedup(Processor):
    """The URL-seen test and the content test; see `gossamer.services.dedup`."""

    name = "dedup"
    reads = (topics.SEEDS, topics.URLS_DISCOVERED, topics.PAGES_PARSED)
    has_other_engine = True

    def __init__(
        self,
        seen: SeenSet,
        store: Store,
        settings: DedupSettings,
        hints_limit: int = MAX_HINTS,
        archive: ArchiveSettings | None = None,
        tests_links: bool = False,
    ) -> None:
        """*hints_limit*: the maximum number of hints for one host from one sitemap or feed;
        *archive*: which requisites are archived, by default none; *tests_links*: whether the links
        of a page are tested with the page if this instance serves their site. Other links, and the
        URLs of listings, which are many, go over `urls.discovered`."""
        self._seen, self._claimant = seen, Claimant(store, self.name)
        self._epochs: dict[int, int] = {}
        """Partition → the epoch of its claim."""
        self._in_links, self._guesses, self._listings = InLinks(), Guesses(store), Listings(store)
        self._host_steps = steps = HostSteps(store)
        self._host_names = names = HostNames(store, settings)
        self._requisites = Requisites(archive or ArchiveSettings(), seen, settings.url_limit)
        self._known, self._tests_links = make_known_urls(), tests_links
        self._crawls = dict[str, CrawlDefined]()
        """The definitions of all crawls by their ids; removed crawls too."""
        self._removing = set[str]()
        """The crawls with an erasure that removes them."""
        self._pages = Pages(
            settings,
            store,
            self._crawls,
            self._listings,
            steps,
            names,
            self._requisites,
            hints_limit,
        )
        self._erasing, self._promotions = Erasing(seen, store, self._requisites), Promotions()
        self._handlers = self._bind_handlers()

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Claim *partitions*, and release all other partitions."""
        self._claimant.release(self._epochs.keys() - partitions)
        epochs = {number: self._epochs[number] for number in partitions & self._epochs.keys()}
        if gained := partitions - epochs.keys():
            epochs |= dict.fromkeys(gained, self._claimant.claim(gained, now))
        self._epochs = epochs
        self._clear_caches()
        self.load()
        self._seen.assign(epochs)

    def load(self) -> None:
        """Load the list of erasures."""
        self._erasing.erasures.load()

    def restore(self) -> frozenset[int]:
        """Read a part of the URL-seen set; return the partitions in which it is not complete."""
        return self._seen.restore()

    def note(self) -> str:
        """Return how much of the URL-seen set is still to be read; "" if it is complete."""
        return self._seen.note()

    def handle(self, event: Event, now: float) -> Output:
        """Handle a seed, discovered URLs, a parsed page or a control event.

        Events of removed crawls are dropped. Raise Poison if the event's site is in a partition of
        another instance.
        """
        if self._is_dropped(event):
            if isinstance(event, PageParsed):
                self._pages.drop(event)
            return ()
        site = Site(getattr(event, "site", ""))
        if site and not isinstance(event, SiteOverridden) and not self._seen.owns(site):
            raise Poison(
                f"{site} does not belong to the partition of this record: "
                "the producer must choose partitions by murmur2"
            )
        handler = self._handlers.get(type(event))
        return (handler(event, now) if handler else None) or ()

    def knows(self, crawl: str) -> bool:
        """Return whether seeds of *crawl* are accepted: it is defined, or it is the default crawl,
        whose seeds wait in the frontier if no crawl is defined yet."""
        return crawl in self._crawls or (crawl == DEFAULT_CRAWL and not self._crawls)

    def route(self, message: Message) -> Message:
        """Return *message*, or a copy for the topic that the pages of its crawl have alone."""
        if message.topic != PAGES.name:
            return message
        crawl = self._crawls.get(split_key(message.key)[0])
        return dataclasses.replace(message, topic=topic_of_pages(crawl)) if crawl else message

    def _is_dropped(self, event: Event) -> bool:
        """Return whether *event* belongs to a removed crawl, and concerns nobody else."""
        crawl = self._crawls.get(event.crawl)
        is_removed = event.crawl in self._removing or (crawl is not None and crawl.removed)
        if not is_removed or not isinstance(event, EVENTS_OF_CRAWLS):
            return False
        return not isinstance(event, PageParsed) or event.kind is not PageKind.PROBE

    def _bind_handlers(self) -> Mapping[type[Event], Handler]:
        """Return the handler of each kind of event on dedup's topics and on `control`."""
        handlers: dict[type[Event], Handler] = {
            SeedAdded: self._handle_seed,
            UrlsDiscovered: self._handle_urls,
            PageParsed: self._handle_page,
            HostsCompared: lambda event, now: self._host_names.apply(event, now),
            ErasureBegun: self._begin_erasure,
            CrawlDefined: self._define_crawl,
            BlocklistChanged: lambda event, now: self._pages.blocklist.change(event),
            FleetBegun: lambda event, now: None,  # Checked when the process starts.
            SeedsApplied: lambda event, now: None,  # `gossamer crawls apply` reads it.
            ChangeExpires: lambda event, now: None,  # The frontier restores settings.
            FleetPaused: lambda event, now: None,
            FleetQuiesced: lambda event, now: None,  # Handled by the loop.
            SiteOverridden: lambda event, now: None,
            HostOverridden: lambda event, now: None,
            SpeedSet: lambda event, now: None,
        }
        check_handlers(handlers, self.reads, self.name)
        return handlers

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` has rows to write or erase because of events on `urls.discovered`.

        The handlers of these events write no rows, since Faust runs them in another thread than the
        handler of pages.
        """
        parts = self._listings, self._host_names, self._erasing
        return any(part.is_unsettled for part in parts)

    def settle(self) -> None:
        """Store the sites that name sitemaps and the names of hosts, erase rows, and append
        URL-seen changes."""
        self._listings.settle()
        self._host_names.settle()
        if self._erasing.settle():
            self._clear_caches()
            self._guesses.clear()
        self._seen.settle()

    def restart(self, partitions: frozenset[int], now: float) -> None:
        """Drop all memory that may differ from the store."""
        self._seen.discard()
        self._erasing.discard()
        self.load()
        self._clear_caches()

    def _clear_caches(self) -> None:
        caches = self._pages, self._host_steps, self._host_names, self._promotions, self._known
        for cache in caches:
            cache.clear()

    def reads_of(self, events: Sequence[Event]) -> Iterator[list[Key]]:
        """Yield the keys of the rows that *events* need, a group at a time."""
        for event in events:
            # Reading ahead proposes leaders, which writes rows of digests. So erasures are noted
            # first, and their pages are not read ahead.
            if isinstance(event, ErasureBegun) and event.removal:
                self._removing.add(event.crawl)
            elif isinstance(event, ErasureBegun):
                self._erasing.erasures.begin(event.erasure)
        handled = [event for event in events if not self._is_dropped(event)]
        discoveries = [
            (event.crawl, discovery)
            for event in handled
            if isinstance(event, UrlsDiscovered)
            for discovery in event.urls
            if discovery.purpose is not Purpose.REQUISITE
        ]
        pages = [
            event
            for event in handled
            if isinstance(event, PageParsed) and event.kind is not PageKind.REQUISITE
        ]
        urls = [(crawl, one.url) for crawl, one in discoveries]
        urls += [(page.crawl, page.visit.url) for page in pages]
        if self._tests_links:
            urls += [
                (page.crawl, link.url)
                for page in pages
                for link in page.links
                if page.kind is not PageKind.LISTING
            ]
        urls = [one for one in urls if one not in self._known]
        homes = [f"{event.host}/" for event in handled if isinstance(event, HostsCompared)]
        yield [
            *self._host_names.reads_of([*(url for _, url in urls), *homes]),
            *self._host_steps.reads_of((url, self._crawls.get(crawl)) for crawl, url in urls),
            *self._guesses.reads_of(one for _, one in discoveries),
            *self._pages.rows_of(pages),
        ]
        if pages:
            remaining = [one for one in pages if not self._erasing.erasures.covers(one.visit)]
            yield from self._pages.reads_of(remaining)

    def _handle_seed(self, seed: SeedAdded, now: float) -> list[Event]:
        accept(seed)
        crawl = self._crawls.get(seed.crawl)
        if not self.knows(seed.crawl):
            raise Poison(
                f"seed {seed.url}: the crawl {seed.crawl!r} is not defined. Define it with "
                "gossamer crawls apply FILE, and then replay this dead letter"
            )
        try:
            url = canonicalize(seed.url)
        except BadUrl as error:
            raise Poison(str(error)) from error
        if crawl is not None:
            url = crawl_url(crawl, url)
            exclusion = exclusion_of(crawl, Blocklist(), seed_discovery(seed, url))
            if exclusion and exclusion.rule is Hazard.OUT_OF_SCOPE:
                raise Poison(f"seed {url} is {exclusion.reason}")
        urls, site = (seed_discovery(seed, url),), site_of(url)
        return [UrlsDiscovered(crawl=seed.crawl, at=now, site=site, via=seed.via, urls=urls)]

    def _handle_urls(self, event: UrlsDiscovered, now: float) -> Iterator[Event]:
        event, requisites = split_requisites(self._without_erased(event))
        if requisites:
            yield from self._requisites.admit(requisites, now)
        if event.urls or not requisites:
            yield from self._handle_links(event, now)

    def _without_erased(self, event: UrlsDiscovered) -> UrlsDiscovered:
        """Return *event* without links from an erased page to URLs that were erased with it."""
        erasures = self._erasing.erasures
        if not erasures.are_any:
            return event
        kept = tuple(one for one in event.urls if not erasures.of_link(event.via, one.url))
        return event if len(kept) == len(event.urls) else replace(event, urls=kept)

    def _handle_links(self, event: UrlsDiscovered, now: float) -> Iterator[Event]:
        crawl, finder = self._crawls.get(event.crawl), hash_finder(event.via)
        yield from self._host_names.note_seeds(event, now)
        known, tested = self._split_known(event, finder, now)
        urls, rewritten_urls = dict[str, Discovery](), set[str]()
        for discovery in tested:
            rewritten = self._host_steps.rewrite(discovery, event.via, crawl)
            rewritten = self._host_names.rewrite(rewritten, event.via, crawl, now)
            if rewritten is not discovery:
                rewritten_urls.add(rewritten.url)
            if self._passes(event, rewritten):
                urls.setdefault(rewritten.url, rewritten)
        self._listings.note_namers(event)
        if linking := linking_site(event.via, event.site):
            yield from self._host_names.count_links(event, linking, now)
        identities = [self._host_steps.identify(url, crawl) for url in urls]
        keys = [fingerprint(identity.url) for identity in identities]
        findings = self._seen.test(event.crawl, event.site, keys, finder)
        if forms := {form for identity in identities for form in identity.forms}:
            self._seen.test(event.crawl, event.site, [*map(fingerprint, sorted(forms))], finder)
        new, repeated, seen = list[Discovery](), list[Discovery](), known
        for discovery, finding in zip(urls.values(), findings, strict=True):
            if discovery.visited:
                continue
            if finding is Finding.SEEN:
                # Its first finder is not known here. It must pass again if its record is
                # redelivered, or if the frontier sends its URL once more.
                seen.append(discovery)
                continue
            (new if finding is Finding.NEW else repeated).append(discovery)
            if discovery.url not in rewritten_urls:
                self._note_known(event, discovery, finder)
        if seen and linking:
            found = (discovery.url for discovery in seen)
            self._in_links.count_links(event.crawl, linking, found)
        if crawl is not None and uses_hints(crawl.revisit):
            yield from hints_of_links(seen, event.crawl, now)
        if event.via.startswith("seed@"):
            # A seed that is added again is retried now. The frontier still obeys the host's delay
            # and Retry-After.
            yield from _request_retries(event, seen, now)
        yield from self._promotions.apply(event, (*repeated, *new), seen, crawl, now)
        known_links = 0 if linking else _count_content_links(event.via, seen)
        yield from _admit(event, repeated, known_links, True, now)
        yield from _admit(event, new, known_links, False, now)

    def _split_known(
        self, event: UrlsDiscovered, finder: str, now: float
    ) -> tuple[list[Discovery], list[Discovery]]:
        """Return the links of *event* that another finder than *finder* has put into the set, as
        far as that is known, and the links that have to be tested."""
        known, tested = list[Discovery](), list[Discovery]()
        rules = dict[HostKey, HostRules | None]()
        for link in event.urls:
            found = self._known.get((event.crawl, link.url))
            if found is None or found.finder == finder or link.visited or link.guess:
                tested.append(link)
                continue
            if (host := found.host) not in rules:
                is_replica = self._host_names.is_replica(host, now)
                rules[host] = None if is_replica else self._host_steps.rules_of(host)
            (known if rules[host] == found.rules else tested).append(link)
        return known, tested

    def _note_known(self, event: UrlsDiscovered, link: Discovery, finder: str) -> None:
        """Note that *finder* was the first one of *link*, which was not rewritten."""
        if not link.guess:
            host = host_key(link.url)
            known = KnownUrl(finder, host, self._host_steps.rules_of(host))
            self._known.put((event.crawl, link.url), known, event.site)

    def _passes(self, event: UrlsDiscovered, discovery: Discovery) -> bool:
        """Return whether *discovery* goes on to the URL-seen test: a guess only within limits."""
        if not discovery.guess:
            return True
        # A guess whose URL is in the set causes no new visit: another finder was first, or the
        # guess passed before and its record is redelivered.
        if self._seen.contains(event.crawl, event.site, fingerprint(discovery.url)):
            return True
        return self._guesses.request(event.crawl, discovery.url)

    def _handle_page(self, page: PageParsed, now: float) -> Iterator[Event | Tombstone]:
        if self._erasing.erasures.covers(page.visit):
            self._pages.drop(page)
            return
        if page.kind is not PageKind.REQUISITE:
            self._guesses.record_page(page)
        own = list[UrlsDiscovered]()
        for event in self._pages.handle(page, now):
            if isinstance(event, UrlsDiscovered) and self._is_tested_with(page, event):
                own.append(event)
                continue
            if isinstance(event, PageDeduplicated):
                count("gossamer_verdicts_total", verdict=event.verdict, crawl=event.crawl)
                if event.verdict not in GONE_VERDICTS:
                    in_links = self._in_links.pop(event.crawl, event.visit.url)
                    event = replace(event, in_links=in_links)
            yield event
        # After the page, from which the steps and the names of its host are learned.
        for links in own:
            yield from self._handle_urls(links, now)

    def _is_tested_with(self, page: PageParsed, links: UrlsDiscovered) -> bool:
        is_page = page.kind is not PageKind.LISTING
        return self._tests_links and is_page and self._seen.serves(links.site)

    def _begin_erasure(self, event: ErasureBegun, now: float) -> Iterator[Event | Tombstone]:
        crawl = self._crawls.get(event.crawl)
        if event.removal:
            # The definition may arrive after this event. Until then, results of visits in flight
            # would be stored again.
            self._removing.add(event.crawl)
        self._known.clear()
        for output in self._erasing.begin(event, now):
            # The topic of a removed crawl is deleted as a whole, and may be gone already.
            is_needless = event.removal and crawl is not None and crawl.own_topic
            if not (is_needless and isinstance(output, Tombstone)):
                yield output

    def _define_crawl(self, event: CrawlDefined, now: float) -> None:
        accept(event, self._crawls.get(event.crawl))
        self._crawls[event.crawl] = event
        if event.removed:
            # Nobody answers for its guesses in flight, which would use up the limits of hosts.
            self._guesses.clear()


def _count_content_links(via: str, seen: Iterable[Discovery]) -> int:
    """Return the number of links to *seen* in the content of the page of the visit *via*, without
    links to the page itself."""
    page = via.partition("@")[2]
    return len([found for found in seen if is_in_content(found) and found.url != page])


def _admit(
    event: UrlsDiscovered,
    urls: Sequence[Discovery],
    known_links: int,
    repeated: bool,
    now: float,
) -> Iterator[Event]:
    """Yield the admission of *urls* of the event's site.

    *known_links*: links in the content of the same page whose URLs were in the URL-seen set.
    URLs of other sites, such as the original of a replica, go to the URL-seen test of their site.
    """
    if not urls:
        return
    if of_site := tuple(found for found in urls if site_of(found.url) == event.site):
        count("gossamer_urls_admitted_total", len(of_site), crawl=event.crawl)
        yield UrlsAdmitted(
            crawl=event.crawl,
            at=now,
            site=event.site,
            via=event.via,
            urls=of_site,
            known_links=known_links,
            repeated=repeated,
        )
    if len(of_site) < len(urls):
        elsewhere = [found for found in urls if site_of(found.url) != event.site]
        yield from group_by_site(elsewhere, event.via, event.crawl, now)


def _request_retries(
    event: UrlsDiscovered, seen: Sequence[Discovery], now: float
) -> Iterator[RetryRequested]:
    """Yield a retry of each seed in *seen* that is in the event's site.

    *seen*: the seeds of *event* that were in the URL-seen set before.
    """
    for found in seen:
        if site_of(found.url) == event.site:
            host = host_key(found.url)
            yield RetryRequested(
                crawl=event.crawl, at=now, site=event.site, host=host, urls=(found.url,)
            )
