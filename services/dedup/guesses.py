"""How many guesses at URLs are let through to a host: fewer, the more of them are no pages.

Every host has room for a few guesses. One that turns out to be a page makes room for two more; one
that does not makes none: so a host is asked in vain at most as often as it had pages there, and a
few times besides. What is left out is not remembered as met, so that a link which leads there is
followed. What a host has room for is in its row. Which guesses are under way is in memory alone: of
those that a restart forgets nothing is learnt, and as many others may be tried.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from gossamer.cache import ENTRY_BYTES, ByteCache
from gossamer.events import Discovery, PageKind, PageParsed
from gossamer.runtime.processor import Key
from gossamer.store import Row, Store
from gossamer.web.url import fingerprint, host_key, site_of

FIRST = 10
"""Guesses at a host of which nothing is known."""
MOST = 100
"""The most room that a host may have."""
CACHE_BYTES, SITE_CACHE_BYTES = 32 << 20, 2 << 20
"""Bytes of the cache of hosts, and of the part of one site."""
PAGES = frozenset({PageKind.DOCUMENT, PageKind.LISTING, PageKind.UNREADABLE})
UNDECIDED = frozenset({PageKind.MOVED, PageKind.REDIRECTED})
"""Kinds of answers that do not tell whether a guess was right."""


class GuessesRow(Row, frozen=True):
    """How many guesses at a host are let through, by how many turned out to be pages."""

    table = "guesses"
    partition_key = "host"

    host: str
    room: int = FIRST
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
        self._hosts = ByteCache[str, _Host](CACHE_BYTES, lambda host: host.size, SITE_CACHE_BYTES)

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
        if page.kind not in UNDECIDED:
            host.room = min(MOST, host.room + (1 if page.kind in PAGES else -1))
            self._rows.put(GuessesRow(key, host.room))
        self._hosts.put(key, host, site_of(url))

    def _row(self, host: str) -> GuessesRow:
        return self._rows.get(host) or GuessesRow(host)
