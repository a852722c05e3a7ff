"""A log whose reader has some of the partitions, as a member of a group with several members."""

from collections.abc import Iterable, Sequence, Set
from typing import Any

from gossamer.log import MAX_POLL_RECORDS, NO_PARTITIONS, Message, Reader, Record
from gossamer.log.sqlite import SqliteLog
from gossamer.store import Store


class PartialMember:
    """*log* as the member with the partitions *numbers* sees it. See `gossamer.log.Log`."""

    def __init__(self, log: SqliteLog, numbers: Set[int]) -> None:
        self._log = log
        self.numbers = numbers
        """The partitions of the reader. A test may change them between two steps."""
        self._gained: Set[int] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def gain_in_poll(self, numbers: Set[int]) -> None:
        """Assign *numbers* in the next poll, which returns their records, too."""
        self._gained = numbers

    def reader(self, group: str, topics: Sequence[str], store: Store) -> Reader:
        """Join *group*."""
        return _PartialReader(self, self._log.reader(group, topics, store))

    def pop_gained(self) -> None:
        """Assign the partitions of `gain_in_poll`."""
        if self._gained is not None:
            self.numbers, self._gained = self._gained, None


class _PartialReader:
    def __init__(self, member: PartialMember, reader: Reader) -> None:
        self._member, self._reader = member, reader

    @property
    def partitions(self) -> frozenset[int]:
        return frozenset(self._member.numbers)

    def poll(
        self, timeout: float, most: int = MAX_POLL_RECORDS, paused: Set[int] = NO_PARTITIONS
    ) -> Sequence[Record]:
        self._member.pop_gained()
        others = self._reader.partitions - self.partitions
        return self._reader.poll(timeout, most, paused | others)

    def advance(self, records: Iterable[Record], messages: Iterable[Message]) -> bool:
        return self._reader.advance(records, messages)

    def close(self) -> None:
        self._reader.close()
