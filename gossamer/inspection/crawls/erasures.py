"""Erasures as data: what was erased on demand, and which services have not finished."""

from collections import Counter
from collections.abc import Collection, Sequence

from msgspec import Struct

from gossamer.erasures import ErasureRow
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.services.archive.rows import SegmentRow
from gossamer.store import Store

SERVICES = ("frontier", "dedup", "archive")
"""The services that erase rows."""


class Erasure(Struct, frozen=True, kw_only=True):
    """An erasure that at least one service has begun."""

    target: str
    """A URL, a host key, or a site."""
    at: float
    """When it was requested, in epoch seconds."""
    requested_by: str
    rows: dict[str, int]
    """Table → rows that were erased so far."""
    waiting_for: tuple[str, ...]
    """Services, and writers of the archive as `archive/NAME`, that have not finished."""


def read_erasures(crawl: OpenCrawl) -> tuple[Erasure, ...]:
    """Return the erasures, the oldest first. A request is listed when a service handles it."""
    found, writers = _read_rows(crawl.store())
    return tuple(
        Erasure(
            target=target,
            at=at,
            requested_by=by,
            rows=dict(sum((Counter(row.rows) for row in rows), Counter[str]())),
            waiting_for=_find_unfinished(rows, writers),
        )
        for (at, target, by), rows in sorted(found.items())
    )


def has_unfinished_erasure(store: Store) -> bool:
    """Return whether a service has begun an erasure that not all services have finished."""
    found, writers = _read_rows(store)
    return any(_find_unfinished(rows, writers) for rows in found.values())


def count_erased_parts(store: Store) -> tuple[int, int]:
    """Return the number of parts of erasures that services have begun, and have completed."""
    rows = [*store.table(ErasureRow).everything()]
    return len(rows), sum(row.ended for row in rows)


def _read_rows(store: Store) -> tuple[dict[tuple[float, str, str], list[ErasureRow]], list[str]]:
    """Return the rows of each erasure by time, target and person, and the archive's writers."""
    found = dict[tuple[float, str, str], list[ErasureRow]]()
    for row in store.table(ErasureRow).everything():
        found.setdefault((row.at, row.target, row.requested_by), []).append(row)
    return found, [row.writer for row in store.table(SegmentRow).everything()]


def _find_unfinished(rows: Sequence[ErasureRow], writers: Collection[str]) -> tuple[str, ...]:
    """Return the services that have not finished the erasure with these *rows*.

    Each of the archive's *writers* erases its own files, once for each part that the archive has
    recorded.
    """
    parts: dict[str, set[str]] = {}
    for row in rows:
        parts.setdefault(row.service, set()).add(row.key.split(" ")[2])
    unfinished = {row.service for row in rows if not row.ended}
    waiting = [name for name in SERVICES if name not in parts or name in unfinished]
    files = [f"archive/{writer}" for writer in sorted(writers)]
    of_archive = parts.get("archive", set())
    waiting += [name for name in files if not of_archive <= parts.get(name, set())]
    return tuple(waiting)
