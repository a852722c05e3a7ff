"""How far the log may move when records are finished out of order."""

from collections import OrderedDict, defaultdict
from collections.abc import Container

from gossamer.log import Record


class OffsetTracker:
    """Per partition, the records under way, and up to which of them all are done."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], OrderedDict[int, tuple[Record, bool]]] = defaultdict(
            OrderedDict
        )

    def begin(self, record: Record) -> None:
        """Track *record*; records of a partition come in the order of their offsets."""
        self._open[record.topic, record.partition][record.offset] = (record, False)

    def complete(self, record: Record) -> None:
        """Mark *record* done; nothing happens if its partition was released meanwhile."""
        records = self._open[record.topic, record.partition]
        if record.offset in records:
            records[record.offset] = (record, True)

    def release(self, kept: Container[int]) -> None:
        """Forget all partitions but those *kept*: other members have them now."""
        for at in [at for at in self._open if at[1] not in kept]:
            del self._open[at]

    def passed(self) -> list[Record]:
        """Return the last record of each partition up to which everything is done.

        Each record is returned once at most; an empty list means that the log cannot move.
        """
        passed = []
        for records in self._open.values():
            last = None
            while records and next(iter(records.values()))[1]:
                _, (last, _) = records.popitem(last=False)
            if last is not None:
                passed.append(last)
        return passed
