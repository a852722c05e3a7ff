"""Limiters: one contract for all limiters of requests and lookups."""

import asyncio
import re
import selectors
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import pytest

import gossamer.services.fetcher
from gossamer.services.fetcher.http.limiters import (
    Admission,
    Limiter,
    Lookup,
    Request,
    Stage,
    lookup_limiters,
    request_limiters,
)
from gossamer.services.fetcher.rate_limits import AddressLimits, Denied, LocalSlots
from gossamer.web.url import Site
from tests.fetcher.nameserver import naming
from tests.fetcher.orders import fetcher, order, settings, work
from tests.fetcher.servers import page, serving

REQUEST_COUNT = 20
"""Requests: more than any limiter below admits at once."""
SETTINGS = settings(concurrency=3, address_at_once=3, address_gap=0.13, lookups_limit=8)


def all_limiters(clock: Callable[[], float] = lambda: 0.0) -> tuple[Limiter[Any], ...]:
    limits = AddressLimits(SETTINGS.address_at_once, SETTINGS.address_gap, SETTINGS.visit_limit)
    slots = LocalSlots(SETTINGS.address_at_once)
    return (
        *request_limiters(SETTINGS, limits, slots, clock),
        *lookup_limiters(SETTINGS.lookups_limit),
    )


NAMES = [limiter.name for limiter in all_limiters()]


class VirtualLoop(asyncio.SelectorEventLoop):
    """Skips the time in which nothing happens."""

    def __init__(self) -> None:
        selector = selectors.DefaultSelector()
        super().__init__(selector)
        self._passed, select = 0.0, selector.select

        def pass_time(timeout: float | None = None) -> Any:
            self._passed += timeout or 0.0
            return select(0)

        selector.select = pass_time  # type: ignore[method-assign]

    def time(self) -> float:
        return self._passed


def in_virtual_time(main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main)


@dataclass
class LookupUntil(Lookup):
    """A lookup with a deadline."""

    until: Callable[[], float]

    def remaining_seconds(self) -> float:
        return self.until()


class Broken(Exception):
    """A request that fails."""


class Trial:
    """One limiter, and concurrent requests for its permits."""

    def __init__(self, name: str) -> None:
        self.time = asyncio.get_running_loop().time
        (self.limiter,) = (one for one in all_limiters(self.time) if one.name == name)
        self.admitted: list[tuple[int, float]] = []
        """The number and the time of each admission."""
        self.denied: list[tuple[int, float, float]] = []
        """The number, the time and the wait of each denial."""

    def subject(self, number: int, until: float) -> Request | Lookup:
        def seconds_left() -> float:
            return until - self.time()

        if self.limiter.stage is not Stage.LOOKUP:
            return Request(Site("a.example"), 0.2, 5.0, 1, seconds_left, "192.0.2.1")
        name = f"h{number}.a.example" if self.limiter.name == "zone" else f"{number}.example"
        return LookupUntil(name, self.limiter.name == "slow names", seconds_left)

    async def contend(
        self, number: int, hold: float = 1.0, until: float = inf, breaks: bool = False
    ) -> None:
        try:
            async with Admission((self.limiter,), self.subject(number, until)) as admission:
                await admission.reach(self.limiter.stage)
                self.admitted.append((number, self.time()))
                await asyncio.sleep(hold)
                if breaks:
                    raise Broken
        except Denied as denied:
            self.denied.append((number, self.time(), denied.wait))

    async def fresh(self) -> list[float]:
        """Begin many requests now; return the seconds until each was admitted."""
        self.admitted.clear()
        begun = self.time()
        await asyncio.gather(*(self.contend(number) for number in range(REQUEST_COUNT)))
        return [at - begun for _, at in self.admitted]


async def unused_limiter(name: str) -> list[float]:
    """Return when requests are admitted by a limiter that was not used before."""
    return await Trial(name).fresh()


async def wait_for_all(tasks: list[asyncio.Task[None]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(100.0)


def contract(test: Callable[[str], Coroutine[Any, Any, None]]) -> Callable[[str], None]:
    """Run *test* for each limiter, in virtual time."""

    @pytest.mark.parametrize("name", NAMES)
    def run(name: str) -> None:
        in_virtual_time(test(name))

    return run


@contract
async def test_waiters_are_admitted_in_order(name: str) -> None:
    trial = Trial(name)
    await trial.fresh()
    numbers = [number for number, _ in trial.admitted]
    assert len(numbers) > 1 and numbers == sorted(numbers)
    waits = [wait for _, _, wait in trial.denied]
    assert waits == sorted(waits), "later requests wait longer"
    assert len(numbers) + len(waits) == REQUEST_COUNT


@contract
async def test_cancelled_requests_release_their_permits(name: str) -> None:
    trial = Trial(name)
    tasks = [asyncio.create_task(trial.contend(n, hold=inf)) for n in range(REQUEST_COUNT)]
    await asyncio.sleep(0.5)
    for task in tasks:
        task.cancel()
    await wait_for_all(tasks)
    assert await trial.fresh() == pytest.approx(await unused_limiter(name))


@contract
async def test_failed_requests_release_their_permits(name: str) -> None:
    trial = Trial(name)
    await wait_for_all(
        [asyncio.create_task(trial.contend(n, breaks=True)) for n in range(REQUEST_COUNT)]
    )
    assert await trial.fresh() == pytest.approx(await unused_limiter(name))


@contract
async def test_waiters_past_their_deadline_release_their_permits(name: str) -> None:
    async def admission_times(hasty: int) -> list[float]:
        trial = Trial(name)
        holders = [asyncio.create_task(trial.contend(n, hold=5.0)) for n in range(8)]
        await asyncio.sleep(0.0)
        until = trial.time() + 0.05
        waiters = [trial.contend(n, until=until) for n in range(8, 8 + hasty)]
        await asyncio.gather(*waiters, asyncio.sleep(0.1))
        gave_up = [at for number, at, _ in trial.denied if number >= 8]
        assert len(gave_up) == hasty and all(at <= until + 1e-3 for at in gave_up)
        after = await trial.fresh()
        await asyncio.gather(*holders)
        return after

    assert await admission_times(hasty=6) == pytest.approx(await admission_times(hasty=0))


@contract
async def test_request_after_its_deadline_is_denied(name: str) -> None:
    trial = Trial(name)
    await trial.contend(0, until=trial.time() - 1.0)
    assert not trial.admitted and len(trial.denied) == 1
    assert await trial.fresh() == pytest.approx(await unused_limiter(name))


def test_denial_names_the_limiter() -> None:
    async def deny() -> None:
        request = Request(Site("a.example"), 0.0, 0.0, 1, lambda: -1.0)
        with pytest.raises(Denied, match=r"the name was looked up \(limiter: site\)"):
            async with Admission(all_limiters(), request) as admission:
                await admission.reach(Stage.BEGIN)

    in_virtual_time(deny())


def test_limiters_are_listed_in_the_order_of_their_stages() -> None:
    stages = [*Stage]
    for listed in (all_limiters()[:-3], all_limiters()[-3:]):
        order = [stages.index(limiter.stage) for limiter in listed]
        assert order == sorted(order)
    assert len({*NAMES}) == len(NAMES)


def record_passes(
    limiters: tuple[Limiter[Any], ...], passed: list[str]
) -> tuple[Limiter[Any], ...]:
    """Return *limiters* that append their names to *passed*."""

    def recording(limiter: Limiter[Any]) -> Limiter[Any]:
        def admit(request: Any) -> Any:
            passed.append(limiter.name)
            return limiter.admit(request)

        return limiter._replace(admit=admit)

    return tuple(map(recording, limiters))


async def test_request_passes_every_limiter_in_the_order_of_the_stages() -> None:
    passed = list[str]()
    async with (
        serving(a=page()) as server,
        naming({"h.example": ("127.0.0.1",)}) as dns,
        fetcher(nameserver=dns.address) as processor,
    ):
        web = processor._web
        web.limiters = record_passes(web.limiters, passed)
        web.resolver._limiters = record_passes(web.resolver._limiters, passed)
        emitted = await work(processor, order(f"http://h.example:{server.port}/a"))
    assert emitted.outcomes == ["page"]
    stages = [*Stage]
    ordered = sorted(all_limiters(), key=lambda limiter: stages.index(limiter.stage))
    assert passed == [limiter.name for limiter in ordered]


def test_no_other_module_uses_locks_or_semaphores() -> None:
    primitives = re.compile(r"\b(Semaphore|BoundedSemaphore|Lock|Condition)\(")
    folder = Path(gossamer.services.fetcher.__file__).parent
    found = [file.name for file in folder.rglob("*.py") if primitives.search(file.read_text())]
    assert found == ["limiters.py"]
