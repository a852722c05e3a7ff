"""The blocklist in whole crawls: what is forbidden is not asked, and is found when it may be."""

from collections import Counter
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.blocklist import Blocklist
from gossamer.events import DEFAULT_CRAWL, BlocklistChanged
from gossamer.log.codec import encode
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import host_key
from services.fetcher.outcome import Failure, Reply
from services.frontier.rows import TallyRow, UrlRow
from tests.flow.test_flow import HTML, Pages, reachable, virtual_crawl, webs
from tests.flow.torn import Died, Fate
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


def change(crawl: VirtualCrawl, rule: str, lifted: bool = False) -> None:
    crawl.log.append([encode(BlocklistChanged(at=crawl.now, rule=rule, lifted=lifted))])


def asked(crawl: VirtualCrawl, robots: bool = False) -> Counter[str]:
    urls = (url for _, _, url in crawl.requests)
    return Counter(url for url in urls if robots or not url.endswith("/robots.txt"))


def row(crawl: VirtualCrawl, url: str) -> UrlRow | None:
    return SqliteStore(crawl.database).table(UrlRow).get((DEFAULT_CRAWL, host_key(url)), url)


def counted(crawl: VirtualCrawl) -> Counter[str]:
    table, found = SqliteStore(crawl.database).table(TallyRow), Counter[str]()
    for tally in filter(None, table.everything()):
        found.update(tally.hazards)
        found.update({f"refused {rule}": count for rule, count in tally.refused.items()})
    return found


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["b.test", "*.test", "a.test/x/*", "http://b.test/3"])
def test_what_is_forbidden_is_not_asked_and_found_again_when_it_may_be(
    tmp_path: Path, rule: str
) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    change(crawl, rule)
    crawl.sow(f"{A}/", f"{B}/3")
    assert crawl.run()
    blocklist = Blocklist([BlocklistChanged(at=0.0, rule=rule)])
    assert not any(map(blocklist.of_url, asked(crawl, robots=True)))
    assert counted(crawl)["blacklisted"] + counted(crawl)["refused blacklisted"] >= 1
    crawl.crash()
    change(crawl, rule, lifted=True)
    assert crawl.run()
    assert asked(crawl) == Counter(WEB.keys())


def test_a_seed_that_is_forbidden_says_so_and_waits(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    change(crawl, "b.test/*")
    crawl.sow(f"{B}/3")
    assert crawl.run()
    found = row(crawl, f"{B}/3")
    assert found and (found.outcome, found.reason) == ("blacklisted", "blocklisted, by b.test")
    change(crawl, "b.test", lifted=True)
    assert crawl.run()
    assert asked(crawl) == Counter([f"{B}/3"])


def test_an_order_that_is_out_is_handed_back_and_the_budget_of_the_host_is_not_used_up(
    tmp_path: Path,
) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0, delay=30.0, batch=10, url_budget=9)
    crawl.sow(f"{B}/")
    while sum(asked(crawl).values()) < 4:
        crawl.run(1)
    before = asked(crawl)
    change(crawl, "*.b.test")
    crawl.run(until=crawl.now + 120)  # The order has ended, and was not waited for.
    assert asked(crawl) == before
    left = set(WEB) - set(before) - {url for url in WEB if url.startswith(A)}
    assert {found.outcome for url in left if (found := row(crawl, url))} == {"blacklisted"}
    change(crawl, "*.b.test", lifted=True)
    assert crawl.run()
    assert asked(crawl) == Counter([f"{B}/", *(f"{B}/{number}" for number in range(8))])


@pytest.mark.slow
def test_a_page_that_was_known_comes_back_by_its_plan(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    crawl.sow(f"{A}/x/2", revisit="fixed:1d")
    crawl.run(until=crawl.now + 1.5 * DAY)
    assert asked(crawl)[f"{A}/x/2"] == 2
    change(crawl, "a.test")
    crawl.run(until=crawl.now + 20 * DAY)
    assert asked(crawl)[f"{A}/x/2"] == 2
    change(crawl, "a.test", lifted=True)
    crawl.run(until=crawl.now + 10 * DAY)
    assert asked(crawl)[f"{A}/x/2"] >= 4


def test_a_robots_txt_that_lies_at_a_forbidden_host_is_not_asked_there(tmp_path: Path) -> None:
    def web(url: str, now: float) -> tuple[float, Reply | Failure]:
        if url == f"{A}/robots.txt":
            lies = (("Location", f"{B}/robots.txt"),)
            return 0.1, Reply(status=301, headers=lies, started_at=now, took=0.1)
        return 0.1, Reply(status=200, headers=HTML, body=b"a page", started_at=now, took=0.1)

    crawl = VirtualCrawl(tmp_path, web, down_wait_limit=60.0)
    change(crawl, "b.test")
    crawl.sow(f"{A}/")
    crawl.run(until=crawl.now + DAY)
    assert set(asked(crawl, robots=True)) == {f"{A}/robots.txt"}
    change(crawl, "b.test", lifted=True)
    crawl.run(until=crawl.now + 30 * DAY)
    assert asked(crawl, robots=True)[f"{B}/robots.txt"]


rules = st.sampled_from(["a.test", "*.b.test", "*.test", "b.test/1", "a.test/to/*", "c.test/*"])
changes = st.lists(st.tuples(rules, st.booleans(), st.integers(1, 40)), min_size=1, max_size=6)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(pages=webs, changes=changes, deaths=st.lists(st.integers(0, 80), max_size=6))
def test_whatever_was_forbidden_before_a_crawl_comes_to_everything(
    pages: Pages, changes: list[tuple[str, bool, int]], deaths: list[int]
) -> None:
    start, fate = next(iter(pages)), Fate(7)
    with TemporaryDirectory() as folder:
        crawl = virtual_crawl(Path(folder), pages, 0.3, fate, lease_slack=10.0)
        crawl.sow(start)
        crawl.run(2)
        left = iter(deaths)
        for rule, lifted, steps in changes:
            change(crawl, rule, lifted)
            fate.left = next(left, None)
            with suppress(Died):
                crawl.run(steps)
            if fate.left is not None:
                crawl.crash()
        fate.left = None
        for rule in sorted({rule for rule, _, _ in changes}):
            change(crawl, rule, lifted=True)
        assert crawl.run()
        crawl.archive.close()
    assert set(asked(crawl)) == reachable(pages, start)
