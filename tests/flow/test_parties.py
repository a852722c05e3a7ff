"""Parties: groups of seeds with limits of their own, which hold for the pages found from them."""

from pathlib import Path

from gossamer.events import CrawlDefined, Party, SeedAdded
from gossamer.events.topics import DEAD_LETTERS
from gossamer.log.codec import decode, encode
from tests.flow.test_flow import Pages, virtual_crawl
from tests.flow.virtual import VirtualCrawl

NEAR: Pages = {f"http://a.test/near/{n}": [f"http://a.test/near/{n + 1}"] for n in range(6)}
FAR: Pages = {f"http://a.test/far/{n}": [f"http://a.test/far/{n + 1}"] for n in range(6)}
WEB: Pages = {
    **NEAR,
    **FAR,
    "http://a.test/near/6": [],
    "http://a.test/far/6": [],
    "http://a.test/out": ["http://b.test/", "http://a.test/out/1"],
    "http://a.test/out/1": ["http://b.test/1"],
    "http://a.test/away": ["http://b.test/2"],
    "http://b.test/": [],
    "http://b.test/1": [],
    "http://b.test/2": [],
}


def define(crawl: VirtualCrawl, parties: dict[str, Party], **seeds: str) -> None:
    """Define the crawl with *parties*, and add a seed for each party that is named."""
    defined = CrawlDefined(at=crawl.now, scope="any()", max_depth=3, parties=parties)
    added = [SeedAdded(url=url, party=party) for party, url in seeds.items()]
    crawl.log.append([encode(event) for event in (defined, *added)])
    assert crawl.run()


def visited_urls(crawl: VirtualCrawl) -> set[str]:
    return {url.removeprefix("http://") for url in crawl.requested()}


def numbered_chain(name: str, most: int) -> set[str]:
    return {f"a.test/{name}/{n}" for n in range(most + 1)}


def test_each_party_has_its_own_depth_limit_on_one_site(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    parties = {"near": Party(max_depth=1), "far": Party(max_depth=5)}
    define(crawl, parties, near="http://a.test/near/0", far="http://a.test/far/0")
    assert visited_urls(crawl) == numbered_chain("near", 1) | numbered_chain("far", 5)
    row = crawl.url_row("http://a.test/far/5")
    assert row and row.origin.party == "far"


def test_party_with_a_wider_scope_visits_its_parked_urls(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    define(crawl, {"near": Party(max_depth=1)}, near="http://a.test/near/0")
    assert visited_urls(crawl) == numbered_chain("near", 1)
    crawl.crash()
    crawl.now += 1
    define(crawl, {"near": Party(max_depth=4)})
    assert visited_urls(crawl) == numbered_chain("near", 4)


def test_scope_of_a_party_is_limited_by_the_scope_of_the_crawl(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    parties = {"out": Party(scope='prefix("http://a.test/")')}
    define(crawl, parties, out="http://a.test/out", other="http://a.test/away")
    assert visited_urls(crawl) == {"a.test/out", "a.test/out/1", "a.test/away", "b.test/2"}
    define(crawl, parties, out="http://b.test/")
    (letter,) = map(decode, crawl.records(DEAD_LETTERS.name))
    assert "out of scope of party out, by prefix" in getattr(letter, "reason", "")


def test_each_party_has_its_own_scope(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    parties = {"out": Party(external_links="none")}
    define(crawl, parties, out="http://a.test/out", away="http://a.test/away")
    assert visited_urls(crawl) == {"a.test/out", "a.test/out/1", "a.test/away", "b.test/2"}


def test_url_found_by_two_parties_belongs_to_the_first(tmp_path: Path) -> None:
    web: Pages = {
        "http://a.test/1": ["http://a.test/both"],
        "http://a.test/2": ["http://a.test/both"],
        "http://a.test/both": ["http://a.test/beyond"],
        "http://a.test/beyond": [],
    }
    crawl = virtual_crawl(tmp_path, web, 0.0)
    parties = {"first": Party(max_depth=1), "second": Party(max_depth=9)}
    define(crawl, parties, first="http://a.test/1")
    define(crawl, parties, second="http://a.test/2")
    row = crawl.url_row("http://a.test/both")
    assert row and row.origin.party == "first"
    assert "a.test/beyond" not in visited_urls(crawl)
