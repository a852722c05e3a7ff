"""A claimed partition: its epoch, its directory, its calendar and its totals, from the store."""

from msgspec.structs import replace

from gossamer.claims import ClaimRow
from gossamer.store import Store
from services.frontier.calendar import Calendar
from services.frontier.directory import Directory
from services.frontier.rows import DueRow, ListedHost, PartitionRow, TallyRow
from services.frontier.tally import Tally


def make_claims(partitions: frozenset[int], store: Store, now: float) -> int:
    """Claim *partitions* from whoever had them; return the epoch. It is in the store then.

    Only what is read afterwards is known to be all that an older epoch can still bring about.
    """
    rows = store.table(ClaimRow)
    before = [row.epoch for p in partitions if (row := rows.get(str(p)))]
    epoch = max([int(now * 1e6), *(epoch + 1 for epoch in before)])
    for partition in partitions:
        rows.put(ClaimRow(str(partition), epoch, now))
    store.claim(epoch)
    store.flush()
    return epoch


class Claim:
    """What there is of a partition that was claimed under *epoch*."""

    def __init__(self, partition: int, epoch: int, store: Store, now: float) -> None:
        key = str(partition)
        self._rows = store.table(PartitionRow)
        self._written = found = self._rows.get(key) or PartitionRow(key)
        tallies = store.table(TallyRow)
        self.epoch = epoch
        self.directory = Directory(found, store.table(ListedHost))
        self.calendar = Calendar(found, store.table(DueRow), now)
        self._settled = self._standing()
        self.tally = Tally(tallies.get(key) or TallyRow(key), tallies)

    def _standing(self) -> PartitionRow:
        return self.calendar.written(self.directory.partition)

    def write(self) -> None:
        """Put what has changed into the store.

        Buckets that were given up are named once more than need be: until the hosts that have left
        them are known to be written, they are where these would be found.
        """
        before, self._settled = self._settled, self._standing()
        row = replace(self._settled, due_bucket=before.due_bucket)
        if before.first_bucket <= before.last_bucket:
            row = replace(row, first_bucket=before.first_bucket)
        if row != self._written:
            self._written = row
            self._rows.put(row)
        self.tally.next_due_at = self.calendar.next_entry()
        self.tally.write()
