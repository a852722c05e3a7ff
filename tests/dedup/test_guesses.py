"""Guesses: URLs in scripts are visited as long as they turn out to be pages."""

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from gossamer.events import Link, LinksParked, Page, PageKind, UrlsAdmitted, UrlsDiscovered
from gossamer.services.dedup.guesses import INITIAL_GUESSES, MAX_GUESSES
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from tests.dedup.harness import make_dedup, of_kind, parsed_page

HOST = "http://a.test"
URLS = [f"{HOST}/guess/{n}" for n in range(3 * MAX_GUESSES)]


class Instance:
    """Dedup, which handles the links that it releases."""

    def __init__(self) -> None:
        self._store = SqliteStore(Database(":memory:"))
        self._pages = 0
        self.restart()

    def restart(self) -> None:
        self.dedup = make_dedup(store=self._store)

    def admit(self, urls: Iterable[str], kind: str = "script") -> list[str]:
        """Link *urls* on a new page; return the admitted ones."""
        self._pages += 1
        links = [Link(url, kind=kind) for url in urls]
        page = parsed_page(f"{HOST}/page/{self._pages}", f"digest {self._pages}", *links)
        released = of_kind(UrlsDiscovered, self.dedup.handle(page, 0.0))
        again = [event for one in released for event in self.dedup.handle(one, 0.0)]
        return [found.url for event in of_kind(UrlsAdmitted, again) for found in event.urls]

    def visit(self, urls: Iterable[str], status: int) -> None:
        for url in urls:
            links = [Link(f"{HOST}/there", redirect=True)] if status == 301 else []
            list(self.dedup.handle(parsed_page(url, url, *links, status=status), 0.0))


@pytest.fixture
def one() -> Instance:
    return Instance()


def test_new_host_gets_the_initial_number_of_guesses(one: Instance) -> None:
    assert one.admit(URLS) == URLS[:INITIAL_GUESSES]
    assert one.admit([*URLS, "http://b.test/"]) == ["http://b.test/"]


def test_guesses_that_are_all_missing_stop_further_guesses(one: Instance) -> None:
    one.visit(one.admit(URLS), 404)
    assert one.admit(URLS) == []


def test_guesses_that_are_pages_raise_the_limit(one: Instance) -> None:
    one.visit(one.admit(URLS), 200)
    more = one.admit(URLS)
    assert len(more) == 2 * INITIAL_GUESSES
    one.visit(more[:5], 200)
    one.visit(more[5:], 404)
    assert len(one.admit(URLS)) == 10
    for _ in range(9):
        one.visit(one.admit(URLS), 200)
    assert len(one.admit(URLS)) <= MAX_GUESSES


def test_limit_of_a_host_survives_a_restart(one: Instance) -> None:
    tried = one.admit(URLS)
    one.visit(tried[:7], 404)
    one.visit(tried[7:], 200)
    one.restart()
    assert len(one.admit(URLS)) == INITIAL_GUESSES - 7 + 3
    one.visit(URLS[INITIAL_GUESSES : INITIAL_GUESSES + 6], 404)
    one.restart()
    assert one.admit(URLS) == []


def test_guess_forgotten_by_a_restart_does_not_count(one: Instance) -> None:
    tried = one.admit(URLS)
    one.restart()
    one.visit(tried, 404)
    assert len(one.admit(URLS)) == INITIAL_GUESSES


def test_redirect_leaves_the_limit_unchanged(one: Instance) -> None:
    one.visit(one.admit(URLS), 301)
    assert len(one.admit(URLS)) == INITIAL_GUESSES


def test_guess_that_is_a_soft_404_lowers_the_limit(one: Instance) -> None:
    for url in one.admit(URLS):
        page = replace(parsed_page(url, "sorry"), kind=PageKind.SOFT_404)
        list(one.dedup.handle(page, 0.0))
    assert one.admit(URLS) == []


def test_dropped_guess_is_followed_as_a_link(one: Instance) -> None:
    tried = one.admit(URLS)
    assert one.admit(URLS, "link") == URLS[len(tried) :]
    assert one.admit(URLS, "link") == []


def test_redelivered_guess_passes_again(one: Instance) -> None:
    page = parsed_page(f"{HOST}/", "digest", *(Link(url, kind="script") for url in URLS))
    released = of_kind(UrlsDiscovered, one.dedup.handle(page, 0.0))
    [first], [second] = ([*one.dedup.handle(released[0], 0.0)] for _ in range(2))
    assert isinstance(first, UrlsAdmitted)
    assert second == replace(first, repeated=True)


def test_guesses_are_ignored_in_mirrors_and_not_published(one: Instance) -> None:
    first = parsed_page(f"{HOST}/1", "same", Link(f"{HOST}/x"), Link(f"{HOST}/y", kind="script"))
    second = parsed_page(f"{HOST}/2", "same", Link(f"{HOST}/x"), Link(f"{HOST}/z", kind="script"))
    answer = list(one.dedup.handle(first, 0.0))
    assert of_kind(UrlsDiscovered, answer)
    assert [page.links for page in of_kind(Page, answer)] == [(f"{HOST}/x",)]
    assert not of_kind(UrlsDiscovered, one.dedup.handle(second, 0.0))


def test_excluded_guesses_are_not_parked(one: Instance) -> None:
    page = parsed_page(f"{HOST}/", "digest", Link("http://a.test/x", kind="script"))
    deep = replace(page, visit=replace(page.visit, depth=99))
    assert not of_kind(LinksParked, one.dedup.handle(deep, 0.0))
