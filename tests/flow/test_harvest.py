"""A crawl shows its harvest and its completeness, also after crashes."""

from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from console.cli.status import lines
from console.output import Output
from gossamer.settings import DedupSettings
from gossamer.web.url import Site
from inspection.crawls.crawl import OpenCrawl
from inspection.hosts.parts import read_parts
from inspection.progress.status import CrawlStatus, read_status
from services.fetcher.outcome import Reply
from services.frontier.tables.harvest import NEW_TEXTS
from services.frontier.totals.completeness import Completeness
from tests.flow.test_flow import HTML
from tests.flow.torn import Died, Fate
from tests.flow.virtual import START, VirtualCrawl
from tests.frontier.generated_web import Graph, find_reachable, generate

HOST = "http://a.test"
PAGES = 120
GRAPH = generate(5, PAGES, links=5)
SITE_GRAPH = generate(5, 400, links=8)
"""A site that is large enough for a close estimate."""
EXACT = DedupSettings(near_distance=0)
BARREN = range(0, PAGES, 3)
"""Pages with a text of two words."""


def web(url: str, now: float, graph: Graph = GRAPH) -> tuple[float, Reply]:
    path = url.removeprefix(HOST).strip("/")
    if path == "robots.txt":
        return 0.1, Reply(status=404, started_at=now, took=0.1)
    page = int(path or 0)
    links = "".join(f"<p><a href='/{target or ''}'>to {target}</a>" for target in graph[page])
    words = 2 if page in BARREN else 200
    text = "".join(f"<p>word{page}x{word} and others of this page." for word in range(words))
    body = f"<title>{page}</title><main>{text}</main><nav>{links}</nav>".encode()
    return 0.1, replace(Reply(status=200, headers=HTML, body=body), started_at=now, took=0.1)


def status_of(crawl: VirtualCrawl) -> CrawlStatus:
    return read_status(OpenCrawl("there", crawl.log, crawl._store, fleet=True))


def completeness_of_site(crawl: VirtualCrawl) -> Completeness | None:
    opened = OpenCrawl("there", crawl.log, crawl._store, fleet=True)
    return read_parts(opened, Site("a.test")).completeness


def shown(status: CrawlStatus, title: str) -> str:
    text = [Output().line(line).strip() for line in lines(status, START)]
    return next((line for line in text if line.startswith(title)), "")


def test_status_shows_the_harvest_and_how_much_is_found(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web, delay=1.0, dedup=EXACT)
    crawl.define(f"{HOST}/")
    total = len(pages := find_reachable(GRAPH))

    assert not crawl.run(until=START + 5.0)
    assert not shown(status_of(crawl), "found"), "there are too few visits"

    assert not crawl.run(until=START + 0.4 * total)
    crawl.crash()
    half = status_of(crawl)
    completeness = half.report().completeness
    assert completeness and completeness.found.low <= 1.0 < completeness.total
    assert completeness.visited.value < completeness.found.value
    assert "% of the URLs within the limits (90 % interval: " in shown(half, "found")
    assert shown(half, "harvest").endswith(" of them good")

    assert crawl.run()
    whole = status_of(crawl)
    assert shown(whole, "found").endswith(f"{total} URLs within the limits")
    harvest = whole.report().harvest
    assert sum(part.new for part in harvest) == total
    good = total - len(pages.intersection(BARREN))
    assert sum(part.good for part in harvest) == good
    assert sum(part.visits for part in harvest) == total + 1, "one is the robots.txt"
    assert sum(point.first_visits for point in whole.progress.harvest) == total
    assert sum(point.found for point in whole.progress.harvest) == total - 1
    crawl.archive.close()


def test_restarts_lose_and_repeat_nothing(tmp_path: Path) -> None:
    curves = []
    for crashes in (0, 12):
        crawl = VirtualCrawl(tmp_path / str(crashes), web, delay=1.0, dedup=EXACT)
        crawl.define(f"{HOST}/")
        for number in range(crashes):
            crawl.run(steps=7 * (number + 1))
            crawl.crash()
        assert crawl.run()
        points = status_of(crawl).progress.harvest
        curves.append([sum(getattr(one, name) for one in points) for name in ("new", "found")])
        crawl.archive.close()
    assert curves[0] == curves[1]


@pytest.mark.slow
def test_curve_agrees_with_the_totals_after_crashes_of_a_fleet(tmp_path: Path) -> None:
    fate = Fate(3)
    crawl = VirtualCrawl(tmp_path, web, fate, delay=1.0, dedup=EXACT)
    crawl.define(f"{HOST}/")
    for _ in range(12):
        fate.left = fate.random.randint(5, 80)
        with suppress(Died):
            crawl.run(until=START + 5000.0)
        crawl.crash()
    assert crawl.run()
    progress = status_of(crawl).progress
    assert sum(point.visits for point in progress.harvest) == progress.outcomes.total()
    assert sum(point.found for point in progress.harvest) == progress.admitted - 1
    new = sum(progress.verdicts[verdict] for verdict in NEW_TEXTS)
    assert sum(point.new for point in progress.harvest) == new
    crawl.archive.close()


@pytest.mark.long
def test_completeness_of_a_site_is_close_from_half_of_the_visits_on(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, partial(web, graph=SITE_GRAPH), delay=1.0, dedup=EXACT)
    crawl.define(f"{HOST}/")
    total = len(find_reachable(SITE_GRAPH))
    assert not crawl.run(until=START + 5.0)
    assert completeness_of_site(crawl) is None, "there are too few visits"
    for share in (0.5, 0.6, 0.7, 0.8, 0.9):
        assert not crawl.run(until=START + 1.1 * share * total)
        crawl.crash()
        estimated = completeness_of_site(crawl)
        admitted = status_of(crawl).progress.admitted
        assert estimated
        assert abs(estimated.found.value - admitted / total) <= 0.1, share
        assert abs(estimated.visited.value - len(crawl.requests) / total) <= 0.1, share
    assert crawl.run()
    estimated = completeness_of_site(crawl)
    assert estimated and estimated.total == total
    assert estimated.found.value == estimated.visited.value == 1.0
    crawl.archive.close()
