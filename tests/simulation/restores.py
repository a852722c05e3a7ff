"""Parts of a simulated fleet that are put back to an older state, or lost, and how operators bring
the fleet together again: all services are stopped, and `gossamer restore --align` runs."""

from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING

from console.cli.restore import align
from gossamer import clock
from gossamer.errors import Unavailable
from gossamer.events.topics import CONTROL
from gossamer.runtime.backends import open_fleet
from gossamer.settings import Settings
from tests.simulation.kernel import START, Process

if TYPE_CHECKING:
    from tests.simulation.run import Run

AGE = (2.0, 60.0)
"""Seconds between the backup and its return, from and to."""
SET_UP = 15.0
"""Seconds until the fleet works: nobody replaces a part of it before."""
STOPPED = 5.0
"""Seconds between two looks whether the groups have no members any more."""


def put_store_back(run: "Run") -> None:
    """Put the store back to what it is now, in a while."""
    backup, requests = deepcopy(run.nodes.data), len(run.sites.requests)
    run.note("a backup of Cassandra is made")

    def restore() -> None:
        run.nodes.put_back(deepcopy(backup))
        # What the store does not know of is asked for again.
        run.excused += len(run.sites.requests) - requests
        run.note("the backup of Cassandra is put back")

    run.sim.later(run.sim.between(*AGE), _stop, run, restore)


def lose_control(run: "Run") -> None:
    """Lose the topic `control`."""

    def lose() -> None:
        run.broker.logs[CONTROL.name, 0].clear()
        run.note("the topic control is lost")

    _stop(run, lose)


def _stop(run: "Run", replace: Callable[[], None]) -> None:
    """Stop all services; when Kafka knows that, *replace* something and align the fleet."""
    names = sorted(run.fleet.wanted)
    if not names or run.sim.now < START + SET_UP:
        # Another part of the fleet is being replaced, or the fleet has not begun.
        run.sim.later(STOPPED, _stop, run, replace)
        return
    for name in names:
        run.fleet.wanted.discard(name)
        run.losses += name.startswith("fetcher")
        run.fleet.running[name].kill()
    run.note("all services are stopped")

    def look() -> None:
        if any(group.members for group in run.broker.groups.values()):
            run.sim.later(STOPPED, look)
            return
        replace()
        _align(run, names)

    run.sim.later(STOPPED, look)


def _align(run: "Run", names: list[str]) -> None:
    process = Process(run.sim, "operator-1")

    def aligned() -> None:
        settings = Settings.model_validate(run.fleet.settings)
        try:
            with open_fleet(settings, "restore") as (log, store):
                for line in align(log, store, clock.now()):
                    run.note(line)
        except Unavailable:
            run.sim.later(STOPPED, _align, run, names)
        else:
            for name in names:
                run.fleet.start(name)
        process.kill()

    process.spawn(aligned)
