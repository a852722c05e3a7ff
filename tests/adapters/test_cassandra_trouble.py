"""The store on a Cassandra of its own: a node that is killed during writes, and a node with
authentication."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

import pytest
import trustme

from gossamer import clock
from gossamer.clock import pause
from gossamer.errors import GossamerError, Unavailable
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.plans import DueRow
from gossamer.settings.servers import CassandraSettings
from gossamer.store.cassandra.session import Cassandra
from gossamer.store.cassandra.store import CassandraStore
from gossamer.store.claims import Claimant
from gossamer.web.url import HostKey, Site
from tests.servers import Server

from .cassandra_node import apply, open_store, settings
from .kafka_broker import write_key

HANG_TIMEOUT = 180.0


def until_done(what: Callable[[], object], *errors: type[Exception]) -> None:
    """Retry while *errors* are raised: a server is starting."""
    end = monotonic() + HANG_TIMEOUT
    while True:
        try:
            what()
            return
        except errors:
            assert monotonic() < end
        pause(0.2)


def entry(number: int) -> DueRow:
    return DueRow(
        f"b{number % 50}", f"{number:09d}", float(number), Site("example.org"), HostKey("x" * 200)
    )


def flushed_until_it_dies(store: CassandraStore, server: Server, start: int) -> int:
    """Put and flush until somebody kills the server; return the number of acknowledged rows."""
    written, due = start, store.table(DueRow)
    for step in range(10_000):
        if step == 20:
            # The kill comes during one of the next flushes, at a random point.
            threading.Thread(target=server.kill).start()
        for number in range(written, written + 500):
            due.put(entry(number))
        try:
            store.flush()
        except Unavailable:
            return written
        written += 500
    raise AssertionError("it was never killed")


def read_numbers(store: CassandraStore) -> set[int]:
    due = store.table(DueRow)
    rows = [row for bucket in range(50) for row in due.scan(f"b{bucket}", limit=100_000)]
    assert all(row == entry(int(row.key)) for row in rows)
    return {int(row.key) for row in rows}


@pytest.mark.long
@pytest.mark.parametrize("lives", [1, 2])
def test_flushed_rows_survive_a_kill_of_the_node(tmp_path: Path, lives: int) -> None:
    server = Server("cassandra", tmp_path / "node")
    server.start()
    config = settings(server.port, "killed", timeout=10.0)
    try:
        until_done(lambda: create_tables(config), AssertionError)
        with open_store(config) as store:
            written = 0
            for life in range(lives):
                written = flushed_until_it_dies(store, server, written)
                assert written >= 20 * 500 * (life + 1)
                server.start()
                with closing(open_when_ready(config)) as other:
                    assert read_numbers(other) >= {*range(written)}, "acknowledged, and gone"
                # The store still has the rows without acknowledgement, and reconnects to the node.
                until_done(store.flush, Unavailable)
                written += 500
                assert read_numbers(store) == {*range(written)}
    finally:
        server.kill()


def create_tables(config: CassandraSettings) -> None:
    code, _, err = apply(config)
    assert code == 0, err


def open_when_ready(config: CassandraSettings) -> CassandraStore:
    found: list[CassandraStore] = []
    until_done(lambda: found.append(CassandraStore(config)), Unavailable)
    return found[0]


# A node that requires a password and a certificate.


class GuardedNode:
    """The node, its authority, and its users."""

    def __init__(self, folder: Path) -> None:
        self.authority, self.folder = trustme.CA(), folder
        self.server = Server("cassandra", folder / "node")
        self.server.data.mkdir()
        self.ca_file, self.cert_file = folder / "ca.pem", folder / "client.pem"
        self.authority.cert_pem.write_to_path(str(self.ca_file))
        self.authority.issue_cert("client").private_key_and_cert_chain_pem.write_to_path(
            str(self.cert_file)
        )
        node = write_key(self.authority.issue_cert("node.example"), folder / "node.pem")
        (self.server.data / "extra.yaml").write_text(f"""
commitlog_sync: periodic
commitlog_sync_period: 10000ms
authenticator: PasswordAuthenticator
authorizer: CassandraAuthorizer
client_encryption_options:
  enabled: true
  require_client_auth: true
  ssl_context_factory:
    class_name: org.apache.cassandra.security.PEMBasedSslContextFactory
  keystore: {node}
  truststore: {self.ca_file}
""")

    def settings(self, username: str, password: str, **others: object) -> CassandraSettings:
        """Return the settings of a client."""
        access = {"username": username, "password": password, "timeout": 20.0, "tls": True}
        access |= {"ca_file": self.ca_file, "cert_file": self.cert_file, "key_file": self.cert_file}
        return settings(self.server.port, "guarded", **{**access, **others})


@pytest.fixture(scope="module")
def guarded_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedNode]:
    """Return a guarded node with all tables, and a crawler with the right to use them."""
    node = GuardedNode(tmp_path_factory.mktemp("guarded"))
    node.server.start()
    try:
        until_done(lambda: create_tables(node.settings("cassandra", "cassandra")), AssertionError)
        yield node
    finally:
        node.server.kill()


def refusal_of(config: CassandraSettings) -> str:
    with pytest.raises(GossamerError) as error, open_store(config):
        pass
    assert not isinstance(error.value, Unavailable), error.value
    return str(error.value)


@pytest.mark.long
def test_guarded_node_accepts_password_and_certificate(guarded_node: GuardedNode) -> None:
    with open_store(guarded_node.settings("cassandra", "cassandra")) as store:
        store.table(HostRow).put(HostRow(Site("example.org"), HostKey("https://example.org")))
        store.flush()
        assert store.table(HostRow).get("example.org", "https://example.org")


@pytest.mark.long
def test_delete_in_cqlsh_holds_and_hides_no_later_write_of_an_owner(
    guarded_node: GuardedNode,
) -> None:
    config = guarded_node.settings("cassandra", "cassandra")
    with open_store(config) as store, closing(Cassandra(config)) as nodes:
        hosts, host = (
            store.table(HostRow),
            HostRow(Site("deleted.example"), HostKey("http://deleted.example")),
        )
        Claimant(store).claim([0], clock.now())
        hosts.put(host)
        store.flush()
        # Like cqlsh: the timestamp is the clock's.
        now = int(clock.now() * 1e6)
        nodes.change(
            f"DELETE FROM guarded.hosts USING TIMESTAMP {now} WHERE site = 'deleted.example'"
        )
        assert hosts.get(host.site, host.host) is None
        hosts.put(host)
        store.flush()
        assert hosts.get(host.site, host.host) == host


@pytest.mark.long
def test_periodic_commit_log_is_warned_of(guarded_node: GuardedNode) -> None:
    code, _, err = apply(guarded_node.settings("cassandra", "cassandra"))
    assert code == 0
    assert "warning" in err and "guarded" in err
    assert "commitlog_sync: batch" in err


@pytest.mark.slow
def test_guarded_node_refuses_other_clients(guarded_node: GuardedNode, tmp_path: Path) -> None:
    assert "'cassandra'" in refusal_of(guarded_node.settings("cassandra", "wrong"))
    assert "cassandra.username" in refusal_of(guarded_node.settings("", ""))
    strange = tmp_path / "strange.pem"
    trustme.CA().cert_pem.write_to_path(str(strange))
    unknown = refusal_of(guarded_node.settings("cassandra", "cassandra", ca_file=strange))
    assert "TLS failed" in unknown and "ca_file" in unknown
    with pytest.raises(GossamerError), open_store(
        guarded_node.settings("cassandra", "cassandra", tls=False, ca_file=None,
                         cert_file=None, key_file=None)
    ):  # fmt: skip
        pass


@pytest.mark.long
def test_missing_right_to_write_is_reported(guarded_node: GuardedNode) -> None:
    with closing(Cassandra(guarded_node.settings("cassandra", "cassandra"))) as nodes:
        nodes.change("CREATE ROLE reader WITH PASSWORD = 'r' AND LOGIN = true")
        nodes.change("GRANT SELECT ON KEYSPACE guarded TO reader")
    with open_store(guarded_node.settings("reader", "r")) as store:
        assert store.table(HostRow).get("nobody", "") is None
        store.table(HostRow).put(HostRow(Site("example.org"), HostKey("https://example.org")))
        with pytest.raises(GossamerError, match="'reader' lacks a permission"):
            store.flush()
