"""The speed of whole crawls, and of a site, changed while they run, measured at the servers."""

from pathlib import Path

import pytest

from gossamer.events import SiteOverridden, Speed, SpeedSet
from gossamer.log.codec import encode
from gossamer.web.url import Site
from tests.flow.test_flow import Pages, virtual_crawl
from tests.flow.virtual import START, VirtualCrawl

IN_FORCE = 5.0
HOUR, DAY = 3600.0, 86400.0
NEXT_HOUR = START - START % HOUR + HOUR


def start_crawl(folder: Path, hosts: int, delay: float, each: int = 40) -> VirtualCrawl:
    """Return a crawl with more admitted URLs than it can visit in the test."""
    pages: Pages = {}
    for host in range(hosts):
        root = f"http://h{host}.test/"
        pages |= {f"{root}{number}": [] for number in range(each)}
        pages[root] = [f"{root}{number}" for number in range(each)]
    crawl = virtual_crawl(folder, pages, 0.1, delay=delay)
    crawl.define(*(f"http://h{host}.test/" for host in range(hosts)))
    return crawl


def set_speed(crawl: VirtualCrawl, *speeds: Speed) -> float:
    crawl.log.append([encode(SpeedSet(at=crawl.now, speeds=speeds))])
    return crawl.now


def request_rate(crawl: VirtualCrawl, begin: float, end: float) -> float:
    """Return the number of requests a second between *begin* and *end*."""
    return sum(begin <= at < end for at, _, _ in crawl.requests) / (end - begin)


@pytest.mark.slow
def test_new_speed_holds_within_five_seconds_for_orders_in_flight(tmp_path: Path) -> None:
    crawl = start_crawl(tmp_path, hosts=20, delay=4.0)
    crawl.run(until=START + 30)
    fast = request_rate(crawl, START + 10, START + 30)
    assert fast > 4
    slow = set_speed(crawl, Speed("", pages=0.5))
    crawl.run(until=slow + 100)
    assert 0.4 <= request_rate(crawl, slow + IN_FORCE, slow + 100) <= 0.6
    stopped = set_speed(crawl, Speed("", pages=0.0))
    crawl.run(until=stopped + 100)
    assert request_rate(crawl, stopped + IN_FORCE, stopped + 100) == 0
    free = set_speed(crawl)
    crawl.run(until=free + 35)
    assert request_rate(crawl, free + IN_FORCE, free + 35) > 0.8 * fast


@pytest.mark.slow
def test_speed_of_an_hour_holds_for_orders_in_flight(tmp_path: Path) -> None:
    crawl = start_crawl(tmp_path, hosts=10, delay=40.0, each=100)
    begin, end = (f"{int(at % DAY // HOUR):02}:00" for at in (NEXT_HOUR, NEXT_HOUR + HOUR))
    set_speed(crawl, Speed(f"{begin}-{end}", pages=0.02))
    crawl.run(until=NEXT_HOUR + HOUR + 300)
    assert request_rate(crawl, NEXT_HOUR - 300, NEXT_HOUR) > 0.2
    assert 0.015 <= request_rate(crawl, NEXT_HOUR + IN_FORCE, NEXT_HOUR + HOUR) <= 0.025
    assert request_rate(crawl, NEXT_HOUR + HOUR + IN_FORCE, NEXT_HOUR + HOUR + 300) > 0.15


@pytest.mark.slow
def test_site_that_is_turned_off_receives_no_requests_from_orders_in_flight(tmp_path: Path) -> None:
    crawl = start_crawl(tmp_path, hosts=2, delay=4.0)
    crawl.run(until=START + 30)
    off = crawl.now
    crawl.log.append([encode(SiteOverridden(at=off, site=Site("h0.test"), off=True))])
    crawl.run(until=off + 100)

    def late(host: str) -> int:
        return sum(at > off + IN_FORCE and host in url for at, _, url in crawl.requests)

    assert late("h0.test") == 0
    assert late("h1.test") > 20
