"""The worked examples of *A selective incremental crawler*, and fr_max in a crawl."""

import pytest
from msgspec.structs import replace

from bench.selective import fewer_downloads, together
from gossamer.services.frontier.revisit import (
    CrawlState,
    PageState,
    SiteState,
    States,
    Visit,
    make_policy,
)
from gossamer.services.frontier.revisit.selective_incremental import (
    adapt_threshold,
    fr_max_by_internal,
    new_fr_max,
)
from gossamer.services.frontier.revisit.state import DAY
from gossamer.web.links import sample_links

POLICY = make_policy("selective-incremental:1d")
A, *BEHIND = [f"http://a.test/{name}" for name in "ABCDEFGHIJK"]
BEGIN = 1_700_000_000.0


def stable(links: list[str], visits: int = 3) -> States:
    """Return the states of page A, which links to *links* and never changed."""
    states = States(PageState(), SiteState(), CrawlState())
    for n in range(visits):
        visit = Visit(A, BEGIN + n * DAY, internal_links=sample_links(links))
        states = POLICY.record_visit(states, visit).states
    return states


def record_changes(states: States, urls: list[str], at: float) -> States:
    """Return the states of page A after visits found *urls* changed."""
    for url in urls:
        other = states._replace(page=PageState(at=BEGIN, visits=3))
        _, site, crawl = POLICY.record_visit(other, Visit(url, at, changed=True)).states
        states = States(states.page, site, crawl)
    return states


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
def test_fr_max_matches_the_paper(
    fr_max: int, records: int, changed: int, limit: int, expected: int
) -> None:
    assert new_fr_max(fr_max, records, changed, limit) == expected


def test_fr_max_falls_with_the_share_of_changed_internal_pages() -> None:
    assert fr_max_by_internal(6, 0.89) == 3  # Section 5.
    assert fr_max_by_internal(6, 0.0) == 6
    assert fr_max_by_internal(1, 1.0) == 1


def test_threshold_moves_half_way_to_the_observed_share() -> None:
    assert adapt_threshold(0.4, 0.8) == pytest.approx(0.6)
    assert adapt_threshold(0.4, 0.0) == pytest.approx(0.2)


def test_unchanged_page_waits_longer_and_changed_page_one_round() -> None:
    policy = make_policy("selective-incremental:1d")
    waits = {}
    for changes in (False, True):
        states, now = States(PageState(), SiteState(), CrawlState()), 1e9
        for _ in range(12):
            states, plan = policy.record_visit(
                states, Visit("http://a.test/", now, changed=changes)
            )
            assert plan.at is not None
            waits[changes], now = plan.at - now, plan.at
    assert waits[False] == pytest.approx(9 * DAY, rel=0.06)
    assert waits[True] == pytest.approx(DAY, rel=0.06)


def test_unchanged_page_is_visited_if_enough_internal_pages_have_changed() -> None:
    states = stable(BEHIND)
    due = states.page.due_at
    few = record_changes(states, BEHIND[:1], due - 60)
    many = record_changes(states, BEHIND[:4], due - 60)
    left_out = POLICY.at_due(few, A, due)
    assert left_out
    assert (
        left_out.plan.at == left_out.states.page.due_at == pytest.approx(due + DAY, abs=0.06 * DAY)
    )
    assert "1 of 10 pages" in left_out.plan.reason
    assert POLICY.at_due(many, A, due) is None


def test_only_changes_since_the_last_visit_to_the_page_count() -> None:
    states = stable(BEHIND)
    before = record_changes(states, BEHIND, states.page.at - 60)
    assert POLICY.at_due(before, A, states.page.due_at)


def test_page_that_changed_or_has_no_internal_links_is_visited_when_due() -> None:
    states = stable(BEHIND)
    at = states.page.due_at
    changed = POLICY.record_visit(states, Visit(A, at, changed=True)).states
    assert POLICY.at_due(changed, A, changed.page.due_at) is None
    alone = stable([])
    assert POLICY.at_due(alone, A, alone.page.due_at) is None


def test_threshold_falls_at_each_due_time_with_few_changes() -> None:
    states = stable(BEHIND, visits=12)
    states = record_changes(states, BEHIND[:3], states.page.due_at - 60)
    states = states._replace(page=replace(states.page, share=0.4))
    first = POLICY.at_due(states, A, states.page.due_at)
    assert first
    assert first.states.page.share == pytest.approx(0.35)
    second = POLICY.at_due(first.states, A, first.states.page.due_at)
    assert second
    assert second.states.page.share == pytest.approx(0.325)


def test_page_whose_internal_pages_never_change_is_visited_within_twice_its_rounds() -> None:
    states, turns = stable(BEHIND[:1], visits=12), 0
    rounds, at = states.page.rounds, states.page.due_at
    while decision := POLICY.at_due(states, A, at):
        states, turns = decision.states, turns + 1
        at = states.page.due_at
    assert turns > 1
    assert at - states.page.at < (2 * rounds + 1.5) * DAY


def test_changed_internal_pages_shorten_the_rounds_of_an_unchanged_page() -> None:
    states = stable(BEHIND, visits=12)
    at = states.page.due_at
    many = record_changes(states, BEHIND[:9], at - 60)
    quiet, moved = (POLICY.record_visit(one, Visit(A, at)).states.page for one in (states, many))
    assert moved.rounds == fr_max_by_internal(quiet.rounds, 0.9) < quiet.rounds


def test_304_keeps_the_internal_links() -> None:
    states = stable(BEHIND)
    after = POLICY.record_visit(states, Visit(A, states.page.due_at, not_modified=True)).states
    assert after.page.internal_links == states.page.internal_links != ()


@pytest.mark.long
def test_saved_downloads_match_the_paper() -> None:
    assert together(2, (1, 3)) == pytest.approx(0.28, abs=0.005)
    saved = fewer_downloads(1)
    # After two visits to each page: which links the internal pages have, the paper does not say.
    assert saved[3, 4] == pytest.approx(0.28, abs=0.02)
    assert saved[1, 10] >= 0.28
