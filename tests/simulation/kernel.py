"""The core of the simulation: one true time, processes with clocks of their own, one strand at a
time.

A strand is a thread of a process, implemented as a greenlet. The services' code runs in it
unchanged. Every effect on the outside world (`Sim.effect`) passes control to the next event in true
time. The seed decides the order of simultaneous events, so a seed is always the same run.

A process is killed or stopped between any two effects, like by SIGKILL and SIGSTOP: its sent
messages may still arrive, and it cleans up nothing.
"""

from asyncio import events
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

from greenlet import greenlet

START = 1_700_000_000.0
"""True time at the start of a run, in epoch seconds."""


class Killed(BaseException):
    """Ends a strand of a killed process. It has no effects afterwards."""


class Strand:
    """One thread of control of *process*."""

    def __init__(self, process: "Process", body: Callable[[], object]) -> None:
        self.process = process
        self.turn = 0
        """Increases whenever the strand continues. A wake-up for an earlier wait is ignored."""
        # A greenlet that ends continues its parent, by default the strand that has started it.
        self.greenlet = greenlet(partial(self._run, body), process.sim.hub)
        process.strands.append(self)
        # Python would collect an unreferenced strand at any time, in the middle of another one.
        process.sim.graveyard.append(self)

    def _run(self, body: Callable[[], object]) -> None:
        try:
            body()
        except Killed:
            pass
        finally:
            self.process.strands.remove(self)


class Process:
    """A process on a machine, with a clock that may be wrong."""

    def __init__(self, sim: "Sim", name: str, skew: float = 0.0) -> None:
        self.sim, self.name, self.skew = sim, name, skew
        self.strands: list[Strand] = []
        self.dead = self.frozen = False
        self.freezes: list[tuple[float, float]] = []
        """Start and end of each time in which it was or will be stopped."""
        self.trickle = 0.0
        """Seconds until a fetched record arrives; 0: the broker's time."""
        self.cut_off = False
        """Whether its messages to Kafka and the responses are lost."""
        self.effects_left: int | None = None
        """The number of effects until its `fate` is called."""
        self.fate = self.kill
        self.at_death: list[Callable[[], None]] = []
        self._late: list[Callable[[], None]] = []

    def clock(self) -> float:
        """Return the process's own time, in epoch seconds."""
        return self.sim.now + self.skew

    def spawn(self, body: Callable[[], object]) -> Strand:
        """Start a strand."""
        strand = Strand(self, body)
        self.sim.at(self.sim.now, partial(self.sim.resume, strand, strand.turn))
        return strand

    def kill(self) -> None:
        """Kill the process now."""
        if self.dead:
            return
        self.dead = True
        self._late.clear()
        for call in self.at_death:
            call()
        for strand in list(self.strands):
            self.sim.at(self.sim.now, partial(_throw, strand))

    def die_after(self, effects: int) -> None:
        """Kill the process after some effects."""
        self.effects_left, self.fate = effects, self.kill

    def freeze_after(self, effects: int, seconds: float) -> None:
        """Stop the process for *seconds* after some effects."""
        self.effects_left, self.fate = effects, partial(self.freeze, seconds)

    def freeze(self, seconds: float) -> None:
        """Stop the process for *seconds*; events are delivered when it continues."""
        self.frozen = True
        self.freezes.append((self.sim.now, self.sim.now + seconds))
        self.sim.at(self.sim.now + seconds, self._thaw)

    def frozen_since(self, when: float) -> float:
        """Return the seconds since *when* in which it was stopped."""
        now = self.sim.now
        return sum(max(0.0, min(end, now) - max(start, when)) for start, end in self.freezes)

    def _thaw(self) -> None:
        self.frozen = False
        late, self._late = self._late, []
        for call in late:
            self.sim.at(self.sim.now, call)

    def postpone(self, call: Callable[[], None]) -> None:
        """Call a function when the process is no longer stopped."""
        self._late.append(call)


def _throw(strand: Strand) -> None:
    if not strand.greenlet.dead:
        with suppress(Killed):
            strand.greenlet.throw(Killed)


class Sim:
    """True time, and the events in it."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, Random(seed)
        self.now = START
        self.current: Strand | None = None
        self.graveyard: list[object] = []
        """Objects that killed processes have left."""
        self.numbers = count()
        """Numbers for the tasks of all event loops."""
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self.hub = greenlet.getcurrent()
        """The greenlet that continues the strands."""

    def at(self, when: float, call: Callable[[], None]) -> None:
        """Call *call* at *when*; simultaneous calls run in the order of registration."""
        self._count += 1
        heappush(self._agenda, (when, self._count, call))

    def run(self, until: float, over: Callable[[], bool] = lambda: False) -> None:
        """Advance time until then, until there are no events, or until *over* is true."""
        self.hub = greenlet.getcurrent()
        while self._agenda and self._agenda[0][0] <= until and not over():
            self.now, _, call = heappop(self._agenda)
            call()

    @property
    def process(self) -> Process:
        """The process of the running strand."""
        if self.current is None:
            raise Killed
        return self.current.process

    def clock(self) -> float:
        """Return the time of the running process; true time outside of all processes."""
        return self.current.process.clock() if self.current else self.now

    def wait(self, seconds: float | None) -> None:
        """Let other strands run; continue after *seconds*, or when woken earlier."""
        strand = self.current
        if strand is None or strand.process.dead:
            raise Killed
        if seconds is not None:
            self.at(self.now + max(0.0, seconds), partial(self.resume, strand, strand.turn))
        # An event loop that blocks while it starts stays the running loop of its strand alone.
        if loop := events._get_running_loop():
            events._set_running_loop(None)
        self.hub.switch()
        if loop:
            events._set_running_loop(loop)
        if strand.process.dead:
            raise Killed

    def effect(self, seconds: float) -> None:
        """Do something that takes *seconds* and has its effect at the end, or be killed before."""
        process = self.process
        if process.effects_left is not None:
            process.effects_left -= 1
            if process.effects_left < 0:
                process.effects_left = None
                process.fate()
        self.wait(seconds)

    def resume(self, strand: Strand, turn: int) -> None:
        """Continue a strand, unless it has continued since that *turn*."""
        process = strand.process
        if strand.turn != turn or process.dead or strand.greenlet.dead:
            return
        if process.frozen:
            process.postpone(partial(self.resume, strand, turn))
            return
        strand.turn += 1
        before, self.current = self.current, strand
        try:
            strand.greenlet.switch()
        finally:
            self.current = before

    def wake(self, strand: Strand) -> None:
        """Continue a waiting strand now."""
        self.at(self.now, partial(self.resume, strand, strand.turn))

    def between(self, least: float, most: float) -> float:
        """Draw a number."""
        return self.random.uniform(least, most)

    def chance(self, probability: float) -> bool:
        """Draw whether something happens."""
        return self.random.random() < probability

    def later(self, seconds: float, call: Callable[..., None], *parts: Any) -> None:
        """Call *call* after *seconds*, even if the calling process is killed."""
        self.at(self.now + seconds, partial(call, *parts))
