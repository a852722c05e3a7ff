"""What dedup learns of a host: whether guesses hit, which URLs are one, which names.

The next sections are about `Guesses`, `HostSteps` and `HostNames`.

How many guesses at URLs are let through to a host: fewer, the more of them are no pages.

Every host has room for a few guesses. One that turns out to be a page makes room for two more; one
that does not makes none: so a host is asked in vain at most as often as it had pages there, and a
few times besides. What is left out is not remembered as met, so that a link which leads there is
followed. What a host has room for is in its row. Which guesses are under way is in memory alone: of
those that a restart forgets nothing is learnt, and as many others may be tried.

What a host shows of its URLs: which of them are one page, by their texts.

Some steps are right at most hosts and wrong at others: that `sid` is a session, that capitals make
no difference, that `index.html` is its directory. The content test sees all the texts of a host, so
it can tell. A *rule* is a step at a host, and its *image* of a URL what it makes of it. Where a URL
and its image had the same text, that text is a proof of the rule; several different texts make it
hold, since the same error page comes under all sorts of URLs. Where two URLs of one image have the
same text, the image is released, too: the host must show what it gives without the parameter. Where
a URL and its image have quite different texts, the rule is refuted, for good.

Who has a site's links to test judges its pages as well: so what is learnt is at hand where it is
needed, in the row of the host, and nobody else needs to know it.

Which hosts are one under two names: `www` and none, and sites that serve the same content.

Viuva-negra found that one site in thirty is a replica of another, and that in half of these pairs
the names differ in `www.` alone (2.3). The content test sees it: a page that has the text of
another host's page of the same path. For `www.` equal home pages are proof, or one that redirects
to the other; for others the heuristic that is set. The host whose pages come second is the replica:
a link to it is taken for one to the same path of the *original*, wherever that lies.

Verdicts expire. Whatever is visited of a replica meanwhile (seeds are, and pages that were visited
before) renews its verdict or takes it back, and after that time its URLs are visited again.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import left_out
from gossamer.cache import ENTRY_BYTES, ByteCache
from gossamer.errors import BadSettings
from gossamer.events import CrawlDefined, Discovery, PageKind, PageParsed, Purpose
from gossamer.events.hazards import Hazard
from gossamer.runtime.processor import Key
from gossamer.settings import DedupSettings
from gossamer.store import Row, Store
from gossamer.text.sketch import change
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
from gossamer.web.url_steps import host_image, host_images, without_default_document
from services.dedup.rows import ASSUMED, DocumentRow, HostNameRow, HostStepsRow, original_of

FIRST_GUESSES = 10
"""Guesses at a host of which nothing is known."""
MAX_GUESSES = 100
"""The most room that a host may have."""
GUESSES_BYTES, SITE_GUESSES_BYTES = 32 << 20, 2 << 20
"""Bytes of the cache of hosts, and of the part of one site."""
PAGE_KINDS = frozenset({PageKind.DOCUMENT, PageKind.LISTING, PageKind.UNREADABLE})
UNDECIDED_KINDS = frozenset({PageKind.MOVED, PageKind.REDIRECTED})
"""Kinds of answers that do not tell whether a guess was right."""


class GuessesRow(Row, frozen=True):
    """How many guesses at a host are let through, by how many turned out to be pages."""

    table = "guesses"
    partition_key = "host"

    host: str
    room: int = FIRST_GUESSES
    """How many more, when none is under way."""


@dataclass
class _Host:
    room: int
    asked: set[str] = field(default_factory=set)
    """The fingerprints of the guesses under way."""

    @property
    def size(self) -> int:
        """About how many bytes it takes in memory."""
        return ENTRY_BYTES * (1 + len(self.asked))


class Guesses:
    """The room that hosts have for guesses."""

    def __init__(self, store: Store) -> None:
        self._rows = store.table(GuessesRow)
        self._hosts = ByteCache[str, _Host](
            GUESSES_BYTES, lambda host: host.size, SITE_GUESSES_BYTES
        )

    def forget(self) -> None:
        """Drop what is in memory, also which guesses are under way."""
        self._hosts.clear()

    def reads_of(self, found: Iterable[Discovery]) -> list[Key]:
        """Return the keys of the rows of hosts that *found* guesses at, not in memory."""
        hosts = dict.fromkeys(host_key(one.url) for one in found if one.guess)
        return [(GuessesRow, host, "") for host in hosts if host not in self._hosts]

    def ask(self, url: str) -> bool:
        """Return whether *url*, a guess, is let through: then it takes room until it is visited."""
        key, guess = host_key(url), fingerprint(url)
        host = self._hosts.get(key) or _Host(self._row(key).room)
        if len(host.asked) < host.room:
            host.asked.add(guess)
        self._hosts.put(key, host, site_of(url))
        return guess in host.asked

    def answered(self, page: PageParsed) -> None:
        """Take in what a guess has turned out to be, if *page* was one."""
        url, key = page.visit.url, host_key(page.visit.url)
        host, guess = self._hosts.get(key), fingerprint(url)
        if host is None or guess not in host.asked:
            return
        host.asked.discard(guess)
        # Another instance may have had the host meanwhile.
        host.room = self._row(key).room
        if page.kind not in UNDECIDED_KINDS:
            host.room = min(MAX_GUESSES, host.room + (1 if page.kind in PAGE_KINDS else -1))
            self._rows.put(GuessesRow(key, host.room))
        self._hosts.put(key, host, site_of(url))

    def _row(self, host: str) -> GuessesRow:
        return self._rows.get(host) or GuessesRow(host)


DIFFERENT = 0.5
"""Part of the words by which the text of a URL and of its image differ when they are two pages."""
MET = 10
"""Default documents of a host that are kept to be compared."""
STEPS_BYTES, SITE_STEPS_BYTES = 32 << 20, 2 << 20
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
        self._cache = ByteCache[str, HostStepsRow](STEPS_BYTES, _steps_size, SITE_STEPS_BYTES)

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
        return known.digest != page.digest and change(known.sketch, page.sketch) > DIFFERENT

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


def _steps_size(row: HostStepsRow) -> int:
    texts = [*row.met, *row.refuted, *row.proofs]
    proofs = sum(len(some) for some in row.proofs.values())
    return ENTRY_BYTES * (2 + proofs + len(texts)) + sum(map(len, texts))


LEAST = 10
"""Pages of a host of which a share says something."""
MISSES = 2
"""Visits in a row that find another home page than the original's, before that counts: of two that
change together one is always seen first."""
NAMES_BYTES, SITE_NAMES_BYTES = 32 << 20, 4 << 20
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
        self._cache = ByteCache[str, HostNameRow | None](NAMES_BYTES, _names_size, SITE_NAMES_BYTES)

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


def _names_size(row: HostNameRow | None) -> int:
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
