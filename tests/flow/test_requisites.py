"""Requisites in a whole crawl: fetched after pages, once in a period, archived, not published."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.events import DEFAULT_CRAWL
from gossamer.log.codec import decode
from gossamer.settings import ArchiveSettings
from gossamer.web.url import host_key
from services.archive.rows import CaptureRow
from services.fetcher.outcome import Failure, Reply
from services.frontier.rows import DailyTallyRow, RequisiteRow, TallyRow, UrlRow
from tests.flow.torn import Died, Fate
from tests.flow.virtual import START, VirtualCrawl

HOST, CDN = "http://a.test", "http://cdn.test"
DAY = 86400.0
PERIOD = 7 * DAY


class Site:
    """A web of one site and a host of fonts and scripts, whose files a test may change."""

    def __init__(self) -> None:
        head = f"<link rel=stylesheet href=/s.css><script src={CDN}/lib.js></script>"
        links = "".join(f"<a href=/p{n}>page {n}</a>" for n in range(4))
        html, css = "text/html", "text/css"
        self.files: dict[str, tuple[int, str, str]] = {
            f"{HOST}/": (200, html, f"{head}<img src=/logo.png><p>This is home. {links}"),
            **{
                f"{HOST}/p{n}": (200, html, f"{head}<img src=/{n}.png><p>The page number {n} of it")
                for n in range(4)
            },
            **{f"{HOST}/{n}.png": (200, "image/png", f"\x89PNG\r\n\x1a\n{n}") for n in range(4)},
            f"{HOST}/logo.png": (200, "image/png", "\x89PNG\r\n\x1a\nlogo"),
            f"{HOST}/s.css": (200, css, f"@import 'more.css'; a {{background: url({CDN}/b.gif)}}"),
            f"{HOST}/more.css": (200, css, f"@font-face {{src: url({CDN}/f.woff2)}}"),
            f"{CDN}/lib.js": (200, "text/javascript", "go('/not-a-page.html')"),
            f"{CDN}/b.gif": (301, html, ""),
            f"{CDN}/c.gif": (200, "image/gif", "GIF89a"),
            f"{CDN}/f.woff2": (200, "font/woff2", "wOF2"),
        }
        self.headers = {f"{CDN}/b.gif": (("Location", "/c.gif"),)}
        self.etags = dict[str, str]()

    def __call__(self, url: str, now: float) -> tuple[float, Reply | Failure]:
        status, kind, body = self.files.get(url, (404, "text/html", ""))
        headers = (("Content-Type", kind), *self.headers.get(url, ()))
        if etag := self.etags.get(url):
            headers = (*headers, ("ETag", etag))
        content = body.encode("latin-1")
        return 0.1, Reply(status=status, headers=headers, body=content, started_at=now, took=0.1)


PAGES = [f"{HOST}/", *(f"{HOST}/p{n}" for n in range(4))]
OWN = {f"{HOST}/{name}" for name in ("s.css", "more.css", "logo.png", "0.png", "1.png", "2.png", "3.png")}
FOREIGN = {f"{CDN}/{name}" for name in ("lib.js", "b.gif", "c.gif", "f.woff2")}


def begin(
    folder: Path, site: Site, which: str = "all", fate: Fate | None = None, **crawl: object
) -> VirtualCrawl:
    archive = ArchiveSettings(requisites=which)  # type: ignore[arg-type]
    made = VirtualCrawl(folder, site, fate, archive=archive)
    made.define(f"{HOST}/", **{"scope": "site(a.test)", **crawl})
    return made


def visited(crawl: VirtualCrawl) -> list[str]:
    return [url for _, _, url in crawl.requests if not url.endswith("/robots.txt")]


def published(crawl: VirtualCrawl) -> set[str]:
    records = crawl.log.read("test", ["pages"], 1000)
    return {record.key.decode() if isinstance(record.key, bytes) else record.key for record in records}


@pytest.mark.parametrize(
    ("which", "expected"), [("off", set()), ("same-site", OWN), ("all", OWN | FOREIGN)]
)
def test_requisites_are_fetched_by_the_setting(
    tmp_path: Path, which: str, expected: set[str]
) -> None:
    crawl = begin(tmp_path, Site(), which)
    assert crawl.run()
    urls = Counter(visited(crawl))
    assert set(urls) == {*PAGES, *expected}
    assert set(urls.values()) == {1}


def test_requisites_come_after_pages_with_the_delay_of_their_host(tmp_path: Path) -> None:
    crawl = begin(tmp_path, Site())
    assert crawl.run()
    of_host = [url for url in visited(crawl) if host_key(url) == HOST]
    # A requisite may be visited while no page of the host is known, never before a waiting page.
    assert of_host[0] == PAGES[0]
    for host in (HOST, CDN):
        starts = sorted(start for start, _, url in crawl.requests if host_key(url) == host)
        gaps = [after - before for before, after in pairwise(starts)]
        assert gaps and min(gaps) >= crawl.settings.delay
    assert [url for _, _, url in crawl.requests if host_key(url) == CDN][0] == f"{CDN}/robots.txt"


def test_requisites_are_archived_and_are_no_pages(tmp_path: Path) -> None:
    crawl = begin(tmp_path, Site())
    assert crawl.run()
    store = crawl._store()
    captures = store.table(CaptureRow)
    for url in (*OWN, *FOREIGN):
        assert len(captures.scan((DEFAULT_CRAWL, url))) == 1, url
        assert store.table(UrlRow).get((DEFAULT_CRAWL, host_key(url)), url) is None
        row = store.table(RequisiteRow).get((DEFAULT_CRAWL, host_key(url)), url)
        assert row.outcome in ("page", "redirect") and row.earlier == 1
    via = store.table(RequisiteRow).get((DEFAULT_CRAWL, CDN), f"{CDN}/f.woff2").origin.via
    assert via.endswith(f"@{HOST}/more.css")
    tallies = [*store.table(TallyRow).everything()]
    assert sum(one.pages for one in tallies) == sum(one.admitted for one in tallies) == len(PAGES)
    assert sum(one.outcomes.get("requisite", 0) for one in tallies) == len(OWN | FOREIGN)
    days = [*store.table(DailyTallyRow).everything()]
    assert sum(day.requisites.responses for day in days) == len(OWN | FOREIGN)
    assert sum(day.pages for day in days) == len(PAGES)
