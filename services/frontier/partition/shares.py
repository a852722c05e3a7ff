"""Shares: which of several crawls is served next, where they compete.

Start-time fair queueing (Goyal, Vin and Cheng, *Start-time fair queueing*, SIGCOMM 1996). Each
crawl has a virtual time: its visits, divided by its weight. The waiting crawl with the least
virtual time is served next, and its virtual time advances. So crawls that always wait get visits in
proportion to their weights, and orders need no equal size.

**Idle crawls.** A crawl without work lends its share: the others divide it by their weights. It
saves no credit meanwhile. When it waits again, it begins at the level of the waiting crawls, or at
its own virtual time if that is later. So a crawl gains nothing from short breaks, and a new crawl
has neither an advantage nor a debt.

**Bounds.** If each choice is among all waiting crawls, the virtual time of a waiting crawl exceeds
the least one by the visits of one order of it, divided by its weight, at most. So in any time in
which two crawls wait, their visits divided by their weights differ by one order of each at most,
and none starves.

A `Shares` is one clock. Each place at which crawls compete (the total speed, a site, a host) has a
clock of its own. That of a host is stored in its row, the others begin with the process.
"""

from collections.abc import Iterable, Mapping

from gossamer.services.frontier.tables.hosts import HostRow

VirtualTime = float
"""Visits divided by the weight of their crawl, since the clock began."""


class Shares:
    """The clock of one place at which crawls compete."""

    def __init__(
        self, waiting: Mapping[str, VirtualTime] = {}, idle: Mapping[str, VirtualTime] = {}
    ) -> None:
        """*waiting*, *idle*: the virtual times of the crawls that wait, and of the idle ones, as
        stored, by their ids."""
        self._waiting = dict(waiting)
        self._idle = dict(idle)
        """Idle crawls keep a virtual time beyond the level, so that a break does not reset it."""
        self._level: VirtualTime = max(self._idle.values(), default=0.0)
        """The virtual time of the clock while nobody waits."""

    @property
    def level(self) -> VirtualTime:
        """The virtual time at which a new crawl begins."""
        return min(self._waiting.values(), default=self._level)

    def used(self, crawl: str) -> VirtualTime:
        """Return the virtual time of *crawl*; for an idle crawl, the one at which it begins."""
        if (used := self._waiting.get(crawl)) is not None:
            return used
        return max(self.level, self._idle.get(crawl, 0.0))

    def wake(self, crawl: str) -> VirtualTime:
        """Let *crawl* wait, and return its virtual time. A crawl that waits already is
        unchanged."""
        if crawl not in self._waiting:
            self._waiting[crawl] = self.used(crawl)
            self._idle.pop(crawl, None)
        return self._waiting[crawl]

    def sleep(self, crawl: str) -> None:
        """Note that *crawl* has no more work here."""
        if (used := self._waiting.pop(crawl, None)) is None:
            return
        self._idle[crawl] = used
        if not self._waiting:
            # Nobody waits, so nobody is owed anything: all crawls begin at the same level.
            self._level = max(self._idle.values())
            self._idle.clear()
        else:
            # An idle crawl below the level begins at the level.
            level = self.level
            self._idle = {one: at for one, at in self._idle.items() if at > level}

    def keep(self, crawls: Iterable[str]) -> None:
        """Let *crawls* wait, and no others."""
        waiting = dict.fromkeys(crawls)
        for crawl in waiting:
            self.wake(crawl)
        for crawl in self._waiting.keys() - waiting.keys():
            self.sleep(crawl)

    def choose(self, crawls: Iterable[str]) -> str:
        """Return the crawl of *crawls* with the least virtual time; the first one of equal ones.

        *crawls* may be any of the waiting crawls, such as those with a ready host. The others keep
        their virtual time, and their claim with it. Raise ValueError if *crawls* is empty.
        """
        return min(crawls, key=self.used)

    def charge(self, crawl: str, visits: float, weight: float) -> VirtualTime:
        """Charge *visits* to *crawl*, which has a *weight*, and return its virtual time."""
        used = self.used(crawl) + visits / weight
        if crawl in self._waiting:
            self._waiting[crawl] = used
        elif self._waiting:
            self._idle[crawl] = used
        else:
            self._level = used
        return used

    def __repr__(self) -> str:
        """Show the virtual times of the waiting crawls, and those of the idle ones in brackets."""
        waiting = [f"{crawl} {used:.6g}" for crawl, used in sorted(self._waiting.items())]
        idle = [f"({crawl} {used:.6g})" for crawl, used in sorted(self._idle.items())]
        return f"<Shares {', '.join([*waiting, *idle]) or 'nobody waits'}>"


def shares_at(host: HostRow) -> Shares:
    """Return the clock of *host*, as its row has it: the crawls with URLs at the host wait."""
    waiting = {crawl: own.used for crawl, own in host.crawls.items() if own.queued}
    idle = {crawl: own.used for crawl, own in host.crawls.items() if not own.queued}
    return Shares(waiting, idle)
