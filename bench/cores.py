"""A fleet on more cores, simulated from the measured costs of a page: pages a second, bottleneck.

    .venv/bin/python -m bench.cores [--cores 1 2 4 8 16 32 64] [--copies 3] [--partitions 48]
        [--sites 100000] [--delay 3.0] [--one-of-each]

Nothing is crawled. Pages pass threads, which handle what waits for them in steps, as the services
do: a step takes CPU time of its thread, then of the servers. Fetchers and parsers do not wait for
the servers. All of them share the cores. A page belongs to a partition, and a partition to one
thread of each service that is keyed by site. Each service has as many instances as its share of the
cores needs, or one with `--one-of-each`. Disks, the network between machines and skewed hosts are
not simulated.

The costs are those of `docs/scale.md`, "A page in a fleet". Replace them after a new measurement.
"""

import argparse
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count
from math import ceil
from random import Random
from typing import NamedTuple


class Cost(NamedTuple):
    """The CPU cost of a page in one service, in milliseconds."""

    own: float
    cassandra: float = 0.0
    is_keyed: bool = True
    """Whether a page must be handled by the owner of its partition."""


COSTS = {
    "fetcher": Cost(2.3, 0.3, is_keyed=False),
    "archive": Cost(1.1, 0.9),
    "parser": Cost(1.0, is_keyed=False),
    "parser's children": Cost(2.3, is_keyed=False),
    "dedup": Cost(4.4, 2.6),
    "frontier": Cost(3.2, 2.9),
}
"""Service → its cost, in the order in which a page passes them. Cassandra's 8.1 ms without the rows
of steps are divided by rows and reads."""
SERVICES = [*COSTS]
KAFKA = 2.0 / len(COSTS)
"""Milliseconds of the brokers for a page, for each service that it passes."""
ROWS_OF_STEP, ROW = 1.8, 0.26
"""Rows that a step writes for each partition in it and each keyed service, and milliseconds of a
node for a row."""
SLICE, PIECE = 10.0, 2.0
"""Milliseconds after which a thread yields its core, and of a server's work on one core."""
STEP_PAGES = 100
LATENCY, RESPONSE = 10.0, 200.0
"""Milliseconds until a record is read by the next service, and until a web server answers."""
SLOTS = 100
"""Pages in flight for each core."""
WARM_UP, MEASURED = 10_000.0, 20_000.0
FULL = 0.95
"""Share of time from which cores, or a thread, count as the limit."""
CORE_OF_INSTANCE = 14.0
"""Cores for one instance of a service that costs a millisecond a page."""


@dataclass
class Thread:
    """An instance of a service."""

    service: str
    waiting: deque[int] = field(default_factory=deque)
    """The partitions of the pages that wait."""
    is_busy: bool = False
    busy: float = 0.0
    """Milliseconds of steps, with the waits for servers and cores."""


class Simulation:
    """A fleet on a number of *cores*."""

    def __init__(self, cores: int, options: argparse.Namespace) -> None:
        self.cores, self.now, self.pages, self.used = cores, 0.0, 0, 0.0
        self._free, self._copies, self._delay = cores, options.copies, options.delay * 1000
        self._runnable = deque[tuple[float, Callable[[], None]]]()
        self._events, self._ids = list[tuple[float, int, Callable[[], None]]](), count()
        self._random, self._partitions = Random(1), options.partitions
        self._ready = [(self._random.random() * self._delay, n) for n in range(options.sites)]
        heapify(self._ready)
        """When each site may be visited again."""
        self.threads = dict[str, list[Thread]]()
        for service, cost in COSTS.items():
            needed = 1 if options.one_of_each else ceil(cores * cost.own / CORE_OF_INSTANCE)
            number = min(needed, options.partitions) if cost.is_keyed else needed
            self.threads[service] = [Thread(service) for _ in range(number)]

    def run(self) -> None:
        """Crawl for the warm-up and the measured time."""
        for _ in range(SLOTS * self.cores):
            self._order()
        is_warm = False
        while self._events and self.now < WARM_UP + MEASURED:
            self.now, _, then = heappop(self._events)
            if not is_warm and self.now > WARM_UP:
                is_warm, self.pages, self.used = True, 0, 0.0
                for thread in [one for threads in self.threads.values() for one in threads]:
                    thread.busy = 0.0
            then()

    def _after(self, wait: float, then: Callable[[], None]) -> None:
        heappush(self._events, (self.now + wait, next(self._ids), then))

    def _order(self) -> None:
        """Visit the next site as soon as its delay is over."""
        ready, site = heappop(self._ready)
        begin = max(ready, self.now)
        heappush(self._ready, (begin + self._delay, site))
        partition = hash((site, "partition of a site")) % self._partitions
        self._after(begin - self.now + RESPONSE, lambda: self._pass_to(0, partition))

    def _pass_to(self, stage: int, partition: int) -> None:
        if stage == len(COSTS):
            self.pages += 1
            self._order()
            return
        service = SERVICES[stage]
        threads, is_keyed = self.threads[service], COSTS[service].is_keyed
        number = partition if is_keyed else self._random.randrange(len(threads))
        thread = threads[number % len(threads)]
        thread.waiting.append(partition)
        self._step(thread, stage)

    def _step(self, thread: Thread, stage: int) -> None:
        if thread.is_busy or not thread.waiting:
            return
        thread.is_busy, began, cost = True, self.now, COSTS[thread.service]
        pages = [thread.waiting.popleft() for _ in range(min(STEP_PAGES, len(thread.waiting)))]
        rows = ROWS_OF_STEP * len({*pages}) if cost.is_keyed else 0.0
        of_servers = self._copies * (len(pages) * (cost.cassandra + KAFKA) + rows * ROW)

        def end_step() -> None:
            thread.is_busy = False
            thread.busy += self.now - max(began, min(self.now, WARM_UP))
            self._step(thread, stage)

        def pass_pages() -> None:
            for partition in pages:
                self._after(LATENCY, partial(self._pass_to, stage + 1, partition))
            if cost.is_keyed:
                end_step()

        def serve() -> None:
            self._serve(of_servers, pass_pages)
            if not cost.is_keyed:
                end_step()

        self._compute(len(pages) * cost.own, serve)

    def _serve(self, duration: float, then: Callable[[], None]) -> None:
        """Let the servers work in parallel pieces."""
        pieces = max(1, round(duration / PIECE))
        left = [pieces]

        def end() -> None:
            left[0] -= 1
            if not left[0]:
                then()

        for _ in range(pieces):
            self._compute(duration / pieces, end)

    def _compute(self, duration: float, then: Callable[[], None]) -> None:
        """Compute on a core for *duration*, a slice at a time."""
        if duration > SLICE:
            self._runnable.append((SLICE, lambda: self._compute(duration - SLICE, then)))
        else:
            self._runnable.append((duration, then))
        self._fill_cores()

    def _fill_cores(self) -> None:
        while self._free and self._runnable:
            duration, then = self._runnable.popleft()
            self._free -= 1
            self.used += duration
            self._after(duration, partial(self._release, then))

    def _release(self, then: Callable[[], None]) -> None:
        self._free += 1
        then()
        self._fill_cores()

    def busiest(self) -> Thread:
        """Return the thread whose steps take the most time."""
        threads = (thread for threads in self.threads.values() for thread in threads)
        return max(threads, key=lambda thread: thread.busy)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--cores", type=int, nargs="*", default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--copies", type=int, default=3, help="of each row and record")
    parser.add_argument("--partitions", type=int, default=48)
    parser.add_argument("--sites", type=int, default=100_000)
    parser.add_argument("--delay", type=float, default=3.0, help="seconds between two visits")
    parser.add_argument("--one-of-each", action="store_true")
    options = parser.parse_args()
    print(
        "cores  pages/s  a core  cores busy  limit      busiest threads: share of time, instances"
    )
    for cores in options.cores:
        simulation = Simulation(cores, options)
        simulation.run()
        rate, busy = 1000 * simulation.pages / MEASURED, simulation.used / MEASURED / cores
        thread = simulation.busiest()
        name, share = thread.service, thread.busy / MEASURED
        limit = "cores" if busy > FULL else name if share > FULL else "sites"
        print(
            f"{cores:5} {rate:8.0f} {rate / cores:7.1f} {busy:11.0%}  {limit:9}  {name} "
            f"{share:.0%} ({len(simulation.threads[name])})",
            flush=True,
        )


if __name__ == "__main__":
    main()
