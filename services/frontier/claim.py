"""A claimed partition: its epoch, its directory, its calendar and its totals, from the store."""

from msgspec.structs import replace

from gossamer.store import Store
from services.frontier.calendar import Calendar
from services.frontier.directory import Directory
from services.frontier.rows import DueRow, ListedHost, PartitionRow, TallyRow
from services.frontier.tally import Tally


class Claim:
    """Made when a partition is assigned; whoever had it before is of an older epoch."""

    def __init__(self, partition: int, store: Store, now: float) -> None:
        key = str(partition)
        self._rows = store.table(PartitionRow)
        self._written = self._rows.get(key) or PartitionRow(key)
        claimed = replace(self._written, epoch=self._written.epoch + 1, claimed_at=now)
        tallies = store.table(TallyRow)
        self.epoch = claimed.epoch
        self.directory = Directory(claimed, store.table(ListedHost))
        self.calendar = Calendar(claimed, store.table(DueRow), now)
        self.tally = Tally(tallies.get(key) or TallyRow(key), tallies)

    def write(self) -> None:
        """Put what has changed into the store."""
        row = self.calendar.written(self.directory.partition)
        if row != self._written:
            self.directory.partition = self._written = row
            self._rows.put(row)
        self.tally.next_due_at = self.calendar.next_entry()
        self.tally.write()
