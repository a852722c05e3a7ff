"""Retry-After: the time before which a server wants no further request (RFC 9110, 10.2.3)."""

from msgspec.structs import replace

from gossamer.events import Outcome, VisitEnded
from gossamer.events.outcomes import WALLED
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.settings import FrontierSettings

OTHERS_WITH_RETRY_AFTER = frozenset({Outcome.OTHER, *WALLED})
"""The outcomes beside `busy` whose Retry-After is obeyed."""


def has_other_retry_after(event: VisitEnded) -> bool:
    """Return whether *event* has a Retry-After that its outcome alone does not imply."""
    return event.outcome in OTHERS_WITH_RETRY_AFTER and event.retry_after > 0


def extend_busy(settings: FrontierSettings, row: HostRow, event: VisitEnded, now: float) -> HostRow:
    """Return *row* with `busy_until` at the end of the event's Retry-After, unless it is later
    already."""
    until = now + min(event.retry_after, settings.retry_after_limit)
    until = max(until, row.politeness.busy_until or 0.0)
    return replace(row, politeness=replace(row.politeness, busy_until=until))
