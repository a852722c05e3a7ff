"""`/sitemap.xml` of hosts whose robots.txt names no sitemap.

Report: browsertrix-crawler #933. Norconex, Nutch and ultimate-sitemap-parser read it, too.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from gossamer.events import DEFAULT_CRAWL, Outcome, Purpose
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.plans import PlanRow
from gossamer.services.frontier.totals.tally import TallyRow
from tests.flow.virtual import VirtualCrawl

HOST = "http://a.test"
URL = f"{HOST}/sitemap.xml"
HTML, XML, PLAIN = "text/html", "application/xml", "text/plain"
SITEMAP = f"<urlset><url><loc>{HOST}/hidden</loc></url></urlset>"
SOFT_404 = "<title>Oops</title><p>There is no such page. <a href=/lost>Home</a>"
DAY = 86400.0
Answer = tuple[int, str, str]
"""Status, type or Location, and body."""


class Web:
    """A page for every URL, but for those with other *answers*."""

    def __init__(self, answers: Mapping[str, Answer] | None = None) -> None:
        self.answers = {f"{HOST}/robots.txt": (404, PLAIN, ""), **(answers or {})}

    def __call__(self, url: str, now: float) -> tuple[float, Reply | Failure]:
        body = f"<p>All that can be told about the words of {url} is here, in the last line."
        status, kind, body = self.answers.get(url, (200, HTML, body))
        name = "Location" if status // 100 == 3 else "Content-Type"
        return 0.1, Reply(status=status, headers=((name, kind),), body=body.encode())


def make_crawl(
    folder: Path, answers: Mapping[str, Answer] | None = None, setting: str = "seeds"
) -> VirtualCrawl:
    return VirtualCrawl(folder, Web(answers), delay=1.0, usual_sitemaps=setting)


def visited(crawl: VirtualCrawl) -> Counter[str]:
    return Counter(url for _, _, url in crawl.requests)


def totals(crawl: VirtualCrawl) -> Counter[str]:
    rows = crawl.rows(TallyRow)
    return sum((Counter(row.outcomes) for row in rows), Counter[str]())


def published(crawl: VirtualCrawl) -> set[str]:
    rows = crawl.rows(DocumentRow)
    return {row.url for row in rows if not row.gone and row.published_at}


@pytest.mark.parametrize(
    ("kind", "body"), [(XML, SITEMAP), (PLAIN, f"{HOST}/hidden\n"), (HTML, SITEMAP)]
)
def test_usual_sitemap_of_a_seed_is_read(tmp_path: Path, kind: str, body: str) -> None:
    crawl = make_crawl(tmp_path, {URL: (200, kind, body)})
    crawl.define(f"{HOST}/")
    assert crawl.run()
    assert visited(crawl) == Counter([f"{HOST}/robots.txt", f"{HOST}/", URL, f"{HOST}/hidden"])
    assert min(crawl.gaps()) >= 1.0
    found = crawl.url_row(URL)
    assert found and (found.origin.purpose, found.outcome) == (
        Purpose.USUAL_SITEMAP,
        Outcome.PAGE,
    )


@pytest.mark.parametrize(
    ("robots", "is_read"),
    [
        ((404, PLAIN, ""), True),
        ((200, PLAIN, ""), True),
        ((200, PLAIN, "User-agent: *\nDisallow: /private"), True),
        ((200, PLAIN, "User-agent: *\nDisallow: /sitemap"), False),
        ((200, PLAIN, f"Sitemap: {HOST}/other.xml"), False),
        ((500, PLAIN, ""), False),
    ],
)
def test_robots_txt_decides_about_the_usual_sitemap(
    tmp_path: Path, robots: Answer, is_read: bool
) -> None:
    crawl = make_crawl(tmp_path, {f"{HOST}/robots.txt": robots, URL: (200, XML, SITEMAP)})
    crawl.define(f"{HOST}/")
    crawl.run(until=crawl.now + 300)
    assert visited(crawl)[URL] == is_read
    assert totals(crawl)["robots_excluded"] == 0, "no request is planned that must not be made"


@pytest.mark.parametrize(
    ("setting", "hosts"), [("seeds", {"a"}), ("all", {"a", "b"}), ("never", set[str]())]
)
def test_setting_names_the_hosts(tmp_path: Path, setting: str, hosts: set[str]) -> None:
    start = (200, HTML, '<p>All the words of the first page.<a href="http://b.test/">b</a>')
    crawl = make_crawl(tmp_path, {f"{HOST}/": start}, setting)
    crawl.define(f"{HOST}/")
    assert crawl.run()
    found = {url for url in visited(crawl) if url.endswith("sitemap.xml")}
    assert found == {f"http://{host}.test/sitemap.xml" for host in hosts}


def test_usual_sitemap_outside_the_scope_is_not_requested(tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path)
    crawl.define(f"{HOST}/blog/", scope=f'prefix("{HOST}/blog/")')
    assert crawl.run()
    assert visited(crawl)[URL] == 0


@pytest.mark.parametrize("status", [404, 403, 500])
def test_missing_usual_sitemap_costs_one_request(tmp_path: Path, status: int) -> None:
    crawl = make_crawl(tmp_path, {URL: (status, HTML, SOFT_404)})
    crawl.define(f"{HOST}/", revisit="fixed:1d")
    crawl.run(until=crawl.now + 3 * DAY)
    assert visited(crawl)[f"{HOST}/robots.txt"] > 1, "robots.txt is read again"
    assert visited(crawl)[URL] == 1
    counted = totals(crawl)
    assert counted["usual sitemap"] == 1
    assert not {"gone", "client_error", "server_error"} & counted.keys()
    rows = crawl.rows(TallyRow)
    assert not any(row.failed_urls for row in rows)
    assert crawl._store().table(PlanRow).get((DEFAULT_CRAWL, HOST), URL) is None


@pytest.mark.parametrize(
    "answer",
    [
        (200, HTML, SOFT_404),
        (200, XML, SOFT_404),
        (200, XML, "<html><body>" + SOFT_404 + "</body></html>"),
        (200, PLAIN, "There is no such page.\n"),
        (302, f"{HOST}/lost", ""),
        (301, f"{HOST}/lost?from=/sitemap.xml", ""),
        (301, f"{HOST}/lost.xml", ""),
    ],
)
def test_page_in_place_of_a_usual_sitemap_is_no_page(tmp_path: Path, answer: Answer) -> None:
    crawl = make_crawl(tmp_path, {URL: answer, f"{HOST}/lost.xml": (200, HTML, SOFT_404)})
    crawl.define(f"{HOST}/")
    assert crawl.run()
    assert visited(crawl)[f"{HOST}/lost"] == 0, "its links are not followed"
    assert published(crawl) == {f"{HOST}/"}
    store = crawl._store()
    [host] = store.table(HostRow).everything()
    assert host.totals.pages == 1 and not host.has_copies
    assert sum(sum(row.verdicts.values()) for row in store.table(TallyRow).everything()) == 1


def test_page_that_the_usual_sitemap_redirects_to_is_visited_by_its_links(tmp_path: Path) -> None:
    start = (200, HTML, '<p>All the words of the first page.<a href="/lost">lost</a>')
    crawl = make_crawl(tmp_path, {URL: (302, f"{HOST}/lost", ""), f"{HOST}/": start})
    crawl.define(f"{HOST}/")
    assert crawl.run()
    assert published(crawl) == {f"{HOST}/", f"{HOST}/lost"}


def test_usual_sitemap_that_has_moved_is_read(tmp_path: Path) -> None:
    answers = {
        URL: (301, f"{HOST}/wp-sitemap.xml", ""),
        f"{HOST}/wp-sitemap.xml": (200, XML, SITEMAP),
    }
    crawl = make_crawl(tmp_path, answers)
    crawl.define(f"{HOST}/")
    assert crawl.run()
    assert visited(crawl)[f"{HOST}/hidden"] == 1


def test_seed_at_a_known_host_makes_its_usual_sitemap_wanted(tmp_path: Path) -> None:
    start = (200, HTML, '<p>All the words of the first page.<a href="http://b.test/">b</a>')
    crawl = make_crawl(tmp_path, {f"{HOST}/": start})
    crawl.define(f"{HOST}/")
    assert crawl.run()
    assert visited(crawl)["http://b.test/sitemap.xml"] == 0
    crawl.define("http://b.test/later")
    assert crawl.run()
    assert visited(crawl)["http://b.test/sitemap.xml"] == 1
    assert visited(crawl)[URL] == 1


def test_usual_sitemap_of_a_moved_seed_is_read(tmp_path: Path) -> None:
    crawl = make_crawl(tmp_path, {f"{HOST}/": (301, "http://b.test/", "")})
    crawl.define(f"{HOST}/", scope='domain("a.test")', scope_of_seeds="site")
    assert crawl.run()
    assert visited(crawl)["http://b.test/sitemap.xml"] == 1
