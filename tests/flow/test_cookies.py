"""Cookies travel with orders and return with outcomes, and stay within their site."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.events import DEFAULT_CRAWL, ErasureRequested
from gossamer.events.topics import PAGES, PAGES_ARCHIVED
from gossamer.log.codec import decode, encode, split_key
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables.sites import SiteRow
from gossamer.web.url import HostKey, Site, host_name
from tests.archive.harness import responses
from tests.flow.virtual import VirtualCrawl

SEEDS = ("http://a.me.test/", "http://b.me.test/", "http://you.test/", "https://a.me.test/")
SHOP = "http://shop.test"
LINKS = b"".join(b"<a href=/%d></a>" % n for n in range(12))


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    """Answer with cookies of the host, of its site, and of other sites."""
    if url.endswith("/robots.txt"):
        return 0.1, Reply(status=404)
    name = host_name(url)
    site = name.removeprefix("a.").removeprefix("b.")
    cookies = (
        f"own={name}; Path=/",
        f"site={site}; Domain={site}; Path=/",
        f"trap{now}=1; Path=/nowhere",
        "foreign=1; Domain=you.test; Path=/" if site == "me.test" else "foreign=1; Domain=me.test",
        "public=1; Domain=test; Path=/",
    )
    headers = (("Content-Type", "text/html"), *(("Set-Cookie", one) for one in cookies))
    body = f"<title>{url}</title><p>The page {url} has words.".encode() + LINKS
    return 0.1, Reply(status=200, headers=headers, body=body)


def test_each_host_receives_its_own_cookies_in_every_order(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web, batch=4)
    crawl.define(*SEEDS)
    assert crawl.run()
    met = set[str]()
    for url, headers in crawl.fetcher.sent:
        sent = dict(headers).get("Cookie", "")
        name = host_name(url)
        site = name.removeprefix("a.").removeprefix("b.")
        if url.endswith("/robots.txt") or url in SEEDS:
            continue
        assert set(sent.split("; ")) == {f"own={name}", f"site={site}"}
        met.add(name)
    assert met == {"a.me.test", "b.me.test", "you.test"}


def test_stored_cookies_are_bounded_and_not_published(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web, batch=4)
    crawl.define(*SEEDS)
    crawl.run()
    store = crawl._store()
    sites = store.table(SiteRow)
    for row in sites.everything():
        assert max(Counter(one.domain for one in row.cookies).values()) == 10
        assert {"own", "site"} <= {one.name for one in row.cookies}
    reader = crawl.log.reader("test", [PAGES.name], store)
    pages = [record.value for record in reader.poll(1000)]
    assert pages and not any(b"own=" in value or b"site=" in value for value in pages)


def test_shop_behind_a_cookie_wall_is_crawled(tmp_path: Path) -> None:
    requested = list[str]()

    def answer_with_wall(url: str, now: float) -> tuple[float, Reply | Failure]:
        if url.endswith("/robots.txt") or "http://shop.test/?set=1" in requested:
            return web(url, now)
        requested.append(url)
        headers: tuple[tuple[str, str], ...] = (("Location", "/?set=1"),)
        if url.endswith("?set=1"):
            headers = (("Location", "/"), ("Set-Cookie", "passed=1; Path=/"))
        return 0.1, Reply(status=302, headers=headers)

    crawl = VirtualCrawl(tmp_path, answer_with_wall, batch=4)
    crawl.define("http://shop.test/")
    assert crawl.run()
    sent = [one for one in crawl.fetcher.sent if not one[0].endswith("/robots.txt")]
    assert sent[:3] == [
        ("http://shop.test/", ()),
        ("http://shop.test/?set=1", ()),
        ("http://shop.test/", (("Cookie", "passed=1"),)),
    ]
    assert {url for url, _ in sent[3:]} >= {f"http://shop.test/{n}" for n in range(12)}
    assert sum(url == "http://shop.test/?set=1" for url, _ in sent) == 1, "it is no page"
    # The archive has all responses, and only the last one is a version of the page.
    first = [url for url in responses(tmp_path) if not url.endswith("/robots.txt")][:3]
    assert first == [url for url, _ in sent[:3]]
    key = DEFAULT_CRAWL, "http://shop.test/"
    assert [row.status for row in crawl._store().table(CaptureRow).scan(key)] == [200]
    tail = crawl.records(PAGES_ARCHIVED.name)
    assert [decode(one).status for one in tail if split_key(one.key) == key] == [200]  # type: ignore[attr-defined]


BACK = ("/check?back=/a", "/check?to=http%3A%2F%2Fshop.test%2Fa", "/check?back=a", "/check")


def bounce(folder: Path, check: str, cookie: Callable[[float], str]) -> list[str]:
    """Crawl `/a`, which redirects to *check* unless it gets the cookie `passed=1`; return the
    requested paths. *check* sets *cookie*, which gets the time, and leads back."""

    def answer(url: str, now: float) -> tuple[float, Reply | Failure]:
        if url.endswith("/robots.txt"):
            return web(url, now)
        is_passed = "passed=1" in dict(crawl.fetcher.sent[-1][1]).get("Cookie", "")
        if url == f"{SHOP}/a" and is_passed:
            html = (("Content-Type", "text/html"),)
            return 0.1, Reply(status=200, headers=html, body=b"<p>Shop")
        headers: tuple[tuple[str, str], ...] = (("Location", check),)
        if "/check" in url:
            headers = (("Location", "/a"), ("Set-Cookie", cookie(now)))
        return 0.1, Reply(status=302, headers=headers)

    crawl = VirtualCrawl(folder, answer)
    crawl.define(f"{SHOP}/a")
    assert crawl.run()
    paths = [url.removeprefix(SHOP) for url, _ in crawl.fetcher.sent]
    pages = [split_key(record.key)[1] for record in crawl.records(PAGES.name)]
    assert pages == [f"{SHOP}/a"] * pages.count(f"{SHOP}/a")
    return [path for path in paths if path != "/robots.txt"] + ["published"] * len(pages)


@pytest.mark.parametrize("check", BACK)
def test_page_is_fetched_with_the_cookie_of_another_page(tmp_path: Path, check: str) -> None:
    """Reports scrapy/scrapy#1225, EFForg/https-everywhere#1128: a redirect to another page, which
    sets a cookie and leads back, is a known URL, and the page was lost."""
    done = bounce(tmp_path, check, lambda now: "passed=1; Path=/")
    assert done == ["/a", check, "/a", "published"]


@pytest.mark.parametrize("check", BACK)
@pytest.mark.parametrize(
    ("cookie", "most"),
    [(lambda now: "", 3), (lambda now: "seen=1", 6), (lambda now: f"n={now}", 9)],
)
def test_cookies_that_change_nothing_end_the_loop(
    tmp_path: Path, check: str, cookie: Callable[[float], str], most: int
) -> None:
    """Report scrapy/scrapy#1225: a loop of redirects ends, whatever cookies it sets."""
    done = bounce(tmp_path, check, cookie)
    assert "published" not in done
    assert len(done) <= most, done


def test_erased_host_leaves_no_cookies(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web, batch=4)
    crawl.define(*SEEDS)
    assert crawl.run()
    site = Site("me.test")
    erasures = [
        ErasureRequested(at=crawl.now, site=site, host=HostKey(f"{scheme}://a.me.test"))
        for scheme in ("http", "https")
    ]
    crawl.log.append([encode(erasure) for erasure in erasures])
    assert crawl.run()
    row = crawl._store().table(SiteRow).get(site)
    assert row and {one.domain for one in row.cookies} == {"b.me.test", "me.test"}
