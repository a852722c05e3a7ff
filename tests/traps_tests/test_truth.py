"""The truth compared with walks over the served bytes, for each trap: what makes it one."""

import re
from collections import deque

import pytest

from tests.synthweb_tests.walking import links_of
from tests.traps import KINDS, LOOKALIKES, TRAPS, Sites, TrapWeb
from tests.traps.web import split_url

PORT = 8080
MIN_TRAP = 20
"""URLs of a trap that are found at least."""
MAX_WALK = 120
"""Pages of a walk."""


def sites_with(trap: str) -> Sites:
    return Sites(TrapWeb(seed=3, traps=(trap,), pages=24), PORT)


def walk(sites: Sites) -> set[str]:
    """Return the URLs that are linked, breadth-first, from the first pages of a crawl."""
    waiting = deque(sites.seeds)
    found = set(waiting)
    for _ in range(MAX_WALK):
        if waiting:
            url = waiting.popleft()
            answer = sites.to(*split_url(url))
            new = sorted({*links_of(url, answer)} - found)
            found.update(new)
            waiting.extend(new)
    return found


@pytest.mark.parametrize("trap", TRAPS)
def test_trap_has_many_urls_beside_the_honest_pages(trap: str) -> None:
    sites = sites_with(trap)
    pages, trapped = set[str](), set[str]()
    for url in walk(sites):
        page = sites.page_of(url)
        if page in pages or sites.is_trap(url):
            trapped.add(url)
        pages.update([page] if page else [])
    assert len(trapped) >= MIN_TRAP


@pytest.mark.parametrize("name", LOOKALIKES)
def test_honest_site_that_looks_like_a_trap_has_no_other_urls(name: str) -> None:
    sites = sites_with(name)
    urls = walk(sites)
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
