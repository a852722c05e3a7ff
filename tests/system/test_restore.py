"""A Cassandra that is put back to a backup: refused, brought up to date by one command, and no URL
is lost; measured at the web server."""

from pathlib import Path

import pytest
from cassandra.cluster import Cluster

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World, measure

from .by_hand import of_servers
from .fleet import Fleet, assert_whole, crawl_to_the_end, fleet
from .judge import page_answers

WORLD = World(seed=17, hosts=40, pages=6, silent=0, stuck=0, jitter=0.02)
BATCH, DELAY = 3, 0.3
KEYSPACE = "GOSSAMER_CASSANDRA__KEYSPACE"


def back_up(there: Fleet, port: int, keyspace: str) -> None:
    """Copy all tables of the fleet into a new *keyspace*; its services were stopped."""
    before, there.settings[KEYSPACE] = there.settings[KEYSPACE], keyspace
    done = there.gossamer("store", "apply")
    assert done.code == 0, done
    there.settings[KEYSPACE] = before
    with Cluster(["127.0.0.1"], port=port) as cluster, cluster.connect() as session:
        for (table,) in session.execute(
            f"SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{before}'"
        ):
            into = session.prepare(f'INSERT INTO {keyspace}."{table}" JSON ?')
            for (row,) in session.execute(f'SELECT JSON * FROM {before}."{table}"'):
                session.execute(into, (row,))


def stop(there: Fleet) -> None:
    for member in there.members:
        assert member.stop() == 0, member.said()


def start(there: Fleet) -> None:
    for member in there.members:
        member.start()


@pytest.mark.slow
def test_a_backup_of_cassandra_loses_no_url_and_is_impolite_to_nobody(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = {
        **of_servers(kafka, cassandra),
        "GOSSAMER_FRONTIER__DELAY": str(DELAY),
        "GOSSAMER_FRONTIER__BATCH": str(BATCH),
        # What was ordered before, and is not known of any more, is over soon.
        "GOSSAMER_FRONTIER__LEASE_SLACK": "2",
        "GOSSAMER_FETCHER__VISIT_LIMIT": "4",
    }
    backup = settings[KEYSPACE] + "_backup"
    with SynthWeb(WORLD) as web, fleet(web, tmp_path, 1, **settings) as there:
        there.seed()
        until(lambda: len(page_answers(web)) >= 20, "the first pages")
        stop(there)
        back_up(there, cassandra, backup)
        start(there)
        before = len(web.requests())
        until(lambda: len(page_answers(web)) >= 80, "pages that the backup does not know")
        stop(there)
        since = len(web.requests()) - before
        assert not web.truth.required <= measure.asked(web.requests()), "it is over already"

        there.settings[KEYSPACE] = backup
        (frontier,) = there.of("frontier")
        frontier.start()
        until(lambda: not frontier.running, "the frontier refuses the backup")
        assert "the store is older than the log" in frontier.said()
        assert "gossamer restore --align" in frontier.said()

        # For a session Kafka takes those that were stopped for members.
        until(lambda: there.gossamer("restore", "--align").code == 0, "the groups have gone back")
        again = there.gossamer("restore", "--align")
        assert again.out.count("log and store are in step") == 3, "a second time, nothing is left"
        start(there)
        there.await_ready()
        crawl_to_the_end(there)
        repeated = assert_whole(there, DELAY)
        print(f"{since} requests since the backup, {repeated} repeated")
        assert repeated <= since + BATCH * WORLD.hosts, "no more than the backup does not know"
