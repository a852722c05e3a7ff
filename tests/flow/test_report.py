"""The report of a whole crawl has the figures of the web that was crawled."""

from collections import Counter
from pathlib import Path

import pytest

from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.progress.report import HazardReport, Report, read_report
from gossamer.services.fetcher.outcome import Failure, Reply
from tests.flow.virtual import VirtualCrawl

A, B = "http://a.test", "http://b.test"
TOOK, DAY = 0.1, 86400.0
WORDS = " ".join(f"word{n}" for n in range(100))


def html(text: str, *links: str) -> Reply:
    tags = "".join(f"<a href='{link}'>link</a>" for link in links)
    body = f"<title>{text}</title><p>{text} {WORDS[: len(text) * 7]}</p>{tags}".encode()
    return Reply(status=200, headers=(("Content-Type", "text/html"),), body=body)


TWINS = html("the same text on two pages")
ANSWERS = {
    f"{A}/robots.txt": Reply(status=200, body=b"User-agent: *\nDisallow: /secret\n"),
    f"{A}/": html(
        "home of a", "/twin", "/copy", "/secret", "/note", *(f"/{n}" for n in range(9)), f"{B}/"
    ),
    f"{A}/twin": TWINS,
    f"{A}/copy": TWINS,
    f"{A}/note": Reply(status=200, headers=(("Content-Type", "text/plain"),), body=b"a note"),
    **{f"{A}/{n}": html(f"page number {n} of a", f"/deeper/{n}") for n in range(6)},
    f"{B}/": html("home of b", "/moved", "/picture", "/down"),
    f"{B}/moved": Reply(status=301, headers=(("Location", "/"),)),
    f"{B}/picture": Reply(status=200, headers=(("Content-Type", "image/png"),)),
    f"{B}/down": Reply(status=500),
}


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    return TOOK, ANSWERS.get(url, Reply(status=404))


def make_crawl(folder: Path, **settings: object) -> VirtualCrawl:
    crawl = VirtualCrawl(
        folder,
        web,
        None,
        delay=2.0,
        url_budget=11,
        budget_growth=0,
        seed_sites=0,
        retries=0,
        **settings,
    )
    crawl.define(f"{A}/", max_depth=1)
    return crawl


def report_of(crawl: VirtualCrawl, days: int | None = None, day: str = "") -> Report:
    return read_report(OpenCrawl("data", crawl.log, crawl._store), days, day)


def hazard(report: Report, name: str) -> HazardReport:
    return next(one for one in report.hazards if one.hazard == name)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> VirtualCrawl:
    """Return a crawl that is done."""
    crawl = make_crawl(tmp_path_factory.mktemp("crawl"))
    assert crawl.run()
    return crawl


def test_downloads_are_those_of_the_web(crawl: VirtualCrawl) -> None:
    report = report_of(crawl)
    truth, received = Counter[str](), 0
    for _, _, url in crawl.requests:
        answer = ANSWERS.get(url, Reply(status=404))
        truth[str(answer.status)] += 1
        received += len(answer.body)
    assert {one.name: one.responses for one in report.statuses} == truth
    assert (report.totals.visits, report.totals.received) == (len(crawl.requests), received)
    requested = {url for _, _, url in crawl.requests}
    types = {one.name: one.responses for one in report.types}
    pages = sum(b"<title>" in ANSWERS[url].body for url in requested & ANSWERS.keys())
    assert types["text/html"] == pages
    assert types.get("image/png", 0) == (f"{B}/picture" in requested)


def test_copies_and_new_texts_are_those_of_the_web(crawl: VirtualCrawl) -> None:
    totals = report_of(crawl).totals
    requested = {url for _, _, url in crawl.requests} & ANSWERS.keys()
    pages = [ANSWERS[url].body for url in requested if ANSWERS[url].headers[1:] == ()]
    pages = [body for body in pages if body and not body.startswith(b"User-agent")]
    assert totals.pages == len(pages)
    assert totals.new_texts == len({*pages})
    assert totals.duplicates == len(pages) - len({*pages}) == 1
    assert totals.pages_per_new_text == totals.pages / totals.new_texts


def test_limits_name_sites_urls_examples_and_settings(crawl: VirtualCrawl) -> None:
    report = report_of(crawl)
    assert report.totals.sites == 2
    budget = hazard(report, "trap_urls")
    # The home page and ten of its links are within the budget; robots.txt excludes /secret.
    assert (budget.sites, budget.site_share) == (1, 0.5)
    assert budget.urls == budget.refused == 2
    assert budget.of_urls == report.totals.admitted + report.totals.refused
    assert all(url.startswith(f"{A}/") for url in budget.examples) and len(budget.examples) == 2
    assert "frontier.url_budget" in budget.settings
    depth = hazard(report, "trap_depth")
    requested = {url for _, _, url in crawl.requests}
    deeper = [n for n in range(6) if f"{A}/{n}" in requested]
    assert depth.parked_links >= len(deeper) > 0
    robots = hazard(report, "robots_excluded")
    assert (robots.urls, robots.examples) == (1, (f"{A}/secret",))
    assert hazard(report, "soft_404").urls == 0


def test_hosts_waited_one_delay_between_two_visits(crawl: VirtualCrawl) -> None:
    totals = report_of(crawl).totals
    visits = Counter(url.split("/")[2] for _, _, url in crawl.requests)
    assert totals.visit_seconds == pytest.approx(TOOK * len(crawl.requests))
    gaps = sum(count - 1 for count in visits.values())
    assert totals.delay_seconds == pytest.approx(2.0 * gaps, rel=0.2)


@pytest.mark.parametrize("steps", [5, 9, 14, 20, 35])
def test_crash_changes_no_figure(tmp_path: Path, crawl: VirtualCrawl, steps: int) -> None:
    crashed = make_crawl(tmp_path)
    crashed.run(steps)
    crashed.crash()
    assert crashed.run()
    found, expected = report_of(crashed), report_of(crawl)
    assert {one.hazard: (one.urls, one.sites, one.refused) for one in found.hazards} == {
        one.hazard: (one.urls, one.sites, one.refused) for one in expected.hazards
    }
    assert (found.statuses, found.types) == (expected.statuses, expected.types)
    assert (found.totals.sites, found.totals.new_texts) == (2, expected.totals.new_texts)


def test_days_are_counted_separately(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web, None)
    crawl.define(f"{A}/note", max_depth=0, revisit="fixed:1d")
    crawl.run(until=crawl.now + 3.5 * DAY)
    report = report_of(crawl)
    assert len(report.days) >= 3
    assert sum(day.totals.visits for day in report.days) == report.totals.visits
    assert sum(day.totals.sites for day in report.days) == report.totals.sites == 1
    assert report.totals.unchanged == report.totals.pages - 1
    newest = report.days[0]
    assert report_of(crawl, day=newest.day).totals == newest.totals
    two = report_of(crawl, days=2)
    assert [one.day for one in two.days] == [one.day for one in report.days[:2]]
    assert report_of(crawl, day="2001-01-01").days == ()


def test_days_expire_after_the_age_in_the_settings(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web, None, report_age=2 * DAY)
    crawl.define(f"{A}/note", max_depth=0, revisit="fixed:1d")
    crawl.run(until=crawl.now + 9 * DAY)
    assert 2 <= len(report_of(crawl).days) <= 4
