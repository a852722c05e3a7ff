"""Parts of a fleet that are lost or restored from a backup: lost and repeated URLs, measured at the
web server."""

import shutil
import sys
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from tests.support.commands import run_command
from tests.support.waiting import until
from tests.synthweb import SynthWeb, World, measure

from .assertions import assert_polite, page_answers
from .by_hand import of_servers
from .fleet import Fleet, assert_whole, crawl_to_the_end, fleet, of_short_leases

WORLD = World(seed=17, hosts=40, pages=6, silent=0, stuck=0, jitter=0.02)
BATCH, DELAY = 3, 0.3
KEYSPACE, PREFIX = "GOSSAMER_CASSANDRA__KEYSPACE", "GOSSAMER_KAFKA__PREFIX"
COPY = """
import sys
from cassandra.cluster import Cluster

port, before, after = int(sys.argv[1]), sys.argv[2], sys.argv[3]
with Cluster(["127.0.0.1"], port=port) as cluster, cluster.connect() as session:
    for (table,) in session.execute(
        f"SELECT table_name FROM system_schema.tables WHERE keyspace_name = '{before}'"
    ):
        into = session.prepare(f'INSERT INTO {after}."{table}" JSON ?')
        for (row,) in session.execute(f'SELECT JSON * FROM {before}."{table}"'):
            session.execute(into, (row,))
"""
"""Copies the tables of a keyspace to another one, one after the other, as nodetool does."""


def settings_of(kafka: str, cassandra: int) -> dict[str, str]:
    # Earlier orders, which the restored store does not know, expire soon.
    return {**of_servers(kafka, cassandra), **of_short_leases(DELAY, BATCH)}


def copy_command(live_fleet: Fleet, port: int, keyspace: str) -> list[str]:
    """Create the tables of the fleet in *keyspace*; return the command that copies their rows."""
    before, live_fleet.settings[KEYSPACE] = live_fleet.settings[KEYSPACE], keyspace
    done = live_fleet.gossamer("store", "apply")
    assert done.code == 0, done
    live_fleet.settings[KEYSPACE] = before
    return [sys.executable, "-c", COPY, str(port), before, keyspace]


def empty(kafka: str, prefix: str) -> None:
    """Delete all topics and groups of the fleet, like a broker that restarts empty."""
    admin = AdminClient({"bootstrap.servers": kafka})
    topics = [name for name in admin.list_topics(timeout=30).topics if name.startswith(prefix)]
    for done in admin.delete_topics(topics, operation_timeout=30).values():
        done.result()

    def delete() -> bool:
        listed = admin.list_consumer_groups(request_timeout=30).result().valid
        groups = [one.group_id for one in listed if one.group_id.startswith(prefix)]
        if groups:
            # Stopped processes count as members for a session.
            [done.exception() for done in admin.delete_consumer_groups(groups).values()]
        return not groups

    until(delete, "the groups are deleted")


@pytest.mark.long
def test_restored_backup_of_cassandra_loses_no_url_and_keeps_delays(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = settings_of(kafka, cassandra)
    backup = settings[KEYSPACE] + "_backup"
    with SynthWeb(WORLD) as web, fleet(web, tmp_path, 1, **settings) as live_fleet:
        live_fleet.seed()
        live_fleet.await_pages(20)
        live_fleet.stop()
        copied = run_command(copy_command(live_fleet, cassandra, backup))
        assert copied.code == 0, copied
        live_fleet.start()
        before = len(web.requests())
        live_fleet.await_pages(60, "pages that the backup does not know")
        live_fleet.stop()
        since = len(web.requests()) - before

        live_fleet.settings[KEYSPACE] = backup
        (frontier,) = live_fleet.of("frontier")
        frontier.start()
        until(lambda: not frontier.running, "the frontier refuses the backup")
        assert "older" in frontier.output()
        assert "gossamer restore --align" in frontier.output()

        live_fleet.change_when_stopped("restore", "--align")
        again = live_fleet.gossamer("restore", "--align")
        assert again.out.count("agree") == 3, "a second time, nothing is left"
        live_fleet.start()
        live_fleet.await_ready()
        crawl_to_the_end(live_fleet)
        repeated = assert_whole(live_fleet, DELAY)
        print(f"{since} requests since the backup, {repeated} repeated")
        assert repeated <= BATCH * WORLD.hosts, "no more than was in flight"


@pytest.mark.long
@pytest.mark.parametrize("from_seeds", [False, True], ids=["restored", "from the seeds"])
def test_kafka_without_its_disk_loses_no_url(
    tmp_path: Path, kafka: str, cassandra: int, from_seeds: bool
) -> None:
    settings = settings_of(kafka, cassandra)
    with SynthWeb(WORLD) as web, fleet(web, tmp_path, 1, **settings) as live_fleet:
        live_fleet.seed()
        live_fleet.await_pages(60)
        live_fleet.stop()
        before = len(page_answers(web))
        empty(kafka, settings[PREFIX])
        assert live_fleet.gossamer("topics", "apply").code == 0
        (frontier,) = live_fleet.of("frontier")
        frontier.start()
        until(lambda: not frontier.running, "the frontier refuses the empty topics")
        assert "gossamer restore --align" in frontier.output()
        aligned = live_fleet.gossamer("restore", "--align")
        assert aligned.code == 0, aligned
        print(aligned.out)
        if from_seeds:
            shutil.rmtree(live_fleet.settings["GOSSAMER_DEDUP__FOLDER"])
        live_fleet.start()
        live_fleet.await_ready()
        if from_seeds:
            live_fleet.seed()
            crawl_to_the_end(live_fleet)
        until(lambda: all(live_fleet.idle() for _ in range(5)), "the end of requests")
        assert len(page_answers(web)) > before, "the store has its former rows"
        lost = web.truth.required - measure.requested_urls(web.requests())
        assert not (from_seeds and lost), "URLs that are discovered again are admitted again"
        again = sum(times - 1 for times in measure.repeated_requests(web.requests()).values())
        print(f"{len(lost)} of {len(web.truth.required)} URLs lost, {again} requests repeated")
        assert_polite(web.requests(), web.truth, DELAY)
