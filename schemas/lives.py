"""Draws the life of a partition from the runtime's table of transitions, for the documentation.

python -m schemas.lives [FILE]      (what scripts/schemas runs)
"""

import sys
from pathlib import Path

from gossamer.runtime.partitions import LIVES, TRANSITIONS
from schemas.states import page

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
    """Return the page."""
    changes = ((row.cause, row) for row in TRANSITIONS)
    return page(HEAD, "state", LIVES, "lost", changes)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
