"""Urgent URLs are visited first and once, whatever waits on the log."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.events import Discovery, FetchRequested, UrlsAdmitted
from gossamer.log.codec import encode
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.web.url import HostKey, Site
from tests.flow.torn import Fate
from tests.flow.virtual import VirtualCrawl, html_page

HOST = HostKey("http://a.test")
PAGES, BATCH = 40, 10


class Chain:
    """A host on which each page links to the next one."""

    def __init__(self) -> None:
        self.requests: list[tuple[float, str]] = []

    def __call__(self, url: str, now: float) -> tuple[float, Reply | Failure]:
        self.requests.append((now, url))
        number = url.rpartition("/")[2]
        if url.endswith("/robots.txt") or int(number or 0) >= PAGES:
            return 0.1, Reply(status=404)
        body = f"<title>{number}</title>text of page {number} <a href=/{int(number or 0) + 1}>x</a>"
        return 0.1, html_page(body)

    def pages(self) -> list[str]:
        return [url for _, url in self.requests if not url.endswith("/robots.txt")]


def request(crawl: VirtualCrawl, *urls: str) -> None:
    event = FetchRequested(at=crawl.now, site=Site("a.test"), host=HOST, urls=urls)
    crawl.log.append([encode(event)])


def admit(crawl: VirtualCrawl, numbers: Iterable[int]) -> None:
    """Append an admission of each page to the log."""
    found = (Discovery(f"{HOST}/{number}", depth=1) for number in numbers)
    via = f"1@{HOST}/0"
    crawl.log.append(
        encode(UrlsAdmitted(at=crawl.now, site=Site("a.test"), via=via, urls=(one,)))
        for one in found
    )


def test_urgent_url_that_pages_link_to_later_is_visited_once(tmp_path: Path) -> None:
    web = Chain()
    crawl = VirtualCrawl(tmp_path, web)
    crawl.define(f"{HOST}/0", max_depth=PAGES)
    crawl.run(until=crawl.now + 3.0)
    asked, urgent = len(web.pages()), f"{HOST}/{PAGES - 5}"
    assert 0 < asked < PAGES - 5
    request(crawl, urgent)
    crawl.run(until=crawl.now + 3600.0)
    assert urgent in web.pages()[asked : asked + BATCH + 1]
    assert {*Counter(url for url in web.pages() if not url.endswith("/")).values()} == {1}
    assert len({*web.pages()}) >= PAGES


def test_urgent_url_does_not_wait_for_a_backlog_of_admissions(tmp_path: Path) -> None:
    web = Chain()
    crawl = VirtualCrawl(tmp_path, web, delay=1.0, batch=BATCH)
    crawl.define(f"{HOST}/0", max_depth=3)
    crawl.run(until=crawl.now + 2.0)
    waiting = 20_000
    admit(crawl, range(PAGES, PAGES + waiting))
    request(crawl, urgent := f"{HOST}/{PAGES + waiting - 1}")
    asked_at, asked = crawl.now, len(web.requests)
    # Each step of a service takes a second.
    while urgent not in web.pages():
        for runner in crawl.runners:
            runner.step()
        crawl.now += 1.0
    assert crawl.log.lag("frontier", "urls.admitted") > waiting / 2
    assert len(web.requests) - asked <= BATCH + 2, "the running order, and robots.txt"
    assert crawl.now - asked_at <= (BATCH + 4) * 2.0


def test_url_whose_admission_waits_is_visited_once(tmp_path: Path) -> None:
    web = Chain()
    crawl = VirtualCrawl(tmp_path, web, worth_parking=False)
    crawl.define(f"{HOST}/0", max_depth=3)
    crawl.run(until=crawl.now + 2.0)
    backlog = range(PAGES, PAGES + 30)
    admit(crawl, backlog)
    request(crawl, f"{HOST}/{backlog[-1]}", f"{HOST}/{backlog[-2]}")
    crawl.run(until=crawl.now + 30.0)
    # It was visited, and its admission comes again.
    admit(crawl, backlog[-1:])
    crawl.run(until=crawl.now + 3600.0)
    assert {url: 1 for url in web.pages()} == Counter(web.pages())
    assert {f"{HOST}/{number}" for number in backlog} <= {*web.pages()}


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1 << 16), deaths=st.lists(st.integers(0, 60), max_size=3))
def test_requests_are_applied_once_through_crashes_between_any_two_writes(
    seed: int, deaths: list[int]
) -> None:
    web = Chain()
    with TemporaryDirectory() as folder:
        crawl = VirtualCrawl(Path(folder), web, Fate(seed), batch=2, lease_slack=10.0)
        crawl.define(f"{HOST}/0", max_depth=0)
        crawl.run(until=crawl.now + 2.0)
        admitted, unknown = f"{HOST}/{PAGES}", f"{HOST}/{PAGES + 1}"
        admit(crawl, [PAGES])
        request(crawl, admitted, unknown)
        crawl.die(*deaths, seconds=30.0)
        crawl.run(until=crawl.now + 3600.0)
        crawl.archive.close()
    made = Counter(web.pages())
    assert made[admitted] and made[unknown]
    # A crash loses the outcomes of the visits in flight, which are made again.
    assert sum(made.values()) - len(made) <= 2 * len(deaths)
