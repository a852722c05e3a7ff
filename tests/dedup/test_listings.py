"""Links and hints from sitemaps and feeds, and the sites that they may speak for."""

from typing import Any

import pytest
from msgspec.structs import replace

from gossamer.events import (
    BlocklistChanged,
    ChangeHint,
    ChangesHinted,
    CrawlDefined,
    Discovery,
    Entry,
    Event,
    EvidenceKind,
    Link,
    LinksParked,
    Listing,
    Page,
    PageDeduplicated,
    PageKind,
    PageParsed,
    Purpose,
    Tombstone,
    UrlsDiscovered,
    Verdict,
    Visit,
)
from gossamer.events.hazards import Hazard
from gossamer.log.codec import encode
from gossamer.services.dedup.seen import SeenTable
from gossamer.services.dedup.service import Dedup
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.soft_404 import NO_PAGE
from gossamer.web.url import Site
from tests.dedup.harness import make_dedup, of_kind, only, parsed_page
from tests.support.kinds import with_kind

DAY = 86400.0
MAP = "http://a.test/map.xml"
CDN_MAP = "http://cdn.test/a.xml"
Answer = list[Event | Tombstone]


CRAWL = CrawlDefined(at=0.0, scope="not domain('out.test')", max_depth=3, revisit="optimal")


@pytest.fixture
def dedup() -> Dedup:
    return make_dedup(CRAWL)


def listing_page(
    *entries: Entry,
    at: float = 10 * DAY,
    url: str = MAP,
    listing: Listing = Listing.SITEMAP,
    depth: int = 1,
    **fields: object,
) -> PageParsed:
    visit = Visit(f"1.1.0@{url}", url, depth=depth, purpose=Purpose.SITEMAP)
    given: dict[str, Any] = {
        "visit": visit,
        "fetched_at": at,
        "listing": listing,
        "entries": entries,
        **fields,
    }
    return parsed_page(url, str(hash(entries)), **given)


def handle(dedup: Dedup, page: PageParsed) -> Answer:
    return list(dedup.handle(page, page.fetched_at))


def followed_urls(answer: Answer) -> list[str]:
    return [one.url for event in of_kind(UrlsDiscovered, answer) for one in event.urls]


def hints(answer: Answer) -> list[ChangeHint]:
    return [hint for event in of_kind(ChangesHinted, answer) for hint in event.hints]


def verdict(answer: Answer) -> PageDeduplicated:
    return only(PageDeduplicated, answer)


ONE, TWO = Entry("http://a.test/1", 5 * DAY, every=DAY), Entry("http://a.test/2", every=7 * DAY)


def test_entries_are_followed_and_their_dates_are_hints(dedup: Dedup) -> None:
    answer = handle(dedup, listing_page(ONE, TWO, Entry("http://a.test/3")))
    found = only(UrlsDiscovered, answer)
    assert [(one.url, one.depth, one.every) for one in found.urls] == [
        (ONE.url, 1, DAY),
        (TWO.url, 1, 7 * DAY),
        ("http://a.test/3", 1, 0.0),
    ]
    hinted = only(ChangesHinted, answer)
    assert (hinted.site, hinted.host) == ("a.test", "http://a.test")
    assert hinted.hints == (
        ChangeHint(ONE.url, EvidenceKind.SITEMAP, 5 * DAY, DAY),
        ChangeHint(TWO.url, EvidenceKind.CHANGEFREQ, 0.0, 7 * DAY),
    )
    result = verdict(answer)
    assert (result.verdict, result.change, result.links) == (Verdict.FIRST, None, 3)
    assert not of_kind(Page, answer), "a listing is not a document"


def test_dates_of_the_last_visit_are_not_hints(dedup: Dedup) -> None:
    older = Entry("http://a.test/3", 4 * DAY)
    handle(dedup, listing_page(older, TWO, replace(ONE, url="http://a.test/4")))
    newer = replace(TWO, changed_at=6 * DAY)
    answer = handle(dedup, listing_page(older, newer, at=11 * DAY))
    assert hints(answer) == [ChangeHint(TWO.url, EvidenceKind.SITEMAP, 6 * DAY, 7 * DAY)]
    assert (verdict(answer).verdict, verdict(answer).change) == (Verdict.CHANGED, 1.0)


def test_date_in_the_future_does_not_suppress_later_hints(dedup: Dedup) -> None:
    handle(dedup, listing_page(replace(ONE, changed_at=1000 * DAY)))
    answer = handle(dedup, listing_page(replace(TWO, changed_at=10.5 * DAY), at=11 * DAY))
    assert [hint.url for hint in hints(answer)] == [TWO.url]


def test_unchanged_listing_yields_only_its_verdict(dedup: Dedup) -> None:
    handle(dedup, listing_page(ONE))
    answer = handle(dedup, listing_page(ONE, at=11 * DAY))
    assert [type(event) for event in answer] == [PageDeduplicated]
    assert (verdict(answer).verdict, verdict(answer).change) == (Verdict.UNCHANGED, 0.0)


def test_redelivered_listing_gets_the_same_answer(dedup: Dedup) -> None:
    for page in (
        listing_page(ONE),
        listing_page(ONE, TWO, at=11 * DAY),
        listing_page(ONE, TWO, at=12 * DAY),
    ):
        assert handle(dedup, page) == handle(dedup, page)


def test_sitemaps_of_an_index_are_one_level_deeper(dedup: Dedup) -> None:
    inner = Entry("http://a.test/inner.xml", 5 * DAY)
    answer = handle(dedup, listing_page(inner, listing=Listing.SITEMAP_INDEX))
    [[found]] = [event.urls for event in of_kind(UrlsDiscovered, answer)]
    assert (found.purpose, found.depth) == (Purpose.SITEMAP, 2)
    assert [hint.url for hint in hints(answer)] == [inner.url]


def test_index_within_an_index_is_not_read(dedup: Dedup) -> None:
    entry = Entry("http://a.test/inmost.xml", 5 * DAY)
    inner = listing_page(entry, listing=Listing.SITEMAP_INDEX, depth=2)
    answer = handle(dedup, inner)
    assert followed_urls(answer) == [] and hints(answer) == []
    assert Hazard.NESTED_INDEX in verdict(answer).hazards and verdict(answer).reason
    linked = replace(inner, visit=replace(inner.visit, purpose=Purpose.PAGE), fetched_at=11 * DAY)
    url = "http://a.test/linked.xml"
    linked = replace(linked, visit=replace(linked.visit, url=url, id=f"1.2.0@{url}"))
    assert followed_urls(handle(dedup, linked)) == [entry.url], "a page links to this index"


def robots_naming(url: str, by: str) -> UrlsDiscovered:
    found = Discovery(url, 1, purpose=Purpose.SITEMAP)
    site = url.split("/")[2]
    return UrlsDiscovered(at=0.0, site=Site(site), via=f"1.1.0@{by}", urls=(found,))


def discover(dedup: Dedup, event: UrlsDiscovered) -> None:
    """Handle *event*, and settle."""
    list(dedup.handle(event, 0.0))
    dedup.settle()


@pytest.mark.parametrize(
    ("by", "followed"),
    [("", []), ("http://a.test/page", []), ("http://a.test/robots.txt", [ONE.url])],
    ids=["nobody", "a link of a page", "robots.txt"],
)
def test_entries_of_other_sites_count_if_their_robots_txt_names_the_sitemap(
    dedup: Dedup, by: str, followed: list[str]
) -> None:
    if by:
        discover(dedup, robots_naming(CDN_MAP, by))
    answer = handle(dedup, listing_page(ONE, Entry("http://b.test/1", DAY), url=CDN_MAP))
    assert followed_urls(answer) == [hint.url for hint in hints(answer)] == followed


def test_site_that_names_a_sitemap_later_counts_from_then_on(dedup: Dedup) -> None:
    page = listing_page(ONE, Entry("http://b.test/1"), url=CDN_MAP)
    discover(dedup, robots_naming(CDN_MAP, "http://a.test/robots.txt"))
    handle(dedup, page)
    discover(dedup, robots_naming(CDN_MAP, "http://b.test/robots.txt"))
    answer = handle(dedup, replace(page, fetched_at=11 * DAY))
    assert followed_urls(answer) == [ONE.url, "http://b.test/1"]


def test_site_that_names_an_index_names_its_sitemaps(dedup: Dedup) -> None:
    index, inner = CDN_MAP, "http://cdn.test/inner.xml"
    discover(dedup, robots_naming(index, "http://a.test/robots.txt"))
    handle(dedup, listing_page(Entry(inner), url=index, listing=Listing.SITEMAP_INDEX))
    assert followed_urls(handle(dedup, listing_page(ONE, url=inner, depth=2))) == [ONE.url]


def test_feed_entries_of_other_sites_are_links_without_hints(dedup: Dedup) -> None:
    other, link = Entry("http://b.test/1", 5 * DAY), Link("http://a.test/")
    answer = handle(dedup, listing_page(ONE, other, listing=Listing.FEED, links=(link,)))
    assert sorted(followed_urls(answer)) == [link.url, ONE.url, other.url]
    assert hints(answer) == [ChangeHint(ONE.url, EvidenceKind.FEED, 5 * DAY, DAY)]


def test_excluded_entries_are_parked(dedup: Dedup) -> None:
    list(dedup.handle(BlocklistChanged(at=0.0, rule="http://a.test/2"), 0.0))
    out = Entry("http://out.test/1")
    answer = handle(dedup, listing_page(ONE, TWO, out, listing=Listing.FEED))
    assert followed_urls(answer) == [ONE.url]
    parked = only(LinksParked, answer)
    assert {one.url for one in parked.urls} == {TWO.url, out.url}
    assert verdict(answer).hazards == (Hazard.BLACKLISTED,)


def test_nofollow_listing_gives_hints_and_no_links(dedup: Dedup) -> None:
    answer = handle(dedup, listing_page(ONE, nofollow=True))
    assert not followed_urls(answer) and len(hints(answer)) == 1


def test_large_sitemap_is_split_into_events(dedup: Dedup) -> None:
    entries = [Entry(f"http://a.test/{n}{'x' * 1900}", DAY) for n in range(5000)]
    answer = handle(dedup, listing_page(*entries))
    assert len(followed_urls(answer)) == len(hints(answer)) == 5000
    for event in answer:
        encode(event)


@pytest.mark.parametrize("policy", ["none", "fixed:1d", "adaptive", "selective-incremental:1d"])
def test_policies_without_hints_get_none(dedup: Dedup, policy: str) -> None:
    list(dedup.handle(replace(CRAWL, revisit=policy), 0.0))
    answer = handle(dedup, listing_page(ONE, TWO))
    assert len(followed_urls(answer)) == 2 and not hints(answer)


def test_hints_of_a_host_are_limited_to_the_latest_changes() -> None:
    store = SqliteStore(Database(":memory:"))
    few = Dedup(SeenTable(store), store, DedupSettings(), hints_limit=2)
    list(few.handle(CRAWL, 0.0))
    days = (3, 5, 1, 4)
    answer = handle(few, listing_page(*(Entry(f"http://a.test/{day}", day * DAY) for day in days)))
    assert [hint.url for hint in hints(answer)] == ["http://a.test/5", "http://a.test/4"]
    assert len(followed_urls(answer)) == len(days)


def test_document_that_becomes_a_listing_is_deleted(dedup: Dedup) -> None:
    page = listing_page(ONE)
    handle(dedup, with_kind(replace(page, listing=None, entries=(), fetched_at=DAY, text="x")))
    [gone] = [event for event in handle(dedup, page) if isinstance(event, Tombstone)]
    assert (gone.url, gone.reason) == (MAP, "listing")


def test_feed_that_is_a_soft_404_yields_no_links(dedup: Dedup) -> None:
    page = replace(listing_page(ONE, listing=Listing.FEED), kind=PageKind.SOFT_404)
    answer = handle(dedup, page)
    assert (followed_urls(answer), hints(answer)) == ([], [])
    assert [event.reason for event in of_kind(PageDeduplicated, answer)] == [NO_PAGE]
