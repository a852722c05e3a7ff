"""A seed that is added again is visited again, as politely as before."""

from pathlib import Path

import pytest

from gossamer.events import Outcome
from gossamer.services.fetcher.outcome import Failure, Reply
from tests.flow.virtual import VirtualCrawl

SEED = "http://a.test/"
HTML = (("Content-Type", "text/html"),)
UNKNOWN = Failure(outcome=Outcome.DNS_FAILURE, reason="no such name")


class Web:
    """One host that answers every request with *failure*, or with pages without one."""

    def __init__(self, failure: Reply | Failure | None) -> None:
        self.failure, self.requests = failure, list[tuple[float, str]]()

    def __call__(self, url: str, now: float) -> tuple[float, Reply | Failure]:
        self.requests.append((now, url))
        if self.failure:
            return 0.1, self.failure
        if url.endswith("/robots.txt"):
            return 0.1, Reply(status=404)
        return 0.1, Reply(status=200, headers=HTML, body=b"<title>A page</title>text")


def add_seed_again(tmp_path: Path, failure: Reply | Failure, later: float) -> list[float]:
    """Return the times at which the seed is requested, in seconds after it was added again.

    The server is repaired and the seed added again *later* seconds after the first time.
    """
    web = Web(failure)
    crawl = VirtualCrawl(tmp_path, web)
    crawl.define(SEED)
    crawl.run(until=crawl.now + later)
    web.failure, web.requests = None, []
    added_at = crawl.now
    crawl.define(SEED)
    crawl.run(until=added_at + 86400.0)
    return [at - added_at for at, url in web.requests if url == SEED]


@pytest.mark.parametrize("later", [3600.0, 100 * 86400.0], ids=["backing off", "given up"])
def test_seed_with_an_unknown_name_is_visited_at_once_if_added_again(
    tmp_path: Path, later: float
) -> None:
    [at] = add_seed_again(tmp_path, UNKNOWN, later)
    assert at < 60.0


def test_retry_after_still_holds_if_the_seed_is_added_again(tmp_path: Path) -> None:
    busy = Reply(status=429, headers=(("Retry-After", "7200"),))
    [at] = add_seed_again(tmp_path, busy, 3600.0)
    assert 3500.0 < at < 3700.0


def test_visited_page_is_not_visited_if_its_seed_is_added_again(tmp_path: Path) -> None:
    page = Reply(status=200, headers=HTML, body=b"<title>A page</title>text")
    assert add_seed_again(tmp_path, page, 3600.0) == []
