"""Nodes that are cut off: with a quorum the crawl continues, without a quorum it waits."""

import time
from pathlib import Path

import pytest

from tests.servers.nodes import KINDS, Node, three_of_each
from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .fleet import Fleet, assert_whole, crawl_to_the_end, fleet

WORLD = World(seed=17, hosts=8, pages=160, silent=0, stuck=0, retries=0, delays=0, jitter=0.05)
"""With half a second between visits the crawl lasts until all harms are done."""
BATCH, DELAY = 3, 0.5
SETTINGS = {
    "GOSSAMER_FRONTIER__BATCH": str(BATCH),
    "GOSSAMER_FRONTIER__DELAY": str(DELAY),
    "GOSSAMER_FRONTIER__LEASE_SLACK": "15",
    "GOSSAMER_FETCHER__VISIT_LIMIT": "4",
}
MORE = 40
"""More pages than can have been in flight at the harm."""
STOPPED = 60.0
"""Seconds for which nodes are stopped, longer than the timeouts of their peers and clients."""
QUIET = 10.0
"""Seconds without a request after which the crawl counts as waiting; longer than any delay."""
LOSSES = 3
"""Harms after which a service may repeat work that it could not report."""


@pytest.mark.nodes
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_crawl_continues_without_one_node_and_waits_without_two(tmp_path: Path) -> None:
    with (
        three_of_each(tmp_path, *KINDS) as nodes,
        SynthWeb(WORLD) as web,
        fleet(web, tmp_path, 1, **nodes.settings(), **SETTINGS) as live_fleet,
    ):
        live_fleet.seed()
        live_fleet.await_pages(MORE, "the first")
        for node in (nodes.of["kafka"][0], nodes.of["cassandra"][0]):
            node.cut()
            live_fleet.await_pages(MORE, f"without {node.name}")
        for node in (nodes.of["kafka"][0], nodes.of["cassandra"][0]):
            node.heal()
        for kind, those in nodes.of.items():
            lose_two(live_fleet, kind, those[1:])
        crawl_to_the_end(live_fleet)
        repeated = assert_whole(live_fleet, DELAY)
        hosts = len({request.host for request in web.requests()})
        assert repeated <= LOSSES * BATCH * hosts, "more than the orders under way at each loss"


@pytest.mark.nodes
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_crawl_survives_a_broker_and_a_node_that_are_stopped_and_killed(
    tmp_path: Path,
) -> None:
    with (
        three_of_each(tmp_path, *KINDS) as nodes,
        SynthWeb(WORLD) as web,
        fleet(web, tmp_path, 1, **nodes.settings(), **SETTINGS) as live_fleet,
    ):
        live_fleet.seed()
        live_fleet.await_pages(MORE, "the first")
        pair = [those[0] for those in nodes.of.values()]
        for node in pair:
            node.stop()
        resume_at = time.monotonic() + STOPPED
        live_fleet.await_pages(MORE, "while one of each is stopped")
        until(lambda: time.monotonic() >= resume_at, "the end of the stop")
        for node in pair:
            node.go_on()
        live_fleet.await_pages(MORE, "with all again")
        for node in pair:
            node.kill()
        live_fleet.await_pages(MORE, "while one of each is dead")
        for node in pair:
            node.restart()
        live_fleet.await_pages(MORE, "with all again")
        crawl_to_the_end(live_fleet)
        ended = [member.name for member in live_fleet.members if not member.running]
        assert not ended
        repeated = assert_whole(live_fleet, DELAY)
        hosts = len({request.host for request in web.requests()})
        assert repeated <= LOSSES * BATCH * hosts, "more than the orders under way at each loss"


def lose_two(live_fleet: Fleet, kind: str, those: list[Node]) -> None:
    """Cut off two nodes, so that no quorum is left, and assert that the crawl waits until they are
    back."""
    for node in those:
        node.cut()
    until_quiet(live_fleet, f"waiting without two of {kind}")
    assert not live_fleet.web.is_complete(), "the crawl was over too soon to wait"
    for node in those:
        node.heal()
    live_fleet.await_pages(MORE, f"with all of {kind} again")


def until_quiet(live_fleet: Fleet, what: str) -> None:
    """Wait until there was no request for `QUIET` seconds."""

    def is_quiet() -> bool:
        before = len(live_fleet.web.requests())
        time.sleep(QUIET)
        return len(live_fleet.web.requests()) == before

    until(is_quiet, what)
