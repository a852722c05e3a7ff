"""`gossamer hosts`: the hosts of a crawl, for people and programs."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.events import DEFAULT_CRAWL, CrawlDefined
from gossamer.inspection.basics.folder import Folder, Opened
from gossamer.log.codec import encode
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import (
    HostCrawl,
    HostRow,
    NewQueues,
    Politeness,
    RobotsRow,
)
from gossamer.web.robots import RobotsRules
from gossamer.web.url import HostKey, Site
from tests.console.gossamer import Gossamer
from tests.console.test_status import store_rows

HOST = HostKey("http://a.example")


@pytest.fixture
def crawl_folder(data: Path) -> Opened:
    return Folder(data).create()


def test_walls_of_a_host_are_counted_by_kind_and_product(
    crawl_folder: Opened, gossamer: Gossamer
) -> None:
    walls = {"challenge: Anubis": 5, "payment: x402": 1}
    reason = "challenged by Anubis: its cookie"
    until = 2_000_000_000.0
    store_rows(
        crawl_folder,
        HostRow(
            Site("a.example"), HOST, Condition.BACKING_OFF, until, reason, "challenged", walls=walls
        ),
    )
    gossamer("hosts")
    assert gossamer.json("hosts")["walls"] == walls


def test_absurd_delay_is_shown_in_days(crawl_folder: Opened, gossamer: Gossamer) -> None:
    """Report Meziantou #2620: no number of 296 digits."""
    until = 2_000_000_000.0
    queued = {DEFAULT_CRAWL: HostCrawl(NewQueues(queued=3))}
    crawl_folder.log.append([encode(CrawlDefined(at=1.0, scope="any()", max_depth=3))])
    # The second one is without a limit.
    for delay in (86400.0, 1e300):
        politeness = Politeness(delay=delay, delay_until=until, last_took=0.1)
        row = HostRow(Site("a.example"), HOST, Condition.DELAYED, until, crawls=queued)
        row = replace(row, politeness=politeness)
        store_rows(crawl_folder, row, RobotsRow(HOST, RobotsRules(crawl_delay=1e300)))
        gossamer("hosts")
        gossamer("hosts", "a.example")
        gossamer("why", f"{HOST}/")


def test_one_host_is_explained(crawl_folder: Opened, gossamer: Gossamer) -> None:
    until = 2_000_000_000.0
    queued = {DEFAULT_CRAWL: HostCrawl(NewQueues(queued=3))}
    store_rows(
        crawl_folder,
        HostRow(
            Site("a.example"),
            HOST,
            Condition.BACKING_OFF,
            until,
            "refused",
            "host_down",
            crawls=queued,
        ),
        RobotsRow(HOST, RobotsRules(lines="2 - /private", fetched_at=until)),
    )
    crawl_folder.log.append([encode(CrawlDefined(at=1.0, scope="any()", max_depth=3))])
    gossamer("hosts", "a.example")
    found = gossamer.json("hosts", "a.example")
    assert found["until"] == until and found["host"]["queued"] == 3
    gossamer("hosts", "a.example", "--site", "a.example", status=2)
    gossamer("hosts", "b.example", status=1)
