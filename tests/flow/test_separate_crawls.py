"""Two crawls of different sites in one frontier: each is the crawl that it would be alone.

The crawls share partitions, clock and fetchers. The state of a crawl (queues, plans, parked URLs,
totals, outcomes, verdicts) does not depend on what the other one does, on which one was defined
first, or on which one is the crawl `default`, which a frontier opens before all others.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gossamer.events import DEFAULT_CRAWL, FetchRequested
from gossamer.log.codec import encode
from gossamer.policies import NEVER
from gossamer.procedures.tables import TABLES
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.plans import DueRow, PartitionPlansRow
from gossamer.services.frontier.tables.sites import SiteRow
from gossamer.services.frontier.totals.daily import DailyTallyRow
from gossamer.services.frontier.totals.tally import TallyRow, scan_days
from gossamer.web.url import HostKey, Site, site_of
from tests.flow.virtual import START, VirtualCrawl

HTML = (("Content-Type", "text/html; charset=utf-8"),)
ROBOTS = b"User-agent: *\nDisallow: /private\n"
TOOK, HOUR = 0.1, 3600.0
RUN_SECONDS = 2.5 * HOUR
SHARED = re.compile(r"(?<=seed@seeds/)\d+/\d+|\bnumber=\d+")
"""Offsets of seeds and request numbers, which count the URLs of all crawls."""
NAMES = (DEFAULT_CRAWL, "b", "c")


class Crawl(NamedTuple):
    """A crawl of sites of its own."""

    sites: tuple[str, ...]
    pages: int
    revisit: str
    max_depth: int

    def define(self, crawl: VirtualCrawl, name: str, **changed: object) -> None:
        """Define the crawl; *changed*: fields of a later definition, which adds no seeds."""
        seeds = () if changed else [f"http://{host}/{one}" for host in self.sites for one in (0, 3)]
        hosts = ", ".join(map(repr, self.sites))
        fields = {"scope": f"domain({hosts})", "revisit": self.revisit, "max_depth": self.max_depth}
        crawl.define(*seeds, crawl=name, **{**fields, **changed})


BOOKS = Crawl(("a.test", "aa.test", "aaa.test"), pages=8, revisit="fixed:1h", max_depth=9)
NEWS = Crawl(("b.test", "bb.test"), pages=8, revisit="none", max_depth=2)


def serve(url: str, now: float) -> tuple[float, Reply | Failure]:
    """Answer with a tree of pages that has an error, a redirect, duplicates and a trap."""
    host, _, path = url.removeprefix("http://").partition("/")
    pages = next((crawl.pages for crawl in (BOOKS, NEWS) if host in crawl.sites), 0)
    status, headers, links, text = 200, HTML, list[str](), url
    if path == "robots.txt":
        return TOOK, Reply(status=200, body=ROBOTS)
    if path.startswith("calendar/"):
        number = int(path.removeprefix("calendar/"))
        links, text = [f"/calendar/{number + 1}", f"/calendar/{number + 2}"], "no events"
    elif path.isdigit() and int(path) < pages:
        number = int(path)
        links = [f"/{2 * number + 1}", f"/{2 * number + 2}", "/calendar/1", "/private/1"]
        links.append(f"http://elsewhere.test/{number}")
        if number == 5:
            status = 500
        if number == 3:
            status, headers = 302, (("Location", f"http://{host}/4"),)
        if number in (4, 6):
            text = f"equal pages of {host}"
    else:
        status = 404
    anchors = "".join(f'<p><a href="{link}">a link</a></p>' for link in links)
    body = f"<html><title>{text}</title><body><h1>This is {text}</h1>{anchors}".encode()
    return TOOK, Reply(status=status, headers=headers, body=body)


def pause(other: Crawl, name: str, crawl: VirtualCrawl) -> None:
    other.define(crawl, name, paused=True)


def narrow(other: Crawl, name: str, crawl: VirtualCrawl) -> None:
    other.define(crawl, name, scope=f"domain({other.sites[0]!r})")


def remove(other: Crawl, name: str, crawl: VirtualCrawl) -> None:
    other.define(crawl, name, removed=True, paused=True)


def revisit(other: Crawl, name: str, crawl: VirtualCrawl) -> None:
    other.define(crawl, name, revisit="fixed:30m")


def fetch(other: Crawl, name: str, crawl: VirtualCrawl) -> None:
    host = f"http://{other.sites[0]}"
    urls = f"{host}/0", f"{host}/new"
    event = FetchRequested(
        at=crawl.now, crawl=name, site=Site(other.sites[0]), host=HostKey(host), urls=urls
    )
    crawl.log.append([encode(event)])


Action = Callable[[Crawl, str, VirtualCrawl], None]
"""A change of a crawl by its operator."""
ACTIONS: tuple[Action, ...] = (pause, narrow, remove, revisit, fetch)
TIMES = (3.0, 20.0, 1.5 * HOUR)
"""Seconds after the start: in flight, with few URLs queued, while pages are visited again."""


def run(
    crawls: Sequence[tuple[Crawl, str]],
    actions: Sequence[tuple[float, Callable[[VirtualCrawl], None]]] = (),
    crash_at: float | None = None,
) -> VirtualCrawl:
    """Run *crawls*, which are defined in this order, with *actions* and a crash at their times."""
    with TemporaryDirectory() as folder:
        crawl = VirtualCrawl(Path(folder), serve, delay=1.0, delay_factor=0.0, batch=4, retries=1)
        for each, name in crawls:
            each.define(crawl, name)
        events = [*actions, *([(crash_at, VirtualCrawl.crash)] if crash_at else [])]
        for at, act in sorted(events, key=lambda event: event[0]):
            crawl.run(until=START + at)
            crawl.now = START + at
            act(crawl)
        crawl.run(until=START + RUN_SECONDS)
        crawl.now = START + RUN_SECONDS
    return crawl


def state_of(crawl: VirtualCrawl, name: str) -> dict[str, list[str]]:
    """Return the rows of the crawl *name* by table, without places in WARC files, offsets of seeds
    and request numbers, which all crawls share."""
    state, store = dict[str, list[str]](), crawl._store()
    for kind in TABLES:
        rows: list[Any] = [*store.table(kind).everything()]
        if kind in (HostRow, SiteRow):
            found = [row for row in rows if name in row.crawls]
        else:
            found = [row for row in rows if getattr(row, "crawl", None) == name]
        if kind is DueRow:
            # The calendar of hosts is shared. Entries in the past are dropped a bucket at a time.
            found = [row for row in found if row.at > crawl.now]
        if kind is PartitionPlansRow:
            # Without revisits, the statistics are the time at which the row was read.
            found = [
                msgspec.structs.replace(row, statistics=b"") if row.policy == NEVER else row
                for row in found
            ]
        if kind is DailyTallyRow:
            continue
        if kind is TallyRow:
            # When a day becomes a row of its own depends on when the frontier next wakes.
            state["days"] = [repr(scan_days(store, name, row.partition)) for row in found]
            found = [msgspec.structs.replace(row, today=None) for row in found]
        if kind is CaptureRow:
            found = [msgspec.structs.replace(row, file="", offset=0, length=0) for row in found]
        state[kind.table] = [SHARED.sub("", repr(row)) for row in found]
    return {table: rows for table, rows in state.items() if rows}


def requests_of(crawl: VirtualCrawl, plan: Crawl) -> list[tuple[float, float, str]]:
    """Return the requests to the sites of *plan* in the order of their times."""
    return sorted(one for one in crawl.requests if site_of(one[2]) in plan.sites)


@cache
def run_alone(plan: Crawl, name: str, crash_at: float | None) -> VirtualCrawl:
    return run([(plan, name)], crash_at=crash_at)


@settings(max_examples=2)
@given(
    st.permutations([BOOKS, NEWS]),
    st.permutations(NAMES),
    st.booleans(),
    st.lists(st.tuples(st.sampled_from(TIMES), st.sampled_from(ACTIONS)), max_size=3),
    st.sampled_from([None, *TIMES]),
)
@example([BOOKS, NEWS], NAMES, False, [], None)
@example([NEWS, BOOKS], NAMES, False, [], 1.5 * HOUR)
@example([BOOKS, NEWS], ["b", DEFAULT_CRAWL], True, [(1.5 * HOUR, fetch)], 3.0)
def test_crawl_does_not_change_because_of_another_one(
    plans: Sequence[Crawl],
    names: Sequence[str],
    is_second: bool,
    actions: Sequence[tuple[float, Action]],
    crash_at: float | None,
) -> None:
    (kept, other), (name, other_name) = plans[:2], names[:2]
    crawls = [(kept, name), (other, other_name)]
    acts = [(at, partial(act, other, other_name)) for at, act in actions]
    both = run(crawls[::-1] if is_second else crawls, acts, crash_at)
    alone = run_alone(kept, name, crash_at)
    assert requests_of(both, kept) == requests_of(alone, kept)
    assert state_of(both, name) == state_of(alone, name)


def test_compared_state_has_queues_plans_parked_urls_totals_outcomes_and_verdicts() -> None:
    compared = state_of(run_alone(BOOKS, "b", None), "b")
    assert {"queues", "plans", "due", "parked", "parked_parts", "tallies"} <= compared.keys()
    assert {"hosts", "sites", "urls", "verdicts", "documents", "captures"} <= compared.keys()
