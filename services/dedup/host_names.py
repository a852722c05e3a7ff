"""Which hosts are one under two names: `www` and none, and sites that serve the same content.

Viuva-negra found that one site in thirty is a replica of another, and that in half of these pairs
the names differ in `www.` alone (2.3). The content test sees it: a page that has the text of
another host's page of the same path. For `www.` equal home pages are proof, or one that redirects
to the other; for others the heuristic that is set. The host whose pages come second is the replica:
a link to it is taken for one to the same path of the *original*, wherever that lies.

Verdicts expire. Whatever is visited of a replica meanwhile (seeds are, and pages that were visited
before) renews its verdict or takes it back, and after that time its URLs are visited again.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import left_out
from gossamer.cache import ENTRY_BYTES, ByteCache
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined, Discovery, PageParsed, Purpose
from gossamer.events.hazards import Hazard
from gossamer.runtime.processor import Key
from gossamer.settings import DedupSettings
from gossamer.store import Store
from gossamer.web.soft_404 import is_home_page
from gossamer.web.url import (
    BadUrl,
    canonicalize,
    fingerprint,
    host_key,
    host_name,
    is_address,
    site_of,
)
from services.dedup.rows import HostNameRow, original_of

LEAST = 10
"""Pages of a host of which a share says something."""
MISSES = 2
"""Visits in a row that find another home page than the original's, before that counts: of two that
change together one is always seen first."""
CACHE_BYTES, SITE_CACHE_BYTES = 32 << 20, 4 << 20
"""Bytes of the cache of rows, and of the part of one site."""
SHARES = {"dups60": 0.6, "dups80": 0.8, "dups100": 1.0}


def parse_pair(text: str) -> tuple[str, str]:
    """Return the keys of two hosts, as an operator has listed them: `REPLICA ORIGINAL`; raise
    BadSettings if *text* is no such pair."""
    try:
        replica, original = (host_key(canonicalize(word)) for word in text.split())
    except (BadUrl, ValueError) as error:
        example = "http://mirror.example http://www.example.org"
        raise BadSettings(f"dedup.duphosts: {text!r} is no pair such as {example!r}") from error
    return replica, original


def is_www_pair(one: str, other: str) -> bool:
    """Return whether the names of two hosts differ in `www.` alone."""
    names = sorted((host_name(one), host_name(other)), key=len)
    return names[1] == f"www.{names[0]}"


class HostNames:
    """Learns which hosts are others' replicas, and goes by it. One instance has a site."""

    def __init__(self, store: Store, settings: DedupSettings) -> None:
        self._rows, self._settings = store.table(HostNameRow), settings
        self._listed = dict(map(parse_pair, settings.duphosts))
        self._cache = ByteCache[str, HostNameRow | None](CACHE_BYTES, _size, SITE_CACHE_BYTES)

    def forget(self) -> None:
        """Drop rows in memory that the store may have discarded."""
        self._cache.clear()

    def reads_of(self, urls: Iterable[str]) -> list[Key]:
        """Return the keys of the rows of the hosts of *urls* that are not in memory."""
        return [key for key in keys_of(urls) if str(key[2]) not in self._cache]

    def known_as(
        self, found: Discovery, via: str, crawl: CrawlDefined | None, now: float
    ) -> Discovery:
        """Return *found*, which *via* discovered, at the host whose page it is."""
        if crawl is None or found.purpose is not Purpose.PAGE or via.startswith("seed@"):
            return found
        host = host_key(found.url)
        original = self._original(host, now)
        if not original:
            return found
        url = original + found.url.removeprefix(host)
        there = replace(found, url=url, trace=fingerprint(url))
        # A redirect to what would be itself is followed as it stands.
        itself = found.hops and url == via.partition("@")[2]
        return found if itself or left_out(crawl, Blocklist(), there) else there

    def learn(self, page: PageParsed, same: str, is_new: bool) -> tuple[Hazard, ...]:
        """Take in that *page* has the text of the URL *same*, or redirects there; "": neither.

        *is_new*: it was not known. Return the hazard, if this proves the host a replica.
        """
        url = page.visit.url
        host, other = host_key(url), host_key(same) if same else ""
        known = self._row(page.site, host)
        if other in ("", host):
            row = known and _unlike(known, is_home_page(url), is_new)
        else:
            row = self._alike(known or HostNameRow(page.site, host), page, same, is_new)
        is_news = row is not None and row.original and row != known
        return self._judged(known, row) if row and is_news else ()

    def redirected(self, page: PageParsed) -> tuple[Hazard, ...]:
        """Take in where *page* redirects to, and return the same: one home page to another is proof
        where the names are a pair."""
        to = next((link.url for link in page.links if link.redirect), "")
        homes = is_home_page(page.visit.url) and is_home_page(to) if to else False
        if homes and is_www_pair(host_key(page.visit.url), host_key(to)):
            return self.learn(page, to, True)
        return ()

    def _alike(self, row: HostNameRow, page: PageParsed, same: str, is_new: bool) -> HostNameRow:
        host, other = row.host, host_key(same)
        if page.visit.url.removeprefix(host) != same.removeprefix(other):
            return row
        if self._is_replica(page.site, other):
            # Of two that change together this one was seen second now.
            self._renew(other, host, page)
            return row
        if row.original != other:
            row = HostNameRow(row.site, host, other)
        until = page.fetched_at + self._settings.duphost_age
        if is_home_page(same):
            return replace(row, home=True, misses=0, until=until)
        return replace(row, alike=row.alike + is_new, until=until)

    def _is_replica(self, own: str, host: str) -> bool:
        # What another instance has learnt is in the store alone.
        site = site_of(f"{host}/")
        row = self._row(site, host) if site == own else self._rows.get(site, host)
        return bool(row and row.rule)

    def _renew(self, replica: str, original: str, page: PageParsed) -> None:
        row = self._row(page.site, replica)
        if row and row.original == original and is_home_page(page.visit.url):
            until = page.fetched_at + self._settings.duphost_age
            self._write(replace(row, misses=0, until=until))

    def _judged(self, known: HostNameRow | None, row: HostNameRow) -> tuple[Hazard, ...]:
        rule = self._rule(row)
        self._write(replace(row, rule=rule))
        is_proof = rule and rule != (known.rule if known else "")
        return (Hazard(rule),) if is_proof else ()

    def _rule(self, row: HostNameRow) -> str:
        """Return which hazard a host is a case of, by what is known of it; "" if of none."""
        if is_www_pair(row.host, row.original):
            is_one = row.home and self._settings.www_alias == "proven"
            return Hazard.WWW_ALIAS.value if is_one else ""
        heuristic, alike = self._settings.duphost, row.alike + row.home
        if share := SHARES.get(heuristic):
            is_one = alike + row.others >= LEAST and alike >= share * (alike + row.others)
        else:
            least = {"same_home": 1, "same_home_and_1_doc": 2}.get(heuristic)
            is_one = least is not None and row.home and alike >= least
        return Hazard.DUPHOST.value if is_one else ""

    def _original(self, host: str, now: float) -> str:
        if listed := self._listed.get(host):
            return listed
        site = site_of(f"{host}/")
        if original := original_of(self._row(site, host), now):
            return original
        bare = self._settings.www_alias == "assumed" and host_name(host) == site
        return host.replace("://", "://www.", 1) if bare and not is_address(site) else ""

    def _write(self, row: HostNameRow) -> None:
        self._rows.put(row)
        self._cache.put(row.host, row, row.site)

    def _row(self, site: str, host: str) -> HostNameRow | None:
        if host in self._cache:
            return self._cache.get(host)
        row = self._rows.get(site, host)
        self._cache.put(host, row, site)
        return row


def _size(row: HostNameRow | None) -> int:
    return 2 * ENTRY_BYTES if row is None else 4 * ENTRY_BYTES


def keys_of(urls: Iterable[str]) -> list[Key]:
    """Return the keys of the rows of the hosts of *urls*."""
    hosts = dict.fromkeys(map(host_key, urls))
    return [(HostNameRow, site_of(f"{host}/"), host) for host in hosts]


def _unlike(row: HostNameRow, is_home: bool, is_new: bool) -> HostNameRow:
    """Return *row* once a page of its own was found at its host."""
    if not is_home:
        return replace(row, others=row.others + is_new)
    misses = min(row.misses + 1, MISSES)
    return replace(row, misses=misses, home=row.home and misses < MISSES)
