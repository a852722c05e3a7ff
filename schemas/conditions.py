"""Draws a host's conditions from the frontier's table of transitions, for the documentation.

python -m schemas.conditions [FILE]      (what scripts/schemas runs)
"""

import sys
from pathlib import Path

from schemas.states import page
from services.frontier.conditions import CONDITIONS, TRANSITIONS
from services.frontier.gates import GATES

FILE = Path(__file__).resolve().parents[1] / "docs" / "host-conditions.md"
HEAD = """\
<!-- Written by scripts/schemas from services/frontier/conditions.py: change it there. -->
# A host's conditions

A host is in one of five conditions. Only the changes below can happen: the frontier holds each one
against this table before it writes it, and stops at any other.
"""
GATES_HEAD = """
## Gates: may a host be visited now?

A ready host whose turn has come is checked out if all of these hold. The first one that does not
hold decides what becomes of it. `gossamer why URL` names all that do not hold.

| gate | it is open if | while it is closed |
|---|---|---|"""


def main(file: Path) -> None:
    """Write the page into *file*."""
    file.write_text(text(), encoding="utf-8")


def text() -> str:
    """Return the page."""
    changes = ((row.trigger, row) for row in TRANSITIONS)
    start = "idle: a host is met for the first time"
    rows = (f"| {gate.name} | {gate.text} | {gate.effect.value} |" for gate in GATES)
    return page(HEAD, "condition", CONDITIONS, start, changes) + "\n".join([GATES_HEAD, *rows, ""])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else FILE)
