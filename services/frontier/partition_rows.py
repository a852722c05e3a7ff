"""What the frontier keeps in the store of each partition. An operator may read all of it."""

from msgspec import field

from gossamer.store import Row
from services.frontier.rows import Applied


class PartitionRow(Row, frozen=True):
    """The buckets of a partition's directory, and where those of its calendar begin and end."""

    table = "partitions"
    partition_key = "partition"

    partition: str
    hours: tuple[int, ...] = ()
    """The buckets of the directory."""
    due_bucket: int = -1
    last_due_bucket: int = -1


class TallyRow(Row, frozen=True):
    """Totals of a partition since its beginning: what the report and the live view show."""

    table = "tallies"
    partition_key = "partition"
    decides = True

    partition: str
    last_number: int = 0
    """The largest request number given out: they grow, whatever the clock does."""
    admitted: int = 0
    queued: int = 0
    pages: int = 0
    received: int = 0
    orders: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    verdicts: dict[str, int] = field(default_factory=dict)
    hazards: dict[str, int] = field(default_factory=dict)
    conditions: dict[str, int] = field(default_factory=dict)
    slowest: dict[str, float] = field(default_factory=dict)
    """Host → its longest visit in seconds; the slowest few."""
    largest: dict[str, float] = field(default_factory=dict)
    """Host → bytes received; the largest few."""
    latest: tuple[tuple[str, str], ...] = ()
    """The last few visits: URL and outcome."""
    next_due_at: float = 0.0
    """When the next URL or host is due, if within the hour; 0: not within the hour."""
    due_count: int = 0
    """How many URLs and hosts wait for their time."""
    hours: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    """Hour, since 1970 → pages fetched in it that were new, changed, unchanged; the last 24."""
    sent: dict[str, int] = field(default_factory=dict)
    """Partition of `visits.ordered` → how many orders of this partition's sites are unanswered
    there; where there are several fetchers."""
    judged: Applied = Applied()
    """The records of `pages.judged` that are in the totals."""
    checked_out: dict[str, str] = field(default_factory=dict)
    """Host → site, of all hosts that are checked out: a frontier that takes the partition over
    loads them before it orders anything."""
