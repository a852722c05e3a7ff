"""The claimed partitions: each with its epoch, its directory, its calendar and its totals."""

from collections.abc import Iterator

from msgspec.structs import replace

from gossamer.errors import GossamerError
from gossamer.log import partition_of
from gossamer.store import Store
from gossamer.store.claims import Claimant
from services.frontier.aside import Aside, AsideRow
from services.frontier.calendar import Calendar
from services.frontier.directory import Directory
from services.frontier.partition_rows import PartitionRow, TallyRow
from services.frontier.plans import Plans
from services.frontier.rows import DueRow, HostRow, ListedHost
from services.frontier.tally import Tally


class Claim:
    """One partition, claimed under *epoch*."""

    def __init__(self, partition: int, epoch: int, store: Store, now: float) -> None:
        key = str(partition)
        self._rows = store.table(PartitionRow)
        self._found = found = self._rows.get(key) or PartitionRow(key)
        # Even if nothing changes: what an earlier owner writes from now on is not to be found.
        self._written: PartitionRow | None = None
        tallies = store.table(TallyRow)
        self.partition, self.epoch, self.made_at = partition, epoch, now
        self.caught_up = False
        """Whether all outcomes from before the claim were taken in."""
        self.directory = Directory(found, store.table(ListedHost))
        dues, first, last = store.table(DueRow), found.due_bucket, found.last_due_bucket
        self.calendar = Calendar(dues, key, first, last, now)
        self.aside = Aside(found, store.table(AsideRow))
        self.plans = Plans(key, store, now)
        self._settled = self._standing()
        self.tally = Tally(tallies.get(key) or TallyRow(key), tallies)
        self.inherits = self.tally.orders > 0
        """Whether anything was ordered before the claim."""

    def _standing(self) -> PartitionRow:
        row = replace(
            self._found,
            hours=self.directory.buckets,
            due_bucket=self.calendar.first_bucket,
            last_due_bucket=self.calendar.last_bucket,
        )
        return self.aside.written(row)

    def has_ordered(self, host: HostRow) -> bool:
        """Return whether the last order of *host* was made under this claim: by our clock."""
        return not host.order or host.order.startswith(f"{self.epoch}.")

    def wait(self, until: float, site: str, host: str, url: str = "") -> None:
        """Bring *url*, or the host itself, back at *until*."""
        self.calendar.add(DueRow("", f"{host} {url}", until, site, host, url))
        self.tally.due_count += 1

    def write(self) -> None:
        """Put what has changed into the store.

        The row names dropped buckets until the next write: a crash before the rows of the hosts
        that have left them are written must still find these hosts there.
        """
        before, self._settled = self._settled, self._standing()
        hours = tuple(sorted({*before.hours, *self._settled.hours}))
        # Sooner than before where the clock was set back.
        first = min(before.due_bucket, self._settled.due_bucket)
        row = replace(self._settled, due_bucket=first, hours=hours)
        if row != self._written:
            self._written = row
            self._rows.put(row)
        self.plans.write()
        self.tally.next_due_at = self.calendar.next_entry()
        self.tally.write()


class Claims:
    """The partitions that this frontier has claimed, of *partitions* in all."""

    def __init__(self, store: Store, partitions: int) -> None:
        self._store, self.in_all = store, partitions
        self._claims: dict[int, Claim] = {}
        self._claimant = Claimant(store)

    def __iter__(self) -> Iterator[Claim]:
        return iter(self._claims.values())

    def assign(self, partitions: frozenset[int], now: float) -> None:
        """Claim *partitions*, and give up all others."""
        for lost in self._claims.keys() - partitions:
            del self._claims[lost]
            self._claimant.release([lost])
        if max(partitions, default=0) >= self.in_all:
            raise GossamerError(
                f"partition {max(partitions)} was added while the crawl ran, which began with "
                f"{self.in_all}: the number is fixed for a crawl"
            )
        if gained := partitions - self._claims.keys():
            epoch = self._claimant.claim(gained, now)
            self._claims |= {p: Claim(p, epoch, self._store, now) for p in sorted(gained)}

    def reload(self, now: float) -> None:
        """Reload the claimed partitions from the store; epochs and claim times stay."""
        for number, claim in self._claims.items():
            self._claims[number] = Claim(number, claim.epoch, self._store, now)
            self._claims[number].made_at = claim.made_at

    @property
    def partitions(self) -> frozenset[int]:
        """Their numbers."""
        return frozenset(self._claims)

    @property
    def caught_up(self) -> bool:
        """Whether all outcomes from before the claims were taken in."""
        return all(claim.caught_up for claim in self)

    def catch_up(self, partitions: frozenset[int]) -> None:
        """The outcomes from before the claims on *partitions* have been taken in."""
        for partition in partitions & self._claims.keys():
            self._claims[partition].caught_up = True

    def partition_of(self, site: str) -> int:
        """Return the partition of *site*, whether it is claimed or not."""
        return partition_of(site, self.in_all)

    def of(self, site: str) -> Claim:
        """Return the claim that *site* falls under."""
        return self._claims[self.partition_of(site)]

    def has(self, site: str) -> bool:
        """Return whether *site* falls under one of them."""
        return self.partition_of(site) in self._claims

    def last_number(self) -> int:
        """Return the largest request number given out."""
        return max(claim.tally.last_number for claim in self)

    def write(self) -> None:
        """Put what has changed of the claims into the store."""
        for claim in self:
            claim.write()
