"""Quiet hours of a site, from the control topic to the requests at its server."""

from pathlib import Path

import pytest

from gossamer.events import SiteOverridden
from gossamer.events.topics import DEAD_LETTERS
from gossamer.log.codec import encode
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.web.url import Site
from tests.flow.virtual import START, VirtualCrawl

HOUR, DAY = 3600.0, 86400.0
QUIET, OTHER = "http://www.quiet.test", "http://other.test"
FROM, UNTIL = 6 * HOUR, 20 * HOUR


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    if url.endswith("/robots.txt"):
        return 0.1, Reply(status=404, started_at=now, took=0.1)
    links = "".join(f"<a href='/{n}'>page {n}</a>" for n in range(4))
    body = f"<title>{url}</title><p>At {now // HOUR} o'clock: {links}".encode()
    headers = (("Content-Type", "text/html"),)
    return 0.1, Reply(status=200, headers=headers, body=body, started_at=now, took=0.1)


@pytest.mark.slow
def test_site_receives_no_requests_in_its_quiet_hours(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web, delay=1.0)
    quiet = SiteOverridden(at=START, site=Site("quiet.test"), quiet_from=FROM, quiet_until=UNTIL)
    crawl.log.append([encode(quiet)])
    crawl.define(f"{QUIET}/", f"{OTHER}/", revisit="fixed:2h")
    for day in range(1, 5):
        crawl.run(until=START + day * DAY / 2)
        crawl.crash()
    requests = [(at % DAY, url) for at, _, url in crawl.requests]
    assert not any(FROM + 60 < at < UNTIL for at, url in requests if url.startswith(QUIET))
    assert any(FROM + 60 < at < UNTIL for at, url in requests if url.startswith(OTHER))
    assert sum(url.startswith(QUIET) for _, url in requests) > 20
    assert not crawl.log.tail([DEAD_LETTERS.name]).poll(0)
