"""A seed that is given again: whoever gives it wants it to be tried now."""

from pathlib import Path

import pytest

from gossamer.events import Outcome, SeedSown
from gossamer.log.codec import encode
from services.fetcher.outcome import Failure, Reply
from tests.flow.virtual import VirtualCrawl

SEED = "http://a.test/"
DAY = 86400.0
UNRESOLVED = Failure(outcome=Outcome.DNS_FAILURE, reason="a.test does not resolve")


@pytest.mark.parametrize("given_again", [False, True])
def test_name_that_did_not_resolve_is_tried_when_its_seed_is_given_again(
    tmp_path: Path, given_again: bool
) -> None:
    resolves = [False]

    def web(url: str, now: float) -> tuple[float, Reply | Failure]:
        if not resolves[0]:
            return 0.1, UNRESOLVED
        return 0.1, Reply(status=200, body=b"<title>here</title>", started_at=now, took=0.1)

    crawl = VirtualCrawl(tmp_path, web)
    crawl.sow(SEED)
    began = crawl.now
    crawl.run(until=began + 60.0)
    resolves[0] = True
    if given_again:
        crawl.log.append([encode(SeedSown(url=SEED))])
    crawl.run(until=began + 600.0)
    assert (SEED in [url for _, _, url in crawl.requests]) is given_again


def test_seed_that_was_visited_is_not_visited_again(tmp_path: Path) -> None:
    def web(url: str, now: float) -> tuple[float, Reply | Failure]:
        return 0.1, Reply(status=200, body=b"<title>here</title>", started_at=now, took=0.1)

    crawl = VirtualCrawl(tmp_path, web)
    crawl.sow(SEED)
    assert crawl.run()
    visits = len(crawl.requests)
    crawl.log.append([encode(SeedSown(url=SEED))])
    assert crawl.run()
    assert len(crawl.requests) == visits
