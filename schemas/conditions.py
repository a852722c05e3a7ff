"""Draws a host's conditions from the frontier's table of transitions, for the documentation.

python -m schemas.conditions [FILE]      (what scripts/schemas runs)
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from services.frontier.conditions import CONDITIONS, TRANSITIONS, Condition, Transition

FILE = Path(__file__).resolve().parents[1] / "docs" / "host-conditions.md"
HEAD = """\
<!-- Written by scripts/schemas from services/frontier/conditions.py: change it there. -->
# A host's conditions

A host is in one of five conditions. Only the changes below can happen: the frontier holds each one
against this table before it writes it, and stops at any other.
"""


def main(file: Path) -> None:
    """Write the page into *file*."""
    file.write_text(text(), encoding="utf-8")


def text() -> str:
    """Return the page: the conditions, the picture, and what each change means."""
    return "\n".join([HEAD, *_conditions(), "", *_picture(), "", *_table(), ""])


def _conditions() -> Iterator[str]:
    yield "| condition | |"
    yield "|---|---|"
    for condition, meaning in CONDITIONS.items():
        yield f"| **{condition}** | {meaning} |"


def _picture() -> Iterator[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    for condition in Condition:
        yield f'    state "{condition}" as {condition.name.lower()}'
    yield "    [*] --> idle: a host is met for the first time"
    for (before, after), words in _arrows().items():
        yield f"    {before.name.lower()} --> {after.name.lower()}: {', '.join(words)}"
    yield "```"


def _arrows() -> dict[tuple[Condition, Condition], list[str]]:
    arrows: dict[tuple[Condition, Condition], list[str]] = {}
    for row in TRANSITIONS:
        arrows.setdefault((row.before, row.after), []).append(row.trigger)
    return arrows


def _table() -> Iterator[str]:
    yield "| from | when | to | what has happened |"
    yield "|---|---|---|---|"
    yield from map(_line, TRANSITIONS)


def _line(row: Transition) -> str:
    return f"| {row.before} | {row.trigger} | {row.after} | {row.meaning} |"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
