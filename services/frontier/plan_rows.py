"""What the frontier keeps in the store of visits to come. An operator may read all of it."""

from msgspec import field

from gossamer.events import DEFAULT_CRAWL, Purpose
from gossamer.store import Row
from gossamer.web.validators import NO_VALIDATORS, Validators
from services.frontier.rows import BUCKETS, Due


class PlanRow(Row, frozen=True):
    """When a URL is visited next, and why; and what is known of its changes."""

    table = "plans"
    partition_key, sort_key = "host", "url"
    buckets = BUCKETS

    host: str
    url: str
    at: float = 0.0
    """When; 0: never, as the policy has it now."""
    why: str = ""
    basis: str = ""
    """What decides that, in a word: `services.frontier.revisit.Basis`; "" if nothing is planned."""
    policy: str = ""
    visited_at: float = 0.0
    """The visit after which that was planned."""
    validators: Validators = NO_VALIDATORS
    statistics: bytes = b""
    """As `services.frontier.revisit` packs what it knows of a page."""


class DueVisit(Due, frozen=True):
    """A URL to visit at a time, mostly once more, with all that its order needs."""

    table = "due_visits"

    site: str
    host: str
    url: str
    depth: int = 0
    hops: int = 0
    via: str = ""
    attempt: int = 0
    crawl: str = DEFAULT_CRAWL
    trace: str = ""
    duplicates: int = 0
    earlier: int = 0
    """How many visits to it had come to an end when this was planned."""
    number: int = 0
    """The request number of a URL that was never visited; 0: it is given one when it is queued."""
    validators: Validators = NO_VALIDATORS
    statistics: bytes = b""
    basis: str = ""
    """What decided its time."""
    purpose: Purpose = Purpose.PAGE
    party: str = ""


class PartitionPlansRow(Row, frozen=True):
    """Which plans a partition has, and what all of its pages have in common."""

    table = "partition_plans"
    partition_key = "partition"
    decides = True

    partition: str
    policy: str = "none"
    """By which all plans are made, but for those that are still to be made anew."""
    generation: int = 0
    """Of the calendar; another policy begins another one."""
    first_bucket: int = -1
    last_bucket: int = -1
    """Of the calendar; -1: it has none."""
    moving_bucket: int = -1
    """The first bucket of the calendar before, until all its plans are made anew; then -1."""
    last_moving_bucket: int = -1
    new_bucket: int = -1
    last_new_bucket: int = -1
    """The first and the last bucket of URLs that were never visited, and wait for the budget."""
    waiting: int = 0
    """How many of those there are; a crash may count a few of them twice."""
    planned: int = 0
    """How many URLs have a plan; a crash may count a few of them twice."""
    next_at: float = 0.0
    """When the next one is due, if within the hour; 0: not within the hour."""
    spent: dict[str, int] = field(default_factory=dict)
    """What decided when (`services.frontier.revisit.Basis`) → how many visits were ordered."""
    liars: int = 0
    """Hosts whose validators have lied, and are not sent back any more."""
    statistics: bytes = b""
    """As `services.frontier.revisit` packs what it knows of a crawl."""
