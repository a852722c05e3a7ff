"""A fleet's dedup and frontier as their crawl grows: URLs admitted a CPU second, memory, disk.

    .venv/bin/python -m bench.scale_fleet [--urls 1000000] [--hosts 200000]

One of each, Faust and Cassandra and Kafka beside them, with one copy of everything; the links are
those of `bench.scale`. The crawl stands still: nothing is ordered. CPU is what each process uses
until all that was found is admitted, without the compilers of Java, which end some day.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from bench.fleet import FIXED, JAVA, LOOK, Counts, Crawled, since
from bench.fleet_servers import Servers
from bench.scale import AT_A_TIME, discovered
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
PATIENCE = 1800.0
"""Seconds until so much should be admitted."""


class Grown(NamedTuple):
    """A crawl, some URLs further on."""

    urls: int
    more: int
    """Of them, those that came since the time before."""
    cpu: Counts
    """Seconds since the time before, by process."""
    memory: Counts
    """MiB, of the services."""
    disk: Counts
    """Bytes: of Cassandra's data, of dedup's folder."""


def grow(there: Fleet, servers: Servers, corner: dict[str, str], data: Path, urls: int,
         hosts: int) -> Iterator[Grown]:  # fmt: skip
    """Let about so many URLs be found; yield how it goes."""
    prefix = corner["GOSSAMER_KAFKA__PREFIX"]
    crawled = Crawled(there, servers, prefix, corner["GOSSAMER_CASSANDRA__KEYSPACE"])
    log = KafkaLog(KafkaSettings(servers=servers.kafka, prefix=prefix))
    events, total, step = discovered(urls, hosts, one_site=False), 0, FIRST
    while True:
        spent, more = crawled.spent(), 0
        while more < step and (some := [*islice(events, AT_A_TIME)]):
            log.append([encode(event) for event in some])
            more += _urls_of(some)
        if not more:
            return
        # How far they are behind is told every few seconds.
        until(lambda: any(there.lag().values()), "that so many URLs are met", PATIENCE)
        until(lambda: _is_admitted(there), f"admission of {more} URLs", PATIENCE)
        total += more
        yield Grown(
            total,
            more,
            since(spent, crawled.spent()),
            {name: _resident(pids) for name, pids in crawled.pids().items() if name in SERVICES},
            {"Cassandra": _size(data), "dedup": _size(there.folder / "dedup")},
        )
        step = max(FIRST, total // 2)


def _urls_of(events: list[UrlsDiscovered]) -> int:
    return sum(len(event.urls) for event in events)


def _is_admitted(there: Fleet) -> bool:
    # To be asked costs them something, too.
    time.sleep(LOOK)
    lag = there.lag()
    return bool(lag) and not any(lag.values())


def _resident(pids: list[int]) -> float:
    pages = sum(int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids)
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _size(folder: Path) -> float:
    return float(sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()))


def show(grown: Grown) -> None:
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
    """Print how the crawl grows."""
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
        there = Fleet(web, Path(folder), **settings)
        try:
            for job in ("topics", "store"):
                assert there.gossamer(job, "apply").code == 0
            there.seed()
            for service in SERVICES:
                there.add(service, 1)
            there.await_ready()
            done = there.gossamer("speed", "0")
            assert done.code == 0, done
            for grown in grow(there, servers, corner, cassandra.data, urls, hosts):
                show(grown)
        finally:
            there.down()


def main() -> None:
    """Start the servers, and grow."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=1_000_000)
    parser.add_argument("--hosts", type=int, default=200_000)
    given = parser.parse_args()
    os.environ["JDK_JAVA_OPTIONS"] = FIXED
    with tempfile.TemporaryDirectory() as folder:
        kafka, cassandra = (Server(kind, Path(folder) / kind) for kind in ("kafka", "cassandra"))
        with running(kafka, cassandra), Servers(kafka, cassandra) as servers:
            bench(kafka, cassandra, servers, given.urls, given.hosts)


if __name__ == "__main__":
    main()
