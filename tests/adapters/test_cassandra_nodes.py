"""The store on three Cassandra nodes: of concurrent writers of a row, one is the first."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier

import pytest

from gossamer.errors import Unavailable
from gossamer.events import DEFAULT_CRAWL
from gossamer.services.dedup.content import DigestRow
from gossamer.settings.servers import CassandraSettings
from gossamer.store.cassandra.store import CassandraStore
from tests.servers.nodes import three_of_each

from .cassandra_node import apply, open_store

RIVALS, ROWS = 6, 10


@pytest.mark.nodes
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_concurrent_writers_agree_on_the_first_row(tmp_path: Path) -> None:
    """Concurrent writers interrupt each other's Paxos rounds. A node may then report that the end
    is unknown."""
    with three_of_each(tmp_path, "cassandra") as nodes, ExitStack() as stack:
        settings = CassandraSettings(
            hosts=tuple(node.address for node in nodes.of["cassandra"]),
            port=nodes.of["cassandra"][0].port,
            keyspace="race",
            replication=3,
            timeout=60.0,
        )
        assert apply(settings)[0] == 0
        stores = [stack.enter_context(open_store(settings)) for _ in range(RIVALS)]
        together = Barrier(RIVALS)
        with ThreadPoolExecutor(RIVALS) as threads:
            for row in range(ROWS):
                answers = threads.map(
                    lambda who, row=row: first(stores[who], f"row {row}", str(who), together),
                    range(RIVALS),
                )
                assert len(set(answers)) == 1, "the writers disagree about the first write"


def first(store: CassandraStore, key: str, who: str, together: Barrier) -> DigestRow:
    """Write a row at the same moment as all others; return the stored row."""
    together.wait()
    while True:
        try:
            return store.table(DigestRow).put_if_absent(DigestRow(DEFAULT_CRAWL, key, who))
        except Unavailable:
            time.sleep(0.1)
