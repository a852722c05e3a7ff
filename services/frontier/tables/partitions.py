"""The row of a partition: where its directories, its calendar and its parked URLs begin and end."""

from typing import Annotated

from msgspec import field

from gossamer.services.frontier.tables.bucketed_log import GROUPS, RANGE, BucketList, BucketRange
from gossamer.services.frontier.tables.totals import EACH
from gossamer.store import Row


def partition_key(number: int, partitions: int) -> str:
    """Return the key of the rows of one partition: `3/12` is the fourth of twelve.

    When the number of partitions changes, the new rows are written beside the old ones.
    """
    return f"{number}/{partitions}"


def partition_keys(partitions: int) -> list[str]:
    """Return the keys of all *partitions*."""
    return [partition_key(number, partitions) for number in range(partitions)]


class PartitionRow(Row, frozen=True):
    """The buckets of a partition's directories and of its calendar, and the key groups of its
    parked URLs."""

    table = "partitions"
    partition_key = "partition"
    about = ()

    partition: str
    directories: Annotated[dict[str, BucketList], EACH] = field(default_factory=dict)
    """Crawl → the buckets of its directory."""
    due: Annotated[BucketRange, RANGE] = BucketRange()
    """The buckets of the calendar of retries and of hosts that back off."""
    parked: Annotated[tuple[int, ...], GROUPS] = ()
    """The key groups with parked URLs."""
