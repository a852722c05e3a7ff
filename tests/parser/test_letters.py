"""Dead letters are limited per host."""

from services.parser.service import MAX_HOSTS, DeadLetterLimiter

A, B = "http://a.example", "http://b.example"


def test_limit_applies_per_host() -> None:
    letters = DeadLetterLimiter(2)
    wanted = [letters.allow(host) for host in (A, A, A, B, A)]
    assert wanted == [True, True, False, True, False]


def test_limit_0_allows_no_dead_letters() -> None:
    assert not DeadLetterLimiter(0).allow(A)


def test_counts_are_limited_to_recent_hosts() -> None:
    letters = DeadLetterLimiter(1)
    assert letters.allow(A)
    for number in range(MAX_HOSTS):
        letters.allow(str(number))
    assert letters.allow(A), "it is forgotten"
    assert not letters.allow(str(MAX_HOSTS - 1))
