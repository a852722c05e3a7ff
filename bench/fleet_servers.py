"""The load of a fleet as Kafka and Cassandra report it: rows, records, commits, requests.

The services are not asked, so that costs that they do not know are counted as well.
"""

import logging
import re
import struct
import subprocess
from collections import Counter, defaultdict
from typing import Any, Self

from cassandra.cluster import Cluster, Session
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from bench.processes import family
from tests.servers import Server

_SILENT = logging.getLogger("bench.fleet")
_SILENT.setLevel(logging.CRITICAL)
COMMITS = "__consumer_offsets"
PAXOS = "paxos"
"""Cassandra's table for decisions about conditional writes."""
SEGMENTS = re.compile(r"data_segs_out:(\d+)")
OWNERS = re.compile(r"pid=(\d+)")


class Servers:
    """One Kafka and one Cassandra, and their counters."""

    def __init__(self, kafka: Server, cassandra: Server) -> None:
        self._servers = {"Kafka": kafka, "Cassandra": cassandra}
        self.kafka, self.kafka_port = f"127.0.0.1:{kafka.port}", kafka.port
        self.cassandra_port = cassandra.port

    def __enter__(self) -> Self:
        self._cluster = Cluster(["127.0.0.1"], self.cassandra_port)
        self._session: Session = self._cluster.connect()
        self._admin = AdminClient({"bootstrap.servers": self.kafka}, logger=_SILENT)
        return self

    def __exit__(self, *_: object) -> None:
        self._cluster.shutdown()

    def pids(self) -> dict[str, list[int]]:
        """Return the processes of each server: children of their keepers."""
        return {name: _family(server) for name, server in self._servers.items()}

    def rows(self, keyspace: str) -> tuple[dict[str, float], dict[str, float]]:
        """Return the reads and the mutations of each table."""
        reads, writes = (
            self._by_table(view, keyspace) for view in ("local_read_latency", "local_write_latency")
        )
        return reads, writes

    def _by_table(self, view: str, keyspace: str) -> dict[str, float]:
        rows = self._session.execute(
            f"SELECT keyspace_name, table_name, count FROM system_views.{view}"
        )
        return {
            row.table_name: float(row.count)
            for row in rows
            if row.keyspace_name == keyspace or row.table_name == PAXOS
        }

    def records(self, prefix: str) -> dict[str, float]:
        """Return the number of records of each topic."""
        found: dict[str, float] = defaultdict(float)
        for topic, ends in self._ends(prefix).items():
            found[topic.removeprefix(prefix)] = float(sum(ends.values()))
        return found

    def _ends(self, prefix: str) -> dict[str, dict[int, int]]:
        topics = self._admin.list_topics(timeout=10).topics
        places = [
            TopicPartition(name, number)
            for name, topic in topics.items()
            if name.startswith(prefix)
            for number in topic.partitions
        ]
        latest: Any = OffsetSpec
        offsets = self._admin.list_offsets(dict.fromkeys(places, latest.latest()))
        ends: dict[str, dict[int, int]] = defaultdict(dict)
        for at, answer in offsets.items():
            ends[at.topic][at.partition] = answer.result().offset
        return ends

    def commits(self, prefix: str) -> dict[str, float]:
        """Return the number of commits of each group. Offsets written at one time are one
        commit."""
        ends = self._ends(COMMITS)[COMMITS]
        reading: Any = Consumer({"bootstrap.servers": self.kafka, "group.id": "bench"})
        reading.assign([TopicPartition(COMMITS, number, 0) for number, end in ends.items() if end])
        left, found = sum(ends.values()), set[tuple[str, int]]()
        while left > 0 and (messages := reading.consume(5000, 5.0)):
            left -= len(messages)
            found |= {
                (group, message.timestamp()[1])
                for message in messages
                if (group := _group(message.key())).startswith(prefix)
            }
        reading.close()
        return {**Counter(group.removeprefix(prefix) for group, _ in found)}

    def requests(self) -> Counter[int]:
        """Return the segments with data that each process has sent to Kafka, each mostly one
        request."""
        listed = subprocess.run(
            ["ss", "-OtinpH", f"dport = :{self.kafka_port}"],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        found = Counter[int]()
        for line in listed.splitlines():
            owner, sent = OWNERS.search(line), SEGMENTS.search(line)
            if owner and sent:
                found[int(owner[1])] += int(sent[1])
        return found


def _family(server: Server) -> list[int]:
    assert server.process
    assert server.process.poll() is None, f"{server.kind} has ended"
    return family(server.process.pid)


def _group(key: bytes) -> str:
    """Return the group of a commit, "" for another record. See Kafka's `OffsetCommitKey`."""
    version, length = struct.unpack_from(">hh", key)
    return key[4 : 4 + length].decode() if version in (0, 1) else ""
