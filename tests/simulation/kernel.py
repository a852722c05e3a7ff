"""The simulation's heart: one true time, processes with clocks of their own, one thing at a time.

A strand is a thread of a process, as a greenlet: the services' code runs in it unchanged, and every
effect on the world outside (`Sim.effect`) hands the turn to whatever comes next in true time. Who
comes first where several could is drawn from the seed. So one seed is one run, the same each time.

A process dies between any two effects, or stops for a while, as `kill -9` and SIGSTOP have it: what
it has sent may arrive all the same, and it cleans up nothing.
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
"""Epoch seconds of true time at which a run begins."""


class Killed(BaseException):
    """Ends a strand of a process that has died; nothing that it does any more has an effect."""


class Strand:
    """One thread of control of *process*."""

    def __init__(self, process: "Process", body: Callable[[], object]) -> None:
        self.process = process
        self.turn = 0
        """Grows each time it goes on: a wake-up for an earlier wait is void."""
        self.greenlet = greenlet(partial(self._run, body))
        process.strands.append(self)
        # Python would end one that nobody refers to at some time, in the middle of another.
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
        """From when until when it was stopped, or will be."""
        self.trickle = 0.0
        """Seconds that each record takes until it is here; 0: as the broker has it."""
        self.cut_off = False
        """Whether nothing that it sends to Kafka arrives, nor any answer."""
        self.effects_left: int | None = None
        """Before the effect after these comes its `fate`."""
        self.fate = self.kill
        self.at_death: list[Callable[[], None]] = []
        self._late: list[Callable[[], None]] = []

    def clock(self) -> float:
        """Return what it takes for the time, in epoch seconds."""
        return self.sim.now + self.skew

    def spawn(self, body: Callable[[], object]) -> Strand:
        """Start a strand."""
        strand = Strand(self, body)
        self.sim.at(self.sim.now, partial(self.sim.resume, strand, strand.turn))
        return strand

    def kill(self) -> None:
        """Let it die here and now."""
        if self.dead:
            return
        self.dead = True
        self._late.clear()
        for call in self.at_death:
            call()
        for strand in list(self.strands):
            self.sim.at(self.sim.now, partial(_throw, strand))

    def die_after(self, effects: int) -> None:
        """Let it die between two effects."""
        self.effects_left, self.fate = effects, self.kill

    def freeze_after(self, effects: int, seconds: float) -> None:
        """Let it stop between two effects, for *seconds*."""
        self.effects_left, self.fate = effects, partial(self.freeze, seconds)

    def freeze(self, seconds: float) -> None:
        """Stop it for *seconds*; what happens meanwhile it learns then."""
        self.frozen = True
        self.freezes.append((self.sim.now, self.sim.now + seconds))
        self.sim.at(self.sim.now + seconds, self._thaw)

    def frozen_since(self, when: float) -> float:
        """Return for how many seconds since *when* it was stopped."""
        now = self.sim.now
        return sum(max(0.0, min(end, now) - max(start, when)) for start, end in self.freezes)

    def _thaw(self) -> None:
        self.frozen = False
        late, self._late = self._late, []
        for call in late:
            self.sim.at(self.sim.now, call)

    def postpone(self, call: Callable[[], None]) -> None:
        """Call it once the process is no longer stopped."""
        self._late.append(call)


def _throw(strand: Strand) -> None:
    if not strand.greenlet.dead:
        with suppress(Killed):
            strand.greenlet.throw(Killed)


class Sim:
    """True time, and what is to happen in it."""

    def __init__(self, seed: int) -> None:
        self.seed, self.random = seed, Random(seed)
        self.now = START
        self.current: Strand | None = None
        self.graveyard: list[object] = []
        """What dead processes have left."""
        self.numbers = count()
        """Numbers of the tasks of all event loops."""
        self._agenda: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self._hub = greenlet.getcurrent()

    def at(self, when: float, call: Callable[[], None]) -> None:
        """Call *call* when it is *when*; in the order of these calls where times are equal."""
        self._count += 1
        heappush(self._agenda, (when, self._count, call))

    def run(self, until: float, over: Callable[[], bool] = lambda: False) -> None:
        """Let time pass until then, or until nothing is to happen, or until it is *over*."""
        self._hub = greenlet.getcurrent()
        while self._agenda and self._agenda[0][0] <= until and not over():
            self.now, _, call = heappop(self._agenda)
            call()

    @property
    def process(self) -> Process:
        """The process whose strand runs now."""
        if self.current is None:
            raise Killed
        return self.current.process

    def clock(self) -> float:
        """Return the time that the running process believes in; true time outside of all."""
        return self.current.process.clock() if self.current else self.now

    def wait(self, seconds: float | None) -> None:
        """Let others go on; come back after *seconds*, or when woken before."""
        strand = self.current
        if strand is None or strand.process.dead:
            raise Killed
        if seconds is not None:
            self.at(self.now + max(0.0, seconds), partial(self.resume, strand, strand.turn))
        # An event loop that blocks, as at its start, stays the running one of its strand alone.
        if loop := events._get_running_loop():
            events._set_running_loop(None)
        self._hub.switch()
        if loop:
            events._set_running_loop(loop)
        if strand.process.dead:
            raise Killed

    def effect(self, seconds: float) -> None:
        """Do what takes *seconds* and changes the world at its end, or die before that."""
        process = self.process
        if process.effects_left is not None:
            process.effects_left -= 1
            if process.effects_left < 0:
                process.effects_left = None
                process.fate()
        self.wait(seconds)

    def resume(self, strand: Strand, turn: int) -> None:
        """Let a strand go on, unless it has done so since that *turn*."""
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
        """Let a strand that waits go on now."""
        self.at(self.now, partial(self.resume, strand, strand.turn))

    def between(self, least: float, most: float) -> float:
        """Draw a number."""
        return self.random.uniform(least, most)

    def chance(self, probability: float) -> bool:
        """Draw whether something happens."""
        return self.random.random() < probability

    def later(self, seconds: float, call: Callable[..., None], *parts: Any) -> None:
        """Call *call* after *seconds*, whatever becomes of the process that asks for it."""
        self.at(self.now + seconds, partial(call, *parts))
