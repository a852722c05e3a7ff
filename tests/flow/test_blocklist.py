"""The blocklist in whole crawls: forbidden URLs are not requested, and are visited once the rule is
lifted."""

from collections import Counter
from pathlib import Path

import pytest

from gossamer.blocklist import Blocklist
from gossamer.changes.blocking import plan_block
from gossamer.changes.commit import commit
from gossamer.changes.plan import ChangeRequest
from gossamer.events import BlocklistChanged
from gossamer.inspection.crawls.audit import ChangeFilter, iterate_changes
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.log.codec import encode
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.store.sqlite import SqliteStore
from tests.flow.test_flow import HTML, Pages, virtual_crawl
from tests.flow.virtual import VirtualCrawl

DAY = 86400.0
A, B = "http://a.test", "http://b.test"
WEB: Pages = {
    f"{A}/": [f"{A}/x/1", f"{A}/x/2", f"{B}/"],
    f"{A}/x/1": [f"{A}/y"],
    f"{A}/x/2": [],
    f"{A}/y": [],
    f"{B}/": [f"{B}/{number}" for number in range(8)],
    **{f"{B}/{number}": [] for number in range(8)},
}


def change_blocklist(crawl: VirtualCrawl, rule: str, lifted: bool = False) -> None:
    crawl.log.append([encode(BlocklistChanged(at=crawl.now, rule=rule, lifted=lifted))])


def hazard_counts(crawl: VirtualCrawl) -> Counter[str]:
    table, found = SqliteStore(crawl.database).table(TallyRow), Counter[str]()
    for tally in filter(None, table.everything()):
        found.update(tally.hazards)
        found.update({f"refused {rule}": count for rule, count in tally.refused.items()})
    return found


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["b.test", "*.test", "a.test/x/*", "http://b.test/3"])
def test_forbidden_urls_are_visited_only_after_the_rule_is_lifted(
    tmp_path: Path, rule: str
) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    change_blocklist(crawl, rule)
    crawl.define(f"{A}/", f"{B}/3")
    assert crawl.run()
    blocklist = Blocklist([BlocklistChanged(at=0.0, rule=rule)])
    assert not any(blocklist.of_url(url) for _, _, url in crawl.requests)
    assert hazard_counts(crawl)["blacklisted"] + hazard_counts(crawl)["refused blacklisted"] >= 1
    crawl.crash()
    change_blocklist(crawl, rule, lifted=True)
    assert crawl.run()
    assert Counter(crawl.requested()) == Counter(WEB.keys())


def test_block_that_expires_lets_the_urls_be_visited(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    opened = OpenCrawl("data", crawl.log, crawl._store)
    ends = crawl.now + DAY
    plan = plan_block(opened, ["b.test"], crawl.now)
    commit(crawl.log, plan, ChangeRequest(actor="ann@laptop", expires_at=ends), crawl.now)
    crawl.define(f"{A}/", f"{B}/3")
    assert not crawl.run(until=ends - 1)
    assert not any(url.startswith(B) for _, _, url in crawl.requests)
    crawl.crash()
    assert crawl.run()
    assert Counter(crawl.requested()) == Counter(WEB.keys())
    assert min(at for at, _, url in crawl.requests if url.startswith(B)) >= ends
    (block, end) = iterate_changes(crawl.log, ChangeFilter())
    assert (block.action, end.action, end.source) == ("block", "expire", "expiry")


def test_forbidden_seed_has_outcome_blacklisted_until_the_rule_is_lifted(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    change_blocklist(crawl, "b.test/*")
    crawl.define(f"{B}/3")
    assert crawl.run()
    found = crawl.url_row(f"{B}/3")
    assert found and (found.outcome, found.reason) == ("blacklisted", "blocklisted, by b.test")
    change_blocklist(crawl, "b.test", lifted=True)
    assert crawl.run()
    assert crawl.requested() == [f"{B}/3"]


def test_url_with_an_address_is_visited_after_the_rule_of_its_network_is_lifted(
    tmp_path: Path,
) -> None:
    start, address = "http://a.test/", "http://93.184.216.34/"
    crawl = virtual_crawl(tmp_path, {start: [address], address: []}, 0.0)
    change_blocklist(crawl, "93.184.216.0/24")
    crawl.define(start)
    assert crawl.run()
    assert crawl.requested() == [start]
    change_blocklist(crawl, "93.184.216.0/24", lifted=True)
    assert crawl.run()
    assert crawl.requested() == [start, address]


def test_rest_of_an_order_in_flight_is_returned_and_does_not_count_against_the_budget(
    tmp_path: Path,
) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0, delay=30.0, batch=10, url_budget=9, seed_sites=0)
    crawl.define(f"{B}/")
    while len(crawl.requested()) < 4:
        crawl.run(1)
    before = crawl.requested()
    change_blocklist(crawl, "*.b.test")
    crawl.run(until=crawl.now + 120)  # The order ended before its lease.
    assert crawl.requested() == before
    left = set(WEB) - set(before) - {url for url in WEB if url.startswith(A)}
    assert {found.outcome for url in left if (found := crawl.url_row(url))} == {"blacklisted"}
    change_blocklist(crawl, "*.b.test", lifted=True)
    assert crawl.run()
    assert sorted(crawl.requested()) == [f"{B}/", *(f"{B}/{number}" for number in range(8))]


@pytest.mark.long
def test_known_page_is_revisited_as_planned_after_the_rule_is_lifted(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    crawl.define(f"{A}/x/2", revisit="fixed:1d")
    crawl.run(until=crawl.now + 1.5 * DAY)
    assert crawl.requested().count(f"{A}/x/2") == 2
    change_blocklist(crawl, "a.test")
    crawl.run(until=crawl.now + 20 * DAY)
    assert crawl.requested().count(f"{A}/x/2") == 2
    change_blocklist(crawl, "a.test", lifted=True)
    crawl.run(until=crawl.now + 10 * DAY)
    assert crawl.requested().count(f"{A}/x/2") >= 4


def test_robots_txt_that_redirects_to_a_forbidden_host_is_not_requested(tmp_path: Path) -> None:
    def web(url: str, now: float) -> tuple[float, Reply | Failure]:
        if url == f"{A}/robots.txt":
            lies = (("Location", f"{B}/robots.txt"),)
            return 0.1, Reply(status=301, headers=lies)
        return 0.1, Reply(status=200, headers=HTML, body=b"a page")

    crawl = VirtualCrawl(tmp_path, web, down_wait_limit=60.0)
    change_blocklist(crawl, "b.test")
    crawl.define(f"{A}/")
    crawl.run(until=crawl.now + DAY)
    assert {url for _, _, url in crawl.requests} == {f"{A}/robots.txt"}
    change_blocklist(crawl, "b.test", lifted=True)
    crawl.run(until=crawl.now + 30 * DAY)
    assert f"{B}/robots.txt" in {url for _, _, url in crawl.requests}
