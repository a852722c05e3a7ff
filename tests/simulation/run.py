"""The run of one seed: a world, a fleet, harms, and the promises that must hold."""

import gc
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gossamer.events import DEFAULT_CRAWL, CrawlDefined, Event, SeedAdded
from gossamer.events.topics import TOPICS
from gossamer.log import partition_of
from gossamer.log.codec import encode
from gossamer.services.fetcher.rate_limits import EVERY_ADDRESS, AddressSlot
from gossamer.services.frontier.partition.politeness import MAX_RETURNED_ORDER_DELAY
from gossamer.settings import FrontierSettings, Settings
from gossamer.settings.servers import ServiceSettings
from gossamer.web.url import host_key
from tests.simulation import promises
from tests.simulation.broker import Broker
from tests.simulation.crawls import SHARE_FOR, Crawl, Key, make_crawls
from tests.simulation.fleet import Fleet, log_to, replace_backends
from tests.simulation.harms import (
    FETCHERS_ALONE,
    HARMS,
    MILD,
    NAMED_HARMS,
    REPARTITIONING,
    RESTORES,
    SKEW,
    SLOW_FOR,
    SLOWING,
)
from tests.simulation.kernel import START, Sim
from tests.simulation.nodes import Nodes
from tests.simulation.operators import ACTIONS, Deleted, Instruction, check_gaps, check_instructions
from tests.simulation.scenarios import scenario_of
from tests.simulation.web import change, make_sites

PARTITIONS, SESSION = 4, 6.0
SERVICE = ServiceSettings()
INSTANCES = {"frontier": 3, "fetcher": 3, "parser": 2, "dedup": 2, "archive": 2}
"""The maximum number of instances of each service."""
HARM_ENDS = 100.0
DEADLINE = 2 * 3600.0
"""Seconds after which every crawl must have finished."""
CPU_LIMIT = 200.0
"""Seconds of CPU that a run may take; most take half a second."""
MAX_FAILED_PROCESSES = 30
"""The number of processes that end with errors after which the run is aborted."""
PAGE_OUTCOMES = ("page", "redirect", "not_modified")
"""The outcomes of pages whose links are known."""
MAX_REPORTED = 12
"""Maximum number of broken promises in a report."""
IDLE_CHECK_INTERVAL, MEMORY_CHECK_INTERVAL = 15.0, 2.0
SETTLE_SECONDS = 30.0
MAX_REBALANCE = 20.0
"""Maximum seconds of a rebalance: a few sessions, because another member may be missing when the
first one is evicted."""


@dataclass
class Result:
    """The result of a run."""

    seed: int
    scenario: str = ""
    broken: list[str] = field(default_factory=list)
    harms: list[str] = field(default_factory=list)
    planned: int = 0
    """The number of harms of the seed, in the order in which they were drawn."""
    chosen: tuple[int, ...] | None = None
    """The numbers of the harms that were done; None: all."""
    requests: int = 0
    seconds: float = 0.0

    def report(self) -> str:
        """Return the harms of the run, and the broken promises."""
        lines = [
            f"seed {self.seed} ({self.scenario}): {self.requests} requests in "
            f"{self.seconds:.0f} simulated seconds",
            *(f"  {harm}" for harm in self.harms),
            *(f"  ! {broken}" for broken in self.broken[:MAX_REPORTED]),
        ]
        if len(self.broken) > MAX_REPORTED:
            lines.append(f"  ! … and {len(self.broken) - MAX_REPORTED} more")
        return "\n".join(lines)


class Run:
    """A run of one seed. With *chosen*, only the harms with these numbers are done."""

    def __init__(self, seed: int, folder: Path, chosen: Container[int] | None = None) -> None:
        self._chosen = chosen
        self.sim = sim = Sim(seed)
        random = sim.random
        self.result = Result(seed, scenario_of(seed).name)
        self.scenario = scenario = scenario_of(seed)
        self.delay = scenario.delay or random.choice([0.5, 1.0, 2.0])
        self.broker = Broker(sim, PARTITIONS, SESSION, SERVICE.stuck_after)
        self.nodes = Nodes(sim)
        hosts, pages = random.randint(*scenario.hosts), random.randint(*scenario.pages)
        self.sites = make_sites(sim, hosts, pages, self.delay, scenario)
        self.sites.addresses, self.sites.count_leased = scenario.addresses, self._count_leased
        if scenario.interval:
            change(sim, self.sites)
        self.crawls = make_crawls(self.sites, scenario.crawls, scenario.all_added)
        for crawl in self.crawls.values():
            self.broker.topic(crawl.topic, PARTITIONS)
        self.story = promises.Story()
        self.story.listen(self.broker)
        self.fleet = Fleet(sim, self.broker, self.nodes, self.sites, folder)
        self.batch, self.site_at_once = random.choice([1, 2, 4]), random.choice([1, 2, 4])
        self.fleet.settings = self._settings(folder)
        for group, values in scenario.settings.items():
            self.fleet.settings[group] |= values
        self.batch = int(str(self.fleet.settings["frontier"]["batch"]))
        self.losses = 0
        """The number of harms that may lose fetched pages whose outcomes were not yet appended."""
        self.links_lost = False
        """Whether pages at the end of the log were lost before they were consumed, with their
        links."""
        self.is_pausing = False
        """Whether the fleet is being paused for an operation."""
        self.unrestored = 0
        """The number of snapshots that are to be restored."""
        self.excused = 0
        """The number of additional requests that may be repeated."""
        self.slow: str | None = None
        """The archive that is slow."""
        self.kinds: list[str] = []
        """The kinds of harms of the run."""
        self.invalid_seeds = 0
        """The number of records that must become dead letters."""
        self.far = self.right_at = 0.0
        """The largest error of a clock, and the time at which all clocks are right again."""
        self.over_at: float | None = None
        self.pauses: list[tuple[float, float]] = []
        """The times in which a crawl was paused."""
        self.erased: dict[str, float] = {}
        """Host → time at which an operator erased it."""
        self.removed: dict[str, float] = {}
        """Crawl → time at which an operator removed it."""
        self.fetched: list[tuple[float, Key]] = []
        """The time at which an operator requested a URL, its crawl and the URL."""
        self.deleted: list[Deleted] = []
        """Records that were deleted before they were consumed. The crawl stops at the gap."""

    def _settings(self, folder: Path) -> dict[str, dict[str, object]]:
        random = self.sim.random
        return {
            "kafka": {
                "servers": "simulated",
                "session": SESSION,
                "timeout": 10.0,
                "replay_window": 600.0,
            },
            "cassandra": {"hosts": ["simulated"], "timeout": 5.0},
            "frontier": {
                "delay": self.delay,
                "batch": self.batch,
                "site_at_once": self.site_at_once,
                "lease_slack": random.choice([9.0, 20.0, 60.0]),
                "loaded_limit": random.choice([1, 3, 50]),
                "checked_out_limit": random.choice([2, 50]),
                "down_wait": 20.0,
                "down_wait_limit": 60.0,
                "dns_wait": 60.0,
            },
            "fetcher": {
                "contact": "me@example.org",
                "visit_limit": 6.0,
                "first_byte_limit": 3.0,
                "orders_limit": random.choice([2, 20]),
                "unparsed_limit": random.choice([3, 500]),
            },
            "parser": {"text": "off"},
            "dedup": {"folder": str(folder / "dedup")},
            "archive": {
                "folder": str(folder),
                "segment_size": random.choice([4_000, 20_000, 1_000_000]),
            },
        }

    def _count_leased(self, address: str, process: str) -> int:
        """Return the slots of *address* that the fetcher *process* has leased now, by any clock."""
        at_once = Settings.model_validate(self.fleet.settings).fetcher.address_at_once
        return sum(
            row["fetcher"] == process
            and row["address"] in (address, EVERY_ADDRESS)
            and row["slot"] < at_once
            and row["expires_at"] + SKEW > self.sim.now
            for rows in self.nodes.all_named(AddressSlot.table).values()
            for row in rows
        )

    def begin(self) -> None:
        """Start the fleet, add the seeds, and schedule the harms."""
        random = self.sim.random
        self.instructions: list[Instruction] = []
        """Instructions of operators."""
        for service, most in INSTANCES.items():
            for number in range(1, random.randrange(1, most + 1) + 1):
                name = f"{service}-{number}"
                self.fleet.skews[name] = random.choice([0.0, 0.0, random.uniform(-SKEW, SKEW)])
                self.sim.later(random.uniform(0, 3), self.fleet.start, name)
        self._add_seeds()
        self._add_invalid_seeds()
        drawn = random.sample(list(HARMS), random.randrange(4))
        self.kinds = list(self.scenario.harms) or drawn
        for kind in self.kinds:
            for _ in range(random.randint(*self.scenario.times)):
                at = random.uniform(1, self.scenario.until)
                if self._chosen is None or self.result.planned in self._chosen:
                    self.sim.later(at, {**HARMS, **NAMED_HARMS, **RESTORES, **ACTIONS}[kind], self)
                self.result.planned += 1
        self.sim.later(IDLE_CHECK_INTERVAL, self._check_idle)
        self.sim.later(MEMORY_CHECK_INTERVAL, self._check_memory)

    def _add_seeds(self) -> None:
        for crawl in self.crawls.values():
            self.add_crawl(crawl)
        if self.scenario.interval:
            self.sim.later(self.scenario.lasts, self._stop_revisits)

    def add_crawl(self, crawl: Crawl) -> None:
        """Define *crawl*, and add its seeds."""
        self.append(self.definition(crawl))
        for url in crawl.seeds:
            self.append(SeedAdded(crawl=crawl.id, url=url, priority=self._priority()))

    def definition(self, crawl: Crawl | None = None, again: bool = True) -> CrawlDefined:
        """Return the definition of *crawl*, by default of the crawl `default`; without *again* its
        policy never revisits."""
        interval = self.scenario.interval if again else 0.0
        policy = f"fixed:{interval:.0f}s" if interval else "none"
        return (crawl or self.crawls[DEFAULT_CRAWL]).definition(self.sim.now, policy)

    def append(self, event: Event) -> None:
        """Append *event* to its topic."""
        message = encode(event)
        number = partition_of(message.partition_key, self.broker.counts[message.topic])
        headers = tuple((name, value.encode()) for name, value in message.headers)
        self.broker.append((message.topic, number), message.key.encode(), message.value, headers)

    def _stop_revisits(self) -> None:
        """Check that all pages are fresh, and stop revisits."""
        latest = self.sim.now - 3 * self.scenario.interval
        # Plans that were made by a clock ahead are late, and hosts whose orders were refused for
        # clock skew wait longer.
        if not self.slow and latest > self.right_at + self.far + MAX_RETURNED_ORDER_DELAY:
            self.result.broken += promises.check_fresh(
                self._outcomes().values(), self.sites, latest
            )
        for crawl in self.crawls.values():
            self.append(self.definition(crawl, again=False))

    def _add_invalid_seeds(self) -> None:
        """Add seeds that no service can process. Each becomes a dead letter, without other
        effects."""
        url = self.sites.seeds()[0]
        for priority in self.sim.random.choice([[], [], [], [10**6], [10**9]]):
            value = f'{{"event": "seed_added", "v": 1, "url": "{url}x", "priority": {priority}}}'
            self.broker.append(("seeds", 0), None, value.encode())
            self.invalid_seeds += 1

    def _priority(self) -> int:
        return self.sim.random.choice([0, 0, 0, 5, -5, 100, -100])

    def note(self, what: str) -> None:
        """Record a harm."""
        self.result.harms.append(f"{self.sim.now - START:7.2f} {what}")

    def victim(self, *services: str) -> str | None:
        """Draw a running process."""
        names = [
            name
            for name, process in sorted(self.fleet.running.items())
            if not (process.dead or process.frozen)
            and (not services or name.partition("-")[0] in services)
        ]
        return self.sim.random.choice(names) if names else None

    def check_slow_archive(self, slow: str) -> None:
        """Check that a slow archive delayed only the hosts of its partitions."""
        self.fleet.running[slow].trickle = 0.0
        frontier = self.fleet.settings["frontier"]
        if len(self.kinds) > 1 or frontier["loaded_limit"] < frontier["checked_out_limit"]:
            return  # Hosts that wait may fill a memory with fewer hosts than slots.
        members = self.broker.group("archive").members.values()
        others = {n for m in members if m.consumer.process.name != slow for n in m.owned}
        done = self._outcomes()
        for (crawl, url), event in self.story.admitted.items():
            if self.sites.sites[host_key(url)].robots[0] == 301:
                continue  # Its robots.txt redirects to another host, which may have to wait.
            if event["at"] > self.sim.now - SLOW_FOR / 4:
                continue  # It was discovered on a page that was fetched late.
            is_done = (crawl, url) in done
            if not is_done and partition_of(event["site"], PARTITIONS) in others:
                self.result.broken.append(f"{url} waits for {slow}, which does not read its pages")

    def _check_memory(self) -> None:
        self.result.broken += promises.check_memory(self.fleet.benches)
        if not self.result.broken:
            self.sim.later(MEMORY_CHECK_INTERVAL, self._check_memory)

    def _check_idle(self) -> None:
        if not self._idle():
            self.over_at = None
        elif self.sim.now - START > max(HARM_ENDS, self.scenario.lasts):
            # Unless work arrives until then: a queued URL that waits for a retry looks done.
            self.over_at = self.over_at or self.sim.now + SETTLE_SECONDS
        self.sim.later(IDLE_CHECK_INTERVAL, self._check_idle)

    def _idle(self) -> bool:
        if self.unrestored:
            return False
        for topic in {topic for topic, _ in self.broker.logs if topic in TOPICS}:
            if not all(self.broker.has_consumed(who, topic) for who in TOPICS[topic].consumers):
                return False
        hosts = [row for rows in self.nodes.all_named("hosts").values() for row in rows]
        if any(row["condition"] != "idle" for row in hosts):
            return False
        if any(promises.check_removed(self.nodes, self.broker, self.removed)):
            return False
        outcomes = self._outcomes()
        if any(promises.check_scopes(outcomes, self.crawls)):
            return False
        done = outcomes.keys() - self._retries()
        admitted = {
            (crawl, url)
            for crawl, url in self.story.admitted
            if crawl not in self.removed
            and self.crawls[crawl].includes(url)
            and not self.sites.forbids(url)
            and host_key(url) not in self.erased
        }
        if not admitted <= done or not (self.links_lost or self._required_urls(outcomes) <= done):
            return False
        return not any(promises.check_erased_bytes(self.story, self.fleet.folder, self.erased))

    def _outcomes(self) -> dict[Key, dict[str, Any]]:
        rows = self.nodes.all_named("urls").values()
        return {(row["crawl"], row["url"]): row for found in rows for row in found}

    def _retries(self) -> set[Key]:
        """Return the URLs that failed and wait for their next attempt."""
        plans = [row for rows in self.nodes.all_named("plans").values() for row in rows]
        waiting = [one for one in plans if one["attempt"] and one["at"] and not one["queued"]]
        return {(one["crawl"], one["url"]) for one in waiting}

    def _required_urls(self, outcomes: dict[Key, dict[str, Any]]) -> set[Key]:
        read = {key for key, row in outcomes.items() if row["outcome"] in PAGE_OUTCOMES}
        return {
            (crawl.id, url)
            for crawl in self.crawls.values()
            for url in self.sites.required_urls(
                {url for found, url in read if found == crawl.id}, crawl.seeds, crawl.includes
            )
            if host_key(url) not in self.erased and crawl.id not in self.removed
        }

    def execute(self) -> Result:
        """Simulate the run; return its result."""
        with replace_backends(self.fleet, self.scenario.turn):
            self.begin()
            try:
                self.sim.run(START + DEADLINE, self._over)
                self._check_promises()
            except Hung:
                self.result.broken.append("a process loops without end")
            finally:
                for process in self.fleet.running.values():
                    process.kill()
                self.sim.run(self.sim.now)
        return self.result

    def _over(self) -> bool:
        if len(self.fleet.exits) > MAX_FAILED_PROCESSES or self.broker.evicted:
            return True
        return self.over_at is not None and self.sim.now > self.over_at

    def _check_promises(self) -> None:
        result, sites = self.result, self.sites
        result.requests, result.seconds = len(sites.requests), self.sim.now - START
        skews = [*self.fleet.skews.values(), 0.0]
        skew = max(skews) - min(skews) + self.far
        if self.deleted:
            # The group that lacks the records has stopped: the crawl does not finish, and only the
            # stop is checked.
            result.broken += check_gaps(self.deleted, self.broker, self.fleet.gaps)
            return
        if self.over_at is None:
            result.broken.append("the crawl did not finish")
        result.broken += promises.check_delays(sites)
        fetcher = Settings.model_validate(self.fleet.settings).fetcher
        robots_age = fetcher.robots_age
        result.broken += promises.check_robots(sites, self.story, robots_age, skew)
        result.broken += promises.check_consent(sites, self.story, robots_age, skew)
        result.broken += promises.check_crawl_delays(sites)
        result.broken += promises.check_crowd(self.story)
        result.broken += promises.check_site_gap(sites, FrontierSettings().site_gap * self.delay)
        result.broken += promises.check_site_concurrency(sites, self.site_at_once)
        if sites.addresses:
            at_once, visit_limit = fetcher.address_at_once, fetcher.visit_limit
            result.broken += promises.check_address_concurrency(sites, at_once, visit_limit)
        result.broken += check_instructions(sites.requests, self.instructions)
        result.broken += promises.check_erased(self.story, self.nodes, self.broker, self.erased)
        result.broken += promises.check_erased_bytes(self.story, self.fleet.folder, self.erased)
        result.broken += promises.check_removed(self.nodes, self.broker, self.removed)
        keeps_partitions = REPARTITIONING.isdisjoint(self.kinds)
        fenced = promises.fenced_orders(self.story, PARTITIONS) if keeps_partitions else {}
        result.broken += promises.check_retry_after(self.story, skew, fenced)
        result.broken += promises.check_one_partition(self.story, skew, fenced)
        result.broken += promises.check_epochs(self.story, fenced)
        if not self.links_lost:
            result.broken += promises.check_counters(self.story, self.nodes)
        result.broken += promises.check_complete(
            self.story, self.nodes, sites, self.crawls, self.erased, self.removed
        )
        result.broken += promises.check_versions(self.story, self.broker, self.erased, self.removed)
        result.broken += promises.check_parked(self.nodes)
        result.broken += promises.check_archived(self.story, self.fleet.folder, self.erased)
        result.broken += promises.check_crawl_of_page(self.broker, self.crawls)
        result.broken += promises.check_shares(self.story, self.crawls, self.batch, self.pauses)
        result.broken += promises.check_shared(self.story, SHARE_FOR, self.removed)
        if not sites.addresses:
            # A fetcher without a slot of an address returns its orders until others leave it one.
            result.broken += promises.check_fruitless_orders(self.story, sites)
        excused = self.excused + self.losses * self.batch * len(sites.sites)
        if self.far and self.scenario.interval:
            excused += sum(len(site.paths) for site in sites.sites.values())
        result.broken += promises.check_scopes(self._outcomes(), self.crawls)
        result.broken += promises.check_fetched(self.story, self.fetched)
        crawls = Counter(url for _, url in self.story.admitted)
        crawls += promises.count_requested_again(self.story, self.fetched)
        result.broken += promises.check_repeats(sites, excused, self.scenario.interval, crawls)
        result.broken += [f"{name} ended with status {code}" for _, name, code in self.fleet.exits]
        required = set() if self.links_lost else self._required_urls(self._outcomes())
        lost = required - set(self.story.admitted) - {key for _, key in self.fetched}
        result.broken += [
            f"{url} is linked and was never admitted to {crawl}" for crawl, url in sorted(lost)
        ]
        result.broken += self.story.went_back
        slow = not SLOWING.isdisjoint(self.kinds)
        limit = SERVICE.stuck_after if slow else SERVICE.step_limit
        result.broken += promises.check_step_times(self.fleet.steps, limit)
        if not slow:
            result.broken += promises.check_rebalances(self.broker, MAX_REBALANCE)
        result.broken += promises.check_dead_letters(self.story, self.invalid_seeds)
        if FETCHERS_ALONE.issuperset(self.kinds):
            result.broken += promises.check_released(self.story)
        if MILD.issuperset(self.kinds):
            result.broken += promises.check_answered(self.story)
        result.broken += [f"{who} was evicted for not polling" for who in self.broker.evicted]


class Hung(BaseException):
    """Ends a run that takes too much CPU."""


def simulate(
    seed: int, log: Callable[[str], None] | None = None, chosen: Container[int] | None = None
) -> Result:
    """Run *seed* in a folder of its own, in memory if the system supports it.

    *log* receives each line that a process logs. With *chosen*, only the seed's harms with these
    numbers are done.
    """
    memory = Path("/dev/shm")
    place = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
    with place as folder, collect_at_end(), limit_cpu(CPU_LIMIT), log_to(log):
        return Run(seed, Path(folder), chosen).execute()


@contextmanager
def collect_at_end() -> Iterator[None]:
    """Collect the garbage of the block at its end, and not before.

    Killed processes leave unfinished coroutines. Python reports each when it destroys it, and would
    do so in the middle of another process. Collecting garbage as usual takes a fifth more time.
    """
    hook, enabled = sys.unraisablehook, gc.isenabled()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        sys.unraisablehook = lambda _: None
        gc.collect()
        sys.unraisablehook = hook
        gc.unfreeze()
        if enabled:
            gc.enable()


@contextmanager
def limit_cpu(seconds: float) -> Iterator[None]:
    """Raise Hung if the block takes more than *seconds* of CPU."""

    def end(*_: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGPROF, end)
    # Again each second, because asyncio keeps an exception of a callback to itself.
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
