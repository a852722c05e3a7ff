"""A working fleet is resized to more partitions, and to fewer again, measured at the web server."""

import time
from pathlib import Path

import pytest

from tests.support.waiting import until
from tests.synthweb import SynthWeb, World, measure

from .by_hand import of_servers
from .fleet import Fleet, assert_whole, crawl_to_the_end, fleet
from .judge import page_answers

WORLD = World(seed=23, hosts=40, pages=8, silent=0, stuck=0, jitter=0.02)
BATCH, DELAY = 3, 0.3


def resize(there: Fleet, partitions: int) -> None:
    """Follow the steps of docs/operations/changes.md."""
    assert there.gossamer("speed", "0").code == 0
    until(lambda: not any(there.lag().values()) and there.idle(), "the fleet is at rest")
    refused = there.gossamer("topics", "resize", str(partitions))
    assert refused.code == 1 and "still run: stop all services" in refused.err, refused
    for member in there.members:
        assert member.stop() == 0, member.output()
    until(
        lambda: there.gossamer("topics", "resize", str(partitions)).code == 0,
        "the groups have no members any more",
    )
    again = there.gossamer("topics", "resize", str(partitions))
    assert (again.code, "nothing to do" in again.out) == (0, True), again
    there.settings["GOSSAMER_KAFKA__PARTITIONS"] = str(partitions)
    done = there.gossamer("topics", "apply")
    assert (done.code, done.err) == (0, ""), done
    for member in there.members:
        member.start()
    there.await_ready()
    assert there.gossamer("speed", "none").code == 0


@pytest.mark.slow
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
    with SynthWeb(WORLD) as web, fleet(web, tmp_path, 1, **settings) as there:
        there.seed()
        for partitions in (12, 4):
            before = len(page_answers(web))
            until(lambda at=before + 30: len(page_answers(web)) >= at, "some pages")  # type: ignore[misc]
            began = time.monotonic()
            resize(there, partitions)
            print(f"{partitions} partitions after {time.monotonic() - began:.0f} s")
        assert not web.truth.required <= measure.asked(web.requests()), "it was over already"
        crawl_to_the_end(there)
        repeated = assert_whole(there, DELAY)
        print(f"{repeated} requests repeated")
        assert repeated <= 2 * BATCH * WORLD.hosts, "no more than the orders under way"
