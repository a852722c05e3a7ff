"""What a crawl may spend on revisits: a token a visit, which come evenly and are kept for a while.

The frontier takes the most overdue page when there is a token; so an outage of a week brings back
no more than what was saved of it, and what is due too early for the budget waits.
"""

from msgspec.structs import replace

from services.frontier.revisit.state import DAY, CrawlState

ALIKE = 0.1
"""Of a budget: by so much it may differ with the price as it is."""
SAVED = 1.0
"""Days of the budget that are kept for later."""


def refilled(crawl: CrawlState, now: float) -> CrawlState:
    """Return the crawl with the tokens that came until *now*; since *now*, where a clock that was
    ahead had it refilled later."""
    if not crawl.tokens_at:
        return replace(crawl, tokens=1.0, tokens_at=now)
    came = crawl.budget * max(0.0, now - crawl.tokens_at) / DAY
    most = max(1.0, SAVED * crawl.budget)
    # Rounded: what is a token but for the last digits of a time is one, or nobody's time comes.
    tokens = round(min(most, crawl.tokens + came), 6)
    return replace(crawl, tokens=tokens, tokens_at=now)


def next_token_at(crawl: CrawlState) -> float:
    """Return when a visit may be paid for: the past if it may be now."""
    if not crawl.budget:
        return crawl.tokens_at
    return crawl.tokens_at + max(0.0, 1.0 - crawl.tokens) * DAY / crawl.budget


def rebudgeted(crawl: CrawlState, budget: float) -> CrawlState:
    """Return the crawl with another budget; much another one has its price read anew."""
    alike = abs(budget - crawl.budget) <= ALIKE * crawl.budget
    return replace(crawl, budget=budget, price=crawl.price if alike else 0.0)


def paid(crawl: CrawlState) -> CrawlState:
    """Return the crawl with one visit spent."""
    tokens = max(0.0, crawl.tokens - 1.0) if crawl.budget else crawl.tokens
    return replace(crawl, tokens=tokens, visits=crawl.visits + 1)


def refunded(crawl: CrawlState) -> CrawlState:
    """Return the crawl with a visit not spent that was paid for."""
    tokens = crawl.tokens + 1.0 if crawl.budget else crawl.tokens
    return replace(crawl, tokens=tokens, visits=max(0, crawl.visits - 1))
