"""Shrinks a failing run: to the harms that break the promise, and to a short story of it."""

from collections import deque
from dataclasses import replace

from tests.simulation.run import Result, simulate

LINES = 20
"""Lines of a story beside the harms and the broken promises."""
WIDTH = 180
TELLING = ("rebalance", "waiting", "failed", "dead letter", "the clock was set", "stopped")
"""What the processes log of why something went another way."""


def kind_of(line: str) -> str:
    """Return a broken promise without what differs from run to run."""
    words = (word for word in line.split() if "/" not in word and not any(map(str.isdigit, word)))
    return " ".join(words)[:60]


def shrunk(result: Result) -> Result:
    """Return a run of the same seed that breaks one of the same promises with fewer harms.

    Harms are left out one after another, the last one first, until each is needed.
    """
    kinds = {kind_of(line) for line in result.broken}
    kept, best, again = [*range(result.planned)], result, True
    while again:
        again = False
        for number in reversed(kept):
            fewer = [one for one in kept if one != number]
            found = simulate(result.seed, chosen=fewer)
            if kinds & {kind_of(line) for line in found.broken}:
                kept, best, again = fewer, replace(found, chosen=tuple(fewer)), True
    return best


def story(result: Result) -> str:
    """Return what was done in a run, what broke, and the last lines that tell how."""
    lines: deque[str] = deque(maxlen=LINES)

    def note(line: str) -> None:
        if any(repr(word) in line for word in TELLING):
            lines.append(f"  {line[:WIDTH]}")

    simulate(result.seed, log=note, chosen=result.chosen)
    again = f"again: python -m bench.simulate --seed {result.seed} --shrink"
    return "\n".join([result.report(), *lines, f"  {again}"])
