"""Links of good pages to URLs that were admitted before."""

from collections.abc import Iterable

import pytest

from gossamer.events import CrawlDefined, Discovery, UrlsAdmitted, UrlsDiscovered
from gossamer.web.url import Site
from tests.dedup.harness import make_dedup, of_kind

URL = "http://a.test/x"


class Pages:
    """A dedup, and pages of one site that link to `URL` one after another."""

    def __init__(self, strategy: str = "best") -> None:
        crawl = CrawlDefined(at=0.0, scope="any()", max_depth=9, strategy=strategy)
        self.dedup, self._count = make_dedup(crawl), 0

    def link(self, score: float | None, depth: int = 1, **fields: object) -> list[UrlsAdmitted]:
        """Return what the link of another page with *score* admits or promotes."""
        self._count += 1
        found = Discovery(URL, depth, score=score, **fields)  # type: ignore[arg-type]
        via = f"1.1.{self._count}@http://a.test/{self._count}"
        event = UrlsDiscovered(at=1.0, site=Site("a.test"), via=via, urls=(found,))
        return of_kind(UrlsAdmitted, self.dedup.handle(event, 1.0))


def promotions(events: Iterable[UrlsAdmitted]) -> list[tuple[float | None, int]]:
    """Return the score of the best link and the number of links of each promoted URL."""
    return [(url.score, url.good_links) for one in events if one.promoted for url in one.urls]


def test_links_of_good_pages_promote_a_url_until_more_change_nothing() -> None:
    pages = Pages()
    [admitted] = pages.link(0.2)
    assert not admitted.promoted
    found = [promotions(pages.link(score)) for score in (0.7, 0.2, 0.6, 0.9, 1.0)]
    assert found == [[(0.7, 1)], [], [(0.7, 2)], [(0.9, 3)], []]


def test_first_link_of_a_good_page_counts() -> None:
    pages = Pages()
    pages.link(0.9)
    found = [promotions(pages.link(score)) for score in (0.7, 0.7, 0.7)]
    assert found == [[(0.9, 2)], [(0.9, 3)], []]


def test_promoted_url_keeps_the_depth_of_its_admission() -> None:
    pages = Pages()
    pages.link(0.9, depth=2)
    [promoted] = pages.link(0.9, depth=7)
    assert [(url.url, url.depth) for url in promoted.urls] == [(URL, 2)]


def test_guess_promotes_nothing() -> None:
    pages = Pages()
    pages.link(0.9)
    assert not pages.link(0.9, position="script", guess=True)


@pytest.mark.parametrize("strategy", ["breadth", "seeds-first", "sample"])
def test_other_strategies_promote_nothing(strategy: str) -> None:
    pages = Pages(strategy)
    assert pages.link(0.9)
    assert not pages.link(0.9)


def test_url_that_is_not_remembered_is_not_promoted() -> None:
    pages = Pages()
    pages.link(0.9)
    pages.dedup._promotions.clear()
    assert not pages.link(0.9)
