"""What lay on the log already when somebody asked, and when it has been read."""

from collections.abc import Sequence

from gossamer.events.topics import Topic
from gossamer.log import Log, Record


class Arrears:
    """The records of *topics* that *group* had not moved past, by partition."""

    def __init__(self, log: Log, group: str, topics: Sequence[Topic]) -> None:
        self._log, self._group, self._topics = log, group, topics
        self._left: dict[tuple[str, int], int] = {}

    def assign(self, fresh: frozenset[int], kept: frozenset[int]) -> None:
        """Count what is on the log now of *fresh* partitions; forget all but these and *kept*."""
        self._left = {at: left for at, left in self._left.items() if at[1] in kept}
        for topic in self._topics if fresh else ():
            counts = self._log.backlogs(self._group, topic.name)
            self._left |= {(topic.name, number): counts.get(number, 0) for number in fresh}

    def read(self, record: Record) -> None:
        """Take note that *record* was handled."""
        at = record.topic, record.partition
        if at in self._left:
            self._left[at] -= 1

    def ended(self) -> frozenset[int]:
        """Return, once, the partitions of which the last record of back then was handled."""
        ended = {number for _, number in self._left}
        ended -= {number for (_, number), left in self._left.items() if left > 0}
        self._left = {at: left for at, left in self._left.items() if at[1] not in ended}
        return frozenset(ended)
