"""A crawl with `selective-incremental`: unchanged home pages over articles that change, and over
articles that do not."""

from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from gossamer.services.fetcher.outcome import Failure, Reply
from tests.flow.torn import Died, Fate
from tests.flow.virtual import START, VirtualCrawl, html_page

HTML = (("Content-Type", "text/html"),)
HOUR, DAY = 3600.0, 86400.0
DAYS = 30
NEWS, STILL = "http://news.test", "http://still.test"
ARTICLES = 6
WORDS = ("river", "stone", "house", "light", "paper", "winter", "garden", "engine", "letter")


def answer(url: str, now: float) -> tuple[float, Reply | Failure]:
    """Answer as two sites whose home pages link to articles. The articles of one site change each
    day."""
    host, _, path = url.rpartition("/")
    if not path:
        body = "".join(f"<p><a href='/{n}'>article {n}</a></p>" for n in range(ARTICLES))
    elif path.isdigit():
        day = int(now // DAY) if host == NEWS else 0
        body = f"<p>{' '.join(Random(f'{url} {day}').choices(WORDS, k=40))}</p>"
    else:
        return 0.1, Reply(status=404)
    body = f"<title>{url}</title>{body}"
    return 0.1, html_page(body)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, pytest.param(4, marks=pytest.mark.long)])
def test_skipped_pages_are_visited_again_after_crashes_between_writes(
    tmp_path: Path, seed: int
) -> None:
    fate, random = Fate(seed), Random(seed)
    crawl = VirtualCrawl(tmp_path, answer, fate, delay=1.0)
    crawl.define(f"{NEWS}/", f"{STILL}/", revisit="selective-incremental:1h")
    while crawl.now < START + 2 * DAY:
        fate.left = random.randrange(20, 600)
        with suppress(Died):
            crawl.run(until=crawl.now + random.uniform(1, 5) * HOUR)
        crawl.crash()
    fate.left, since = None, crawl.now
    crawl.run(until=since + 20 * HOUR)
    visited = {url for at, _, url in crawl.requests if at > since}
    pages = {f"{host}/{name}" for host in (NEWS, STILL) for name in ("", *range(ARTICLES))}
    assert pages <= visited
