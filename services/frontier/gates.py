"""Gates: may this host be visited now? If not: until when, and why? One ordered table.

Check-out evaluates it for the host whose turn has come, and does what the first closed gate says;
`gossamer why` prints all that are closed. A gate looks at a `Situation` alone, so both say the
same. A new reason not to visit a host is a new row here.
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
from services.frontier.overrides import HELD, Overrides
from services.frontier.rows import HostRow


@dataclass(frozen=True, slots=True)
class Situation:
    """A host, and everything that may keep it from being visited *now*."""

    now: float
    host: HostRow
    crawl: CrawlDefined | None
    overrides: Overrides
    pages_left: float = inf
    """How many pages the crawl's page limit allows."""
    speed_from: float = 0.0
    """When the speed of the crawl allows the next visit; infinity: it is zero."""
    has_slot: bool = True
    """Whether one more host of its partition may be checked out."""
    others: Collection[str] = ()
    """The other hosts of its site that are checked out …"""
    site_at_once: int = 1
    """… and how many may be at once."""
    unreadable: int = 0
    """How many of its last pages the parser could not read …"""
    unreadable_until: float = 0.0
    """… and until when it is left alone for that."""
    name_rests_until: float = 0.0
    """When the courtesy delay of its name is over, under any scheme and port."""
    taken_over_until: Callable[[], float] = float
    """Returns when its courtesy delay is over after a visit that a former owner ordered. It reads
    the host's robots rules, and is asked only where all other gates are open."""


class Closed(NamedTuple):
    """Until when a gate stays closed, None if that is not known, and a reason for people."""

    until: float | None
    why: str


class Effect(Enum):
    """What check-out does with a host whose gate is closed."""

    STOP = "no host is ordered"
    WAIT = "the host is not ready, so its turn has not come"
    BACK_OFF = "the host backs off until the gate opens"
    DELAY = "the host is delayed until the gate opens"
    BEHIND_NAME = "the host is ready once no other host of its name is checked out"
    BEHIND_SITE = "the host is ready once fewer hosts of its site are checked out"


class Gate(NamedTuple):
    """One reason not to visit a host now."""

    name: str
    text: str
    """A sentence for people."""
    effect: Effect
    closed: Callable[[Situation], Closed | None]
    trigger: Trigger | None = None
    """The trigger of the host's change of condition."""
    cause: str = ""
    """The column `backoff_cause` of a host that backs off."""


def closed_gates(at: Situation) -> Iterator[tuple[Gate, Closed]]:
    """Yield the gates that are closed, in order; none if the host may be visited."""
    for gate in GATES:
        if closed := gate.closed(at):
            yield gate, closed


def _crawl(at: Situation) -> Closed | None:
    why = why_idle(at.crawl, at.host.queued)
    return Closed(None, why) if why else None


def _page_limit(at: Situation) -> Closed | None:
    return Closed(None, "the page limit of the crawl is reached") if at.pages_left <= 0 else None


def _speed(at: Situation) -> Closed | None:
    if at.speed_from <= at.now:
        return None
    until = None if at.speed_from == inf else at.speed_from
    return Closed(until, "the speed of the crawl allows no visit now")


def _slots(at: Situation) -> Closed | None:
    if at.has_slot:
        return None
    return Closed(None, "as many hosts as frontier.checked_out_limit allows are checked out")


def _lease(at: Situation) -> Closed | None:
    row = at.host
    if row.condition is not Condition.CHECKED_OUT:
        return None
    return Closed(row.lease.expires_at, f"a fetcher has order {row.lease.order}")


def _backoff(at: Situation) -> Closed | None:
    row = at.host
    if row.condition is not Condition.BACKING_OFF:
        return None
    return Closed(row.ready_at, row.backoff_reason or "it backs off")


def _delay(at: Situation) -> Closed | None:
    row = at.host
    if row.condition is not Condition.DELAYED or row.ready_at <= at.now:
        return None
    delay = f"its courtesy delay is {row.politeness.delay:g} s"
    return Closed(row.ready_at, row.backoff_reason or delay)


def _overrides(at: Situation) -> Closed | None:
    until, why = at.overrides.held_back(at.host, at.now)
    return Closed(until, why) if until else None


def _unreadable(at: Situation) -> Closed | None:
    if at.unreadable_until <= at.now:
        return None
    return Closed(at.unreadable_until, f"its last {at.unreadable} pages could not be read")


def _retry_after(at: Situation) -> Closed | None:
    until = at.host.politeness.busy_until
    return Closed(until, "Retry-After") if until and until > at.now else None


def _name(at: Situation) -> Closed | None:
    name = host_name(at.host.host)
    others = [other for other in at.others if host_name(other) == name]
    if not others:
        return None
    return Closed(None, f"{', '.join(others)} is being visited, the same server")


def _site(at: Situation) -> Closed | None:
    if len(at.others) < at.site_at_once:
        return None
    return Closed(None, f"of its site others are being visited: {', '.join(sorted(at.others))}")


def _name_rests(at: Situation) -> Closed | None:
    until = at.name_rests_until
    return Closed(until, "the courtesy delay of its name") if until > at.now else None


def _taken_over(at: Situation) -> Closed | None:
    until = at.taken_over_until()
    return Closed(until, "its courtesy delay after a takeover") if until > at.now else None


GATES = (
    Gate("crawl", "A crawl is defined, and is not paused.", Effect.STOP, _crawl),
    Gate("page limit", "The page limit of the crawl is not reached.", Effect.STOP, _page_limit),
    Gate("speed", "The speed of the crawl allows a visit.", Effect.STOP, _speed),
    Gate("lease", "No fetcher has the host under a lease.", Effect.WAIT, _lease),
    Gate(
        "backoff",
        "The host is not in backoff.",
        Effect.WAIT,
        _backoff,
    ),
    Gate("delay", "The courtesy delay after its last visit is over.", Effect.WAIT, _delay),
    Gate("slots", "One more host of its partition may be checked out.", Effect.STOP, _slots),
    Gate("name", "No other scheme or port of its name is visited.", Effect.BEHIND_NAME, _name),
    Gate("site", "Fewer hosts of its site than the limit are visited.", Effect.BEHIND_SITE, _site),
    Gate(
        "name rests",
        "The courtesy delay of its name is over.",
        Effect.DELAY,
        _name_rests,
        Trigger.NAME_RESTS,
    ),
    Gate(
        "retry-after",
        "No Retry-After was reported late, after the host was released.",
        Effect.BACK_OFF,
        _retry_after,
        Trigger.HELD_BACK,
        Outcome.BUSY,
    ),
    Gate(
        "overrides",
        "Its site and host are not off, in quiet hours or over their daily budget.",
        Effect.BACK_OFF,
        _overrides,
        Trigger.HELD_BACK,
        HELD,
    ),
    Gate(
        "unreadable pages",
        "Its last pages could be read by the parser.",
        Effect.BACK_OFF,
        _unreadable,
        Trigger.HELD_BACK,
        HELD,
    ),
    Gate(
        "takeover",
        "The courtesy delay after a visit that a former owner ordered is over.",
        Effect.DELAY,
        _taken_over,
        Trigger.TAKEN_OVER,
    ),
)
"""In the order in which they are evaluated: first what holds for all hosts, then what only the
workbench knows, then what is known of this host."""
