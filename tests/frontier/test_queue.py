"""The queues of a host: their order, and what a crash leaves."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec.structs import replace

from gossamer.events import DEFAULT_CRAWL
from gossamer.services.frontier.partition import queue
from gossamer.services.frontier.partition.queue import BUCKET_URLS, MAX_CACHED_URLS, HostQueues
from gossamer.services.frontier.partition.workbench import FrontierCaches
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow, Lease
from gossamer.services.frontier.tables.ordering import (
    MAX_RANKS,
    rank_of_number,
    request_number,
    with_rank,
)
from gossamer.services.frontier.tables.urls import QueuedUrl
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey, Site

EMPTY = HostRow(Site("a.test"), HostKey("http://a.test"))


def queued_url(number: int, rank: int = 0, earlier: int = 0) -> QueuedUrl:
    url = f"http://a.test/{number}"
    return QueuedUrl(DEFAULT_CRAWL, "", 0, url, request_number(rank, number), earlier=earlier)


class LateDrops:
    """A table of queued URLs whose drops reach the store at a flush, after the host's row."""

    def __init__(self) -> None:
        self.database = Database(":memory:")
        self._table = SqliteStore(self.database).table(QueuedUrl)
        self.drops: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)

    def drop(self, key: Any) -> None:
        self.drops.append(key)

    def flush(self) -> None:
        for key in self.drops:
            self._table.drop(key)
        self.drops.clear()


class Host:
    """A host with its queues; a crash restores the row of the last flush."""

    def __init__(self) -> None:
        self.table, self.row = LateDrops(), EMPTY
        self.queues = self.open()
        self.stored = self.row

    def open(self) -> HostQueues:
        """Return the queues with an empty cache."""
        heads = FrontierCaches().open_partition().queue_heads
        return HostQueues(self.table, DEFAULT_CRAWL, heads)

    def flush(self) -> None:
        self.stored = self.row
        self.table.flush()

    def crash(self) -> None:
        self.row = self.stored
        self.table.drops.clear()
        self.queues = self.open()

    def append(self, *urls: QueuedUrl) -> None:
        self.row = self.queues.append(self.row, urls)

    def cleared(self) -> list[QueuedUrl]:
        return [url for key in self.queues.cleared_keys(self.row) for url in self.table.scan(key)]

    def check_out(self, count: int) -> list[QueuedUrl]:
        row, _ = self.queues.choose_queue(self.row)
        urls = self.queues.first(row, count)
        lease = Lease(crawl=DEFAULT_CRAWL)
        row = self.queues.hold_queue(row)
        self.row = replace(row, condition=Condition.CHECKED_OUT, lease=lease)
        return urls

    def check_in(self, urls: list[QueuedUrl]) -> None:
        for _ in urls:
            self.row = self.queues.advance(self.row)
        self.row = self.queues.end_order(replace(self.row, condition=Condition.READY))

    def serve(self) -> Iterator[list[QueuedUrl]]:
        """Yield the orders of all queued URLs."""
        while self.row.queued:
            yield (urls := self.check_out(3))
            self.check_in(urls)


def test_order_in_flight_keeps_its_queue_when_a_better_url_arrives() -> None:
    host = Host()
    host.append(*(queued_url(number) for number in range(5)))
    urls = host.check_out(3)
    host.append(queued_url(9, rank=-100))
    host.flush()
    host.crash()
    for url in urls:
        assert host.queues.first(host.row, 1)[0].url == url.url
        host.row = host.queues.advance(host.row)
    host.check_in([])
    assert host.row.number == queued_url(9, rank=-100).number
    assert [url.url for url in host.check_out(3)] == ["http://a.test/9"]


def test_better_url_gives_an_unvisited_host_its_number_and_precedes_revisits() -> None:
    host = Host()
    host.append(queued_url(1, earlier=1), queued_url(2, earlier=1))
    host.append(queued_url(3))
    assert (host.row.number, host.row.of(DEFAULT_CRAWL).is_again_next) == (
        queued_url(1).number,
        True,
    )
    host.append(queued_url(4, rank=-50))
    assert host.row.number == queued_url(4, -50).number
    assert [url.url for url in host.check_out(2)] == ["http://a.test/4"]


def test_worse_ranks_get_every_tenth_order_in_turn() -> None:
    host = Host()
    host.append(*(queued_url(number) for number in range(2000)))
    for rank in (10, 15, 31):
        host.append(*(queued_url(3000 + number, rank) for number in range(20)))
    orders = [host.check_out(3)[0] for _ in range(80) if not host.check_in([])]  # type: ignore[func-returns-value]
    counts = Counter(rank_of_number(url.number) for url in orders)
    assert counts == {0: 72, 10: 4, 15: 4}, "a penalty explains no difference of 31"


def test_number_of_ranks_is_bounded_and_every_url_is_served() -> None:
    host, served = Host(), list[str]()
    for number in range(300):
        host.append(queued_url(number, rank=number % 90 - 45))
        if number % 50 == 0:
            order = host.check_out(2)
            served += [url.url for url in order]
            host.check_in(order)
        assert len(host.row.of(DEFAULT_CRAWL).new.ranks) <= MAX_RANKS
    served += [url.url for order in host.serve() for url in order]
    assert sorted(served) == sorted(queued_url(number).url for number in range(300))


def test_queue_of_a_dropped_rank_starts_in_an_unused_bucket(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(queue, "MAX_RANKS", 2)
    host, served = Host(), list[str]()
    for number in range(40):
        host.append(queued_url(number, rank=number % 4 * 5))
        served += [url.url for order in host.serve() for url in order]
        host.flush()  # The drops come after new rows.
    assert served == [queued_url(number).url for number in range(40)]
    assert len(host.row.of(DEFAULT_CRAWL).new.ranks) == 2


def test_cleared_queues_are_read_and_dropped_once() -> None:
    host = Host()
    host.append(*(queued_url(number, number % 3 * 5) for number in range(250)))
    host.row = host.queues.clear(host.row)
    host.append(queued_url(900), queued_url(901, rank=5))
    host.row = host.queues.clear(host.row)
    cleared = {url.url for url in host.cleared()}
    assert {queued_url(number).url for number in (*range(250), 900, 901)} == cleared
    host.append(queued_url(902, rank=5))
    host.row = host.queues.drop_cleared(host.row)
    host.flush()
    assert [url.url for order in host.serve() for url in order] == [queued_url(902).url]
    assert host.cleared() == []


def test_found_url_has_the_urls_before_it() -> None:
    host = Host()
    host.append(*(queued_url(number, rank=5) for number in range(3)))
    host.append(*(queued_url(number, rank=-5) for number in range(10, 14)))
    found = host.queues.find(host.row, queued_url(1).url)
    assert found and (found.ahead, found.rank, found.position) == (5, 5, 1)
    assert host.queues.find(host.row, "http://a.test/none") is None


def test_queue_of_single_urls_is_not_read() -> None:
    host = Host()
    host.table.scan = None  # type: ignore[attr-defined]
    for number in range(3 * BUCKET_URLS):
        host.append(queued_url(number))
        assert [url.url for url in host.check_out(5)] == [queued_url(number).url]
        host.check_in([queued_url(number)])


class QueueMachine(RuleBasedStateMachine):
    """The queues of a host beside lists: each URL is served once, in the order of the ranks,
    whatever crashes, and the cached heads of the queues match the store."""

    def __init__(self) -> None:
        super().__init__()
        self.host, self.number = Host(), 0
        self.waiting: defaultdict[int | None, list[str]] = defaultdict(list)
        """Rank → its waiting URLs; None stands for revisits."""
        self.stored = deepcopy(self.waiting)

    def ranks(self) -> list[int]:
        return [rank for rank, urls in self.waiting.items() if rank is not None and urls]

    @rule(count=st.integers(1, BUCKET_URLS), rank=st.sampled_from([None, -50, -5, 0, 0, 5, 20]))
    def append(self, count: int, rank: int | None) -> None:
        is_revisit = rank is None
        urls = [queued_url(self.number + n, rank or 0, is_revisit) for n in range(count)]
        self.number += count
        self.host.append(*urls)
        self.waiting[rank] += [url.url for url in urls]

    @precondition(lambda self: self.host.row.queued)
    @rule(count=st.integers(1, 60), outcomes=st.integers(0, 60))
    def order(self, count: int, outcomes: int) -> None:
        """Order URLs, of which only the first *outcomes* are visited; 0 stands for all."""
        urls = self.host.check_out(count)
        own = self.host.row.of(DEFAULT_CRAWL)
        rank = None if own.is_again_next else own.new.ordered
        if rank is not None and own.new.orders:
            assert rank == min(self.ranks()) or own.new.explored == rank
        assert urls and [url.url for url in urls] == self.waiting[rank][: len(urls)]
        ended = urls[:outcomes] if outcomes else urls
        del self.waiting[rank][: len(ended)]
        self.host.check_in(ended)

    @precondition(lambda self: self.ranks())
    @rule(count=st.integers(1, 60), rank=st.sampled_from([-5, 0, 20]))
    def move(self, count: int, rank: int) -> None:
        """Give the first URLs of the best rank another one."""
        host, best = self.host, min(self.ranks())
        own = replace(host.row.of(DEFAULT_CRAWL), is_again_next=False)
        row = host.row.with_crawl(DEFAULT_CRAWL, own)
        urls = host.queues.first(row, count)
        moved = [replace(url, number=with_rank(url.number, rank)) for url in urls]
        host.row = host.queues.update_number(host.queues.move(row, moved))
        self.waiting[rank] += self.waiting[best][: len(urls)]
        del self.waiting[best][: len(urls)]

    @rule(count=st.integers(1, 2 * MAX_CACHED_URLS))
    def read(self, count: int) -> None:
        host, uncached = self.host, HostQueues(self.host.table, DEFAULT_CRAWL)
        assert host.queues.first(host.row, count) == uncached.first(host.row, count)

    @rule()
    def flush(self) -> None:
        self.host.flush()
        self.stored = deepcopy(self.waiting)

    @rule()
    def crash(self) -> None:
        self.host.crash()
        self.waiting = deepcopy(self.stored)

    @invariant()
    def counts_and_cached_heads_match(self) -> None:
        own = self.host.row.of(DEFAULT_CRAWL)
        assert own.new.queued == sum(len(self.waiting[rank]) for rank in self.ranks())
        assert own.again.queued == len(self.waiting[None])
        self.read(1)

    def teardown(self) -> None:
        while self.host.row.queued:
            self.order(7, 0)
        assert not any(self.waiting.values())
        self.host.table.database.close()


TestQueues = QueueMachine.TestCase
TestQueues.settings = settings(max_examples=60, stateful_step_count=30)
