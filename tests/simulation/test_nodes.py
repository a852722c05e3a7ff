"""The store on simulated nodes that are away, and dedup's content test on nodes with wrong
clocks."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

import pytest

from gossamer.errors import Unavailable
from gossamer.events import (
    DEFAULT_CRAWL,
    CrawlDefined,
    Discovery,
    HostCheckedOut,
    PageParsed,
    UrlsAdmitted,
    Visit,
)
from gossamer.services.dedup.content import Content, ContentVerdict, DigestRow
from gossamer.services.dedup.documents import Version
from gossamer.services.dedup.host_names import HostNames
from gossamer.services.dedup.rows import DocumentRow
from gossamer.services.dedup.scores import PageScore
from gossamer.services.frontier.service import Frontier
from gossamer.settings import DedupSettings, FrontierSettings
from gossamer.settings.servers import CassandraSettings
from gossamer.store.cassandra.cql import SELECT_REPLICATION
from gossamer.store.cassandra.store import CassandraStore
from gossamer.web.url import HostKey, Site
from tests.simulation.kernel import Process, Sim
from tests.simulation.nodes import COPIES, Nodes, SimCassandra

A, B, C = (f"http://a.test/{name}" for name in "abc")
SKEWS = [-30.0, 0.0, 30.0]


def page(url: str, at: float, canonical: str = "") -> PageParsed:
    visit = Visit(id=f"1.1.0@{url}", url=url)
    return PageParsed(
        at=at, site=Site("a.test"),
        host=HostKey("http://a.test"), visit=visit, status=200, title="T",
        fetched_at=at, digest="text", links=(), canonical=canonical,
    )  # fmt: skip


def decide(content: Content, page: PageParsed) -> ContentVerdict:
    """Return the verdict on *page*, which is handled when it is fetched."""
    at = page.fetched_at
    version = Version(None, DocumentRow(page.crawl, page.visit.url, at))
    return content.decide(page, version, False, None, lambda verdict: PageScore(0.0), at)


@contextmanager
def on_nodes(nodes: Nodes) -> Iterator[None]:
    """Replace Cassandra by *nodes*, and our clock by the clock of their simulation."""

    def session(settings: CassandraSettings) -> SimCassandra:
        opened = SimCassandra(nodes, settings.keyspace, settings)
        copies = {"class": "Simple", settings.datacenter: "3"}
        opened.answers[SELECT_REPLICATION] = [(copies,)]
        return opened

    stand_ins: dict[str, object] = {
        "gossamer.clock.now": nodes.sim.clock,
        "gossamer.clock.pause": nodes.sim.wait,
        "gossamer.clock.steady": lambda: nodes.sim.now,
        "gossamer.store.cassandra.store.Cassandra": session,
        "gossamer.store.cassandra.store.read_tables": lambda *_: {},
        "gossamer.store.cassandra.store.table_problems": lambda *_: [],
    }
    with ExitStack() as stack:
        for target, stand_in in stand_ins.items():
            stack.enter_context(mock.patch(target, stand_in))
        yield


def run(nodes: Nodes, body: Callable[[CassandraStore], None]) -> None:
    """Run *body* in one process with a store of its own, to its end."""
    ended = []

    def main() -> None:
        body(CassandraStore(CassandraSettings(hosts=("simulated",))))
        ended.append(True)

    with on_nodes(nodes):
        Process(nodes.sim, "dedup-1").spawn(main)
        nodes.sim.run(nodes.sim.now + 3600.0)
    assert ended


DOCUMENTS = [DocumentRow(DEFAULT_CRAWL, url, 1.0, "text") for url in (A, B)]
REQUESTS: dict[str, Callable[[CassandraStore], object]] = {
    "get": lambda store: store.table(DocumentRow).get((DEFAULT_CRAWL, A)),
    "scan": lambda store: store.table(DocumentRow).scan((DEFAULT_CRAWL, A)),
    "read ahead": lambda store: store.table(DocumentRow).read_ahead([((DEFAULT_CRAWL, A), "")]),
    "first": lambda store: store.table(DigestRow).put_if_absent(DigestRow(DEFAULT_CRAWL, "d", A)),
    "write": lambda store: store.write(DOCUMENTS, 1),
    "flush": lambda store: store.flush(),
}


def take_nodes_away(nodes: Nodes, seconds: float) -> None:
    """Take all nodes away from now on, for *seconds*."""
    for node in range(COPIES):
        nodes.away.add(node)
        nodes.sim.later(seconds, nodes.back, node)


@pytest.mark.parametrize("request_of", REQUESTS.values(), ids=REQUESTS)
def test_requests_are_retried_if_the_store_is_away_for_a_second(
    request_of: Callable[[CassandraStore], object],
) -> None:
    nodes = Nodes(Sim(3))

    def body(store: CassandraStore) -> None:
        for row in DOCUMENTS:
            store.table(DocumentRow).put(row)
        take_nodes_away(nodes, 1.0)
        request_of(store)
        store.flush()
        assert store.table(DocumentRow).get((DEFAULT_CRAWL, A)) == DOCUMENTS[0]

    run(nodes, body)


@pytest.mark.parametrize("request_of", REQUESTS.values(), ids=REQUESTS)
def test_store_that_stays_away_is_unavailable_before_the_liveness_limit(
    request_of: Callable[[CassandraStore], object],
) -> None:
    nodes = Nodes(Sim(4))

    def body(store: CassandraStore) -> None:
        store.table(DocumentRow).put(DOCUMENTS[1])
        take_nodes_away(nodes, 60.0)
        started_at = nodes.sim.now
        for _ in range(5):  # The wait of a step is limited, not only that of each request.
            with pytest.raises(Unavailable):
                request_of(store)
        assert nodes.sim.now - started_at < 10.0

    run(nodes, body)


def open_content(store: CassandraStore) -> Content:
    settings = DedupSettings()
    return Content(settings, store, HostNames(store, settings))


@pytest.mark.parametrize("undecided", [0.0, 0.5])
@pytest.mark.parametrize("ahead", SKEWS)
def test_new_leader_replaces_the_former_one_for_any_clocks_of_the_nodes(
    ahead: float, undecided: float
) -> None:
    nodes = Nodes(Sim(1))
    nodes.ahead, nodes.undecided = ahead, undecided

    def body(store: CassandraStore) -> None:
        content = open_content(store)

        def leader(url: str, canonical: str = "") -> str:
            found = decide(content, page(url, nodes.sim.now, canonical))
            store.flush()
            return found.original

        assert leader(A, canonical=B) == ""
        assert leader(C) == A
        assert leader(B) == "", "its leader names it as the canonical URL"
        assert leader(A, canonical=B) == leader(C) == B

    run(nodes, body)


@pytest.mark.parametrize("ahead", SKEWS)
def test_leader_that_is_gone_is_replaced_by_one_url(ahead: float) -> None:
    nodes = Nodes(Sim(2))
    nodes.ahead = ahead

    def body(store: CassandraStore) -> None:
        content, documents = open_content(store), store.table(DocumentRow)
        started_at = nodes.sim.now
        decide(content, page(A, started_at))
        documents.put(DocumentRow(DEFAULT_CRAWL, A, started_at + 1.0, "another text"))
        store.flush()
        for url, of in ((B, ""), (C, B)):
            assert decide(content, page(url, started_at + 2.0)).original == of
            store.flush()
        row = store.table(DigestRow).get((DEFAULT_CRAWL, "text"))
        assert row and row.url == B

    run(nodes, body)


def count_requests_of_takeover(partitions: int) -> int:
    """Return how many requests a frontier makes when it takes over all of *partitions*, each of
    which has hosts that wait and hosts that back off."""
    nodes, counts = Nodes(Sim(1)), list[int]()
    numbers = frozenset(range(partitions))

    def frontier(store: CassandraStore) -> Frontier:
        made = Frontier(FrontierSettings(), store, 60.0, partitions, alone=False)
        made.assign(numbers, nodes.sim.clock())
        return made

    def body(store: CassandraStore) -> None:
        before, now = frontier(store), nodes.sim.clock()
        before.finish_catching_up(numbers, now)
        list(before.handle(CrawlDefined(at=now, scope="any()", max_depth=9), now))
        for number in range(8 * partitions):
            site = f"site{number}.test"
            urls = (Discovery(f"http://{site}/", 0, priority=number % 2),)
            list(before.handle(UrlsAdmitted(at=now, site=Site(site), via="seed", urls=urls), now))
        for order in before.wake(now):
            assert isinstance(order, HostCheckedOut)
        before.settle()
        store.flush()
        with mock.patch.object(nodes, "answer", side_effect=nodes.answer) as answer:
            frontier(store)
        counts.append(answer.call_count)

    run(nodes, body)
    return counts[0]


def test_requests_of_a_takeover_do_not_grow_with_the_number_of_partitions() -> None:
    few, many = count_requests_of_takeover(2), count_requests_of_takeover(12)
    # Two writes claim each partition, and one request reads a limited number of buckets.
    assert many - few < 3 * 10
