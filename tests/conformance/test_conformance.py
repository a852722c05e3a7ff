"""Third-party test data: what our code must do, and that docs/conformance.md has the results."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conformance.measures import Agreement, MainTexts, Precision
from tests.conformance.page import FILE, MEASURES, Result, with_result
from tests.parser.pages import check_invariants

SuiteFolder = Callable[[str], Path]
CASES = {
    "robots": 400,
    "urls": 514,
    "other_schemes": 377,
    "domains": 87,
    "encodings": 82,
    "sitemaps": 20,
}


def published(name: str, suite_folder: SuiteFolder) -> Result:
    """Return the result of the measure *name*, which is also that of the page."""
    measure = MEASURES[name]
    result = measure.run(suite_folder(measure.suite))
    page = FILE.read_text(encoding="utf-8")
    assert with_result(page, name, result) == page, "run scripts/suites measure"
    return result


@pytest.mark.parametrize("name", CASES)
def test_every_case_agrees_or_we_deviate_for_a_reason(name: str, suite_folder: SuiteFolder) -> None:
    result = published(name, suite_folder)
    assert isinstance(result, Agreement)
    assert result.failures == []
    assert result.cases == CASES[name]


@pytest.mark.slow
def test_near_duplicates_are_found_by_their_simhashes(suite_folder: SuiteFolder) -> None:
    result = published("near_duplicates", suite_folder)
    assert isinstance(result, Precision)
    assert result.pairs == 600
    assert result.precision > 0.95 and result.recall > 0.9


@pytest.mark.slow
def test_the_main_texts_of_real_pages_are_found(suite_folder: SuiteFolder) -> None:
    result = published("main_texts", suite_folder)
    assert isinstance(result, MainTexts)
    assert len(result) == 181
    for one in result:
        check_invariants(one.parsed)
        assert one.parsed.title and one.parsed.links
    assert result.without_text == 0
    assert result.mean_f1 > 0.95


def test_the_page_has_a_place_for_each_measure() -> None:
    page = FILE.read_text(encoding="utf-8")
    for name in MEASURES:
        assert with_result(page, name, Agreement(cases=1)) != page
