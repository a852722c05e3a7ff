"""Draws the life of a partition from the runtime's table of transitions, for the documentation.

python -m schemas.lives [FILE]      (what scripts/schemas runs)
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from gossamer.runtime.partitions import LIVES, TRANSITIONS, Life

FILE = Path(__file__).resolve().parents[1] / "docs" / "partition-life.md"
HEAD = """\
<!-- Written by scripts/schemas from gossamer/runtime/partitions.py: change it there. -->
# The life of a partition

A member of a group is in one of four states with each partition. Only the changes below can happen:
the loop holds each one against this table, and stops at any other.
"""


def main(file: Path) -> None:
    """Write the page into *file*."""
    file.write_text(text(), encoding="utf-8")


def text() -> str:
    """Return the page: the states, the picture, and what each change means."""
    return "\n".join([HEAD, *_states(), "", *_picture(), "", *_table(), ""])


def _states() -> Iterator[str]:
    yield "| state | |"
    yield "|---|---|"
    for life, meaning in LIVES.items():
        yield f"| **{life}** | {meaning} |"


def _picture() -> Iterator[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    for life in Life:
        yield f'    state "{life}" as {life.name.lower()}'
    yield "    [*] --> lost"
    for row in TRANSITIONS:
        yield f"    {row.before.name.lower()} --> {row.after.name.lower()}: {row.cause}"
    yield "```"


def _table() -> Iterator[str]:
    yield "| from | when | to | what has happened |"
    yield "|---|---|---|---|"
    for row in TRANSITIONS:
        yield f"| {row.before} | {row.cause} | {row.after} | {row.meaning} |"


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
