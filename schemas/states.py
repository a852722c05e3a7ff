"""Renders a table of transitions as a page: the states, a diagram, and the transitions."""

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Protocol, TypeVar

State = TypeVar("State", bound=StrEnum)


class Transition(Protocol):
    """A change from one state to another."""

    @property
    def before(self) -> StrEnum:
        """The state that the transition leaves."""

    @property
    def after(self) -> StrEnum:
        """The state that the transition enters."""

    @property
    def meaning(self) -> str:
        """A sentence for people."""


def page(
    head: str,
    column: str,
    meanings: Mapping[State, str],
    start: str,
    changes: Iterable[tuple[str, Transition]],
) -> str:
    """Return the page. *start* is the label of the initial arrow, *changes* are causes and
    transitions."""
    rows = [*changes]
    states = _table(f"| {column} | |", "|---|---|", meanings.items())
    cells = ((one.before, cause, one.after, one.meaning) for cause, one in rows)
    table = _table("| from | when | to | meaning |", "|---|---|---|---|", cells)
    return "\n".join([head, *states, "", *_picture(meanings, start, rows), "", *table, ""])


def _table(head: str, line: str, rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    yield head
    yield line
    for first, *others in rows:
        name = first if len(others) > 1 else f"**{first}**"
        yield f"| {' | '.join([name, *others])} |"


def _picture(
    states: Iterable[StrEnum], start: str, rows: Iterable[tuple[str, Transition]]
) -> Iterator[str]:
    arrows: dict[tuple[StrEnum, StrEnum], list[str]] = {}
    for cause, one in rows:
        arrows.setdefault((one.before, one.after), []).append(cause)
    yield "```mermaid"
    yield "stateDiagram-v2"
    for state in states:
        yield f'    state "{state}" as {state.name.lower()}'
    yield f"    [*] --> {start}"
    for (before, after), words in arrows.items():
        yield f"    {before.name.lower()} --> {after.name.lower()}: {', '.join(words)}"
    yield "```"
