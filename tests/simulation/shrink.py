"""Shrinks a failing run to the harms that break the promise, and to a short story of it."""

from collections import deque
from dataclasses import replace

from tests.simulation.run import Result, simulate

MAX_LINES = 20
"""Lines of a story in addition to the harms and the broken promises."""
WIDTH = 180
EXPLAINING_EVENTS = (
    "partitions assigned by a rebalance",
    "log or store unavailable: starting again",
    "log or store unavailable: keeping work in progress",
    "service ends after a failure",
    "service ends after an internal error",
    "record became a dead letter",
    "clock was set: reloading the memory",
    "service stopped",
)
"""Log lines that explain the course of a run."""


def kind_of(line: str) -> str:
    """Return a broken promise without the parts that differ from run to run."""
    words = (word for word in line.split() if "/" not in word and not any(map(str.isdigit, word)))
    return " ".join(words)[:60]


def shrink_run(result: Result) -> Result:
    """Return a run of the same seed that breaks one of the same promises with fewer harms.

    Harms are omitted one after another, the last one first, until each is needed.
    """
    kinds = {kind_of(line) for line in result.broken}
    kept, best, is_shrinking = [*range(result.planned)], result, True
    while is_shrinking:
        is_shrinking = False
        for number in reversed(kept):
            fewer = [one for one in kept if one != number]
            found = simulate(result.seed, chosen=fewer)
            if kinds & {kind_of(line) for line in found.broken}:
                kept, best, is_shrinking = fewer, replace(found, chosen=tuple(fewer)), True
    return best


def story(result: Result) -> str:
    """Return the harms of a run, the broken promises, and the last log lines that explain them."""
    lines: deque[str] = deque(maxlen=MAX_LINES)

    def note(line: str) -> None:
        if any(repr(event) in line for event in EXPLAINING_EVENTS):
            lines.append(f"  {line[:WIDTH]}")

    simulate(result.seed, log=note, chosen=result.chosen)
    is_shrinking = f"repeat with: python -m bench.simulate --seed {result.seed} --shrink"
    return "\n".join([result.report(), *lines, f"  {is_shrinking}"])
