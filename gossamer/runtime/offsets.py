"""Determines how far the log may advance when records finish out of order."""

from collections import OrderedDict, defaultdict
from collections.abc import Container

from gossamer.log import Record


class OffsetTracker:
    """The records in progress of each partition, and the offset up to which all records are
    done."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, int], OrderedDict[int, tuple[Record, bool]]] = defaultdict(
            OrderedDict
        )

    def begin(self, record: Record) -> None:
        """Track *record*. The records of a partition must come in the order of their offsets."""
        self._open[record.topic, record.partition][record.offset] = (record, False)

    def complete(self, record: Record) -> None:
        """Mark *record* as done, unless its partition was released."""
        records = self._open[record.topic, record.partition]
        if record.offset in records:
            records[record.offset] = (record, True)

    def release(self, kept: Container[int]) -> None:
        """Forget all partitions except *kept*, because other members have them now."""
        for at in [at for at in self._open if at[1] not in kept]:
            del self._open[at]

    def passed(self) -> list[Record]:
        """Return the last record of each partition up to which all records are done.

        Each record is returned at most once. An empty list means that the log cannot advance.
        """
        passed = []
        for records in self._open.values():
            last = None
            while records and next(iter(records.values()))[1]:
                _, (last, _) = records.popitem(last=False)
            if last is not None:
                passed.append(last)
        return passed
