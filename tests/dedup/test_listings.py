"""What follows from sitemaps and feeds: what is followed, what is hinted, and who may say so."""

from collections.abc import Iterable
from typing import TypeVar

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
    PageJudged,
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
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from services.dedup.pages import NO_PAGE
from services.dedup.seen import SeenTable
from services.dedup.service import Dedup
from tests.support.kinds import with_kind

DAY = 86400.0
MAP = "http://a.test/map.xml"
OTHERS = "http://cdn.test/a.xml"
E = TypeVar("E", bound=Event)
Answer = list[Event | Tombstone]


CRAWL = CrawlDefined(at=0.0, scope="not domain('out.test')", max_depth=3, revisit="optimal")


@pytest.fixture
def dedup() -> Dedup:
    store = SqliteStore(Database(":memory:"))
    processor = Dedup(SeenTable(store), store, DedupSettings())
    list(processor.handle(CRAWL, 0.0))
    return processor


def listed(
    *entries: Entry,
    at: float = 10 * DAY,
    url: str = MAP,
    listing: Listing = Listing.SITEMAP,
    depth: int = 1,
    **fields: object,
) -> PageParsed:
    site = url.split("/")[2]
    given = {"digest": str(hash(entries)), "status": 200, **fields}
    return with_kind(
        PageParsed(
            at=1.0,
            site=site,
            host=f"http://{site}",
            visit=Visit(f"1.1.0@{url}", url, depth=depth, purpose=Purpose.SITEMAP),
            fetched_at=at,
            listing=listing,
            entries=entries,
            **given,  # type: ignore[arg-type]
        )
    )


def told(dedup: Dedup, page: PageParsed) -> Answer:
    return list(dedup.handle(page, 1.0))


def of_kind(kind: type[E], events: Iterable[object]) -> list[E]:
    return [event for event in events if isinstance(event, kind)]


def followed(answer: Answer) -> list[str]:
    return [one.url for event in of_kind(UrlsDiscovered, answer) for one in event.urls]


def hints(answer: Answer) -> list[ChangeHint]:
    return [hint for event in of_kind(ChangesHinted, answer) for hint in event.hints]


def verdict(answer: Answer) -> PageJudged:
    [judged] = of_kind(PageJudged, answer)
    return judged


ONE, TWO = Entry("http://a.test/1", 5 * DAY, every=DAY), Entry("http://a.test/2", every=7 * DAY)


def test_entries_are_followed_and_their_dates_are_hints(dedup: Dedup) -> None:
    answer = told(dedup, listed(ONE, TWO, Entry("http://a.test/3")))
    [found] = of_kind(UrlsDiscovered, answer)
    assert [(one.url, one.depth, one.every) for one in found.urls] == [
        (ONE.url, 1, DAY),
        (TWO.url, 1, 7 * DAY),
        ("http://a.test/3", 1, 0.0),
    ]
    [hinted] = of_kind(ChangesHinted, answer)
    assert (hinted.site, hinted.host) == ("a.test", "http://a.test")
    assert hinted.hints == (
        ChangeHint(ONE.url, EvidenceKind.SITEMAP, 5 * DAY, DAY),
        ChangeHint(TWO.url, EvidenceKind.CHANGEFREQ, 0.0, 7 * DAY),
    )
    judged = verdict(answer)
    assert (judged.verdict, judged.change, judged.links) == (Verdict.FIRST, None, 3)
    assert not of_kind(Page, answer), "it is no document"


def test_what_was_said_before_is_no_hint(dedup: Dedup) -> None:
    older = Entry("http://a.test/3", 4 * DAY)
    told(dedup, listed(older, TWO, replace(ONE, url="http://a.test/4")))
    newer = replace(TWO, changed_at=6 * DAY)
    answer = told(dedup, listed(older, newer, at=11 * DAY))
    assert hints(answer) == [ChangeHint(TWO.url, EvidenceKind.SITEMAP, 6 * DAY, 7 * DAY)]
    assert (verdict(answer).verdict, verdict(answer).change) == (Verdict.CHANGED, 1.0)


def test_a_date_in_the_future_does_not_silence_those_that_follow(dedup: Dedup) -> None:
    told(dedup, listed(replace(ONE, changed_at=1000 * DAY)))
    answer = told(dedup, listed(replace(TWO, changed_at=10.5 * DAY), at=11 * DAY))
    assert [hint.url for hint in hints(answer)] == [TWO.url]


def test_of_a_listing_that_has_not_changed_nothing_is_said_again(dedup: Dedup) -> None:
    told(dedup, listed(ONE))
    answer = told(dedup, listed(ONE, at=11 * DAY))
    assert [type(event) for event in answer] == [PageJudged]
    assert (verdict(answer).verdict, verdict(answer).change) == (Verdict.UNCHANGED, 0.0)


def test_a_record_that_comes_again_is_told_the_same(dedup: Dedup) -> None:
    for page in (listed(ONE), listed(ONE, TWO, at=11 * DAY), listed(ONE, TWO, at=12 * DAY)):
        assert told(dedup, page) == told(dedup, page)


def test_an_index_leads_to_sitemaps_a_link_further(dedup: Dedup) -> None:
    inner = Entry("http://a.test/inner.xml", 5 * DAY)
    answer = told(dedup, listed(inner, listing=Listing.SITEMAP_INDEX))
    [[found]] = [event.urls for event in of_kind(UrlsDiscovered, answer)]
    assert (found.purpose, found.depth) == (Purpose.SITEMAP, 2)
    assert [hint.url for hint in hints(answer)] == [inner.url]


def named(url: str, by: str) -> UrlsDiscovered:
    found = Discovery(url, 1, purpose=Purpose.SITEMAP)
    site = url.split("/")[2]
    return UrlsDiscovered(at=0.0, site=site, via=f"1.1.0@{by}", urls=(found,))


def tell(dedup: Dedup, event: UrlsDiscovered) -> None:
    """Handle *event*, and advance."""
    list(dedup.handle(event, 0.0))
    dedup.settle()


def test_a_sitemap_speaks_for_its_own_site(dedup: Dedup) -> None:
    answer = told(dedup, listed(ONE, Entry("http://b.test/1", DAY), url=OTHERS))
    assert not followed(answer) and not hints(answer)


def test_and_for_those_whose_robots_txt_names_it(dedup: Dedup) -> None:
    tell(dedup, named(OTHERS, "http://a.test/robots.txt"))
    answer = told(dedup, listed(ONE, Entry("http://b.test/1", DAY), url=OTHERS))
    assert followed(answer) == [hint.url for hint in hints(answer)] == [ONE.url]


def test_a_page_that_links_to_a_sitemap_is_no_robots_txt(dedup: Dedup) -> None:
    tell(dedup, named(OTHERS, "http://a.test/page"))
    assert not followed(told(dedup, listed(ONE, url=OTHERS)))


def test_who_names_it_later_counts_from_then_on(dedup: Dedup) -> None:
    page = listed(ONE, Entry("http://b.test/1"), url=OTHERS)
    tell(dedup, named(OTHERS, "http://a.test/robots.txt"))
    told(dedup, page)
    tell(dedup, named(OTHERS, "http://b.test/robots.txt"))
    answer = told(dedup, replace(page, fetched_at=11 * DAY))
    assert followed(answer) == [ONE.url, "http://b.test/1"]


def test_who_names_an_index_names_what_is_in_it(dedup: Dedup) -> None:
    index, inner = OTHERS, "http://cdn.test/inner.xml"
    tell(dedup, named(index, "http://a.test/robots.txt"))
    told(dedup, listed(Entry(inner), url=index, listing=Listing.SITEMAP_INDEX))
    assert followed(told(dedup, listed(ONE, url=inner, depth=2))) == [ONE.url]


def test_a_feed_links_to_other_sites_but_does_not_speak_for_them(dedup: Dedup) -> None:
    other, link = Entry("http://b.test/1", 5 * DAY), Link("http://a.test/")
    answer = told(dedup, listed(ONE, other, listing=Listing.FEED, links=(link,)))
    assert sorted(followed(answer)) == [link.url, ONE.url, other.url]
    assert hints(answer) == [ChangeHint(ONE.url, EvidenceKind.FEED, 5 * DAY, DAY)]


def test_what_the_crawl_leaves_out_is_parked(dedup: Dedup) -> None:
    list(dedup.handle(BlocklistChanged(at=0.0, rule="http://a.test/2"), 0.0))
    out = Entry("http://out.test/1")
    answer = told(dedup, listed(ONE, TWO, out, listing=Listing.FEED))
    assert followed(answer) == [ONE.url]
    [aside] = of_kind(LinksParked, answer)
    assert {one.url for one in aside.urls} == {TWO.url, out.url}
    assert verdict(answer).hazards == (Hazard.BLACKLISTED,)


def test_its_header_may_ask_that_nothing_is_followed(dedup: Dedup) -> None:
    answer = told(dedup, listed(ONE, nofollow=True))
    assert not followed(answer) and len(hints(answer)) == 1


def test_the_largest_sitemap_is_many_events(dedup: Dedup) -> None:
    entries = [Entry(f"http://a.test/{n}{'x' * 1900}", DAY) for n in range(5000)]
    answer = told(dedup, listed(*entries))
    assert len(followed(answer)) == len(hints(answer)) == 5000
    for event in answer:
        encode(event)


@pytest.mark.parametrize("policy", ["none", "fixed:1d", "adaptive", "selective-incremental:1d"])
def test_hints_that_no_policy_uses_are_not_given(dedup: Dedup, policy: str) -> None:
    list(dedup.handle(replace(CRAWL, revisit=policy), 0.0))
    answer = told(dedup, listed(ONE, TWO))
    assert len(followed(answer)) == 2 and not hints(answer)


def test_of_a_host_the_latest_changes_are_hinted_and_no_more_than_it_may_have_pages() -> None:
    store = SqliteStore(Database(":memory:"))
    few = Dedup(SeenTable(store), store, DedupSettings(), hints_limit=2)
    list(few.handle(CRAWL, 0.0))
    days = (3, 5, 1, 4)
    answer = told(few, listed(*(Entry(f"http://a.test/{day}", day * DAY) for day in days)))
    assert [hint.url for hint in hints(answer)] == ["http://a.test/5", "http://a.test/4"]
    assert len(followed(answer)) == len(days)


def test_a_document_that_becomes_a_listing_is_gone(dedup: Dedup) -> None:
    page = listed(ONE)
    told(dedup, with_kind(replace(page, listing=None, entries=(), fetched_at=DAY, text="x")))
    [gone] = [event for event in told(dedup, page) if isinstance(event, Tombstone)]
    assert (gone.url, gone.reason) == (MAP, "listing")


def test_a_feed_that_its_host_sends_where_it_has_no_page_leads_nowhere(dedup: Dedup) -> None:
    page = replace(listed(ONE, listing=Listing.FEED), kind=PageKind.SOFT_404)
    answer = told(dedup, page)
    assert (followed(answer), hints(answer)) == ([], [])
    assert [event.reason for event in of_kind(PageJudged, answer)] == [NO_PAGE]
