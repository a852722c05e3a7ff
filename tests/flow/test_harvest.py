"""A crawl shows its harvest, and how many URLs it found, also after crashes."""

from pathlib import Path

import pytest

from gossamer.console.cli.status import lines
from gossamer.console.output import Output
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.progress.status import CrawlStatus, read_status
from gossamer.services.fetcher.outcome import Reply
from gossamer.services.frontier.tables.harvest import NEW_TEXTS
from gossamer.settings import DedupSettings
from tests.flow.test_flow import HTML
from tests.flow.torn import Fate
from tests.flow.virtual import START, VirtualCrawl
from tests.frontier.generated_web import find_reachable, generate

HOST = "http://a.test"
PAGES = 120
GRAPH = generate(5, PAGES, links=5)
EXACT = DedupSettings(near_distance=0)
BARREN = range(0, PAGES, 3)
"""Pages with a text of two words."""


def web(url: str, now: float) -> tuple[float, Reply]:
    path = url.removeprefix(HOST).strip("/")
    if path == "robots.txt":
        return 0.1, Reply(status=404)
    page = int(path or 0)
    links = "".join(f"<p><a href='/{target or ''}'>to {target}</a>" for target in GRAPH[page])
    words = 2 if page in BARREN else 200
    text = "".join(f"<p>word{page}x{word} and others of this page." for word in range(words))
    body = f"<title>{page}</title><main>{text}</main><nav>{links}</nav>".encode()
    return 0.1, Reply(status=200, headers=HTML, body=body)


def status_of(crawl: VirtualCrawl) -> CrawlStatus:
    return read_status(OpenCrawl("there", crawl.log, crawl._store, fleet=True))


def shown(status: CrawlStatus, title: str) -> str:
    text = [Output().line(line).strip() for line in lines(status, START)]
    return next((line for line in text if line.startswith(title)), "")


def test_status_shows_the_harvest_and_how_much_is_found(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web, delay=1.0, dedup=EXACT)
    crawl.define(f"{HOST}/")
    total = len(pages := find_reachable(GRAPH))

    assert not crawl.run(until=START + 5.0)
    assert status_of(crawl).report().new_urls_lately is None, "there are too few visits"

    assert not crawl.run(until=START + 0.4 * total)
    crawl.crash()
    half = status_of(crawl)
    counted = half.report()
    assert 0 < counted.visited < counted.admitted
    assert counted.visited + counted.unvisited == counted.admitted
    assert shown(half, "found").endswith(f" URLs visited, {counted.unvisited:,} to visit")
    assert shown(half, "harvest").endswith(" of them good")

    assert crawl.run()
    whole = status_of(crawl)
    assert f" {total} URLs visited, 0 to visit; lately " in shown(whole, "found")
    harvest = whole.report().harvest
    assert sum(part.new for part in harvest) == total
    good = total - len(pages.intersection(BARREN))
    assert sum(part.good for part in harvest) == good
    assert sum(part.visits for part in harvest) == total
    assert sum(point.first_visits for point in whole.progress.harvest) == total
    assert sum(point.found for point in whole.progress.harvest) == total - 1
    crawl.archive.close()


@pytest.mark.parametrize("status", [200, 404])
def test_robots_txt_and_sitemaps_are_neither_visits_of_the_harvest_nor_found_urls(
    tmp_path: Path, status: int
) -> None:
    def answer(url: str, now: float) -> tuple[float, Reply]:
        if url == f"{HOST}/":
            return 0.1, Reply(status=200, headers=HTML, body=b"<p>A page of a few words.")
        listing = b"<urlset></urlset>"
        return 0.1, Reply(status=404 if url.endswith("robots.txt") else status, body=listing)

    crawl = VirtualCrawl(tmp_path, answer, delay=1.0, dedup=EXACT, usual_sitemaps="seeds")
    crawl.define(f"{HOST}/")
    assert crawl.run()
    assert f"{HOST}/sitemap.xml" in [url for _, _, url in crawl.requests]
    whole = status_of(crawl)
    assert "100 new or changed texts per 100 visits" in shown(whole, "harvest")
    assert shown(whole, "found").endswith(" 1 URL visited, 0 to visit")
    assert shown(whole, "urls").endswith(" 1 admitted, 0 queued")
    crawl.archive.close()


def test_visited_sitemap_is_not_shown_as_a_url_to_visit_while_a_host_backs_off(
    tmp_path: Path,
) -> None:
    listing = "".join(f"<url><loc>{HOST}/{name}</loc></url>" for name in "abc")

    def answer(url: str, now: float) -> tuple[float, Reply]:
        if url.endswith("robots.txt"):
            return 0.1, Reply(status=404)
        if url.endswith("sitemap.xml"):
            return 0.1, Reply(status=200, body=f"<urlset>{listing}</urlset>".encode())
        status = 200 if now < START + 1000.0 else 503
        return 0.1, Reply(status=status, headers=HTML, body=f"<p>The page {url}.".encode())

    crawl = VirtualCrawl(tmp_path, answer, delay=1.0, dedup=EXACT, usual_sitemaps="seeds")
    crawl.define(f"{HOST}/", revisit="fixed:30m", budget=0.0)
    crawl.run(until=START + 1900.0)
    crawl.crash()
    going_on = status_of(crawl)
    assert going_on.progress.due_count
    assert shown(going_on, "found").endswith(" 4 URLs visited, 0 to visit")
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
    crawl.die(*(fate.random.randint(5, 80) for _ in range(12)), seconds=5000.0)
    assert crawl.run()
    progress = status_of(crawl).progress
    visits_to_pages = progress.outcomes.total() - progress.outcomes["robots.txt"]
    assert sum(point.visits for point in progress.harvest) == visits_to_pages
    assert sum(point.found for point in progress.harvest) == progress.admitted - 1
    new = sum(progress.verdicts[verdict] for verdict in NEW_TEXTS)
    assert sum(point.new for point in progress.harvest) == new
    crawl.archive.close()
