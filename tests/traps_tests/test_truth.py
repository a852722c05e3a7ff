"""The truth compared with walks over the served bytes, for each trap."""

import re
from collections import deque
from collections.abc import Callable

import pytest

from tests.synthweb_tests.reader import links_of
from tests.traps import KINDS, LOOKALIKES, TRAPS, Sites, TrapWeb
from tests.traps.web import split_url

PORT = 8080
MIN_TRAP = 20
"""URLs of a trap that are found at least."""
MAX_WALK = 120
"""Pages of a walk."""


def sites_with(trap: str) -> Sites:
    return Sites(TrapWeb(seed=3, traps=(trap,), pages=24), PORT)


def walk(sites: Sites, is_visited: Callable[[str], bool]) -> set[str]:
    """Return the URLs that are linked, breadth-first, from the pages that *is_visited*."""
    waiting = deque(sites.seeds)
    found, visited = set(waiting), 0
    while waiting and visited < MAX_WALK:
        url = waiting.popleft()
        if not is_visited(url):
            continue
        visited += 1
        answer = sites.to(*split_url(url))
        new = sorted(links_of(url, answer, answer.body) - found)
        found.update(new)
        waiting.extend(new)
    return found


@pytest.mark.parametrize("trap", KINDS)
def test_all_honest_pages_are_found_without_visiting_the_trap(trap: str) -> None:
    sites = sites_with(trap)
    met = set[str]()

    def is_new_or_needed(url: str) -> bool:
        page = sites.page_of(url)
        new = page is not None and page not in met
        met.update([page] if page else [])
        return new or sites.is_needed(url)

    walk(sites, is_new_or_needed)
    assert met == sites.honest_pages()


@pytest.mark.parametrize("trap", TRAPS)
def test_trap_has_many_urls_beside_the_honest_pages(trap: str) -> None:
    sites = sites_with(trap)
    pages, trapped = set[str](), set[str]()
    for url in walk(sites, lambda url: True):
        page = sites.page_of(url)
        if page in pages or sites.is_trap(url):
            trapped.add(url)
        pages.update([page] if page else [])
    assert len(trapped) >= MIN_TRAP


@pytest.mark.parametrize("name", LOOKALIKES)
def test_honest_site_that_looks_like_a_trap_has_no_other_urls(name: str) -> None:
    sites = sites_with(name)
    urls = walk(sites, lambda url: True)
    assert not [url for url in urls if sites.is_trap(url)]
    assert {sites.page_of(url) or url for url in urls} == urls


@pytest.mark.parametrize("trap", KINDS)
def test_honest_pages_are_answered_with_their_own_texts(trap: str) -> None:
    sites = sites_with(trap)
    answers = {url: sites.to(*split_url(url)) for url in sites.honest_pages()}
    assert {answer.status for answer in answers.values()} == {200}
    assert all(sites.page_of(url) == url for url in answers)
    texts = [re.split("</?article>", answer.body.decode())[1] for answer in answers.values()]
    assert len(set(texts)) == len(answers)
    assert min(len(text.split()) for text in texts) >= 80


@pytest.mark.parametrize("trap", KINDS)
def test_equal_numbers_give_equal_bytes_and_another_seed_gives_others(trap: str) -> None:
    def bodies(seed: int) -> list[bytes]:
        sites = Sites(TrapWeb(seed, (trap,), pages=12), PORT)
        return [sites.to(*split_url(url)).body for url in sorted(sites.honest_pages())]

    assert bodies(3) == bodies(3)
    assert not set(bodies(3)) & set(bodies(4))


def test_hostile_web_links_all_its_sites_from_few_seeds() -> None:
    sites = Sites(TrapWeb(traps=tuple(TRAPS), pages=4, sites=30), PORT)
    assert len(sites.seeds) == 5
    homes = {seed for site in sites.sites for seed in site.seeds()}
    assert walk(sites, homes.__contains__) >= homes


def test_names_of_a_wildcard_belong_to_its_site() -> None:
    sites = Sites(TrapWeb(traps=("wildcard", "wildcard-suffix", "mirror")), PORT)
    names = ("wildcard.test", "any.wildcard.test", "any.github.io", "mirror-of-mirror.test")
    assert [sites.number(name) for name in names] == [0, 0, 1, 2]
    assert sites.number("any.mirror.test") is None
