"""A crawl moves from a folder to a fleet, and to a folder again, measured at the web server."""

import time
from pathlib import Path

import pytest

from tests.support.commands import Done
from tests.support.waiting import until
from tests.synthweb import SynthWeb, World

from .assertions import assert_once, assert_pages, assert_polite, assert_thorough, page_answers
from .by_hand import of_servers
from .crawl import Crawl
from .fleet import SERVICES, Fleet

WORLD = World(seed=23, hosts=40, pages=30, silent=0, stuck=0, jitter=0.02)
DELAY = 0.3


def move_to_fleet(live_fleet: Fleet, laptop: Crawl) -> Done:
    """Follow the steps of docs/operations/changes.md; return the output."""
    for job in ("topics", "store"):
        assert live_fleet.gossamer(job, "apply").code == 0
    done = live_fleet.gossamer("move", str(laptop.data))
    assert (done.code, done.err) == (0, ""), done
    left = laptop.run()
    assert left.code == 1 and "was moved to the fleet on" in left.err, left
    for service in SERVICES:
        live_fleet.add(service, 1)
    return done


def move_to_folder(live_fleet: Fleet, folder: Path) -> Done:
    """Follow the steps of docs/operations/changes.md; return the output."""
    live_fleet.rest()
    refused = live_fleet.gossamer("move", "--to", str(folder))
    assert refused.code == 1 and "still run: stop all services" in refused.err, refused
    live_fleet.stop()
    done = live_fleet.change_when_stopped("move", "--to", str(folder))
    assert live_fleet.gossamer("speed", "none", "--data", str(folder)).code == 0
    return done


def crawl_until(web: SynthWeb, pages: int) -> None:
    until(lambda: len(page_answers(web)) >= pages, "some pages")


@pytest.mark.long
def test_crawl_moves_to_a_fleet_and_back_without_lost_or_repeated_urls(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = {
        **of_servers(kafka, cassandra),
        "GOSSAMER_KAFKA__PARTITIONS": "12",
        "GOSSAMER_FRONTIER__DELAY": str(DELAY),
    }
    with SynthWeb(WORLD) as web:
        laptop, live_fleet = (
            Crawl(web, tmp_path / "laptop", DELAY),
            Fleet(web, tmp_path, **settings),
        )
        with laptop.start() as under_way:
            crawl_until(web, 60)
            under_way.interrupt()
            assert under_way.wait().code == 130
        try:
            began = time.monotonic()
            results = move_to_fleet(live_fleet, laptop)
            print(f"in the fleet after {time.monotonic() - began:.0f} s\n{results.out}")
            crawl_until(web, len(page_answers(web)) + 60)

            began = time.monotonic()
            results = move_to_folder(live_fleet, laptop.data)
            print(f"in the folder after {time.monotonic() - began:.0f} s\n{results.out}")
            (frontier,) = live_fleet.of("frontier")
            frontier.start()
            until(lambda: not frontier.running, "the frontier refuses the crawl that has left")
            assert "moved" in frontier.output()
        finally:
            live_fleet.down()
        assert not web.is_complete(), "the crawl ended too soon"
        done = laptop.run(seeds=[])
        assert (done.code, done.err) == (0, ""), done
        requests, truth = web.requests(), web.truth
        assert_polite(requests, truth, DELAY)
        assert_thorough(requests, truth)
        assert_once(requests, truth)
        assert_pages(laptop, truth)
