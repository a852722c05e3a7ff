"""Third-party test data: required results of our code, which docs/conformance.md must contain."""

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
    "web_cookies": 681,
    "cookies": 222,
    "cookie_dates": 70,
}


def published_result(name: str, suite_folder: SuiteFolder) -> Result:
    """Return the result of the measure *name*; assert that the page has it."""
    measure = MEASURES[name]
    result = measure.run(suite_folder(measure.suite))
    page = FILE.read_text(encoding="utf-8")
    assert with_result(page, name, result) == page, "run scripts/suites measure"
    return result


@pytest.mark.parametrize("name", CASES)
def test_each_case_agrees_or_deviates_for_a_reason(name: str, suite_folder: SuiteFolder) -> None:
    result = published_result(name, suite_folder)
    assert isinstance(result, Agreement)
    assert result.failures == []
    assert result.cases == CASES[name]


@pytest.mark.slow
def test_simhashes_detect_near_duplicates(suite_folder: SuiteFolder) -> None:
    result = published_result("near_duplicates", suite_folder)
    assert isinstance(result, Precision)
    assert result.pairs == 600
    assert result.precision > 0.95 and result.recall > 0.9


@pytest.mark.slow
def test_main_texts_of_real_pages_have_the_required_f1(suite_folder: SuiteFolder) -> None:
    result = published_result("main_texts", suite_folder)
    assert isinstance(result, MainTexts)
    assert len(result) == 181
    for one in result:
        check_invariants(one.parsed)
        assert one.parsed.title and one.parsed.links
    assert result.without_text == 0
    assert result.mean_f1 > 0.95


@pytest.mark.slow
def test_main_texts_of_other_pages_have_the_published_f1(suite_folder: SuiteFolder) -> None:
    result = published_result("page_kinds", suite_folder)
    assert isinstance(result, MainTexts)
    assert len(result) == 249
    for one in result:
        check_invariants(one.parsed)
    assert result.without_text <= 3
    assert result.mean_f1 > 0.75


def test_page_has_a_row_and_a_section_for_each_measure() -> None:
    page = FILE.read_text(encoding="utf-8")
    for name in MEASURES:
        assert with_result(page, name, Agreement(cases=1)) != page
