"""Groups of seeds with limits of their own: what is found from each keeps to its party's."""

from pathlib import Path

from gossamer.events import DEFAULT_CRAWL, CrawlDefined, Party, SeedAdded
from gossamer.events.topics import DEAD_LETTERS
from gossamer.log.codec import decode, encode
from gossamer.store.sqlite import SqliteStore
from services.frontier.rows import UrlRow
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


def sow(crawl: VirtualCrawl, parties: dict[str, Party], **seeds: str) -> None:
    """Define the crawl with *parties*, and sow a seed for each that is named."""
    defined = CrawlDefined(at=crawl.now, scope="any()", max_depth=3, parties=parties)
    added = [SeedAdded(url=url, party=party) for party, url in seeds.items()]
    crawl.log.append([encode(event) for event in (defined, *added)])
    assert crawl.run()


def visited(crawl: VirtualCrawl) -> set[str]:
    urls = (url.removeprefix("http://") for _, _, url in crawl.requests)
    return {url for url in urls if not url.endswith("/robots.txt")}


def numbered(name: str, most: int) -> set[str]:
    return {f"a.test/{name}/{n}" for n in range(most + 1)}


def row(crawl: VirtualCrawl, url: str) -> UrlRow:
    found = SqliteStore(crawl.database).table(UrlRow).get((DEFAULT_CRAWL, "http://a.test"), url)
    assert found
    return found


def test_each_party_goes_as_deep_as_it_may_on_one_site(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    parties = {"near": Party(max_depth=1), "far": Party(max_depth=5)}
    sow(crawl, parties, near="http://a.test/near/0", far="http://a.test/far/0")
    assert visited(crawl) == numbered("near", 1) | numbered("far", 5)
    assert row(crawl, "http://a.test/far/5").origin.party == "far"


def test_a_party_that_is_made_wider_takes_up_what_it_left_out(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    sow(crawl, {"near": Party(max_depth=1)}, near="http://a.test/near/0")
    assert visited(crawl) == numbered("near", 1)
    crawl.crash()
    crawl.now += 1
    sow(crawl, {"near": Party(max_depth=4)})
    assert visited(crawl) == numbered("near", 4)


def test_a_partys_scope_is_within_the_crawls(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    parties = {"out": Party(scope='prefix("http://a.test/")')}
    sow(crawl, parties, out="http://a.test/out", other="http://a.test/away")
    assert visited(crawl) == {"a.test/out", "a.test/out/1", "a.test/away", "b.test/2"}
    sow(crawl, parties, out="http://b.test/")
    (letter,) = map(decode, crawl.log.tail([DEAD_LETTERS.name]).poll(0))
    assert "out of scope of party out, by prefix" in getattr(letter, "reason", "")


def test_one_party_stays_on_its_site_while_another_leaves_it(tmp_path: Path) -> None:
    crawl = virtual_crawl(tmp_path, WEB, 0.0)
    parties = {"out": Party(external_links="none")}
    sow(crawl, parties, out="http://a.test/out", away="http://a.test/away")
    assert visited(crawl) == {"a.test/out", "a.test/out/1", "a.test/away", "b.test/2"}


def test_what_two_parties_find_is_of_the_first(tmp_path: Path) -> None:
    web: Pages = {
        "http://a.test/1": ["http://a.test/both"],
        "http://a.test/2": ["http://a.test/both"],
        "http://a.test/both": ["http://a.test/beyond"],
        "http://a.test/beyond": [],
    }
    crawl = virtual_crawl(tmp_path, web, 0.0)
    parties = {"first": Party(max_depth=1), "second": Party(max_depth=9)}
    sow(crawl, parties, first="http://a.test/1")
    sow(crawl, parties, second="http://a.test/2")
    assert row(crawl, "http://a.test/both").origin.party == "first"
    assert "a.test/beyond" not in visited(crawl)
