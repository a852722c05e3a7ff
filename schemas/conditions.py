"""Draws a host's conditions from the frontier's table of transitions, for the documentation.

python -m schemas.conditions [FILE]      (what scripts/schemas runs)
"""

import sys
from pathlib import Path

from schemas.states import page
from services.frontier.conditions import CONDITIONS, TRANSITIONS

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
    """Return the page."""
    changes = ((row.trigger, row) for row in TRANSITIONS)
    return page(HEAD, "condition", CONDITIONS, "idle: a host is met for the first time", changes)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
