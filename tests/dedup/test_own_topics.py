"""Pages of a crawl on a topic of its own: `pages.CRAWL`, for consumers that may read one crawl."""

from collections.abc import Iterator

import pytest

from gossamer.crawl import accept, create_own_topic
from gossamer.errors import BadSettings, Poison
from gossamer.events import CrawlDefined, Page
from gossamer.events.topics import PAGES
from gossamer.log import Record
from gossamer.log.codec import (
    copy_message,
    crawl_of,
    dead_letter,
    decode,
    encode,
    message_of_letter,
    tombstone,
)
from gossamer.log.sqlite import SqliteLog
from gossamer.runtime.sequential import sequential_loop
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.dedup.service import Dedup
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from tests.dedup.test_documents import THERE, URL, Seen, parsed_page
from tests.support.metrics import metric

OWN = "pages.news"
SHARED = ("default", "shops")


def definition(crawl: str, **fields: bool) -> CrawlDefined:
    return CrawlDefined(at=0.0, crawl=crawl, scope="any()", max_depth=9, **fields)  # type: ignore[arg-type]


@pytest.fixture
def log() -> Iterator[SqliteLog]:
    """Three crawls published the same page, and found it gone; `news` has its own topic."""
    database = Database(":memory:")
    log, store = SqliteLog(database), SqliteStore(database)
    for crawl in (definition("default"), definition("shops"), definition("news", own_topic=True)):
        create_own_topic(log, crawl)
        log.append([encode(crawl)])
    loop = sequential_loop(Dedup(SeenTable(store), store, DedupSettings()), log, store, lambda: 9.0)
    for at, seen in ((1.0, THERE), (2.0, Seen(410))):
        pages = [parsed_page(URL, seen, at, crawl=name) for name in (*SHARED, "news")]
        other = parsed_page(f"{URL}other", THERE, at, crawl="news", digest="other")
        log.append(map(encode, [*pages, other]))
        while loop.step():
            pass
    yield log
    loop.close()
    database.close()


def records(log: SqliteLog, topic: str) -> list[Record]:
    return [*log.tail([topic]).poll(0)]


def test_each_topic_has_only_the_pages_and_tombstones_of_its_crawls(log: SqliteLog) -> None:
    assert {one.key for one in records(log, PAGES.name)} == {f"{name}/{URL}" for name in SHARED}
    assert {one.key for one in records(log, OWN)} == {f"news/{URL}", f"news/{URL}other"}
    for topic in (PAGES.name, OWN):
        for record in (one for one in records(log, topic) if not one.value):
            gone = tombstone(record)
            assert (gone.crawl, gone.url, gone.reason) == (crawl_of(record), URL, "removed")
            assert dict(record.headers)["crawl"] == gone.crawl
    (document,) = (one for one in records(log, OWN) if one.value)
    page = decode(document)
    assert isinstance(page, Page) and (page.crawl, page.url) == ("news", f"{URL}other")


def test_metrics_count_the_verdicts_of_each_crawl(log: SqliteLog) -> None:
    for crawl in (*SHARED, "news"):
        assert metric("gossamer_verdicts_total", verdict="gone", crawl=crawl)
        assert metric("gossamer_documents_gone_total", reason="removed", crawl=crawl)


def test_own_topic_keeps_the_newest_record_of_each_key(log: SqliteLog) -> None:
    (newest,) = (one for one in records(log, OWN) if one.key == f"news/{URL}")
    assert newest.value == b""


def test_record_of_an_own_topic_is_copied_to_its_partition(log: SqliteLog) -> None:
    for record in records(log, OWN):
        message = copy_message(record)
        assert (message.topic, message.partition_key) == (OWN, "a.test")
        assert message.partition_among(log.partitions) == record.partition
    (document,) = (one for one in records(log, OWN) if one.value)
    letter = dead_letter(document, "index", "too large", 1.0)
    replayed = message_of_letter(letter)
    assert (letter.crawl, replayed.topic, replayed.partition_key) == ("news", OWN, "a.test")


@pytest.mark.parametrize("crawl", ["archived", "fetched", "parsed", "deduplicated"])
def test_crawl_cannot_have_a_topic_that_exists(crawl: str) -> None:
    accept(definition(crawl))
    with pytest.raises(Poison, match=f"pages.{crawl} is another topic"):
        accept(definition(crawl, own_topic=True))
    with pytest.raises(BadSettings, match="use another id"):
        create_own_topic(SqliteLog(Database(":memory:")), definition(crawl, own_topic=True))


def test_unknown_topic_is_refused(log: SqliteLog) -> None:
    for name in ("page", "pages.", "pages.A", "other.news"):
        with pytest.raises(LookupError):
            log.create_topic(name)
