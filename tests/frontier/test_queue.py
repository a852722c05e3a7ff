"""The queues of a host: their order, and what a crash leaves."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import DEFAULT_CRAWL
from gossamer.services.frontier.partition import queue
from gossamer.services.frontier.partition.queue import BUCKET_URLS, HostQueues
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
        self.queues = HostQueues(self.table, DEFAULT_CRAWL)
        self.stored = self.row

    def flush(self) -> None:
        self.stored = self.row
        self.table.flush()

    def crash(self) -> None:
        self.row = self.stored
        self.table.drops.clear()
        self.queues = HostQueues(self.table, DEFAULT_CRAWL)

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


def test_rows_after_the_end_from_interrupted_flush_are_not_read() -> None:
    queues = HostQueues(SqliteStore(Database(":memory:")).table(QueuedUrl), DEFAULT_CRAWL)
    url = QueuedUrl(DEFAULT_CRAWL, "", 0, "http://a.test/x", 1)
    before = queues.append(HostRow(Site("a.test"), HostKey("http://a.test")), [url])
    for number in range(2, 4):
        queues.append(before, [QueuedUrl(DEFAULT_CRAWL, "", 0, f"http://a.test/{number}", number)])
        after = queues.append(
            before, [QueuedUrl(DEFAULT_CRAWL, "", 0, f"http://a.test/{number}", number)]
        )
        queues.append(after, [QueuedUrl(DEFAULT_CRAWL, "", 0, "http://a.test/beyond", 9)])
    assert [one.url for one in queues.first(before, BUCKET_URLS)] == [url.url]


def test_better_rank_is_served_first_and_equals_in_their_order() -> None:
    host = Host()
    ranks = [0, 5, -100, 0, 5, -50, 0]
    for number, rank in enumerate(ranks):
        host.append(queued_url(number, rank))
    served = [int(url.url.rpartition("/")[2]) for order in host.serve() for url in order]
    assert served == sorted(range(len(ranks)), key=lambda number: ranks[number])


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


steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 40), st.sampled_from([-50, -5, 0, 0, 5, 20])),
        st.tuples(st.just("again"), st.integers(1, 5), st.just(0)),
        st.tuples(st.just("order"), st.integers(1, 60), st.integers(0, 60)),
        st.tuples(st.just("move"), st.integers(1, 60), st.sampled_from([-5, 0, 20])),
        st.tuples(st.just("flush"), st.just(0), st.just(0)),
        st.tuples(st.just("crash"), st.just(0), st.just(0)),
    ),
    max_size=40,
)


class Model:
    """The queues as lists."""

    def __init__(self) -> None:
        self.waiting: defaultdict[int | None, deque[str]] = defaultdict(deque)

    def copy(self) -> "Model":
        other = Model()
        other.waiting.update({rank: deque(urls) for rank, urls in self.waiting.items()})
        return other

    def ranks(self) -> list[int]:
        return [rank for rank, urls in self.waiting.items() if rank is not None and urls]


@settings(deadline=None)
@given(steps)
def test_each_url_is_served_once_in_rank_order_whatever_crashes(
    done: list[tuple[str, int, int]],
) -> None:
    host, model, number = Host(), Model(), 0
    stored = model.copy()

    def order(count: int, outcomes: int) -> None:
        urls = host.check_out(count)
        rank = (
            None
            if host.row.of(DEFAULT_CRAWL).is_again_next
            else host.row.of(DEFAULT_CRAWL).new.ordered
        )
        if rank is not None and host.row.of(DEFAULT_CRAWL).new.orders:
            assert rank == min(model.ranks()) or host.row.of(DEFAULT_CRAWL).new.explored == rank
        expected = model.waiting[rank]
        assert [url.url for url in urls] == [*expected][: len(urls)]
        assert urls or not host.row.queued
        ended = urls[:outcomes] if outcomes else urls
        for _ in ended:
            expected.popleft()
        host.check_in(ended)

    for what, count, other in done:
        if what in ("append", "again"):
            earlier, rank = (1, None) if what == "again" else (0, other)
            numbers = range(number, number := number + count)
            host.append(*(queued_url(n, other, earlier) for n in numbers))
            model.waiting[rank].extend(queued_url(n).url for n in numbers)
        elif what == "order" and host.row.queued:
            order(count, other)
        elif what == "move" and model.ranks():
            row = host.row.with_crawl(
                DEFAULT_CRAWL, replace(host.row.of(DEFAULT_CRAWL), is_again_next=False)
            )
            from_rank = min(model.ranks())
            urls = host.queues.first(row, count)
            moved = [replace(url, number=with_rank(url.number, other)) for url in urls]
            host.row = host.queues.update_number(host.queues.move(row, moved))
            for url in urls:
                model.waiting[other].append(model.waiting[from_rank].popleft())
                assert model.waiting[other][-1] == url.url
        elif what == "flush":
            host.flush()
            stored = model.copy()
        elif what == "crash":
            host.crash()
            model = stored.copy()
        assert host.row.of(DEFAULT_CRAWL).new.queued == sum(
            len(model.waiting[rank]) for rank in model.ranks()
        )
        assert host.row.of(DEFAULT_CRAWL).again.queued == len(model.waiting[None])
    while host.row.queued:
        order(7, 0)
    assert not any(model.waiting.values())
    host.table.database.close()
