"""The five conditions of a host and the transitions between them, as one table.

`Partition.update` alone changes a condition, and looks the new one up in this table. No other
change can happen to a host. `docs/host-conditions.md` is generated from the table.
"""

from enum import StrEnum
from typing import NamedTuple

from gossamer.errors import GossamerError


class Condition(StrEnum):
    """The condition of a host. A new host is idle."""

    IDLE = "idle"
    READY = "ready"
    DELAYED = "delayed"
    CHECKED_OUT = "checked out"
    BACKING_OFF = "backing off"


CONDITIONS = {
    Condition.IDLE: "The host's queues are empty.",
    Condition.READY: "The host may be visited now.",
    Condition.DELAYED: "The courtesy delay since the host's last visit is not over.",
    Condition.CHECKED_OUT: "A fetcher holds the host and a batch of its URLs under a lease.",
    Condition.BACKING_OFF: "The host is not visited until a time. It is down, its name does not "
    "resolve, it sent Retry-After, or a gate postpones it.",
}

LISTED_CONDITIONS = (Condition.READY, Condition.DELAYED, Condition.CHECKED_OUT)
"""The conditions of a host with queued URLs that does not back off. Such a host is listed in the
directory."""


class Trigger(StrEnum):
    """An event that changes a host's condition."""

    QUEUED = "queued"
    QUEUED_EARLY = "queued early"
    QUEUED_WHILE_FAILING = "queued while failing"
    BACKOFF_OVER = "backoff over"
    DELAY_OVER = "delay over"
    ORDERED = "ordered"
    EXCLUDED = "excluded"
    RELEASED = "released"
    EMPTIED = "emptied"
    FAILED = "failed"
    LEASE_EXPIRED = "lease expired"
    SUSPECTED = "suspected"
    FENCED = "fenced"
    TAKEN_OVER = "taken over"
    POSTPONED = "postponed"
    NAME_DELAYED = "name delayed"
    FORWARDED = "forwarded"
    AWAITS_VERDICT = "awaits verdict"
    ERASED = "erased"


class Transition(NamedTuple):
    """A change from *before* to *after* on *trigger*; *meaning* is a sentence for people."""

    before: Condition
    trigger: Trigger
    after: Condition
    meaning: str


ERASURE = "The host was erased on demand, or the crawl whose URLs waited there was removed."
TRANSITIONS = (
    Transition(
        Condition.IDLE,
        Trigger.QUEUED,
        Condition.READY,
        "A URL was queued, and the host may be visited at once.",
    ),
    Transition(
        Condition.IDLE,
        Trigger.QUEUED_EARLY,
        Condition.DELAYED,
        "A URL was queued before the courtesy delay of the host's last visit is over.",
    ),
    Transition(
        Condition.IDLE,
        Trigger.QUEUED_WHILE_FAILING,
        Condition.BACKING_OFF,
        "A URL was queued, but the host was backing off when its queues ran empty, and its backoff "
        "is not over.",
    ),
    Transition(
        Condition.BACKING_OFF,
        Trigger.BACKOFF_OVER,
        Condition.READY,
        "The backoff of the host is over.",
    ),
    Transition(
        Condition.DELAYED,
        Trigger.DELAY_OVER,
        Condition.READY,
        "The courtesy delay of the host is over.",
    ),
    Transition(
        Condition.READY,
        Trigger.ORDERED,
        Condition.CHECKED_OUT,
        "The host is the first of the ready hosts, and an order with a batch of its URLs goes to a "
        "fetcher, under a lease.",
    ),
    Transition(
        Condition.READY,
        Trigger.EXCLUDED,
        Condition.IDLE,
        "The host is the first of the ready hosts, but the crawl excludes all of its queued URLs.",
    ),
    Transition(
        Condition.CHECKED_OUT,
        Trigger.RELEASED,
        Condition.DELAYED,
        "The last outcome of the order was applied, and URLs are left in the host's queues.",
    ),
    Transition(
        Condition.CHECKED_OUT,
        Trigger.EMPTIED,
        Condition.IDLE,
        "The last outcome of the order was applied, and the host's queues are empty.",
    ),
    Transition(
        Condition.CHECKED_OUT,
        Trigger.FAILED,
        Condition.BACKING_OFF,
        "The last outcome of the order was applied, and the host failed: it is down, its name does "
        "not resolve, it is busy, or its robots.txt cannot be fetched.",
    ),
    Transition(
        Condition.CHECKED_OUT,
        Trigger.LEASE_EXPIRED,
        Condition.DELAYED,
        "The lease expired before the last outcome of the order came. The fetcher is treated as "
        "crashed.",
    ),
    Transition(
        Condition.CHECKED_OUT,
        Trigger.SUSPECTED,
        Condition.BACKING_OFF,
        "Leases in a row expired, although other orders were answered. Visits to the host seem to "
        "stop the fetchers.",
    ),
    Transition(
        Condition.CHECKED_OUT,
        Trigger.FENCED,
        Condition.DELAYED,
        "A frontier that claimed the partition found the host checked out, and no fetcher had "
        "begun the order, or all fetchers of earlier runs have stopped.",
    ),
    Transition(
        Condition.READY,
        Trigger.TAKEN_OVER,
        Condition.DELAYED,
        "Another frontier owned the host before, or the clock was set. The courtesy delay starts "
        "again.",
    ),
    Transition(
        Condition.READY,
        Trigger.POSTPONED,
        Condition.BACKING_OFF,
        "A gate postpones the next visit of the host: its site is off, in its quiet hours or over "
        "its daily budget; its last pages were unreadable; or a Retry-After was reported after the "
        "next order was made.",
    ),
    Transition(
        Condition.READY,
        Trigger.NAME_DELAYED,
        Condition.DELAYED,
        "The courtesy delay of the host's name is not over: its server was visited under another "
        "scheme or port.",
    ),
    Transition(
        Condition.READY,
        Trigger.FORWARDED,
        Condition.DELAYED,
        "The host is a replica. Its next URLs were sent to its original, and are parked a second "
        "later.",
    ),
    Transition(
        Condition.READY,
        Trigger.AWAITS_VERDICT,
        Condition.DELAYED,
        "The next URL of the host is in a part of its site of which little is known, and the "
        "verdicts on other visits to that part have not come yet.",
    ),
    *(
        Transition(before, Trigger.ERASED, Condition.IDLE, ERASURE)
        for before in (Condition.READY, Condition.DELAYED, Condition.BACKING_OFF)
    ),
    # The fetcher was slow and did not crash: its late outcomes count until the next order.
    *(
        Transition(
            before, trigger, after, f"An outcome came after the lease expired, and {effect}."
        )
        for before in (Condition.DELAYED, Condition.READY)
        for trigger, after, effect in (
            (Trigger.RELEASED, Condition.DELAYED, "the courtesy delay starts again"),
            (Trigger.EMPTIED, Condition.IDLE, "the host's queues are empty"),
            (Trigger.FAILED, Condition.BACKING_OFF, "the host failed"),
        )
    ),
)

_CONDITION_AFTER = {(row.before, row.trigger): row.after for row in TRANSITIONS}


class ForbiddenTransition(GossamerError):
    """A bug in the frontier.

    No record is at fault, so none becomes a dead letter. The process stops before it writes
    anything, and continues from its last advance when it is started again.
    """


def condition_after(before: Condition, trigger: Trigger) -> Condition:
    """Return the condition that follows *before* on *trigger*; raise ForbiddenTransition if the
    table has none."""
    if after := _CONDITION_AFTER.get((before, trigger)):
        return after
    raise ForbiddenTransition(
        f"a host that is {before} cannot change on '{trigger}': conditions.py has no such "
        f"transition. Nothing was written. This is a bug in the frontier, please report it"
    )
