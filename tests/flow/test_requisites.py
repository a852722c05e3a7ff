"""Requisites in a whole crawl: fetched after pages, once in a period, archived, not published."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gossamer.console.cli.why import details
from gossamer.events import DEFAULT_CRAWL, BlocklistChanged, ErasureRequested, Purpose
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.urls.urls import UrlState, explain_url
from gossamer.log.codec import encode
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.dedup.requisites import MAX_STYLES
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables.ordering import REQUISITE_RANK
from gossamer.services.frontier.tables.urls import RequisiteRow, UrlRow
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.settings import ArchiveSettings, Settings
from gossamer.web.url import HostKey, Site, host_key
from tests.flow.torn import Fate
from tests.flow.virtual import START, VirtualCrawl

HOST, CDN = "http://a.test", HostKey("http://cdn.test")
DAY = 86400.0
PERIOD = 7 * DAY


class WebSite:
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
        return 0.1, Reply(status=status, headers=headers, body=content)


PAGES = [f"{HOST}/", *(f"{HOST}/p{n}" for n in range(4))]
OWN_NAMES = ("s.css", "more.css", "logo.png", *(f"{n}.png" for n in range(4)))
OWN = {f"{HOST}/{name}" for name in OWN_NAMES}
FOREIGN = {f"{CDN}/{name}" for name in ("lib.js", "b.gif", "c.gif", "f.woff2")}


def begin(
    folder: Path, site: WebSite, which: str = "all", fate: Fate | None = None, **crawl: object
) -> VirtualCrawl:
    archive = ArchiveSettings(requisites=which)  # type: ignore[arg-type]
    made = VirtualCrawl(folder, site, fate, archive=archive)
    made.define(f"{HOST}/", **{"scope": "host('a.test')", **crawl})
    return made


@pytest.mark.parametrize(
    ("which", "expected"), [("off", set()), ("same-site", OWN), ("all", OWN | FOREIGN)]
)
def test_requisites_are_fetched_by_the_setting(
    tmp_path: Path, which: str, expected: set[str]
) -> None:
    crawl = begin(tmp_path, WebSite(), which)
    assert crawl.run()
    urls = Counter(crawl.requested())
    assert set(urls) == {*PAGES, *expected}
    assert set(urls.values()) == {1}


def test_requisites_come_after_pages_with_the_delay_of_their_host(tmp_path: Path) -> None:
    crawl = begin(tmp_path, WebSite())
    assert crawl.run()
    of_host = [url for url in crawl.requested() if host_key(url) == HOST]
    # The verdict on a page releases its links and its requisites. So the links of the first page
    # come before its requisites.
    assert of_host[:5] == PAGES
    assert min(crawl.gaps()) >= crawl.settings.delay - 1e-6
    first = next(url for _, _, url in crawl.requests if host_key(url) == CDN)
    assert first == f"{CDN}/robots.txt"


def test_a_page_that_is_found_later_precedes_the_requisites_that_wait(tmp_path: Path) -> None:
    site = WebSite()
    images = "".join(f"<img src=/image{n}.png>" for n in range(60))
    site.files[f"{HOST}/"] = (200, "text/html", f"<p>This is home.{images}")
    crawl = begin(tmp_path, site)
    crawl.run(until=START + 25.0)
    before = crawl.requested()
    assert f"{HOST}/image0.png" in before and f"{HOST}/image50.png" not in before
    crawl.define(f"{HOST}/p0", scope="host('a.test')")
    assert crawl.run()
    # The order of the host that is in flight ends first.
    assert crawl.requested().index(f"{HOST}/p0") <= len(before) + crawl.settings.batch
    assert len(crawl.requested()) > len(before) + 3 * crawl.settings.batch


def test_requisites_are_archived_and_are_no_pages(tmp_path: Path) -> None:
    crawl = begin(tmp_path, WebSite())
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
    rows = crawl.rows(TallyRow)
    assert sum(one.pages for one in rows) == sum(one.admitted for one in rows) == len(PAGES)
    assert sum(one.outcomes.get("requisite", 0) for one in rows) == len(OWN | FOREIGN)
    assert {row.url for row in store.table(DocumentRow).everything()} == {*PAGES}
    days = [one.today for one in rows if one.today]
    assert sum(day.requisites.responses for day in days) == len(OWN | FOREIGN)
    assert sum(day.pages for day in days) == len(PAGES)


def test_a_requisite_is_fetched_once_in_a_period_and_then_with_conditions(tmp_path: Path) -> None:
    site = WebSite()
    site.etags = {f"{HOST}/logo.png": '"1"', f"{HOST}/s.css": '"1"'}
    crawl = begin(tmp_path, site, revisit="fixed:1d")
    crawl.run(until=START + 2.9 * PERIOD)
    assert Counter(crawl.requested())[f"{HOST}/"] > 15
    counts = Counter(url for url in crawl.requested() if url in OWN | FOREIGN)
    # Three periods of a URL have begun at most, after the one in which the crawl began.
    assert {2, 3, 4}.issuperset(counts[url] for url in (f"{HOST}/logo.png", f"{CDN}/lib.js"))
    sent = [headers for url, headers in crawl.fetcher.sent if url == f"{HOST}/logo.png"]
    assert sent[0] == ()
    assert all(("If-None-Match", '"1"') in headers for headers in sent[1:])
    rows = crawl._store().table(CaptureRow).scan((DEFAULT_CRAWL, f"{HOST}/logo.png"))
    assert sorted(row.status for row in rows) == [200, *[304] * (len(sent) - 1)]


def test_robots_and_blocklist_hold_for_requisites(tmp_path: Path) -> None:
    site = WebSite()
    site.files[f"{CDN}/robots.txt"] = (200, "text/plain", "User-agent: *\nDisallow: /lib.js")
    crawl = begin(tmp_path, site)
    crawl.log.append([encode(BlocklistChanged(at=START, rule=f"{HOST}/logo.png"))])
    assert crawl.run()
    assert {*PAGES, *OWN, *FOREIGN}.difference(crawl.requested()) == {
        f"{CDN}/lib.js",
        f"{HOST}/logo.png",
    }
    row = crawl._store().table(RequisiteRow).get((DEFAULT_CRAWL, CDN), f"{CDN}/lib.js")
    assert row.outcome == "robots_excluded"


def test_a_site_has_a_budget_of_requisites(tmp_path: Path) -> None:
    archive = ArchiveSettings(requisites="all")
    crawl = VirtualCrawl(tmp_path, WebSite(), archive=archive, requisite_budget=2)
    crawl.define(f"{HOST}/", scope="host('a.test')")
    assert crawl.run()
    urls = crawl.requested()
    assert {*PAGES} <= {*urls}
    assert len([url for url in urls if url in OWN]) == 2
    refused = sum(row.hazards.get("trap_requisites", 0) for row in crawl.rows(TallyRow))
    assert refused >= 3 and not any(row.refused for row in crawl.rows(TallyRow))


def test_a_failing_requisite_is_repeated_once_and_a_wall_never(tmp_path: Path) -> None:
    site = WebSite()
    site.files[f"{CDN}/f.woff2"] = (500, "text/html", "")
    site.files[f"{CDN}/c.gif"] = (403, "text/html", "")
    site.headers[f"{CDN}/c.gif"] = (("cf-mitigated", "challenge"),)
    crawl = begin(tmp_path, site)
    crawl.run(until=START + DAY)
    counts = Counter(crawl.requested())
    assert (counts[f"{CDN}/f.woff2"], counts[f"{CDN}/c.gif"]) == (2, 1)
    row = crawl._store().table(RequisiteRow).get((DEFAULT_CRAWL, CDN), f"{CDN}/f.woff2")
    assert (row.outcome, row.status, row.earlier) == ("server_error", 500, 1)
    assert crawl.run(), "nothing is planned"


def test_a_url_may_be_a_page_and_a_requisite(tmp_path: Path) -> None:
    site = WebSite()
    both = f"{HOST}/p1"
    kind, body = site.files[f"{HOST}/"][1:]
    site.files[f"{HOST}/"] = (200, kind, f"{body}<img src=/p1>")
    crawl = begin(tmp_path, site, revisit="fixed:1d")
    crawl.run(until=START + 3.5 * DAY)
    assert Counter(crawl.requested())[both] == 1 + Counter(crawl.requested())[f"{HOST}/p2"]
    store = crawl._store()
    assert store.table(UrlRow).get((DEFAULT_CRAWL, HOST), both).origin.purpose is Purpose.PAGE
    assert store.table(RequisiteRow).get((DEFAULT_CRAWL, HOST), both).outcome == "page"


def test_styles_without_end_are_left(tmp_path: Path) -> None:
    site = WebSite()

    def endless(url: str, now: float) -> tuple[float, Reply | Failure]:
        if "/endless" in url:
            style = f"@import '{url}x';".encode()
            headers = (("Content-Type", "text/css"),)
            return 0.1, Reply(status=200, headers=headers, body=style)
        return site(url, now)

    site.files[f"{HOST}/"] = (200, "text/html", "<link rel=stylesheet href=/endless><p>A page.")
    crawl = VirtualCrawl(tmp_path, endless, archive=ArchiveSettings(requisites="all"))
    crawl.define(f"{HOST}/", scope="host('a.test')")
    assert crawl.run()
    assert len(crawl.requested()) == 2 + MAX_STYLES


@pytest.mark.parametrize("seed", range(4))
def test_crashes_lose_no_requisite(tmp_path: Path, seed: int) -> None:
    crawl = begin(tmp_path, WebSite(), fate=Fate(seed))
    crawl.die(*range(5 + seed, 100 + seed, 13))
    assert crawl.run()
    assert {*crawl.requested()} == {*PAGES, *OWN, *FOREIGN}


def test_why_says_what_a_requisite_is_and_which_page_needed_it(tmp_path: Path) -> None:
    site = WebSite()
    site.files[f"{CDN}/robots.txt"] = (200, "text/plain", "User-agent: *\nDisallow: /lib.js")
    crawl = begin(tmp_path, site)
    opened = OpenCrawl("test", crawl.log, crawl._store, warc=tmp_path)
    steps = 0
    while not (queued := explain_url(opened, f"{HOST}/s.css").queued) and steps < 1000:
        crawl.run(steps=1)
        steps += 1
    assert queued and queued.rank == REQUISITE_RANK
    found = explain_url(opened, f"{HOST}/s.css")
    assert found.answer.startswith(f"Queued, a requisite of {HOST}/: ")
    assert crawl.run()
    found = explain_url(opened, f"{HOST}/s.css")
    assert found.state is UrlState.FETCHED
    assert found.answer.endswith(f"(200), a requisite of {HOST}/, archived.")
    assert f"a requisite of {HOST}/: " in "\n".join(details(found))
    font = explain_url(opened, f"{CDN}/f.woff2")
    assert font.requisite and font.requisite.needed_by == f"{HOST}/more.css"
    refused = explain_url(opened, f"{CDN}/lib.js")
    assert refused.state is UrlState.REFUSED
    assert refused.answer.startswith(f"Not fetched, a requisite of {HOST}/: ")


IMAGES = """<p>This is home.<img src=/a.png srcset='/s.png 640w, /l.png 2000w'>
<video src=/v.mp4></video><video src=/huge.mp4></video><img src=/huge.png><img src=http://cdn.test/b.png>"""


@pytest.mark.parametrize(
    ("archive", "path", "words"),
    [
        ({"requisites": "off"}, "/a.png", "Images of pages are not fetched: archive.requisites"),
        ({"requisites": "off"}, "/s.css", "Styles of pages are not fetched: archive.requisites"),
        ({"requisites": "off"}, f"{CDN}/b.png", "archive.requisites is off"),
        ({"requisites": "same-site"}, f"{CDN}/b.png", "archive.requisites is same-site"),
        ({"requisites": "all"}, "/v.mp4", "files of pages are not fetched: archive.media is off"),
        ({"requisites": "all"}, "/s.png", "archive.srcset"),
        ({"requisites": "all"}, "/huge.png", "size limit, fetcher.requisite_limit"),
        ({"requisites": "all", "media": True}, "/huge.mp4", "size limit, fetcher.requisite_limit"),
        ({"requisites": "all", "media": True}, "/w.mp4", "with archive.media if an archived page"),
    ],
)
def test_why_says_in_words_why_a_requisite_is_not_fetched(
    tmp_path: Path, archive: dict[str, Any], path: str, words: str
) -> None:
    site = WebSite()
    site.files[f"{HOST}/"] = (200, "text/html", IMAGES)

    def web(url: str, now: float) -> tuple[float, Reply | Failure]:
        if "huge" in url:
            kind = "video/mp4" if url.endswith("mp4") else "image/png"
            headers = (("Content-Type", kind),)
            cut = Reply(status=200, headers=headers, truncated="length")
            return 0.1, cut
        return site(url, now)

    settings = Settings(archive=ArchiveSettings(**archive))
    crawl = VirtualCrawl(tmp_path, web, archive=settings.archive)
    crawl.define(f"{HOST}/", scope="host('a.test')")
    assert crawl.run()
    opened = OpenCrawl("test", crawl.log, crawl._store, warc=tmp_path, settings=settings)
    found = explain_url(opened, path if path.startswith("http") else HOST + path)
    assert words in found.answer
    assert "visit" not in found.answer


def test_media_and_all_candidates_are_fetched_by_their_settings(tmp_path: Path) -> None:
    site = WebSite()
    site.files[f"{HOST}/"] = (200, "text/html", IMAGES)
    archive = ArchiveSettings(requisites="same-site", media=True, srcset="all")
    crawl = VirtualCrawl(tmp_path, site, archive=archive)
    crawl.define(f"{HOST}/", scope="host('a.test')")
    assert crawl.run()
    names = ("a.png", "s.png", "l.png", "v.mp4", "huge.png")
    assert {f"{HOST}/{name}" for name in names} <= {*crawl.requested()}


def test_a_forgotten_host_has_no_requisites_until_a_page_is_fetched_again(tmp_path: Path) -> None:
    crawl = begin(tmp_path, WebSite(), revisit="fixed:1d")
    crawl.run(until=START + DAY / 2)
    crawl.log.append([encode(ErasureRequested(at=crawl.now, site=Site("cdn.test"), host=CDN))])
    crawl.run(until=START + 0.6 * DAY)
    rows, captures = crawl._store().table(RequisiteRow), crawl._store().table(CaptureRow)
    assert {row.host for row in rows.everything()} == {HOST}
    assert not [row for row in captures.everything() if row.url in FOREIGN]
    crawl.run(until=START + 2 * DAY)
    assert Counter(crawl.requested())[f"{CDN}/lib.js"] == 2
    assert Counter(crawl.requested())[f"{HOST}/logo.png"] == 1
