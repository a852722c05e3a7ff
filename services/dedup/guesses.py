"""Limits the guesses at URLs of each host, by how many of them were pages.

A few guesses at URLs pass for each host, for all crawls together. A guess that is a page allows two
more at its host; a guess that is not a page allows none. So a host gets at most as many requests
for missing pages as it had pages behind guesses, and a few more. A guess that is dropped is not
stored in the URL-seen set, so a link to the same URL is followed. The limit is in the host's row.
Guesses in flight are in memory only: nothing is learned from the guesses that a restart forgets,
and the same number of others may be tried.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from gossamer.cache import ENTRY_BYTES, ByteCache
from gossamer.events import Discovery, PageKind, PageParsed
from gossamer.runtime.processor import Key
from gossamer.store import Row, Store
from gossamer.web.url import HostKey, fingerprint, host_key, site_of

INITIAL_GUESSES = 10
"""Guesses that may be in flight at a new host."""
MAX_GUESSES = 100
"""Guesses that may be in flight at any host."""
GUESS_CACHE_BYTES, SITE_GUESS_CACHE_BYTES = 32 << 20, 2 << 20
"""Size of the cache of hosts with guesses, and of the part of one site."""
PAGE_KINDS = frozenset({PageKind.DOCUMENT, PageKind.LISTING, PageKind.UNREADABLE})
UNDECIDED_KINDS = frozenset({PageKind.MOVED, PageKind.REDIRECTED})
"""Kinds of pages that neither confirm nor reject a guess."""


class GuessesRow(Row, frozen=True):
    """The maximum number of guesses in flight at a host."""

    table = "guesses"
    partition_key = "host"
    about = ("host",)

    host: HostKey
    limit: int = INITIAL_GUESSES
    """Maximum number of guesses in flight."""


@dataclass
class _HostGuesses:
    limit: int
    in_flight: set[tuple[str, str]] = field(default_factory=set)
    """The crawl and fingerprint of each guess in flight."""

    @property
    def size(self) -> int:
        """The approximate size in memory, in bytes."""
        return ENTRY_BYTES * (1 + len(self.in_flight))


class Guesses:
    """Limits the guesses in flight at each host."""

    def __init__(self, store: Store) -> None:
        self._rows = store.table(GuessesRow)
        self._hosts = ByteCache[str, _HostGuesses](
            GUESS_CACHE_BYTES, lambda host: host.size, SITE_GUESS_CACHE_BYTES
        )

    def clear(self) -> None:
        """Drop the cache and all guesses in flight."""
        self._hosts.clear()

    def reads_of(self, discoveries: Iterable[Discovery]) -> list[Key]:
        """Return the keys of uncached rows of the hosts of guesses in *discoveries*."""
        hosts = dict.fromkeys(host_key(one.url) for one in discoveries if one.guess)
        return [(GuessesRow, host, "") for host in hosts if host not in self._hosts]

    def request(self, crawl: str, url: str) -> bool:
        """Return whether *url*, a guess of *crawl*, passes.

        It is then in flight until the crawl visits it.
        """
        key, guess = host_key(url), (crawl, fingerprint(url))
        host = self._hosts.get(key) or _HostGuesses(self._load(key).limit)
        if len(host.in_flight) < host.limit:
            host.in_flight.add(guess)
        self._hosts.put(key, host, site_of(url))
        return guess in host.in_flight

    def record_page(self, page: PageParsed) -> None:
        """If the URL of *page* was a guess in flight, end the guess and adjust the host's limit."""
        url, key = page.visit.url, host_key(page.visit.url)
        host, guess = self._hosts.get(key), (page.crawl, fingerprint(url))
        if host is None or guess not in host.in_flight:
            return
        host.in_flight.discard(guess)
        # Reload the limit, since another instance may have owned the host in between.
        host.limit = self._load(key).limit
        if page.kind not in UNDECIDED_KINDS:
            host.limit = min(MAX_GUESSES, host.limit + (1 if page.kind in PAGE_KINDS else -1))
            self._rows.put(GuessesRow(key, host.limit))
        self._hosts.put(key, host, site_of(url))

    def _load(self, host: HostKey) -> GuessesRow:
        return self._rows.get(host) or GuessesRow(host)
