"""Helpers for any row."""

from operator import attrgetter

from gossamer.store import Partition, Row, Sort, partition_fields


def keys_of(row: Row) -> tuple[Partition, Sort]:
    """Return the partition key and the sort key of *row*; the latter is "" if it has none."""
    cls = type(row)
    partition: Partition = attrgetter(*partition_fields(cls))(row)
    return partition, getattr(row, cls.sort_key) if cls.sort_key else ""
