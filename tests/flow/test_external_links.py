"""The policies for external links, on a web where each policy visits different pages."""

from pathlib import Path

import pytest

from gossamer.events import Page
from gossamer.events.topics import PAGES
from gossamer.services.fetcher.outcome import Reply
from tests.flow.test_flow import Pages, virtual_crawl
from tests.flow.virtual import VirtualCrawl

WEB: Pages = {
    "http://a.test/": ["http://a.test/1", "http://b.test/orphan", "http://a.test/to/d"],
    "http://a.test/1": ["http://sub.a.test/x", "http://b.test/leaf"],
    "http://sub.a.test/x": [],
    "http://a.test/to/d": ["http://d.test/deep"],
    "http://b.test/": ["http://b.test/1"],
    "http://b.test/1": ["http://c.test/page"],
    "http://b.test/orphan": [],
    "http://b.test/leaf": [],
    "http://c.test/": [],
    "http://c.test/page": ["http://c.test/more"],
    "http://c.test/more": [],
    "http://d.test/deep": [],
}
"""The home page of b.test leads to neither its orphan nor its leaf, and only it leads to c.test."""
INTERNAL = {"http://a.test/", "http://a.test/1", "http://a.test/to/d", "http://sub.a.test/x"}
DEEP = {"http://b.test/orphan", "http://b.test/leaf", "http://d.test/deep"}
HOME = {"http://b.test/", "http://b.test/1", "http://c.test/"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "visited"),
    [
        ("none", INTERNAL),
        ("home", INTERNAL | HOME | {"http://d.test/deep"}),
        ("deep", INTERNAL | DEEP),
        ("combined", set(WEB)),
    ],
)
def test_each_policy_visits_its_own_part_of_the_web(
    tmp_path: Path, policy: str, visited: set[str]
) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    crawl.define("http://a.test/", external_links=policy)
    assert crawl.run()
    found = crawl.requested()
    assert set(found) == visited and len(found) == len(visited)
    (start,) = [one for one in crawl.events(PAGES.name, Page) if one.url == "http://a.test/"]
    assert list(start.links) == WEB["http://a.test/"], "the document has all links of the page"


def test_seed_that_redirects_to_another_site_is_followed_by_every_policy(
    tmp_path: Path,
) -> None:
    web: Pages = {
        "http://a.test/to/b": ["http://b.test/to/c"],
        "http://b.test/to/c": ["http://c.test/"],
        "http://c.test/": ["http://c.test/1", "http://d.test/"],
        "http://c.test/1": [],
        "http://d.test/": [],
    }
    for policy in ("none", "home", "deep", "combined"):
        crawl = virtual_crawl(tmp_path / policy, web, 0.0)
        crawl.define("http://a.test/to/b", external_links=policy)
        assert crawl.run()
        visited = {url for _, _, url in crawl.requests}
        assert "http://c.test/1" in visited
        assert ("http://d.test/" in visited) is (policy != "none")


def test_policy_change_affects_pages_that_are_read_afterwards(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    crawl.define("http://a.test/", external_links="none")
    assert crawl.run()
    crawl.define("http://b.test/", external_links="deep")
    assert crawl.run()
    visited = {url for _, _, url in crawl.requests}
    assert visited >= HOME - {"http://c.test/"} | {"http://c.test/page"}
    assert "http://b.test/orphan" not in visited, (
        "dropped links are discovered only when their page is read again"
    )


def test_feed_entry_of_another_site_is_an_external_link(tmp_path: Path) -> None:
    items = "".join(
        f"<item><link>{url}</link></item>"
        for url in ("http://a.test/1?PHPSESSID=7", "http://b.test/2")
    )
    feed = f"<rss version='2.0'><channel><title>News</title>{items}</channel></rss>".encode()
    kind = (("Content-Type", "application/rss+xml"),)

    def web(url: str, now: float) -> tuple[float, Reply]:
        is_feed = url.endswith("/feed")
        return 0.1, Reply(status=200, headers=kind, body=feed) if is_feed else Reply(status=404)

    others = {"deep": {"http://b.test/2"}, "home": {"http://b.test/"}, "none": set[str]()}
    for policy, other in others.items():
        crawl = VirtualCrawl(tmp_path / policy, web)
        crawl.define("http://a.test/feed", external_links=policy, url_steps=("session_id",))
        assert crawl.run()
        found = {*crawl.requested()}
        assert found == {"http://a.test/feed", "http://a.test/1"} | other
