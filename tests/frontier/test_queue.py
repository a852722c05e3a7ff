"""The queue of a host after a crash."""

from gossamer.events import DEFAULT_CRAWL
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from services.frontier.queue import BUCKET_URLS, HostQueues
from services.frontier.rows import HostRow, QueuedUrl


def test_rows_after_the_end_from_interrupted_flush_are_not_read() -> None:
    queues = HostQueues(SqliteStore(Database(":memory:")).table(QueuedUrl), DEFAULT_CRAWL)
    url = QueuedUrl(DEFAULT_CRAWL, "", 0, "http://a.test/x", 1)
    before = queues.append(HostRow("a.test", "http://a.test"), [url])
    for number in range(2, 4):
        queues.append(before, [QueuedUrl(DEFAULT_CRAWL, "", 0, f"http://a.test/{number}", number)])
        after = queues.append(
            before, [QueuedUrl(DEFAULT_CRAWL, "", 0, f"http://a.test/{number}", number)]
        )
        queues.append(after, [QueuedUrl(DEFAULT_CRAWL, "", 0, "http://a.test/beyond", 9)])
    assert [one.url for one in queues.first(before, BUCKET_URLS)] == [url.url]
