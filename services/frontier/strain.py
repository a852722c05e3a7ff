"""Giving way: a server that seems strained is asked more rarely, and by and by as before.

It seems so when it answers with errors, says that it is busy, is silent, or takes much longer than
it used to: each time its delay is doubled, up to a limit, and each visit that went well halves it
again. What it used to take is learnt slowly, so that a server which has become slow for good is not
given way to for ever. Only pages count for that: a robots.txt is a file on the server's disk, and
says nothing of the time of its pages. The delay is never less than it would be otherwise.
"""

from msgspec.structs import replace

from gossamer.events import Purpose, VisitEnded
from gossamer.events.outcomes import OUTCOMES
from services.frontier.rows import HostRow

MOST = 6
"""How often the delay is doubled."""
LONGEST, SHORTEST = 60.0, 0.1
"""Seconds that a delay is made at most by that, and that it counts for at least."""
SLOWER, NOTICEABLE = 3.0, 1.0
"""So many times what it used to take, and more than so many seconds, is slow."""
LEARNT = 0.05
"""How much a visit counts for what the server used to take."""


def weighed(row: HostRow, event: VisitEnded) -> HostRow:
    """Return the row of a host with what *event*, a visit at which it was asked, shows of it."""
    took, usual, is_slow = event.took, row.usual_took, False
    if event.visit.purpose is Purpose.PAGE:
        is_slow = 0 < SLOWER * usual < took and took > NOTICEABLE
        usual = usual + LEARNT * (took - usual) if usual else took
    change = 1 if is_slow or OUTCOMES[event.outcome].strains else -1
    return replace(row, usual_took=usual, strain=min(max(row.strain + change, 0), MOST))


def given_way(delay: float, strain: int) -> float:
    """Return the *delay* of a host that seems strained so many times more than it was at ease."""
    if not strain:
        return delay
    return max(delay, min(max(delay, SHORTEST) * 2.0**strain, LONGEST))
