"""Cached queue heads match the store."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import DEFAULT_CRAWL
from gossamer.services.frontier.partition.queue import BUCKET_URLS, MAX_CACHED_URLS, HostQueues
from gossamer.services.frontier.partition.workbench import FrontierCaches
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import QueuedUrl
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey, Site

steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, BUCKET_URLS)),
        st.tuples(st.just("pass"), st.integers(1, BUCKET_URLS)),
        st.tuples(st.just("read"), st.integers(1, 2 * MAX_CACHED_URLS)),
        st.tuples(st.just("forget"), st.just(0)),
        st.tuples(st.just("turn"), st.just(0)),
    ),
    max_size=30,
)


@given(steps)
def test_cached_queue_heads_match_the_store(done: list[tuple[str, int]]) -> None:
    database = Database(":memory:")
    table = SqliteStore(database).table(QueuedUrl)
    memory, host, number = FrontierCaches(), HostRow(Site("a.test"), HostKey("http://a.test")), 0
    queues = HostQueues(table, DEFAULT_CRAWL, memory.open_partition().queue_heads)
    for what, count in done:
        if what == "append":
            for _ in range(count):
                number += 1
                url = QueuedUrl(
                    DEFAULT_CRAWL, "", 0, f"http://a.test/{number}", number, earlier=number % 2
                )
                host = queues.append(host, [url])
        elif what == "pass":
            host = queues.skip(host, min(count, host.queued))
        elif what == "forget":
            queues = HostQueues(table, DEFAULT_CRAWL, memory.open_partition().queue_heads)
        elif (
            what == "turn"
            and host.of(DEFAULT_CRAWL).new.queued
            and host.of(DEFAULT_CRAWL).again.queued
        ):
            own = host.of(DEFAULT_CRAWL)
            host = host.with_crawl(DEFAULT_CRAWL, replace(own, is_again_next=not own.is_again_next))
        assert queues.first(host, count or 1) == HostQueues(table, DEFAULT_CRAWL).first(
            host, count or 1
        )
    database.close()


def test_queue_of_single_urls_is_not_read() -> None:
    database = Database(":memory:")
    table = SqliteStore(database).table(QueuedUrl)
    queues, host = (
        HostQueues(table, DEFAULT_CRAWL),
        HostRow(Site("a.test"), HostKey("http://a.test")),
    )
    table.scan = None  # type: ignore[method-assign,assignment]
    for number in range(3 * BUCKET_URLS):
        host = queues.append(
            host, [QueuedUrl(DEFAULT_CRAWL, "", 0, f"http://a.test/{number}", number)]
        )
        assert [one.number for one in queues.first(host, 5)] == [number]
        host = queues.advance(host)
    database.close()
