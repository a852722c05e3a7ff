"""When most of what is tried fails, it is our outage; and domains in which any name resolves."""

from hypothesis import given
from hypothesis import strategies as st

from services.fetcher.http.resolver import Wildcards
from services.fetcher.limitations import MAX_OUTAGE_SECONDS, MIN_SITES, WINDOW_SECONDS, Outage


def tried(outage: Outage, count: int, failed: bool, now: float, first: int = 0) -> int:
    """Return how often an outage began while so many sites were tried."""
    return sum(outage.record(f"s{first + n}.example", failed, now) for n in range(count))


def test_an_outage_is_where_most_sites_fail_and_ends_with_them() -> None:
    outage = Outage(0.9)
    assert tried(outage, MIN_SITES - 1, True, 10.0) == 0 and not outage.is_active
    assert tried(outage, 1, True, 10.0, MIN_SITES) == 1 and outage.is_active
    assert tried(outage, 1, True, 11.0, MIN_SITES + 1) == 0, "it has begun already"
    tried(outage, 20, False, 12.0, 1000)
    assert not outage.is_active


def test_one_site_that_fails_is_one_however_often() -> None:
    outage = Outage(0.9)
    for _ in range(1000):
        outage.record("dead.example", True, 10.0)
    assert not outage.is_active
    tried(outage, MIN_SITES - 1, False, 10.0)
    assert not outage.is_active


def test_what_was_long_ago_says_nothing() -> None:
    outage = Outage(0.9)
    tried(outage, MIN_SITES - 1, True, 10.0)
    tried(outage, 20, True, 11.0 + WINDOW_SECONDS, MIN_SITES)
    assert not outage.is_active


def test_little_is_tried_in_an_outage_and_one_success_ends_it() -> None:
    outage = Outage(0.9)
    tried(outage, MIN_SITES, True, 10.0)
    outage.record("x.example", True, 20.0 + WINDOW_SECONDS)
    assert outage.is_active
    outage.record("y.example", False, 21.0 + WINDOW_SECONDS)
    assert not outage.is_active


def test_an_outage_that_nothing_ends_is_looked_at_anew() -> None:
    outage = Outage(0.9)
    tried(outage, MIN_SITES, True, 10.0)
    outage.record("x.example", True, 11.0 + MAX_OUTAGE_SECONDS)
    assert not outage.is_active
    assert tried(outage, MIN_SITES, True, 12.0 + MAX_OUTAGE_SECONDS) == 1


@given(st.lists(st.tuples(st.integers(0, 80), st.booleans(), st.floats(0, 5)), max_size=300))
def test_there_is_none_while_a_fifth_of_the_sites_succeeds(
    attempts: list[tuple[int, bool, float]],
) -> None:
    outage, now, last = Outage(0.9), 0.0, dict[int, tuple[float, bool]]()
    for site, failed, more in attempts:
        now += more
        last.pop(site, None)
        last[site] = now, failed
        outage.record(str(site), failed, now)
        recent = [failed for at, failed in last.values() if at > now - WINDOW_SECONDS]
        if len(recent) >= MIN_SITES:
            assert outage.is_active == (sum(recent) >= 0.9 * len(recent))


def test_a_domain_is_probed_once_when_a_second_host_is_met() -> None:
    wildcards = Wildcards(100)
    assert [
        wildcards.record_host(name) for name in ("a.x.example", "a.x.example", "192.0.2.1")
    ] == [""] * 3
    assert wildcards.record_host("b.x.example") == "x.example"
    assert [wildcards.record_host(f"{n}.x.example") for n in range(9)] == [""] * 9


def test_no_more_domains_are_remembered_than_there_is_room_for() -> None:
    wildcards = Wildcards(10)
    for n in range(1000):
        wildcards.record_host(f"a.{n}.example")
    assert len(wildcards._first_hosts) == 10
    assert wildcards.record_host("b.999.example") and not wildcards.record_host("b.1.example")
