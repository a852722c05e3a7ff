"""The records that were polled and not begun yet, some of them of partitions that are held."""

from collections.abc import Container, Iterable

from gossamer.log import BATCH, Record

WAITING_LIMIT = 2 * BATCH
"""Poll nothing more while so many wait, even if all of them are held."""


class Polled:
    """In the order in which they were polled."""

    def __init__(self) -> None:
        self._records: list[Record] = []

    def __bool__(self) -> bool:
        """Whether any wait."""
        return bool(self._records)

    def add(self, records: Iterable[Record]) -> None:
        """Take in what was polled."""
        self._records += records

    def keep(self, partitions: Container[int]) -> None:
        """Forget what is of other partitions: other members have them now."""
        self._records = [one for one in self._records if one.partition in partitions]

    def lacks(self, held: Container[int]) -> bool:
        """Whether more is to be polled: nothing can be begun, and there is room."""
        free = any(one.partition not in held for one in self._records)
        return not free and len(self._records) < WAITING_LIMIT

    def take(self, most: int, held: Container[int]) -> list[Record]:
        """Return the next records, at most *most*, that are of no partition in *held*."""
        taken: list[Record] = []
        kept: list[Record] = []
        for one in self._records:
            begins = len(taken) < most and one.partition not in held
            (taken if begins else kept).append(one)
        self._records = kept
        return taken
