"""Usage files in a whole crawl: visited once, before pages, archived, and fetched again later."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.crawl import last_definition
from gossamer.events import DEFAULT_CRAWL, Event, HostCheckedOut
from gossamer.inspection.archive.usage import read_usage
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.web.usage.files import statements_about
from tests.flow.torn import Fate
from tests.flow.virtual import START, VirtualCrawl, html_page

HOST = "http://a.test"
ROBOTS, TDMREP = f"{HOST}/robots.txt", f"{HOST}/.well-known/tdmrep.json"
LICENSE, PAGE = f"{HOST}/license.xml", f"{HOST}/p"
RSL = (
    '<rsl xmlns="https://rslstandard.org/rsl"><content url="/"><license>'
    '<prohibits type="usage">ai-train</prohibits></license></content></rsl>'
)
DAY = 86400.0


class Site:
    """A web of one host whose files a test may change."""

    def __init__(self) -> None:
        links = "".join(f'<a href="/p{n}">a link</a>' for n in range(5))
        self.files = {
            ROBOTS: (200, "User-agent: *\nLicense: /license.xml\n"),
            TDMREP: (200, '[{"location": "/", "tdm-reservation": 1}]'),
            LICENSE: (200, RSL),
            PAGE: (200, f"<p>This is a page.{links}"),
            **{f"{PAGE}{n}": (200, f"<p>This is page number {n} of them.") for n in range(5)},
        }

    def __call__(self, url: str, now: float) -> tuple[float, Reply | Failure]:
        status, body = self.files.get(url, (404, ""))
        return 0.1, html_page(body, status)


def begin(folder: Path, site: Site, fate: Fate | None = None, **settings: object) -> VirtualCrawl:
    crawl = VirtualCrawl(folder, site, fate, **{"usage_files": "always", **settings})
    crawl.define(PAGE)
    return crawl


def opened(crawl: VirtualCrawl, folder: Path) -> OpenCrawl:
    assert last_definition(crawl.log)
    return OpenCrawl("test", crawl.log, crawl._store, warc=folder)


def test_usage_files_are_visited_once_before_pages_and_archived(tmp_path: Path) -> None:
    crawl = begin(tmp_path, Site())
    assert crawl.run()
    urls = [url for _, _, url in crawl.requests]
    assert urls[:4] == [ROBOTS, TDMREP, LICENSE, PAGE]
    assert Counter(urls).most_common(1)[0][1] == 1 and len(urls) == 9
    assert min(crawl.gaps()) >= crawl.settings.delay - 1e-6
    captures = crawl._store().table(CaptureRow)
    for url in (ROBOTS, TDMREP, LICENSE):
        assert len(captures.scan((DEFAULT_CRAWL, url))) == 1
    (found,) = read_usage(opened(crawl, tmp_path), PAGE, crawl.now)
    assert {one.url for one in found.categories["train-ai"].by} == {TDMREP, LICENSE}


def test_orders_of_pages_have_the_statements_about_their_urls(tmp_path: Path) -> None:
    crawl = begin(tmp_path, Site())
    orders = list[HostCheckedOut]()
    begin_order = crawl.fetcher._begin

    def collect(order: HostCheckedOut, now: float) -> Iterator[Event]:
        orders.append(order)
        return begin_order(order, now)

    crawl.fetcher._begin = collect  # type: ignore[method-assign]
    assert crawl.run()
    of_pages = [one for one in orders if one.visits[0].purpose.is_queued]
    assert of_pages
    for order in of_pages:
        found = statements_about(order.usage_files, order.visits[0].url)
        assert [one.place for one in found] == ["entry 1", f"{LICENSE}, license 1"]


def test_expired_files_are_fetched_again_and_the_audit_names_both(tmp_path: Path) -> None:
    site = Site()
    crawl = begin(tmp_path, site)
    crawl.define(PAGE, revisit="fixed:2d")
    crawl.run(until=START + DAY)
    site.files[TDMREP] = (200, '[{"location": "/", "tdm-reservation": 0}]')
    site.files[LICENSE] = (404, "")
    crawl.run(until=START + 3 * DAY)
    counts = Counter(url for _, _, url in crawl.requests)
    assert counts[TDMREP] == counts[LICENSE] == counts[PAGE] == 2
    (old,) = read_usage(opened(crawl, tmp_path), PAGE, START + DAY)
    (new,) = read_usage(opened(crawl, tmp_path), PAGE, START + 3 * DAY)
    assert old.categories["train-ai"].allowed is False
    assert new.categories["train-ai"].allowed is True
    (cited,) = new.categories["train-ai"].by
    assert cited.url == TDMREP and cited.fetched_at > START + DAY
    faults = {one.url: one.fault for one in new.files}
    assert faults[LICENSE] == "the server answered 404"


@pytest.mark.parametrize("status", [301, 404, 429, 500, 200])
def test_any_answer_for_usage_files_leaves_the_pages(tmp_path: Path, status: int) -> None:
    site = Site()
    site.files[TDMREP] = site.files[LICENSE] = (status, "<html>" + "x" * 600_000)
    crawl = begin(tmp_path, site)
    assert crawl.run()
    urls = {url for _, _, url in crawl.requests}
    assert {f"{PAGE}{n}" for n in range(5)} <= urls


def test_page_whose_use_a_file_disallows_is_not_requested(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, Site())
    crawl.define(PAGE, purposes=("train-ai",))
    assert crawl.run()
    assert [url for _, _, url in crawl.requests] == [ROBOTS, TDMREP, LICENSE]


@pytest.mark.parametrize("seed", range(6))
def test_crashes_lose_no_statement(tmp_path: Path, seed: int) -> None:
    crawl = begin(tmp_path, Site(), Fate(seed))
    crawl.die(*range(5 + seed, 100 + seed, 13))
    assert crawl.run()
    (found,) = read_usage(opened(crawl, tmp_path), PAGE, crawl.now)
    assert {one.url for one in found.categories["train-ai"].by} == {TDMREP, LICENSE}


@pytest.mark.parametrize("later", [0.0, 600.0])
def test_crawl_that_mines_visits_usage_files_at_a_host_of_another(
    tmp_path: Path, later: float
) -> None:
    crawl = VirtualCrawl(tmp_path, Site(), usage_files="when needed")
    crawl.define(PAGE)
    if later:
        crawl.run()
        crawl.now += later
    assert TDMREP not in [url for _, _, url in crawl.requests]
    crawl.define(f"{PAGE}0", crawl="b", purposes=("train-ai",))
    crawl.run()
    requests = Counter(url for _, _, url in crawl.requests)
    assert (requests[ROBOTS], requests[TDMREP]) == (1, 1)
