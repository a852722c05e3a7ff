"""Crawls that compete are served in proportion to their weights."""

from collections import Counter
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.frontier.partition.shares import Shares

CRAWLS = "abcd"
MAX_BATCH = 50
weights_of_crawls = st.fixed_dictionaries(
    {crawl: st.sampled_from([0.1, 0.5, 1.0, 2.0, 3.0, 10.0]) for crawl in CRAWLS}
)
batches = st.integers(1, MAX_BATCH)


class Turn(NamedTuple):
    """The crawls that have work, and the visits of the order that one of them gets."""

    working: frozenset[str]
    visits: int


turns = st.lists(
    st.builds(Turn, st.frozensets(st.sampled_from(CRAWLS), min_size=1), batches), max_size=60
)


def serve(shares: Shares, weights: dict[str, float], turn: Turn) -> str:
    shares.keep(sorted(turn.working))
    crawl = shares.choose(sorted(turn.working))
    shares.charge(crawl, turn.visits, weights[crawl])
    return crawl


def serve_all(weights: dict[str, float], visits: list[int]) -> Counter[str]:
    """Return the visits of each crawl, if all crawls of *weights* always have work."""
    shares, served = Shares(), Counter[str]()
    for number in visits:
        served[serve(shares, weights, Turn(frozenset(weights), number))] += number
    return served


@given(weights_of_crawls, st.lists(batches, min_size=200, max_size=400))
def test_visits_of_waiting_crawls_follow_the_weights_within_one_order(
    weights: dict[str, float], visits: list[int]
) -> None:
    served, total = serve_all(weights, visits), sum(visits)
    for crawl, weight in weights.items():
        share = total * weight / sum(weights.values())
        # Each of the other crawls may be ahead by one order, of its own weight.
        ahead = sum(MAX_BATCH * weight / other for other in weights.values())
        assert abs(served[crawl] - share) <= MAX_BATCH + ahead


@given(weights_of_crawls, turns)
def test_crawls_that_wait_together_are_fair_whatever_happened_before(
    weights: dict[str, float], script: list[Turn]
) -> None:
    shares, served = Shares(), Counter[str]()
    together = dict[tuple[str, str], tuple[float, float]]()
    """Two crawls → visits by weight of both, when they began to wait together."""
    for turn in script:
        used = {crawl: served[crawl] / weights[crawl] for crawl in CRAWLS}
        for pair in [(one, other) for one in CRAWLS for other in CRAWLS if one < other]:
            if turn.working.issuperset(pair):
                together.setdefault(pair, (used[pair[0]], used[pair[1]]))
            else:
                together.pop(pair, None)
        served[serve(shares, weights, turn)] += turn.visits
        for (one, other), (first, second) in together.items():
            gained = served[one] / weights[one] - first
            others = served[other] / weights[other] - second
            bound = MAX_BATCH / weights[one] + MAX_BATCH / weights[other]
            assert abs(gained - others) <= bound + 1e-6, shares


@given(weights_of_crawls, turns, st.sampled_from(CRAWLS))
def test_waiting_crawl_is_served_in_a_bounded_time(
    weights: dict[str, float], script: list[Turn], crawl: str
) -> None:
    shares = Shares()
    for turn in script:
        serve(shares, weights, turn)
    others = [one for one in CRAWLS if one != crawl]
    # One order of its own, as far as the others are behind, and one more order of each.
    limit = sum(MAX_BATCH * (weights[one] / weights[crawl] + 1) for one in others)
    visits, everybody = 0, Turn(frozenset(CRAWLS), 1)
    while serve(shares, weights, everybody) != crawl:
        visits += 1
        assert visits <= limit, shares


def test_short_break_does_not_reset_the_virtual_time() -> None:
    shares, served = Shares(), Counter[str]()
    weights = {"a": 1.0, "b": 1.0}
    for _ in range(100):
        shares.keep("ab")
        crawl = shares.choose("ab")
        visits = {"a": 10, "b": 1}[crawl]
        shares.charge(crawl, visits, weights[crawl])
        served[crawl] += visits
        # After each of its orders, crawl a has no work for a moment.
        shares.sleep("a")
        shares.wake("a")
    assert abs(served["a"] - served["b"]) <= 11


def test_new_crawl_begins_at_the_level_of_the_others() -> None:
    shares = Shares({"a": 500.0, "b": 502.0})
    assert shares.wake("c") == 500.0
    assert shares.level == 500.0


def test_all_crawls_are_equal_after_nobody_waited() -> None:
    shares = Shares({"a": 10.0, "b": 30.0})
    shares.sleep("b")
    shares.sleep("a")
    assert {shares.wake(crawl) for crawl in "abc"} == {30.0}


def test_stored_virtual_time_is_kept_if_it_is_later() -> None:
    shares = Shares({"a": 10.0}, idle={"b": 12.0, "c": 3.0})
    assert [shares.wake(crawl) for crawl in "bc"] == [12.0, 10.0]
    assert Shares(idle={"b": 12.0, "c": 3.0}).wake("c") == 12.0


def test_choice_among_some_crawls_leaves_the_claim_of_the_others() -> None:
    shares = Shares({"a": 0.0, "b": 0.0})
    for _ in range(10):
        assert shares.choose("b") == "b"
        shares.charge("b", 1, 1.0)
    assert shares.choose("ab") == "a"
    assert shares.used("b") == 10.0


def test_equal_crawls_are_chosen_in_the_given_order() -> None:
    shares = Shares({"a": 1.0, "b": 1.0})
    assert shares.choose("ba") == "b"
    assert shares.choose("ab") == "a"


def test_removed_crawl_does_not_lower_the_level() -> None:
    shares = Shares({"a": 5.0, "b": 9.0})
    shares.keep("b")
    assert shares.level == 9.0
    shares.keep("")
    assert shares.wake("c") == 9.0


def test_choice_among_no_crawl_is_an_error() -> None:
    with pytest.raises(ValueError, match="empty"):
        Shares().choose("")


def test_repr_shows_waiting_and_idle_crawls() -> None:
    shares = Shares({"a": 1.5, "b": 4.0})
    shares.sleep("b")
    assert repr(shares) == "<Shares a 1.5, (b 4)>"
    assert repr(Shares()) == "<Shares nobody waits>"
