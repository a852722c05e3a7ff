"""How far the log may move when records are completed out of order."""

from collections import OrderedDict, defaultdict

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
        """Take note that *record* is done."""
        self._begun[record.topic, record.partition][record.offset] = (record, True)

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
