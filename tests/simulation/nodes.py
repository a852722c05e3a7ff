"""Cassandra, simulated behind the store's session: `gossamer.store.cassandra` runs on it unchanged.

There are three copies of every row. A write arrives at each copy at its own time, and is
acknowledged when the consistency level is reached. A read asks as many copies, and the newest
timestamp wins. A write without an acknowledgement may still arrive later. A conditional write may
time out undecided; the next serial read settles it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any

from cassandra import ConsistencyLevel, OperationTimedOut
from cassandra import Unavailable as NotEnough
from cassandra.protocol import OverloadedErrorMessage

from gossamer.settings.servers import CassandraSettings
from gossamer.store import Row
from gossamer.store.cassandra.cql import (
    Statements,
    all_columns_of,
    columns_of,
    partition_key_of,
)
from gossamer.store.cassandra.errors import translate_errors
from gossamer.store.cassandra.session import Cassandra, Write
from gossamer.store.cassandra.writes import IN_FLIGHT
from gossamer.store.claims import ClaimRow
from tests.simulation.kernel import Process, Sim

COPIES = 3
KINDS = (
    "get",
    "get_many",
    "get_several",
    "scan",
    "scan_beyond",
    "everything",
    "put",
    "put_if_absent",
    "replace",
    "drop",
    "erase",
)
Keys = tuple[tuple[Any, ...], Any]
"""Partition key and sort key."""
Stamped = tuple[int, tuple[Any, ...]]
Applies = Callable[[tuple[Any, ...] | None], bool]
"""Whether a conditional write applies to the stored row."""


class Partition:
    """A partition on one node: rows with their timestamps, and the timestamp of the last drop."""

    __slots__ = ("dropped", "erased", "rows")

    def __init__(self) -> None:
        self.dropped = -1
        self.rows: dict[Any, Stamped] = {}
        self.erased: dict[Any, int] = {}
        """Sort key → timestamp of the last erasure of the row."""

    def put(self, sort: Any, stamp: int, values: tuple[Any, ...]) -> None:
        if stamp <= self.erased.get(sort, -1):
            return
        old = self.rows.get(sort)
        newer = old is None or stamp > old[0]
        if newer or (old is not None and stamp == old[0] and repr(values) > repr(old[1])):
            self.rows[sort] = (stamp, values)

    def erase(self, sort: Any, stamp: int) -> None:
        self.erased[sort] = max(stamp, self.erased.get(sort, -1))
        if sort in self.rows and self.rows[sort][0] <= stamp:
            del self.rows[sort]

    def drop(self, stamp: int) -> None:
        self.dropped = max(self.dropped, stamp)
        self.rows = {s: row for s, row in self.rows.items() if row[0] > self.dropped}


class Nodes:
    """The nodes of a cluster. Each may be *away*; all may be *slow* or *overloaded*."""

    def __init__(self, sim: Sim) -> None:
        self.sim = sim
        self.away: set[int] = set()
        self.slow = 1.0
        self.ahead = 0.0
        """Seconds by which the nodes' clocks are ahead. These clocks stamp conditional writes."""
        self.undecided = 0.0
        """The probability that a conditional write times out undecided."""
        self.overloaded = 0.0
        """The probability that a node refuses a request as overloaded."""
        self.at_claim: Callable[[Process], None] | None = None
        """Called once, when a process is about to claim a partition."""
        self.at_write: Callable[[Process, str], None] | None = None
        """Called with the process and the table's name when a part of a write has arrived."""
        self.columns: dict[str, list[str]] = {}
        self.data: list[dict[tuple[str, Any], Partition]] = [{} for _ in range(COPIES)]
        """The data on the disk of each node."""
        self._hints: list[list[Any]] = [[] for _ in range(COPIES)]
        self._pending: dict[tuple[str, Keys], tuple[Any, ...]] = {}

    def answer(self, needed: int, time: float) -> list[int]:
        """Take the time of a request; return the nodes that respond."""
        self.sim.effect(time * self.slow)
        if self.overloaded and self.sim.chance(self.overloaded):
            raise OverloadedErrorMessage(0x1001, "too many requests", None)
        alive = [node for node in range(COPIES) if node not in self.away]
        if len(alive) < needed:
            self.sim.wait(0.5)
            raise NotEnough("not enough copies", ConsistencyLevel.QUORUM, needed, len(alive))
        self.sim.random.shuffle(alive)
        return alive

    def rows(self, nodes: Iterable[int], table: str, partition: Any) -> dict[Any, tuple[Any, ...]]:
        """Return the rows of a partition, merged over these nodes."""
        copies = [self.data[node].get((table, partition)) for node in nodes]
        found = [copy for copy in copies if copy is not None]
        if len(found) == 2 and found[0].rows == found[1].rows and not found[0].erased:
            found = found[:1]
        dropped = max((copy.dropped for copy in found), default=-1)
        merged: dict[Any, Stamped] = {}
        for copy in found:
            for sort, row in copy.rows.items():
                old = merged.get(sort)
                erased = max(one.erased.get(sort, -1) for one in found)
                if row[0] > max(dropped, erased) and (old is None or row[0] > old[0]):
                    merged[sort] = row
        return {sort: values for sort, (_, values) in merged.items()}

    def land(self, node: int, call: Any) -> None:
        """Apply a write to a node, now or when it is back."""
        if node in self.away:
            self._hints[node].append(call)
        else:
            call(self.data[node])

    def back(self, node: int) -> None:
        """Bring a node back, and apply the writes that it missed."""
        self.away.discard(node)
        hints, self._hints[node] = self._hints[node], []
        for call in hints:
            call(self.data[node])

    def restore(self, data: list[dict[tuple[str, Any], Partition]]) -> None:
        """Restart all nodes with *data* on their disks and empty memory."""
        self.data, self._hints = data, [[] for _ in range(COPIES)]
        self._pending.clear()

    def write(self, needed: int, calls: list[Any], side_by_side: int = 1) -> None:
        """Send writes to the nodes; return once each has arrived at *needed* nodes.

        *side_by_side* writes are in flight at once, and share the time.
        """
        time = self.sim.between(0.001, 0.01) / side_by_side
        nodes = self.answer(needed, time)
        late = self.sim.between(0.01, 3.0)
        prompt, tardy = nodes[:needed], nodes[needed:]
        tardy += [node for node in range(COPIES) if node not in nodes]
        for call in calls:
            for node in prompt:
                self.land(node, call)
            for node in tardy:
                self.sim.later(late, self.land, node, call)

    def all_rows(self, table: str) -> dict[Any, dict[Any, tuple[Any, ...]]]:
        """Return all stored rows of a table by partition, without a simulated request."""
        keys = {key for data in self.data for key in data if key[0] == table}
        everywhere = range(COPIES)
        return {at: found for _, at in sorted(keys) if (found := self.rows(everywhere, table, at))}

    def all_named(self, table: str) -> dict[Any, list[dict[str, Any]]]:
        """Return all stored rows of a table by partition, with the columns by name."""
        columns = self.columns.get(table, [])
        return {
            at: [dict(zip(columns, values, strict=False)) for values in rows.values()]
            for at, rows in self.all_rows(table).items()
        }

    def decide(
        self, table: str, keys: Keys, values: tuple[Any, ...], applies: Applies
    ) -> tuple[Any, ...] | None:
        """Put a row if that *applies* to the stored row, else return that. The write may be
        undecided."""
        nodes = self.answer(2, self.sim.between(0.004, 0.03))
        self._settle(table, keys, True)
        partition, sort = keys
        found = self.rows(nodes[:2], table, partition).get(sort)
        lost, applied = self.sim.chance(self.undecided), applies(found)
        if applied and lost and self.sim.chance(0.5):
            self._pending[table, keys] = values
        elif applied:
            self._put(table, partition, sort, values)
        if lost:
            self.sim.wait(2.0)
            raise OperationTimedOut()
        return None if applied else found

    def serial(self, table: str, keys: Keys) -> tuple[Any, ...] | None:
        """Read a row after undecided writes to it are settled."""
        nodes = self.answer(2, self.sim.between(0.004, 0.03))
        self._settle(table, keys, self.sim.chance(0.5))
        partition, sort = keys
        return self.rows(nodes[:2], table, partition).get(sort)

    def _settle(self, table: str, keys: Keys, completes: bool) -> None:
        values = self._pending.pop((table, keys), None)
        if values is not None and completes:
            self._put(table, *keys, values)

    def _put(self, table: str, partition: Any, sort: Any, values: tuple[Any, ...]) -> None:
        call = partial(
            put, (table, partition), sort, int((self.sim.now + self.ahead) * 1e6), values
        )
        for node in range(COPIES):
            self.land(node, call)


def put(
    at: tuple[str, Any],
    sort: Any,
    stamp: int,
    values: tuple[Any, ...],
    data: dict[tuple[str, Any], Partition],
) -> None:
    """Put a row into a node's *data*."""
    if at not in data:
        data[at] = Partition()
    partition = data[at]
    if stamp > partition.dropped:
        partition.put(sort, stamp, values)


def drop(at: tuple[str, Any], stamp: int, data: dict[tuple[str, Any], Partition]) -> None:
    """Drop a partition of a node's *data*."""
    if at not in data:
        data[at] = Partition()
    data[at].drop(stamp)


def erase(at: tuple[str, Any], sort: Any, stamp: int, data: dict[Any, Partition]) -> None:
    """Erase a row of a node's *data*."""
    if at not in data:
        data[at] = Partition()
    data[at].erase(sort, stamp)


class Meaning:
    """A parsed statement: the row class and the operation."""

    def __init__(self, row: type[Row], kind: str) -> None:
        self.table, self.kind = row.table, kind
        names = list(all_columns_of(row))
        self.columns = list(columns_of(row))
        self._partition = [names.index(key) for key in partition_key_of(row)]
        self._sort = names.index(row.sort_key) if row.sort_key else None
        self._replaced = [*map(Statements("", row).replaced.index, names)]
        self._holder = [*map(names.index, row.holder)]
        self.newest_first, self.has_buckets = row.newest_first, row.buckets > 1

    def keys(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        """Return the partition key and the sort key of a row."""
        sort = "" if self._sort is None else values[self._sort]
        return tuple(values[at] for at in self._partition), sort

    def conditional_row(self, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], Applies]:
        """Return the row of a conditional write, and its condition."""
        if self.kind == "put_if_absent":
            return values, lambda found: found is None
        row = tuple(values[at] for at in self._replaced)
        holder = [*values[len(values) - len(self._holder) :]]
        return row, lambda found: found is not None and [found[at] for at in self._holder] == holder

    def split(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], list[Any]]:
        """Return the partition key of a query, and its other values."""
        count = len(self._partition)
        return tuple(values[:count]), list(values[count:])

    def read(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the columns of a query."""
        return row[: len(self.columns)]


def _claims(process: Process) -> bool:
    return process.name.startswith(("frontier", "archive"))


@cache
def meanings(keyspace: str) -> dict[str, Meaning]:
    """Return the meaning of every statement on every table."""
    return {
        getattr(Statements(keyspace, row), kind): Meaning(row, kind)
        for row in _rows(Row)
        for kind in KINDS
    }


def _rows(base: type[Row]) -> list[type[Row]]:
    found = []
    for row in base.__subclasses__():
        if "table" in vars(row):
            found.append(row)
        found += _rows(row)
    return found


class SimCassandra(Cassandra):
    """Replaces a session with the driver."""

    def __init__(self, nodes: Nodes, keyspace: str, settings: CassandraSettings) -> None:
        self.where = "Cassandra (simulated)"
        self._errors = partial(translate_errors, self.where, settings)
        self._nodes, self._sim, self._keyspace = nodes, nodes.sim, keyspace
        self.process: Process = nodes.sim.process
        self._meanings = meanings(keyspace)
        self._claims = Statements(keyspace, ClaimRow).get
        nodes.columns = {meaning.table: meaning.columns for meaning in self._meanings.values()}
        self.answers: dict[str, list[tuple[Any, ...]]] = {}
        """Responses to queries about the cluster itself."""
        self._needed = {"ONE": 1, "LOCAL_ONE": 1, "ALL": 3}.get(settings.consistency, 2)

    def close(self) -> None:
        pass

    def query(self, cql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of the response."""
        with self._errors():
            if cql == self._claims and self._nodes.at_claim and _claims(self.process):
                call, self._nodes.at_claim = self._nodes.at_claim, None
                call(self.process)
            nodes = self._nodes.answer(self._needed, self._sim.between(0.001, 0.01))
            if cql in self.answers:
                return self.answers[cql]
            return self.look(nodes, cql, values)

    def query_whole(self, cql: str) -> Iterator[tuple[Any, ...]]:
        """Yield all rows of a table."""
        meaning = self._meanings[cql]
        with self._errors():
            nodes = self._nodes.answer(self._needed, self._sim.between(0.001, 0.01))
            for partition in self._nodes.all_rows(meaning.table):
                rows = self._nodes.rows(nodes[: self._needed], meaning.table, partition)
                yield from map(meaning.read, rows.values())

    def query_all(self, cql: str, each: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        """Return the rows of all responses, with the driver's number of requests in flight."""
        found = []
        with self._errors():
            for first in range(0, len(each), IN_FLIGHT):
                nodes = self._nodes.answer(self._needed, self._sim.between(0.002, 0.02))
                for values in each[first : first + IN_FLIGHT]:
                    found += self.look(nodes, cql, values)
        return found

    def look(self, nodes: list[int], cql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """Return the rows that *nodes* have."""
        meaning = self._meanings[cql]
        if meaning.kind == "get_several":
            several = next(value for value in values if isinstance(value, list))
            at = values.index(several)
            each = [[*values[:at], key, *values[at + 1 :]] for key in several]
            return [row for one in each for row in self._look(nodes, meaning, one)]
        if meaning.kind == "get_many" and meaning.has_buckets:
            *key, buckets, sorts = values
            return [row for at in buckets for row in self._look(nodes, meaning, [*key, at, sorts])]
        return self._look(nodes, meaning, values)

    def _look(
        self, nodes: list[int], meaning: "Meaning", values: Sequence[Any]
    ) -> list[tuple[Any, ...]]:
        partition, others = meaning.split(values)
        rows = self._nodes.rows(nodes[: self._needed], meaning.table, partition)
        down, sorts = meaning.newest_first, list[Any]()
        match meaning.kind:
            case "get" | "get_several":
                sorts = others or [""]
            case "get_many":
                sorts = others[0]
            case "scan":
                sorts = sorted(rows, reverse=down)[: others[0]]
            case "scan_beyond":
                after, limit = others
                beyond = (sort for sort in rows if (sort < after if down else sort > after))
                sorts = sorted(beyond, reverse=down)[:limit]
        return [meaning.read(rows[sort]) for sort in sorts if sort in rows]

    def write(self, writes: Iterable[Write]) -> None:
        """Return once all *writes* are acknowledged. Partitions arrive in any order."""
        batches: dict[tuple[str, Any], list[Any]] = {}
        for write in writes:
            meaning = self._meanings[write.cql]
            for row in write.rows:
                values = tuple(row)
                if meaning.kind == "drop":
                    at = (meaning.table, values)
                    batches.setdefault(at, []).append(partial(drop, at, write.timestamp))
                elif meaning.kind == "erase":
                    key, others = meaning.split(values)
                    sort = others[0] if others else ""
                    call = partial(erase, (meaning.table, key), sort, write.timestamp)
                    batches.setdefault((meaning.table, key), []).append(call)
                else:
                    partition, sort = meaning.keys(values)
                    at = (meaning.table, partition)
                    call = partial(put, at, sort, write.timestamp, values)
                    batches.setdefault(at, []).append(call)
        if not batches:
            return
        order = list(batches.items())
        self._sim.random.shuffle(order)
        with self._errors():
            # All writes are in flight at once. After a kill some have arrived and some have not.
            for (table, _), calls in order:
                self._nodes.write(self._needed, calls, min(len(order), IN_FLIGHT))
                if self._nodes.at_write:
                    self._nodes.at_write(self.process, table)

    def _insert(self, insert: str, values: Sequence[Any]) -> dict[str, Any]:
        meaning = self._meanings[insert]
        row, applies = meaning.conditional_row(tuple(values))
        found = self._nodes.decide(meaning.table, meaning.keys(row), row, applies)
        return dict(zip(meaning.columns, meaning.read(found), strict=True)) if found else {}

    def _insert_all(
        self, insert: str, rows: Sequence[Sequence[Any]]
    ) -> list[dict[str, Any] | None]:
        return [self._try_insert(insert, values) for values in rows]

    def _serial_read(self, select: str, keys: Sequence[Any]) -> dict[str, Any]:
        meaning = self._meanings[select]
        partition, others = meaning.split(keys)
        found = self._nodes.serial(meaning.table, (partition, others[0] if others else ""))
        return dict(zip(meaning.columns, meaning.read(found), strict=True)) if found else {}
