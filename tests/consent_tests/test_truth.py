"""A web of consent has all statements, all verdicts and all walls."""

import pytest

from tests.consent import ConsentWeb, Hosts
from tests.consent.statements import PATHS
from tests.consent.table import FILE, text
from tests.consent.truth import CATEGORIES
from tests.consent.walls import MARK, WALLS
from tests.consent.web import SOURCES, Combination
from tests.synthweb.robots import ROBOTS
from tests.synthweb.server import Head


@pytest.mark.parametrize("source", SOURCES)
def test_each_form_is_alone_at_one_host_and_names_known_categories(source: str) -> None:
    combined = set(ConsentWeb().combined)
    for name, form in SOURCES[source].items():
        assert Combination()._replace(**{source: name}) in combined
        assert {*form.home, *(form.works or {})} <= set(CATEGORIES)


def test_web_has_two_hundred_combinations_with_all_verdicts_for_each_category() -> None:
    pages = Hosts(ConsentWeb(), 80).pages
    assert len(pages) == 208 * len(PATHS)
    for category in CATEGORIES:
        found = {verdicts[category] for verdicts in pages.values()}
        expected = {"disallowed", "unknown"} | ({"allowed"} if category != "archive" else set())
        assert found == expected


@pytest.mark.parametrize("name", WALLS)
def test_wall_is_in_front_of_pages_or_in_place_of_robots_txt(name: str) -> None:
    hosts = Hosts(ConsentWeb(), 80)

    def is_wall(host: str, target: str) -> bool:
        return MARK.encode() in hosts.respond(Head("GET", target, {"host": host})).body

    assert all(is_wall(f"{name}.test", path) for path in ("/", "/first.html", "/nothing"))
    assert not is_wall(f"{name}.test", ROBOTS)
    assert is_wall(f"{name}-robots.test", ROBOTS)
    assert not is_wall(f"{name}-robots.test", "/first.html")


def test_page_of_the_documentation_is_current() -> None:
    assert FILE.read_text() == text(), "run: python -m tests.consent.table"
