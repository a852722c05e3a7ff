"""Dead letters are limited per host."""

from gossamer.services.parser.service import MAX_HOSTS, DeadLetterLimiter

A, B = "http://a.example", "http://b.example"


def test_limit_applies_per_host() -> None:
    limiter = DeadLetterLimiter(2)
    allowed = [limiter.allow(host) for host in (A, A, A, B, A)]
    assert allowed == [True, True, False, True, False]


def test_limit_0_allows_no_dead_letters() -> None:
    assert not DeadLetterLimiter(0).allow(A)


def test_counts_are_limited_to_recent_hosts() -> None:
    limiter = DeadLetterLimiter(1)
    assert limiter.allow(A)
    for number in range(MAX_HOSTS):
        limiter.allow(str(number))
    assert limiter.allow(A), "its count was evicted"
    assert not limiter.allow(str(MAX_HOSTS - 1))
