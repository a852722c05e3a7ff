"""Scores of pages and links."""

from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import (
    CrawlDefined,
    Discovery,
    Link,
    LinksParked,
    PageDeduplicated,
    PageParsed,
    UrlsDiscovered,
    Verdict,
    Visit,
)
from gossamer.events.pages import Listing, PageKind
from gossamer.events.public import Gone
from gossamer.services.dedup.scores import NOVELTY, ScoredPage, score_links, score_page
from tests.dedup.harness import make_dedup, only, parsed_page

URL = "http://a.test/"
TEXT = "Some words of a page that nobody has read before. " * 40


def page(url: str = URL, text: str | None = TEXT, *links: Link, **fields: object) -> PageParsed:
    visit = Visit(id=f"1.1.0@{url}", url=url, score=0.7)
    given: dict[str, Any] = {"visit": visit, "kind": PageKind.DOCUMENT, "text": text, **fields}
    return parsed_page(url, text or url, *links, **given)


def score(
    found: PageParsed,
    verdict: Verdict = Verdict.FIRST,
    change: float | None = None,
    hidden: Gone | None = None,
    relevant: str = "",
) -> float:
    return score_page(ScoredPage(found, verdict, change, None, hidden, relevant))


def test_long_new_text_is_good_and_other_pages_are_not() -> None:
    assert score(page()) > 0.8
    assert score(page(text="Two words.")) < 0.3
    assert score(page(text=None)) == 0.2
    assert score(page(URL, None, compared_size=4000)) > 0.8
    menu = [Link(f"http://a.test/{number}", "x" * 40) for number in range(99)]
    assert score(page(URL, None, *menu, compared_size=4000)) < 0.3
    assert score(page(), Verdict.NEAR_DUPLICATE) < 0.2
    assert score(page(), Verdict.DUPLICATE) == 0.0
    assert score(page(), hidden=Gone.NOINDEX) < 0.5
    assert score(page(), hidden=Gone.IRRELEVANT) < 0.1
    assert score(page(), hidden=Gone.SOFT_404) == 0.0


def test_changed_page_has_a_better_score_the_more_it_has_changed() -> None:
    unchanged = score(page(), Verdict.UNCHANGED, 0.0)
    little, much, all_new = (score(page(), Verdict.CHANGED, one) for one in (0.1, 0.6, 1.0))
    assert 0 < unchanged < little < much < all_new == score(page())


def test_page_in_another_language_than_the_expression_names_has_half_the_score() -> None:
    found = page(language="en")
    assert score(found, relevant='language("pt") or pattern("x")') == score(found) / 2
    assert score(found, relevant='language("pt", "en")') == score(found)
    assert score(found, relevant='not language("pt")') == score(found)


@given(
    st.integers(0, 10**6) | st.none(),
    st.sampled_from([*Verdict]),
    st.none() | st.floats(0, 1),
    st.none() | st.sampled_from([*Gone]),
    st.sampled_from(["", 'language("pt")', 'not language("en")']),
)
def test_default_score_is_between_zero_and_one(
    chars: int | None, verdict: Verdict, change: float | None, hidden: Gone | None, relevant: str
) -> None:
    found = page(text=None if chars is None else "x" * chars)
    assert 0.0 <= score(found, verdict, change, hidden, relevant) <= 1.0
    if verdict not in NOVELTY:
        assert score(found, verdict, change, hidden, relevant) == 0.0


LINKS = (Link("http://a.test/1", "Old Ships"), Link("http://a.test/ships"), Link("http://a.test/2"))


def test_focused_link_has_the_mean_of_its_page_and_its_words() -> None:
    relevant = 'pattern("ship") and not pattern("2$")'
    scored = ScoredPage(page(URL, TEXT, *LINKS), Verdict.FIRST, None, None, None, relevant)
    assert score_links(scored, 0.5, "focused") == {
        "http://a.test/1": 0.75,
        "http://a.test/ships": 0.75,
        "http://a.test/2": 0.25,
    }
    assert score_links(scored, 0.5, "best") == {}
    assert score_links(scored._replace(relevant='language("pt")'), 0.5, "focused") == {}


CRAWL = CrawlDefined(at=0.0, scope="not domain('out.test')", max_depth=9)


def discoveries(events: Iterable[object]) -> list[Discovery]:
    kinds = (UrlsDiscovered, LinksParked)
    return [found for event in events if isinstance(event, kinds) for found in event.urls]


def test_released_and_parked_links_have_the_score_of_their_page() -> None:
    found = page(URL, TEXT, Link("http://a.test/1"), Link("http://out.test/"))
    events = [*make_dedup(CRAWL).handle(found, 1.0)]
    assert only(PageDeduplicated, events).score == score(found)
    assert [one.score for one in discoveries(events)] == [score(found)] * 2


def test_links_of_a_focused_crawl_are_released_with_scores_of_their_own() -> None:
    dedup = make_dedup(CRAWL)
    relevant = 'any() or pattern("ship")'
    crawl = CrawlDefined(at=1.0, scope="any()", max_depth=9, relevant=relevant, strategy="focused")
    list(dedup.handle(crawl, 1.0))
    found = page(URL, TEXT, *LINKS)
    scores = {one.url: one.score for one in discoveries(dedup.handle(found, 1.0))}
    whole = score(found)
    assert scores == {
        "http://a.test/1": (whole + 1) / 2,
        "http://a.test/ships": (whole + 1) / 2,
        "http://a.test/2": whole / 2,
    }


def test_redirect_passes_its_score_on_and_a_listing_has_none() -> None:
    moved = page(URL, None, Link("http://a.test/1", redirect=True), kind=PageKind.MOVED, status=301)
    [target] = discoveries(make_dedup(CRAWL).handle(moved, 1.0))
    assert target.score == moved.visit.score == 0.7
    feed = page(URL, None, Link("http://a.test/1"), kind=PageKind.LISTING, listing=Listing.FEED)
    [entry] = discoveries(make_dedup(CRAWL).handle(feed, 1.0))
    assert entry.score is None


def test_redelivered_page_has_its_score_again() -> None:
    dedup, found = make_dedup(CRAWL), page()
    once, again = (only(PageDeduplicated, dedup.handle(found, 1.0)) for _ in range(2))
    assert once == again
    later = replace(found, fetched_at=2.0, visit=replace(found.visit, id="1.2.0@x"))
    assert only(PageDeduplicated, dedup.handle(later, 2.0)).score < once.score
