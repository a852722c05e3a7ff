"""The visits of a partition whose verdicts are awaited, and the hosts that wait for them.

`features/slow_start.py` says what they are for. A verdict may never come: a crash or a dead letter
may lose it. So each visit is awaited for at most `MAX_VERDICT_WAIT` seconds after it was due. The
visits that an order has not made when it ends, for example because its fetcher stops, are awaited
no longer.

All of this is in memory only. After a restart no visit is awaited.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gossamer.services.frontier.partition.workbench import Schedule
from gossamer.web.url import HostKey

MAX_VERDICT_WAIT = 60.0
"""Seconds after the time at which a visit is due, for which its verdict is awaited."""


class PartKey(NamedTuple):
    """A part of a site or of a zone."""

    site: str
    """The site, or the zone."""
    name: str


class AwaitedVisit(NamedTuple):
    """A visit without a verdict: its parts, and until when the verdict is awaited."""

    parts: tuple[PartKey, ...]
    until: float


class SlowStart:
    """The visits of one partition whose verdicts are awaited, and the hosts that wait for them."""

    def __init__(self) -> None:
        self._visits = dict[str, AwaitedVisit]()
        """URL → its visit."""
        self._ends = Schedule[str]()
        """The URLs, by the `until` of their visits."""
        self._ordered = dict[str, Sequence[str]]()
        """Host → the URLs of its order, the first visit first."""
        self._of_part = defaultdict[PartKey, dict[str, float]](dict)
        """Part → the URLs of its visits, each with its `until`."""
        self._waiting = defaultdict[PartKey, dict[str, None]](dict)
        """Part → the hosts that wait for a verdict on it, the first one first."""
        self._part_of = dict[str, PartKey]()
        """Host → the part that it waits for, or for which it was woken."""

    def __len__(self) -> int:
        return len(self._visits)

    def begin(self, url: str, parts: Iterable[PartKey], due: float) -> None:
        """Await the verdict on a visit to *url*, which is *due* at a time."""
        self.end(url)
        visit = AwaitedVisit(tuple(parts), due + MAX_VERDICT_WAIT)
        self._visits[url] = visit
        self._ends.put(url, visit.until)
        for part in visit.parts:
            self._of_part[part][url] = visit.until

    def begin_order(self, host: HostKey, urls: Sequence[str]) -> None:
        """Note the *urls* of an order of *host*, the first visit first."""
        self._ordered[host] = urls

    def end_order(self, host: HostKey, made: int) -> Iterator[PartKey]:
        """End the wait for verdicts on the visits of the order of *host* after the first *made*
        ones. Yield their parts."""
        for url in self._ordered.pop(host, ())[made:]:
            yield from self.end(url)

    def end(self, url: str) -> tuple[PartKey, ...]:
        """End the wait for the verdict on *url*. Return its parts; none if it was not awaited."""
        visit = self._visits.pop(url, None)
        self._ends.remove(url)
        for part in visit.parts if visit else ():
            del self._of_part[part][url]
            if not self._of_part[part]:
                del self._of_part[part]
        return visit.parts if visit else ()

    def end_late(self, now: float) -> None:
        """End the wait for the verdicts that are awaited no longer."""
        for url in self._ends.pop_until(now):
            self.end(url)

    def count(self, part: PartKey) -> int:
        """Return the number of visits to *part* whose verdicts are awaited."""
        return len(self._of_part.get(part, ()))

    def wait(self, part: PartKey, host: HostKey) -> float:
        """Let *host* wait for the verdicts on *part*. Return the time at which it waits no longer
        if no verdict comes."""
        self._waiting[part][host] = None
        self._part_of[host] = part
        return min(self._of_part[part].values())

    def end_wait(self, host: HostKey) -> tuple[PartKey, ...]:
        """Return the part that *host* waits for, or for which it was woken, and forget it."""
        if (part := self._part_of.pop(host, None)) is None:
            return ()
        if part in self._waiting:
            self._waiting[part].pop(host, None)
            if not self._waiting[part]:
                del self._waiting[part]
        return (part,)

    def pop_waiting(self, part: PartKey) -> str | None:
        """Remove and return the host that has waited longest for *part*; None without one."""
        if part not in self._waiting:
            return None
        hosts = self._waiting[part]
        host = next(iter(hosts))
        del hosts[host]
        if not hosts:
            del self._waiting[part]
        return host
