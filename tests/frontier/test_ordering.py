"""The strategies, and the rank of a URL."""

from itertools import pairwise

import pytest

from gossamer.crawl import strategy_of
from gossamer.events import Discovery, Purpose, Visit
from gossamer.events.pages import Link, LinkKind, link_discovery
from gossamer.policies import LINK_STRATEGIES, STRATEGIES
from gossamer.services.frontier.tables.ordering import (
    BREADTH,
    MAX_DEPTH,
    MAX_PENALTY,
    MAX_RANK,
    STEP,
    TABLE,
    Prospect,
    choose_explored_rank,
    moment_of,
    next_of_walk,
    rank_of,
    rank_of_number,
    request_number,
    with_rank,
)
from gossamer.services.frontier.tables.urls import Origin
from tests.frontier.simulation import crawl

URL = "http://a.test/x"
SEED = Origin()
LINK = Origin(depth=1, score=1.0)
GOOD = Prospect(is_linked=True, good_links=3)


def rank(strategy: str, origin: Origin = LINK, prospect: Prospect = GOOD) -> int:
    return rank_of(TABLE[strategy], URL, origin, prospect)


@pytest.mark.parametrize("name", STRATEGIES)
def test_rank_of_every_strategy_stays_within_its_bounds(name: str) -> None:
    poor = Prospect(worth=0.0, has_seed=False)
    for priority in (-100, -7, 0, 7, 100):
        for depth in (0, 1, 40):
            for score in (0.0, 1.0):
                origin = Origin(depth, priority=priority, score=score, position="script")
                assert -100 <= rank(name, origin, poor) <= MAX_RANK
                assert rank(name, origin, GOOD) <= rank(name, origin, poor) <= priority + 30 + STEP


@pytest.mark.parametrize("name", STRATEGIES)
def test_visits_to_sitemaps_have_no_penalty(name: str) -> None:
    origin = Origin(3, purpose=Purpose.SITEMAP, score=0.0)
    assert rank(name, origin, Prospect(0.0, has_seed=False)) == 0


def test_breadth_ranks_by_priority_alone() -> None:
    deep = Origin(MAX_DEPTH, score=0.0, position="script")
    assert rank("breadth", deep, Prospect(0.0, has_seed=False)) == 0
    assert [rank("breadth", Origin(priority=n)) for n in (-1, 0, 1)] == [-1, 0, 1]
    assert not BREADTH.predicts


def test_best_prefers_worth_then_score_then_links_and_depth() -> None:
    assert rank("best", SEED, Prospect()) == rank("best") == 0
    worthless = rank("best", LINK, Prospect(0.0, is_linked=True, good_links=3))
    poor_page = rank("best", Origin(1, score=0.0))
    deep = rank("best", Origin(MAX_DEPTH, score=1.0), Prospect(good_links=3))
    assert worthless == 20 > poor_page > deep > 0
    assert rank("best", LINK, Prospect(0.0)) == MAX_PENALTY


@pytest.mark.parametrize("name", sorted(LINK_STRATEGIES))
def test_links_of_several_good_pages_precede_a_single_one(name: str) -> None:
    ranks = [rank(name, LINK, Prospect(is_linked=True, good_links=n)) for n in range(5)]
    assert ranks == [10, 10, 5, 0, 0]
    assert rank(name, SEED, Prospect()) == 0


def test_guess_is_last_where_the_strategy_predicts_by_page() -> None:
    guess = Origin(1, score=1.0, position="script")
    assert rank("best", guess) == rank("focused", guess) == 20


def test_focused_ranks_by_the_score_of_the_linking_page() -> None:
    ranks = [rank("focused", Origin(9, score=score)) for score in (1.0, 0.75, 0.5, 0.0)]
    assert ranks == [0, 5, 10, 20]


def test_seeds_first_ranks_other_sites_last() -> None:
    assert rank("seeds-first", prospect=Prospect(has_seed=False)) == 20
    assert rank("seeds-first", Origin(9, score=0.0), Prospect(0.0)) == 0


def test_random_walk_goes_on_with_one_link_of_a_page() -> None:
    found = [Discovery(f"http://a.test/{n}", 1) for n in range(200)]
    following = next_of_walk(found, "1.1.0@http://a.test/")
    assert following in {one.url for one in found}
    assert following == next_of_walk(reversed(found), "1.1.0@http://a.test/")
    others = {next_of_walk(found, f"1.1.{n}@http://a.test/{n}") for n in range(20)}
    assert len(others) > 10
    ranks = [rank_of(TABLE["sample"], one.url, LINK, Prospect()) for one in found]
    assert {*ranks} == {*range(STEP, MAX_PENALTY + STEP, STEP)}
    assert rank("sample", prospect=Prospect(is_next=True)) == 0
    assert next_of_walk([], "x") is None


def test_default_strategy_is_best_in_an_open_crawl() -> None:
    assert strategy_of(crawl(scope="any()")) == "best"
    assert strategy_of(crawl(scope="domain('a.test')")) == "breadth"
    assert strategy_of(crawl(scope="any()", strategy="seeds_first")) == "seeds-first"


def test_priority_is_halved_at_each_link_and_kept_by_redirects() -> None:
    link = Link("http://a.test/")
    priorities = [-100]
    while priorities[-1]:
        found = link_discovery(link, Visit("1.1.0@u", "u", priority=priorities[-1]))
        priorities.append(found.priority)
    assert priorities == [-100, -50, -25, -12, -6, -3, -1, 0]
    ranks = [rank("best", Origin(1, score=1.0, priority=one)) for one in priorities]
    assert ranks == [-100, -50, -25, -10, -5, 0, 0, 0]
    redirect = link_discovery(Link("http://a.test/", redirect=True), Visit("v", "u", priority=-30))
    assert redirect.priority == -30


def test_guess_has_its_own_position() -> None:
    visit = Visit("1.1.0@u", "u")
    guess = link_discovery(Link("http://a.test/", kind=LinkKind.SCRIPT), visit)
    assert (guess.guess, guess.position) == (True, "script")


def test_request_numbers_sort_by_rank_then_moment() -> None:
    numbers = [request_number(rank, at) for rank in (-100, -5, 0, 120) for at in (0, 7, 10**15)]
    assert all(one < other for one, other in pairwise(numbers))
    assert max(numbers) < 1 << 63
    assert [rank_of_number(one) for one in numbers[::3]] == [-100, -5, 0, 120]
    assert with_rank(request_number(-5, 7), 20) == request_number(20, 7)
    assert moment_of(request_number(-5, 7)) == 7


def test_worse_ranks_are_explored_in_turn_up_to_a_penalty() -> None:
    waiting, last, explored = [30, -5, 5, 0, 25, 26], None, []
    for _ in range(5):
        last = choose_explored_rank(waiting, last)
        explored.append(last)
    assert explored == [0, 5, 25, 0, 5]
    assert choose_explored_rank([0], None) is None
    assert choose_explored_rank([0, MAX_PENALTY + 1], 0) is None
