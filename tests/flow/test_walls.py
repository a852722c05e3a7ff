"""Walls in a whole crawl: requested rarely, never published, compared, followed or archived."""

from pathlib import Path
from typing import Any

import pytest

from gossamer.events import DEFAULT_CRAWL, PageFetched, Visit
from gossamer.events.topics import PAGES
from gossamer.inspection.progress.report import make_report
from gossamer.log.codec import encode, split_key
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import VerdictRow
from gossamer.services.frontier.totals.tally import TallyRow, scan_days
from gossamer.settings import ArchiveSettings
from gossamer.web.http import Headers
from gossamer.web.soft_404 import NO_PAGE
from gossamer.web.url import HostKey, Site, host_name
from gossamer.web.walls import Wall, WallKind
from tests.archive.harness import responses
from tests.flow.virtual import START, VirtualCrawl

DAY = 86400.0
HTML = ("Content-Type", "text/html")
ANUBIS = b'<script id="anubis_challenge" type="application/json">{}</script><a href=/trap>On</a>'
APP = b'<html><head><script src="/app.js"></script></head><body><div id=root></div></body></html>'
LICENSE: Headers = (("WWW-Authenticate", "License"), ("Link", '</l.xml>; rel="license"'))
WALLS: dict[str, tuple[int, Headers, bytes]] = {
    "anubis.test": (202, (HTML,), ANUBIS),
    "cloudflare.test": (403, (HTML, ("cf-mitigated", "challenge")), b"<a href=/trap>Wait"),
    "price.test": (402, (HTML, ("crawler-price", "USD 0.01")), b"<a href=/trap>Pay"),
    "license.test": (401, (HTML, *LICENSE), b"<a href=/trap>License"),
}
"""The wall in place of all pages of a host but its home page."""
AT_ROBOTS = {f"robots-{name}": wall for name, wall in WALLS.items()}
"""The wall in place of the robots.txt of a host."""


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    name, path = host_name(url), url.split("/", 3)[3]
    links = "".join(f"<a href=/{n}>{n}</a>" for n in range(3))
    headers: Headers = (HTML,)
    status, body = 200, f"<title>{url}</title><p>Words of {url} {links}".encode()
    if path == "robots.txt":
        status, headers, body = AT_ROBOTS.get(name, (404, (HTML,), b""))
        if name == "home.test":
            status, body = 200, b"<html><body><p>Welcome to our shop</p></body></html>"
    elif name in WALLS and path:
        status, headers, body = WALLS[name]
    elif name == "app.test":
        body = APP
    return 0.1, Reply(status=status, headers=headers, body=body)


HOSTS = (*WALLS, *AT_ROBOTS, "app.test", "home.test")


def crawl_of(folder: Path, **settings: Any) -> VirtualCrawl:
    crawl = VirtualCrawl(folder, web, **settings)
    crawl.define(*(f"http://{name}/" for name in HOSTS), max_depth=3)
    crawl.run(until=START + 10 * DAY)
    return crawl


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> VirtualCrawl:
    return crawl_of(tmp_path_factory.mktemp("walls"), probe_after=2)


def requested(crawl: VirtualCrawl, host: str) -> list[str]:
    return [url for _, _, url in crawl.requests if host_name(url) == host]


def published(crawl: VirtualCrawl) -> set[str]:
    return {split_key(record.key)[1] for record in crawl.records(PAGES.name)}


@pytest.mark.parametrize("name", WALLS)
def test_wall_is_not_compared_and_its_links_are_not_followed(
    crawl: VirtualCrawl, name: str
) -> None:
    rows = crawl._store().table(VerdictRow)
    for n in range(3):
        verdict = rows.get((DEFAULT_CRAWL, f"http://{name}"), f"http://{name}/{n}")
        assert verdict is None or verdict.digest in ("", NO_PAGE)
    assert f"http://{name}/trap" not in requested(crawl, name)


@pytest.mark.parametrize(("name", "most"), [("price.test", 1), ("license.test", 1)])
def test_refused_url_is_requested_once(crawl: VirtualCrawl, name: str, most: int) -> None:
    urls = requested(crawl, name)
    assert [urls.count(f"http://{name}/{n}") for n in range(3)] == [most] * 3


@pytest.mark.parametrize("name", ["anubis.test", "cloudflare.test"])
def test_challenged_urls_are_requested_rarely(crawl: VirtualCrawl, name: str) -> None:
    urls = requested(crawl, name)
    assert all(1 <= urls.count(f"http://{name}/{n}") <= 4 for n in range(3))


@pytest.mark.parametrize("name", AT_ROBOTS)
def test_wall_in_place_of_robots_txt_allows_nothing(crawl: VirtualCrawl, name: str) -> None:
    urls = requested(crawl, name)
    assert set(urls) == {f"http://{name}/robots.txt"} and 2 < len(urls) < 30


def test_home_page_in_place_of_robots_txt_allows_everything(crawl: VirtualCrawl) -> None:
    assert "http://home.test/2" in requested(crawl, "home.test")


def test_application_without_text_is_a_page(crawl: VirtualCrawl) -> None:
    verdict = crawl._store().table(VerdictRow).get(
        (DEFAULT_CRAWL, "http://app.test"), "http://app.test/"
    )  # fmt: skip
    assert verdict and verdict.verdict == "first"


def test_walls_are_not_published(crawl: VirtualCrawl) -> None:
    urls = published(crawl)
    homes = {f"http://{name}/" for name in WALLS}
    assert {url for url in urls if host_name(url) in WALLS} == homes
    assert not {url for url in urls if host_name(url) in AT_ROBOTS}


def test_walls_are_not_archived(crawl: VirtualCrawl) -> None:
    urls = responses(crawl.folder)
    of_hosts = [url for url in urls if host_name(url) in WALLS]
    assert [url for url in of_hosts if not url.endswith((".test/", "txt"))] == []
    assert "http://price.test/" in of_hosts
    assert not [url for url in urls if host_name(url) in AT_ROBOTS]
    assert not crawl._store().table(CaptureRow).scan((DEFAULT_CRAWL, "http://price.test/1"))


def test_walls_are_counted_at_their_hosts(crawl: VirtualCrawl) -> None:
    rows = {host_name(row.host): row for row in crawl.rows(HostRow)}
    assert rows["price.test"].walls["payment: pay per crawl"] == 3 + 1, "three pages and the probe"
    assert set(rows["anubis.test"].walls) == {"challenge: Anubis"}
    assert rows["app.test"].walls == {}


def test_walls_are_counted_by_kind_in_the_report(crawl: VirtualCrawl) -> None:
    totals = crawl.rows(TallyRow)
    rows = [day for row in totals for day in scan_days(crawl._store(), row.crawl, row.partition)]
    report = make_report("walls", sorted(rows, key=lambda row: row.at), {})
    found = {one.hazard: one for one in report.hazards}
    names = ("challenged", "payment_required", "license_required")
    assert [found[name].sites for name in names] == [4, 2, 2]
    assert all(found[name].urls >= 4 for name in names)


def test_challenge_is_not_the_signature_of_a_host(crawl: VirtualCrawl) -> None:
    rows = {host_name(row.host): row for row in crawl.rows(HostRow)}
    for name in WALLS:
        signature = rows[name].signature
        assert signature is None or (signature.status, signature.digest) == (0, "")


def test_document_stays_while_later_visits_are_challenged(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web)
    crawl.define("http://app.test/", max_depth=0)
    crawl.run(until=START + DAY)
    before = crawl.records(PAGES.name)
    url = "http://app.test/"
    wall = Wall(WallKind.CHALLENGE, "Anubis", "its cookie")
    later = [
        PageFetched(
            at=START + n * 40 * DAY,
            site=Site("app.test"),
            host=HostKey("http://app.test"),
            visit=Visit(f"9.{n}.0@{url}", url, earlier=n),
            started_at=START + n * 40 * DAY,
            took=0.1,
            status=status,
            headers=(HTML,),
            body=ANUBIS,
            wall=wall,
        )
        for n, status in enumerate((200, 202, 403, 404, 410), start=1)
    ]
    crawl.log.append([encode(one) for one in later])
    crawl.run(until=START + 400 * DAY)
    assert crawl.records(PAGES.name) == before and before
    verdict = crawl._store().table(VerdictRow).get((DEFAULT_CRAWL, "http://app.test"), url)
    assert verdict and verdict.verdict == "first"


def test_walls_are_archived_by_setting(tmp_path: Path) -> None:
    crawl = crawl_of(tmp_path, archive=ArchiveSettings(walls=True))
    urls = responses(crawl.folder)
    assert {f"http://{name}/1" for name in WALLS} <= set(urls)
    assert {f"http://{name}/robots.txt" for name in AT_ROBOTS} <= set(urls)
