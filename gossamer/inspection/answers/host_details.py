"""One host as data: what it waits for and until when, its queue, and the timeline of its visits."""

from collections.abc import Iterator
from heapq import nlargest
from itertools import islice
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from gossamer import clock
from gossamer.crawl import blocklist_of, host_overrides_of, overrides_of
from gossamer.errors import BadSettings
from gossamer.events import HostOverridden, Purpose, SiteOverridden
from gossamer.inspection.answers.robots import RobotsSummary, summarize_robots
from gossamer.inspection.basics.figures import moment, plural
from gossamer.inspection.basics.paging import Page
from gossamer.inspection.basics.views import view_of
from gossamer.inspection.crawls.crawl import NotFound, OpenCrawl
from gossamer.inspection.crawls.url_forms import crawl_form
from gossamer.inspection.hosts.hosts import Host, effective_override, host_of
from gossamer.inspection.urls.url_rows import (
    READ_TABLES,
    STOPPED_GATE,
    find_closed_gates,
    read_gate_inputs,
)
from gossamer.inspection.urls.urls import ClosedGate, describe_gates, is_estimable, page_of
from gossamer.inspection.urls.visits import LastOutcome, last_outcome
from gossamer.services.frontier.partition.queue import HostQueues, is_revisit, is_surplus
from gossamer.services.frontier.tables.hosts import HostRow, RobotsRow
from gossamer.services.frontier.tables.urls import QueuedUrl, UrlRow
from gossamer.web.url import HostKey, host_key, host_name, site_of

MAX_READ_URLS = 2000
"""Rows of the table of URLs that are read for a timeline."""
MAX_SHOWN_QUEUE = 10
"""Queued URLs in the explanation of a host."""


class QueuedItem(Struct, frozen=True, kw_only=True):
    """A URL in the queues of a host."""

    url: str
    rank: int | None
    """Its rank, from -100 (first) to 120; null if it is to be fetched again."""
    purpose: Purpose
    attempt: int
    """Failed attempts in a row so far."""
    depth: int
    """Links followed from a seed."""
    found_on: str
    """The page whose visit discovered it; "" for a seed."""


class Timeline(Struct, frozen=True, kw_only=True):
    """The last visits to the URLs of a host."""

    host: HostKey
    visits: tuple[LastOutcome, ...]
    """The newest visit first; one for each URL."""
    is_partial: bool
    """Whether the host has more URLs than were read, so that newer visits may be missing."""


class HostExplanation(Struct, frozen=True, kw_only=True):
    """What a host waits for, until when, and the rules for its visits."""

    at: float
    """When the rows were read, in epoch seconds."""
    answer: str
    """What the host waits for, in one sentence."""
    until: float | None
    """When the host may be visited, in epoch seconds; null if that is not known, or at once."""
    host: Host
    closed_gates: tuple[ClosedGate, ...]
    """All reasons not to visit the host now, in the order in which the frontier evaluates them."""
    blocked_by: str
    """The rule of the blocklist that forbids the whole host; "" without one."""
    site_override: SiteOverridden | None
    """The settings of `gossamer site` for its site."""
    host_override: HostOverridden | None
    """The settings of `gossamer site --host`."""
    robots: RobotsSummary | None
    """Null before the first visit to robots.txt."""
    original: str
    """The host whose pages are visited instead, because this host mirrors it; "" without one."""
    queue: tuple[QueuedItem, ...]
    """The first few URLs of its queues."""


def host_of_typed(crawl: OpenCrawl, text: str) -> HostKey:
    """Return the key of the host that *text* names, or whose URL it is.

    Raise BadSettings if it is neither.
    """
    return host_key(crawl_form(crawl, text).url)


def explain_host(crawl: OpenCrawl, text: str, now: float | None = None) -> HostExplanation:
    """Return the explanation of the host that *text* names, at the time *now*; None: at present.

    Raise NotFound if no URL of it was admitted, and BadSettings if *text* is not a host or a URL.
    """
    now = clock.now() if now is None else now
    key = host_of_typed(crawl, text)
    with crawl.view(*READ_TABLES) as store:
        row = _row(crawl, key)
        robots = store.table(RobotsRow).get(key)
        overridden = (
            overrides_of(crawl.log).get(row.site),
            host_overrides_of(crawl.log).get(host_name(key)),
        )
        inputs = read_gate_inputs(crawl, store, row, overridden, now)
        override = effective_override(row.site, *overridden)
        host = host_of(row, robots, override, crawl.is_stopped)
        closed = describe_gates(find_closed_gates(inputs, crawl.is_stopped))
        blocked_by = blocklist_of(crawl.log).of_url(f"{key}/")
        if blocked_by or not is_estimable(closed):
            host = replace(host, seconds_left=0.0)
        queue = tuple(item for item, _ in islice(_queue(crawl, row), MAX_SHOWN_QUEUE))
    until, answer = _answer(host, closed, now)
    if blocked_by:
        until, answer = None, f"Not visited: the blocklist forbids it, by {blocked_by}."
    return HostExplanation(
        at=now,
        answer=answer,
        until=until,
        host=host,
        closed_gates=closed,
        blocked_by=blocked_by,
        site_override=overridden[0],
        host_override=overridden[1],
        robots=summarize_robots(robots) if robots else None,
        original=(row.original or "") if (row.original_until or 0.0) > now else "",
        queue=queue,
    )


def _row(crawl: OpenCrawl, key: str) -> HostRow:
    row = crawl.store().table(HostRow).get(site_of(f"{key}/"), key)
    if row is None:
        raise NotFound(f"no URL of {key} was admitted: gossamer why {key}/ explains")
    return row


def _answer(host: Host, closed: tuple[ClosedGate, ...], now: float) -> tuple[float | None, str]:
    """Return until when the host waits, and for what, in one sentence."""
    queued = plural(host.queued, "URL")
    if any(gate.gate == "lease" for gate in closed):
        return None, f"Being fetched; {queued} queued."
    if not host.queued:
        return None, "Nothing is queued."
    if not closed:
        return None, f"May be visited now: {queued} queued, waiting for its turn."
    last = max(closed, key=_end_of)
    when = "now" if last.until is None else f"before {moment(last.until, now)}"
    return last.until, f"Not visited {when}: {last.reason}; {queued} queued."


def _end_of(gate: ClosedGate) -> float:
    """Return when *gate* opens: at once if no crawl runs, because a person can start one; never if
    another gate has no time."""
    if gate.gate == STOPPED_GATE:
        return 0.0
    return inf if gate.until is None else gate.until


def read_queue(
    crawl: OpenCrawl, text: str, after: str | None = None, limit: int = 100
) -> Page[QueuedItem]:
    """Return *limit* URLs of the queues of the host that *text* names, the next one first: URLs to
    fetch again, then new ones from the best rank on.

    *after*: the cursor of the page before. Raise NotFound if no URL of the host was admitted, and
    BadSettings for an invalid host or cursor.
    """
    key = host_of_typed(crawl, text)
    with crawl.view(HostRow, QueuedUrl, UrlRow):
        found = [*islice(_queue(crawl, _row(crawl, key), after), limit + 1)]
    items = tuple(item for item, _ in found[:limit])
    return Page(items, found[limit - 1][1] if len(found) > limit else None)


def _queue(
    crawl: OpenCrawl, row: HostRow, after: str | None = None
) -> Iterator[tuple[QueuedItem, str]]:
    """Yield the queued URLs after a cursor, each with its cursor."""
    visited = crawl.store().table(UrlRow)
    queues = HostQueues(crawl.store().table(QueuedUrl), crawl.id)
    rank, bucket, index = _parse_cursor(after) if after else (None, 0, -1)
    for found_rank, queued in queues.iter_all(row, rank, bucket):
        number = int(queued.bucket.rpartition("/")[2])
        if found_rank == rank and (number, queued.bucket_index) <= (bucket, index):
            continue
        if not queued.url or (
            row.of(crawl.id).new.surplus
            and is_surplus(queued, visited.get((crawl.id, row.host), queued.url))
        ):
            continue  # The URL was erased, or another entry of the queue has visited it.
        item = view_of(
            QueuedItem,
            queued,
            queued.origin,
            rank=None if is_revisit(queued) else found_rank,
            found_on=page_of(queued.origin.via),
        )
        name = "again" if found_rank is None else found_rank
        yield item, f"{name}.{number}.{queued.bucket_index}"


def _parse_cursor(text: str) -> tuple[int | None, int, int]:
    try:
        name, bucket, index = text.split(".")
        return (None if name == "again" else int(name)), int(bucket), int(index)
    except ValueError as error:
        raise BadSettings(f"{text!r} is not a cursor of a queue") from error


def read_timeline(crawl: OpenCrawl, text: str, limit: int = 200) -> Timeline:
    """Return the last visits to the URLs of the host that *text* names, at most *limit*, newest
    first. At most `MAX_READ_URLS` URLs of the host are read.

    Raise BadSettings if *text* is not a host or a URL.
    """
    key = host_of_typed(crawl, text)
    rows = crawl.store().table(UrlRow).scan((crawl.id, key), limit=MAX_READ_URLS + 1)
    visited = (row for row in rows[:MAX_READ_URLS] if row.earlier or row.attempt)
    return Timeline(
        host=key,
        visits=tuple(map(last_outcome, nlargest(limit, visited, key=lambda row: row.at))),
        is_partial=len(rows) > MAX_READ_URLS,
    )
