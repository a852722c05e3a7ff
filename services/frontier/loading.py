"""Loading: chooses the hosts that are in memory, and the next host to order.

Hosts are loaded from the directories of all partitions in the order of their request numbers, while
memory has capacity. A loaded host is unloaded for a waiting one that should be ordered first.

**Slots.** The number of hosts that are checked out at once is limited. While the parser or the
archive lag in a partition, fetchers start no visits of it, and its hosts stay checked out. If these
hosts could take all slots, no other partition would be visited. So half of the slots are reserved,
the same number for each partition and at least one. Any partition may take the other slots. A
partition that alone has work may therefore take more than half of all slots.
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

MAX_LOADED_PER_STEP = 500
"""Hosts that are loaded in one step of the loop: the member has to poll between steps."""
MAX_READS_PER_STEP = 8
"""Reads in one step. Each reads as many hosts as fit in memory, and some entries may be stale."""


class ReadyHost(NamedTuple):
    """A ready host and its partition."""

    partition: Partition
    host: Host


class ListedEntry(NamedTuple):
    """An entry of the directory, and its partition."""

    partition: Partition
    entry: ListedHost


def check_slots(taken: Sequence[int], limit: int) -> list[bool]:
    """Return for each partition whether one more of its hosts may be checked out; *taken*: the
    slots that each has now; *limit*: all slots."""
    reserved = max(1, limit // (2 * max(1, len(taken))))
    common = limit - reserved * len(taken) - sum(max(0, slots - reserved) for slots in taken)
    return [slots < reserved or common > 0 for slots in taken]


class HostLoader:
    """Keeps at most `loaded_limit` hosts in memory."""

    def __init__(self, partitions: Partitions, settings: FrontierSettings, store: Store) -> None:
        self._partitions, self._store = partitions, store
        self._limit, self._slots = settings.loaded_limit, settings.checked_out_limit

    def __len__(self) -> int:
        return sum(len(partition.bench) for partition in self._partitions)

    @property
    def unfinished(self) -> bool:
        """Whether memory has capacity, and a host may wait for it."""
        if len(self) >= self._limit:
            return False
        return any(partition.may_have_listed for partition in self._partitions)

    def load_hosts(self, now: float) -> None:
        """Load waiting hosts while memory has capacity, at most `MAX_LOADED_PER_STEP`."""
        left = MAX_LOADED_PER_STEP
        for _ in range(MAX_READS_PER_STEP):
            if not (popped := self._pop_listed(min(left, self._limit - len(self)))):
                return
            left -= len(popped)
            rows = [(HostRow, entry.site, entry.host) for _, entry in popped]
            read_ahead(self._store, [rows])
            by_partition = sorted(popped, key=lambda listed: listed.partition.number)
            for partition, entries in groupby(by_partition, key=itemgetter(0)):
                partition.load_listed([entry for _, entry in entries], now)

    def _pop_listed(self, limit: int) -> list[ListedEntry]:
        # Hosts of a partition without slots are loaded only if no other host waits.
        popped, with_slots = list[ListedEntry](), self._with_slots()
        while len(popped) < limit and (
            first := _first_listed(with_slots) or _first_listed(self._partitions)
        ):
            first.partition.pop_listed(first.entry)
            popped.append(first)
        return popped

    def first_ready(self) -> ReadyHost | None:
        """Return the ready host with the lowest request number whose partition has a free slot;
        None without such a host."""
        ready = [
            ReadyHost(partition, host)
            for partition in self._with_slots()
            if (host := partition.bench.first_ready())
        ]
        return min(ready, key=lambda one: one.host.row.number, default=None)

    def _late_ready(self) -> ReadyHost | None:
        """Return a ready host whose request number is higher than most, preferably of a partition
        without free slots; None if no host is ready."""
        with_slots = {partition.number for partition in self._with_slots()}
        ready = [
            ReadyHost(partition, host)
            for partition in self._partitions
            if (host := partition.bench.late_ready())
        ]
        return max(
            ready,
            key=lambda one: (one.partition.number not in with_slots, one.host.row.number),
            default=None,
        )

    def is_preceded(self, ready: ReadyHost | None) -> bool:
        """Return whether a host that waits for memory should be ordered before *ready*, if any."""
        if len(self) < self._limit:
            return False
        waiting, host = _first_listed(self._with_slots()), ready.host if ready else None
        if host is None and (late := self._late_ready()) and late.host.waits_for:
            # No host may be ordered, and this one waits for a name or site. The host that replaces
            # it may have to wait too, so it replaces it only if its number is lower.
            host = late.host
        return waiting is not None and (host is None or waiting.entry.number < host.row.number)

    @property
    def blocks_waiting_hosts(self) -> bool:
        """Whether a host waits for the memory of ready hosts whose partitions have no free
        slots."""
        return self._late_ready() is not None and self.is_preceded(None)

    def unload_one(self) -> bool:
        """Unload a ready host, so that a waiting one can be loaded; return False if no host is
        ready."""
        if late := self._late_ready():
            late.partition.return_to_directory(late.host)
        return late is not None

    def _with_slots(self) -> list[Partition]:
        """Return the partitions with a free slot."""
        partitions = [*self._partitions]
        taken = [partition.bench.checked_out for partition in partitions]
        have_slots = check_slots(taken, self._slots)
        return [one for one, has_slot in zip(partitions, have_slots, strict=True) if has_slot]


def _first_listed(partitions: Iterable[Partition]) -> ListedEntry | None:
    waiting = [
        ListedEntry(partition, entry)
        for partition in partitions
        if (entry := partition.first_listed())
    ]
    return min(waiting, key=lambda listed: listed.entry.number, default=None)
