"""Operations on a simulated fleet while all of its services are stopped.

A part of the fleet is restored to an older state, a snapshot or nothing, and `gossamer restore`
aligns the fleet; or the fleet is resized; or its crawl is moved to a folder, and from there to a
new fleet.
"""

from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

from gossamer import clock
from gossamer.errors import GossamerError
from gossamer.events import SpeedSet
from gossamer.events.control import Speed
from gossamer.events.topics import CONTROL, TOPICS
from gossamer.log.sqlite import SqliteLog
from gossamer.procedures.align import align
from gossamer.procedures.copying import Side
from gossamer.procedures.move import move
from gossamer.procedures.preconditions import FLEET_REMEDY
from gossamer.procedures.resize import resize_fleet
from gossamer.procedures.restore import check_tables
from gossamer.procedures.snapshot import read_fleet_snapshot, take_fleet_snapshot
from gossamer.runtime.backends import open_fleet
from gossamer.runtime.quiescing import QuiescedFleet
from gossamer.services.fetcher.rate_limits import AddressSlot
from gossamer.settings import Settings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from tests.simulation.kernel import START, Process
from tests.simulation.nodes import Partition

if TYPE_CHECKING:
    from tests.simulation.run import Run

Job = Callable[[Settings], None]
"""A command of an operator, which is repeated if it fails."""
AGE = (2.0, 60.0)
"""Minimum and maximum seconds between the backup and the restore."""
APART = 5.0
"""Maximum seconds between the backups of two parts."""
SET_UP = 15.0
"""Seconds until the fleet works. No part of it is replaced before."""
LANDED = 5.0
"""Seconds after which a write has arrived at the last copy."""
LIMIT = 120.0
"""Seconds after which services continue, also if the snapshot command has failed."""
STOPPED = 5.0
"""Seconds between two checks whether the groups still have members."""


def restore_parts(run: "Run", parts: Iterable[str]) -> None:
    """Back up these parts of the fleet soon, and restore them later."""
    backups: list[tuple[str, Callable[[], None]]] = []
    requests = len(run.sites.requests)

    def back_up(part: str) -> None:
        run.note(f"a backup of the {part} is made")
        backups.append((part, BACKUPS[part](run)))

    def restore() -> None:
        for part, put in backups:
            put()
            run.note(f"the backup of the {part} is put back")
        # URLs without an outcome in the store are visited again.
        run.excused += len(run.sites.requests) - requests

    for part in parts:
        run.sim.later(run.sim.between(0.0, APART), back_up, part)
    run.sim.later(APART + run.sim.between(*AGE), _stop, run, restore)


def _store(run: "Run") -> Callable[[], None]:
    data = deepcopy(run.nodes.data)
    return lambda: run.nodes.restore(deepcopy(data))


def _log(run: "Run") -> Callable[[], None]:
    log, story = run.broker.back_up(), run.story.copy()

    def put() -> None:
        run.broker.restore(log)
        # URLs that were discovered since then may be lost, with the URLs that they link to.
        run.story.restore(story)
        run.links_lost = True

    return put


def _disks(run: "Run") -> Callable[[], None]:
    disks = {folder: dict(rows) for folder, rows in run.fleet.disks.items()}

    def put() -> None:
        for folder, rows in run.fleet.disks.items():
            rows.clear()
            rows.update(disks.get(folder, {}))

    return put


BACKUPS = {"store": _store, "log": _log, "disks": _disks}
"""Part → function that backs it up and returns a function that restores it."""


def snapshot(run: "Run") -> None:
    """Take a snapshot of the fleet while it runs, and restore it later."""
    if run.sim.now < START + SET_UP or run.unrestored:
        run.sim.later(STOPPED, snapshot, run)
        return
    snapshot_run = _Snapshot(run)
    snapshot_run.process.spawn(snapshot_run.take)


class _Snapshot:
    """A snapshot that an operator takes and restores."""

    def __init__(self, run: "Run") -> None:
        self._run, self._sim = run, run.sim
        self.process = Process(run.sim, "operator-2")
        self._folder = run.fleet.folder / f"snapshot-{next(run.sim.numbers)}"
        self._backup = [dict[tuple[str, Any], Partition]() for _ in run.nodes.data]
        self._changed: list[str] = []
        """The tables that were written while they were copied."""
        self._is_checked = False

    def take(self) -> None:
        """Take the snapshot; if that fails, take another one later."""
        settings, run = Settings.model_validate(self._run.fleet.settings), self._run
        try:
            with open_fleet(settings, "snapshot") as (log, store):
                take_fleet_snapshot(log, store, settings, self._folder, LIMIT, self._copy)
        except GossamerError as error:
            run.note(f"the command failed: {error}")
            if "continued before" in str(error):
                run.result.broken.append(f"no snapshot: {error}")
            self._sim.later(self._sim.between(*AGE), snapshot, run)
        else:
            run.note("a snapshot is taken")
            run.unrestored += 1
            run.over_at = None
            run.result.broken += [f"a snapshot has {one} half written" for one in self._changed]
            self._sim.later(self._sim.between(*AGE), _stop, run, self._restore, self._finish)
        self.process.kill()

    def _copy(self, delayed: QuiescedFleet) -> None:
        """Copy the tables node by node, one after the other."""
        run, random = self._run, self._sim.random
        run.note("the fleet is quiesced")
        if self._sim.chance(0.2):
            self._sim.later(self._sim.between(0.0, 2.0), self._kill)
        before = {table: run.nodes.all_rows(table) for table in run.nodes.columns}
        parts = [(node, table) for node in range(len(self._backup)) for table in before]
        random.shuffle(parts)
        for node, table in parts:
            self._sim.wait(self._sim.between(0.0, 0.2))
            found = {at: one for at, one in run.nodes.data[node].items() if at[0] == table}
            self._backup[node] |= deepcopy(found)
        # Fetchers continue, and lease slots of addresses.
        kept = before.keys() - {AddressSlot.table}
        self._changed = [one for one in kept if run.nodes.all_rows(one) != before[one]]

    def _kill(self) -> None:
        if not self.process.dead:
            self._run.note("the command that takes a snapshot is killed")
            self.process.kill()
            self._sim.later(self._sim.between(*AGE), snapshot, self._run)

    def _restore(self) -> None:
        run = self._run
        run.nodes.restore(deepcopy(self._backup))
        run.note("the snapshot is put back")

    def _finish(self, settings: Settings) -> None:
        with open_fleet(settings, "restore") as (log, store):
            if not self._is_checked:
                check_tables(read_fleet_snapshot(self._folder), log, store)
                self._is_checked = True
            for line in align(log, store, clock.now()):
                self._run.note(line)
        self._run.unrestored -= 1


def lose_control(run: "Run") -> None:
    """Lose the topic `control`, of which a frontier has a copy in the store."""
    if not run.nodes.all_named("control"):
        run.sim.later(STOPPED, lose_control, run)
        return

    def lose() -> None:
        run.broker.logs[CONTROL.name, 0].clear()
        run.note("the topic control is lost")

    _stop(run, lose)


def resize(run: "Run") -> None:
    """Pause the fleet, and change its number of partitions."""

    def begin() -> Job:
        wanted = run.sim.random.choice([n for n in (1, 2, 3, 8, 12) if n != run.broker.partitions])

        def change(settings: Settings) -> None:
            for line in resize_fleet(settings, wanted):
                run.note(line)

        return change

    _while_stopped(run, begin)


def move_away_and_back(run: "Run") -> None:
    """Pause the fleet, move its crawl to a folder, and from there to new servers."""
    wanted = run.sim.random.choice([1, 2, 3, 4, 8, 12])
    database, is_away = Database(":memory:"), False
    log = SqliteLog(database)
    folder = Side("the folder", log, SqliteStore(database), True, log.partitions)
    has_disks = run.sim.random.choice([False, True])

    def change(settings: Settings) -> None:
        nonlocal is_away
        # The copied events are part of the story already.
        listeners, run.broker.on_append = run.broker.on_append, []
        try:
            if not is_away:
                with open_fleet(settings, "move") as (log, store):
                    fleet = Side("the fleet", log, store, False, log.partitions)
                    for line in move(fleet, folder, clock.now()):
                        run.note(line)
                is_away = True
                run.sim.wait(LANDED)
                _new_servers(run, wanted, has_disks)
            with open_fleet(settings, "move") as (log, store):
                fleet = Side("a fleet", log, store, False, log.partitions)
                for line in move(folder, fleet, clock.now()):
                    run.note(line)
        finally:
            run.broker.on_append = listeners

    _while_stopped(run, lambda: change)


def _new_servers(run: "Run", partitions: int, has_disks: bool) -> None:
    run.note(f"new servers, {partitions} partitions, {'the same' if has_disks else 'new'} disks")
    for name in [*run.broker.counts]:
        run.broker.remove(name)
        run.broker.topic(name, 1 if name == CONTROL.name else partitions)
    run.broker.delivered.clear()
    run.nodes.restore([{} for _ in run.nodes.data])
    if not has_disks:
        run.fleet.disks.clear()


def _while_stopped(run: "Run", begin: Callable[[], Job]) -> None:
    """Pause the fleet, stop all services, run the job that *begin* returns, and start them."""
    if run.sim.now < START + SET_UP or run.is_pausing or not run.fleet.wanted:
        run.sim.later(STOPPED, _while_stopped, run, begin)
        return
    run.is_pausing, change = True, begin()
    run.append(SpeedSet(at=run.sim.now, speeds=(Speed(when="", pages=0.0),)))
    run.note("the speed of the crawl is 0")

    def job(settings: Settings) -> None:
        change(settings)
        run.is_pausing = False
        run.append(SpeedSet(at=run.sim.now))

    def look() -> None:
        if _is_drained(run) and run.fleet.wanted:
            _stop(run, lambda: None, job, look)
        else:
            run.sim.later(STOPPED, look)

    run.sim.later(STOPPED, look)


def _is_drained(run: "Run") -> bool:
    for (topic, number), records in run.broker.logs.items():
        for group in TOPICS[topic].consumers if topic in TOPICS else ():
            if run.broker.group(group).offsets.get((topic, number), 0) < len(records):
                return False
    return True


def _align(run: "Run", settings: Settings) -> None:
    with open_fleet(settings, "restore") as (log, store):
        for line in align(log, store, clock.now()):
            run.note(line)


def _stop(
    run: "Run",
    replace: Callable[[], None],
    then: Callable[[Settings], None] | None = None,
    drain: Callable[[], None] | None = None,
) -> None:
    """Stop all services. When their groups are empty, *replace* a part of the fleet and run the job
    *then*, by default the alignment of the fleet. If it needs a drained fleet, and a service has
    reported something while it was stopped, the services go on until *drain* stops them again."""
    names = sorted(run.fleet.wanted)
    if not names or run.sim.now < START + SET_UP:
        # Another part of the fleet is being replaced, or the fleet has not started.
        run.sim.later(STOPPED, _stop, run, replace, then)
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
        _operate(run, names, then or partial(_align, run), drain)

    run.sim.later(STOPPED, look)


def _operate(
    run: "Run",
    names: list[str],
    job: Callable[[Settings], None],
    drain: Callable[[], None] | None,
) -> None:
    """Let an operator repeat *job* until it succeeds, and start the services again."""
    process = Process(run.sim, "operator-1")

    def operate() -> None:
        try:
            job(Settings.model_validate(run.fleet.settings))
        except GossamerError as error:
            run.note(f"the command failed: {error}")
            if drain and FLEET_REMEDY in str(error):
                _start(run, names)
                run.sim.later(STOPPED, drain)
            else:
                run.sim.later(STOPPED, _operate, run, names, job, drain)
        else:
            _start(run, names)
        process.kill()

    process.spawn(operate)


def _start(run: "Run", names: list[str]) -> None:
    for name in names:
        run.fleet.start(name)
