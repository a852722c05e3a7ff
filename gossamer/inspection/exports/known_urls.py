"""Every URL of pages that a crawl knows, with what became of it and how it was found.

Visited and refused URLs have a row. Others are in a queue, or parked with the page that links to
them. The whole tables are read. The URLs without a row are kept in a temporary database, because a
crawl has more URLs than memory.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from msgspec import Struct

from gossamer.events import Purpose
from gossamer.events.outcomes import Outcome
from gossamer.events.records import Instant
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.exports.documents import ExportFacts
from gossamer.inspection.urls.urls import page_of
from gossamer.services.frontier.partition.parked import ParkedRow
from gossamer.services.frontier.tables.urls import Origin, QueuedUrl, UrlRow, VerdictRow
from gossamer.web.scope import Expression, Found
from gossamer.web.url import host_key

OUTCOMES = frozenset(Outcome)


class KnownUrl(Struct, frozen=True, kw_only=True):
    """A URL that a crawl knows."""

    url: str
    crawl: str
    state: str
    """`visited`, `refused`, `queued` or `parked`."""
    outcome: str = ""
    """How the last visit ended, or the rule that refused the URL; "" if neither has happened."""
    status: int | None = None
    """The HTTP status of the last visit."""
    visited_at: Instant = 0.0
    """When the last visit was made, or the URL was refused."""
    reason: str = ""
    """The reason of a refusal or a failure, for people."""
    depth: int
    """Number of links from a seed."""
    priority: int
    """From -100 (visited first) to 100."""
    source: str = ""
    """The URL of the page that led to the URL first; "" for a seed."""
    party: str = ""
    verdict: str = ""
    """The last verdict on the page of the URL."""


def iterate_urls(crawl: OpenCrawl, where: Expression[ExportFacts] | None) -> Iterator[KnownUrl]:
    """Yield the URLs of *crawl* that match the expression *where*: those with a row, then those in
    queues, then those that are parked."""
    for found in _iterate_all(crawl):
        facts = ExportFacts(
            Found(found.url, found.depth),
            verdict=found.verdict or None,
            find_outcome=lambda found=found: found.outcome or None,  # type: ignore[misc]
        )
        if where is None or where.evaluate(facts).inside:
            yield found


def _iterate_all(crawl: OpenCrawl) -> Iterator[KnownUrl]:
    store = crawl.store()
    visits, verdicts = store.table(UrlRow), store.table(VerdictRow)
    for row in visits.everything():
        if row.crawl == crawl.id and row.origin.purpose is Purpose.PAGE:
            verdict = verdicts.get((row.crawl, row.host), row.url)
            is_visit = row.outcome in OUTCOMES
            yield _describe(
                crawl,
                row.url,
                "queued" if row.queued else "visited" if is_visit else "refused",
                row.origin,
                outcome=row.outcome,
                status=row.status or None,
                visited_at=row.at,
                reason=row.reason,
                verdict=verdict.verdict if verdict else "",
            )
    with closing(sqlite3.connect("")) as database:
        database.execute("CREATE TABLE found (url TEXT PRIMARY KEY) WITHOUT ROWID")

        def is_new(url: str) -> bool:
            if visits.get((crawl.id, host_key(url)), url) is not None:
                return False
            return bool(database.execute("INSERT OR IGNORE INTO found VALUES (?)", [url]).rowcount)

        for queued in store.table(QueuedUrl).everything():
            wanted = queued.crawl == crawl.id and queued.origin.purpose is Purpose.PAGE
            if wanted and queued.url and is_new(queued.url):
                yield _describe(crawl, queued.url, "queued", queued.origin)
        for parked in store.table(ParkedRow).everything():
            if parked.crawl != crawl.id:
                continue
            for one in parked.urls:
                if one.purpose is Purpose.PAGE and is_new(one.url):
                    yield _describe(crawl, one.url, "parked", Origin.of(one, parked.via))


def _describe(crawl: OpenCrawl, url: str, state: str, origin: Origin, **of_row: Any) -> KnownUrl:
    """Return the data of a URL. *of_row*: further fields of a visited or refused one."""
    return KnownUrl(
        url=url,
        crawl=crawl.id,
        state=state,
        depth=origin.depth,
        priority=origin.priority,
        source=page_of(origin.via),
        party=origin.party,
        **of_row,
    )
