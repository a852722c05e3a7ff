"""A seed that is added again is tried again, as politely as ever."""

from pathlib import Path

import pytest

from gossamer.events import Outcome
from services.fetcher.outcome import Failure, Reply
from tests.flow.virtual import VirtualCrawl

SEED = "http://a.test/"
HTML = (("Content-Type", "text/html"),)
UNKNOWN = Failure(outcome=Outcome.DNS_FAILURE, reason="no such name")


class Web:
    """One host whose visits end with *trouble* until that is None."""

    def __init__(self, trouble: Reply | Failure | None) -> None:
        self.trouble, self.asked = trouble, list[tuple[float, str]]()

    def __call__(self, url: str, now: float) -> tuple[float, Reply | Failure]:
        self.asked.append((now, url))
        if self.trouble:
            return 0.1, self.trouble
        if url.endswith("/robots.txt"):
            return 0.1, Reply(status=404)
        return 0.1, Reply(status=200, headers=HTML, body=b"<title>A page</title>text")


def sown_again(tmp_path: Path, trouble: Reply | Failure, later: float) -> list[float]:
    """Return when the seed is asked for, in seconds after it was added again, its server mended,
    *later* seconds after the first time."""
    web = Web(trouble)
    crawl = VirtualCrawl(tmp_path, web)
    crawl.sow(SEED)
    crawl.run(until=crawl.now + later)
    web.trouble, web.asked = None, []
    sown_at = crawl.now
    crawl.sow(SEED)
    crawl.run(until=sown_at + 86400.0)
    return [at - sown_at for at, url in web.asked if url == SEED]


@pytest.mark.parametrize("later", [3600.0, 100 * 86400.0], ids=["backing off", "given up"])
def test_seed_with_an_unknown_name_is_tried_at_once_when_it_is_sown_again(
    tmp_path: Path, later: float
) -> None:
    [at] = sown_again(tmp_path, UNKNOWN, later)
    assert at < 60.0


def test_retry_after_stays_when_a_seed_is_sown_again(tmp_path: Path) -> None:
    busy = Reply(status=429, headers=(("Retry-After", "7200"),))
    [at] = sown_again(tmp_path, busy, 3600.0)
    assert 3500.0 < at < 3700.0


def test_page_is_not_visited_again_when_its_seed_is_sown_again(tmp_path: Path) -> None:
    page = Reply(status=200, headers=HTML, body=b"<title>A page</title>text")
    assert sown_again(tmp_path, page, 3600.0) == []
