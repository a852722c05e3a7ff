"""How old the oldest record is that a service has not consumed, in seconds.

The log knows offsets and not times. `LagTimes` is told the offsets from time to time, and remembers
when it saw each end. The record at the committed offset was appended between two of these times, so
its time is interpolated, as in kafka-lag-exporter. Nothing is stored: after a start, a record that
is older than the first sample has a lower bound for its age.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec import Struct

from gossamer.events.topics import CONSUMED_TOPICS
from gossamer.log import At, GroupOffsets, Log

MAX_SAMPLES = 512
"""Samples of a partition. If there are more, every other one is forgotten."""

Offsets = Mapping[str, Mapping[At, GroupOffsets]]
"""Group → partition → offsets."""


class GroupLag(Struct, frozen=True, kw_only=True):
    """The records of a topic that a service has not consumed."""

    service: str
    topic: str
    records: int
    seconds: float | None
    """The age of the oldest of these records; 0 without one, and null if it is not sampled."""
    is_at_least: bool = False
    """Whether the record is older than this, because it was there at the first sample."""


@dataclass(frozen=True, slots=True)
class _Sample:
    at: float
    end: int
    """The offset of the next record to be appended, as seen at this time."""


class LagTimes:
    """The lags of all services over time. It reads no clock: the caller passes the time."""

    def __init__(self) -> None:
        self._samples: dict[At, list[_Sample]] = {}
        self._offsets: Offsets = {}
        self._at = 0.0

    def add(self, offsets: Offsets, now: float) -> None:
        """Add the offsets of all groups, as read at the time *now*, in epoch seconds."""
        self._offsets, self._at = offsets, now
        ends, committed = dict[At, int](), dict[At, int]()
        for partitions in offsets.values():
            for at, found in partitions.items():
                ends[at] = max(found.end, ends.get(at, 0))
                committed[at] = min(found.committed, committed.get(at, found.committed))
        self._samples = {
            at: _extend(self._samples.get(at, []), _Sample(now, end), committed[at])
            for at, end in ends.items()
        }

    def lags(self) -> tuple[GroupLag, ...]:
        """Return the lag of each service on each of its topics at the last sample."""
        found: dict[tuple[str, str], GroupLag] = {}
        for group, partitions in sorted(self._offsets.items()):
            for at, offsets in partitions.items():
                key, seconds, is_at_least = (group, at[0]), 0.0, False
                records = max(0, offsets.end - offsets.committed)
                if records:
                    seconds, is_at_least = self._age(at, offsets.committed)
                other = found.get(key)
                if other and (other.seconds or 0.0) > seconds:
                    seconds, is_at_least = other.seconds or 0.0, other.is_at_least
                found[key] = GroupLag(
                    service=group,
                    topic=at[0],
                    records=records + (other.records if other else 0),
                    seconds=seconds,
                    is_at_least=is_at_least,
                )
        return tuple(found.values())

    def _age(self, at: At, offset: int) -> tuple[float, bool]:
        """Return the age of the record at *offset*, and whether it is older than that."""
        before: _Sample | None = None
        for sample in self._samples[at]:
            if sample.end > offset:
                if before is None:
                    return self._at - sample.at, True
                share = (offset - before.end) / (sample.end - before.end)
                return self._at - (before.at + share * (sample.at - before.at)), False
            before = sample
        return 0.0, False


def _extend(samples: list[_Sample], new: _Sample, committed: int) -> list[_Sample]:
    """Return *samples* with the *new* one, without those that no lag needs any more."""
    if samples and new.end < samples[-1].end:
        return [new]  # The topic was created again.
    # An end that was seen twice: records after it were appended after the second time.
    if len(samples) > 1 and samples[-1].end == new.end == samples[-2].end:
        samples = samples[:-1]
    samples = [*samples, new]
    needed = next((i for i, one in enumerate(samples) if one.end > committed), len(samples))
    samples = samples[max(0, needed - 1) :]
    return samples if len(samples) <= MAX_SAMPLES else [*samples[:-1:2], samples[-1]]


def read_offsets(log: Log) -> Offsets:
    """Return the offsets of all services on the topics that they consume."""
    return {group: log.group_offsets(group, topics) for group, topics in CONSUMED_TOPICS.items()}
