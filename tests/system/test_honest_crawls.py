"""Crawls of honest sites that look like traps: every page is requested."""

from pathlib import Path
from typing import Any

import pytest

from tests.honest.crawl import Harvest, crawl_honest
from tests.honest.kinds import KINDS
from tests.support.once import once

SMALL, LARGE = 60, 1000
"""About the pages of each kind."""
DAY_KINDS = ("statutes", "jobs", "glossary", "archive", "studios", "branches")
"""Common texts, few words, long lists, equal pages at different hosts."""
MAX_LOST_SHARE = 0.005
"""The share of pages that a crawl may lose of sites that its seeds do not name."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", DAY_KINDS)
def test_small_honest_site_is_requested_completely(kind: str, shared_folder: Path) -> None:
    def crawl() -> dict[str, Any]:
        harvests = crawl_honest(DAY_KINDS, SMALL).harvests
        return {name: [it.lost, it.reasons] for name, it in harvests.items()}

    lost, reasons = once(shared_folder / "honest.json", crawl)[kind]
    assert not lost, reasons


@pytest.mark.long
@pytest.mark.parametrize("kind", [*KINDS])
def test_honest_site_that_a_seed_names_is_requested_completely(kind: str) -> None:
    harvest = _crawl(kind)
    assert not harvest.lost, harvest.reasons


@pytest.mark.long
@pytest.mark.parametrize("kind", [*KINDS])
def test_honest_site_that_a_page_links_is_requested_almost_completely(kind: str) -> None:
    harvest = _crawl(kind, linked=True)
    assert harvest.lost_share <= MAX_LOST_SHARE, harvest.reasons


def _crawl(kind: str, linked: bool = False) -> Harvest:
    return crawl_honest((kind,), LARGE, linked).harvests[kind]
