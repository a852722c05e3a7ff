"""How far the log may move when records are completed out of order."""

from collections import OrderedDict, defaultdict
from collections.abc import Container

from gossamer.log import Record


class Watermark:
    """Remembers what was begun; lets go of the longest completed beginning of each partition."""

    def __init__(self) -> None:
        self._begun: dict[tuple[str, int], OrderedDict[int, tuple[Record, bool]]] = defaultdict(
            OrderedDict
        )

    def begin(self, record: Record) -> None:
        """Take note of *record*, in the order of the log."""
        self._begun[record.topic, record.partition][record.offset] = (record, False)

    def complete(self, record: Record) -> None:
        """Take note that *record* is done, unless it was let go of."""
        begun = self._begun[record.topic, record.partition]
        if record.offset in begun:
            begun[record.offset] = (record, True)

    def let_go(self, kept: Container[int]) -> None:
        """Forget all partitions but those *kept*: the others are somebody else's."""
        for at in [at for at in self._begun if at[1] not in kept]:
            del self._begun[at]

    def passed(self) -> list[Record]:
        """Return, once, the last record of each partition before which nothing is unfinished."""
        passed = []
        for begun in self._begun.values():
            last = None
            while begun and next(iter(begun.values()))[1]:
                _, (last, _) = begun.popitem(last=False)
            if last is not None:
                passed.append(last)
        return passed
