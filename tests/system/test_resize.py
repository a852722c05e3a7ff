"""A working fleet is resized to more partitions, and to fewer again, measured at the web server."""

import time
from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .assertions import page_answers
from .by_hand import of_servers
from .fleet import Fleet, assert_whole, crawl_to_the_end, fleet

WORLD = World(seed=23, hosts=40, pages=8, silent=0, stuck=0, jitter=0.02)
BATCH, DELAY = 3, 0.3


def resize(live_fleet: Fleet, partitions: int) -> None:
    """Follow the steps of docs/operations/changes.md."""
    assert live_fleet.gossamer("speed", "0").code == 0
    until(lambda: not any(live_fleet.lag().values()) and live_fleet.idle(), "the fleet is at rest")
    refused = live_fleet.gossamer("topics", "resize", str(partitions))
    assert refused.code == 1 and "still run: stop all services" in refused.err, refused
    live_fleet.stop()
    until(
        lambda: live_fleet.gossamer("topics", "resize", str(partitions)).code == 0,
        "the groups have no members any more",
    )
    again = live_fleet.gossamer("topics", "resize", str(partitions))
    assert (again.code, "nothing to do" in again.out) == (0, True), again
    live_fleet.settings["GOSSAMER_KAFKA__PARTITIONS"] = str(partitions)
    done = live_fleet.gossamer("topics", "apply")
    assert (done.code, done.err) == (0, ""), done
    live_fleet.start()
    live_fleet.await_ready()
    assert live_fleet.gossamer("speed", "none").code == 0


@pytest.mark.long
def test_resize_to_more_and_fewer_partitions_loses_no_url(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = {
        **of_servers(kafka, cassandra),
        "GOSSAMER_KAFKA__PARTITIONS": "4",
        "GOSSAMER_FRONTIER__DELAY": str(DELAY),
        "GOSSAMER_FRONTIER__BATCH": str(BATCH),
        "GOSSAMER_FRONTIER__LEASE_SLACK": "2",
        "GOSSAMER_FETCHER__VISIT_LIMIT": "4",
    }
    with SynthWeb(WORLD) as web, fleet(web, tmp_path, 1, **settings) as live_fleet:
        live_fleet.seed()
        for partitions in (12, 4):
            before = len(page_answers(web))
            until(lambda at=before + 30: len(page_answers(web)) >= at, "some pages")  # type: ignore[misc]
            began = time.monotonic()
            resize(live_fleet, partitions)
            print(f"{partitions} partitions after {time.monotonic() - began:.0f} s")
        assert not web.is_complete(), "the crawl ended too soon"
        crawl_to_the_end(live_fleet)
        repeated = assert_whole(live_fleet, DELAY)
        print(f"{repeated} requests repeated")
        assert repeated <= 2 * BATCH * WORLD.hosts, "no more than the orders under way"
