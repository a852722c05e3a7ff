"""The cost of a page in a fleet by process, on warm servers: CPU, rows, records, commits.

    .venv/bin/python -m bench.fleet [--pages 10000] [--each 6] [--counts 1 2] [--texts no yes]
    .venv/bin/python -m bench.fleet --crawls 50 [--pages 3000] [--rounds 2]

Kafka and Cassandra are started and warmed up by a crawl that is not shown. Then fleets with one and
with two instances of each service crawl a synthetic web, without and with main text, and wait
without work for a while. Last, the same web is crawled in a folder. The CPU of Java's compilers is
shown separately, since they stop some time. The web and other processes use the same cores: compare
CPU, and compare runs with each other.

With `--crawls`, fleets with one instance of each service alternately crawl all pages as one crawl,
and as that many crawls of different sizes, whose pages are on the same hosts. Each page is a seed,
so that both visit the same URLs. The size of a crawl is inversely proportional to its rank.

The load of Kafka and Cassandra is what they report: rows, records, commits, requests. The services
are not asked, so that costs that they do not know are counted as well.
"""

import argparse
import json
import logging
import os
import random
import re
import signal
import struct
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from cassandra.cluster import Cluster, Session
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from bench.processes import compiler_cpu, cpu, family, memory
from tests.servers import Server, running
from tests.synthweb import SynthWeb, World
from tests.synthweb.record import Request
from tests.system.by_hand import of_servers
from tests.system.crawl import Crawl, marked_pids
from tests.system.fleet import Fleet, fleet

_SILENT = logging.getLogger("bench.fleet")
DELAY = 0.05
IDLE = 15.0
"""Seconds for which the fleet waits."""
STUCK_TIMEOUT = 180.0
"""Seconds without a request after which a crawl counts as stuck."""
LOOK = 0.5
JAVA = "compilers of Java"
JAVA_OPTIONS = "-XX:TieredStopAtLevel=4 -XX:-UseDynamicNumberOfCompilerThreads"
"""Servers of tests live for minutes, without Java's optimising compiler. Those that are measured
have it, as those of users do, with a fixed number of threads (`compiler_cpu`)."""
Counts = dict[str, float]


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

    def stored(self, keyspace: str) -> dict[str, float]:
        """Return the number of rows of each table."""
        tables = self._session.execute(
            "SELECT table_name FROM system_schema.tables WHERE keyspace_name = %s", [keyspace]
        )
        count = 'SELECT count(*) FROM {}."{}"'
        return {
            table: float(self._session.execute(count.format(keyspace, table)).one()[0])
            for (table,) in tables
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


@dataclass
class Cost:
    """The result of one crawl. Times are in seconds; counts are from its start to its end."""

    name: str
    pages: int = 0
    took: float = 0.0
    requested_after: float = 0.0
    """Seconds until the commands that add the seeds had ended."""
    visited_at: list[float] = field(default_factory=list)
    """The seconds after which each page was requested, sorted."""
    cpu: Counts = field(default_factory=dict)
    """By kind of process."""
    reads: Counts = field(default_factory=dict)
    """Cassandra's reads by table."""
    writes: Counts = field(default_factory=dict)
    records: Counts = field(default_factory=dict)
    """Kafka's records by topic."""
    commits: Counts = field(default_factory=dict)
    """Commits by group."""
    requests: Counts = field(default_factory=dict)
    """Requests to Kafka by process."""
    stored: Counts = field(default_factory=dict)
    """Rows of each table at the end."""
    memory: Counts = field(default_factory=dict)
    """Private memory by kind of process at the end, in MB."""
    idle_cpu: Counts = field(default_factory=dict)
    """Percent of a core while the fleet waits."""
    idle_requests: Counts = field(default_factory=dict)
    """Requests to Kafka a second while the fleet waits."""


def since(before: Counts, after: Counts) -> Counts:
    """Return the increase of each count that has grown."""
    grown = {name: count - before.get(name, 0.0) for name, count in after.items()}
    return {name: count for name, count in grown.items() if count > 0}


def is_page(request: Request) -> bool:
    """Return whether *request* found a page."""
    return request.status == 200 and request.path != "/robots.txt"


class MeasuredFleet:
    """A fleet on servers, during a measurement."""

    def __init__(self, live_fleet: Fleet, servers: Servers, prefix: str, keyspace: str) -> None:
        self._fleet, self._servers = live_fleet, servers
        self._prefix, self._keyspace = prefix, keyspace

    def spent(self) -> Counts:
        """Return the CPU seconds of each kind of process until now."""
        spent: dict[str, float] = defaultdict(float)
        for name, pids in self.pids().items():
            used = cpu(pids), compiler_cpu(pids)
            spent[name] += used[0] - used[1]
            spent[JAVA] += used[1]
        return spent

    def pids(self) -> dict[str, list[int]]:
        """Return the processes of each kind."""
        found: dict[str, list[int]] = defaultdict(list)
        for name, pids in self._servers.pids().items():
            found[name] += pids
        for member in self._fleet.members:
            assert member.process
            own, *children = family(member.process.pid)
            found[member.service].append(own)
            found[f"{member.service} children"] += children
        return found

    def crawl(self, name: str, begin: Callable[[], None]) -> Cost:
        """Crawl to the end. *begin* adds the seeds."""
        web, servers = self._fleet.web, self._servers
        spent, rows = self.spent(), servers.rows(self._keyspace)
        records, requests = servers.records(self._prefix), self._requests()
        began, began_at = time.monotonic(), time.time()
        begin()
        requested_after = time.monotonic() - began
        self._await_end()
        took, spent = time.monotonic() - began, since(spent, self.spent())
        reads, writes = (
            since(before, after)
            for before, after in zip(rows, servers.rows(self._keyspace), strict=True)
        )
        visited = [one.at for one in web.requests() if is_page(one)]
        return Cost(
            name,
            pages=len(visited),
            took=took,
            requested_after=requested_after,
            visited_at=sorted(at - began_at for at in visited),
            cpu=spent,
            reads=reads,
            writes=writes,
            records=since(records, servers.records(self._prefix)),
            commits=servers.commits(self._prefix),
            requests=since(requests, self._requests()),
            stored=servers.stored(self._keyspace),
            memory={name: memory(pids) / 1e6 for name, pids in self.pids().items()},
        )

    def _await_end(self) -> None:
        web, record = self._fleet.web, self._fleet.web.record / "requests.jsonl"
        size, latest = 0, time.monotonic() + STUCK_TIMEOUT
        least = len(web.truth.required)
        while True:
            if (now := record.stat().st_size) != size:
                size, latest = now, time.monotonic() + STUCK_TIMEOUT
            assert time.monotonic() < latest, f"no further requests: {self._fleet.lag()}"
            enough = len(record.read_bytes().splitlines()) >= least
            if enough and web.truth.required <= {one.url for one in web.requests()}:
                break
            time.sleep(LOOK)
        while any(self._fleet.lag().values()):
            time.sleep(LOOK)

    def wait(self, measured: Cost, seconds: float = IDLE) -> None:
        """Measure the cost of waiting without work."""
        time.sleep(3.0)
        spent, requests, began = self.spent(), self._requests(), time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - began
        for name, used in since(spent, self.spent()).items():
            measured.idle_cpu[name] = 100 * used / took
        for name, count in since(requests, self._requests()).items():
            measured.idle_requests[name] = count / took

    def _requests(self) -> Counts:
        sent = self._servers.requests()
        return {name: sum(map(sent.__getitem__, pids)) for name, pids in self.pids().items()}


def sizes(pages: int, crawls: int) -> list[int]:
    """Return the numbers of pages of *crawls* crawls, the largest first; their sum is *pages*."""
    parts = [1 / rank for rank in range(1, crawls + 1)]
    ends = [round(pages * sum(parts[:end]) / sum(parts)) for end in range(crawls + 1)]
    return [end - begin for begin, end in pairwise(ends)]


def write_crawls(urls: Collection[str], crawls: int, folder: Path) -> list[str]:
    """Write files of *crawls* crawls that share *urls*, and return their paths."""
    shuffled = sorted(urls)
    random.Random(crawls).shuffle(shuffled)
    paths = []
    for number, size in enumerate(sizes(len(shuffled), crawls)):
        seeds, shuffled = shuffled[:size], shuffled[size:]
        path = folder / f"crawl-{number}.toml"
        path.write_text(
            f"seeds = {json.dumps(seeds)}\nscope = 'any'\n[limits]\nmax_depth = 0\n"
            "[revisit]\npolicy = 'none'\n"
        )
        paths.append(str(path))
    return paths


def apply_crawls(live_fleet: Fleet, paths: Collection[str]) -> None:
    """Apply crawl files, in one process: a process for each would take longer than the crawls."""
    done = live_fleet.gossamer("crawls", "apply", *paths)
    assert done.code == 0, done


def crawl_in_fleet(
    servers: Servers, world: World, count: int, text: bool, idle: float, crawls: int = 0
) -> Cost:
    """Crawl *world* with *count* instances of each service. With *crawls*, all pages are the seeds
    of that many crawls."""
    corner = of_servers(servers.kafka, servers.cassandra_port)
    settings = {
        **corner,
        "GOSSAMER_FRONTIER__DELAY": str(DELAY),
        "GOSSAMER_PARSER__TEXT": "main" if text else "off",
        "GOSSAMER_LOGS__LEVEL": "warning",
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        SynthWeb(world) as web,
        fleet(web, Path(folder), count, **settings) as live_fleet,
    ):
        prefix = corner["GOSSAMER_KAFKA__PREFIX"]
        crawled = MeasuredFleet(live_fleet, servers, prefix, corner["GOSSAMER_CASSANDRA__KEYSPACE"])
        name, begin = f"{count} of each, {'with' if text else 'without'} text", live_fleet.seed
        if crawls:
            paths = write_crawls(web.truth.required, crawls, Path(folder))
            name, begin = f"{crawls} crawls", partial(apply_crawls, live_fleet, paths)
        measured = crawled.crawl(name, begin)
        if idle:
            crawled.wait(measured, idle)
        return measured


def crawl_in_folder(world: World, text: bool) -> Cost:
    """Crawl *world* in a folder."""
    name = f"in a folder, {'with' if text else 'without'} text"
    with tempfile.TemporaryDirectory() as folder, SynthWeb(world) as web:
        crawl, spent = Crawl(web, Path(folder) / "data", DELAY), Counts()
        began = time.monotonic()
        with crawl.start(*([] if text else ["--no-text"])) as started:
            while started.running:
                spent["all"] = max(spent.get("all", 0.0), cpu(marked_pids(started.mark)))
                time.sleep(LOOK)
        took = time.monotonic() - began
        pages = sum(map(is_page, web.requests()))
        return Cost(name, pages, took, cpu=spent)


def show(measured: Cost) -> None:
    """Print a crawl's tables."""
    pages = max(measured.pages, 1)
    compiled = measured.cpu.pop(JAVA, 0.0)
    total = 1000 * sum(measured.cpu.values()) / pages
    print(
        f"\n{measured.name}: {measured.pages} pages in {measured.took:.1f} s = "
        f"{pages / measured.took:.1f} pages/s, {total:.1f} ms of CPU a page; besides, Java has "
        f"compiled for {compiled:.0f} s"
    )
    if at := measured.visited_at:
        tenths = [f"{at[n * (len(at) - 1) // 10]:.1f}" for n in range(11)]
        print(
            f"  seconds: seeds added after {measured.requested_after:.1f}, pages requested after "
            f"{' '.join(tenths)} (each tenth)"
        )
    _table("CPU, ms a page", measured.cpu, 1000 / pages)
    _table("rows read a page", measured.reads, 1 / pages)
    _table("mutations a page", measured.writes, 1 / pages)
    _table("records a page", measured.records, 1 / pages)
    _table("commits a page", measured.commits, 1 / pages)
    _table("requests to Kafka a page", measured.requests, 1 / pages)
    _table("rows stored a page", measured.stored, 1 / pages)
    _table("memory, MB", measured.memory, 1)
    _table("idle, % of a core", measured.idle_cpu, 1)
    _table("idle, requests to Kafka/s", measured.idle_requests, 1)


def _table(title: str, counts: Counts, by: float) -> None:
    if counts:
        ordered = sorted(counts.items(), key=lambda each: -each[1])
        listed = ", ".join(f"{name} {by * count:.2f}" for name, count in ordered)
        print(f"  {title:26} {by * sum(counts.values()):7.2f}: {listed}", flush=True)


def main() -> None:
    """Crawl with each fleet, and in a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--each", type=int, default=6, help="pages of a host")
    parser.add_argument("--counts", type=int, nargs="*", default=[1, 2], help="of each service")
    parser.add_argument("--texts", nargs="*", choices=("no", "yes"), default=["no", "yes"])
    parser.add_argument("--warm-up", type=int, default=1500, help="pages of the crawl before")
    parser.add_argument("--idle", type=float, default=IDLE, help="seconds to wait afterwards")
    parser.add_argument("--no-folder", action="store_true", help="no crawl in a folder")
    parser.add_argument(
        "--crawls", type=int, default=0, help="compare this number of crawls with one"
    )
    parser.add_argument("--rounds", type=int, default=2, help="comparisons with --crawls")
    options = parser.parse_args()
    # Otherwise the services and servers would go on without it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)

    def world(pages: int) -> World:
        return World.plain(seed=5, hosts=max(3, pages // options.each), pages=options.each)

    os.environ["JDK_JAVA_OPTIONS"] = JAVA_OPTIONS
    with tempfile.TemporaryDirectory() as folder:
        kafka, cassandra = (Server(kind, Path(folder) / kind) for kind in ("kafka", "cassandra"))
        with running(kafka, cassandra), Servers(kafka, cassandra) as servers:
            if options.warm_up:
                crawl_in_fleet(servers, world(options.warm_up), 1, False, 0.0)
            if options.crawls:
                for crawls in (1, options.crawls) * options.rounds:
                    pages = world(options.pages)
                    show(crawl_in_fleet(servers, pages, 1, False, options.idle, crawls))
                return
            for text in options.texts:
                for count in options.counts:
                    show(
                        crawl_in_fleet(
                            servers, world(options.pages), count, text == "yes", options.idle
                        )
                    )
    for text in () if options.no_folder else options.texts:
        show(crawl_in_folder(world(options.pages), text == "yes"))


if __name__ == "__main__":
    main()
