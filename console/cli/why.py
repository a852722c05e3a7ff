"""`gossamer why URL`: what happened or will happen to a URL, and by which rule."""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime

from console.cli.options import add_data
from console.house.definition import last_definition, typed
from console.house.folder import Folder, Opened
from console.printable import printable
from gossamer import clock
from gossamer.errors import BadSettings
from gossamer.scope import parse_scope
from gossamer.url import BadUrl, fingerprint, host_key, site_of
from services.dedup.seen import SeenRow
from services.frontier.queue import HostQueues
from services.frontier.rows import (
    Condition,
    HostRow,
    JudgementRow,
    QueuedUrl,
    RobotsRow,
    VisitRow,
)

LONGEST = 5000
"""Characters of a line: longer than two URLs can be."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    add_data(command)
    command.add_argument("url", metavar="URL")


def run(options: argparse.Namespace) -> int:
    """Explain."""
    try:
        url = typed(options.url)
    except BadUrl as error:
        raise BadSettings(str(error)) from error
    lines = [url, *(f"  {line}" for line in explain(Folder(options.data).open(), url))]
    print("\n".join(printable(line, LONGEST) for line in lines))
    return 0


def explain(opened: Opened, url: str) -> Iterator[str]:
    """Yield what is known of a canonical *url*, a sentence at a time."""
    for row in (SeenRow, VisitRow, JudgementRow, HostRow, RobotsRow, QueuedUrl):
        opened.store.table(row)  # Made where it is missing, while nothing is being read.
    with opened.database.reading():
        lines = list(_lines(opened, url))
    yield from lines


def _lines(opened: Opened, url: str) -> Iterator[str]:
    store, host = opened.store, host_key(url)
    seen = store.table(SeenRow).get(fingerprint(url))
    visit = store.table(VisitRow).get(host, url)
    row = store.table(HostRow).get(site_of(url), host)
    yield from _scope(opened, url, seen is not None)
    if seen:
        yield f"discovered: {_via(seen.via)}"
    if visit:
        yield from _visited(visit)
        judgement = store.table(JudgementRow).get(host, url)
        if judgement:
            of = f" of {judgement.duplicate_of}" if judgement.duplicate_of else ""
            yield f"verdict: {judgement.verdict}{of}; {judgement.links} links released"
    robots = store.table(RobotsRow).get(host)
    if robots:
        yield f"robots.txt of {host}: {robots.rules.explain(url)}"
    if row:
        yield from _queued(HostQueues(store.table(QueuedUrl)), row, url, visit)


def _scope(opened: Opened, url: str, seen: bool) -> Iterator[str]:
    crawl = last_definition(opened.log)
    if crawl is None:
        return
    judgement = parse_scope(crawl.scope).judge(url, 0)
    yield f"scope: {'inside' if judgement.inside else 'outside'}, by {judgement.rule}"
    if judgement.inside and not seen:
        yield (
            "never met: no page that was read links to it within the depth limit of "
            f"{crawl.max_depth} (links of duplicates, and nofollow links, are not followed)"
        )


def _visited(visit: VisitRow) -> Iterator[str]:
    status = f" {visit.status}" if visit.status else ""
    reason = f" ({visit.reason})" if visit.reason else ""
    target = f" to {visit.location}" if visit.location else ""
    verb = "visited" if visit.attempt else "refused"
    yield f"{verb}: {_time(visit.at)}: {visit.outcome}{status}{target}{reason}"
    yield f"depth: {visit.depth}" + (f", after {visit.hops} redirects" if visit.hops else "")
    if visit.next_visit_at:
        yield f"next visit: {_time(visit.next_visit_at)}, after {visit.attempt} attempts"


def _queued(queues: HostQueues, row: HostRow, url: str, visit: VisitRow | None) -> Iterator[str]:
    ahead = queues.position(row, url)
    if ahead is None:
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
