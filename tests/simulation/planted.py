"""Faults that once broke a promise, to be planted again: does the simulation still see them?

A fault replaces functions of the services, its seams, with faulty versions. A seam that was renamed
or has other parameters is an error: a refactoring must not turn a fault into one that does nothing.
"""

import inspect
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from heapq import heappush
from typing import Any
from unittest import mock

import msgspec
from cassandra.protocol import IsBootstrappingErrorMessage, OverloadedErrorMessage

from gossamer.errors import GossamerError, Newer, Poison, Unavailable
from gossamer.events import Event, SeedAdded, UrlsAdmitted, UrlsDiscovered
from gossamer.log import At, GroupPosition, Log, Record
from gossamer.log.codec import E, decode, decode_valid
from gossamer.log.kafka.gaps import GapCheck
from gossamer.log.throttling import far_behind
from gossamer.runtime.alignment import Alignment
from gossamer.runtime.loop import Blocking, Loop
from gossamer.runtime.positions import PositionRow, Positions
from gossamer.runtime.processor import Key
from gossamer.store import Sort, Store
from gossamer.store.cassandra.errors import is_temporary
from gossamer.store.cassandra.store import CassandraStore
from services.dedup.rows import DocumentRow
from services.fetcher.service import Fetcher, OrderRun
from services.frontier.balance import Balance
from services.frontier.memory import Host
from services.frontier.partition import Partition
from services.frontier.partitions import Partitions
from services.frontier.rows import HostRow, QueueEnds
from services.frontier.service import Frontier
from services.frontier.workbench import Schedule

PRIORITY = re.compile(rb'"priority": ?(-?\d+)')


@dataclass(frozen=True)
class Fault:
    """A fault, and how it is found."""

    name: str
    sentence: str
    scenario: str
    """Of the seeds in which it is looked for."""
    seeds: int
    """How many of these, at most, are run until it is found."""
    report: str
    """A pattern of a line in the report of the run that breaks a promise."""
    seams: Mapping[str, Callable[..., Any] | property]
    """Dotted name of a function of the services → its faulty version."""
    first: int = 0
    """The first seed that may be run: one that finds it, when this was written."""


@contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """Replace the seams of *fault*; raise TypeError if one has other parameters than it expects."""
    with ExitStack() as stack:
        for seam, faulty in fault.seams.items():
            original = pkgutil.resolve_name(seam)
            if _shape(original) != _shape(faulty):
                raise TypeError(
                    f"{seam} is {_shape(original)}, and is replaced by {_shape(faulty)}"
                )
            stack.enter_context(mock.patch(seam, faulty))
        yield


def _shape(function: Any) -> tuple[object, ...]:
    if isinstance(function, property):
        return ("property", *_shape(function.fget))
    parameters = inspect.signature(function).parameters.values()
    kinds = [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]
    return inspect.iscoroutinefunction(function), *kinds


def _any_priority(value: bytes, kind: msgspec.json.Decoder[E]) -> E:
    """Decode *value* without the bounds of its priorities."""
    event = decode_valid(PRIORITY.sub(b'"priority":0', value), kind)
    priorities = map(int, PRIORITY.findall(value))
    match event:
        case SeedAdded():
            return msgspec.structs.replace(event, priority=next(priorities, 0))
        case UrlsDiscovered() | UrlsAdmitted():
            urls = [
                msgspec.structs.replace(url, priority=next(priorities, 0)) for url in event.urls
            ]
            return msgspec.structs.replace(event, urls=tuple(urls))
    return event


def _beyond_the_end(self: QueueEnds, count: int) -> int:
    return count


def _never_before(self: Partition, row: HostRow) -> bool:
    return False


def _always_caught_up(self: Partitions) -> bool:
    return True


def _as_written(self: Partition, row: HostRow, now: float) -> HostRow:
    return row


def _never_catches_up(self: Frontier, now: float) -> bool:
    return False


def _until_now(self: Frontier, now: float) -> float:
    return now


def _by_its_own_clock(self: CassandraStore, first: int, end: int) -> None:
    pass


def _unguarded(self: CassandraStore, check: Callable[[], None]) -> None:
    pass


def _one_by_one(self: Partition, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Host]:
    found = {key: self._host_rows.get(*key) for key in keys}
    return {key: Host(row) for key, row in found.items() if row}


def _never_leaves(url: str, target: str) -> bool:
    return False


def _heap_only_grows(self: Schedule, host: str, key: float) -> None:
    self._keys[host] = key
    heappush(self._heap, (key, host))


async def _ends_at_once(self: Fetcher, run: OrderRun) -> str:
    try:
        return await self._refusal_now(run)
    except Unavailable as error:
        raise GossamerError(str(error)) from error


def _short_wait(delay: float, refused: int) -> float:
    return 2.0


def _all_if_any(log: Log, topic: str, limit: int) -> dict[str, set[int]]:
    everywhere = {*range(log.partitions)}
    return dict.fromkeys(far_behind(log, topic, limit), everywhere)


def _in_step(
    group: str, standing: Mapping[At, GroupPosition], rows: Iterable[PositionRow], may_lack: bool
) -> Alignment:
    return Alignment(group, {})


def _never_compares(self: Positions, at: At, standing: GroupPosition) -> None:
    pass


def _buried(record: Record) -> Event | Poison | Newer:
    try:
        return decode(record)
    except (Poison, Newer) as error:
        return Poison(str(error))


def _goes_on(self: Any, at: Any, position: Any, found: int) -> None:
    position.next = found + 1


def _never_missing(
    self: GapCheck, positions: Mapping[tuple[str, int], int]
) -> dict[tuple[str, int], int]:
    return dict(positions)


def _not_if_overloaded(error: Exception) -> bool:
    overloaded = isinstance(error, OverloadedErrorMessage | IsBootstrappingErrorMessage)
    return not overloaded and is_temporary(error)


def _bound_after_a_visit(self: Balance, partition: Partition, site: str, now: float) -> int | None:
    last = self._last_visits.get(site)
    if last is None or not self._is_recent(last, now):
        return None
    return partition.topic_partition(last.sent_to)


def _never_overtaken(row: DocumentRow, at: float) -> bool:
    return False


def _not_read(store: Store, groups: Iterable[Iterable[Key]]) -> None:
    """Have the handlers read row by row."""


def _row_by_row(keys: Iterable[tuple[Sort, ...]], has_buckets: bool) -> Iterator[Sequence[Any]]:
    for *partition, bucket, sort in keys if has_buckets else ():
        yield *partition, [bucket], [sort]
    for *partition, sort in () if has_buckets else keys:
        yield *partition, [sort]


def _noted_at_once(self: Loop, timeout: float = 0.0) -> Blocking[None]:
    while news := (yield partial(self._control.poll, timeout)):
        self._quiesce_request.learn(news)
        self._control_records += news
        timeout = 0.0
        if self._strategy.positions and self._quiesce_request.id and not self._paused_by:
            self._strategy.positions.note_quiesced(self._quiesce_request.id)
            yield partial(self._reader.advance, (), ())


FAULTS = (
    Fault(
        "priority",
        "A seed's priority has no bounds: the number of its request exceeds 64 bits.",
        scenario="anything",
        seeds=3,
        report="in no dead letter",
        seams={"gossamer.log.codec.decode_valid": _any_priority},
    ),
    Fault(
        "torn flush",
        "What lies beyond a queue's end, left by a flush that was cut short, is ordered.",
        scenario="torn flushes",
        seeds=100,
        first=50733,
        report="admitted, and has no outcome|did not come to its end|for what was answered before",
        seams={
            "services.frontier.rows.QueueEnds.readable": _beyond_the_end,
            "services.frontier.partition.Partition.was_visited_before": _never_before,
        },
    ),
    Fault(
        "unread",
        "Leases end before outcomes that came in time were read.",
        scenario="nobody reads the outcomes",
        seeds=10,
        first=2181,
        report="Retry-After of .* broken|requests for what was answered before",
        seams={
            "services.frontier.partitions.Partitions.caught_up": property(_always_caught_up),
            "services.frontier.partition.Partition._adjust_times": _as_written,
            "services.frontier.service.Frontier.must_catch_up": _never_catches_up,
            "services.frontier.service.Frontier._leases_may_end_until": _until_now,
        },
    ),
    Fault(
        "timestamps",
        "Owners stamp their writes by their own clocks alone, and no flush checks the claims.",
        scenario="frontiers' clocks",
        seeds=80,
        first=457,
        report="admitted, and has no outcome|did not come to its end",
        seams={
            "gossamer.store.cassandra.store.CassandraStore.stamp": _by_its_own_clock,
            "gossamer.store.cassandra.store.CassandraStore.guard": _unguarded,
        },
    ),
    Fault(
        "one by one",
        "A frontier that takes over reads one host after the other, and does not poll meanwhile.",
        scenario="taking over slowly",
        seeds=5,
        report="was put out for not polling",
        seams={
            "services.frontier.partition.Partition.read_all": _one_by_one,
            "services.frontier.loading.read_ahead": _not_read,
        },
    ),
    Fault(
        "elsewhere",
        "A redirect of robots.txt is followed within the visit, to any host.",
        scenario="anything",
        seeds=10,
        first=93,
        report="s between two requests|two requests at once",
        seams={"services.fetcher.robots_visit.leaves_host": _never_leaves},
    ),
    Fault(
        "heaps",
        "A heap grows by an entry with every change of a host.",
        scenario="many links",
        seeds=16,
        first=183,
        report="entries for . hosts in memory",
        seams={"services.frontier.workbench.Schedule.put": _heap_only_grows},
    ),
    Fault(
        "hiccup",
        "A store that is away for a moment ends the fetcher's order.",
        scenario="hiccups of the store",
        seeds=10,
        first=317,
        report="was never answered: it cost a lease|fetcher-. ended with status",
        seams={"services.fetcher.service.Fetcher._refusal": _ends_at_once},
    ),
    Fault(
        "hot loop",
        "An order that a fetcher's clock refuses is made again after two seconds, however often.",
        scenario="fetchers' clocks",
        seeds=8,
        first=189,
        report="times in a row until",
        seams={"services.frontier.checkin.refused_wait": _short_wait},
    ),
    Fault(
        "long step",
        "A step reads what its records need row by row: a sitemap's are more than a minute's.",
        scenario="listings",
        seeds=3,
        report="was put out for not polling",
        seams={"gossamer.runtime.sequential.read_ahead": _not_read},
    ),
    Fault(
        "small requests",
        "A request reads one row: what a sitemap's records need takes seconds, though read ahead.",
        scenario="listings",
        seeds=3,
        report="a step of .* took",
        seams={"gossamer.store.cassandra.store._by_partition": _row_by_row},
    ),
    Fault(
        "one archive",
        "An archive that is behind stops all hosts, not only those of its partitions.",
        scenario="one slow archive",
        seeds=10,
        first=33,
        report="which does not read its pages",
        seams={"gossamer.log.throttling.far_behind": _all_if_any},
    ),
    Fault(
        "overloaded",
        "A node that has too many requests ends the service that asks.",
        scenario="hiccups of the store",
        seeds=3,
        report="ended with status 1",
        seams={"gossamer.store.cassandra.errors.is_temporary": _not_if_overloaded},
    ),
    Fault(
        "gap",
        "A reader goes on behind a gap.",
        scenario="records deleted",
        seeds=3,
        report="has jumped over records",
        seams={"gossamer.log.kafka.gaps.GapCheck.check": _never_missing},
    ),
    Fault(
        "not aligned",
        "A group goes on where it stood, though an older store was put back.",
        scenario="restored",
        seeds=5,
        report="admitted, and has no outcome|never judged|never archived",
        seams={
            "gossamer.runtime.alignment.align": _in_step,
            "gossamer.runtime.positions.Positions._compare": _never_compares,
        },
    ),
    Fault(
        "newer buried",
        "A record that only a newer version can read becomes a dead letter.",
        scenario="upgraded",
        seeds=5,
        first=420,
        report="dead letter: ",
        seams={"gossamer.log.codec._try_decode": _buried},
    ),
    Fault(
        "left out",
        "A reader goes on where its client goes on.",
        scenario="records left out",
        seeds=5,
        report="admitted, and has no outcome|did not come to its end|never judged|never archived",
        seams={"gossamer.log.kafka.reader.KafkaReader._go_back": _goes_on},
    ),
    Fault(
        "pages go back",
        "A visit is published though `pages` has what a later visit found.",
        scenario="late pages",
        seeds=10,
        report="on `pages` goes back",
        seams={"services.dedup.documents.is_overtaken": _never_overtaken},
    ),
    Fault(
        "noted first",
        "A service notes that it writes no more before it has written what its step has handled.",
        scenario="quiesced",
        seeds=3,
        first=278,
        report="no snapshot: services went on|half written|has no outcome|come to its end",
        seams={"gossamer.runtime.loop.Loop._read_control": _noted_at_once},
    ),
    Fault(
        "two fetchers",
        "A site moves to another partition while orders of it are unanswered.",
        scenario="wide",
        seeds=3,
        report="had orders at two partitions at once",
        seams={"services.frontier.balance.Balance._current_partition": _bound_after_a_visit},
    ),
)
