"""Each host is probed once with a path that cannot exist. Later pages that match this answer are
soft 404s."""

from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace
from prometheus_client import REGISTRY

from gossamer.events import DEFAULT_CRAWL
from gossamer.events.topics import PAGES
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import VerdictRow
from gossamer.web.http import Headers
from gossamer.web.soft_404 import NO_PAGE
from gossamer.web.url import host_name
from tests.archive.harness import files, records
from tests.flow.virtual import VirtualCrawl

pytestmark = pytest.mark.slow
HTML = ("Content-Type", "text/html")
LINKS = "".join(f"<a href=/{n}>{n}</a>" for n in range(20))
LOST = [f"/lost{n}" for n in range(3)]
"""Links of pages to paths that do not exist."""
MISSING_PAGE = f"<title>Oops</title><p>Sorry, we have no such page. {LINKS}<a href=/sorry>on</a>"
WORDS = " ".join(f"word{n}" for n in range(80))


def exists(url: str) -> bool:
    return url.rpartition("/")[2] in {"", *map(str, range(20))}


MISSING: dict[str, tuple[int, Headers]] = {
    "honest.test": (404, (HTML,)),
    "soft.test": (200, (HTML,)),
    "moves.test": (302, (HTML, ("Location", "/1"))),
    "fails.test": (500, (HTML,)),
    "shy.test": (200, (HTML,)),
}
"""The answer of each host for a missing page: status and headers."""
RULES = "User-agent: *\nAllow: /$\nAllow: /1\nDisallow: /"
"""The robots.txt of the host that forbids the probe."""


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    status, headers = MISSING["soft.test"]
    body = f"<title>{url}</title><p>{url} {WORDS}{LINKS}"
    if url.endswith("/robots.txt"):
        body = RULES if "shy" in url else ""
    elif not exists(url):
        (status, headers), body = MISSING[host_name(url)], MISSING_PAGE
    return 0.1, Reply(status=status, headers=headers, body=body.encode())


@pytest.fixture
def crawl(tmp_path: Path) -> VirtualCrawl:
    found = VirtualCrawl(tmp_path, web, batch=4, delay=2.0, probe_after=6)
    found.define(*(f"http://{name}/" for name in MISSING), max_depth=1)
    assert found.run()
    return found


def requests(crawl: VirtualCrawl, host: str) -> list[tuple[float, float, str]]:
    return [one for one in crawl.requests if host_name(one[2]) == host]


def probes(crawl: VirtualCrawl, host: str) -> list[str]:
    """Return the requested URLs that no page links to."""
    urls = [url for _, _, url in requests(crawl, host)]
    return [
        url
        for url in urls
        if not exists(url) and not url.endswith(("/robots.txt", "/sorry", *LOST))
    ]


@pytest.mark.long
def test_each_host_is_probed_once_and_its_answer_is_its_signature(crawl: VirtualCrawl) -> None:
    rows = crawl.rows(HostRow)
    found = {host_name(row.host): row.signature for row in rows if row.signature}
    honest, soft, moves, fails, shy = (found[name] for name in MISSING)
    assert (honest.status, honest.location, honest.digest) == (404, "", "")
    assert soft.status == 200 and soft.digest
    assert (moves.status, moves.location, moves.digest) == (302, "/1", "")
    assert (fails.status, fails.digest) == (500, "")
    # Its robots.txt forbids the probe; the row records the attempt.
    assert (shy.status, shy.at > 0) == (0, True)
    assert [len(probes(crawl, name)) for name in MISSING] == [1, 1, 1, 1, 0]


@pytest.mark.long
def test_probe_keeps_the_delay_and_follows_other_visits(crawl: VirtualCrawl) -> None:
    for name in ("honest.test", "soft.test", "fails.test"):
        times = requests(crawl, name)
        assert all(after - end >= 2.0 - 1e-6 for (_, end, _), (after, _, _) in pairwise(times))
        urls = [url for _, _, url in times]
        # It follows six visits, or those in which two pages were alike.
        assert urls.index(probes(crawl, name)[0]) >= 4
        assert len([url for url in urls if exists(url)]) == 21


@pytest.mark.long
def test_answer_to_a_probe_is_archived_and_not_published(
    crawl: VirtualCrawl, tmp_path: Path
) -> None:
    store = crawl._store()
    [missing] = probes(crawl, "soft.test")
    published = crawl.log.reader("test", [PAGES.name], store).poll(1000)
    assert published and not any(b"Oops" in record.value for record in published)
    assert not any(url.endswith("/sorry") for _, _, url in crawl.requests)
    assert list(store.table(CaptureRow).scan((DEFAULT_CRAWL, missing))) == []
    archived = [headers for file in files(tmp_path) for headers, _ in records(file)]
    assert any(headers.get("WARC-Target-URI") == missing for headers in archived)


def verdict_reasons(crawl: VirtualCrawl, host: str) -> dict[str, str]:
    """Return path → reason of the verdicts on pages of *host*."""
    rows = crawl.rows(VerdictRow)
    return {row.url.removeprefix(row.host): row.reason for row in rows if host in row.host}


def test_page_that_matches_the_signature_is_not_published_and_its_links_are_not_followed(
    tmp_path: Path,
) -> None:
    # The last pages of the queue link to missing pages, after the probe.
    lost = "".join(f"<a href={path}>{path}</a>" for path in LOST)

    def losing(url: str, now: float) -> tuple[float, Reply | Failure]:
        took, reply = web(url, now)
        if url.endswith("/19") and isinstance(reply, Reply):
            reply = replace(reply, body=reply.body + lost.encode())
        return took, reply

    crawl = VirtualCrawl(tmp_path, losing, batch=4, delay=2.0, probe_after=6)
    crawl.define("http://soft.test/", "http://moves.test/", "http://honest.test/", max_depth=4)
    before = hazards()
    assert crawl.run()
    assert hazards() == before + 2 * len(LOST)
    visited = {url for _, _, url in crawl.requests}
    assert {f"http://{name}.test{path}" for name in ("soft", "moves") for path in LOST} <= visited
    assert {verdict_reasons(crawl, "soft.test")[path] for path in LOST} == {NO_PAGE}
    assert set(verdict_reasons(crawl, "soft.test").values()) == {"", NO_PAGE}
    assert set(verdict_reasons(crawl, "moves.test").values()) == {""}
    assert "http://soft.test/sorry" not in visited
    published = crawl.log.reader("test", [PAGES.name], crawl._store()).poll(1000)
    assert not any(b"Oops" in record.value for record in published)


def hazards() -> float:
    return REGISTRY.get_sample_value("gossamer_hazards_total", {"hazard": "soft_404"}) or 0.0
