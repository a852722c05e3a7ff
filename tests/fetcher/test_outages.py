"""Outages on our side, when most sites fail; and wildcard domains."""

from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.fetcher.http.resolver import Wildcards
from gossamer.services.fetcher.limitations import (
    MAX_OUTAGE_SECONDS,
    MIN_SITES,
    QUIET_SECONDS,
    WINDOW_SECONDS,
    Outage,
)
from gossamer.web.url import Site


def try_sites(outage: Outage, count: int, failed: bool, now: float, first: int = 0) -> int:
    """Return the number of outages that began while *count* sites were tried."""
    return sum(outage.record(Site(f"s{first + n}.example"), failed, now) for n in range(count))


def test_outage_begins_when_most_sites_fail_and_ends_with_a_success() -> None:
    outage = Outage(0.9)
    assert try_sites(outage, MIN_SITES - 1, True, 10.0) == 0 and not outage.is_active
    assert try_sites(outage, 1, True, 10.0, MIN_SITES) == 1 and outage.is_active
    assert try_sites(outage, 1, True, 11.0, MIN_SITES + 1) == 0, "it has begun already"
    try_sites(outage, 20, False, 12.0, 1000)
    assert not outage.is_active


def test_page_of_dead_links_is_no_outage_while_its_site_answers() -> None:
    outage = Outage(0.9)
    for second in range(120):
        outage.record(Site("alive.example"), False, float(second))
        assert try_sites(outage, 8, True, second + 0.5, 8 * second) == 0


def test_burst_of_dead_links_is_no_outage_while_a_site_answers() -> None:
    outage = Outage(0.9, QUIET_SECONDS)
    for burst in range(5):
        now = 8.0 * burst
        outage.record(Site("alive.example"), False, now)
        assert try_sites(outage, 400, True, now + 1.0, 400 * burst) == 0
    assert try_sites(outage, MIN_SITES, True, now + QUIET_SECONDS, 5000) == 1


def test_failing_site_counts_once() -> None:
    outage = Outage(0.9)
    for _ in range(1000):
        outage.record(Site("dead.example"), True, 10.0)
    assert not outage.is_active
    try_sites(outage, MIN_SITES - 1, False, 10.0)
    assert not outage.is_active


def test_results_outside_the_window_do_not_count() -> None:
    outage = Outage(0.9)
    try_sites(outage, MIN_SITES - 1, True, 10.0)
    try_sites(outage, 20, True, 11.0 + WINDOW_SECONDS, MIN_SITES)
    assert not outage.is_active


def test_one_success_ends_an_outage() -> None:
    outage = Outage(0.9)
    try_sites(outage, MIN_SITES, True, 10.0)
    outage.record(Site("x.example"), True, 20.0 + WINDOW_SECONDS)
    assert outage.is_active
    outage.record(Site("y.example"), False, 21.0 + WINDOW_SECONDS)
    assert not outage.is_active


def test_outage_ends_after_its_maximum_and_may_begin_again() -> None:
    outage = Outage(0.9)
    try_sites(outage, MIN_SITES, True, 10.0)
    outage.record(Site("x.example"), True, 11.0 + MAX_OUTAGE_SECONDS)
    assert not outage.is_active
    assert try_sites(outage, MIN_SITES, True, 12.0 + MAX_OUTAGE_SECONDS) == 1


@given(st.lists(st.tuples(st.integers(0, 80), st.booleans(), st.floats(0, 5)), max_size=300))
def test_no_outage_while_a_fifth_of_the_sites_succeeds(
    attempts: list[tuple[int, bool, float]],
) -> None:
    outage, now, last = Outage(0.9), 0.0, dict[int, tuple[float, bool]]()
    for site, failed, more in attempts:
        now += more
        last.pop(site, None)
        last[site] = now, failed
        outage.record(Site(str(site)), failed, now)
        recent = [failed for at, failed in last.values() if at > now - WINDOW_SECONDS]
        if len(recent) >= MIN_SITES:
            is_outage = sum(recent) >= 0.9 * len(recent) and all(recent[-MIN_SITES:])
            assert outage.is_active == is_outage


def test_domain_is_checked_once_at_its_second_host() -> None:
    wildcards = Wildcards(100)
    assert [
        wildcards.record_host(name) for name in ("a.x.example", "a.x.example", "192.0.2.1")
    ] == [[]] * 3
    assert wildcards.record_host("b.x.example") == ["x.example"]
    assert [wildcards.record_host(f"{n}.x.example") for n in range(9)] == [[]] * 9


def test_public_suffix_is_checked_once_at_its_second_site() -> None:
    wildcards = Wildcards(100)
    assert wildcards.record_host("x.example") == []
    assert wildcards.record_host("y.example") == ["example"]
    assert wildcards.record_host("z.example") == []


def test_number_of_cached_domains_is_limited() -> None:
    wildcards = Wildcards(10)
    for n in range(1000):
        wildcards.record_host(f"a.{n}.example")
    assert len(wildcards._first_names) == 10
    assert wildcards.record_host("b.999.example") and not wildcards.record_host("b.1.example")
