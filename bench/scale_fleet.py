"""Growth of a fleet's dedup and frontier: URLs admitted a CPU second, memory, disk.

    .venv/bin/python -m bench.scale_fleet [--urls 1000000] [--hosts 200000]

There is one instance of each, on Cassandra and Kafka, with one copy of all data. The links
are those of `bench.scale`. The crawl is paused: nothing is ordered. CPU is that of each process
until all discovered URLs are admitted, without Java's compilers, which stop some time.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from bench.fleet import JAVA, JAVA_OPTIONS, LOOK, Counts, MeasuredFleet, Servers, since
from bench.scale import EVENTS_PER_APPEND, discovered_links
from gossamer.events import UrlsDiscovered
from gossamer.log.codec import encode
from gossamer.log.kafka.log import KafkaLog
from gossamer.settings.servers import KafkaSettings
from tests.servers import Server, running
from tests.support.waiting import until
from tests.synthweb import SynthWeb, World
from tests.system.by_hand import of_servers
from tests.system.fleet import Fleet

SERVICES = ("dedup", "frontier")
FIRST = 100_000
ADMISSION_TIMEOUT = 1800.0
"""Seconds in which a step of the growth must be admitted."""


class GrowthRow(NamedTuple):
    """A crawl at some number of URLs."""

    urls: int
    more: int
    """URLs since the previous row."""
    cpu: Counts
    """CPU seconds since the previous row, by process."""
    memory: Counts
    """MiB of the services."""
    disk: Counts
    """Bytes of Cassandra's data, and of dedup's folder."""


def grow(live_fleet: Fleet, servers: Servers, corner: dict[str, str], data: Path, urls: int,
         hosts: int) -> Iterator[GrowthRow]:  # fmt: skip
    """Discover URLs in steps; yield a row for each."""
    prefix = corner["GOSSAMER_KAFKA__PREFIX"]
    crawled = MeasuredFleet(live_fleet, servers, prefix, corner["GOSSAMER_CASSANDRA__KEYSPACE"])
    log = KafkaLog(KafkaSettings(servers=servers.kafka, prefix=prefix))
    events, total, step = discovered_links(urls, hosts, one_site=False), 0, FIRST
    while True:
        spent, more = crawled.spent(), 0
        while more < step and (some := [*islice(events, EVENTS_PER_APPEND)]):
            log.append([encode(event) for event in some])
            more += _urls_of(some)
        if not more:
            return
        # Lags are updated every few seconds.
        until(
            lambda: any(live_fleet.lag().values()), "a lag after the new links", ADMISSION_TIMEOUT
        )
        until(lambda: _is_admitted(live_fleet), f"admission of {more} URLs", ADMISSION_TIMEOUT)
        total += more
        yield GrowthRow(
            total,
            more,
            since(spent, crawled.spent()),
            {name: _resident(pids) for name, pids in crawled.pids().items() if name in SERVICES},
            {"Cassandra": _size(data), "dedup": _size(live_fleet.folder / "dedup")},
        )
        step = max(FIRST, total // 2)


def _urls_of(events: list[UrlsDiscovered]) -> int:
    return sum(len(event.urls) for event in events)


def _is_admitted(live_fleet: Fleet) -> bool:
    # Requests for metrics cost CPU as well.
    time.sleep(LOOK)
    lag = live_fleet.lag()
    return bool(lag) and not any(lag.values())


def _resident(pids: list[int]) -> float:
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _size(folder: Path) -> float:
    return float(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()))


def show(grown: GrowthRow) -> None:
    """Print a line."""
    used = {name: seconds for name, seconds in grown.cpu.items() if name != JAVA}
    each = ", ".join(f"{name} {1e6 * seconds / grown.more:.0f}" for name, seconds in used.items())
    memory = ", ".join(f"{name} {size:.0f}" for name, size in grown.memory.items())
    disk = ", ".join(f"{name} {size / grown.urls:.0f}" for name, size in grown.disk.items())
    print(
        f"{grown.urls:10,} URLs: {grown.more / sum(used.values()):6,.0f} a CPU second "
        f"(us each: {each}); MiB: {memory}; bytes on disk a URL: {disk}",
        flush=True,
    )


def bench(kafka: Server, cassandra: Server, servers: Servers, urls: int, hosts: int) -> None:
    """Print the growth."""
    corner = of_servers(servers.kafka, servers.cassandra_port)
    settings = {
        **corner,
        "GOSSAMER_FRONTIER__URL_BUDGET": str(urls),
        "GOSSAMER_FRONTIER__HOST_BUDGET": str(hosts),
        "GOSSAMER_LOGS__LEVEL": "warning",
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        SynthWeb(World.plain(seed=1, hosts=3, pages=1)) as web,
    ):
        live_fleet = Fleet(web, Path(folder), **settings)
        try:
            for job in ("topics", "store"):
                assert live_fleet.gossamer(job, "apply").code == 0
            live_fleet.seed()
            for service in SERVICES:
                live_fleet.add(service, 1)
            live_fleet.await_ready()
            done = live_fleet.gossamer("speed", "0")
            assert done.code == 0, done
            for grown in grow(live_fleet, servers, corner, cassandra.data, urls, hosts):
                show(grown)
        finally:
            live_fleet.down()


def main() -> None:
    """Start the servers, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=200_000)
    given = parser.parse_args()
    os.environ["JDK_JAVA_OPTIONS"] = JAVA_OPTIONS
    with tempfile.TemporaryDirectory() as folder:
        kafka, cassandra = (Server(kind, Path(folder) / kind) for kind in ("kafka", "cassandra"))
        with running(kafka, cassandra), Servers(kafka, cassandra) as servers:
            bench(kafka, cassandra, servers, given.urls, given.hosts)


if __name__ == "__main__":
    main()
