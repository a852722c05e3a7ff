"""The kinds of harm to a simulated fleet. Each function does one harm, once, to a random
process."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from gossamer.services.frontier.tables.urls import QueuedUrl
from tests.simulation.kernel import START, Process
from tests.simulation.nodes import COPIES
from tests.simulation.restores import (
    lose_control,
    move_away_and_back,
    resize,
    restore_parts,
    snapshot,
)

if TYPE_CHECKING:
    from tests.simulation.run import Run

SKEW = 1.5
"""The maximum error of a clock when that is not the harm itself. Two clocks differ by at most a
third of the smallest lease slack."""
TRICKLE, SLOW_FOR = 120.0, 1500.0
"""Seconds in which a slow archive reads one record, and seconds for which it is slow: longer than a
crawl."""
DYING = 400.0
"""Seconds until which frontiers crash whenever they have restarted and queue URLs."""
PUBLISHING = 90.0
"""Seconds in which restarted dedups crash when they publish."""
SERVICES = ("frontier", "fetcher", "parser", "dedup", "archive")


def _kill(run: "Run") -> None:
    if name := run.victim():
        run.losses += name.startswith("fetcher")
        away = run.sim.random.choice([0.5, 2.0, 15.0, 60.0])
        run.note(f"{name} killed, away for {away} s")
        run.fleet.kill(name, away)


def _kill_frontier(run: "Run") -> None:
    if name := run.victim("frontier"):
        away = run.sim.random.choice([0.5, 15.0, 60.0])
        run.note(f"{name} killed, away for {away} s")
        run.fleet.kill(name, away)


def _kill_fetcher(run: "Run") -> None:
    if name := run.victim("fetcher"):
        run.losses += 1
        away = run.sim.random.choice([0.5, 2.0, 15.0])
        run.note(f"{name} killed, away for {away} s")
        run.fleet.kill(name, away)


def _die_soon(run: "Run") -> None:
    if name := run.victim():
        run.losses += name.startswith("fetcher")
        away, effects = run.sim.random.choice([0.5, 2.0, 30.0]), run.sim.random.randrange(60)
        run.note(f"{name} dies after {effects} effects, away for {away} s")
        run.fleet.die_soon(name, effects, away)


def _die_writing(run: "Run") -> None:
    def die(process: Process, table: str) -> None:
        if table == QueuedUrl.table and run.sim.chance(0.5):
            away = run.sim.random.choice([0.5, 10.0, 10.0, 10.0, 25.0])
            run.note(f"{process.name} killed as it queues URLs, away for {away} s")
            run.fleet.kill(process.name, away)
            run.nodes.at_write = None
            run.sim.later(away + 15.0, _die_writing, run)
            _slow_kafka_from(run, away, 300.0)

    run.nodes.at_write = die if run.sim.now < START + DYING else None


def _lose_disk(run: "Run") -> None:
    if name := run.victim("dedup"):
        away = run.sim.random.choice([0.5, 15.0, 60.0])
        run.note(f"{name} killed, away for {away} s, restarts with an empty disk")
        run.fleet.kill(name, away)
        for folder, rows in run.fleet.disks.items():
            if name in folder:
                rows.clear()


def _delay_dedups(run: "Run") -> None:
    """Keep all dedups stopped while pages are revisited, and kill them when they publish."""
    away = run.sim.random.choice([90.0, 150.0])
    run.note(f"all dedups killed, away for {away} s")

    def die(topic: str, partition: int, value: bytes | None) -> None:
        if topic == "pages" and run.sim.now < ends and run.sim.chance(0.9):
            run.note("all dedups killed as a page is published")
            _kill_all(run, "dedup", 0.5)

    ends = run.sim.now + away + PUBLISHING
    _kill_all(run, "dedup", away)
    run.broker.on_append.append(die)


def _kill_all(run: "Run", service: str, away: float) -> None:
    for name in [n for n in run.fleet.running if n.startswith(service)]:
        run.fleet.kill(name, away + run.sim.random.random())


def _stop_frontiers(run: "Run") -> None:
    away = run.sim.random.choice([20.0, 60.0, 120.0])
    run.note(f"all frontiers killed, away for {away} s")
    _kill_all(run, "frontier", away)
    _slow_kafka_from(run, away)


def _slow_kafka_from(run: "Run", when: float, slow: float = 100.0) -> None:
    """Make Kafka slow when a process restarts, which then reads all waiting records."""
    run.sim.later(when, setattr, run.broker, "slow", slow)
    run.sim.later(when + 10.0, setattr, run.broker, "slow", 1.0)


def _freeze(run: "Run") -> None:
    if name := run.victim():
        run.losses += name.startswith("fetcher")
        seconds = run.sim.random.choice([0.5, 3.0, 10.0, 40.0])
        run.note(f"{name} stopped for {seconds} s")
        run.fleet.running[name].freeze(seconds)


def _freeze_soon(run: "Run") -> None:
    if name := run.victim():
        run.losses += name.startswith("fetcher")
        seconds, effects = run.sim.random.choice([10.0, 40.0]), run.sim.random.randrange(40)
        run.note(f"{name} stops for {seconds} s after {effects} effects")
        run.fleet.running[name].freeze_after(effects, seconds)


def _freeze_in_claim(run: "Run") -> None:
    seconds = run.sim.random.choice([7.0, 15.0, 40.0])

    def stop(process: Process) -> None:
        run.note(f"{process.name} stops for {seconds} s as it is about to claim")
        process.freeze(seconds)

    run.nodes.at_claim = stop
    if name := run.victim("frontier"):
        run.note(f"{name} killed")
        run.fleet.kill(name, run.sim.random.choice([0.5, 15.0]))


def _freeze_at_send(run: "Run") -> None:
    """Stop a frontier between its last check of its claims and the log, for longer than it takes to
    replace it."""
    seconds = run.sim.random.choice([10.0, 15.0, 20.0])

    def stop(process: Process) -> None:
        if process.name.startswith("frontier"):
            run.note(f"{process.name} stops for {seconds} s as it is about to send")
            process.freeze(seconds)
            run.broker.at_send = None

    run.broker.at_send = stop


def _freeze_while_joining(run: "Run") -> None:
    """Restart a process, and stop it when its passing member has requested to join: for longer than
    a session, and for less than the next one, which begins when the group goes on without it."""
    seconds = run.sim.random.choice([8.0, 10.0, 12.0])

    def stop(process: Process) -> None:
        run.losses += process.name.startswith("fetcher")
        run.note(f"{process.name} stops for {seconds} s as it joins")
        process.freeze(seconds)
        run.broker.at_passing = None

    run.broker.at_passing = stop
    if name := run.victim():
        run.losses += name.startswith("fetcher")
        run.note(f"{name} killed")
        run.fleet.kill(name, 0.5)


def _freeze_connected(run: "Run") -> None:
    """Stop a fetcher between its connection and its request, for longer than the lease of a slot of
    an address and the tolerance for clocks."""

    def stop(process: Process) -> None:
        run.losses += 1
        run.note(f"{process.name} stops for 55 s as it has connected")
        run.sites.at_connect = None
        process.freeze(55.0)

    run.sites.at_connect = stop


def _kill_at_send(run: "Run") -> None:
    """Kill a fetcher while its messages are on their way."""
    arrived = run.sim.random.uniform(0.0, 0.02)

    def kill(process: Process) -> None:
        if process.name.startswith("fetcher"):
            run.losses += 1
            run.note(f"{process.name} killed while it sends")
            run.broker.at_send = None
            run.sim.later(arrived, run.fleet.kill, process.name, 0.5)

    run.broker.at_send = kill


def _stop_kafka(run: "Run") -> None:
    seconds = run.sim.random.choice([1.0, 8.0, 25.0])
    run.note(f"Kafka away for {seconds} s")
    run.losses += 1
    run.broker.away = True
    run.sim.later(seconds, setattr, run.broker, "away", False)


def _cut_off(run: "Run") -> None:
    if name := run.victim():
        seconds = run.sim.random.choice([2.0, 10.0, 30.0])
        run.note(f"{name} cut off from Kafka for {seconds} s")
        run.losses += name.startswith("fetcher")
        process = run.fleet.running[name]
        process.cut_off = True
        run.sim.later(seconds, setattr, process, "cut_off", False)


def _slow_kafka(run: "Run") -> None:
    run.note("Kafka slow for 20 s")
    run.broker.slow = 60.0
    run.sim.later(20.0, setattr, run.broker, "slow", 1.0)


def _refuse_commits(run: "Run") -> None:
    run.note("commits are refused after each rebalance")
    run.broker.refuses_commits = True


def _skip_records(run: "Run") -> None:
    seconds = run.sim.random.choice([10.0, 60.0])
    run.note(f"the clients of Kafka skip records for {seconds} s")
    run.broker.skip_probability = 0.05
    run.sim.later(seconds, setattr, run.broker, "skip_probability", 0.0)


def _stop_node(run: "Run") -> None:
    node, seconds = run.sim.random.randrange(COPIES), run.sim.random.choice([3.0, 20.0])
    run.note(f"node {node} away for {seconds} s")
    run.nodes.away.add(node)
    run.sim.later(seconds, run.nodes.back, node)


def _stop_store(run: "Run") -> None:
    seconds = run.sim.random.choice([1.0, 6.0, 20.0])
    run.note(f"Cassandra away for {seconds} s")
    for node in range(COPIES):
        run.nodes.away.add(node)
        run.sim.later(seconds, run.nodes.back, node)


def _interrupt_store(run: "Run") -> None:
    seconds = run.sim.between(0.2, 8.0)
    run.note(f"Cassandra away for {seconds:.1f} s")
    for node in range(COPIES):
        run.nodes.away.add(node)
        run.sim.later(seconds, run.nodes.back, node)


def _slow_archive(run: "Run") -> None:
    if run.slow is None and (name := run.victim("archive")):
        run.note(f"{name} reads a record each {TRICKLE:.0f} s for {SLOW_FOR:.0f} s")
        run.slow = name
        run.fleet.running[name].trickle = TRICKLE
        run.sim.later(SLOW_FOR, run.check_slow_archive, name)


def _slow_store(run: "Run") -> None:
    run.note("Cassandra slow for 30 s")
    run.nodes.slow = 80.0
    run.sim.later(30.0, setattr, run.nodes, "slow", 1.0)


def _slow_store_much(run: "Run") -> None:
    run.note("Cassandra very slow for 300 s")
    run.nodes.slow = 100.0
    run.sim.later(300.0, setattr, run.nodes, "slow", 1.0)


def _leave_writes_undecided(run: "Run") -> None:
    run.note("conditional writes undecided for 30 s")
    run.nodes.undecided = 0.4
    run.sim.later(30.0, setattr, run.nodes, "undecided", 0.0)


def _overload_store(run: "Run") -> None:
    run.note("Cassandra overloaded for 5 s")
    run.nodes.overloaded = 0.2
    run.sim.later(5.0, setattr, run.nodes, "overloaded", 0.0)


def _add(run: "Run") -> None:
    service = run.sim.random.choice(SERVICES)
    name = f"{service}-{run.sim.random.randrange(4, 6)}"
    run.note(f"{name} added")
    run.fleet.skews.setdefault(name, run.sim.between(-SKEW, SKEW))
    run.fleet.start(name)


def _remove(run: "Run") -> None:
    name = run.victim()
    if name and sum(n.startswith(name.partition("-")[0]) for n in run.fleet.wanted) > 1:
        run.note(f"{name} removed")
        run.fleet.remove(name)


def _step_clock(run: "Run") -> None:
    # A clock that has jumped is set right by the opposite step.
    if (name := run.victim()) and abs(run.fleet.skews[name]) <= SKEW:
        skew = run.sim.between(-SKEW, SKEW)
        run.note(f"the clock of {name} steps: it is wrong by {skew:+.1f} s from now on")
        run.fleet.running[name].skew = run.fleet.skews[name] = skew


def _jump_clock(run: "Run") -> None:
    _jump(run, run.victim(), run.sim.random.choice([-600.0, 600.0, 3600.0]))


def _set_fetcher_ahead(run: "Run") -> None:
    _jump(run, run.victim("fetcher"), run.sim.random.choice([60.0, 600.0, 3600.0]))


def _jump_frontier_clock(run: "Run") -> None:
    _jump(run, run.victim("frontier"), run.sim.random.choice([-600.0, 60.0, 600.0]))


def _jump(run: "Run", name: str | None, step: float) -> None:
    if name:
        seconds = run.sim.random.choice([10.0, 60.0, 600.0])
        run.note(f"the clock of {name} is wrong by {step:+.0f} s for {seconds} s")
        run.far = max(run.far, abs(step))
        run.right_at = max(run.right_at, run.sim.now + seconds)

        def wrong(by: float) -> None:
            run.fleet.skews[name] += by
            run.fleet.running[name].skew += by

        # If a step takes longer than a lease, orders are sent whose lease has expired by that
        # clock.
        run.losses += name.startswith("fetcher") or "Cassandra very slow" in run.kinds
        wrong(step)
        run.sim.later(seconds, wrong, -step)


def _stop_name_server(run: "Run") -> None:
    run.note("no name resolves for 10 s")
    now = run.sim.now - START
    run.sites.outage = (now, now + 10.0)


HARMS: dict[str, Callable[["Run"], None]] = {
    "kill": _kill,
    "frontier killed": _kill_frontier,
    "disk lost": _lose_disk,
    "dedups late": _delay_dedups,
    "die soon": _die_soon,
    "die writing": _die_writing,
    "frontiers away": _stop_frontiers,
    "freeze": _freeze,
    "freeze soon": _freeze_soon,
    "freeze in claim": _freeze_in_claim,
    "Kafka away": _stop_kafka,
    "cut off": _cut_off,
    "Kafka slow": _slow_kafka,
    "records skipped": _skip_records,
    "node away": _stop_node,
    "Cassandra away": _stop_store,
    "Cassandra hiccup": _interrupt_store,
    "Cassandra slow": _slow_store,
    "Cassandra very slow": _slow_store_much,
    "archive slow": _slow_archive,
    "undecided": _leave_writes_undecided,
    "overloaded": _overload_store,
    "add": _add,
    "remove": _remove,
    "clock steps": _step_clock,
    "clock jumps": _jump_clock,
    "frontier jumps": _jump_frontier_clock,
    "fetcher ahead": _set_fetcher_ahead,
    "no names": _stop_name_server,
}
RESTORES: dict[str, Callable[["Run"], None]] = {
    "store restored": partial(restore_parts, parts=("store",)),
    "log restored": partial(restore_parts, parts=("log",)),
    "all restored": partial(restore_parts, parts=("store", "log", "disks")),
    "snapshot": snapshot,
    "control lost": lose_control,
    "resized": resize,
    "moved": move_away_and_back,
}
"""These harms stop all services, and have scenarios of their own."""
REPARTITIONING = frozenset({"resized", "moved"})
"""Harms after which the fleet may have another number of partitions."""
SLOWING = frozenset(
    {
        "Cassandra slow",
        "Cassandra very slow",
        "Cassandra away",
        "Cassandra hiccup",
        "overloaded",
        "undecided",
        "Kafka slow",
        "Kafka away",
        "commits refused",
        "cut off",
        "die writing",
        "frontiers away",
        "node away",  # Two nodes away are too many.
    }
)
"""Harms that make a single request take seconds or be retried: the step limit does not hold."""
NAMED_HARMS: dict[str, Callable[["Run"], None]] = {
    "fetcher killed": _kill_fetcher,
    "freeze at send": _freeze_at_send,
    "freeze while joining": _freeze_while_joining,
    "freeze connected": _freeze_connected,
    "kill at send": _kill_at_send,
    "commits refused": _refuse_commits,
}
"""Kinds of harm that a scenario names, and that no run draws."""
FETCHERS_ALONE = frozenset({"fetcher killed"})
"""Harms that hit fetchers alone, each of which is restarted soon."""

MILD = frozenset({"Cassandra hiccup", "node away", "overloaded", "undecided"})
"""Harms that every order survives: it may wait, but it is carried out or returned."""
