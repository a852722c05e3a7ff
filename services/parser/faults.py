"""Hosts whose pages cannot be read: how long they are let be, and how many of their pages are kept.

A page that takes a child until its time limit costs what a thousand others do. A host that has
nothing but such pages must not take the parser from everybody else, nor fill the dead letters: one
page is enough to see why, and each is megabytes.
"""

from collections import OrderedDict
from dataclasses import dataclass

LONGEST = 86400.0
"""The longest that a host is let be, in seconds."""
HOSTS = 10_000
"""Most hosts that are remembered: those that failed last."""


@dataclass
class _Host:
    in_row: int = 0
    """Pages in a row that could not be read."""
    wait: float = 0.0
    held_until: float = 0.0
    tried: bool = False
    """Whether a page is being read to see if the host is as it was."""
    kept: int = 0


class Faults:
    """After *limit* pages of a host in a row that cannot be read its pages are held back.

    For *wait* seconds at first, and twice as long each time that the next page cannot be read
    either; 0 pages: never. Of each host *letters* such pages are kept.
    """

    def __init__(self, limit: int, wait: float, letters: int) -> None:
        self._limit, self._wait, self._letters = limit, wait, letters
        self._hosts: OrderedDict[str, _Host] = OrderedDict()

    def held_until(self, host: str, now: float) -> float:
        """Return until when the pages of *host* are held back; 0 if the next one is to be read."""
        known = self._hosts.get(host)
        if not known or not self._limit or known.in_row < self._limit:
            return 0.0
        if now < known.held_until:
            return known.held_until
        # One of those that may be under way at once.
        known.tried, known.held_until = True, now + known.wait
        return 0.0

    def read(self, host: str) -> None:
        """Note that a page of *host* was read."""
        if known := self._hosts.get(host):
            self._hosts[host] = _Host(kept=known.kept)

    def failed(self, host: str, now: float) -> bool:
        """Note that a page of *host* could not be read; return whether it is to be kept."""
        known = self._hosts.setdefault(host, _Host())
        self._hosts.move_to_end(host)
        if len(self._hosts) > HOSTS:
            self._hosts.popitem(last=False)
        known.in_row += 1
        if self._limit and (known.in_row == self._limit or known.tried):
            known.wait = min(2 * known.wait or self._wait, LONGEST)
            known.held_until, known.tried = now + known.wait, False
        known.kept += 1
        return known.kept <= self._letters
