"""The captures of a URL: their rows, and why there is none.

`versions` reads their records. It is a module of its own because fsspec takes long to import.
"""

from collections.abc import Iterator, Sequence

from gossamer.inspection.crawls.crawl import NotFound
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.frontier.tables.urls import HistoryRow
from gossamer.store import Store

READ_ROWS = 20
"""Rows of one read of the captures of a URL."""
FOREVER = float("inf")


class NotArchived(NotFound):
    """A URL has no capture, or none until a time."""


def unarchived_reason(visits: Sequence[HistoryRow], captures: Sequence[CaptureRow]) -> str:
    """Return why the last of the *visits* with a verdict has no capture; "" if it has one.

    Both are newest first. A failure has no verdict, and is archived or not like any response.
    """
    visit = next((row for row in visits if row.verdict), None)
    if visit is None or any(row.fetched_at == visit.at for row in captures):
        return ""
    if visit.reason:
        return visit.reason
    return (
        "the page has a directive of archive.not_archived, or its capture is not written yet, or "
        "has expired"
    )


def iterate_captures(
    store: Store, crawl: str, url: str, until: float = FOREVER
) -> Iterator[CaptureRow]:
    """Yield the captures of a canonical *url* that were fetched until then, newest first."""
    table, before = store.table(CaptureRow), None
    while rows := table.scan((crawl, url), before, READ_ROWS):
        yield from (row for row in rows if row.fetched_at <= until)
        before = rows[-1].fetched_at
