"""Gates: the reasons not to visit a host now, as one ordered table.

The gates of the crawl stop all hosts. Pacing evaluates them before the frontier chooses a host.
Check-out evaluates the gates of the first ready host, and applies the effect of the first closed
one. A new reason not to visit a host is a new row of the table.

`gossamer why` evaluates all gates in another process, with inputs from the store and from the
control state (`stored_gate_inputs`). Two things are not gates, because they choose among hosts that
may all be visited: the rate of orders (`pacing.py`) and the slots of a partition (`dispatch.py`).
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from gossamer.events import CrawlDefined, Outcome, Speed
from gossamer.log import partition_of
from gossamer.services.frontier.partition.politeness import (
    SITE_CAUSE,
    Overrides,
    format_delay,
    next_delay,
    taken_over_until,
    unreadable_until,
    was_visited_before_claim,
)
from gossamer.services.frontier.tables.conditions import Condition, Trigger
from gossamer.services.frontier.tables.hosts import HostRow, RobotsRow
from gossamer.services.frontier.tables.partitions import partition_key, partition_keys
from gossamer.services.frontier.tables.sites import SiteRow, UnreadablePages
from gossamer.services.frontier.totals.tally import PartitionTallyRow, TallyRow
from gossamer.speed import Speeds
from gossamer.store import Store
from gossamer.store.claims import ClaimRow, claim_key
from gossamer.web.url import host_name

if TYPE_CHECKING:
    # `gossamer why` imports this module, and the import of settings takes longer than the command.
    from gossamer.settings import FrontierSettings
MAX_PORTS = 100
"""Hosts of one name and scheme, with other ports, whose rows are read."""


@dataclass(frozen=True, slots=True)
class CrawlInputs:
    """The data that decide whether any host may be visited now."""

    crawl: CrawlDefined | None
    pages_left: int | None
    """Pages that the crawl's page limit still allows; None without a limit."""
    speed: Speed
    """The speed limit that is active now."""
    speed_until: float
    """When another speed limit may become active; infinity if never."""
    is_fleet_paused: bool = False
    """Whether all crawls are paused together."""


@dataclass(frozen=True, slots=True)
class HostInputs:
    """A host, and the data that decide whether it may be visited now."""

    now: float
    host: HostRow
    overrides: Overrides
    neighbours: Collection[str]
    """The other hosts of the site that are checked out."""
    site_at_once: int
    """Hosts of the site that may be checked out at once."""
    name_delay_until: float | None
    """When the courtesy delay of the host's name, under any scheme and port, is over."""
    unreadable: int
    """The number of the host's last pages that the parser could not read."""
    unreadable_until: float | None
    """Until when the host is postponed because of its unreadable pages."""
    taken_over_until: float | None
    """When the courtesy delay is over after a visit that a former owner ordered."""


class GateInputs(NamedTuple):
    """The inputs of all gates for one host."""

    crawl: CrawlInputs
    host: HostInputs


Inputs = TypeVar("Inputs", CrawlInputs, HostInputs)


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


class Gate(NamedTuple, Generic[Inputs]):
    """One reason not to visit a host now."""

    name: str
    text: str
    """The condition under which the gate is open, as a sentence for people."""
    effect: Effect
    closed: Callable[[Inputs], Closure | None]
    trigger: Trigger | None = None
    """The trigger of the host's change of condition."""
    cause: str | None = None
    """The value of the column `backoff_cause` while the host backs off; None for other effects."""


def closed_gates(at: GateInputs) -> Iterator[tuple[Gate[Any], Closure]]:
    """Yield all closed gates, in order. A host without closed gates may be visited."""
    yield from closed_crawl_gates(at.crawl)
    yield from closed_host_gates(at.host)


def closed_crawl_gates(at: CrawlInputs) -> Iterator[tuple[Gate[CrawlInputs], Closure]]:
    """Yield the closed gates of the crawl, in order."""
    return _find_closed(CRAWL_GATES, at)


def closed_host_gates(at: HostInputs) -> Iterator[tuple[Gate[HostInputs], Closure]]:
    """Yield the closed gates of a host, in order."""
    return _find_closed(HOST_GATES, at)


def _find_closed(
    gates: tuple[Gate[Inputs], ...], at: Inputs
) -> Iterator[tuple[Gate[Inputs], Closure]]:
    for gate in gates:
        if closed := gate.closed(at):
            yield gate, closed


def _check_fleet(at: CrawlInputs) -> Closure | None:
    return Closure(None, "all crawls are paused") if at.is_fleet_paused else None


def _check_crawl(at: CrawlInputs) -> Closure | None:
    if at.crawl is None:
        return Closure(None, "no crawl is defined")
    if at.crawl.removed:
        return Closure(None, "the crawl is removed")
    return Closure(None, "the crawl is paused") if at.crawl.paused else None


def _check_page_limit(at: CrawlInputs) -> Closure | None:
    if at.pages_left is None or at.pages_left > 0:
        return None
    return Closure(None, "the page limit of the crawl is reached")


def _check_speed(at: CrawlInputs) -> Closure | None:
    if 0 not in (at.speed.pages, at.speed.bytes):
        return None
    return Closure(None if at.speed_until == inf else at.speed_until, "the crawl's speed is 0")


def _check_lease(at: HostInputs) -> Closure | None:
    row = at.host
    if row.condition is not Condition.CHECKED_OUT:
        return None
    return Closure(row.lease.expires_at, f"a fetcher has order {row.lease.order}")


def _check_backoff(at: HostInputs) -> Closure | None:
    row = at.host
    if row.condition is not Condition.BACKING_OFF:
        return None
    return Closure(row.ready_at, row.backoff_reason or "the host backs off")


def _check_delay(at: HostInputs) -> Closure | None:
    row = at.host
    if row.condition is not Condition.DELAYED or row.ready_at <= at.now:
        return None
    delay = f"the courtesy delay is {format_delay(row.politeness.delay)}"
    return Closure(row.ready_at, row.backoff_reason or delay)


def _check_overrides(at: HostInputs) -> Closure | None:
    found = at.overrides.find_postponement(at.host, at.now)
    return Closure(found.until, found.reason) if found else None


def _check_unreadable(at: HostInputs) -> Closure | None:
    if at.unreadable_until is None or at.unreadable_until <= at.now:
        return None
    return Closure(at.unreadable_until, f"the last {at.unreadable} pages were unreadable")


def _check_retry_after(at: HostInputs) -> Closure | None:
    until = at.host.politeness.busy_until
    return Closure(until, "Retry-After") if until and until > at.now else None


def _check_name(at: HostInputs) -> Closure | None:
    name = host_name(at.host.host)
    same_name = [other for other in at.neighbours if host_name(other) == name]
    if not same_name:
        return None
    return Closure(None, f"{', '.join(same_name)}, on the same server, is being visited")


def _check_site(at: HostInputs) -> Closure | None:
    if len(at.neighbours) < at.site_at_once:
        return None
    return Closure(
        None, f"other hosts of the site are being visited: {', '.join(sorted(at.neighbours))}"
    )


def _check_name_delay(at: HostInputs) -> Closure | None:
    until, row = at.name_delay_until, at.host
    if until is None or until <= at.now:
        return None
    if row.condition in (Condition.DELAYED, Condition.BACKING_OFF) and until <= row.ready_at:
        return None  # The gates `delay` and `backoff` are closed for longer.
    return Closure(until, "the courtesy delay of the name")


def _check_takeover(at: HostInputs) -> Closure | None:
    until = at.taken_over_until
    return (
        Closure(until, "the courtesy delay after a takeover") if until and until > at.now else None
    )


CRAWL_GATES = (
    Gate("fleet", "The crawls are not paused together.", Effect.STOP, _check_fleet),
    Gate("crawl", "A crawl is defined and is not paused.", Effect.STOP, _check_crawl),
    Gate(
        "page limit", "The page limit of the crawl is not reached.", Effect.STOP, _check_page_limit
    ),
    Gate("speed", "The speed of the crawl is not 0.", Effect.STOP, _check_speed),
)
"""The gates of the crawl, in the order of evaluation."""
HOST_GATES = (
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
        "A Retry-After that was reported late, after the next order was made, is over.",
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
"""The gates of a host, in the order of evaluation: first those of its condition, which the
workbench has checked, then those of its neighbours, then the others."""
GATES: tuple[Gate[Any], ...] = (*CRAWL_GATES, *HOST_GATES)


def stored_gate_inputs(
    store: Store,
    crawl: str,
    partitions: int,
    host: HostRow,
    definition: CrawlDefined | None,
    overrides: Overrides,
    speeds: Speeds,
    settings: "Callable[[], FrontierSettings]",
    now: float,
    is_fleet_paused: bool = False,
) -> GateInputs:
    """Return the inputs of all gates for *host*, in a process that is not the frontier.

    *store* has *crawl* in *partitions* partitions. *definition*, *overrides*, *speeds*
    and *is_fleet_paused* are the control state. *settings* is called only if a gate needs them.
    """
    number = partition_of(host.site, partitions)
    tally = store.table(PartitionTallyRow).get(partition_key(number, partitions))
    tally = tally or PartitionTallyRow("")
    site = store.table(SiteRow).get(host.site) or SiteRow(host.site)
    neighbours = [
        other for other, at in tally.checked_out.items() if at == host.site and other != host.host
    ]
    unreadable = site.unreadable.get(host.host, UnreadablePages())
    taken_until, claim = None, store.table(ClaimRow).get(claim_key(number))
    had_orders = tally.orders_before_claim > 0
    if claim and was_visited_before_claim(host, claim.epoch, had_orders, site.hosts):
        robots = store.table(RobotsRow).get(host.host)
        delay = next_delay(settings(), host, robots, overrides)
        taken_until = taken_over_until(claim.claimed_at, delay, host)
    crawl_inputs = stored_crawl_inputs(
        store, crawl, partitions, definition, speeds, now, is_fleet_paused
    )
    host_inputs = HostInputs(
        now,
        host,
        overrides,
        neighbours,
        # Without neighbours, any limit leaves the gate open.
        site_at_once=settings().site_at_once if neighbours else 1,
        name_delay_until=_stored_name_delay(store, host),
        unreadable=unreadable.pages,
        unreadable_until=unreadable_until(unreadable, settings()) if unreadable.pages else None,
        taken_over_until=taken_until,
    )
    return GateInputs(crawl_inputs, host_inputs)


def stored_crawl_inputs(
    store: Store,
    crawl: str,
    partitions: int,
    definition: CrawlDefined | None,
    speeds: Speeds,
    now: float,
    is_fleet_paused: bool = False,
) -> CrawlInputs:
    """Return the inputs of the gates of *crawl*, in a process that is not the frontier."""
    return CrawlInputs(
        definition,
        pages_left=_stored_pages_left(store, crawl, partitions, definition),
        speed=speeds.at(now),
        speed_until=speeds.until(now),
        is_fleet_paused=is_fleet_paused,
    )


def pages_left(crawl: CrawlDefined, pages: int, outstanding: int) -> int:
    """Return the pages that the page limit of *crawl* still allows after *pages*. The *outstanding*
    visits may become pages."""
    return max(0, crawl.page_limit - pages - outstanding)


def _stored_pages_left(
    store: Store, crawl: str, partitions: int, definition: CrawlDefined | None
) -> int | None:
    if definition is None or not definition.max_pages:
        return None
    keys = partition_keys(partitions)
    tallies = store.table(TallyRow).get_all([(key, crawl) for key in keys])
    shared = store.table(PartitionTallyRow).get_all([(key, "") for key in keys])
    checked_out = [(site, host) for row in shared for host, site in row.checked_out.items()]
    rows = store.table(HostRow).get_all(checked_out)
    orders = (row.lease for row in rows if row.condition is Condition.CHECKED_OUT)
    outstanding = sum(order.outstanding for order in orders if order.crawl == crawl)
    return pages_left(definition, sum(row.pages for row in tallies), outstanding)


def _stored_name_delay(store: Store, host: HostRow) -> float | None:
    """Return the latest end of a courtesy delay of the hosts with the name of *host*."""
    rows, name = store.table(HostRow), host_name(host.host)
    same_name = [host]
    for key in (f"http://{name}", f"https://{name}"):
        same_name += filter(None, [rows.get(host.site, key)])
        on_ports = rows.scan(host.site, after=f"{key}:", limit=MAX_PORTS)
        same_name += [row for row in on_ports if host_name(row.host) == name]
    ends = [row.politeness.delay_until for row in same_name]
    return max((end for end in ends if end is not None), default=None)
