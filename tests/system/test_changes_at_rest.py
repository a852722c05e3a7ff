"""A working fleet gets another number of partitions, or another Public Suffix List, and the former
one again, measured at the web server."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.commands import run_command
from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .by_hand import of_servers
from .crawl import environment
from .fleet import Fleet, assert_whole, crawl_to_the_end, fleet, of_short_leases

WORLD = World(seed=23, hosts=40, pages=8, silent=0, stuck=0, jitter=0.02)
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


def resize(live_fleet: Fleet, partitions: int) -> None:
    """Follow the steps of docs/operations/changes.md."""
    live_fleet.rest()
    refused = live_fleet.gossamer("topics", "resize", str(partitions))
    assert refused.code == 1 and "still run: stop all services" in refused.err, refused
    live_fleet.stop()
    live_fleet.change_when_stopped("topics", "resize", str(partitions))
    again = live_fleet.gossamer("topics", "resize", str(partitions))
    assert (again.code, "nothing to do" in again.out) == (0, True), again
    live_fleet.settings["GOSSAMER_KAFKA__PARTITIONS"] = str(partitions)
    done = live_fleet.gossamer("topics", "apply")
    assert (done.code, done.err) == (0, ""), done
    live_fleet.resume()


def apply_other_list(live_fleet: Fleet) -> None:
    """Apply a list by which all seeds are of sites of their own."""
    hosts = [urlsplit(url).hostname or "" for url in live_fleet.web.seeds]
    names = {".".join(host.split(".")[-2:]) for host in hosts}
    command = [sys.executable, "-c", WITH_OTHER_LIST, *sorted(names)]

    def is_applied() -> bool:
        done = run_command(command, environment=environment("", **live_fleet.settings))
        return "The crawl has the suffix list of another now" in done.out

    live_fleet.rest()
    live_fleet.stop()
    until(is_applied, "the groups have no members any more")
    live_fleet.resume()


def apply_packaged_list(live_fleet: Fleet) -> None:
    live_fleet.rest()
    live_fleet.stop()
    live_fleet.change_when_stopped("suffixes", "apply")
    live_fleet.resume()


@contextmanager
def crawling(folder: Path, kafka: str, cassandra: int) -> Iterator[Fleet]:
    """Yield a fleet at work; assert that its crawl keeps all promises to its end."""
    settings = {
        **of_servers(kafka, cassandra),
        **of_short_leases(DELAY, BATCH),
        "GOSSAMER_KAFKA__PARTITIONS": "4",
    }
    with SynthWeb(WORLD) as web, fleet(web, folder, 1, **settings) as live_fleet:
        live_fleet.seed()
        yield live_fleet
        crawl_to_the_end(live_fleet)
        repeated = assert_whole(live_fleet, DELAY)
        print(f"{repeated} requests repeated")
        assert repeated <= 2 * BATCH * WORLD.hosts, "no more than the orders under way"


@pytest.mark.long
def test_resize_to_more_and_fewer_partitions_loses_no_url(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    with crawling(tmp_path, kafka, cassandra) as live_fleet:
        for partitions in (12, 4):
            live_fleet.await_pages(30)
            resize(live_fleet, partitions)


@pytest.mark.long
def test_fleet_continues_with_another_list_and_with_the_packaged_one(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    with crawling(tmp_path, kafka, cassandra) as live_fleet:
        for apply in (apply_other_list, apply_packaged_list):
            live_fleet.await_pages(30)
            apply(live_fleet)
