"""What a host shows of its URLs: which of them are one page, by their texts.

Some steps are right at most hosts and wrong at others: that `sid` is a session, that capitals make
no difference, that `index.html` is its directory. The content test sees all the texts of a host, so
it can tell. A *rule* is a step at a host, and its *image* of a URL what it makes of it. Where a URL
and its image had the same text, that text is a proof of the rule; several different texts make it
hold, since the same error page comes under all sorts of URLs. Where two URLs of one image have the
same text, the image is released, too: the host must show what it gives without the parameter. Where
a URL and its image have quite different texts, the rule is refuted, for good.

Who has a site's links to test judges its pages as well: so what is learnt is at hand where it is
needed, in the row of the host, and nobody else needs to know it.
"""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from gossamer.cache import ENTRY_BYTES, ByteCache
from gossamer.events import CrawlDefined, Discovery, PageParsed, Purpose
from gossamer.runtime.processor import Key
from gossamer.store import Store
from gossamer.text.sketch import estimate_change
from gossamer.web.url import fingerprint, host_key, site_of
from gossamer.web.url_steps import host_image, host_images, without_default_document
from services.dedup.rows import ASSUMED, DocumentRow, HostStepsRow

DIFFERENT = 0.5
"""Part of the words by which the text of a URL and of its image differ when they are two pages."""
MET = 10
"""Default documents of a host that are kept to be compared."""
CACHE_BYTES, SITE_CACHE_BYTES = 32 << 20, 2 << 20
"""Bytes of the cache of rows, and of the part of one site."""


def known_at(row: HostStepsRow, url: str, steps: tuple[str, ...]) -> str:
    """Return what *url* is known as at its host, of which *row* says what it has shown."""
    before = ""
    while url != before:
        before = url
        for rule, _ in host_images(url, steps):
            url = host_image(url, rule) if row.holds(rule) else url
    return url


class HostSteps:
    """Learns what hosts show, and goes by it."""

    def __init__(self, store: Store) -> None:
        self._rows, self._documents = store.table(HostStepsRow), store.table(DocumentRow)
        # What another instance has learnt meanwhile is read before anything is written.
        self._cache = ByteCache[str, HostStepsRow](CACHE_BYTES, _size, SITE_CACHE_BYTES)

    def forget(self) -> None:
        """Drop rows in memory that the store may have discarded."""
        self._cache.clear()

    def reads_of(self, urls: Iterable[str], crawl: CrawlDefined | None) -> list[Key]:
        """Return the keys of the rows that `known_as` needs for *urls* and memory lacks."""
        steps = crawl.url_steps if crawl else ()
        hosts = dict[str, None]()
        for url in urls:
            host = host_key(url)
            if host not in self._cache and host not in hosts and any(host_images(url, steps)):
                hosts[host] = None
        return [(HostStepsRow, host, "") for host in hosts]

    def known_as(self, found: Discovery, via: str, crawl: CrawlDefined | None) -> Discovery:
        """Return *found*, which *via* discovered, under the URL that its host knows it by."""
        if crawl is None or found.purpose is not Purpose.PAGE:
            return found
        if not any(host_images(found.url, crawl.url_steps)):
            return found
        url = known_at(self._row(host_key(found.url)), found.url, crawl.url_steps)
        # A redirect to what would be itself is followed as it stands; a seed is wanted so.
        itself = found.hops and url == via.partition("@")[2]
        if url == found.url or itself or via.startswith("seed@"):
            return found
        return replace(found, url=url, trace=fingerprint(url))

    def learn(self, page: PageParsed, original: str, crawl: CrawlDefined | None) -> list[str]:
        """Take in that *page* has the text of *original*, or one of its own ("").

        Return the images that are to be visited, too.
        """
        url, wanted = page.visit.url, []
        self._compare(page, crawl)
        for rule, image in self._rules(page, original, crawl):
            row = self._row(host_key(url))
            if rule == ASSUMED or rule in row.refuted or row.is_proven(rule):
                continue
            if original and host_image(original, rule) == image:
                if image in (url, original):
                    self._prove(host_key(url), rule, page.digest)
                else:
                    wanted.append(image)
            elif rule in row.proofs and self._differ(image, page):
                self._refute(host_key(url), rule)
        return wanted

    def _compare(self, page: PageParsed, crawl: CrawlDefined | None) -> None:
        """Compare a default document with its directory, whichever comes second."""
        url, host = page.visit.url, host_key(page.visit.url)
        if crawl is None or ASSUMED not in crawl.url_steps or "?" in url:
            return
        image = without_default_document(url)
        if image != url and url not in self._row(host).met:
            row = self._rows.get(host) or HostStepsRow(host)
            self._write(replace(row, met=(*row.met, url)[-MET:]))
        others = [image] if image != url else []
        if url.endswith("/"):
            others = [one for one in self._row(host).met if without_default_document(one) == url]
        if any(self._differ(other, page) for other in others):
            self._refute(host, ASSUMED)

    def _rules(
        self, page: PageParsed, original: str, crawl: CrawlDefined | None
    ) -> Iterator[tuple[str, str]]:
        """Yield the rules that say something of the URL of *page*, or of its *original*'s, and what
        they make of the first."""
        url, steps = page.visit.url, crawl.url_steps if crawl else ()
        rules = dict(host_images(url, steps))
        yield from rules.items()
        if original and host_key(original) == host_key(url):
            yield from (
                (rule, url) for rule, _ in host_images(original, steps) if rule not in rules
            )

    def _differ(self, other: str, page: PageParsed) -> bool:
        known = self._documents.get((page.crawl, other))
        if known is None or known.gone or not known.sketch or not page.sketch:
            return False
        return (
            known.digest != page.digest and estimate_change(known.sketch, page.sketch) > DIFFERENT
        )

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

    def _row(self, host: str) -> HostStepsRow:
        row = self._cache.get(host)
        if row is None:
            row = self._rows.get(host) or HostStepsRow(host)
            self._cache.put(host, row, site_of(f"{host}/"))
        return row


def _size(row: HostStepsRow) -> int:
    texts = [*row.met, *row.refuted, *row.proofs]
    proofs = sum(len(some) for some in row.proofs.values())
    return ENTRY_BYTES * (2 + proofs + len(texts)) + sum(map(len, texts))
