"""`gossamer why URL`: what happened or will happen to a URL, and by which rule."""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime

from console.cli.options import add_place, place_of
from console.house.definition import last_definition, typed
from console.place import Place
from console.printable import printable
from gossamer import clock
from gossamer.errors import BadSettings
from gossamer.scope import parse_scope
from gossamer.store import Store
from gossamer.url import BadUrl, fingerprint, host_key, site_of
from services.archive.rows import CaptureRow
from services.dedup.seen import SeenRow
from services.frontier.queue import HostQueues
from services.frontier.rows import (
    Condition,
    HistoryRow,
    HostRow,
    JudgementRow,
    QueuedUrl,
    RobotsRow,
    UrlRow,
)

LONGEST = 5000
"""Characters of a line: longer than two URLs can be."""
EARLIER = 10
"""Visits before the last that are told, and captures."""
READ = (UrlRow, HistoryRow, JudgementRow, HostRow, RobotsRow, QueuedUrl, CaptureRow)


def add_options(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_place(command)
    command.add_argument("url", metavar="URL")


def run(options: argparse.Namespace) -> int:
    """Explain."""
    try:
        url = typed(options.url)
    except BadUrl as error:
        raise BadSettings(str(error)) from error
    with place_of(options) as place:
        lines = [url, *(f"  {line}" for line in explain(place, url))]
    print("\n".join(printable(line, LONGEST) for line in lines))
    return 0


def explain(place: Place, url: str) -> Iterator[str]:
    """Yield what is known of a canonical *url*, a sentence at a time."""
    store = place.store()
    for row in READ if place.fleet else (*READ, SeenRow):
        store.table(row)  # Made where it is missing, while nothing is being read.
    with place.reading():
        lines = list(_lines(place, store, url))
    yield from lines


def _lines(place: Place, store: Store, url: str) -> Iterator[str]:
    host = host_key(url)
    visit = store.table(UrlRow).get(host, url)
    queued = list(_queued(store, url))
    # A fleet's URL-seen set is not in the store, but in dedup: the frontier may not have all of it.
    seen = None if place.fleet else store.table(SeenRow).get(fingerprint(url))
    via = seen.via if seen else visit.via if visit else ""
    met = bool(seen or visit or queued)
    yield from _scope(place, url, met)
    if via:
        yield f"discovered: {_via(via)}"
    if visit:
        yield from _visited(visit, store.table(HistoryRow).scan(url, limit=EARLIER))
        yield from _judged(store, host, url)
    for capture in store.table(CaptureRow).scan(url, limit=EARLIER):
        at = f"{capture.file} at {capture.offset}, {capture.length} bytes"
        yield f"captured: {_time(capture.fetched_at)}: {at}"
    robots = store.table(RobotsRow).get(host)
    if robots:
        yield f"robots.txt of {host}: {robots.rules.explain(url)}"
    yield from queued


def _scope(place: Place, url: str, met: bool) -> Iterator[str]:
    crawl = last_definition(place.log)
    if crawl is None:
        return
    judgement = parse_scope(crawl.scope).judge(url, 0)
    yield f"scope: {'inside' if judgement.inside else 'outside'}, by {judgement.rule}"
    if not judgement.inside or met:
        return
    unlinked = (
        f"no page that was read links to it within the depth limit of {crawl.max_depth} (links of "
        "duplicates, and nofollow links, are not followed)"
    )
    if place.fleet:
        yield f"the frontier has not met it: {unlinked}, or it is still on its way there"
    else:
        yield f"never met: {unlinked}"


def _visited(visit: UrlRow, history: list[HistoryRow]) -> Iterator[str]:
    status = f" {visit.status}" if visit.status else ""
    reason = f" ({visit.reason})" if visit.reason else ""
    target = f" to {visit.location}" if visit.location else ""
    verb = "visited" if visit.attempt or history else "refused"
    yield f"{verb}: {_time(visit.at)}: {visit.outcome}{status}{target}{reason}"
    for earlier in history:
        if earlier.at < visit.at:
            yield f"before: {_time(earlier.at)}: {_told(earlier)}"
    yield f"depth: {visit.depth}" + (f", after {visit.hops} redirects" if visit.hops else "")
    if visit.next_visit_at:
        yield f"next visit: {_time(visit.next_visit_at)}, after {visit.attempt} attempts"
    if visit.trace:
        yield f"trace: {visit.trace}, in what the services log"


def _told(visit: HistoryRow) -> str:
    parts = [visit.outcome, str(visit.status or ""), visit.verdict, visit.duplicate_of]
    return " ".join(part for part in parts if part)


def _judged(store: Store, host: str, url: str) -> Iterator[str]:
    judgement = store.table(JudgementRow).get(host, url)
    if judgement:
        of = f" of {judgement.duplicate_of}" if judgement.duplicate_of else ""
        yield f"verdict: {judgement.verdict}{of}; links released: {judgement.links}"


def _queued(store: Store, url: str) -> Iterator[str]:
    row = store.table(HostRow).get(site_of(url), host_key(url))
    ahead = HostQueues(store.table(QueuedUrl)).position(row, url) if row else None
    if row is None or ahead is None:
        return
    if row.condition is Condition.CHECKED_OUT and ahead < row.ordered - row.done:
        yield f"under way: order {row.order} holds it, until {_time(row.expires_at)} at the latest"
        return
    yield f"queued: behind {ahead} URLs of its host"
    wait = f" until {_time(row.ready_at)}" if row.ready_at > clock.now() else ""
    why = f" ({row.blocked_why})" if row.blocked_why else ""
    yield f"host: {row.condition}{wait}{why}"


def _via(via: str) -> str:
    visit, _, url = via.partition("@")
    return "it is a seed" if visit == "seed" else f"linked from {url} (visit {visit})"


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
