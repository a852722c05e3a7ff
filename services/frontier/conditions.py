"""A host's five conditions, and what takes it from one to another: one table of both.

`Partition.update` alone changes a condition, and it asks this table to which one. So the table is
all that can happen to a host; `docs/host-conditions.md` is drawn from it.
"""

from enum import StrEnum
from typing import NamedTuple

from gossamer.errors import GossamerError


class Condition(StrEnum):
    """Where a host stands. A new one is idle."""

    IDLE = "idle"
    READY = "ready"
    DELAYED = "delayed"
    CHECKED_OUT = "checked out"
    BACKING_OFF = "backing off"


CONDITIONS = {
    Condition.IDLE: "Nothing is in its queue.",
    Condition.READY: "It may be visited now.",
    Condition.DELAYED: "It was visited a moment ago: its courtesy delay is not over.",
    Condition.CHECKED_OUT: "A fetcher has it, under a lease, with a batch of its URLs.",
    Condition.BACKING_OFF: "It is down, has no name, or sent Retry-After: it is not visited yet.",
}

LISTED = (Condition.READY, Condition.DELAYED, Condition.CHECKED_OUT)
"""The conditions of a host that has work: it is in the directory, and in memory in its turn."""


class Trigger(StrEnum):
    """What changes a host's condition."""

    QUEUED = "queued"
    QUEUED_EARLY = "queued early"
    QUEUED_IN_TROUBLE = "queued in trouble"
    WAIT_OVER = "wait over"
    DELAY_OVER = "delay over"
    ORDERED = "ordered"
    LEFT_OUT = "left out"
    RELEASED = "released"
    EMPTIED = "emptied"
    TROUBLED = "troubled"
    LEASE_EXPIRED = "lease expired"
    RESTARTED = "restarted"
    TAKEN_OVER = "taken over"
    HELD_BACK = "held back"
    NAME_RESTS = "name rests"
    ERASED = "erased"


class Transition(NamedTuple):
    """A host that is *before* becomes *after* on *trigger*; *meaning* is a sentence for people."""

    before: Condition
    trigger: Trigger
    after: Condition
    meaning: str


TRANSITIONS = (
    Transition(
        Condition.IDLE,
        Trigger.QUEUED,
        Condition.READY,
        "A URL was admitted, or is due again, and nothing holds the host back.",
    ),
    Transition(
        Condition.IDLE,
        Trigger.QUEUED_EARLY,
        Condition.DELAYED,
        "The same, but the courtesy delay after its last visit is not over.",
    ),
    Transition(
        Condition.IDLE,
        Trigger.QUEUED_IN_TROUBLE,
        Condition.BACKING_OFF,
        "The same, but the host was in trouble when its queue ran empty, and its wait is not over.",
    ),
    Transition(
        Condition.BACKING_OFF,
        Trigger.WAIT_OVER,
        Condition.READY,
        "Its backoff is over.",
    ),
    Transition(
        Condition.DELAYED,
        Trigger.DELAY_OVER,
        Condition.READY,
        "Its courtesy delay is over.",
    ),
    Transition(
        Condition.READY,
        Trigger.ORDERED,
        Condition.CHECKED_OUT,
        "Its turn has come: an order with a batch of its URLs goes to a fetcher, under a lease.",
    ),
    Transition(
        Condition.READY,
        Trigger.LEFT_OUT,
        Condition.IDLE,
        "Its turn has come, but the crawl leaves out all that was in its queue.",
    ),
    Transition(
        Condition.CHECKED_OUT,
        Trigger.RELEASED,
        Condition.DELAYED,
        "The order's last outcome has come.",
    ),
    Transition(
        Condition.CHECKED_OUT,
        Trigger.EMPTIED,
        Condition.IDLE,
        "The same, and its queue is empty.",
    ),
    Transition(
        Condition.CHECKED_OUT,
        Trigger.TROUBLED,
        Condition.BACKING_OFF,
        "The same, and the host is down, has no name, is busy, or its robots.txt cannot be had.",
    ),
    Transition(
        Condition.CHECKED_OUT,
        Trigger.LEASE_EXPIRED,
        Condition.DELAYED,
        "The lease ended before the order's last outcome came: its fetcher is taken for dead.",
    ),
    Transition(
        Condition.CHECKED_OUT,
        Trigger.RESTARTED,
        Condition.DELAYED,
        "A new run found it checked out, and knows that all fetchers of earlier runs are dead.",
    ),
    Transition(
        Condition.READY,
        Trigger.TAKEN_OVER,
        Condition.DELAYED,
        "Another frontier had it until a moment ago, or the clock was set: the delay begins anew.",
    ),
    Transition(
        Condition.READY,
        Trigger.HELD_BACK,
        Condition.BACKING_OFF,
        "Its turn has come, and what was set for its site forbids a visit now: it is off, in its "
        "quiet hours, or has had its visits of the day. Or it has asked for time, in a visit that "
        "was told after the next had been ordered.",
    ),
    Transition(
        Condition.READY,
        Trigger.NAME_RESTS,
        Condition.DELAYED,
        "Its turn has come, but a moment ago its server was visited under another scheme or port.",
    ),
    *(
        Transition(
            before, Trigger.ERASED, Condition.IDLE, "What is known of it was erased on demand."
        )
        for before in (Condition.READY, Condition.DELAYED, Condition.BACKING_OFF)
    ),
    # The fetcher was slow, not dead: what it reports late still counts until the next order.
    *(
        Transition(before, trigger, after, f"An outcome has come after the lease ended: {so}.")
        for before in (Condition.DELAYED, Condition.READY)
        for trigger, after, so in (
            (Trigger.RELEASED, Condition.DELAYED, "the courtesy delay begins anew"),
            (Trigger.EMPTIED, Condition.IDLE, "nothing is left in the queue"),
            (Trigger.TROUBLED, Condition.BACKING_OFF, "the host is in trouble"),
        )
    ),
)

_AFTER = {(row.before, row.trigger): row.after for row in TRANSITIONS}


class ForbiddenTransition(GossamerError):
    """A bug in the frontier. No record is to blame, so it becomes no dead letter: the process stops
    before it writes anything, and goes on from its last advance when it is started again."""


def condition_after(before: Condition, trigger: Trigger) -> Condition:
    """Return what a host that is *before* becomes; raise ForbiddenTransition if nothing."""
    if after := _AFTER.get((before, trigger)):
        return after
    raise ForbiddenTransition(
        f"a host that is {before} was to change on '{trigger}': not in the table of conditions.py; "
        f"nothing was written. This is a bug in the frontier, please report it"
    )
