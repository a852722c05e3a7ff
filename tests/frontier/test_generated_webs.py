"""Small forms of `bench.worth`: strategies on generated webs whose useful pages are known."""

from functools import cache

import pytest

from bench.worth import POLICIES, crawl_quality, new_texts, novelty_requests
from bench.worth_crawl import Request
from bench.worth_webs import NoveltyWeb, QualityWeb, ideal_visits, share_reached

PAGES, HOSTS = 1000, 40
SIZE, REQUESTS = 0.02, 2500


@cache
def quality_web() -> QualityWeb:
    return QualityWeb(7, PAGES, HOSTS)


@cache
def visits_by(strategy: str) -> list[bool]:
    return crawl_quality(quality_web(), strategy)


@cache
def requests_by(policy: str) -> list[Request]:
    return novelty_requests(NoveltyWeb(7, SIZE), POLICIES[policy], REQUESTS)


def visits_to_find_80_percent(visits: list[bool]) -> float:
    """Return the share of all visits after which 80 % of the good pages were found."""
    reached = share_reached(visits, sum(quality_web().good), 0.8)
    assert reached is not None
    return reached / PAGES


def test_seven_of_ten_links_of_good_pages_lead_to_good_pages() -> None:
    web = quality_web()
    shares = []
    for quality in (1, 0):
        linked = [
            n for page in range(PAGES) if web.good[page] == quality for n in web.targets(page)
        ]
        shares.append(sum(web.good[n] for n in linked) / len(linked))
    assert shares == [pytest.approx(0.7, abs=0.03), pytest.approx(0.075, abs=0.02)]


def test_crawler_that_knows_the_quality_of_visited_pages_finds_80_percent_in_a_quarter() -> None:
    visits = [bool(quality_web().good[number]) for number in ideal_visits(quality_web())]
    assert visits_to_find_80_percent(visits) < 0.25


@pytest.mark.long
def test_breadth_first_crawl_finds_good_pages_in_proportion_to_its_visits() -> None:
    visits = visits_by("breadth")
    assert sum(visits) > 0.98 * sum(quality_web().good)
    assert 0.65 < visits_to_find_80_percent(visits) < 0.9


def test_novelty_web_has_its_stated_number_of_useful_texts() -> None:
    web = NoveltyWeb(3, 0.01)
    texts, seen, waiting = set[str](), set(web.seeds), [*web.seeds]
    endless = {"calendar": 200, "shop": 200, "forum": 600}
    # Every small site is a seed here, because random links may miss one of a few.
    waiting += [f"http://small{n}.example/" for n in range(20)]
    visited = dict.fromkeys(endless, 0)
    for url in waiting:
        page, kind = web.page(url), web.kind(url)
        if page.useful:
            texts.add(page.text)
        if kind in endless:
            visited[kind] += 1
        for link, _ in page.links:
            if link not in seen and visited.get(kind, 0) <= 10 * endless.get(kind, 1):
                seen.add(link)
                waiting.append(link)
    assert len(texts) == web.useful_texts


@pytest.mark.long
def test_crawl_that_parks_worthless_parts_finds_more_texts_with_the_same_requests() -> None:
    parking = new_texts(requests_by("breadth, parts without worth parked"), REQUESTS)
    nothing_parked = new_texts(requests_by("breadth, nothing parked"), REQUESTS)
    assert parking[-1] > 1.1 * nothing_parked[-1]
