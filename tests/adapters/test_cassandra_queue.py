"""A host queue on a real Cassandra during its whole life: reads meet no tombstones, and no data
accumulates."""

import re
from uuid import uuid4

import pytest

from gossamer.events import DEFAULT_CRAWL
from gossamer.services.frontier.partition.queue import HostQueues
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import Origin, QueuedUrl
from gossamer.store.cassandra.store import CassandraStore
from gossamer.web.url import HostKey, Site

from .cassandra_node import apply, nodetool, open_store, settings

AHEAD, STEP, BATCH = 5000, 500, 10
URL = "https://www.example.org/a/path/of/usual/length/page-{}.html"


def run_through(store: CassandraStore, start: int, end: int, host: HostRow) -> HostRow:
    """Append URLs *start* to *end*, and visit all of them in batches, in their order."""
    queues, hosts = HostQueues(store.table(QueuedUrl), DEFAULT_CRAWL), store.table(HostRow)
    appended = visited = start
    while visited < end:
        while appended < min(end, visited + AHEAD):
            origin = Origin(via="abc@https://example.org/")
            url = QueuedUrl(DEFAULT_CRAWL, "", 0, URL.format(appended), appended, origin)
            host = queues.append(host, [url])
            appended += 1
        store.flush()
        for _ in range(STEP // BATCH):
            batch = queues.first(host, BATCH)
            assert [url.number for url in batch] == [*range(visited, visited + BATCH)]
            host = queues.skip(host, BATCH)
            hosts.put(host)
            visited += BATCH
    store.flush()
    return host


def figure(stats: str, name: str) -> float:
    found = re.search(rf"^\s*{re.escape(name)}: ([\d.]+)$", stats, re.MULTILINE)
    assert found, stats
    return float(found[1])


@pytest.mark.parametrize("total", [4_000, pytest.param(100_000, marks=pytest.mark.long)])
def test_queue_reads_meet_no_tombstones(cassandra: int, total: int) -> None:
    keyspace = settings(cassandra, f"k{uuid4().hex[:20]}")
    code, _, err = apply(keyspace)
    assert code == 0, err
    host = HostRow(Site("example.org"), HostKey("https://www.example.org"))
    sizes = []
    with open_store(keyspace) as store:
        for part in range(2):
            host = run_through(store, part * total // 2, (part + 1) * total // 2, host)
            nodetool(cassandra, "flush", keyspace.keyspace)
            stats = nodetool(cassandra, "tablestats", f"{keyspace.keyspace}.queues")
            sizes.append(figure(stats, "Space used (live)"))
            # The counter starts at 1: a read of 2 tombstones counts as 2.
            assert figure(stats, "Maximum tombstones per slice (last five minutes)") <= 1
            assert figure(stats, "Maximum live cells per slice (last five minutes)") == BATCH
    assert host.queued == 0
    raw = total * len(URL)
    assert max(sizes) < raw / 20, "dropped rows are deleted from disk"
    print(f"live bytes on disk after {total // 2:,} and {total:,} URLs: {sizes}")
