"""Gates: the reasons not to visit a host now, as one ordered table.

Check-out evaluates the gates for the first of the ready hosts, and applies the effect of the first
closed gate. `gossamer why` prints the closed gates whose inputs are in the store: it does not see
the page limit, slots, unreadable pages, the delay of a name, and a takeover. A new reason not to
visit one host is a new row of the table. The speed of the crawl and the slots of a partition stop
all hosts, and are enforced before a host is chosen (`pacing.py`, `loading.py`).
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import NamedTuple

from gossamer.crawl import why_idle
from gossamer.events import CrawlDefined, Outcome
from gossamer.web.url import host_name
from services.frontier.conditions import Condition, Trigger
from services.frontier.overrides import SITE_CAUSE, Overrides
from services.frontier.rows import HostRow


@dataclass(frozen=True, slots=True)
class GateInputs:
    """A host, and all data that decide whether it may be visited *now*."""

    now: float
    host: HostRow
    crawl: CrawlDefined | None
    overrides: Overrides
    pages_left: float = inf
    """Pages that the crawl's page limit still allows."""
    speed_from: float = 0.0
    """When the speed of the crawl allows the next visit; infinity if the speed is zero."""
    has_slot: bool = True
    """Whether one more host of its partition may be checked out."""
    neighbours: Collection[str] = ()
    """The other hosts of the site that are checked out."""
    site_at_once: int = 1
    """Hosts of the site that may be checked out at once."""
    unreadable: int = 0
    """The number of the host's last pages that the parser could not read."""
    unreadable_until: float = 0.0
    """Until when the host is postponed because of its unreadable pages."""
    name_delay_until: float = 0.0
    """When the courtesy delay of the host's name, under any scheme and port, is over."""
    taken_over_until: Callable[[], float] = float
    """Returns when the courtesy delay is over after a visit that a former owner ordered. It reads
    the host's robots rules, so it is called last, when all other gates are open."""


class Closure(NamedTuple):
    """Until when a gate is closed (None if that is unknown), and a reason for people."""

    until: float | None
    reason: str


class Effect(Enum):
    """The effect of a closed gate on the host."""

    STOP = "no host is ordered"
    WAIT = "the host is not ready"
    BACK_OFF = "the host backs off until the gate opens"
    DELAY = "the host is delayed until the gate opens"
    BEHIND_NAME = "the host is ready once no other host of its name is checked out"
    BEHIND_SITE = "the host is ready once fewer hosts of its site are checked out"


class Gate(NamedTuple):
    """One reason not to visit a host now."""

    name: str
    text: str
    """The condition under which the gate is open, as a sentence for people."""
    effect: Effect
    closed: Callable[[GateInputs], Closure | None]
    trigger: Trigger | None = None
    """The trigger of the host's change of condition."""
    cause: str = ""
    """The value of the column `backoff_cause` while the host backs off."""


def closed_gates(at: GateInputs) -> Iterator[tuple[Gate, Closure]]:
    """Yield the closed gates, in order. A host without closed gates may be visited."""
    for gate in GATES:
        if closed := gate.closed(at):
            yield gate, closed


def _check_crawl(at: GateInputs) -> Closure | None:
    why = why_idle(at.crawl, at.host.queued)
    return Closure(None, why) if why else None


def _check_page_limit(at: GateInputs) -> Closure | None:
    return Closure(None, "the page limit of the crawl is reached") if at.pages_left <= 0 else None


def _check_speed(at: GateInputs) -> Closure | None:
    if at.speed_from <= at.now:
        return None
    until = None if at.speed_from == inf else at.speed_from
    return Closure(until, "the speed of the crawl allows no visit now")


def _check_slots(at: GateInputs) -> Closure | None:
    if at.has_slot:
        return None
    return Closure(None, "frontier.checked_out_limit is reached")


def _check_lease(at: GateInputs) -> Closure | None:
    row = at.host
    if row.condition is not Condition.CHECKED_OUT:
        return None
    return Closure(row.lease.expires_at, f"a fetcher has order {row.lease.order}")


def _check_backoff(at: GateInputs) -> Closure | None:
    row = at.host
    if row.condition is not Condition.BACKING_OFF:
        return None
    return Closure(row.ready_at, row.backoff_reason or "the host backs off")


def _check_delay(at: GateInputs) -> Closure | None:
    row = at.host
    if row.condition is not Condition.DELAYED or row.ready_at <= at.now:
        return None
    delay = f"the courtesy delay is {row.politeness.delay:g} s"
    return Closure(row.ready_at, row.backoff_reason or delay)


def _check_overrides(at: GateInputs) -> Closure | None:
    until, why = at.overrides.check_visit(at.host, at.now)
    return Closure(until, why) if until else None


def _check_unreadable(at: GateInputs) -> Closure | None:
    if at.unreadable_until <= at.now:
        return None
    return Closure(at.unreadable_until, f"the last {at.unreadable} pages were unreadable")


def _check_retry_after(at: GateInputs) -> Closure | None:
    until = at.host.politeness.busy_until
    return Closure(until, "Retry-After") if until and until > at.now else None


def _check_name(at: GateInputs) -> Closure | None:
    name = host_name(at.host.host)
    same_name = [other for other in at.neighbours if host_name(other) == name]
    if not same_name:
        return None
    return Closure(None, f"{', '.join(same_name)}, on the same server, is being visited")


def _check_site(at: GateInputs) -> Closure | None:
    if len(at.neighbours) < at.site_at_once:
        return None
    return Closure(
        None, f"other hosts of the site are being visited: {', '.join(sorted(at.neighbours))}"
    )


def _check_name_delay(at: GateInputs) -> Closure | None:
    until = at.name_delay_until
    return Closure(until, "the courtesy delay of the name") if until > at.now else None


def _check_takeover(at: GateInputs) -> Closure | None:
    until = at.taken_over_until()
    return Closure(until, "the courtesy delay after a takeover") if until > at.now else None


GATES = (
    Gate("crawl", "A crawl is defined and is not paused.", Effect.STOP, _check_crawl),
    Gate(
        "page limit", "The page limit of the crawl is not reached.", Effect.STOP, _check_page_limit
    ),
    Gate("speed", "The speed of the crawl allows a visit.", Effect.STOP, _check_speed),
    Gate("lease", "No fetcher holds the host under a lease.", Effect.WAIT, _check_lease),
    Gate(
        "backoff",
        "The host does not back off.",
        Effect.WAIT,
        _check_backoff,
    ),
    Gate(
        "delay",
        "The courtesy delay since the host's last visit is over.",
        Effect.WAIT,
        _check_delay,
    ),
    Gate("slots", "One more host of the partition may be checked out.", Effect.STOP, _check_slots),
    Gate(
        "name",
        "No other scheme or port of the host's name is being visited.",
        Effect.BEHIND_NAME,
        _check_name,
    ),
    Gate(
        "site",
        "Fewer hosts of the site than `frontier.site_at_once` are being visited.",
        Effect.BEHIND_SITE,
        _check_site,
    ),
    Gate(
        "name delay",
        "The courtesy delay of the host's name is over.",
        Effect.DELAY,
        _check_name_delay,
        Trigger.NAME_DELAYED,
    ),
    Gate(
        "retry-after",
        "No Retry-After that was reported late, after the next order, is in force.",
        Effect.BACK_OFF,
        _check_retry_after,
        Trigger.POSTPONED,
        Outcome.BUSY,
    ),
    Gate(
        "overrides",
        "The site and the host are not off, in quiet hours or over their daily budget.",
        Effect.BACK_OFF,
        _check_overrides,
        Trigger.POSTPONED,
        SITE_CAUSE,
    ),
    Gate(
        "unreadable pages",
        "The host's last pages were readable.",
        Effect.BACK_OFF,
        _check_unreadable,
        Trigger.POSTPONED,
        SITE_CAUSE,
    ),
    Gate(
        "takeover",
        "The courtesy delay after a visit that a former owner ordered is over.",
        Effect.DELAY,
        _check_takeover,
        Trigger.TAKEN_OVER,
    ),
)
"""The gates in the order of evaluation: first those of all hosts, then those of the workbench, then
those of the host."""
