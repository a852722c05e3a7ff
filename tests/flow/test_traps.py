"""Endless sites, and mirrored sites."""

from pathlib import Path

from gossamer.events import Page, Verdict
from gossamer.events.topics import PAGES
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.settings import DedupSettings
from tests.flow.virtual import VirtualCrawl, html_page

HTML = (("Content-Type", "text/html"),)
LIMIT = 4
CALENDAR = " ".join(
    f"Nothing is planned at {hour} in room {room}." for hour in range(24) for room in "abc"
)


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    """Answer with a site of ever deeper pages, or with a mirrored site."""
    body = "<title>Archive</title>The same words <a href='deeper/'>go on</a>"
    if "calendar" in url:
        body = f"<title>Day</title>{CALENDAR} {url.count('/')} <a href='next/'>Tomorrow</a>"
    if "mirror" in url or "origin" in url:
        path = url.split("/", 3)[3]
        body = f"<title>{path}</title>This is {path} <a href='/{path}x'>go on</a>"
        body = body if len(path) < 5 else f"<title>{path}</title>The end"
    status = 404 if url.endswith("/robots.txt") else 200
    return 0.1, html_page(body, status)


def crawl_pages(folder: Path, *seeds: str) -> list[Page]:
    crawl = VirtualCrawl(folder, web, dedup=DedupSettings(duplicates_limit=LIMIT))
    crawl.define(*seeds, max_depth=50)
    assert crawl.run()
    crawl.archive.close()
    return crawl.events(PAGES.name, Page)


def test_path_of_near_duplicates_ends(tmp_path: Path) -> None:
    pages = crawl_pages(tmp_path, "http://calendar.test/")
    verdicts = [page.verdict for page in pages]
    assert verdicts == [Verdict.FIRST] + [Verdict.NEAR_DUPLICATE] * (LIMIT + 1)


def test_path_of_duplicates_ends(tmp_path: Path) -> None:
    pages = crawl_pages(tmp_path, "http://endless.test/")
    # The first page, `LIMIT` duplicates that are followed, and one that is not.
    assert len(pages) == 1 + LIMIT + 1


def test_mirror_of_few_pages_is_visited_up_to_the_limit_of_duplicates(tmp_path: Path) -> None:
    pages = crawl_pages(tmp_path, "http://origin.test/", "http://mirror.test/")
    hosts = sorted(page.site for page in pages)
    assert len(hosts) == 6 + LIMIT + 1 and len(set(hosts)) == 2
