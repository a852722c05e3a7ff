"""Rows a second of the Cassandra store, beside the same loop written directly on its driver.

    .venv/bin/python -m bench.store [--rows 40000]

Both go by turns against one node of this machine, so that only the ratio says something. CPU
seconds are those of this process; the node's are not counted.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from cassandra.cluster import Cluster, Session
from cassandra.concurrent import execute_concurrent
from cassandra.query import BatchStatement, BatchType

from console.tables import tables
from gossamer.events import DEFAULT_CRAWL
from gossamer.settings import Settings
from gossamer.settings.servers import CassandraSettings
from gossamer.store.cassandra.cql import Columns, columns_of
from gossamer.store.cassandra.session import Cassandra
from gossamer.store.cassandra.store import CassandraStore
from gossamer.store.cassandra.tables import create_tables
from services.frontier.rows import Origin, QueuedUrl
from tests.servers import Server

ROUNDS = 4
KEYSPACE = "bench"
COLUMNS = ", ".join(f'"{name}"' for name in columns_of(QueuedUrl))
CODEC = Columns(QueuedUrl)
Work = Callable[[str, int], None]
"""Does something with so many rows, in partitions whose names begin so."""


def rows_of(part: str, start: int, count: int, width: int) -> Iterator[QueuedUrl]:
    """Yield *count* rows, *width* to a partition."""
    for n in range(start, start + count):
        url = f"https://www.example.org/a/path/of/usual/length/page-{n}.html"
        origin = Origin(via="0123456789abcdef@" + url)
        yield QueuedUrl(DEFAULT_CRAWL, f"{part} {n // width}", n % width, url, n, origin)


def by_store(store: CassandraStore, width: int, step: int) -> Work:
    """Return what puts rows and flushes every *step*."""
    table = store.table(QueuedUrl)

    def work(part: str, count: int) -> None:
        for start in range(0, count, step):
            for row in rows_of(part, start, step, width):
                table.put(row)
            store.flush()

    return work


def by_driver(session: Session, width: int, step: int) -> Work:
    """Return what writes the same rows in unlogged batches of a partition."""
    slots = ", ".join("?" * len(columns_of(QueuedUrl)))
    insert = session.prepare(f"INSERT INTO {KEYSPACE}.queues ({COLUMNS}) VALUES ({slots})")

    def batches(part: str, start: int) -> Iterator[tuple[BatchStatement, None]]:
        rows = list(rows_of(part, start, step, width))
        for at in range(0, step, width):
            batch = BatchStatement(BatchType.UNLOGGED)
            for row in rows[at : at + width]:
                batch.add(insert.bind(CODEC.values(row)))
            yield batch, None

    def work(part: str, count: int) -> None:
        for start in range(0, count, step):
            execute_concurrent(session, list(batches(part, start)), concurrency=64)

    return work


SELECT = f"SELECT {COLUMNS} FROM {KEYSPACE}.queues WHERE crawl = ? AND bucket = ? AND position"


def one_by_one(store: CassandraStore, session: Session) -> tuple[Work, Work]:
    """Return what reads one row at a time, by the store and by the driver."""
    table, select = store.table(QueuedUrl), session.prepare(f"{SELECT} = ?")

    def work(part: str, count: int) -> None:
        for n in range(count):
            assert table.get((DEFAULT_CRAWL, f"{part} {n}"), 3)

    def direct(part: str, count: int) -> None:
        for n in range(count):
            assert CODEC.row(session.execute(select, (DEFAULT_CRAWL, f"{part} {n}", 3)).one())

    return work, direct


def ten_at_once(store: CassandraStore, session: Session) -> tuple[Work, Work]:
    """Return what reads ten rows of a partition at a time."""
    table, select = store.table(QueuedUrl), session.prepare(f"{SELECT} IN ?")
    ten = list(range(10))

    def work(part: str, count: int) -> None:
        for n in range(count // 10):
            assert len(table.get_many((DEFAULT_CRAWL, f"{part} {n}"), ten)) == 10

    def direct(part: str, count: int) -> None:
        for n in range(count // 10):
            found = session.execute(select, (DEFAULT_CRAWL, f"{part} {n}", ten))
            assert len([CODEC.row(row) for row in found]) == 10

    return work, direct


def measured(name: str, work: Work, direct: Work, parts: tuple[str, str], count: int) -> None:
    """Let both do *count* rows in each round, by turns; print a line of the table."""
    spent = {work: [0.0, 0.0], direct: [0.0, 0.0]}
    for turn in range(ROUNDS):
        for each, part in zip((work, direct), parts, strict=True):
            wall, cpu = time.perf_counter(), time.process_time()
            each(f"{part} {turn}", count)
            spent[each][0] += time.perf_counter() - wall
            spent[each][1] += time.process_time() - cpu
    total = ROUNDS * count
    (wall, cpu), (their_wall, their_cpu) = spent[work], spent[direct]
    print(
        f"{name:34} {total / wall:9,.0f} {total / their_wall:9,.0f} {their_wall / wall:6.2f}"
        f" {total / cpu:11,.0f} {total / their_cpu:9,.0f} {their_cpu / cpu:6.2f}"
    )


def main() -> None:
    """Start a node, measure, end it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=40_000)
    count = parser.parse_args().rows // 5000 * 5000
    with tempfile.TemporaryDirectory() as folder:
        server = Server("cassandra", Path(folder) / "node")
        server.start()
        try:
            measure(server.port, count)
        finally:
            server.kill()


def measure(port: int, count: int) -> None:
    """Print the table."""
    settings = CassandraSettings(hosts=("127.0.0.1",), port=port, keyspace=KEYSPACE, timeout=60.0)
    with closing(Cassandra(settings)) as nodes:
        list(create_tables(nodes, settings, tables(Settings())))
    cluster = Cluster(["127.0.0.1"], port, protocol_version=5)
    print(f"{'':34} {'rows/s':>26} {'rows per CPU second':>28}")
    print(
        f"{'':34} {'store':>9} {'driver':>9} {'ratio':>6} {'store':>11} {'driver':>9} {'ratio':>6}"
    )
    with closing(CassandraStore(settings)) as store:
        session = cluster.connect()
        by_store(store, 10, 500)("warm", 5000), by_driver(session, 10, 500)("warm", 5000)
        for width, step in ((10, 500), (1, 500), (100, 5000)):
            ours, theirs = by_store(store, width, step), by_driver(session, width, step)
            name = f"put, flush every {step:,}, {width} a partition"
            measured(
                name, ours, theirs, (f"s{width}", f"d{width}"), count // (4 if width == 1 else 1)
            )
        parts = ("s10", "d10")
        measured("get", *one_by_one(store, session), parts, count // 20)
        measured("some: ten of a partition", *ten_at_once(store, session), parts, count // 2)
    cluster.shutdown()


if __name__ == "__main__":
    main()
