"""Each occurrence of a hazard is counted once, in the metric and in the report."""

from collections import Counter
from pathlib import Path

from prometheus_client import REGISTRY

from gossamer.events.hazards import Hazard
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.store.sqlite import SqliteStore
from tests.flow.virtual import VirtualCrawl

HOST = "http://a.test"
HTML = (("Content-Type", "text/html"),)
LINKS = (
    "/cut",
    "/twin",
    "/again",
    "/nowhere",
    "/hops/1",
    "/image",
    "/secret",
    "/empty",
    "http://[",
    "mailto:x",
    "javascript:y",
)


def html(body: str, truncated: str = "") -> Reply:
    page = f"<title>A page</title>{body}".encode()
    return Reply(status=200, headers=HTML, body=page, truncated=truncated)


ANSWERS = {
    "/robots.txt": Reply(status=200, body=b"User-agent: *\nDisallow: /secret\n"),
    "/": html("".join(f"<a href={link}>a link</a>" for link in LINKS)),
    "/cut": html("cut <a href=ftp://b.test/>a link</a>", truncated="length"),
    "/twin": html("twins"),
    "/again": html("twins"),
    "/nowhere": Reply(status=302),
    "/image": Reply(status=200, headers=(("Content-Type", "image/png"),)),
}


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    path = url.removeprefix(HOST)
    reply = ANSWERS.get(path, Reply(status=404))
    if path.startswith("/hops/"):
        following = f"/hops/{int(path[6:]) + 1}"
        reply = Reply(status=301, headers=(("Location", following),))
    return 0.1, reply


def metric_counts() -> Counter[str]:
    return Counter(
        {
            hazard.value: int(
                REGISTRY.get_sample_value("gossamer_hazards_total", {"hazard": hazard}) or 0
            )
            for hazard in Hazard
        }
    )


def report_counts(crawl: VirtualCrawl) -> Counter[str]:
    tallies = SqliteStore(crawl.database).table(TallyRow)
    rows = [*tallies.everything()]
    return sum((Counter(row.hazards) for row in rows if row), Counter())


def count_in_crawl(folder: Path, **settings: int) -> tuple[Counter[str], Counter[str]]:
    """Return the counts of the metric and of the report for one crawl."""
    before = metric_counts()
    crawl = VirtualCrawl(folder, web, None, **settings)
    crawl.define(f"{HOST}/", f"{HOST}/late", max_depth=3)
    assert crawl.run()
    crawl.archive.close()
    return metric_counts() - before, report_counts(crawl)


def test_metric_and_report_count_each_occurrence_once(tmp_path: Path) -> None:
    metric, report = count_in_crawl(tmp_path, hops_limit=3)
    assert metric == report
    assert report == {
        "infinite_body": 1,  # /cut
        "malformed_url": 1,  # /
        "non_web_link": 2,  # / and /cut, once a page
        "exact_duplicate": 1,  # /again
        "bad_redirect": 1,  # /nowhere
        "redirect": 4,  # /hops/1 to /hops/4; the fifth exceeds the limit
        "unwanted_type": 1,  # /image
        "robots_excluded": 1,  # /secret
    }


def test_metric_and_report_count_each_refusal_of_the_frontier_once(tmp_path: Path) -> None:
    metric, report = count_in_crawl(tmp_path, url_budget=4, budget_growth=0, seed_sites=0)
    assert metric == report
    assert report["trap_urls"] == 7, "six, and a link of a page that a probe of the budget visits"
