"""What dedup learns about a host from its texts: URL steps, and names of the host.

One instance owns a site: it tests the links to the site and decides the verdicts on its pages. So
the rows are written where they are read, and no other service reads them.

**URL steps.** Some steps are right at most hosts and wrong at others. They assume that `sid` is a
session id, that case does not matter, or that `index.html` shows the same page as its directory.
The content test compares all texts of a host, so it can tell. A *rule* is a step at one host. If a
URL and its rewritten URL have the same text, that text is a proof of the rule. Steps that are often
wrong need several proofs with different texts (`REQUIRED_PROOFS`), since one error page appears
under many URLs. If a rule rewrites two URLs with the same text to one third URL, that URL is
released too, so that its visit shows whether it has the same text. If a URL and its rewritten URL
have very different texts, the rule is refuted for good.

**Host names.** Viuva-negra found that one site in thirty is a replica of another, and that in half
of these pairs the names differ in `www.` only (2.3). The content test finds pages with the text of
another host's page under the same path. For `www.`, equal home pages prove an alias, and so does a
redirect from one home page to the other. For other pairs the setting `dedup.duphost` decides. The
host whose pages came second is the replica, and links to it are rewritten to the same path of the
*original*, which may be in another site. Verdicts on hosts expire. Until then, visits to a replica
(seeds, and pages that were visited before) renew its verdict or revoke it. Afterwards its URLs are
visited again.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import exclusion_of
from gossamer.cache import ENTRY_BYTES, ByteCache
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined, Discovery, PageParsed, Purpose
from gossamer.events.hazards import Hazard
from gossamer.runtime.processor import Key
from gossamer.settings import DedupSettings
from gossamer.store import Store
from gossamer.text.sketch import estimate_change
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
from gossamer.web.url_steps import rewrite_by_rule, rewrite_by_rules, without_default_document
from services.dedup.rows import ASSUMED_RULE, DocumentRow, HostNameRow, HostStepsRow, original_of

# URL steps.

MIN_DIFFERENCE = 0.5
"""Fraction of changed words from which the texts of a URL and its rewritten URL are two pages."""
MAX_DEFAULT_DOCUMENTS = 10
"""Default documents of a host that are stored for comparison."""
STEP_CACHE_BYTES, SITE_STEP_CACHE_BYTES = 32 << 20, 2 << 20
"""Size of the cache of `HostStepsRow`, and of the part of one site."""


def rewrite_url(row: HostStepsRow, url: str, steps: tuple[str, ...]) -> str:
    """Return *url*, rewritten by the *steps* that hold at its host according to *row*."""
    before = ""
    while url != before:
        before = url
        for rule, _ in rewrite_by_rules(url, steps):
            url = rewrite_by_rule(url, rule) if row.holds(rule) else url
    return url


class HostSteps:
    """Learns which URL steps hold at a host, and applies them."""

    def __init__(self, store: Store) -> None:
        self._rows, self._documents = store.table(HostStepsRow), store.table(DocumentRow)
        # A cached row may be stale: writers read the row first, since another instance may have
        # owned the host in between.
        self._cache = ByteCache[str, HostStepsRow](
            STEP_CACHE_BYTES, _steps_size, SITE_STEP_CACHE_BYTES
        )

    def clear(self) -> None:
        """Drop the cache, which may differ from the store."""
        self._cache.clear()

    def reads_of(self, urls: Iterable[str], crawl: CrawlDefined | None) -> list[Key]:
        """Return the keys of uncached rows that `rewrite` needs for *urls*."""
        steps = crawl.url_steps if crawl else ()
        hosts = dict[str, None]()
        for url in urls:
            host = host_key(url)
            if host not in self._cache and host not in hosts and any(rewrite_by_rules(url, steps)):
                hosts[host] = None
        return [(HostStepsRow, host, "") for host in hosts]

    def rewrite(self, discovery: Discovery, via: str, crawl: CrawlDefined | None) -> Discovery:
        """Return *discovery*, found by the visit *via*, rewritten by the steps of its host."""
        if crawl is None or discovery.purpose is not Purpose.PAGE:
            return discovery
        if not any(rewrite_by_rules(discovery.url, crawl.url_steps)):
            return discovery
        url = rewrite_url(self._load(host_key(discovery.url)), discovery.url, crawl.url_steps)
        # A redirect that would lead to itself is followed unchanged. Seeds are never rewritten.
        is_loop = discovery.hops and url == via.partition("@")[2]
        if url == discovery.url or is_loop or via.startswith("seed@"):
            return discovery
        return replace(discovery, url=url, trace=fingerprint(url))

    def learn(self, page: PageParsed, original: str, crawl: CrawlDefined | None) -> list[str]:
        """Learn from the text of *page*, which *original* had first ("" if it is new).

        Return the rewritten URLs that have to be visited as proof.
        """
        url, to_visit = page.visit.url, []
        self._compare_default_documents(page, crawl)
        for rule, rewritten in self._find_rules(page, original, crawl):
            row = self._load(host_key(url))
            if rule == ASSUMED_RULE or rule in row.refuted or row.is_proven(rule):
                continue
            if original and rewrite_by_rule(original, rule) == rewritten:
                if rewritten in (url, original):
                    self._prove(host_key(url), rule, page.digest)
                else:
                    to_visit.append(rewritten)
            elif rule in row.proofs and self._has_other_text(rewritten, page):
                self._refute(host_key(url), rule)
        return to_visit

    def _compare_default_documents(self, page: PageParsed, crawl: CrawlDefined | None) -> None:
        """Compare a default document with its directory, when the second of the two is visited."""
        url, host = page.visit.url, host_key(page.visit.url)
        if crawl is None or ASSUMED_RULE not in crawl.url_steps or "?" in url:
            return
        directory = without_default_document(url)
        if directory != url and url not in self._load(host).default_documents:
            row = self._rows.get(host) or HostStepsRow(host)
            documents = (*row.default_documents, url)[-MAX_DEFAULT_DOCUMENTS:]
            self._write(replace(row, default_documents=documents))
        counterparts = [directory] if directory != url else []
        if url.endswith("/"):
            documents = self._load(host).default_documents
            counterparts = [one for one in documents if without_default_document(one) == url]
        if any(self._has_other_text(one, page) for one in counterparts):
            self._refute(host, ASSUMED_RULE)

    def _find_rules(
        self, page: PageParsed, original: str, crawl: CrawlDefined | None
    ) -> Iterator[tuple[str, str]]:
        """Yield pairs: a rule that rewrites the URL of *page* or of *original*, and a URL.

        The URL of a pair is the page's URL as rewritten by the rule, or the page's own URL if the
        rule rewrites the *original* only.
        """
        url, steps = page.visit.url, crawl.url_steps if crawl else ()
        rules = dict(rewrite_by_rules(url, steps))
        yield from rules.items()
        if original and host_key(original) == host_key(url):
            yield from (
                (rule, url) for rule, _ in rewrite_by_rules(original, steps) if rule not in rules
            )

    def _has_other_text(self, url: str, page: PageParsed) -> bool:
        """Return whether the document at *url* has a very different text than *page*."""
        document = self._documents.get((page.crawl, url))
        if document is None or document.gone or not document.sketch or not page.sketch:
            return False
        difference = estimate_change(document.sketch, page.sketch)
        return document.digest != page.digest and difference > MIN_DIFFERENCE

    def _prove(self, host: str, rule: str, digest: str) -> None:
        row = self._rows.get(host) or HostStepsRow(host)
        proofs = dict.fromkeys((*row.proofs.get(rule, ()), digest))
        self._write(replace(row, proofs={**row.proofs, rule: tuple(proofs)}))

    def _refute(self, host: str, rule: str) -> None:
        row = self._rows.get(host) or HostStepsRow(host)
        if rule not in row.refuted:
            self._write(replace(row, refuted=(*row.refuted, rule)))

    def _write(self, row: HostStepsRow) -> None:
        self._rows.put(row)
        self._cache.put(row.host, row, site_of(f"{row.host}/"))

    def _load(self, host: str) -> HostStepsRow:
        row = self._cache.get(host)
        if row is None:
            row = self._rows.get(host) or HostStepsRow(host)
            self._cache.put(host, row, site_of(f"{host}/"))
        return row


def _steps_size(row: HostStepsRow) -> int:
    texts = [*row.default_documents, *row.refuted, *row.proofs]
    proofs = sum(map(len, row.proofs.values()))
    return ENTRY_BYTES * (2 + proofs + len(texts)) + sum(map(len, texts))


# Host names.

MIN_COMPARED_PAGES = 10
"""Pages of a host from which the share of duplicates is significant."""
MAX_MISSES = 2
"""Consecutive visits that find another home page than the original's, after which the verdict is
revoked. One visit is not enough: if both home pages change together, one of them is visited
first."""
NAME_CACHE_BYTES, SITE_NAME_CACHE_BYTES = 32 << 20, 4 << 20
"""Size of the cache of `HostNameRow`, and of the part of one site."""
MIN_SHARES = {"dups60": 0.6, "dups80": 0.8, "dups100": 1.0}
"""Heuristic → the share of a host's pages that must be duplicates of the original's."""


def parse_pair(text: str) -> tuple[str, str]:
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


def is_www_pair(one: str, other: str) -> bool:
    """Return whether the names of two hosts differ in `www.` only."""
    names = sorted((host_name(one), host_name(other)), key=len)
    return names[1] == f"www.{names[0]}"


class HostNames:
    """Learns which hosts are replicas of other hosts, and rewrites links to them."""

    def __init__(self, store: Store, settings: DedupSettings) -> None:
        self._rows, self._settings = store.table(HostNameRow), settings
        self._listed = dict(map(parse_pair, settings.duphosts))
        self._cache = ByteCache[str, HostNameRow | None](
            NAME_CACHE_BYTES, _names_size, SITE_NAME_CACHE_BYTES
        )

    def clear(self) -> None:
        """Drop the cache, which may differ from the store."""
        self._cache.clear()

    def reads_of(self, urls: Iterable[str]) -> list[Key]:
        """Return the keys of uncached rows of the hosts of *urls*."""
        return [key for key in keys_of(urls) if str(key[2]) not in self._cache]

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

    def learn(self, page: PageParsed, leader: str, is_new: bool) -> tuple[Hazard, ...]:
        """Learn that *page* has the text of the URL *leader*, or redirects to it ("" if neither).

        *is_new*: the URL had no document before. Return the hazard if the host is now proven to be
        a replica.
        """
        url = page.visit.url
        host, leading_host = host_key(url), host_key(leader) if leader else ""
        before = self._load(page.site, host)
        if leading_host in ("", host):
            row = before and _count_other_page(before, is_home_page(url), is_new)
        else:
            row = before or HostNameRow(page.site, host)
            row = self._count_equal_page(row, page, leader, is_new)
        is_news = row is not None and row.original and row != before
        return self._record(before, row) if row and is_news else ()

    def learn_redirect(self, page: PageParsed) -> tuple[Hazard, ...]:
        """Learn from a redirect of *page*; return the hazard as `learn` does.

        A redirect from one home page to another is a proof if the names are a `www.` pair.
        """
        target = next((link.url for link in page.links if link.redirect), "")
        are_home_pages = target and is_home_page(page.visit.url) and is_home_page(target)
        if are_home_pages and is_www_pair(host_key(page.visit.url), host_key(target)):
            return self.learn(page, target, True)
        return ()

    def _count_equal_page(
        self, row: HostNameRow, page: PageParsed, leader: str, is_new: bool
    ) -> HostNameRow:
        host, leading_host = row.host, host_key(leader)
        if page.visit.url.removeprefix(host) != leader.removeprefix(leading_host):
            return row
        if self._is_replica(page.site, leading_host):
            # Both pages changed together, and this time the replica was visited first.
            self._renew(leading_host, host, page)
            return row
        if row.original != leading_host:
            row = HostNameRow(row.site, host, leading_host)
        until = page.fetched_at + self._settings.duphost_age
        if is_home_page(leader):
            return replace(row, home=True, misses=0, until=until)
        return replace(row, alike=row.alike + is_new, until=until)

    def _is_replica(self, our_site: str, host: str) -> bool:
        # Another instance writes the rows of other sites, so they are not cached.
        site = site_of(f"{host}/")
        row = self._load(site, host) if site == our_site else self._rows.get(site, host)
        return bool(row and row.rule)

    def _renew(self, replica: str, original: str, page: PageParsed) -> None:
        row = self._load(page.site, replica)
        if row and row.original == original and is_home_page(page.visit.url):
            until = page.fetched_at + self._settings.duphost_age
            self._write(replace(row, misses=0, until=until))

    def _record(self, before: HostNameRow | None, row: HostNameRow) -> tuple[Hazard, ...]:
        rule = self._decide_rule(row)
        self._write(replace(row, rule=rule))
        is_new_rule = rule and rule != (before.rule if before else "")
        return (Hazard(rule),) if is_new_rule else ()

    def _decide_rule(self, row: HostNameRow) -> str:
        """Return the hazard that is proven for a host, `www_alias` or `duphost`, or ""."""
        if is_www_pair(row.host, row.original):
            is_alias = row.home and self._settings.www_alias == "proven"
            return Hazard.WWW_ALIAS.value if is_alias else ""
        heuristic, equal = self._settings.duphost, row.alike + row.home
        compared = equal + row.others
        if min_share := MIN_SHARES.get(heuristic):
            is_replica = compared >= MIN_COMPARED_PAGES and equal >= min_share * compared
        else:
            min_equal = {"same_home": 1, "same_home_and_1_doc": 2}.get(heuristic)
            is_replica = min_equal is not None and row.home and equal >= min_equal
        return Hazard.DUPHOST.value if is_replica else ""

    def _find_original(self, host: str, now: float) -> str:
        if listed := self._listed.get(host):
            return listed
        site = site_of(f"{host}/")
        if original := original_of(self._load(site, host), now):
            return original
        lacks_www = self._settings.www_alias == "assumed" and host_name(host) == site
        return host.replace("://", "://www.", 1) if lacks_www and not is_address(site) else ""

    def _write(self, row: HostNameRow) -> None:
        self._rows.put(row)
        self._cache.put(row.host, row, row.site)

    def _load(self, site: str, host: str) -> HostNameRow | None:
        if host in self._cache:
            return self._cache.get(host)
        row = self._rows.get(site, host)
        self._cache.put(host, row, site)
        return row


def _names_size(row: HostNameRow | None) -> int:
    return 2 * ENTRY_BYTES if row is None else 4 * ENTRY_BYTES


def keys_of(urls: Iterable[str]) -> list[Key]:
    """Return the keys of the rows of the hosts of *urls*."""
    hosts = dict.fromkeys(map(host_key, urls))
    return [(HostNameRow, site_of(f"{host}/"), host) for host in hosts]


def _count_other_page(row: HostNameRow, is_home: bool, is_new: bool) -> HostNameRow:
    """Return *row* after a visit to a page of its host that differs from the original's."""
    if not is_home:
        return replace(row, others=row.others + is_new)
    misses = min(row.misses + 1, MAX_MISSES)
    return replace(row, misses=misses, home=row.home and misses < MAX_MISSES)
