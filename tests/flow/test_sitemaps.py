"""Sitemaps in a robots.txt are visited once each, politely, with the purpose sitemap."""

from collections import Counter
from pathlib import Path

import pytest

from gossamer.events import Outcome, Purpose
from gossamer.services.fetcher.outcome import Failure, Reply
from tests.flow.virtual import VirtualCrawl

ROBOTS = b"""
Sitemap: http://a.test/one.xml.gz
User-agent: *
Disallow: /private/
Sitemap: http://a.test/private/two.xml
Sitemap: http://b.test/three.xml
Sitemap: http://elsewhere.test/four.xml
Sitemap: http://a.test/missing.xml
"""
GZIP = (("Content-Type", "application/gzip"),)
DAY = 86400.0


class Web:
    """Answers the first request for its first sitemap with 500."""

    def __init__(self) -> None:
        self.failing = 1

    def __call__(self, url: str, now: float) -> tuple[float, Reply | Failure]:
        status, headers, body = 200, GZIP, b"\x1f\x8b"
        if url.endswith("/robots.txt"):
            body = ROBOTS if url.startswith("http://a.test/") else b""
        elif url.endswith(("missing.xml", "four.xml")):
            status = 404
        elif url.endswith("one.xml.gz") and self.failing:
            self.failing, status = self.failing - 1, 500
        elif not url.endswith((".xml", ".gz")):
            headers, body = (("Content-Type", "text/html"),), b"<p>" + url.encode()
        return 0.5, Reply(status=status, headers=headers, body=body)


@pytest.fixture
def crawl(tmp_path: Path) -> VirtualCrawl:
    crawl = VirtualCrawl(tmp_path, Web(), delay=1.0)
    crawl.define("http://a.test/", "http://b.test/", scope='domain("a.test") or domain("b.test")')
    crawl.run()
    return crawl


def test_sitemap_is_visited_once_although_robots_txt_is_read_every_day(crawl: VirtualCrawl) -> None:
    crawl.now += 2 * DAY
    crawl.define("http://a.test/later", scope='domain("a.test") or domain("b.test")')
    crawl.run()
    requested = Counter(url for _, _, url in crawl.requests)
    assert requested["http://a.test/robots.txt"] == 2
    assert requested["http://b.test/three.xml"] == requested["http://a.test/missing.xml"] == 1
    assert requested["http://a.test/one.xml.gz"] == 2, "the first visit failed"


@pytest.mark.parametrize(
    ("url", "outcome"),
    [
        ("http://a.test/one.xml.gz", Outcome.PAGE),
        ("http://b.test/three.xml", Outcome.PAGE),
        ("http://a.test/missing.xml", Outcome.GONE),
        ("http://a.test/private/two.xml", Outcome.ROBOTS_EXCLUDED),
    ],
)
def test_sitemap_row_has_its_purpose_and_outcome(
    crawl: VirtualCrawl, url: str, outcome: Outcome
) -> None:
    found = crawl.url_row(url)
    assert found and (found.origin.purpose, found.outcome) == (Purpose.SITEMAP, outcome)
    assert found.origin.via.endswith("@http://a.test/robots.txt")


def test_sitemap_outside_the_scope_is_not_visited(crawl: VirtualCrawl) -> None:
    assert not [url for _, _, url in crawl.requests if "elsewhere" in url]
    assert crawl.url_row("http://elsewhere.test/four.xml") is None


def test_sitemap_visits_keep_the_delay(crawl: VirtualCrawl) -> None:
    assert min(crawl.gaps()) >= 1.0


@pytest.mark.parametrize("later", [0.0, 600.0, 2 * DAY])
def test_each_crawl_of_a_host_visits_its_sitemaps(tmp_path: Path, later: float) -> None:
    crawl = VirtualCrawl(tmp_path, Web(), delay=1.0)
    crawl.define("http://a.test/", scope='domain("a.test") or domain("b.test")')
    if later:
        crawl.run()
        crawl.now += later
    crawl.define("http://a.test/of-b", scope='domain("a.test")', crawl="b")
    crawl.run()
    requests = Counter(url for _, _, url in crawl.requests)
    assert requests["http://a.test/robots.txt"] == 1 + (later > DAY)
    assert requests["http://a.test/missing.xml"] == 2
    assert requests["http://b.test/three.xml"] == 1, "of the crawl with this host in its scope"
    found = crawl.url_row("http://a.test/one.xml.gz", "b")
    assert found and (found.outcome, found.origin.purpose) == (Outcome.PAGE, Purpose.SITEMAP)
