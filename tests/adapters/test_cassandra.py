"""The store on a real Cassandra: creation, wrong settings, reads by operators, undecided writes."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import uuid4

import pytest
from cassandra.cluster import Cluster, Session

from gossamer.errors import BadSettings, GossamerError, Unavailable
from gossamer.events import DEFAULT_CRAWL, OrderId
from gossamer.procedures.tables import TABLES
from gossamer.services.archive.rows import SegmentRow
from gossamer.services.dedup.content import DigestRow
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostRow, Lease, RobotsRow
from gossamer.services.frontier.totals.tally import PartitionTallyRow, TallyRow
from gossamer.settings.servers import CassandraSettings
from gossamer.web.robots import RobotsRules
from gossamer.web.url import HostKey, Site
from tests.servers import free_ports
from tests.support.transcripts import Transcript

from .cassandra_node import Proxy, apply, open_store, settings, start_apply


@pytest.fixture(scope="module")
def driver(cassandra: int) -> Iterator[Session]:
    """Return a session of the plain driver, which `cqlsh` uses."""
    cluster = Cluster(["127.0.0.1"], cassandra, protocol_version=5)
    yield cluster.connect()
    cluster.shutdown()


def fresh() -> str:
    return f"k{uuid4().hex[:20]}"


@pytest.fixture(scope="module")
def keyspace(cassandra: int) -> CassandraSettings:
    """Return the settings of a keyspace with all tables."""
    found = settings(cassandra, fresh())
    code, out, err = apply(found)
    assert (code, err) == (0, ""), err
    assert out.count("created") == len(TABLES) + 1
    return found


def test_second_apply_changes_nothing(keyspace: CassandraSettings) -> None:
    code, out, err = apply(keyspace)
    assert (code, err) == (0, "")
    assert "tables are correct" in out
    assert len(out.splitlines()) == 1


def test_applied_tables_match_their_rows(keyspace: CassandraSettings) -> None:
    with open_store(keyspace) as store:
        for row in TABLES:
            several = isinstance(row.partition_key, tuple)
            assert store.table(row).scan(("nobody", "none") if several else "nobody") == []


@pytest.mark.long
def test_concurrent_applies_succeed(cassandra: int) -> None:
    new = settings(cassandra, fresh())
    racing = [start_apply(new) for _ in range(3)]
    outputs = [process.communicate() for process in racing]
    assert [process.returncode for process in racing] == [0, 0, 0], outputs
    with open_store(new) as store:
        for row in TABLES:
            store.table(row)


def test_missing_column_is_reported_and_added_by_apply(
    keyspace: CassandraSettings, driver: Session, transcript: Transcript
) -> None:
    with open_store(keyspace) as store:
        store.table(HostRow).put(
            HostRow(Site("example.org"), HostKey("http://example.org"), backoff_reason="so")
        )
        store.flush()
    driver.execute(f"ALTER TABLE {keyspace.keyspace}.hosts DROP backoff_reason", timeout=60)
    with (
        open_store(keyspace) as store,
        pytest.raises(GossamerError, match="gossamer store apply") as error,
    ):
        store.table(HostRow)
    transcript.name(keyspace.keyspace, "KEYSPACE")
    transcript.add("opening the table", [str(error.value)])
    code, out, _ = apply(keyspace)
    transcript.add("gossamer store apply", out, status=code)
    with open_store(keyspace) as store:
        found = store.table(HostRow).get("example.org", "http://example.org")
        assert found and found.backoff_reason is None


def test_changed_table_options_are_reported_and_reset_on_request(
    keyspace: CassandraSettings, driver: Session, transcript: Transcript
) -> None:
    table = f"{keyspace.keyspace}.digests"
    driver.execute(
        f"ALTER TABLE {table} WITH compaction = {{'class': 'SizeTieredCompactionStrategy'}} "
        "AND compression = {'class': 'LZ4Compressor', 'chunk_length_in_kb': 16}",
        timeout=60,
    )
    code, out, _ = apply(keyspace)
    transcript.add("gossamer store apply", out, status=code)
    found = _options(keyspace, driver, "digests")
    assert found.compaction["class"].endswith("SizeTieredCompactionStrategy")
    assert found.compression["chunk_length_in_kb"] == "16"
    code, out, _ = apply(keyspace, "--reset-options")
    transcript.add("gossamer store apply --reset-options", out, status=code)
    found = _options(keyspace, driver, "digests")
    assert found.compaction["class"].endswith("UnifiedCompactionStrategy")
    assert found.compression["chunk_length_in_kb"] == "4"


def test_apply_always_restores_the_lifetime_of_rows(
    keyspace: CassandraSettings, driver: Session
) -> None:
    for table in ("urls", "page_history"):
        driver.execute(
            f"ALTER TABLE {keyspace.keyspace}.{table} WITH default_time_to_live = 60", timeout=60
        )
    code, out, _ = apply(keyspace)
    assert code == 0
    assert sorted(out.splitlines()) == [
        f"table {table}: default_time_to_live altered" for table in ("page_history", "urls")
    ]
    assert _options(keyspace, driver, "urls").default_time_to_live == 0
    assert _options(keyspace, driver, "page_history").default_time_to_live == 365 * 86400


def test_settings_set_the_lifetime_of_rows(
    keyspace: CassandraSettings, driver: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOSSAMER_ARCHIVE__CAPTURES_AGE", "864000")
    altered = [f"table {name}: default_time_to_live altered\n" for name in ("captures", "payloads")]
    assert apply(keyspace)[:2] == (0, "".join(altered))
    assert _options(keyspace, driver, "captures").default_time_to_live == 864000
    monkeypatch.undo()
    assert apply(keyspace)[:2] == (0, "".join(altered))
    assert _options(keyspace, driver, "captures").default_time_to_live == 0


def _options(settings: CassandraSettings, driver: Session, table: str) -> Any:
    return driver.execute(
        "SELECT * FROM system_schema.tables "
        f"WHERE keyspace_name = '{settings.keyspace}' AND table_name = '{table}'"
    ).one()


def test_table_with_another_key_is_refused_and_unchanged(
    cassandra: int, driver: Session, transcript: Transcript
) -> None:
    other_row = settings(cassandra, fresh())
    driver.execute(
        f"CREATE KEYSPACE {other_row.keyspace} WITH replication = "
        "{'class': 'NetworkTopologyStrategy', 'datacenter1': 1}"
    )
    for table in (
        "digests (digest text PRIMARY KEY, url bigint)",
        "hosts (site text, host text, PRIMARY KEY (host, site))",
        "page_history (url text, at double, PRIMARY KEY (url, at))",
        "urls (host text, url text, PRIMARY KEY (host, url))",
    ):
        driver.execute(f"CREATE TABLE {other_row.keyspace}.{table}", timeout=60)
    code, out, err = apply(other_row)
    transcript.name(other_row.keyspace, "KEYSPACE")
    transcript.add("gossamer store apply", out, err, code)
    with (
        open_store(other_row) as store,
        pytest.raises(GossamerError, match="digests: url is bigint"),
    ):
        store.table(DigestRow)


def test_columns_have_types_for_operators(keyspace: CassandraSettings, driver: Session) -> None:
    rules = RobotsRules(crawl_delay=2.5)
    with open_store(keyspace) as store:
        store.table(HostRow).put(
            HostRow(
                Site("s.example"),
                HostKey("http://s.example"),
                Condition.CHECKED_OUT,
                1.5,
                lease=Lease(OrderId("o")),
            )
        )
        store.table(TallyRow).put(
            TallyRow(
                DEFAULT_CRAWL,
                "3",
                outcomes={"page": 7},
                latest=(("u", "page"),),
            )
        )
        store.table(PartitionTallyRow).put(PartitionTallyRow("3", slowest={"h": 0.5}))
        store.table(RobotsRow).put(RobotsRow(HostKey("http://s.example"), rules))
        store.table(SegmentRow).put(SegmentRow(writer="w", full=("a", "b")))
        store.flush()

    def only(query: str) -> Any:
        return driver.execute(query.format(k=keyspace.keyspace)).one()

    assert tuple(only("SELECT condition, ready_at, lease_order FROM {k}.hosts "
                      "WHERE site = 's.example' AND ready_at > 1 ALLOW FILTERING")) == (
        "checked out", 1.5, "o")  # fmt: skip
    assert only("SELECT outcomes['page'] FROM {k}.tallies")[0] == 7
    assert only("SELECT latest FROM {k}.tallies").latest == '[["u","page"]]'
    assert dict(only("SELECT slowest FROM {k}.partition_tallies").slowest) == {"h": 0.5}
    assert '"crawl_delay":2.5' in only("SELECT rules FROM {k}.robots").rules
    assert list(only('SELECT "full" FROM {k}.archive_segments')[0]) == ["a", "b"]


def test_writes_contain_no_nulls_and_no_tombstones(
    keyspace: CassandraSettings, driver: Session
) -> None:
    with open_store(keyspace) as store:
        for text in ("one", "two"):
            store.table(TallyRow).put(TallyRow(DEFAULT_CRAWL, "9", outcomes={text: 1}))
            store.flush()
    row = driver.execute(
        f"SELECT * FROM {keyspace.keyspace}.tallies WHERE crawl = 'default' AND partition = '9'"
    ).one()
    assert None not in row
    assert dict(row.outcomes) == {"two": 1}


# The problem is reported.


def assert_refused(given: CassandraSettings, kind: type[Exception], *words: str) -> None:
    with pytest.raises(kind) as error, open_store(given) as store:
        store.table(HostRow)
    assert type(error.value) is kind, error.value
    for word in words:
        assert word in str(error.value)


def test_unknown_keyspace_is_reported(cassandra: int) -> None:
    missing = settings(cassandra, "no_such_keyspace")
    assert_refused(missing, GossamerError, "no keyspace no_such_keyspace", "gossamer store apply")


def test_missing_tables_are_reported(cassandra: int, driver: Session) -> None:
    empty = fresh()
    driver.execute(f"CREATE KEYSPACE {empty} WITH replication = "
                   "{'class': 'SimpleStrategy', 'replication_factor': 1}")  # fmt: skip
    assert_refused(
        settings(cassandra, empty),
        GossamerError,
        "table hosts is missing",
        empty,
        "gossamer store apply",
    )


def test_unknown_data_centre_is_reported_with_the_known_ones(cassandra: int) -> None:
    elsewhere = settings(cassandra, "any", datacenter="mars")
    assert_refused(elsewhere, GossamerError, "'mars'", "datacenter1", "cassandra.datacenter")


@pytest.mark.parametrize("consistency", ["ONE", "LOCAL_ONE"])
def test_consistency_one_is_refused_with_several_copies(
    cassandra: int, driver: Session, consistency: str
) -> None:
    copied = settings(cassandra, fresh(), consistency=consistency)
    driver.execute(
        f"CREATE KEYSPACE {copied.keyspace} WITH replication = "
        "{'class': 'NetworkTopologyStrategy', 'datacenter1': 3}"
    )
    assert_refused(copied, BadSettings, consistency, "3 replicas", "LOCAL_QUORUM")
    code, out, err = apply(copied)
    assert (code, out) == (2, "") and "3 replicas" in err


def test_consistency_one_is_accepted_with_one_copy(keyspace: CassandraSettings) -> None:
    with open_store(keyspace.model_copy(update={"consistency": "ONE"})) as store:
        assert store.table(HostRow).get("nobody", "nobody") is None


def test_missing_node_is_awaited() -> None:
    port = free_ports(1)
    assert_refused(settings(port, "any"), Unavailable, str(port))
    assert_refused(
        settings(port, "any", hosts=["no-such-host.invalid"]), Unavailable, "no-such-host.invalid"
    )


def test_connection_that_breaks_during_setup_is_repeated(keyspace: CassandraSettings) -> None:
    with (
        closing(Proxy(keyspace.port, garbled=1)) as between,
        open_store(keyspace.model_copy(update={"port": between.port})) as store,
    ):
        assert store.table(HostRow).get("nobody", "nobody") is None


@pytest.mark.slow
def test_command_fails_with_a_message_if_the_node_is_missing() -> None:
    code, out, err = apply(settings(free_ports(1), "any"))
    assert (code, out) == (1, "")
    assert "127.0.0.1" in err
    assert len(err.splitlines()) == 1


# The decided writer is not known.


@pytest.mark.parametrize(
    "other_was_first", [False, True], ids=["own write first", "other write first"]
)
def test_lost_response_to_put_if_absent_is_resolved(
    keyspace: CassandraSettings, other_was_first: bool
) -> None:
    key = uuid4().hex
    other_row, row = (
        DigestRow(DEFAULT_CRAWL, key, "https://theirs.example/"),
        DigestRow(DEFAULT_CRAWL, key, "https://ours.example"),
    )
    with closing(Proxy(keyspace.port)) as between:
        patient = keyspace.model_copy(update={"port": between.port, "timeout": 5.0})
        with open_store(keyspace) as other, open_store(patient) as store:
            store.table(DigestRow).put_if_absent(DigestRow(DEFAULT_CRAWL, f"{key} warm", ""))
            if other_was_first:
                assert other.table(DigestRow).put_if_absent(other_row) == other_row
            between.hold()
            between.release_after(2)
            standing = store.table(DigestRow).put_if_absent(row)
            assert standing == (other_row if other_was_first else row)
            assert other.table(DigestRow).get((DEFAULT_CRAWL, key)) == standing
