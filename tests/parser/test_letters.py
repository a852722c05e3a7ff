"""Of a host whose pages cannot be read few are kept."""

from services.parser.service import MAX_HOSTS, DeadLetterLimiter

A, B = "http://a.example", "http://b.example"


def test_so_many_pages_of_a_host_are_kept_and_no_fewer_of_another() -> None:
    letters = DeadLetterLimiter(2)
    wanted = [letters.allow(host) for host in (A, A, A, B, A)]
    assert wanted == [True, True, False, True, False]


def test_none_are_kept_if_none_are_wanted() -> None:
    assert not DeadLetterLimiter(0).allow(A)


def test_only_so_many_hosts_are_remembered_those_that_failed_last() -> None:
    letters = DeadLetterLimiter(1)
    assert letters.allow(A)
    for number in range(MAX_HOSTS):
        letters.allow(str(number))
    assert letters.allow(A), "it is forgotten"
    assert not letters.allow(str(MAX_HOSTS - 1))
