"""Slots: how many hosts the fetchers may have at once, and how many of one partition.

While parser or archive do not read the pages of a partition, fetchers begin no visits of it, and
its hosts stay checked out. If these could take all slots of the frontier, no other partition would
be visited either. So half of the slots belong to the partitions, the same number to each and at
least one; the others are anybody's, so one that alone has work may take more than half of all.
"""

from collections import Counter


class Slots:
    """The slots of one frontier: *limit*, or one for each partition if these are more."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = Counter[int]()
        self.share_out(1)

    def share_out(self, partitions: int) -> None:
        """Give as many partitions their own; what is taken stays so."""
        self._own = max(1, self._limit // (2 * max(1, partitions)))
        self._common = self._limit - self._own * partitions

    def take(self, partition: int) -> None:
        """A host of *partition* is checked out: as it may be without a free slot, by its row."""
        self._taken[partition] += 1

    def free(self, partition: int) -> None:
        """A host of *partition* is checked out no more."""
        self._taken[partition] -= 1

    def has_room(self, partition: int) -> bool:
        """Return whether one more host of *partition* may be checked out."""
        if self._taken[partition] < self._own:
            return True
        return sum(max(0, taken - self._own) for taken in self._taken.values()) < self._common
