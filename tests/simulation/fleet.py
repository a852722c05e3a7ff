"""The processes of a simulated fleet: the services' own programs on simulated backends.

The code of `python -m gossamer.services.<name>` runs here unchanged: its retries, loops, log and
store. The simulation replaces the clients of Kafka and Cassandra, the Web, the parser's child
processes, and the disk of dedup, which runs on its own engine and not on Faust.
"""

import asyncio
import logging
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import structlog

import gossamer.services.archive.__main__ as archive_main
import gossamer.services.dedup.__main__ as dedup_main
import gossamer.services.fetcher.__main__ as fetcher_main
import gossamer.services.frontier.__main__ as frontier_main
import gossamer.services.parser.__main__ as parser_main
from gossamer import clock
from gossamer.events import PageParsed
from gossamer.log.kafka.retention import Gap
from gossamer.log.throttling import LIMITS
from gossamer.runtime.backends import open_fleet
from gossamer.runtime.health import Health, ObservedLog
from gossamer.runtime.identity import identify
from gossamer.runtime.process import Backends, retry
from gossamer.runtime.process import Process as ServiceProcess
from gossamer.services.frontier.partition.workbench import Workbench
from gossamer.services.parser.page import parse
from gossamer.services.parser.pool.messages import Request as ParserRequest
from gossamer.services.parser.pool.pool import Rules
from gossamer.settings import Settings
from gossamer.store.cassandra.cql import SELECT_REPLICATION
from tests.simulation.broker import Broker
from tests.simulation.clients import SimAdmin, SimConsumer, SimProducer
from tests.simulation.kernel import Process, Sim
from tests.simulation.loop import run_simulated
from tests.simulation.nodes import Nodes, SimCassandra
from tests.simulation.versions import stand_ins
from tests.simulation.web import SimWeb, Sites
from tests.support.memory_disk import MemoryDisk

MAINS: dict[str, Callable[[Backends], None]] = {
    "frontier": frontier_main.work,
    "fetcher": fetcher_main.work,
    "parser": parser_main.work,
    "archive": archive_main.work,
    "dedup": dedup_main.work,
}
JOIN_INTERVAL = 0.05
BACK_OFF = 5.0
"""Seconds until an orchestrator restarts a process that ended with an error."""


class SimStop:
    """Replaces the `threading.Event` that stops a process."""

    def __init__(self, sim: Sim) -> None:
        self._sim, self._set = sim, False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True

    def wait(self, timeout: float | None = None) -> bool:
        self._sim.wait(timeout)
        return self._set


class SimThread:
    """Replaces `threading.Thread`: a strand of the process that starts it."""

    def __init__(self, sim: Sim, target: Callable[[], None], **_: object) -> None:
        self._sim, self._target, self._is_over = sim, target, False

    def start(self) -> None:
        """Run the target in a strand."""
        self._sim.process.spawn(self._run)

    def _run(self) -> None:
        try:
            self._target()
        finally:
            self._is_over = True

    def join(self) -> None:
        """Return once the target has ended."""
        while not self._is_over:
            self._sim.wait(JOIN_INTERVAL)


class SimPool:
    """Replaces the parser's child processes: the same work, in simulated time."""

    def __init__(self, sim: Sim, *sizes: Any) -> None:
        self._sim = sim

    async def __aenter__(self) -> "SimPool":
        return self

    async def __aexit__(self, *error: object) -> None:
        pass

    def use_rules(self, rules: Rules) -> None:
        assert not rules, "no simulated crawl has rules"

    async def parse(self, request: ParserRequest) -> PageParsed:
        await asyncio.sleep(self._sim.between(0.005, 0.3))
        return parse(request.page, request.options, request.now)


class SimDisk(MemoryDisk):
    """Replaces RocksDB: the map in *folder*, which outlives the process."""

    def __init__(self, fleet: "Fleet", folder: Path, cache: int) -> None:
        super().__init__(fleet.disks[str(folder)])
        self._sim = fleet.sim

    def write(self, rows: Mapping[bytes, bytes | None], dropped: Iterable[bytes] = ()) -> None:
        """Write all, or crash before."""
        self._sim.effect(self._sim.between(0.0001, 0.001))
        super().write(rows, dropped)


class Fleet:
    """All processes, and their backends."""

    def __init__(self, sim: Sim, broker: Broker, nodes: Nodes, sites: Sites, folder: Path) -> None:
        self.sim, self.broker, self.nodes, self.sites, self.folder = (
            sim, broker, nodes, sites, folder,
        )  # fmt: skip
        self.settings: dict[str, dict[str, Any]] = {}
        self.running: dict[str, Process] = {}
        self.stops: dict[str, SimStop] = {}
        self.wanted: set[str] = set()
        self.skews: dict[str, float] = {}
        self.disks: defaultdict[str, dict[bytes, bytes]] = defaultdict(dict)
        """The disks of all dedups, by folder."""
        self.newer: set[str] = set()
        """The processes of a newer version."""
        self.exits: list[tuple[float, str, int]] = []
        self.gaps: list[str] = []
        """Reports of missing records, by the processes."""
        self.benches: list[Workbench] = []
        """The workbenches of all frontiers, past ones included."""
        self.steps: list[tuple[str, float]] = []
        """Process and seconds of each step of a loop, without the time in which the process was
        stopped."""

    @property
    def is_newer(self) -> bool:
        """Whether the current process is of the newer version."""
        return self.sim.current is not None and self.sim.process.name in self.newer

    def start(self, name: str) -> None:
        """Start the process *name*, for example `frontier-1`. Its orchestrator restarts it."""
        self.wanted.add(name)
        if name in self.running and not self.running[name].dead:
            return
        process = Process(self.sim, name, self.skews.get(name, 0.0))
        self.running[name] = process
        self.stops[name] = SimStop(self.sim)
        process.spawn(partial(self._main, process, name))

    def kill(self, name: str, away: float) -> None:
        """Kill *name*. It is restarted after *away* seconds."""
        process = self.running.get(name)
        if process and not process.dead:
            process.kill()
        self.sim.later(away, self._again, name)

    def _again(self, name: str) -> None:
        if name in self.wanted:
            self.start(name)

    def die_soon(self, name: str, effects: int, away: float) -> None:
        """Let *name* crash after that number of effects."""
        process = self.running.get(name)
        if process and not process.dead:
            process.die_after(effects)
            process.at_death.append(lambda: self.sim.later(away, self._again, name))

    def note_step(self, metric: str, seconds: float, **labels: str) -> None:
        """Record the duration of a step that ends now, as the loop reports it to its *metric*."""
        process, began = self.sim.process, self.sim.now - seconds
        self.steps.append((process.name, seconds - process.frozen_since(began)))

    def remove(self, name: str) -> None:
        """Stop *name* gracefully, for good."""
        self.wanted.discard(name)
        if name in self.stops:
            self.stops[name].set()

    def _main(self, process: Process, name: str) -> None:
        service, _, instance = name.partition("-")
        settings = Settings.model_validate(
            {**self.settings, "service": {"instance": f"{service}-{instance}"}}
        )
        process_of = ServiceProcess(service, settings, Health(service, name), self.stops[name])  # type: ignore[arg-type]
        work = MAINS[service]

        def attempt() -> None:
            with open_fleet(settings, process_of.member) as (log, store):
                try:
                    fleet = identify(log, store, clock.now())
                    work(Backends(process_of, ObservedLog(log, process_of.health), store, fleet))
                except Gap as gap:
                    self.gaps.append(str(gap))
                    raise

        code = retry(process_of, attempt)
        process.kill()
        # A removed process may have been added again while it stopped.
        if code or not self.stops[name].is_set():
            self.exits.append((self.sim.now, name, code))
        self.sim.later(BACK_OFF, self._again, name)


PACE: dict[str, object] = {
    # Intervals are long enough for a fast run and short enough for a short one.
    "gossamer.runtime.concurrent.IDLE_WAIT": 2.0,
    "gossamer.runtime.concurrent.IDLE_POLL": 2.0,
    "gossamer.runtime.loop.HOLD_INTERVAL": 10.0,
    "gossamer.log.throttling.LIMITS": dict.fromkeys(LIMITS, 5),
    "gossamer.log.kafka.retention.TRIM_INTERVAL": 20.0,
    "gossamer.runtime.loop.PAUSED_POLL_TIMEOUT": 1.0,
    "gossamer.runtime.quiescing.POLL_INTERVAL": 0.01,
    "gossamer.runtime.concurrent.STOP_INTERVAL": 5.0,
    "gossamer.services.frontier.partition.politeness.RETRY_WAIT": 20.0,
    "gossamer.services.frontier.partition.politeness.SHORT_WAIT": 10.0,
    # Sites may move at any time.
    "gossamer.services.frontier.choice.dispatch.MAX_LOAD_FACTOR": 1.0,
    "gossamer.services.frontier.choice.dispatch.MAX_EXTRA_ORDERS": 0,
}

TURNS = (
    "gossamer.runtime.process.POLL_TIMEOUT",
    "gossamer.log.kafka.reader.MAX_WAIT",
    "gossamer.log.kafka.log.MAX_WAIT",
)


def _stand_ins(fleet: Fleet) -> dict[str, object]:
    """Return the replacements of clocks, clients and the Web."""
    sim, broker = fleet.sim, fleet.broker
    consumer = partial(SimConsumer, broker)

    def bench(*given: Any) -> Workbench:
        fleet.benches.append(Workbench(*given))
        return fleet.benches[-1]

    return {
        **stand_ins(fleet),
        "gossamer.clock.now": sim.clock,
        "gossamer.clock.steady": lambda: sim.now,
        "gossamer.clock.pause": sim.wait,
        "gossamer.runtime.loop.observe": fleet.note_step,
        "gossamer.log.kafka.log.Consumer": consumer,
        "gossamer.log.kafka.log.AdminClient": partial(SimAdmin, broker),
        "gossamer.log.kafka.log.Producer": partial(SimProducer, broker),
        "gossamer.log.kafka.reader.GroupConsumer": consumer,
        "gossamer.log.kafka.reader.Thread": partial(SimThread, sim),
        "gossamer.log.kafka.client.AdminClient": partial(SimAdmin, broker),
        "gossamer.log.kafka.topics.AdminClient": partial(SimAdmin, broker),
        "gossamer.log.kafka.retention.AdminClient": partial(SimAdmin, broker),
        "gossamer.log.kafka.retention.Consumer": consumer,
        "gossamer.store.cassandra.store.Cassandra": partial(_session, fleet.nodes),
        "gossamer.store.cassandra.store.read_tables": lambda *_: {},
        "gossamer.store.cassandra.store.table_problems": lambda *_: [],
        "gossamer.runtime.concurrent.asyncio.run": lambda main: run_simulated(sim, lambda: main),
        "gossamer.services.frontier.partition.partition.Workbench": bench,
        "gossamer.services.dedup.rocksdb.RocksDisk": partial(SimDisk, fleet),
        "gossamer.services.fetcher.wiring.Web": partial(SimWeb, fleet.sites),
        "gossamer.services.parser.wiring.Pool": partial(SimPool, sim),
        "gossamer.services.parser.wiring.os.cpu_count": lambda: 2,
        "gossamer.services.archive.segments.os.fsync": lambda handle: None,
    }


@contextmanager
def replace_backends(fleet: Fleet, turn: float) -> Iterator[None]:
    """Replace the backends of the services by the simulation.

    Services wait up to *turn* seconds for records before they check anything else.
    """
    with ExitStack() as stack:
        turns = dict.fromkeys(TURNS, turn)
        for target, value in {**PACE, **turns, **_stand_ins(fleet)}.items():
            stack.enter_context(mock.patch(target, value))
        yield


@contextmanager
def log_to(show: Callable[[str], None] | None) -> Iterator[None]:
    """Pass *show* each log line with the process's own time; None: drop the lines."""

    def line(logger: Any, method: str, event: Any) -> Any:
        sim = getattr(clock.now, "__self__", None)
        name = sim.process.name if sim and sim.current else "-"
        if show is not None:
            show(f"{clock.now():.2f} {name} {method} {event}")
            if event.get("exc_info"):
                show(traceback.format_exc())
        raise structlog.DropEvent

    before = structlog.get_config()
    level = logging.NOTSET if show else logging.CRITICAL
    wrapper = structlog.make_filtering_bound_logger(level)
    structlog.configure(processors=[line], wrapper_class=wrapper)
    try:
        yield
    finally:
        structlog.configure(**before)


def _session(nodes: Nodes, settings: Any) -> SimCassandra:
    session = SimCassandra(nodes, settings.keyspace, settings)
    session.answers[SELECT_REPLICATION] = [({"class": "Simple", settings.datacenter: "3"},)]
    return session
