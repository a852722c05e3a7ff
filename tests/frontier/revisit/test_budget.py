"""The tokens of the revisit budget: a crawl spends its budget, and saves at most a day of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.frontier.revisit import CrawlState
from gossamer.services.frontier.revisit.price import (
    MAX_SAVED_DAYS,
    next_token_at,
    refill_tokens,
    refund_token,
    spend_token,
)
from gossamer.services.frontier.revisit.state import DAY


@pytest.mark.slow
@given(
    st.floats(0.5, 5000),
    st.lists(st.floats(0, 3 * DAY), min_size=1, max_size=200),
)
def test_spent_tokens_do_not_exceed_the_budget(budget: float, waits: list[float]) -> None:
    now = begun = 1.7e9
    crawl, spent = refill_tokens(CrawlState(budget=budget), now), 0
    for wait in waits:
        now += wait
        crawl = refill_tokens(crawl, now)
        while next_token_at(crawl) <= now:
            crawl, spent = spend_token(crawl), spent + 1
        days = (now - begun) / DAY
        assert spent <= 2 + budget * days
    assert crawl.tokens <= max(1.0, MAX_SAVED_DAYS * budget)


def test_clock_that_was_ahead_adds_at_most_a_day_of_tokens() -> None:
    ahead = refill_tokens(refill_tokens(CrawlState(budget=10), 1.9e9), 2e9)
    assert ahead.tokens == pytest.approx(10.0)
    back = refill_tokens(spend_token(ahead), 1.9e9)
    assert back.tokens == pytest.approx(9.0)
    assert next_token_at(back) <= 1.9e9


def test_tokens_are_unlimited_without_a_budget() -> None:
    crawl = refill_tokens(CrawlState(), 2e9)
    for _ in range(1000):
        crawl = spend_token(crawl)
    assert next_token_at(crawl) <= 2e9


def test_refunded_token_can_be_spent_again() -> None:
    crawl = refill_tokens(CrawlState(budget=10), 2e9)
    assert refund_token(spend_token(crawl)) == crawl
