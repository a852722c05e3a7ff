"""Hints from links that are new on a page, or have another text."""

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
    PageDeduplicated,
    PageKind,
    PageParsed,
    UrlsAdmitted,
    UrlsDiscovered,
)
from gossamer.services.dedup.links import (
    MAX_NEW_LINKS,
    MAX_SKETCH_BYTES,
    find_new_links,
    sketch_links,
)
from gossamer.web.links import sample_links
from tests.dedup.harness import only
from tests.dedup.test_documents import HIDDEN, THERE, Instance, parsed_page

HOME = "http://a.test/"
A, B, C = (f"http://a.test/{name}" for name in "abc")
OTHER = "http://b.test/"
LINKED = EvidenceKind.LINK
Crawl = Callable[..., list[ChangeHint]]


def home(at: float, *links: Link, url: str = HOME, text: str = "") -> PageParsed:
    return parsed_page(url, THERE, at, digest=text or f"text at {at}", links=links)


class Site(Instance):
    """Dedup, which handles the links that it releases."""

    def __init__(self, revisit: str = "optimal") -> None:
        super().__init__()
        crawl = CrawlDefined(at=0.0, scope="any()", max_depth=9, revisit=revisit)
        list(self.dedup.handle(crawl, 0.0))
        self.admitted = list[str]()

    def hints(self, page: PageParsed) -> list[ChangeHint]:
        hints = list[ChangeHint]()
        for event in self.answer(page):
            for later in self.dedup.handle(event, 0.0) if isinstance(event, UrlsDiscovered) else ():
                if isinstance(later, UrlsAdmitted):
                    self.admitted += [found.url for found in later.urls]
                elif isinstance(later, ChangesHinted):
                    hints += later.hints
        return hints


def test_new_link_to_a_seen_url_is_a_hint() -> None:
    site = Site()
    assert site.hints(home(1.0, Link(A), Link(B))) == []
    assert site.hints(home(2.0, Link(B), Link(A))) == []
    assert site.hints(home(3.0, Link(A))) == []
    assert site.hints(home(4.0, Link(B), Link(C), Link(A))) == [ChangeHint(B, LINKED, 4.0)]
    assert site.admitted == [A, B, C], "new URLs are admitted"


def test_link_with_another_text_is_a_hint() -> None:
    site = Site()
    site.hints(home(1.0, Link(A, "An article, one comment"), Link(B, "Another")))
    later = home(2.0, Link(A, "An article, two comments"), Link(B, "Another"))
    assert site.hints(later) == [ChangeHint(A, LINKED, 2.0)]
    assert site.hints(later) == [], "the hint was given before"


IGNORED_LINKS = {
    "of another site": Link(OTHER, "new"),
    "to itself": Link(HOME, "new"),
    "nofollow": Link(A, "new", nofollow=True),
    "a guess": Link(A, "new", kind="script"),
    "another name": Link(A, "new", kind="canonical"),
}


@pytest.mark.parametrize("link", IGNORED_LINKS.values(), ids=IGNORED_LINKS)
def test_only_internal_clickable_links_are_hints(link: Link) -> None:
    site = Site()
    for url in (A, OTHER, HOME):
        site.hints(home(1.0, Link(A), Link(OTHER), Link(HOME), url=url))
    site.hints(home(2.0, Link(B)))
    assert site.hints(home(3.0, Link(B), link)) == []


def test_unchanged_page_gives_no_hints() -> None:
    site = Site()
    site.hints(home(1.0, Link(A), Link(B), text="text"))
    site.hints(home(2.0, Link(A), text="text"))
    assert site.hints(home(3.0, Link(A), Link(B), text="text")) == []


def test_unpublished_page_gives_hints() -> None:
    site = Site()
    site.hints(home(1.0, Link(A), Link(B)))
    for at, links in ((2.0, (Link(A),)), (3.0, (Link(A), Link(B)))):
        hints = site.hints(parsed_page(HOME, HIDDEN, at, digest=f"text at {at}", links=links))
    assert hints == [ChangeHint(B, LINKED, 3.0)]


def test_crawl_without_revisits_stores_no_sketch_of_links() -> None:
    site = Site("none")
    site.hints(home(1.0, Link(A), Link(B)))
    assert sketch_links(home(1.0, Link(A)))
    assert site.hints(home(2.0, Link(A))) == []
    assert site.hints(home(3.0, Link(A), Link(B))) == []


def test_hints_are_limited_to_the_first_new_links() -> None:
    many = [Link(f"{HOME}{n}") for n in range(1000)]
    site = Site()
    site.hints(home(1.0, *many))
    site.hints(home(2.0, Link(A)))
    hints = site.hints(home(3.0, *many))
    assert {hint.url for hint in hints} == {link.url for link in many[:MAX_NEW_LINKS]}


@given(
    links=st.lists(
        st.builds(Link, st.sampled_from([A, B, C, *map("{}x".format, (A, B))]), st.text())
    )
)
def test_links_of_a_page_are_not_new_to_its_sketch(links: list[Link]) -> None:
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
    return only(PageDeduplicated, site.answer(page)).internal_links


def test_verdict_has_internal_links_if_the_policy_uses_them() -> None:
    page = home(1.0, Link(B), Link(A), *IGNORED_LINKS.values())
    assert internal(Site("selective-incremental"), page) == sample_links((A, B))
    assert internal(Site("selective-incremental"), home(1.0)) == ()
    assert internal(Site("optimal"), page) is None


def test_verdict_on_a_304_has_no_internal_links() -> None:
    site = Site("selective-incremental")
    site.hints(home(1.0, Link(A)))
    later = replace(home(2.0), kind=PageKind.NOT_MODIFIED, status=304)
    assert internal(site, later) is None
