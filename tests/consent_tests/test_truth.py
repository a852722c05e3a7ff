"""The truth of a web of consent: verdicts, meanings, and combinations."""

import pytest

from tests.consent import ConsentWeb, Hosts
from tests.consent.statements import HOME, PATHS, ROBOTS, WORKS
from tests.consent.table import FILE, text
from tests.consent.truth import CATEGORIES, verdicts_of
from tests.consent.web import SOURCES, Combination


def test_most_restrictive_statement_wins_and_silence_is_unknown() -> None:
    found = verdicts_of([{"train-ai": True, "search": True}, {"train-ai": False}, {}])
    assert found == {
        "search": "allowed",
        "archive": "unknown",
        "train-ai": "disallowed",
        "ai-input": "unknown",
    }
    assert set(verdicts_of([]).values()) == {"unknown"}


def test_contradicting_robots_txt_and_header_disallow() -> None:
    combination = Combination(robots="usage no", header="usage yes")
    assert combination.verdicts(HOME)["train-ai"] == "disallowed"
    combination = Combination(robots="usage yes", header="usage no")
    assert combination.verdicts(HOME)["train-ai"] == "disallowed"
    assert combination.verdicts_before(HOME)["train-ai"] == "allowed"


def test_path_without_slash_says_nothing() -> None:
    assert ROBOTS["usage star"].text.splitlines()[-1] == "Content-Usage: *x train-ai=n"
    assert ROBOTS["usage star"].home == {}


def test_example_of_the_draft_has_the_verdicts_of_the_draft() -> None:
    form = ROBOTS["usage by path"]
    assert form.says(HOME) == {"train-ai": False}
    assert form.says(WORKS) == {"train-ai": True}


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


def test_equal_seeds_give_equal_webs_and_other_seeds_give_others() -> None:
    assert ConsentWeb().combined == ConsentWeb().combined
    assert ConsentWeb(seed=2).combined != ConsentWeb().combined
    assert len(set(ConsentWeb().combined)) == 208


def test_page_of_the_documentation_is_current() -> None:
    assert FILE.read_text() == text(), "run: python -m tests.consent.table"
