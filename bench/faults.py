"""Faults during a crawl, one after another, and their effects at its web server.

    sudo .venv/bin/python -m bench.faults [--duration 3600] [--interval 20] [--instances 3]
    .venv/bin/python -m bench.faults --embedded [--kills 200]

The first command runs three brokers and three Cassandra nodes in network namespaces, each on a
small disk of its own, and `--instances` instances of each service. Processes and nodes are killed,
stopped, cut off, slowed, run out of disk, and have clocks that are ten minutes ahead. The second
command kills one embedded crawl at random times. After each fault all promises are checked on the
web server's record.

In the table, `silent` is the longest time without a page from the fault until work continues;
`ended` counts processes that stopped by themselves and were restarted, as an orchestrator does.
"""

import argparse
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.servers.clocks import ahead_by
from tests.servers.disks import Disk, mount_disk
from tests.servers.nodes import KINDS, Node, Nodes, three_of_each
from tests.support.waiting import until
from tests.synthweb import SynthWeb, Truth, World, measure
from tests.synthweb.record import Request
from tests.system.assertions import CLOCKS, page_answers
from tests.system.crawl import Crawl
from tests.system.fleet import SERVICES, Fleet, Member, assert_whole, crawl_to_the_end, fleet
from tests.system.kills import assert_as_if_never_killed, kill_crawl, split_by_runs

DELAY = 1.0
SETTINGS = {
    "GOSSAMER_FRONTIER__BATCH": "3",
    "GOSSAMER_FRONTIER__LEASE_SLACK": "2",
    "GOSSAMER_FETCHER__VISIT_LIMIT": "4",
    "GOSSAMER_FRONTIER__DELAY": str(DELAY),
}
LEASE = 2.0 + 3 * (DELAY + 4.0)
"""Seconds after which an unanswered order expires."""
HOSTS = 8
TEN_MINUTES = 600
NODE_DISK, ARCHIVE_DISK = 2048, 512
"""Megabytes."""
SEEN = 10
"""Pages after which work counts as continued."""


@dataclass(frozen=True)
class Fault:
    """A fault, and its end after *held* seconds."""

    name: str
    harm: Callable[[], None]
    cure: Callable[[], None] = lambda: None
    held: float = 0.0


class Faults:
    """All faults of a fleet and its nodes."""

    def __init__(
        self,
        live_fleet: Fleet,
        nodes: Nodes,
        disks: dict[str, Disk],
        chance: random.Random,
        held: float,
    ) -> None:
        self._fleet, self._nodes, self._disks = live_fleet, nodes, disks
        self._chance, self._held = chance, held

    def all(self) -> list[Fault]:
        """Return one fault of each kind in random order, each at a random process or node."""
        found = [fault for service in SERVICES for fault in self._of_service(service)]
        for kind in self._nodes.of:
            found += self._of_node(kind)
        full = self._disks["archive"]
        found.append(Fault("archives' disk full", full.fill, full.free, self._held))
        self._chance.shuffle(found)
        return found

    def _of_service(self, service: str) -> list[Fault]:
        member = self._chance.choice(self._fleet.of(service))
        wrong = ahead_by(TEN_MINUTES, self._fleet.folder)

        def restart() -> None:
            member.kill()
            member.start()

        def restart_with_wrong_clock() -> None:
            member.kill()
            member.start(**wrong)
            # The effect of its clock shows once it works.
            until(lambda: member.get("/readyz")[0] == 200 or not member.running, "its readiness")

        return [
            Fault(f"{service}: kill -9", restart),
            Fault(f"{service}: clock ahead", restart_with_wrong_clock, restart, self._held),
            self._stop(member),
        ]

    def _stop(self, member: Member) -> Fault:
        return Fault(
            f"{member.service}: stopped",
            lambda: member.signal(signal.SIGSTOP),
            lambda: member.signal(signal.SIGCONT),
            LEASE + 5.0,
        )

    def _of_node(self, kind: str) -> list[Fault]:
        node, other = self._chance.sample(self._nodes.of[kind], 2)
        disk = self._disks[node.name]
        wrong = ahead_by(TEN_MINUTES, self._fleet.folder)
        both = (node, other)

        def free_disk() -> None:
            disk.free()
            node.restart()

        return [
            Fault(f"{kind}: kill -9", node.restart),
            Fault(f"{kind}: stopped", node.stop, node.go_on, self._held),
            Fault(f"{kind}: slow", node.slow_down, node.speed_up, self._held),
            Fault(f"{kind}: cut off", node.cut, node.heal, self._held),
            Fault(f"{kind}: two cut off", each(both, Node.cut), each(both, Node.heal), self._held),
            Fault(f"{kind}: clock ahead", lambda: node.restart(**wrong), node.restart, self._held),
            Fault(f"{kind}: disk full", disk.fill, free_disk, self._held),
        ]


def each(nodes: tuple[Node, ...], do: Callable[[Node], None]) -> Callable[[], None]:
    """Return a function that applies a fault to all nodes."""

    def all_of_them() -> None:
        for node in nodes:
            do(node)

    return all_of_them


class FaultRunner:
    """Applies faults to a fleet, and prints a line of the table for each."""

    def __init__(self, live_fleet: Fleet, interval: float) -> None:
        self._fleet, self._interval = live_fleet, interval
        self._repeated = self._broken = 0
        print(f"{'fault':24}{'held':>6}{'silent':>8}{'repeated':>10}{'broken':>8}{'ended':>7}")

    def over(self) -> bool:
        """Return whether all URLs were requested."""
        web = self._fleet.web
        return web.truth.required <= measure.requested_urls(web.requests())

    def suffer(self, fault: Fault) -> None:
        """Apply and end the fault; wait until work continues and the interval is over."""
        began = time.time()
        fault.harm()
        time.sleep(fault.held)
        fault.cure()
        cured = time.time()
        ended = [member for member in self._fleet.members if not member.running]
        for member in ended:
            member.start()
        required_count = len(page_answers(self._fleet.web)) + SEEN
        until(lambda: self._is_working(required_count), f"work after {fault.name}", 600.0)
        silent = silence(page_answers(self._fleet.web), began)
        self._print(fault, cured - began, silent, len(ended))
        time.sleep(max(0.0, began + self._interval - time.time()))

    def _is_working(self, required_count: int) -> bool:
        time.sleep(0.5)
        return len(page_answers(self._fleet.web)) >= required_count or self.over()

    def _print(self, fault: Fault, held: float, silent: float, ended: int) -> None:
        requests, truth = self._fleet.web.requests(), self._fleet.web.truth
        repeated, broken = repeats(requests, truth), violations(requests, truth)
        print(
            f"{fault.name:24}{held:6.0f}{silent:8.1f}{repeated - self._repeated:10}"
            f"{broken - self._broken:8}{ended:7}   load {os.getloadavg()[0]:.0f}",
            flush=True,
        )
        self._repeated, self._broken = repeated, broken


def silence(pages: list[Request], since: float) -> float:
    """Return the longest time without a page since *since*."""
    times = [since, *(page.at for page in pages if page.at > since)]
    return max((later - earlier for earlier, later in pairwise(times)), default=0.0)


def repeats(requests: list[Request], truth: Truth) -> int:
    """Return the number of repeated requests."""
    repeated = measure.repeated_requests(requests)
    return sum(times - 1 for url, times in repeated.items() if url not in truth.retried)


def violations(requests: list[Request], truth: Truth) -> int:
    """Return the number of requests that broke a delay or were not required."""
    early = sum(
        later.at - earlier.at < max(DELAY, truth.delays.get(host, 0.0)) - CLOCKS
        for host, own in measure.by_host(requests).items()
        for earlier, later in pairwise(own)
    )
    wrong = measure.forbidden_requests(requests, truth) | measure.unlinked_requests(requests, truth)
    return early + len(measure.overlaps(requests)) + len(wrong)


def crawl_in_fleet(
    duration: float, interval: float, instances: int, seed: int, folder: Path
) -> None:
    """Crawl on three nodes of each kind; raise AssertionError if a promise is broken."""
    pages = max(60, int(0.7 * duration / DELAY))
    world = World(
        seed=seed, hosts=HOSTS, pages=pages, silent=0, stuck=0, retries=0, delays=0, jitter=0.05
    )
    with ExitStack() as stack:
        folders = [*(f"{kind}-{n}" for kind in KINDS for n in (1, 2, 3)), "warc"]
        sizes = {"warc": ARCHIVE_DISK}
        disks = {
            name: stack.enter_context(mount_disk(folder / name, sizes.get(name, NODE_DISK)))
            for name in folders
        }
        disks["archive"] = disks.pop("warc")
        nodes = stack.enter_context(three_of_each(folder, *KINDS))
        web = stack.enter_context(SynthWeb(world))
        settings = {**nodes.settings(), **SETTINGS}
        live_fleet = stack.enter_context(fleet(web, folder, instances, **settings))
        live_fleet.seed()
        until(lambda: len(page_answers(web)) >= SEEN, "the first pages")
        faults = Faults(live_fleet, nodes, disks, random.Random(seed), 0.75 * interval)
        suffer_all(FaultRunner(live_fleet, interval), faults, duration)
        crawl_to_the_end(live_fleet)
        print(f"{len(page_answers(web))} pages, all published", flush=True)
        print(f"{assert_whole(live_fleet, DELAY)} requests repeated, no promise broken")


def suffer_all(sufferer: FaultRunner, faults: Faults, duration: float) -> None:
    """Apply all faults repeatedly until *duration* is over or the crawl is finished."""
    until_ = time.monotonic() + duration
    while True:
        for fault in faults.all():
            if time.monotonic() > until_ or sufferer.over():
                return
            sufferer.suffer(fault)


def crawl_embedded(kills: int, seed: int, folder: Path) -> None:
    """Kill one crawl *kills* times, then let it finish; raise AssertionError if a promise is
    broken."""
    chance = random.Random(seed)
    world = World(seed=13, hosts=40, pages=max(8, kills), silent=0, stuck=0, jitter=0.1)
    with SynthWeb(world) as web:
        crawl = Crawl(web, folder / "data", 0.25)
        times = []
        for number in range(kills):
            times.append(kill_crawl(crawl, chance, group=number % 2 == 0))
            if number % 10 == 9:
                request_count = len(web.requests())
                load = os.getloadavg()[0]
                print(f"{number + 1} kills, {request_count} requests, load {load:.0f}", flush=True)
        last = crawl.run()
        requests, truth = web.requests(), web.truth
        met = sum(bool(run) for run in split_by_runs(requests, times)[:-1])
        repeated = repeats(requests, truth)
        print(f"{len(requests)} requests, {repeated} repeated; {met} of {kills} kills met requests")
        assert_as_if_never_killed(crawl, last, times)
        print("no promise broken")


def main() -> None:
    """Apply faults, and check the promises."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--duration", type=float, default=3600.0, help="seconds")
    parser.add_argument("--interval", type=float, default=20.0, help="seconds from fault to fault")
    parser.add_argument("--instances", type=int, default=3, help="of each service")
    parser.add_argument("--embedded", action="store_true", help="one crawl in one folder, killed")
    parser.add_argument("--kills", type=int, default=200, help="of the embedded crawl")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of faults")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep logs and data there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        if options.embedded:
            crawl_embedded(options.kills, options.seed, folder)
        else:
            crawl_in_fleet(
                options.duration, options.interval, options.instances, options.seed, folder
            )


if __name__ == "__main__":
    main()
