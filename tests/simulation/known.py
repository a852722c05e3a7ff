"""Promises that are known to be broken, each with its cause.

A run fails for a broken promise that is not listed here. It also fails if a listed seed keeps the
promise, so that the row is removed when its cause is cured.
"""

import re
from dataclasses import dataclass

from tests.simulation.run import Result


@dataclass(frozen=True)
class KnownFailure:
    """A promise that is known to be broken."""

    report: str
    """A pattern of the line that reports the broken promise."""
    cause: str
    seeds: frozenset[int]
    """The seeds that are known to break the promise. Any other seed fails."""

    def explains(self, seed: int, line: str) -> bool:
        """Return whether *line*, in the report of *seed*, is this failure."""
        return seed in self.seeds and re.fullmatch(self.report, line) is not None


KNOWN_FAILURES: tuple[KnownFailure, ...] = ()


def failures_of(result: Result) -> list[str]:
    """Return the broken promises without a known cause, and a line for each known failure that the
    seed no longer shows."""
    unknown = [
        line
        for line in result.broken
        if not any(known.explains(result.seed, line) for known in KNOWN_FAILURES)
    ]
    cured = [
        f"seed {result.seed} keeps the promise of {known.report!r}: remove the seed from "
        "tests/simulation/known.py"
        for known in KNOWN_FAILURES
        if result.seed in known.seeds
        and not any(known.explains(result.seed, line) for line in result.broken)
    ]
    return unknown + cured


def causes_of(result: Result) -> list[str]:
    """Return the known causes of the promises that the run broke."""
    return [
        known.cause
        for known in KNOWN_FAILURES
        if any(known.explains(result.seed, line) for line in result.broken)
    ]
