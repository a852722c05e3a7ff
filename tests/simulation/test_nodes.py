"""The store on simulated nodes that are away, and dedup's content test on nodes whose clocks are
not those of the processes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

import pytest

from gossamer.errors import Unavailable
from gossamer.events import DEFAULT_CRAWL, PageParsed, Visit
from gossamer.settings import DedupSettings
from gossamer.settings.servers import CassandraSettings
from gossamer.store.cassandra.cql import SELECT_REPLICATION
from gossamer.store.cassandra.store import CassandraStore
from services.dedup.content import Content, DigestRow
from services.dedup.rows import DocumentRow
from tests.simulation.kernel import Process, Sim
from tests.simulation.nodes import COPIES, Nodes, SimCassandra

A, B, C = (f"http://a.test/{name}" for name in "abc")
SKEWS = [-30.0, 0.0, 30.0]


def page(url: str, at: float, canonical: str = "") -> PageParsed:
    visit = Visit(id=f"1.1.0@{url}", url=url)
    return PageParsed(
        at=at, site="a.test", host="http://a.test", visit=visit, status=200, title="T",
        fetched_at=at, digest="text", links=(), canonical=canonical,
    )  # fmt: skip


@contextmanager
def on_nodes(nodes: Nodes) -> Iterator[None]:
    """Put *nodes* in the place of Cassandra, and their simulation's clock in that of ours."""

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
    """Let one process do *body* on a store of its own, to its end."""
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


def away(nodes: Nodes, seconds: float) -> None:
    """Let all nodes be away from now on."""
    for node in range(COPIES):
        nodes.away.add(node)
        nodes.sim.later(seconds, nodes.back, node)


@pytest.mark.parametrize("request_of", REQUESTS.values(), ids=REQUESTS)
def test_store_that_is_away_for_a_second_is_asked_again(
    request_of: Callable[[CassandraStore], object],
) -> None:
    nodes = Nodes(Sim(3))

    def body(store: CassandraStore) -> None:
        for row in DOCUMENTS:
            store.table(DocumentRow).put(row)
        away(nodes, 1.0)
        request_of(store)
        store.flush()
        assert store.table(DocumentRow).get((DEFAULT_CRAWL, A)) == DOCUMENTS[0]

    run(nodes, body)


@pytest.mark.parametrize("request_of", REQUESTS.values(), ids=REQUESTS)
def test_store_that_stays_away_is_unavailable_before_the_loop_looks_dead(
    request_of: Callable[[CassandraStore], object],
) -> None:
    nodes = Nodes(Sim(4))

    def body(store: CassandraStore) -> None:
        store.table(DocumentRow).put(DOCUMENTS[1])
        away(nodes, 60.0)
        began = nodes.sim.now
        for _ in range(5):  # What a step waits for is bounded, not each request.
            with pytest.raises(Unavailable):
                request_of(store)
        assert nodes.sim.now - began < 10.0

    run(nodes, body)


@pytest.mark.parametrize("undecided", [0.0, 0.5])
@pytest.mark.parametrize("ahead", SKEWS)
def test_who_takes_a_leaders_place_has_it_whatever_the_nodes_take_for_the_time(
    ahead: float, undecided: float
) -> None:
    nodes = Nodes(Sim(1))
    nodes.ahead, nodes.undecided = ahead, undecided

    def body(store: CassandraStore) -> None:
        content = Content(DedupSettings(), store)

        def leader(url: str, canonical: str = "") -> str:
            found = content.decide(page(url, nodes.sim.now, canonical), None, None, nodes.sim.now)
            store.flush()
            return found.original

        assert leader(A, canonical=B) == ""
        assert leader(C) == A
        assert leader(B) == "", "its leader names it as the canonical one"
        assert leader(A, canonical=B) == leader(C) == B

    run(nodes, body)


@pytest.mark.parametrize("ahead", SKEWS)
def test_a_leader_that_is_gone_is_replaced_by_one_and_no_other(ahead: float) -> None:
    nodes = Nodes(Sim(2))
    nodes.ahead = ahead

    def body(store: CassandraStore) -> None:
        content, documents = Content(DedupSettings(), store), store.table(DocumentRow)
        began = nodes.sim.now
        content.decide(page(A, began), None, None, began)
        documents.put(DocumentRow(DEFAULT_CRAWL, A, began + 1.0, "another text"))
        store.flush()
        for url, of in ((B, ""), (C, B)):
            assert content.decide(page(url, began + 2.0), None, None, began + 2.0).original == of
            store.flush()
        row = store.table(DigestRow).get((DEFAULT_CRAWL, "text"))
        assert row and row.url == B

    run(nodes, body)
