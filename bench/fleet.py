"""Pages a second and CPU by service: the same web crawled embedded and by a fleet of one of each.

    .venv/bin/python -m bench.fleet [--hosts 600] [--pages 6] [--text]

Both run one after the other on this machine, the synthetic web and the servers beside them, so
that only the ratio says something.
"""

import argparse
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tests.servers import Server, running
from tests.support.waiting import until
from tests.synthweb import SynthWeb, World
from tests.system.by_hand import of_servers
from tests.system.crawl import Crawl, marked
from tests.system.fleet import SERVICES, fleet

TICKS = os.sysconf("SC_CLK_TCK")
DELAY = 0.05
Spent = dict[str, float]


def cpu(pids: Iterable[int]) -> float:
    """Return the CPU seconds of processes that are alive, and of their children that are not."""
    total = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / TICKS
    return total


def family(pid: int) -> list[int]:
    """Return *pid* and all its descendants."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(each for child in children for each in family(int(child)))]


def command_of(pid: int) -> str:
    """Return how a process of the embedded crawl was started, in a word."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
    return "parser children" if "services.parser.pool.child" in line else "standalone"


def embedded(world: World, folder: Path, options: list[str]) -> tuple[int, float, Spent]:
    """Return pages, seconds and CPU seconds of a crawl in one folder."""
    with SynthWeb(world) as web:
        crawl, spent = Crawl(web, folder / "data", DELAY), Spent()
        began = time.monotonic()
        with crawl.start(*options) as started:
            while started.running:
                by_kind: dict[str, float] = defaultdict(float)
                for pid in marked(started.mark):
                    by_kind[command_of(pid)] += cpu([pid])
                spent.update({kind: max(spent.get(kind, 0.0), s) for kind, s in by_kind.items()})
                time.sleep(0.2)
            took = time.monotonic() - began
        return len(crawl.pages()), took, spent


def in_a_fleet(world: World, folder: Path, settings: dict[str, str]) -> tuple[int, float, Spent]:
    """Return pages, seconds and CPU seconds of the same crawl by one of each service."""
    began = time.monotonic()
    kafka, cassandra = (Server(kind, folder / kind) for kind in ("kafka", "cassandra"))
    servers = of_servers(f"127.0.0.1:{kafka.port}", cassandra.port)
    with (
        running(kafka, cassandra),
        SynthWeb(world) as web,
        fleet(web, folder, 1, **servers, **settings) as there,
    ):
        print(f"the fleet was ready after {time.monotonic() - began:.1f} s")
        processes = {member.service: member.process for member in there.members}
        processes |= {"Kafka": kafka.process, "Cassandra": cassandra.process}
        pids = {name: family(process.pid) for name, process in processes.items() if process}
        before = {name: cpu(own) for name, own in pids.items()}
        began = time.monotonic()
        there.seed()
        until(lambda: web.truth.required <= {r.url for r in web.requests()}, "all requests")
        until(lambda: not any(there.lag().values()), "the end of all topics")
        took = time.monotonic() - began
        spent = {name: cpu(own) - before[name] for name, own in pids.items()}
        return len(there.pages()), took, spent


def show(name: str, measured: tuple[int, float, Spent]) -> None:
    """Print one crawl's figures."""
    pages, took, spent = measured
    print(f"{name}: {pages} pages in {took:.1f} s = {pages / took:.0f} pages/s")
    for kind, seconds in sorted(spent.items()):
        print(f"  {kind:16} {1000 * seconds / max(pages, 1):6.2f} CPU s per 1,000 pages")


def main() -> None:
    """Crawl twice, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=600)
    parser.add_argument("--pages", type=int, default=6)
    parser.add_argument("--text", action="store_true", help="with main text")
    given = parser.parse_args()
    world = World.plain(seed=5, hosts=given.hosts, pages=given.pages)
    settings = {
        "GOSSAMER_FRONTIER__DELAY": str(DELAY),
        "GOSSAMER_PARSER__TEXT": str(given.text).lower(),
        "GOSSAMER_LOGS__LEVEL": "warning",
    }
    with tempfile.TemporaryDirectory() as folder:
        alone = embedded(world, Path(folder) / "a", [] if given.text else ["--no-text"])
        show("embedded", alone)
        many = in_a_fleet(world, Path(folder) / "b", settings)
        show("fleet", many)
    ratio = (many[0] / many[1]) / (alone[0] / alone[1])
    print(f"the fleet is {ratio:.2f} times as fast ({len(SERVICES)} services, two servers)")


if __name__ == "__main__":
    main()
