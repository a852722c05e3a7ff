"""Strain: the delay of a server that seems to suffer is doubled.

A server seems strained when it answers with errors, says that it is busy, does not
answer, or takes much longer than it used to. Each time its delay is doubled, up to a limit. Each
visit that goes well halves the delay again. A visit is compared with the usual time of the host's
visits, a slow average. If a server stays slow, the average rises and the delay returns to normal.
Only the time of visits to pages counts: a robots.txt is a file on the server's disk, and its time
does not show the time of pages.
"""

from msgspec.structs import replace

from gossamer.events import Purpose, VisitEnded
from gossamer.events.outcomes import OUTCOMES
from gossamer.services.frontier.tables.hosts import HostRow

MAX_STRAIN = 6
"""The largest number of times that the delay is doubled."""
SLOWDOWN_FACTOR, MIN_SLOW_SECONDS = 3.0, 1.0
"""A visit is slow if it takes this many times the usual time, and more than this many seconds."""
VISIT_WEIGHT = 0.05
"""The weight of one visit in the usual time."""


def update_strain(row: HostRow, event: VisitEnded) -> HostRow:
    """Return the row of a host with the strain and the usual time after *event*, a visit that sent
    a request."""
    before, took, is_slow = row.politeness, event.took, False
    usual = before.usual_took
    if event.visit.purpose is Purpose.PAGE:
        is_slow = 0 < SLOWDOWN_FACTOR * (usual or 0.0) < took and took > MIN_SLOW_SECONDS
        usual = usual + VISIT_WEIGHT * (took - usual) if usual else took
    change = 1 if is_slow or OUTCOMES[event.outcome].strains else -1
    strain = min(max(before.strain + change, 0), MAX_STRAIN)
    return replace(row, politeness=replace(before, usual_took=usual, strain=strain))
