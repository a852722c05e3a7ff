"""Two versions of a simulated fleet at once: it is upgraded, and perhaps rolled back, process by
process in the order of docs/operations/changes.md.

The newer version is the same code, and gives the events of its services a higher version.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from gossamer.events import Event
from gossamer.events.topics import (
    PAGES_DEDUPLICATED,
    PAGES_FETCHED,
    PAGES_PARSED,
    TOPICS,
    URLS_ADMITTED,
    VISITS_ENDED,
)
from gossamer.log import codec
from tests.simulation.kernel import START

if TYPE_CHECKING:
    from tests.simulation.fleet import Fleet
    from tests.simulation.run import Run

READERS_FIRST = ("frontier", "dedup", "parser", "archive", "fetcher")
RAISED = (VISITS_ENDED, PAGES_FETCHED, PAGES_PARSED, PAGES_DEDUPLICATED, URLS_ADMITTED)
"""Topics with raised versions. Not `urls.discovered` and `urls.seen`: dedup writes them itself, so
it can never have read all of them."""
KINDS = {kind.type: kind.event for topic in RAISED for kind in topic.events}
Step = Callable[[], Callable[[], bool]]
"""Does one step of the upgrade, and returns a function that tests whether it is complete."""
SET_UP = 5.0
"""Seconds until all processes have been started."""
APART, LOOK = (0.5, 8.0), 1.0
"""Minimum and maximum seconds between two processes, and seconds between two checks whether all is
consumed."""


class Versions(dict[Any, int]):
    """The versions that the current process supports, by kind."""

    def __init__(self, fleet: "Fleet", known: Mapping[Any, int]) -> None:
        super().__init__(known)
        self._fleet = fleet

    def __getitem__(self, kind: type[Event] | str) -> int:
        raised = kind in KINDS or kind in KINDS.values()
        return super().__getitem__(kind) + (raised and self._fleet.is_newer)


class Encoder:
    """Encodes events with the version that the current process supports."""

    def __init__(self, versions: Versions) -> None:
        self._versions, self._inner = versions, msgspec.json.Encoder()

    def encode(self, event: Any) -> bytes:
        """Return *event* in JSON."""
        if type(event) in KINDS:
            event = replace(event, version=self._versions[type(event)])
        return self._inner.encode(event)


def stand_ins(fleet: "Fleet") -> dict[str, object]:
    """Return the replacements of the codec's functions."""
    known = {topic: Versions(fleet, kinds) for topic, kinds in codec._known_versions.items()}
    versions = Versions(fleet, codec._versions)
    return {
        "gossamer.log.codec._encoder": Encoder(versions),
        "gossamer.log.codec._versions": versions,
        "gossamer.log.codec._known_versions": known,
    }


def upgrade(run: "Run") -> None:
    """Upgrade the fleet, sometimes in the wrong order; half of the time, roll it back."""
    if run.sim.now < START + SET_UP:
        run.sim.later(LOOK, upgrade, run)
        return
    names = _names(run, READERS_FIRST)
    if run.sim.chance(0.3):
        run.sim.random.shuffle(names)
    steps: list[Step] = [partial(_bring, run, name, newer=True) for name in names]
    if run.sim.chance(0.5):
        for service in reversed(READERS_FIRST):
            steps += [partial(_bring, run, name, newer=False) for name in _names(run, [service])]
            steps.append(partial(_await_read, run, service))
    _do(run, iter(steps))


def _names(run: "Run", services: Iterable[str]) -> list[str]:
    wanted = sorted(run.fleet.wanted)
    return [name for service in services for name in wanted if name.startswith(service)]


def _do(run: "Run", steps: Iterator[Step]) -> None:
    if (step := next(steps, None)) is None:
        return
    is_done = step()

    def look() -> None:
        if is_done():
            run.sim.later(run.sim.between(*APART), _do, run, steps)
        else:
            run.sim.later(LOOK, look)

    look()


def _bring(run: "Run", name: str, newer: bool) -> Callable[[], bool]:
    run.note(f"{name} is {'upgraded' if newer else 'rolled back'}")
    run.losses += name.startswith("fetcher")
    (run.fleet.newer.add if newer else run.fleet.newer.discard)(name)
    run.fleet.kill(name, 0.5)
    return lambda: True


def _await_read(run: "Run", service: str) -> Callable[[], bool]:
    """Wait until all records are consumed that *service* can have written in the newer version."""
    ends = {
        at: len(records) for at, records in run.broker.logs.items() if at[0] in _WRITTEN[service]
    }

    def is_read() -> bool:
        return all(
            run.broker.group(group).offsets.get(at, 0) >= end
            for at, end in ends.items()
            for group in TOPICS[at[0]].consumers
        )

    return is_read


_WRITTEN = {
    "fetcher": (VISITS_ENDED.name, PAGES_FETCHED.name),
    "archive": (),
    "parser": (PAGES_PARSED.name,),
    "dedup": (URLS_ADMITTED.name, PAGES_DEDUPLICATED.name),
    "frontier": (),
}
