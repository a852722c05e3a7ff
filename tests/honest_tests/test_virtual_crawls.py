"""Crawls of all kinds of honest sites in virtual time: every page is requested."""

from pathlib import Path

import pytest

from tests.honest.kinds import KINDS
from tests.honest.virtual import lost_pages

SMALL, LARGE = 60, 1000
"""About the pages of each kind."""


@pytest.mark.parametrize("kind", KINDS)
def test_small_honest_site_that_a_page_links_is_requested_completely(
    kind: str, tmp_path: Path
) -> None:
    assert not lost_pages(kind, SMALL, tmp_path, linked=True)


@pytest.mark.long
@pytest.mark.parametrize("linked", [False, True], ids=["named", "linked"])
@pytest.mark.parametrize("kind", KINDS)
def test_large_honest_site_is_requested_completely(kind: str, linked: bool, tmp_path: Path) -> None:
    assert not lost_pages(kind, LARGE, tmp_path, linked)
