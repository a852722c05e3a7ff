"""What dedup learns about a host from its texts: the URL steps that hold there.

One instance owns a site: it tests the links to the site and decides the verdicts on its pages. So
the rows are written where they are read, and no other service reads them.

Some steps are right at most hosts and wrong at others. They assume that `sid` is a session id, that
case does not matter, or that `index.html` shows the same page as its directory. The content test
compares all texts of a host, so it can tell. A *rule* is a step at one host. If a URL and its
rewritten URL have the same text, that text is a proof of the rule. Steps that are often wrong need
several proofs with different texts (`REQUIRED_PROOFS`), since one error page appears under many
URLs. If a rule rewrites two URLs with the same text to one third URL, that URL is released too, so
that its visit shows whether it has the same text. If a URL and its rewritten URL have very
different texts, the rule is refuted for good.

**Random tokens.** A server may demand a session id, so that a URL without one shows something else.
Its name may be any, and it may be in the path. Two URLs that differ only in a random token and have
the same text prove that the token makes no difference. A proven rule replaces all tokens by the
token of the first proof, which the server has accepted. If the token names the page, the same place
with another token has another text, and the rule is refuted. It is also refuted by several links of
one page that differ in their tokens alone.

Before the proof, the URL-seen set gets the tokenless form of each such URL, too. After the proof
only this form is tested, so a page that was visited or queued under one token is not admitted under
another. The frontier learns the rules, and sends the URLs that it has queued to the URL-seen test
again. The first finder of a tokenless form is the finder of the first URL with this form, so one
URL of each page passes.

**Missing pages.** The response to the probe shows how the host answers for a missing page. Pages
with this text are not documents (soft 404s). Those that were published before are found by their
text: the leader of the text, near duplicates, and the copies that were noted for the host. A home
page is never one of them, because a host may show it for a missing page.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.cache import ENTRY_BYTES, ByteCache
from gossamer.events import CrawlDefined, Discovery, PageParsed, Purpose
from gossamer.runtime.processor import Key
from gossamer.services.dedup.rows import ASSUMED_RULE, DocumentRow, HostRules, HostStepsRow
from gossamer.store import Store
from gossamer.text.sketch import estimate_change
from gossamer.web.soft_404 import Signature, is_home_page, is_missing_text
from gossamer.web.url import HostKey, fingerprint, host_key, site_of
from gossamer.web.url_steps import (
    TOKEN_RULES,
    TOKEN_STEPS,
    rewrite_by_rule,
    rewrite_by_rules,
    token_in,
    without_default_document,
)

MIN_DIFFERENCE = 0.5
"""Fraction of changed words from which the texts of a URL and its rewritten URL are two pages."""
MIN_LISTED_TOKENS = 3
"""Links of a page that differ in their tokens alone from which tokens name pages."""
MAX_DEFAULT_DOCUMENTS = 10
"""Default documents of a host that are stored for comparison."""
MAX_COPIES = 50
"""Copies of a host that are noted before its response for missing pages is known."""
STEP_CACHE_BYTES, SITE_STEP_CACHE_BYTES = 32 << 20, 2 << 20
"""Size of the cache of `HostStepsRow`, and of the part of one site."""


def rewrite_url(row: HostStepsRow, url: str, steps: tuple[str, ...]) -> str:
    """Return *url*, rewritten by the *steps* that hold at its host according to *row*."""
    before = ""
    while url != before:
        before = url
        for rule, _ in rewrite_by_rules(url, steps):
            url = row.rewrite(url, rule) if row.holds(rule) else url
    return url


class StepsLesson(NamedTuple):
    """The effects of a page on the URL steps of its host."""

    to_visit: list[str]
    """Rewritten URLs that have to be visited as proof."""
    session_rules: dict[str, str] | None
    """The rules about session ids, if they have changed (`HostStepsRow.session_rules`)."""


class Identity(NamedTuple):
    """The form of a URL with random tokens that the URL-seen test compares."""

    url: str
    """The URL, without tokens that make no difference."""
    forms: tuple[str, ...] = ()
    """The forms without a token that the URL may turn out to have."""


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

    def reads_of(self, urls: Iterable[tuple[str, CrawlDefined | None]]) -> list[Key]:
        """Return the keys of uncached rows that `rewrite` needs for *urls*, each of a crawl."""
        hosts = dict[str, None]()
        for url, crawl in urls:
            host, steps = host_key(url), crawl.url_steps if crawl else ()
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

    def identify(self, url: str, crawl: CrawlDefined | None) -> Identity:
        """Return the identity of *url*, which was rewritten, in the URL-seen test."""
        if crawl is None or not _may_have_token(url, crawl):
            return Identity(url)
        row, forms = self._load(host_key(url)), list[str]()
        for rule, tokenless in rewrite_by_rules(url, crawl.url_steps):
            if rule.startswith(TOKEN_RULES) and rule not in row.refuted:
                if row.is_proven(rule):
                    return Identity(tokenless)
                forms.append(tokenless)
        return Identity(url, tuple(forms))

    def rules_of(self, host: HostKey) -> HostRules:
        """Return what decides how URLs of *host* are rewritten."""
        return self._load(host).rules

    def rows_of(self, pages: Iterable[PageParsed]) -> list[Key]:
        """Return the keys of the uncached rows of the hosts of *pages*."""
        hosts = dict.fromkeys(page.host for page in pages)
        return [(HostStepsRow, host, "") for host in hosts if host not in self._cache]

    def is_missing_page(self, page: PageParsed) -> bool:
        """Return whether *page* has the text of its host's response for missing pages.

        The parser marks such pages if their order was made after the probe. These pages were
        ordered before.
        """
        if is_home_page(page.visit.url) or page.needs_rendering:
            return False
        missing = self._load(page.host).missing
        return missing is not None and is_missing_text(missing, page.digest, page.simhash)

    def note_copy(self, page: PageParsed) -> None:
        """Note that *page* was published as a copy: it may be a response for missing pages."""
        url, row = page.visit.url, self._load(page.host)
        if row.missing or url in row.copies or len(row.copies) >= MAX_COPIES:
            return
        row = self._rows.get(page.host) or HostStepsRow(page.host)
        self._write(replace(row, copies=(*row.copies, url)))

    def record_missing_page(self, page: PageParsed) -> None:
        """Record the response to the probe *page*.

        A page that scripts fill shows nothing: its empty frame may be any page.
        """
        if page.needs_rendering or not page.digest:
            return
        row = self._rows.get(page.host) or HostStepsRow(page.host)
        missing = Signature(
            status=page.status, digest=page.digest, simhash=page.simhash, at=page.fetched_at
        )
        if row.missing != missing:
            self._write(replace(row, missing=missing))

    def copies(self, page: PageParsed) -> tuple[str, ...]:
        """Return the URLs at the host of *page* that were published as copies, in any crawl."""
        return self._load(page.host).copies if page.digest else ()

    def learn(self, page: PageParsed, original: str, crawl: CrawlDefined | None) -> StepsLesson:
        """Learn from the text of *page*, which *original* had first ("" if it is new).

        Return the rewritten URLs that have to be visited as proof, and the rules about session ids
        if they have changed.
        """
        before = self._load(page.host).session_rules
        to_visit = self._learn(page, original, crawl)
        rules = self._load(page.host).session_rules
        return StepsLesson(to_visit, None if rules == before else rules)

    def _learn(self, page: PageParsed, original: str, crawl: CrawlDefined | None) -> list[str]:
        url, to_visit = page.visit.url, list[str]()
        self._compare_default_documents(page, crawl)
        for rule in _rules_of_lists(page, crawl):
            self._refute(host_key(url), rule)
        for rule, rewritten in self._find_rules(page, original, crawl):
            row = self._load(host_key(url))
            if rule == ASSUMED_RULE or rule in row.refuted or row.is_proven(rule):
                continue
            if original and rewrite_by_rule(original, rule) == rewritten:
                if rule.startswith(TOKEN_RULES):
                    self._prove(host_key(url), rule, page.digest, token_in(original, rule))
                elif rewritten in (url, original):
                    self._prove(host_key(url), rule, page.digest)
                else:
                    to_visit.append(rewritten)
            elif rule in row.proofs and self._has_other_text(row.rewrite(url, rule), page):
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

    def _prove(self, host: HostKey, rule: str, digest: str, token: str = "") -> None:
        """Add a proof of *rule*; the *token* of the first proof replaces all other tokens."""
        row = self._rows.get(host) or HostStepsRow(host)
        proofs = dict.fromkeys((*row.proofs.get(rule, ()), digest))
        tokens = {rule: token, **row.tokens} if token else row.tokens
        self._write(replace(row, proofs={**row.proofs, rule: tuple(proofs)}, tokens=tokens))

    def _refute(self, host: HostKey, rule: str) -> None:
        row = self._rows.get(host) or HostStepsRow(host)
        if rule not in row.refuted:
            self._write(replace(row, refuted=(*row.refuted, rule)))

    def _write(self, row: HostStepsRow) -> None:
        self._rows.put(row)
        self._cache.put(row.host, row, site_of(f"{row.host}/"))

    def _load(self, host: HostKey) -> HostStepsRow:
        row = self._cache.get(host)
        if row is None:
            row = self._rows.get(host) or HostStepsRow(host)
            self._cache.put(host, row, site_of(f"{host}/"))
        return row


def _may_have_token(url: str, crawl: CrawlDefined) -> bool:
    return any(rule.startswith(TOKEN_RULES) for rule, _ in rewrite_by_rules(url, crawl.url_steps))


def _rules_of_lists(page: PageParsed, crawl: CrawlDefined | None) -> set[str]:
    """Return the rules about tokens that name pages: *page* links to several URLs of its host that
    differ in their tokens alone. All links of a session have one token."""
    forms, home = dict[tuple[str, str], set[str]](), f"{page.host}/"
    has_steps = crawl is not None and not set(TOKEN_STEPS).isdisjoint(crawl.url_steps)
    for link in page.links if has_steps else ():
        if link.url.startswith(home):
            for rule, tokenless in rewrite_by_rules(link.url, TOKEN_STEPS):
                if rule.startswith(TOKEN_RULES):
                    forms.setdefault((rule, tokenless), set()).add(link.url)
    return {rule for (rule, _), urls in forms.items() if len(urls) >= MIN_LISTED_TOKENS}


def _steps_size(row: HostStepsRow) -> int:
    texts = [*row.default_documents, *row.copies, *row.refuted, *row.proofs, *row.tokens.values()]
    proofs = sum(map(len, row.proofs.values()))
    return ENTRY_BYTES * (2 + proofs + len(texts)) + sum(map(len, texts))
