"""What dedup learns about a host from its texts: other names of the host, and its mirrors.

Viuva-negra found that one site in thirty is a replica of another, and that in half of these pairs
the names differ in `www.` only (2.3). The content test finds pages with the text of another host's
page under the same path. Each such pair of pages is evidence, home page or not, if its text is
long enough to be characteristic. `originals` decides whether two hosts are one, and which of the
two is the original. Links to the other one, the *replica*, are rewritten to the same path of the
original, which may be in another site.

**Comparison.** If a page of a host with a counterpart has no equal page, it is compared with the
document under its path at the counterpart. It is equal or different: the goods of two shops differ
in a few words. A home page that is nearly equal, as one with a date is, is no evidence for either.
If there is no document yet, the page is unmatched until the counterpart is visited there, and turns
out to be equal. Each host has a row, written by the instance that owns its site. The evidence of
both rows counts, so that two hosts that are visited at the same time are recognised, too.

**Named hosts.** A user who names a seed wants the pages of its host. So equal pages do not make it
a replica, however many they are: a staging host may have a page that production does not have. It
is one if four of five of its pages state that their original is elsewhere, by a canonical link or a
permanent redirect, or if the names differ in `www.` only.

**Two instances.** The hosts of a pair may be in sites of different instances. The one that gets new
evidence reads both rows, decides, and tells the other one (`HostsCompared`). If both decide at the
same time, each host may be the replica of the other for a moment. Then the host whose key sorts
first is treated as the original.

**Renewal.** Verdicts expire. Until then, visits to a replica (seeds, and pages that were visited
before) renew its verdict or revoke it. Afterwards its URLs are visited again. The frontier learns
each verdict (`OriginalAnnounced`) and sends queued URLs of the replica to the original.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import exclusion_of
from gossamer.cache import ENTRY_BYTES, ByteCache
from gossamer.errors import BadSettings
from gossamer.events import (
    CrawlDefined,
    Discovery,
    Event,
    HostsCompared,
    OriginalAnnounced,
    PageParsed,
    Purpose,
    UrlsDiscovered,
)
from gossamer.events.hazards import Hazard
from gossamer.runtime.processor import Key
from gossamer.services.dedup.originals import (
    HEURISTICS,
    Claim,
    Comparison,
    choose_original,
    is_alias,
    is_www_pair,
    states_original,
)
from gossamer.services.dedup.rows import DocumentRow, HostNameRow, original_of
from gossamer.settings import DedupSettings
from gossamer.store import Store
from gossamer.text.sketch import estimate_change
from gossamer.web.links import Sketch, add_link, estimate_sites, merge_sketches
from gossamer.web.soft_404 import is_home_page
from gossamer.web.url import (
    BadUrl,
    HostKey,
    Site,
    canonicalize,
    fingerprint,
    host_key,
    host_name,
    is_address,
    site_of,
)

MAX_MISSES = 2
"""Consecutive visits that find another home page than the counterpart's, after which the home pages
count as different. One visit is not enough: if both home pages change together, one of them is
visited first."""
MAX_NEAR_CHANGE = 0.1
"""Fraction of changed words up to which the home pages of two hosts are nearly equal."""
MAX_OTHERS = 100
"""Pages of a host without an equal page at its counterpart, after which no more are counted."""
MAX_COMPARED_PAGES = 10
"""Pages of a host after which the frontier no longer waits for the verdict on the host."""
MAX_TEXTS, TEXT_DIGITS = 16, 8
"""Digests of equal pages in a row, and the hexadecimal digits of each."""
NAME_CACHE_BYTES, SITE_NAME_CACHE_BYTES = 32 << 20, 4 << 20
"""Size of the cache of `HostNameRow`, and of the part of one site."""
IN_LINKS_CACHE_BYTES, SITE_IN_LINKS_CACHE_BYTES = 8 << 20, 1 << 20
"""Size of the cache of sketches of linking sites, and of the part of one linking site."""
ANNOUNCEMENTS = 10
"""The number of times that a verdict is announced again during `dedup.duphost_age`, while visits
renew it."""


def parse_pair(text: str) -> tuple[HostKey, HostKey]:
    """Return the host keys of a pair `REPLICA ORIGINAL` in the setting `dedup.duphosts`.

    Raise BadSettings if *text* is not a pair of hosts.
    """
    try:
        replica, original = (host_key(canonicalize(word)) for word in text.split())
    except (BadUrl, ValueError) as error:
        example = "http://mirror.example http://www.example.org"
        raise BadSettings(
            f"dedup.duphosts: {text!r} is not a pair of hosts such as {example!r}"
        ) from error
    return replica, original


class Lesson(NamedTuple):
    """What a page shows about the names of its host."""

    events: Sequence[Event] = ()
    hazards: tuple[Hazard, ...] = ()
    """The hazard of the pair of hosts that the page proves to be one."""


NOTHING = Lesson()


class HostNames:
    """Learns which hosts are replicas of other hosts, and rewrites links to them."""

    def __init__(self, store: Store, settings: DedupSettings) -> None:
        self._rows, self._settings = store.table(HostNameRow), settings
        self._documents = store.table(DocumentRow)
        self._listed = dict(map(parse_pair, settings.duphosts))
        self._cache = ByteCache[str, HostNameRow | None](
            NAME_CACHE_BYTES, _names_size, SITE_NAME_CACHE_BYTES
        )
        self._in_links = ByteCache[str, Sketch](
            IN_LINKS_CACHE_BYTES, lambda _: ENTRY_BYTES, SITE_IN_LINKS_CACHE_BYTES
        )
        """Host → the sketch of the sites that link to it, as far as its row lacks them."""
        self._unsettled = dict[str, HostNameRow]()
        """Host → its row, as changed by an event on `urls.discovered`; see `Dedup.settle`."""

    def clear(self) -> None:
        """Drop all memory that may differ from the store."""
        self._cache.clear()
        self._unsettled.clear()

    @property
    def is_unsettled(self) -> bool:
        """Whether `settle` has rows to write."""
        return bool(self._unsettled)

    def settle(self) -> None:
        """Write the rows that events on `urls.discovered` changed."""
        for row in self._unsettled.values():
            self._rows.put(row)
        self._unsettled.clear()

    def reads_of(self, urls: Iterable[str]) -> list[Key]:
        """Return the keys of uncached rows of the hosts of *urls*."""
        return [key for key in keys_of(urls) if str(key[2]) not in self._cache]

    def counterpart_reads_of(self, pages: Iterable[PageParsed]) -> list[Key]:
        """Return the keys of rows about the counterparts of the hosts of *pages*."""
        keys = list[Key]()
        for page in pages:
            host = host_key(page.visit.url)
            if (row := self._load(page.site, host)) and row.counterpart:
                url = row.counterpart + page.visit.url.removeprefix(host)
                keys += [(DocumentRow, (page.crawl, url), ""), *keys_of([url])]
        return keys

    def leader_reads_of(self, pages: Iterable[PageParsed], leaders: Iterable[str]) -> list[Key]:
        """Return the keys of the rows of hosts with *leaders* of texts that *pages* may have: URLs
        with the path of a page at another host."""
        hosts = defaultdict[str, set[str]](set)
        for page in pages:
            hosts[_path_of(page.visit.url)].add(host_key(page.visit.url))
        return keys_of(url for url in leaders if hosts[_path_of(url)] - {host_key(url)})

    def rewrite(
        self, discovery: Discovery, via: str, crawl: CrawlDefined | None, now: float
    ) -> Discovery:
        """Return *discovery*, found by the visit *via*, rewritten to the original of its host."""
        if crawl is None or discovery.purpose is not Purpose.PAGE or via.startswith("seed@"):
            return discovery
        host = host_key(discovery.url)
        original = self._find_original(host, now)
        if not original:
            return discovery
        url = original + discovery.url.removeprefix(host)
        rewritten = replace(discovery, url=url, trace=fingerprint(url))
        # A redirect that would lead to itself is followed unchanged.
        is_loop = discovery.hops and url == via.partition("@")[2]
        is_excluded = exclusion_of(crawl, Blocklist(), rewritten) is not None
        return discovery if is_loop or is_excluded else rewritten

    def is_replica(self, host: HostKey, now: float) -> bool:
        """Return whether URLs of *host* are rewritten to an original."""
        return bool(self._find_original(host, now))

    def is_replica_of(self, url: str, other: str, now: float) -> bool:
        """Return whether the host of *url* is a replica of the host of *other*, and both URLs have
        the same path."""
        if not _have_same_path(url, other):
            return False
        host = host_key(url)
        return original_of(self._read(host), now) == host_key(other)

    def count_links(self, links: UrlsDiscovered, linking: Site, now: float) -> Iterator[Event]:
        """Count *links* from the site *linking* to hosts of another site, once for each host.

        Yield the verdict on a replica that has become the original, because more sites link to it.
        """
        for host in dict.fromkeys(host_key(found.url) for found in links.urls):
            row = self._unsettled.get(host) or self._cache.get(host)
            before = row.in_links if row else self._in_links.get(host) or 0
            after = add_link(before, linking, host)
            if after == before:
                continue
            if row is None:
                self._in_links.put(host, after, linking)
                continue
            row = replace(row, in_links=after)
            if row.original == row.counterpart != "":
                original, rule = self._choose(row, self._read(row.counterpart))
                if original == host:
                    row = replace(row, original=original, rule=rule)
                    yield from _verdict_events(row, links.crawl, now)
            self._note(row)

    def note_seeds(self, links: UrlsDiscovered, now: float) -> Iterator[Event]:
        """Note the hosts of the seeds in *links*, and of the targets of seeds.

        Yield the end of a verdict that does not hold for such a host. A redelivered record yields
        it again.
        """
        seeds = (one for one in links.urls if not one.depth and one.purpose is Purpose.PAGE)
        for host in dict.fromkeys(host_key(found.url) for found in seeds):
            before = self._load(links.site, host) or HostNameRow(links.site, host)
            row = replace(before, is_named=True)
            other = self._read(row.counterpart) if row.counterpart else None
            if row.counterpart and not self._choose(row, other)[0]:
                row = replace(row, original=HostKey(""), rule="")
                yield from _verdict_events(row, links.crawl, now)
            if row != before:
                self._note(row)

    def learn(self, page: PageParsed, twin: str, is_new: bool, now: float) -> Lesson:
        """Learn that *page* has the text of the URL *twin*, or redirects to it ("" if neither).

        *is_new*: the URL had no document before.
        """
        url = page.visit.url
        host = host_key(url)
        before = self._check_certificate(page, host)
        if before is not None and before.has_invalid_certificate:
            return NOTHING
        canonical = page.canonical if _have_same_path(url, page.canonical) else ""
        twin = twin if _have_same_path(url, twin) else ""
        if not (twin or canonical) and not _awaits_pages(before, is_home_page(url)):
            return NOTHING
        row = before or HostNameRow(page.site, host)
        for pair in filter(None, (canonical, twin)):
            row = self._face(row, host_key(pair), page)
        if not row.counterpart:
            return NOTHING
        if canonical and host_key(canonical) == row.counterpart:
            row = replace(row, canonical=row.canonical + is_new)
        return self._decide(before, self._compare(row, page, twin, is_new), page, now)

    def learn_redirect(self, page: PageParsed, permanent: bool, now: float) -> Lesson:
        """Learn from a redirect of *page*.

        A redirect from one home page to another is a proof if the names are a `www.` pair. A
        permanent redirect to the same path of another host is evidence that the other host is the
        original, if both have equal pages.
        """
        url = page.visit.url
        target = next((link.url for link in page.links if link.redirect), "")
        is_proven = Hazard.INVALID_CERTIFICATE not in page.hazards
        if not target or not _have_same_path(url, target) or not is_proven:
            return NOTHING
        if is_home_page(url) and is_www_pair(host_key(url), host_key(target)):
            row = self._load(page.site, host_key(url)) or HostNameRow(page.site, host_key(url))
            faced = self._face(row, host_key(target), page)
            until = page.fetched_at + self._settings.duphost_age
            redirects = faced.redirects + (not page.visit.earlier)
            faced = replace(faced, home=True, misses=0, until=until, redirects=redirects)
            return self._decide(row, faced, page, now)
        before = self._load(page.site, host_key(url))
        is_counted = permanent and not page.visit.earlier
        if before is None or before.counterpart != host_key(target) or not is_counted:
            return NOTHING
        return self._decide(before, replace(before, redirects=before.redirects + 1), page, now)

    def apply(self, event: HostsCompared, now: float) -> Iterator[Event]:
        """Apply the comparison of a host with a host of another instance."""
        row = self._load(event.site, event.host) or HostNameRow(event.site, event.host)
        if row.has_invalid_certificate:
            return
        if row.counterpart not in ("", event.counterpart):
            if row.original or not event.original:
                return
            row = _forget_counterpart(row)
        after = replace(
            self._add_in_links(row),
            counterpart=event.counterpart,
            original=event.original,
            rule=event.rule,
            until=max(event.until, row.until),
        )
        if after != row:
            self._note(after)
        # Not only after a change: the record may be redelivered.
        yield _announcement(after, event.crawl, now)

    def _face(self, row: HostNameRow, counterpart: HostKey, page: PageParsed) -> HostNameRow:
        """Return *row* after a page that *counterpart* has, too. It is another counterpart than
        before only if most equal pages are its."""
        if (other := self._read(counterpart)) and (its := original_of(other, page.fetched_at)):
            # A replica has no replicas: its original may have the page, too.
            counterpart = its if its != row.host else counterpart
        is_invalid = other is not None and other.has_invalid_certificate
        if counterpart == row.counterpart or is_invalid:
            return row
        if row.original or row.equal > 1:
            return row if row.original else replace(row, equal=row.equal - 1)
        faced = replace(_forget_counterpart(row), counterpart=counterpart)
        return self._add_in_links(self._compare_homes(faced, page.crawl))

    def _check_certificate(self, page: PageParsed, host: HostKey) -> HostNameRow | None:
        """Return the row of *host*, which says whether the certificate of *page* is invalid."""
        row, is_invalid = self._load(page.site, host), Hazard.INVALID_CERTIFICATE in page.hazards
        if is_invalid == (row is not None and row.has_invalid_certificate):
            return row
        row = replace(row or HostNameRow(page.site, host), has_invalid_certificate=is_invalid)
        self._write(row)
        return row

    def _compare_homes(self, row: HostNameRow, crawl: str) -> HostNameRow:
        """Return *row*, whose counterpart is new, after a comparison of the home pages."""
        ours, its = (
            self._documents.get((crawl, f"{host}/")) for host in (row.host, row.counterpart)
        )
        if ours is None or its is None or ours.gone or its.gone:
            return row
        if not _are_near(ours.digest, ours.sketch, its):
            return replace(row, misses=1)
        if ours.digest != its.digest:
            return row
        if not ours.simhash and not is_www_pair(row.host, row.counterpart):
            return row
        return replace(row, home=True, texts=(f"/{ours.digest[:TEXT_DIGITS]}",))

    def _compare(self, row: HostNameRow, page: PageParsed, twin: str, is_new: bool) -> HostNameRow:
        """Return *row* after a comparison of *page* with the page of its counterpart."""
        url = page.visit.url
        is_home = is_home_page(url)
        until = page.fetched_at + self._settings.duphost_age
        other = row.counterpart + url.removeprefix(row.host)
        if not twin or (host_key(twin) != row.counterpart and not self._replaces(twin, row, page)):
            document = self._documents.get((page.crawl, other))
            if document is None:
                return replace(row, unmatched=row.unmatched + (is_new and not is_home))
            if is_home and (document.gone or not _are_near(page.digest, page.sketch, document)):
                return replace(row, misses=min(row.misses + 1, MAX_MISSES))
            if is_home and document.digest != page.digest:
                return replace(row, until=until)
            if not is_home and (document.gone or document.digest != page.digest):
                return replace(row, different=row.different + is_new)
        text = page.digest[:TEXT_DIGITS]
        if is_home:
            is_long = page.simhash or is_www_pair(row.host, row.counterpart)
            if not is_long or text in row.texts:
                return row
            texts = row.texts if row.home else _add_text(row.texts, f"/{text}")
            return replace(row, home=True, misses=0, texts=texts, until=until)
        row = replace(row, until=until)
        if not (is_new and page.simhash) or text in row.texts or f"/{text}" in row.texts:
            return row
        return replace(row, equal=row.equal + 1, texts=_add_text(row.texts, text))

    def _replaces(self, twin: str, row: HostNameRow, page: PageParsed) -> bool:
        """Return whether the host of *twin* is another replica of the counterpart in *row*."""
        return original_of(self._read(host_key(twin)), page.fetched_at) == row.counterpart

    def _decide(
        self, before: HostNameRow | None, row: HostNameRow, page: PageParsed, now: float
    ) -> Lesson:
        """Decide whether the hosts of *row* are one, and write *row* with the verdict."""
        row = self._add_in_links(row)
        other = self._read(row.counterpart)
        original, rule = self._choose(row, other)
        row = replace(row, original=original, rule=rule)
        if original and other and other.counterpart == row.host:
            # The other host may have shown more, and last, that they are one.
            row = replace(row, until=max(row.until, other.until))
        if before and before.original == row.host and row.original:
            # Pages of the original renew the verdict, too: the replica may be visited no more.
            row = replace(row, until=max(row.until, before.until))
        is_news = before is None or self._key(before) != self._key(row)
        # The other instance may have decided by fewer pages of our host.
        is_news |= other is None or (other.counterpart, other.original) != (row.host, original)
        if is_news:
            row = replace(row, announced_at=page.fetched_at)
        if row != before:
            self._write(row)
        # A record that is redelivered after a crash announces its verdict again.
        if not is_news and row.announced_at != page.fetched_at:
            return NOTHING
        is_proof = is_news and original and not (before and before.original)
        events = [*_verdict_events(row, page.crawl, now)]
        return Lesson(events, (Hazard(rule),) if is_proof else ())

    def _key(self, row: HostNameRow) -> tuple[str, str, str, int, bool]:
        """Return the part of *row* whose changes are announced."""
        period = self._settings.duphost_age / ANNOUNCEMENTS
        is_proven = bool(row.original) and period > 0
        periods = int(row.until / period) if is_proven else 0
        return row.counterpart, row.original, row.rule, periods, _is_compared(row)

    def _choose(self, row: HostNameRow, other: HostNameRow | None) -> tuple[HostKey, str]:
        """Return the original of the hosts of *row* and *other*, and the hazard of the proof."""
        in_links = other.in_links if other else None
        other = other or HostNameRow(site_of(f"{row.counterpart}/"), row.counterpart)
        if other.counterpart != row.host:
            other = _forget_counterpart(other)
        established = row.original or other.original
        original, _ = choose_original(
            _claim(row, row.in_links, other), _claim(other, in_links, row), established
        )
        replica, leading = (other, row) if original == row.host else (row, other)
        if rule := self._find_rule(replica, leading):
            return original, rule
        return HostKey(""), ""

    def _find_rule(self, replica: HostNameRow, original: HostNameRow) -> str:
        """Return the hazard that is proven for *replica*, `www_alias` or `duphost`, or ""."""
        pages = _comparison(replica, original)
        if is_www_pair(replica.host, original.host):
            is_proven = self._settings.www_alias == "proven" and is_alias(pages)
            return Hazard.WWW_ALIAS.value if is_proven else ""
        is_proven = HEURISTICS[self._settings.duphost](pages)
        is_proven &= not replica.is_named or states_original(pages)
        return Hazard.DUPHOST.value if is_proven else ""

    def _find_original(self, host: HostKey, now: float) -> HostKey | None:
        if listed := self._listed.get(host):
            return listed
        site = site_of(f"{host}/")
        if original := original_of(self._load(site, host), now):
            # Two instances may have decided at the same time.
            is_mutual = original_of(self._read(original), now) == host
            return None if is_mutual and host < original else original
        lacks_www = self._settings.www_alias == "assumed" and host_name(host) == site
        if not lacks_www or is_address(site):
            return None
        return HostKey(host.replace("://", "://www.", 1))

    def _add_in_links(self, row: HostNameRow) -> HostNameRow:
        """Return *row* with the sites that were seen to link to its host since."""
        sketch = self._in_links.get(row.host) or 0
        self._in_links.remove(row.host)
        return replace(row, in_links=merge_sketches(row.in_links, sketch)) if sketch else row

    def _write(self, row: HostNameRow) -> None:
        self._unsettled.pop(row.host, None)
        self._rows.put(row)
        self._cache.put(row.host, row, row.site)

    def _note(self, row: HostNameRow) -> None:
        """Change *row* because of an event on `urls.discovered`; `settle` writes it."""
        self._unsettled[row.host] = row
        self._cache.put(row.host, row, row.site)

    def _load(self, site: Site, host: HostKey) -> HostNameRow | None:
        """Return the row of *host*, which our instance owns."""
        if row := self._unsettled.get(host):
            return row
        if host in self._cache:
            return self._cache.get(host)
        row = self._rows.get(site, host)
        self._cache.put(host, row, site)
        return row

    def _read(self, host: HostKey) -> HostNameRow | None:
        """Return the row of *host*, which another instance may own and write."""
        return self._unsettled.get(host) or self._rows.get(site_of(f"{host}/"), host)


def _names_size(row: HostNameRow | None) -> int:
    if row is None:
        return 2 * ENTRY_BYTES
    return ENTRY_BYTES * (6 + len(row.texts))


def _forget_counterpart(row: HostNameRow) -> HostNameRow:
    """Return the part of *row* that does not depend on its counterpart."""
    return HostNameRow(row.site, row.host, in_links=row.in_links, is_named=row.is_named)


def _awaits_pages(row: HostNameRow | None, is_home: bool) -> bool:
    """Return whether a page of the host of *row* is compared, if no other host is known to have it.

    Pages of an original and of a host with many pages of its own are not, except for home pages.
    Each would cost a read and a write.
    """
    if row is None or not row.counterpart:
        return False
    return is_home or (row.original != row.host and row.different + row.unmatched < MAX_OTHERS)


def _have_same_path(url: str, other: str) -> bool:
    """Return whether two URLs have the same path and query at different hosts."""
    is_elsewhere = bool(other) and host_key(url) != host_key(other)
    return is_elsewhere and _path_of(url) == _path_of(other)


def _path_of(url: str) -> str:
    """Return the path and the query of *url*."""
    return url.removeprefix(host_key(url))


def _are_near(digest: str, sketch: bytes, document: DocumentRow) -> bool:
    """Return whether a text with *digest* and *sketch* is that of *document*, or nearly so."""
    if digest == document.digest:
        return True
    return estimate_change(sketch, document.sketch) <= MAX_NEAR_CHANGE


def _add_text(texts: tuple[str, ...], text: str) -> tuple[str, ...]:
    return (*texts, text)[-MAX_TEXTS:]


def _claim(row: HostNameRow, in_links: int | None, other: HostNameRow) -> Claim:
    """Return the claim of the host of *row* to be the original of the host of *other*."""
    return Claim(
        host=row.host,
        canonical=other.canonical,
        redirects=other.redirects,
        in_links=None if in_links is None else estimate_sites(in_links),
        first=other.equal + other.home,
    )


def _comparison(replica: HostNameRow, original: HostNameRow) -> Comparison:
    """Return the comparison of the pages of two hosts from the rows of both."""
    misses = max(replica.misses, original.misses)
    has_equal_home = (replica.home or original.home) and misses < MAX_MISSES
    # A page without a match is equal if the original was visited there later.
    unmatched = max(0, replica.unmatched - original.equal)
    return Comparison(
        has_equal_home=has_equal_home,
        has_other_home=misses > 0 and not has_equal_home,
        equal=max(0, replica.equal + original.equal - _repeated_texts(replica, original)),
        others=replica.different + original.different + unmatched,
        stated=replica.canonical + replica.redirects,
    )


def _repeated_texts(one: HostNameRow, other: HostNameRow) -> int:
    """Return how many texts both rows count as equal pages, or one of them as its home page."""
    homes, other_homes = (
        {text[1:] for text in row.texts if text.startswith("/")} for row in (one, other)
    )
    pages, other_pages = (
        {text for text in row.texts if not text.startswith("/")} for row in (one, other)
    )
    return len(pages & (other_pages | other_homes)) + len(other_pages & homes)


def _verdict_events(row: HostNameRow, crawl: str, now: float) -> Iterator[Event]:
    """Yield the events that tell the other instance and the frontier the verdict in *row*."""
    yield HostsCompared(
        crawl=crawl,
        at=now,
        site=site_of(f"{row.counterpart}/"),
        host=row.counterpart,
        counterpart=row.host,
        original=row.original,
        rule=row.rule,
        until=row.until if row.original else 0.0,
    )
    yield _announcement(row, crawl, now)


def _announcement(row: HostNameRow, crawl: str, now: float) -> OriginalAnnounced:
    """Return the event that tells the frontier whether the host of *row* is a replica."""
    original = row.original if row.original == row.counterpart else ""
    return OriginalAnnounced(
        crawl=crawl,
        at=now,
        site=row.site,
        host=row.host,
        original=original,
        until=row.until if original else 0.0,
        compared=_is_compared(row),
    )


def _is_compared(row: HostNameRow) -> bool:
    """Return whether the next pages of the host of *row* decide if it is a replica."""
    pages = row.equal + row.different + row.unmatched
    return not row.original and row.home + row.equal > 0 and pages < MAX_COMPARED_PAGES


def keys_of(urls: Iterable[str]) -> list[Key]:
    """Return the keys of the rows of the hosts of *urls*."""
    hosts = dict.fromkeys(map(host_key, urls))
    return [(HostNameRow, site_of(f"{host}/"), host) for host in hosts]
