"""Which sites earn a larger budget of URLs: all finite ones, and no maze of generated pages.

Each web is a function from the number of a page to the pages that its content links to. All pages
have new texts, no other site links to them, and no seed is among them.
"""

from collections.abc import Callable, Iterable
from random import Random

import pytest

from gossamer.events import (
    Discovery,
    PageDeduplicated,
    UrlRulesAnnounced,
    VisitEnded,
)
from gossamer.web.url import HostKey, Site
from tests.frontier.simulation import Simulation, make_verdict

HOST, SITE = HostKey("http://a.test"), Site("a.test")
BUDGET, SIZE = 25, 200
HOUR = 3600.0
Links = Callable[[int], Iterable[int]]


def visits_of(links: Links, *found: int, seconds: float = HOUR, proof: int = 0) -> int:
    """Crawl the web *links* from the pages *found* for *seconds*; return the number of visits.

    *proof*: the number of the visit that proves a rule about session ids.
    """
    sim = Simulation(delay=0.1, batch=1, url_budget=BUDGET, depth_budget=0, second_budget=0)
    seen = {*found}

    def discover(via: str, numbers: Iterable[int], known_links: int) -> None:
        found = [Discovery(f"{HOST}/page/{n}", depth=1, score=0.5) for n in numbers]
        if found:
            sim.admit_links(*found, via=via, known_links=known_links)

    def give_verdict(ended: VisitEnded) -> PageDeduplicated:
        """Admit the new links of the visited page; return the verdict that its text is new."""
        url = ended.visit.url
        if len(sim.pages()) == proof:
            rules = {"session_id ?visitor": ""}
            sim.handle(UrlRulesAnnounced(at=sim.now, site=SITE, host=HOST, rules=rules))
        targets = {*links(_number(url))} - {_number(url)}
        new = sorted(targets - seen)
        seen.update(new)
        discover(f"1.1.0@{url}", new, len(targets) - len(new))
        return make_verdict(ended, size=1000)

    sim.give_verdict = give_verdict
    discover("1.1.0@sitemap", found, 0)
    sim.run(until=sim.now + seconds)
    return len(sim.pages())


def _number(url: str) -> int:
    return int(url.rsplit("/", 1)[1])


def link_maze(page: int) -> Iterable[int]:
    return range(10 * page + 1, 10 * page + 11)


def link_maze_and_home(page: int) -> Iterable[int]:
    return 0, *link_maze(page)


@pytest.mark.parametrize("maze", [link_maze, link_maze_and_home])
def test_maze_of_generated_pages_gets_little_more_than_its_first_budget(maze: Links) -> None:
    assert visits_of(maze, 0) < 2 * BUDGET


def link_wiki(page: int) -> Iterable[int]:
    """Link to pages with small numbers more often, as the pages of a wiki do."""
    random = Random(page)
    return (int(SIZE * random.random() ** 2) for _ in range(15))


def link_forum(page: int) -> Iterable[int]:
    """Link the pages of a list to ten threads and to the next page, and threads to their lists."""
    if page % 11:
        return (page - page % 11,)
    return (*range(page + 1, page + 11), page + 11) if page < SIZE else ()


def link_chain(page: int) -> Iterable[int]:
    """Link to the older and the newer page."""
    return [n for n in (page - 1, page + 1) if 0 <= n < SIZE]


def link_nothing(page: int) -> Iterable[int]:
    return ()


def link_tree(page: int) -> Iterable[int]:
    """Link to seven children, and to the parent."""
    children = range(7 * page + 1, 7 * page + 8)
    return [(page - 1) // 7 if page else 1, *(n for n in children if n < SIZE)]


@pytest.mark.parametrize("honest", [link_wiki, link_forum, link_chain, link_tree])
def test_finite_site_is_crawled_beyond_its_first_budget(honest: Links) -> None:
    assert visits_of(honest, 0) > 0.9 * SIZE


def test_site_that_only_a_sitemap_lists_is_crawled_completely() -> None:
    assert visits_of(link_nothing, *range(SIZE)) == SIZE


def link_shop(page: int) -> Iterable[int]:
    """Link the home page to a hundred lists, which link to five products each."""
    if page == 0:
        return range(1, 101)
    return range(5 * page + 96, 5 * page + 101) if page <= 100 else ()


def link_sessions(page: int) -> Iterable[int]:
    """Link to ten pages under a new session id, until the rule about it is proven."""
    return link_maze(page) if page < BUDGET - 2 else ()


def test_links_to_pages_under_new_session_ids_cost_no_budget_once_the_rule_is_proven() -> None:
    assert visits_of(link_sessions, 0) < 2 * BUDGET
    assert visits_of(link_sessions, 0, proof=BUDGET - 2) == 10 * (BUDGET - 2) + 1


def test_probes_find_pages_that_lead_back_behind_many_that_do_not() -> None:
    assert visits_of(link_shop, 0) == BUDGET
    assert visits_of(link_shop, 0, seconds=48 * HOUR) == 601


def test_probes_of_a_maze_become_rare() -> None:
    assert visits_of(link_maze, 0, seconds=1000 * HOUR) < 1000 / 5, "one in five hours"
