"""A working fleet gets another Public Suffix List, and the packaged one again."""

import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.commands import run_command
from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .assertions import page_answers
from .by_hand import of_servers
from .crawl import environment
from .fleet import Fleet, assert_whole, crawl_to_the_end, fleet

WORLD = World(seed=29, hosts=24, pages=8, silent=0, stuck=0, jitter=0.02)
BATCH, DELAY = 3, 0.3
WITH_OTHER_LIST = """
import sys, zlib
from gossamer.procedures import suffixes
from gossamer.settings import load_settings
from gossamer.web.suffixes import SuffixList, packaged_list

rules = zlib.decompress(packaged_list().packed).decode().splitlines() + sys.argv[1:]
other = SuffixList("another", zlib.compress("\\n".join(rules).encode()))
suffixes.packaged_list = lambda: other
for line in suffixes.apply_to_fleet(load_settings(None)):
    print(line)
"""
"""Changes a fleet to a list with more rules, which another release could have."""


def stop_at_rest(live_fleet: Fleet) -> None:
    assert live_fleet.gossamer("speed", "0").code == 0
    until(lambda: not any(live_fleet.lag().values()) and live_fleet.idle(), "the fleet is at rest")
    live_fleet.stop()


def start_again(live_fleet: Fleet) -> None:
    live_fleet.start()
    live_fleet.await_ready()
    assert live_fleet.gossamer("speed", "none").code == 0


@pytest.mark.long
def test_fleet_continues_with_another_list(tmp_path: Path, kafka: str, cassandra: int) -> None:
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
        until(lambda: len(page_answers(web)) >= 30, "some pages")
        names = {".".join((urlsplit(url).hostname or "").split(".")[-2:]) for url in web.seeds}
        stop_at_rest(live_fleet)

        def apply_other() -> bool:
            command = [sys.executable, "-c", WITH_OTHER_LIST, *sorted(names)]
            done = run_command(command, environment=environment("", **live_fleet.settings))
            return "The crawl has the suffix list of another now" in done.out

        until(apply_other, "the groups have no members any more")
        start_again(live_fleet)
        before = len(page_answers(web))
        until(lambda: len(page_answers(web)) >= before + 30, "some more pages")
        stop_at_rest(live_fleet)
        until(
            lambda: live_fleet.gossamer("suffixes", "apply").code == 0,
            "the groups have no members any more",
        )
        start_again(live_fleet)
        assert not web.is_complete(), "the crawl ended too soon"
        crawl_to_the_end(live_fleet)
        repeated = assert_whole(live_fleet, DELAY)
        assert repeated <= 2 * BATCH * WORLD.hosts, "no more than the orders under way"
