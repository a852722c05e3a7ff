"""Which hosts are in memory, and whose turn it is.

Hosts are loaded from the directories of all partitions in the order of their first URLs, while
there is room. A loaded host makes room for one that waits when that should be ordered first.

**Slots.** The fetchers may have a limited number of hosts at once. While parser or archive do not
read the pages of a partition, fetchers begin no visits of it, and its hosts stay checked out. If
these could take all slots, no other partition would be visited either. So half of the slots belong
to the partitions, the same number to each and at least one. Every partition may take the others, so
one that alone has work may take more than half of all.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from gossamer.runtime.answers import read_ahead
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from services.frontier.memory import Host
from services.frontier.partition import Partition
from services.frontier.partitions import Partitions
from services.frontier.rows import HostRow, ListedHost

AT_A_TIME = 500
"""Hosts that are loaded in one step of the log: between steps a member says that it lives."""
READS = 8
"""Reads in one step, each of as many hosts as there is room for: what is listed may be outdated."""


class Turn(NamedTuple):
    """A host and its partition."""

    partition: Partition
    host: Host


class Listed(NamedTuple):
    """An entry of the directory, and its partition."""

    partition: Partition
    entry: ListedHost


def has_slots(taken: Sequence[int], limit: int) -> list[bool]:
    """Return for each partition whether one more of its hosts may be checked out, of *limit* in
    all; *taken* are the slots that each has now."""
    own = max(1, limit // (2 * max(1, len(taken))))
    common = limit - own * len(taken) - sum(max(0, slots - own) for slots in taken)
    return [slots < own or common > 0 for slots in taken]


class Loading:
    """Keeps at most `loaded_limit` hosts in memory."""

    def __init__(self, partitions: Partitions, settings: FrontierSettings, store: Store) -> None:
        self._partitions, self._store = partitions, store
        self._limit, self._slots = settings.loaded_limit, settings.checked_out_limit

    def __len__(self) -> int:
        return sum(len(partition.bench) for partition in self._partitions)

    @property
    def unfinished(self) -> bool:
        """Whether there is room, and perhaps a host that waits for it."""
        if len(self) >= self._limit:
            return False
        return any(partition.may_have_listed for partition in self._partitions)

    def fill(self, now: float) -> None:
        """Load hosts from the directories while there is room, at most `AT_A_TIME`."""
        left = AT_A_TIME
        for _ in range(READS):
            if not (taken := self._take(min(left, self._limit - len(self)))):
                return
            left -= len(taken)
            rows = [(HostRow, entry.site, entry.host) for _, entry in taken]
            read_ahead(self._store, [rows])
            by_partition = sorted(taken, key=lambda listed: listed.partition.number)
            for partition, some in groupby(by_partition, key=itemgetter(0)):
                partition.load_listed([entry for _, entry in some], now)

    def _take(self, most: int) -> list[Listed]:
        # Hosts of a partition without slots are loaded if there is room for all.
        taken, able = list[Listed](), self._with_slots()
        while len(taken) < most and (
            first := _first_listed(able) or _first_listed(self._partitions)
        ):
            first.partition.take_listed(first.entry)
            taken.append(first)
        return taken

    def first_ready(self) -> Turn | None:
        """Return the host whose turn it is: of those that are ready, and of whose partition one
        more may be checked out, that whose first URL was asked for first."""
        ready = [
            Turn(partition, host)
            for partition in self._with_slots()
            if (host := partition.bench.first_ready())
        ]
        return min(ready, key=lambda turn: turn.host.row.number, default=None)

    def _late_ready(self) -> Turn | None:
        """Return a ready host whose first URL was asked for later than most: one of a partition
        without slots, if there is one."""
        able = {partition.number for partition in self._with_slots()}
        ready = [
            Turn(partition, host)
            for partition in self._partitions
            if (host := partition.bench.late_ready())
        ]
        return max(
            ready,
            key=lambda turn: (turn.partition.number not in able, turn.host.row.number),
            default=None,
        )

    def is_overtaken(self, turn: Turn | None) -> bool:
        """Return whether a host waits for room whose turn is before that of *turn*, if any."""
        if len(self) < self._limit:
            return False
        waiting, host = _first_listed(self._with_slots()), turn.host if turn else None
        if host is None and (late := self._late_ready()) and late.host.waits_for:
            host = late.host  # It waits for others, as one that takes its room may have to.
        return waiting is not None and (host is None or waiting.entry.number < host.row.number)

    @property
    def is_in_the_way(self) -> bool:
        """Whether a host waits for the room of ready hosts whose partitions have no slots."""
        return self._late_ready() is not None and self.is_overtaken(None)

    def make_room(self) -> bool:
        """Unload a ready host, so that another finds room; False: none is ready."""
        if turn := self._late_ready():
            turn.partition.give_back(turn.host)
        return turn is not None

    def _with_slots(self) -> list[Partition]:
        """Return the partitions of which one more host may be checked out."""
        partitions = [*self._partitions]
        taken = [partition.bench.checked_out for partition in partitions]
        able = has_slots(taken, self._slots)
        return [one for one, is_able in zip(partitions, able, strict=True) if is_able]


def _first_listed(partitions: Iterable[Partition]) -> Listed | None:
    waiting = [Listed(one, entry) for one in partitions if (entry := one.first_listed())]
    return min(waiting, key=lambda listed: listed.entry.number, default=None)
