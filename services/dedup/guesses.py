"""How many guesses at URLs are let through to a host: fewer, the more of them are no pages.

Every host has room for a few guesses. One that turns out to be a page makes room for two more; one
that does not makes none: so a host is asked in vain at most as often as it had pages there, and a
few times besides. What is left out is not remembered as met, so that a link which leads there is
followed. Memory holds the hosts that were guessed at last; what is lost of it, as at a restart, is
learnt again.
"""

from collections import OrderedDict

from gossamer.events import PageParsed
from gossamer.web.http import REDIRECTS
from gossamer.web.url import host_key

FIRST = 10
"""Guesses at a host of which nothing is known."""
MOST = 100
"""The most room that a host may have."""
REMEMBERED = 50_000
"""Hosts, and guesses under way, of one instance."""


class Guesses:
    """The room that hosts have for guesses."""

    def __init__(self) -> None:
        self._room = OrderedDict[str, int]()
        self._asked = OrderedDict[str, None]()

    def ask(self, url: str) -> bool:
        """Return whether *url*, a guess, is let through: then it takes room until it is visited."""
        if self._room.get(host_key(url), FIRST) <= 0:
            return False
        self._asked[url] = None
        self._make_room(url, -1)
        return True

    def answered(self, page: PageParsed) -> None:
        """Take in what a guess has turned out to be, if *page* was one."""
        url = page.visit.url
        if url in self._asked:
            del self._asked[url]
            found = 200 <= page.status < 300
            self._make_room(url, 2 if found else page.status in REDIRECTS)

    def _make_room(self, url: str, more: int) -> None:
        host = host_key(url)
        self._room[host] = min(MOST, self._room.pop(host, FIRST) + more)
        for remembered in (self._room, self._asked):
            if len(remembered) > REMEMBERED:
                remembered.popitem(last=False)
