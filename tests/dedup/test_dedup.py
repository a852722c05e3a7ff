"""The URL-seen test, released and parked links, and redelivered records."""

from collections.abc import Iterable
from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.errors import Poison
from gossamer.events import (
    DEFAULT_CRAWL,
    CrawlDefined,
    Discovery,
    Link,
    LinksParked,
    Page,
    PageDeduplicated,
    SeedAdded,
    UrlsAdmitted,
    UrlsDiscovered,
    Verdict,
)
from gossamer.log.codec import encode
from gossamer.services.dedup.seen import SeenMapping, SeenRow, SeenTable, hash_finder
from gossamer.services.dedup.service import Dedup
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.links import estimate_sites
from gossamer.web.url import Site, fingerprint
from gossamer.web.usage import judge, read_headers
from tests.dedup.harness import make_dedup, of_kind, only, parsed_page


@pytest.fixture
def dedup() -> Dedup:
    return make_dedup(CrawlDefined(at=0.0, scope="not domain('out.test')", max_depth=3))


def urls_discovered(*urls: str, via: str = "v1") -> UrlsDiscovered:
    found = tuple(Discovery(url, 1) for url in urls)
    return UrlsDiscovered(at=0.0, site=Site("a.test"), via=via, urls=found)


@pytest.mark.parametrize(("now", "seconds"), [(4.0, 2.5), (1.2, 0.0)])
def test_verdict_has_the_seconds_since_the_page_was_parsed(
    dedup: Dedup, now: float, seconds: float
) -> None:
    page = parsed_page("http://a.test/", "d", parse_seconds=0.5)
    verdict = only(PageDeduplicated, dedup.handle(page, now))
    assert (verdict.parse_seconds, verdict.dedup_seconds) == (0.5, seconds)


def test_url_is_admitted_for_its_first_finder_only(dedup: Dedup) -> None:
    first = only(UrlsAdmitted, dedup.handle(urls_discovered("http://a.test/1"), 0.0))
    assert first.urls == (Discovery("http://a.test/1", 1),)
    again = dedup.handle(urls_discovered("http://a.test/1", "http://a.test/2", via="v2"), 0.0)
    second = only(UrlsAdmitted, again)
    assert [found.url for found in second.urls] == ["http://a.test/2"]


def test_admission_states_how_many_links_of_the_content_were_known(dedup: Dedup) -> None:
    known = [f"http://a.test/{n}" for n in range(4)]
    list(dedup.handle(urls_discovered(*known), 0.0))
    positions = ("", "main", "navigation", "footer")
    links = [
        Discovery(url, 1, score=0.5, position=position)
        for url, position in zip(known, positions, strict=True)
    ]
    new = Discovery("http://a.test/new", 1, score=0.5)
    page = Discovery("http://a.test/0", 1, score=0.5)
    event = UrlsDiscovered(at=0.0, site=Site("a.test"), via=f"1.1.0@{page.url}", urls=(*links, new))
    admitted = only(UrlsAdmitted, dedup.handle(event, 0.0))
    assert (admitted.urls, admitted.known_links) == ((new,), 1), "no menu, and not the page itself"


def test_links_of_another_site_do_not_count_as_known(dedup: Dedup) -> None:
    list(dedup.handle(urls_discovered("http://a.test/1"), 0.0))
    links = tuple(Discovery(f"http://a.test/{n}", 1, score=0.5) for n in (1, 2))
    event = UrlsDiscovered(at=0.0, site=Site("a.test"), via="1.1.0@http://b.test/", urls=links)
    admitted = only(UrlsAdmitted, dedup.handle(event, 0.0))
    assert admitted.known_links == 0


def test_redelivered_record_admits_its_url_again_as_repeated(dedup: Dedup) -> None:
    once = only(UrlsAdmitted, dedup.handle(urls_discovered("http://a.test/1"), 0.0))
    again = list(dedup.handle(urls_discovered("http://a.test/1"), 0.0))
    assert again == [replace(once, repeated=True)]


LONG = f"1732275000000000.77.3@http://a.test/{'x' * 500}"


def test_finder_is_stored_as_64_bits() -> None:
    store = SqliteStore(Database(":memory:"))
    seen: dict[str, str] = {}
    for seen_set in (SeenMapping(seen), SeenTable(store)):
        processor = Dedup(seen_set, store, DedupSettings())
        list(processor.handle(urls_discovered("http://a.test/1", via=LONG), 0.0))
        list(processor.handle(SeedAdded(url="http://a.test/2", via=LONG), 0.0))
    key = bytes.fromhex(fingerprint("http://a.test/1"))
    row = store.table(SeenRow).get((DEFAULT_CRAWL, "a.test"), key)
    assert row and [row.finder.hex(), *seen.values()] == [hash_finder(LONG)] * 2
    assert len(hash_finder(LONG)) == 16


def test_seed_is_keyed_by_its_site_with_depth_and_priority(dedup: Dedup) -> None:
    seed = SeedAdded(url="HTTP://www.A.test:80/x#y", priority=-1, depth=2, via="seed@seeds/0/7")
    [event] = dedup.handle(seed, 5.0)
    trace = fingerprint("http://www.a.test/x")
    found = Discovery("http://www.a.test/x", depth=2, priority=-1, trace=trace)
    assert event == UrlsDiscovered(at=5.0, site=Site("a.test"), via="seed@seeds/0/7", urls=(found,))


@pytest.mark.parametrize("url", ["no url", "ftp://a.test/", "http://www.out.test/"])
def test_invalid_or_out_of_scope_seed_is_poison(dedup: Dedup, url: str) -> None:
    with pytest.raises(Poison, match=r"not a URL|out of scope"):
        list(dedup.handle(SeedAdded(url=url), 0.0))


def test_links_of_a_first_page_are_released_in_one_event_per_site(dedup: Dedup) -> None:
    links = (
        Link("http://www.a.test/1"),
        Link("http://b.test/"),
        Link("http://a.test/2"),
        Link("http://b.test/no", nofollow=True),
        Link("http://x.out.test/"),
    )
    answer = list(dedup.handle(parsed_page("http://a.test/", "d1", *links), 2.0))
    released = of_kind(UrlsDiscovered, answer)
    assert [(e.site, [f.url for f in e.urls]) for e in released] == [
        ("a.test", ["http://www.a.test/1", "http://a.test/2"]),
        ("b.test", ["http://b.test/"]),
    ]
    result, page = only(PageDeduplicated, answer), only(Page, answer)
    assert (result.verdict, result.links) == (Verdict.FIRST, 3)
    assert page.links == tuple(link.url for link in links)


def test_usage_of_the_site_is_published(dedup: Dedup) -> None:
    stated = read_headers((("Content-Signal", "ai-train=no"),), "gossamer")
    fields: dict[str, Any] = {"usage": judge(stated), "usage_statements": stated}
    answer = dedup.handle(parsed_page("http://a.test/", "d1", **fields), 5.0)
    page = only(Page, answer)
    assert (page.usage, page.usage_statements) == (judge(stated), stated)


def test_duplicate_names_its_leader_and_releases_no_equal_links(dedup: Dedup) -> None:
    first = parsed_page("http://a.test/", "same", Link("http://a.test/1"))
    list(dedup.handle(first, 0.0))
    copy = list(dedup.handle(parsed_page("http://b.test/", "same", Link("http://a.test/1")), 0.0))
    assert not of_kind(UrlsDiscovered, copy)
    page = only(Page, copy)
    assert (page.verdict, page.duplicate_of) == (Verdict.DUPLICATE, "http://a.test/")
    again = list(dedup.handle(first, 0.0))
    assert of_kind(UrlsDiscovered, again), "a redelivered leader releases its links again"


def test_nofollow_and_too_deep_links_are_not_released(dedup: Dedup) -> None:
    link = Link("http://a.test/1")
    for page in (
        parsed_page("http://a.test/", "d1", link, nofollow=True),
        parsed_page("http://a.test/deep", "d2", link, depth=3),
    ):
        assert not of_kind(UrlsDiscovered, dedup.handle(page, 0.0))


def test_invalid_scope_is_poison_and_changes_nothing(dedup: Dedup) -> None:
    with pytest.raises(Poison, match="scope"):
        list(dedup.handle(CrawlDefined(at=1.0, scope="everything!", max_depth=3), 1.0))
    answer = dedup.handle(parsed_page("http://a.test/", "d1", Link("http://x.out.test/")), 2.0)
    assert not of_kind(UrlsDiscovered, answer)


def test_redirect_adds_a_hop_and_no_depth(dedup: Dedup) -> None:
    target = Link("http://b.test/", redirect=True)
    answer = list(dedup.handle(parsed_page("http://a.test/", "", target, depth=2, status=301), 0.0))
    [event] = answer
    assert isinstance(event, UrlsDiscovered)
    (found,) = event.urls
    assert (found.url, found.depth, found.hops) == ("http://b.test/", 2, 1)


def test_error_page_yields_no_events(dedup: Dedup) -> None:
    assert list(dedup.handle(parsed_page("http://a.test/", "", status=500), 0.0)) == []


def parked_links(answer: Iterable[object]) -> list[list[tuple[str, int]]]:
    return [[(f.url, f.depth) for f in event.urls] for event in of_kind(LinksParked, answer)]


def test_out_of_scope_and_too_deep_links_are_parked_with_their_finder(dedup: Dedup) -> None:
    links = Link("http://a.test/1"), Link("http://out.test/"), Link("http://out.test/2", "", True)
    answer = list(dedup.handle(parsed_page("http://a.test/", "d1", *links, depth=2), 1.0))
    event = only(LinksParked, answer)
    assert (event.site, event.via) == ("a.test", "1.1.0@http://a.test/")
    assert parked_links(answer) == [[("http://out.test/", 3)]], "a nofollow link is not parked"
    deep = dedup.handle(parsed_page("http://a.test/1", "d2", Link("http://a.test/3"), depth=3), 1.0)
    assert parked_links(deep) == [[("http://a.test/3", 4)]]
    moved = Link("http://out.test/moved", redirect=True)
    answer = list(dedup.handle(parsed_page("http://a.test/4", "", moved, status=301, depth=1), 1.0))
    assert parked_links(answer) == [[("http://out.test/moved", 1)]]
    unfollowed = parsed_page("http://a.test/5", "d5", Link("http://out.test/5"), nofollow=True)
    assert parked_links(dedup.handle(unfollowed, 1.0)) == []


def test_link_on_every_page_is_parked_once_and_by_a_redelivered_page(dedup: Dedup) -> None:
    foot = Link("http://out.test/")
    first = parsed_page("http://a.test/", "d1", foot)
    assert parked_links(dedup.handle(first, 1.0)) == [[("http://out.test/", 1)]]
    assert parked_links(dedup.handle(parsed_page("http://a.test/1", "d2", foot), 1.0)) == []
    assert parked_links(dedup.handle(first, 1.0)) == [[("http://out.test/", 1)]]
    deeper = parsed_page("http://a.test/2", "d3", foot, depth=1)
    assert parked_links(dedup.handle(deeper, 1.0)) == [[("http://out.test/", 2)]]


def test_parked_links_are_split_into_events_that_fit_the_topic(dedup: Dedup) -> None:
    links = [Link(f"http://out.test/{n:04}{'x' * 1960}") for n in range(2500)]
    answer = list(dedup.handle(parsed_page("http://a.test/", "d1", *links), 1.0))
    parked = parked_links(answer)
    assert [url for urls in parked for url, _ in urls] == [link.url for link in links]
    assert len(parked) == 10, "each has 273 links of 2.2 kB, or the rest"
    assert all(encode(event) for event in of_kind(LinksParked, answer))


def test_verdict_carries_the_number_of_linking_sites_once(dedup: Dedup) -> None:
    known, other = "http://a.test/1", "http://a.test/2"
    list(dedup.handle(urls_discovered(known, other, via="seed@seeds/0/1"), 0.0))
    for n in range(20):
        finder = f"9.{n}.0@http://www.site{n % 10}.example/{n}"
        assert not list(dedup.handle(urls_discovered(known, via=finder), 0.0))
        own = f"9.{n}.1@http://a.test/{n + 5}"
        assert not list(dedup.handle(urls_discovered(other, via=own), 0.0))

    def linking_sites(url: str, digest: str) -> float:
        result = only(PageDeduplicated, dedup.handle(parsed_page(url, digest), 0.0))
        return estimate_sites(result.in_links)

    assert 5 < linking_sites(known, "d1") < 20
    assert linking_sites(known, "d1") == 0
    assert linking_sites(other, "d2") == 0
