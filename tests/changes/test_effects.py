"""A dry run shows the hosts and queued URLs that a change would concern."""

from pathlib import Path

import pytest

from gossamer.blocklist import parse_rule
from gossamer.changes.blocking import plan_block
from gossamer.changes.commit import commit, preview
from gossamer.changes.plan import ChangeRequest
from gossamer.changes.sites import plan_host, plan_site
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostCrawl, HostRow, Politeness, QueueEnds
from gossamer.web.url import HostKey, Site
from tests.changes.opened import START, Opened


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """A crawl with two hosts of a site, with 30 and 2 queued URLs."""
    opened = Opened(tmp_path)
    for name, queued in (("www", 30), ("shop", 2)):
        row = HostRow(
            Site("a.example"),
            HostKey(f"https://{name}.a.example"),
            Condition.READY,
            politeness=Politeness(delay=1.0, last_took=0.5),
            crawls={"default": HostCrawl(again=QueueEnds(queued=queued))},
        )
        opened.store.table(HostRow).put(row)
    opened.store.flush()
    return opened


@pytest.mark.parametrize(
    ("typed", "estimate"),
    [
        ("www.a.example", "www.a.example: 1 host with 30 queued URLs"),
        ("*.a.example", "*.a.example: 2 hosts with 32 queued URLs"),
        ("shop.a.example/x/*", "shop.a.example/x/*: some URLs of 1 host with 2 queued URLs"),
        ("b.example", "b.example: no known host of the site b.example"),
        ("192.0.2.0/24", "192.0.2.0/24: hosts are recognised by their addresses"),
    ],
)
def test_block_names_hosts_and_queued_urls(opened: Opened, typed: str, estimate: str) -> None:
    (found,) = preview(plan_block(opened.crawl, [parse_rule(typed)], START)).estimate
    assert found.startswith(estimate)


def test_longer_delay_names_the_time_of_the_longest_queues(opened: Opened) -> None:
    longest, other = preview(
        plan_site(opened.crawl, Site("a.example"), {"delay": 9.5}, START)
    ).estimate
    assert longest == (
        "https://www.a.example: one request each 9.5 s instead of 1 s; 30 queued URLs in 5 min 00 s"
        " instead of 45.0 s"
    )
    assert other.startswith("https://shop.a.example: ")


def test_site_or_host_that_is_off_names_the_urls_that_wait(opened: Opened) -> None:
    site = plan_site(opened.crawl, Site("a.example"), {"off": True}, START)
    assert preview(site).estimate == ("32 queued URLs of 2 hosts wait.",)
    host = plan_host(opened.crawl, "shop.a.example", {"off": True}, START)
    assert preview(host).estimate == ("2 queued URLs of 1 host wait.",)


def test_change_itself_needs_no_store(opened: Opened) -> None:
    def fail() -> None:
        raise AssertionError("the store was opened")

    object.__setattr__(opened.crawl, "store", fail)
    commit(
        opened.log, plan_block(opened.crawl, ["a.example"], START), ChangeRequest(actor="a"), START
    )
    assert opened.audit()
