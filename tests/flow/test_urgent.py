"""An urgent URL that no page has linked to yet is visited first, and once."""

from collections import Counter
from pathlib import Path

from gossamer.events import FetchRequested
from gossamer.log.codec import encode
from services.fetcher.outcome import Failure, Reply
from tests.flow.virtual import VirtualCrawl

HOST = "http://a.test"
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
        return 0.1, Reply(status=200, headers=(("Content-Type", "text/html"),), body=body.encode())

    def pages(self) -> list[str]:
        return [url for _, url in self.requests if not url.endswith("/robots.txt")]


def test_urgent_url_that_pages_link_to_later_is_visited_once(tmp_path: Path) -> None:
    web = Chain()
    crawl = VirtualCrawl(tmp_path, web)
    crawl.define(f"{HOST}/0", max_depth=PAGES)
    crawl.run(until=crawl.now + 3.0)
    asked, urgent = len(web.pages()), f"{HOST}/{PAGES - 5}"
    assert 0 < asked < PAGES - 5
    event = FetchRequested(at=crawl.now, site="a.test", host=HOST, urls=(urgent,))
    crawl.log.append([encode(event)])
    crawl.run(until=crawl.now + 3600.0)
    assert urgent in web.pages()[asked : asked + BATCH + 1]
    assert {*Counter(url for url in web.pages() if not url.endswith("/")).values()} == {1}
    assert len({*web.pages()}) >= PAGES
