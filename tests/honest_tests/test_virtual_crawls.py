"""Crawls of all kinds of honest sites in virtual time: every page is requested."""

from pathlib import Path

import pytest

from tests.honest.kinds import BARE, KINDS
from tests.honest.virtual import lost_pages

SMALL, MEDIUM, LARGE = 60, 400, 1000
"""About the pages of each kind."""
APART = [kind for kind in KINDS if kind != "exhibitions"]
"""Without `exhibitions`: large ones have hosts with a dozen equal lists, which pass for one."""


def test_small_honest_sites_that_a_page_links_are_requested_completely(tmp_path: Path) -> None:
    assert not lost_pages(KINDS, SMALL, tmp_path, linked=True)


@pytest.mark.parametrize("linked", [False, True])
def test_first_pages_without_a_text_are_requested(linked: bool, tmp_path: Path) -> None:
    assert not lost_pages(BARE, MEDIUM, tmp_path, linked)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param("months", marks=pytest.mark.long), "departments"])
def test_lists_of_a_linked_site_leave_budget_for_the_pages_that_they_lead_to(
    kind: str, tmp_path: Path
) -> None:
    assert not lost_pages([kind], MEDIUM, tmp_path, linked=True)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_large_named_site_is_requested_completely(kind: str, tmp_path: Path) -> None:
    assert not lost_pages([kind], LARGE, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("kind", APART)
def test_large_linked_site_is_requested_completely(kind: str, tmp_path: Path) -> None:
    assert not lost_pages([kind], LARGE, tmp_path, linked=True)
