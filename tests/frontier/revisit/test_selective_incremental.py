"""The worked examples of *A selective incremental crawler*, and fr_max in a crawl."""

import pytest

from services.frontier.revisit import CrawlState, Known, PageState, SiteState, Visit, make
from services.frontier.revisit.selective_incremental import adapted, mixed, new_fr_max
from services.frontier.revisit.state import DAY


@pytest.mark.parametrize(
    ("fr_max", "records", "changed", "limit", "expected"),
    [
        (3, 45, 10, 20, 2),  # Section 3.2.
        (2, 10, 9, 10, 1),  # Section 5, the first page of table 2.
        (2, 10, 1, 10, 6),  # The second.
        (4, 10, 0, 20, 7),
        (1, 1, 1, 10, 1),
    ],
)
def test_fr_max_is_that_of_the_paper(
    fr_max: int, records: int, changed: int, limit: int, expected: int
) -> None:
    assert new_fr_max(fr_max, records, changed, limit) == expected


def test_pages_behind_it_that_change_bring_a_page_back_sooner() -> None:
    assert mixed(6, 0.89) == 3  # Section 5.
    assert mixed(6, 0.0) == 6
    assert mixed(1, 1.0) == 1


def test_the_share_follows_what_it_met() -> None:
    assert adapted(0.4, 0.8) == pytest.approx(0.6)
    assert adapted(0.4, 0.0) == pytest.approx(0.2)


def test_a_page_that_never_changes_waits_longer_each_time_and_one_that_does_a_round() -> None:
    policy = make("selective-incremental:1d")
    waits = {}
    for changes in (False, True):
        known, now = Known(PageState(), SiteState(), CrawlState()), 1e9
        for _ in range(12):
            known, plan = policy.visited(known, Visit("http://a.test/", now, changed=changes))
            assert plan.at is not None
            waits[changes], now = plan.at - now, plan.at
    assert waits[False] == pytest.approx(9 * DAY, rel=0.06)
    assert waits[True] == pytest.approx(DAY, rel=0.06)
