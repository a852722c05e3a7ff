"""A whole crawl with revisits in virtual time, over a web that changes, through crashes.

The test compares the crawl with the servers: the fraction of time in which copies were fresh, the
times of the requests, and the plan of every page.
"""

from bisect import bisect_right
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from gossamer.events import DEFAULT_CRAWL, Outcome
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables.plans import PartitionPlansRow, PlanRow
from gossamer.services.frontier.tables.sites import SiteRow
from gossamer.services.frontier.tables.urls import HistoryRow
from gossamer.web.url import host_key
from tests.flow.torn import Died, Fate
from tests.flow.virtual import START, VirtualCrawl

DAY = 86400.0
DAYS, WARM = 7, 3
BUDGET, DELAY = 48, 1.0
HONEST, LYING, PLAIN = "http://honest.test", "http://lying.test", "http://plain.test"
SEEDS = [f"{host}/" for host in (HONEST, LYING, PLAIN)]
PAGES_PER_SITE = 7
WORDS = ("river", "stone", "house", "light", "paper", "winter", "garden", "engine", "letter")


class ChangingWeb:
    """Three sites, each with pages that change often, weekly, and never."""

    def __init__(self, seed: int, days: int) -> None:
        random, self.days = Random(seed), days
        self.changes: dict[str, list[float]] = {}
        for host in (HONEST, LYING, PLAIN):
            for number in range(PAGES_PER_SITE):
                rate = (2.0, 0.2, 0.0)[number % 3] / DAY
                self.changes[f"{host}/{number}"] = self._draw_changes(random, rate)

    def _draw_changes(self, random: Random, rate: float) -> list[float]:
        at, found = START, []
        while rate and (at := at + random.expovariate(rate)) < START + self.days * DAY:
            found.append(at)
        return found

    def version(self, url: str, at: float) -> int:
        return bisect_right(self.changes[url], at)

    def __call__(self, url: str, now: float) -> tuple[float, Reply | Failure]:
        return 0.1, self._reply(url, now)

    def _reply(self, url: str, now: float) -> Reply:
        headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html"),)
        if url in SEEDS:
            links = "".join(
                f"<a href='{number}'>page {number}</a> " for number in range(PAGES_PER_SITE)
            )
            body = f"<title>{url}</title><p>All pages of {url}: {links}"
        elif url in self.changes:
            version = self.version(url, now)
            random = Random(f"{url} {version}")
            body = f"<title>{url}</title>" + "".join(
                f"<p>{' '.join(random.choices(WORDS, k=12))} {url}</p>" for _ in range(6)
            )
            tags = {HONEST: f'"{url}-{version}"', LYING: f'"{url}"'}
            if tag := tags.get(host_key(url)):
                headers = (*headers, ("ETag", tag))
        else:
            return Reply(status=404)
        return Reply(status=200, headers=headers, body=body.encode())


def run_crawl(folder: Path, web: ChangingWeb, fate: Fate | None, crashes: bool) -> VirtualCrawl:
    """Return a crawl that ran for all days of its web, and crashed at random times."""
    crawl = VirtualCrawl(folder, web, fate, delay=DELAY)
    crawl.define(*SEEDS, revisit="optimal", budget=BUDGET)
    random, end = Random(7), START + web.days * DAY
    while crawl.now < end:
        if not crashes:
            crawl.run(until=end)
            continue
        if fate:
            fate.left = random.randrange(400, 4000)
        with suppress(Died):
            crawl.run(until=min(end, crawl.now + random.uniform(0.2, 1.5) * DAY))
        crawl.crash()
    crawl.run(until=crawl.now + 3600)
    return crawl


def freshness(crawl: VirtualCrawl, web: ChangingWeb) -> float:
    """Return the fraction of the time, after `WARM` days, in which copies equalled the pages."""
    begin, end, fresh = START + WARM * DAY, START + web.days * DAY, 0.0
    for url, changes in web.changes.items():
        visits = sorted(at for at, _, visited in crawl.requests if visited == url)
        for visit, until in pairwise([*visits, end]):
            later = bisect_right(changes, visit)
            stale = changes[later] if later < len(changes) else end
            fresh += max(0.0, min(stale, until, end) - max(visit, begin))
    return fresh / (end - begin) / len(web.changes)


@pytest.mark.slow
@pytest.mark.parametrize("days", [DAYS, pytest.param(2 * DAYS, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("one folder", marks=pytest.mark.long),
        pytest.param("one folder that dies", marks=pytest.mark.long),
        "a fleet that dies",
    ],
)
def test_changing_web_stays_fresh_within_budget_and_delay_through_crashes(
    tmp_path: Path, kind: str, days: int
) -> None:
    web = ChangingWeb(3, days)
    fate = Fate(5) if "fleet" in kind else None
    crawl = run_crawl(tmp_path, web, fate, "dies" in kind)
    assert min(crawl.gaps()) >= DELAY - 1e-6
    store = crawl._store()
    pages = list(web.changes)
    plans = [store.table(PlanRow).get((DEFAULT_CRAWL, host_key(url)), url) for url in pages]
    assert all(plan and plan.at > crawl.now - DAY for plan in plans)
    sums = [*store.table(PartitionPlansRow).everything()]
    assert sum(row.planned for row in sums) >= len(pages) + len(SEEDS)
    made = sum(url in web.changes for _, _, url in crawl.requests)
    assert 0.5 * BUDGET * days < made <= BUDGET * (days + 1) + 2 * len(pages)
    visits = [
        row
        for url in pages
        for row in store.table(HistoryRow).scan((DEFAULT_CRAWL, url), limit=10_000)
    ]
    unmodified = [row for row in visits if row.outcome == Outcome.NOT_MODIFIED]
    assert any(row.url.startswith(HONEST) for row in unmodified)
    lying, honest = (store.table(SiteRow).get(host.partition("://")[2]) for host in (LYING, HONEST))
    assert lying and lying.validators[LYING].distrust_reason
    assert honest and not (
        honest.validators.get(HONEST) and honest.validators[HONEST].distrust_reason
    )
    assert freshness(crawl, web) > 0.7
