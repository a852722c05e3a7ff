"""Crawls of honest sites that look like traps: every page is requested."""

from collections.abc import Iterable
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
LOST_OUTCOMES = {
    "low_worth": "statutes contracts decisions papers jobs versions franchises hosted agency",
    "duphost": "branches clubs",
    "unknown": "shops studios installations",
}
"""Outcome in `gossamer why` → kinds that lose pages with it. "unknown": links of equal pages at
different hosts are dropped."""
LOST = {kind: reason for reason, kinds in LOST_OUTCOMES.items() for kind in kinds.split()}
COMPLETE_IF_LINKED = {"agency"}
"""Kinds that lose pages only if seeds name their hosts."""


def cases(kinds: Iterable[str], complete: Iterable[str] = ()) -> list[Any]:
    """Return the parameters of a test of *kinds*, some of which lose pages, but not *complete*."""
    lost = {kind: reason for kind, reason in LOST.items() if kind not in complete}
    marks = {kind: pytest.mark.xfail(reason=reason, strict=True) for kind, reason in lost.items()}
    return [pytest.param(kind, marks=marks.get(kind, ())) for kind in kinds]


@pytest.mark.slow
@pytest.mark.parametrize("kind", cases(DAY_KINDS))
def test_small_honest_site_is_requested_completely(kind: str, shared_folder: Path) -> None:
    def crawl() -> dict[str, Any]:
        harvests = crawl_honest(DAY_KINDS, SMALL).harvests
        return {name: [it.lost, it.reasons] for name, it in harvests.items()}

    lost, reasons = once(shared_folder / "honest.json", crawl)[kind]
    assert not lost, reasons


@pytest.mark.long
@pytest.mark.parametrize("kind", cases(KINDS))
def test_honest_site_that_a_seed_names_is_requested_completely(kind: str) -> None:
    harvest = _crawl(kind)
    assert not harvest.lost, harvest.reasons


@pytest.mark.long
@pytest.mark.parametrize("kind", cases(KINDS, COMPLETE_IF_LINKED))
def test_honest_site_that_a_page_links_is_requested_almost_completely(kind: str) -> None:
    harvest = _crawl(kind, linked=True)
    assert harvest.lost_share <= MAX_LOST_SHARE, harvest.reasons


def _crawl(kind: str, linked: bool = False) -> Harvest:
    return crawl_honest((kind,), LARGE, linked).harvests[kind]
