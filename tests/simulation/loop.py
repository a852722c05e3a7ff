"""An asyncio event loop in simulated time, for services that do several things at once."""

import asyncio
from asyncio import events
from collections.abc import Callable, Coroutine
from typing import Any

from tests.simulation.kernel import Sim, Strand


class _Task(asyncio.Task[Any]):
    """A task that is hashed by its *number*, not by its address in memory, so that sets have a
    stable order."""

    def __init__(self, number: int, *parts: Any, **named: Any) -> None:
        self._number = number
        super().__init__(*parts, **named)
        self._log_destroy_pending = False

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class _Selector:
    """A selector without file descriptors: time passes while the loop waits."""

    def __init__(self, loop: "SimLoop") -> None:
        self._loop = loop

    def select(self, timeout: float | None) -> list[Any]:
        if timeout is None or timeout > 0:
            self._loop.idle(timeout)
        return []


class SimLoop(asyncio.BaseEventLoop):
    """An event loop in one strand. Functions for an executor run in strands of their own."""

    def __init__(self, sim: Sim) -> None:
        super().__init__()
        self._sim = sim
        self._strand: Strand | None = None
        self._waiting = self._woken = False
        self._selector = _Selector(self)
        self._clock_resolution = 1e-6  # A float of epoch seconds has no finer resolution.
        self.set_task_factory(
            lambda loop, coro, **named: _Task(next(sim.numbers), coro, loop=loop, **named)
        )
        self.set_exception_handler(lambda loop, context: None)

    def time(self) -> float:
        """Return true time, which no clock step changes."""
        return self._sim.now

    def idle(self, timeout: float | None) -> None:
        """Let other strands run until there is something to do."""
        if self._woken:
            self._woken = False
            return
        self._waiting = True
        try:
            self._sim.wait(None if timeout is None else max(timeout, 1e-6))
        finally:
            self._waiting = self._woken = False

    def _write_to_self(self) -> None:
        self._woken = True
        if self._waiting and self._strand:
            self._waiting = False
            self._sim.wake(self._strand)

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, call: Callable[..., Any], *parts: Any
    ) -> Any:
        """Run *call* in a strand, without the executor."""
        future = self.create_future()
        process = self._sim.process

        def settle(setter: Callable[[Any], None], value: Any) -> None:
            if not future.done():
                setter(value)

        def body() -> None:
            try:
                result = call(*parts)
            except Exception as error:
                self.call_soon_threadsafe(settle, future.set_exception, error)
            else:
                self.call_soon_threadsafe(settle, future.set_result, result)

        process.spawn(body)
        return future

    def work(self, main: Coroutine[Any, Any, None]) -> None:
        """Run *main* in the current strand until it ends."""
        self._strand = self._sim.current
        task = self.create_task(main)
        events._set_running_loop(self)
        try:
            while not task.done():
                self._run_once()  # type: ignore[attr-defined]
        finally:
            events._set_running_loop(None)
            # Python would collect an unfinished coroutine at any time, in the middle of another
            # one's run.
            self._sim.graveyard.append((self, asyncio.all_tasks(self)))
        task.result()


def run_simulated(sim: Sim, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Replace `asyncio.run`, in simulated time."""
    loop = SimLoop(sim)
    loop.work(work())
