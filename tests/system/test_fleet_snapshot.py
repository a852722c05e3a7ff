"""A snapshot of a crawling fleet that is restored later loses no URL and breaks no delay, measured
at the web server."""

import re
import shlex
from pathlib import Path

import pytest

from tests.synthweb import SynthWeb, World

from .fleet import assert_whole, crawl_to_the_end, fleet
from .test_restore import BATCH, DELAY, KEYSPACE, copy_command, settings_of

WORLD = World(seed=17, hosts=40, pages=20, silent=0, stuck=0, jitter=0.02)


@pytest.mark.long
def test_restored_snapshot_of_a_crawling_fleet_loses_no_url_and_keeps_delays(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = settings_of(kafka, cassandra)
    copied, target = f"{settings[KEYSPACE]}_copy", tmp_path / "snapshot"
    with SynthWeb(WORLD) as web, fleet(web, tmp_path, 1, **settings) as live_fleet:
        command = copy_command(live_fleet, cassandra, copied)
        live_fleet.seed()
        # Slow enough that the crawl lasts longer than both snapshots on a busy machine.
        assert live_fleet.gossamer("speed", "6").code == 0
        live_fleet.await_pages(20)
        before = len(web.requests())
        for folder, copy in ((f"{target}-of-nothing", "true"), (target, shlex.join(command))):
            done = live_fleet.gossamer("snapshot", str(folder), "--run", copy)
            assert done.code == 0, done
            print(*re.findall("The fleet was quiesced for .*", done.out))
        live_fleet.await_pages(40, "pages that the snapshot lacks")
        live_fleet.stop()
        since = len(web.requests()) - before

        refused = live_fleet.gossamer("restore", str(target))
        assert refused.code == 1, "the tables were not put back"
        assert "tables" in refused.err
        live_fleet.settings[KEYSPACE] = copied
        live_fleet.change_when_stopped("restore", str(target))
        live_fleet.resume()
        crawl_to_the_end(live_fleet)
        repeated = assert_whole(live_fleet, DELAY)
        print(f"{since} requests since the snapshot, {repeated} repeated")
        assert repeated <= BATCH * WORLD.hosts, "no more than was in flight"
