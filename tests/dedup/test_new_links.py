"""Links that are new on a page, or have other words: what is told of them, and what is not."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from gossamer.events import (
    ChangeHint,
    ChangesHinted,
    CrawlDefined,
    EvidenceKind,
    Link,
    PageJudged,
    PageKind,
    PageParsed,
    UrlsAdmitted,
    UrlsDiscovered,
)
from gossamer.web.internal_links import sample_links
from services.dedup.links import MAX_NEW_LINKS, MAX_SKETCH_BYTES, find_new_links, sketch_links
from tests.dedup.test_documents import HIDDEN, THERE, Instance, parsed

HOME = "http://a.test/"
A, B, C = (f"http://a.test/{name}" for name in "abc")
OTHER = "http://b.test/"
TOLD = EvidenceKind.LINK
Crawl = Callable[..., list[ChangeHint]]


def home(at: float, *links: Link, url: str = HOME, text: str = "") -> PageParsed:
    return parsed(url, THERE, at, digest=text or f"text at {at}", links=links)


class Site(Instance):
    """Dedup, and what comes back to it of what it says."""

    def __init__(self, revisit: str = "optimal") -> None:
        super().__init__()
        crawl = CrawlDefined(at=0.0, scope="any()", max_depth=9, revisit=revisit)
        list(self.dedup.handle(crawl, 0.0))
        self.admitted = list[str]()

    def hints(self, page: PageParsed) -> list[ChangeHint]:
        told = list[ChangeHint]()
        for event in self.answer(page):
            for later in self.dedup.handle(event, 0.0) if isinstance(event, UrlsDiscovered) else ():
                if isinstance(later, UrlsAdmitted):
                    self.admitted += [found.url for found in later.urls]
                elif isinstance(later, ChangesHinted):
                    told += later.hints
        return told


def test_a_new_link_to_a_page_that_is_known_is_a_hint() -> None:
    site = Site()
    assert site.hints(home(1.0, Link(A), Link(B))) == []
    assert site.hints(home(2.0, Link(B), Link(A))) == []
    assert site.hints(home(3.0, Link(A))) == []
    assert site.hints(home(4.0, Link(B), Link(C), Link(A))) == [ChangeHint(B, TOLD, 4.0)]
    assert site.admitted == [A, B, C], "what is new itself is visited anyhow"


def test_other_words_for_a_link_are_a_hint() -> None:
    site = Site()
    site.hints(home(1.0, Link(A, "An article, one comment"), Link(B, "Another")))
    later = home(2.0, Link(A, "An article, two comments"), Link(B, "Another"))
    assert site.hints(later) == [ChangeHint(A, TOLD, 2.0)]
    assert site.hints(later) == [], "it was told"


SILENT = {
    "of another site": Link(OTHER, "new"),
    "to itself": Link(HOME, "new"),
    "not vouched for": Link(A, "new", nofollow=True),
    "a guess": Link(A, "new", kind="script"),
    "another name": Link(A, "new", kind="canonical"),
}


@pytest.mark.parametrize("link", SILENT.values(), ids=SILENT)
def test_only_what_a_reader_may_follow_within_the_site_is_told(link: Link) -> None:
    site = Site()
    for url in (A, OTHER, HOME):
        site.hints(home(1.0, Link(A), Link(OTHER), Link(HOME), url=url))
    site.hints(home(2.0, Link(B)))
    assert site.hints(home(3.0, Link(B), link)) == []


def test_a_page_that_has_not_changed_says_nothing() -> None:
    site = Site()
    site.hints(home(1.0, Link(A), Link(B), text="text"))
    site.hints(home(2.0, Link(A), text="text"))
    assert site.hints(home(3.0, Link(A), Link(B), text="text")) == []


def test_a_page_that_is_not_published_tells_of_its_links_as_well() -> None:
    site = Site()
    site.hints(home(1.0, Link(A), Link(B)))
    for at, links in ((2.0, (Link(A),)), (3.0, (Link(A), Link(B)))):
        told = site.hints(parsed(HOME, HIDDEN, at, digest=f"text at {at}", links=links))
    assert told == [ChangeHint(B, TOLD, 3.0)]


def test_a_crawl_that_does_not_come_back_keeps_nothing_of_links() -> None:
    site = Site("none")
    site.hints(home(1.0, Link(A), Link(B)))
    assert sketch_links(home(1.0, Link(A)))
    assert site.hints(home(2.0, Link(A))) == []
    assert site.hints(home(3.0, Link(A), Link(B))) == []


def test_of_very_many_new_links_the_first_are_told() -> None:
    many = [Link(f"{HOME}{n}") for n in range(1000)]
    site = Site()
    site.hints(home(1.0, *many))
    site.hints(home(2.0, Link(A)))
    told = site.hints(home(3.0, *many))
    assert {hint.url for hint in told} == {link.url for link in many[:MAX_NEW_LINKS]}


@given(
    links=st.lists(
        st.builds(Link, st.sampled_from([A, B, C, *map("{}x".format, (A, B))]), st.text())
    )
)
def test_no_link_of_a_page_is_new_to_its_own_sketch(links: list[Link]) -> None:
    page = home(1.0, *links)
    sketch = sketch_links(page)
    assert len(sketch) <= MAX_SKETCH_BYTES
    assert find_new_links(page, sketch) == frozenset()


def test_nearly_all_new_links_are_found() -> None:
    before = sketch_links(home(1.0, *(Link(f"{HOME}{n}") for n in range(100))))
    found = [n for n in range(100, 1100) if find_new_links(home(2.0, Link(f"{HOME}{n}")), before)]
    assert len(before) == 100 and len(found) > 900


def internal(site: Site, page: PageParsed) -> tuple[int, ...] | None:
    """Return the sample of internal links in the verdict on *page*."""
    return next(one.internal_links for one in site.answer(page) if isinstance(one, PageJudged))


def test_a_verdict_has_the_internal_links_if_the_policy_uses_them() -> None:
    page = home(1.0, Link(B), Link(A), *SILENT.values())
    assert internal(Site("selective-incremental"), page) == sample_links((A, B))
    assert internal(Site("selective-incremental"), home(1.0)) == ()
    assert internal(Site("optimal"), page) is None


def test_a_verdict_on_a_304_says_nothing_of_internal_links() -> None:
    site = Site("selective-incremental")
    site.hints(home(1.0, Link(A)))
    later = replace(home(2.0), kind=PageKind.NOT_MODIFIED, status=304)
    assert internal(site, later) is None
