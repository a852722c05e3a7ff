"""One seed, one run: a world, a fleet, what is done to it, and whether the promises held."""

import gc
import signal
import sys
import tempfile
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gossamer.events import CrawlDefined, Event, SeedAdded
from gossamer.events.topics import TOPICS
from gossamer.log import partition_of
from gossamer.log.codec import encode
from gossamer.settings import FrontierSettings
from gossamer.settings.servers import ServiceSettings
from gossamer.web.url import host_key
from services.frontier.politeness import REFUSED_WAIT_LIMIT
from tests.simulation import promises
from tests.simulation.broker import Broker
from tests.simulation.fleet import Fleet, logged, replaced
from tests.simulation.harms import HARMS, MILD, RESTORES, SKEW, SLOW_FOR, SLOWING
from tests.simulation.kernel import START, Sim
from tests.simulation.nodes import Nodes
from tests.simulation.operators import DEEDS, Deleted, Said, missed, obeyed
from tests.simulation.scenarios import scenario_of
from tests.simulation.web import change, make_sites

PARTITIONS, SESSION = 4, 6.0
SERVICE = ServiceSettings()
INSTANCES = {"frontier": 3, "fetcher": 3, "parser": 2, "dedup": 2, "archive": 2}
"""The most of each service."""
HARM_ENDS = 100.0
DEADLINE = 2 * 3600.0
"""Seconds after the beginning at which every crawl must be over."""
CPU_LIMIT = 30.0
"""Seconds of CPU that a run may take; most take half a second."""
HOPELESS = 30
"""So often may processes end with errors before the run is given up."""
READ = ("page", "redirect", "not_modified")
"""The outcomes of URLs whose links are known."""
REPORTED = 12
"""Broken promises that a report lists."""
LOOK, WEIGH = 15.0, 2.0
SETTLED = 30.0


@dataclass
class Result:
    """How a run went."""

    seed: int
    scenario: str = ""
    broken: list[str] = field(default_factory=list)
    harms: list[str] = field(default_factory=list)
    planned: int = 0
    """How many harms the seed has, in the order in which they were drawn."""
    chosen: tuple[int, ...] | None = None
    """Those that were done, by number; None: all."""
    requests: int = 0
    seconds: float = 0.0

    def report(self) -> str:
        """Return what was done in the run, and what broke."""
        lines = [
            f"seed {self.seed} ({self.scenario}): {self.requests} requests in "
            f"{self.seconds:.0f} simulated seconds",
            *(f"  {harm}" for harm in self.harms),
            *(f"  ! {broken}" for broken in self.broken[:REPORTED]),
        ]
        if len(self.broken) > REPORTED:
            lines.append(f"  ! … and {len(self.broken) - REPORTED} more")
        return "\n".join(lines)


class Run:
    """A run of one seed; with *chosen*, only these of its harms are done, by number."""

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
        self.sites = make_sites(sim, hosts, pages, self.delay, scenario.fan, scenario.mood)
        if scenario.interval:
            change(sim, self.sites)
        self.story = promises.Story()
        self.story.listen(self.broker)
        self.fleet = Fleet(sim, self.broker, self.nodes, self.sites, folder)
        self.batch, self.site_at_once = random.choice([1, 2, 4]), random.choice([1, 2, 4])
        self.fleet.settings = self._settings(folder)
        for group, values in scenario.settings.items():
            self.fleet.settings[group] |= values
        self.batch = int(str(self.fleet.settings["frontier"]["batch"]))
        self.losses = 0
        """How often something was done that may cost what was fetched and not yet told."""
        self.lacks_links = False
        """Whether pages were lost unread with the end of the log, and their links with them."""
        self.is_resting = False
        """Whether the fleet is brought to rest, for what needs that."""
        self.unrestored = 0
        """Snapshots that are to be put back."""
        self.excused = 0
        """Requests that may be repeated besides."""
        self.slow: str | None = None
        """The archive that is slow."""
        self.kinds: list[str] = []
        """What kinds of harm are done."""
        self.nonsense = 0
        """Records that have to become dead letters."""
        self.far = self.right_at = 0.0
        """By how much a clock was wrong; when all are right again."""
        self.over_at: float | None = None
        self.forgotten: dict[str, float] = {}
        """Hosts that an operator has had forgotten, and when."""
        self.deleted: list[Deleted] = []
        """What was deleted unread: the crawl ends where it is missing."""

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
            "parser": {"text": False},
            "dedup": {"folder": str(folder / "dedup")},
            "archive": {
                "folder": str(folder),
                "segment_size": random.choice([4_000, 20_000, 1_000_000]),
            },
        }

    def begin(self) -> None:
        """Start the fleet, sow the seeds, and plan what is done to it."""
        random = self.sim.random
        self.said: list[Said] = []
        """What operators say while it runs."""
        for service, most in INSTANCES.items():
            for number in range(1, random.randrange(1, most + 1) + 1):
                name = f"{service}-{number}"
                self.fleet.skews[name] = random.choice([0.0, 0.0, random.uniform(-SKEW, SKEW)])
                self.sim.later(random.uniform(0, 3), self.fleet.start, name)
        self._sow()
        self._sow_nonsense()
        some = random.sample(list(HARMS), random.randrange(4))
        self.kinds = list(self.scenario.harms) or some
        for kind in self.kinds:
            for _ in range(random.randint(*self.scenario.times)):
                at = random.uniform(1, self.scenario.until)
                if self._chosen is None or self.result.planned in self._chosen:
                    self.sim.later(at, {**HARMS, **RESTORES, **DEEDS}[kind], self)
                self.result.planned += 1
        self.sim.later(LOOK, self._look)
        self.sim.later(WEIGH, self._weigh)

    def _sow(self) -> None:
        urls = self.sites.all_urls() if self.scenario.all_added else self.sites.seeds()
        events = [
            self.definition(),
            *(SeedAdded(url=url, priority=self._priority()) for url in urls),
        ]
        for event in events:
            self.append(event)
        if self.scenario.interval:
            self.sim.later(self.scenario.lasts, self._come_back_no_more)

    def definition(self, again: bool = True) -> CrawlDefined:
        """Return the crawl as it is defined; not *again*: in which no page is visited again."""
        interval = self.scenario.interval if again else 0.0
        policy = f"fixed:{interval:.0f}s" if interval else "none"
        return CrawlDefined(at=self.sim.now, scope="any()", max_depth=64, revisit=policy)

    def append(self, event: Event) -> None:
        """Put *event* on its topic."""
        message = encode(event)
        number = partition_of(message.partition_key, self.broker.counts[message.topic])
        self.broker.append((message.topic, number), message.key.encode(), message.value)

    def _come_back_no_more(self) -> None:
        """See that everything is as fresh as it should be, and end that."""
        latest = self.sim.now - 3 * self.scenario.interval
        # What a clock that was ahead has planned is due when it said; and hosts whose orders were
        # refused for clocks that differ rest for a while longer.
        if not self.slow and latest > self.right_at + self.far + REFUSED_WAIT_LIMIT:
            self.result.broken += promises.fresh(self._outcomes().values(), self.sites, latest)
        self.append(self.definition(again=False))

    def _sow_nonsense(self) -> None:
        """Sow what no service can take: each becomes a dead letter, and nothing else happens."""
        url = self.sites.seeds()[0]
        for priority in self.sim.random.choice([[], [], [], [10**6], [10**9]]):
            value = f'{{"event": "seed_added", "v": 1, "url": "{url}x", "priority": {priority}}}'
            self.broker.append(("seeds", 0), None, value.encode())
            self.nonsense += 1

    def _priority(self) -> int:
        return self.sim.random.choice([0, 0, 0, 5, -5, 100, -100])

    def note(self, what: str) -> None:
        """Write down what is done."""
        self.result.harms.append(f"{self.sim.now - START:7.2f} {what}")

    def victim(self, *services: str) -> str | None:
        """Draw a process that runs."""
        names = [
            name
            for name, process in sorted(self.fleet.running.items())
            if not (process.dead or process.frozen)
            and (not services or name.partition("-")[0] in services)
        ]
        return self.sim.random.choice(names) if names else None

    def unhindered(self, slow: str) -> None:
        """See that only what a slow archive has to read has waited for it."""
        self.fleet.running[slow].trickle = 0.0
        frontier = self.fleet.settings["frontier"]
        if len(self.kinds) > 1 or frontier["loaded_limit"] < frontier["checked_out_limit"]:
            return  # Where memory has room for fewer hosts than are ordered, these fill it.
        members = self.broker.group("archive").members.values()
        others = {n for m in members if m.consumer.process.name != slow for n in m.owned}
        done = self._outcomes()
        for url, event in self.story.admitted.items():
            if self.sites.sites[host_key(url)].robots[0] == 301:
                continue  # Its robots.txt lies at another host, which may have to wait.
            if event["at"] > self.sim.now - SLOW_FOR / 4:
                continue  # It was found on a page that was fetched late.
            if url not in done and partition_of(event["site"], PARTITIONS) in others:
                self.result.broken.append(f"{url} waits for {slow}, which does not read its pages")

    def _weigh(self) -> None:
        self.result.broken += promises.bounded(self.fleet.benches)
        if not self.result.broken:
            self.sim.later(WEIGH, self._weigh)

    def _look(self) -> None:
        if not self._idle():
            self.over_at = None
        elif self.sim.now - START > max(HARM_ENDS, self.scenario.lasts):
            # Unless something comes back till then: a URL that waits looks done while it is queued.
            self.over_at = self.over_at or self.sim.now + SETTLED
        self.sim.later(LOOK, self._look)

    def _idle(self) -> bool:
        if self.unrestored:
            return False
        for (topic, number), records in self.broker.logs.items():
            for group in TOPICS[topic].consumers if topic in TOPICS else ():
                if self.broker.group(group).offsets.get((topic, number), 0) < len(records):
                    return False
        hosts = [row for rows in self.nodes.all_named("hosts").values() for row in rows]
        if any(row["condition"] != "idle" for row in hosts):
            return False
        outcomes = self._outcomes()
        done = outcomes.keys() - self._retries()
        admitted = {
            url
            for url in self.story.admitted
            if not self.sites.forbids(url) and host_key(url) not in self.forgotten
        }
        return admitted <= done and (self.lacks_links or self._required(outcomes) <= done)

    def _outcomes(self) -> dict[str, dict[str, Any]]:
        rows = self.nodes.all_named("urls").values()
        return {row["url"]: row for found in rows for row in found}

    def _retries(self) -> set[str]:
        """Return the URLs that failed and wait for their next attempt."""
        plans = [row for rows in self.nodes.all_named("plans").values() for row in rows]
        return {one["url"] for one in plans if one["attempt"] and one["at"] and not one["queued"]}

    def _required(self, outcomes: dict[str, dict[str, Any]]) -> set[str]:
        read = {url for url, row in outcomes.items() if row["outcome"] in READ}
        required = self.sites.required(read)
        return {url for url in required if host_key(url) not in self.forgotten}

    def execute(self) -> Result:
        """Let it happen; return how it went."""
        with replaced(self.fleet, self.scenario.turn):
            self.begin()
            try:
                self.sim.run(START + DEADLINE, self._over)
                self._judge()
            except Hung:
                self.result.broken.append("a process goes round and round, and time stands still")
            finally:
                for process in self.fleet.running.values():
                    process.kill()
                self.sim.run(self.sim.now)
        return self.result

    def _over(self) -> bool:
        if len(self.fleet.exits) > HOPELESS or self.broker.thrown_out:
            return True
        return self.over_at is not None and self.sim.now > self.over_at

    def _judge(self) -> None:
        result, sites = self.result, self.sites
        result.requests, result.seconds = len(sites.requests), self.sim.now - START
        skews = [*self.fleet.skews.values(), 0.0]
        skew = max(skews) - min(skews) + self.far
        if self.deleted:
            # Whoever lacks them has stopped: the crawl has no end, and only that is judged.
            result.broken += missed(self.deleted, self.broker, self.fleet.gaps)
            return
        if self.over_at is None:
            result.broken.append("the crawl did not come to its end")
        result.broken += promises.polite(sites)
        result.broken += promises.apart(sites, FrontierSettings().site_gap * self.delay)
        result.broken += promises.modest(sites, self.site_at_once)
        result.broken += obeyed(sites.requests, self.said)
        result.broken += promises.forgotten(self.story, self.nodes, self.broker, self.forgotten)
        result.broken += promises.patient(self.story, skew)
        result.broken += promises.together(self.story, skew)
        result.broken += promises.complete(self.story, self.nodes, self.sites, self.forgotten)
        result.broken += promises.archived(self.story, self.fleet.folder)
        result.broken += promises.calm(self.story, sites)
        excused = self.excused + self.losses * self.batch * len(sites.sites)
        if self.far and self.scenario.interval:
            excused += sum(len(site.paths) for site in sites.sites.values())
        result.broken += promises.sparing(sites, excused, self.scenario.interval)
        result.broken += [f"{name} ended with status {code}" for _, name, code in self.fleet.exits]
        required = set() if self.lacks_links else self._required(self._outcomes())
        lost = required - set(self.story.admitted)
        result.broken += [f"{url} is linked, and was never admitted" for url in sorted(lost)]
        result.broken += self.story.went_back
        slow = not SLOWING.isdisjoint(self.kinds)
        limit = SERVICE.stuck_after if slow else SERVICE.step_limit
        result.broken += promises.brief(self.fleet.steps, limit)
        result.broken += promises.letters(self.story, self.nonsense)
        if MILD.issuperset(self.kinds):
            result.broken += promises.answered(self.story)
        result.broken += [f"{who} was put out for not polling" for who in self.broker.thrown_out]


class Hung(BaseException):
    """Ends a run that takes too long."""


def simulate(
    seed: int, log: Callable[[str], None] | None = None, chosen: Container[int] | None = None
) -> Result:
    """Run *seed* in a folder of its own, in memory where the system has such a place.

    *log* is given each line that a process logs. With *chosen*, only these of the seed's harms are
    done, by number.
    """
    memory = Path("/dev/shm")
    place = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
    with place as folder, contained(), limited(CPU_LIMIT), logged(log):
        return Run(seed, Path(folder), chosen).execute()


@contextmanager
def contained() -> Iterator[None]:
    """Destroy at the end of the block, and not before, what the block leaves in cycles.

    Dead processes leave coroutines half done. Python complains of each as it destroys it, and would
    do so in the middle of another process. To collect garbage as usual costs a fifth of the time.
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
def limited(seconds: float) -> Iterator[None]:
    """Raise Hung where the block takes more than *seconds* of CPU: a loop without an end."""

    def end(*_: object) -> None:
        raise Hung

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
