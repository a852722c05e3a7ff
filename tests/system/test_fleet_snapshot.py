"""A snapshot of a crawling fleet that is restored later loses no URL and breaks no delay, measured
at the web server."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .assertions import page_answers
from .fleet import assert_whole, crawl_to_the_end, fleet
from .test_restore import BATCH, DELAY, KEYSPACE, settings_of

WORLD = World(seed=17, hosts=40, pages=20, silent=0, stuck=0, jitter=0.02)
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


@pytest.mark.slow
@pytest.mark.long
def test_restored_snapshot_of_a_crawling_fleet_loses_no_url_and_keeps_delays(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = settings_of(kafka, cassandra)
    keyspace = settings[KEYSPACE]
    copied, target = f"{keyspace}_copy", tmp_path / "snapshot"
    with SynthWeb(WORLD) as web, fleet(web, tmp_path, 1, **settings) as live_fleet:
        live_fleet.settings[KEYSPACE] = copied
        done = live_fleet.gossamer("store", "apply")
        assert done.code == 0, done
        live_fleet.settings[KEYSPACE] = keyspace

        live_fleet.seed()
        # Slow enough that the crawl lasts longer than both snapshots on a busy machine.
        assert live_fleet.gossamer("speed", "6").code == 0
        until(lambda: len(page_answers(web)) >= 20, "the first pages")
        before = len(web.requests())
        command = [sys.executable, "-c", COPY, str(cassandra), keyspace, copied]
        for folder, copy in ((f"{target}-of-nothing", "true"), (target, shlex.join(command))):
            done = live_fleet.gossamer("snapshot", str(folder), "--run", copy)
            assert done.code == 0, done
            print(*re.findall("The fleet was quiesced for .*", done.out))
        page_count = len(page_answers(web))
        until(lambda: len(page_answers(web)) >= page_count + 40, "pages that the snapshot lacks")
        assert not web.is_complete(), "the crawl ended too soon"
        live_fleet.stop()
        since = len(web.requests()) - before

        refused = live_fleet.gossamer("restore", str(target))
        assert refused.code == 1, "the tables were not put back"
        assert "tables" in refused.err
        live_fleet.settings[KEYSPACE] = copied
        # Kafka counts stopped processes as members for a session.
        until(
            lambda: live_fleet.gossamer("restore", str(target)).code == 0,
            "the groups have gone back",
        )
        assert live_fleet.gossamer("speed", "none").code == 0
        live_fleet.start()
        live_fleet.await_ready()
        crawl_to_the_end(live_fleet)
        repeated = assert_whole(live_fleet, DELAY)
        print(f"{since} requests since the snapshot, {repeated} repeated")
        assert repeated <= BATCH * WORLD.hosts, "no more than was in flight"
