"""Tables and topics that grow with a crawl stay below the limits that an operator has set."""

from pathlib import Path

import pytest

from gossamer.events import DEFAULT_CRAWL, Discovery, LinksParked
from gossamer.events.topics import DEAD_LETTERS, PAGES_ARCHIVED, SEEDS
from gossamer.log import Message
from gossamer.log.codec import encode
from gossamer.services.archive.rows import CaptureRow
from gossamer.services.dedup.content import DigestRow, NearRow
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.partition.parked import ParkedRow
from gossamer.services.frontier.tables.urls import HistoryRow, UrlRow
from gossamer.settings import ArchiveSettings, DedupSettings
from gossamer.web.url import Site
from tests.flow.virtual import VirtualCrawl, html_page

DAY, HOST = 86400.0, "http://a.test"
PAGES = 2


def news(url: str, now: float) -> tuple[float, Reply | Failure]:
    """Answer with a different text each day."""
    if not url.startswith(f"{HOST}/") or url.endswith("/robots.txt"):
        return 0.0, Reply(status=404)
    day = int(now // DAY)
    words = " ".join(f"{url[-1:]}{day}word{n * (day + 7) % 101}" for n in range(80))
    links = "".join(f'<a href="/{n}">{n}</a>' for n in range(1, PAGES))
    body = f"<html><title>{url}</title><body><p>{words}</p>{links}"
    return 0.0, html_page(body)


def run_crawl(folder: Path, days: float, every: str = "1d", **settings: object) -> VirtualCrawl:
    crawl = VirtualCrawl(folder, news, None, **settings)
    crawl.define(f"{HOST}/", scope="host('a.test')", revisit=f"fixed:{every}")
    crawl.run(until=crawl.now + days * DAY)
    return crawl


@pytest.mark.parametrize("limited", [True, False])
def test_rows_expire_after_the_age_in_the_settings(tmp_path: Path, limited: bool) -> None:
    age = 5 * DAY if limited else 0.0
    # Shorter than the minimum of the settings, for a short crawl.
    dedup = DedupSettings().model_copy(update={"documents_age": age})
    archive = ArchiveSettings(captures_age=age)
    crawl = run_crawl(tmp_path, 2, history_age=age, archive=archive, dedup=dedup)
    gone = f"{HOST}/gone"
    document, store = DocumentRow(DEFAULT_CRAWL, gone, crawl.now, gone="missing"), crawl._store()
    store.table(DocumentRow).put(document)
    store.flush()
    crawl.run(until=crawl.now + 4 * DAY)
    assert len(crawl.rows(DocumentRow)) == PAGES + 1
    crawl.run(until=crawl.now + 14 * DAY)
    assert len(crawl.rows(DocumentRow)) == PAGES + (not limited)
    # A visit finds a new text, which has at most two digests.
    for row, each in ((HistoryRow, 1), (CaptureRow, 1), (DigestRow, 2)):
        if limited:
            assert PAGES * 4 <= len(crawl.rows(row)) <= each * PAGES * 8
        else:
            assert len(crawl.rows(row)) >= PAGES * 18
    assert len(crawl.rows(UrlRow)) == PAGES, "rows of URLs do not expire"
    assert 1 <= len(crawl.rows(NearRow)) <= PAGES * 4, "one row in each of four bands"


@pytest.mark.parametrize("limit", [100, 0])
def test_oldest_parked_urls_are_deleted_above_the_limit(tmp_path: Path, limit: int) -> None:
    crawl = run_crawl(tmp_path, 1, parked_limit=limit, worth_parking=False, url_budget=0)
    events = []
    for n in range(300):
        found = (Discovery(f"http://b.test/{n}", 1),)
        event = LinksParked(at=crawl.now, site=Site("a.test"), via=f"1.{n}.0@{HOST}/", urls=found)
        events.append(encode(event))
    crawl.log.append(events)
    crawl.run(until=crawl.now + 1)
    parked = len(crawl.rows(ParkedRow))
    assert 50 <= parked <= 100 if limit else parked == 300
    before = len(crawl.requests)
    crawl.define(scope="any()", revisit="none")
    crawl.run(until=crawl.now + DAY / 4)
    requested = {url for _, _, url in crawl.requests[before:] if "b.test" in url}
    assert "http://b.test/299" in requested and ("http://b.test/0" in requested) is not bool(limit)


@pytest.mark.parametrize("limit", [3, 0])
def test_oldest_records_of_topics_without_consumers_are_deleted_above_the_limit(
    tmp_path: Path, limit: int
) -> None:
    crawl = run_crawl(tmp_path, 10, records_limit=limit)
    crawl.log.append([Message(SEEDS.name, str(n), b"{", str(n)) for n in range(20)])
    crawl.run(until=crawl.now + 1)
    for topic in (PAGES_ARCHIVED.name, DEAD_LETTERS.name):
        found = len(crawl.records(topic))
        assert 1 <= found <= 4 * limit if limit else found >= 20
