"""Internal pages: the share of the pages behind a page that have changed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.services.frontier.revisit import PageState, SiteState, pack, unpack_page, unpack_site
from gossamer.services.frontier.revisit.evidence import MAX_CHANGED, internal_changes, record_change
from gossamer.services.frontier.revisit.state import DAY
from gossamer.web.links import MAX_SAMPLE, sample_links, short_fingerprint

URLS = [f"https://www.example.org/{n}" for n in range(2000)]
changes = st.lists(st.tuples(st.integers(0, 599), st.integers(0, 30)), max_size=400)


def changed_site(found: list[tuple[int, int]], kept: int = 1000) -> SiteState:
    """Return a site with changes of pages, each a number and a day, recorded by day."""
    site = SiteState()
    for n, day in sorted(found, key=lambda one: one[1]):
        site = record_change(site, URLS[n], day * DAY, (day - kept) * DAY)
    return site


@pytest.mark.slow
@given(changes, st.lists(st.integers(0, 599), max_size=60), st.integers(0, 30))
def test_changed_share_counts_internal_pages_in_both_samples(
    found: list[tuple[int, int]], linked: list[int], since: int
) -> None:
    site, page = (
        changed_site(found),
        PageState(internal_links=sample_links(URLS[n] for n in linked)),
    )
    sampled = {n for n in linked if short_fingerprint(URLS[n]) in page.internal_links}
    sampled = {n for n in sampled if short_fingerprint(URLS[n]) < 2 ** (32 - site.halvings)}
    later = {n for n, day in found if day > since}
    internal = internal_changes(page, site, since * DAY)
    assert internal == ((len(sampled & later), len(sampled)) if sampled else None)
    assert len(site.changed_pages) <= MAX_CHANGED
    assert unpack_site(pack(site)) == site
    assert unpack_page(pack(page)) == page


def test_changed_share_of_a_large_site_is_approximate() -> None:
    site = changed_site([(n, 2) for n in range(2000) if n % 5 < 2] + [(n, 1) for n in range(2000)])
    home = PageState(internal_links=sample_links(URLS))
    internal = internal_changes(home, site, 1.5 * DAY)
    assert len(pack(site)) < 4000
    assert internal
    assert internal.share == pytest.approx(0.4, abs=0.15)


def test_old_changes_are_dropped() -> None:
    site = changed_site([(1, 1), (2, 5), (3, 20)], kept=16)
    assert set(site.changed_pages) == {short_fingerprint(URLS[n]) for n in (2, 3)}


@given(st.lists(st.integers(0, 1999), max_size=100).flatmap(lambda ns: st.permutations(ns)))
def test_sample_depends_only_on_the_pages(numbers: list[int]) -> None:
    sample = sample_links(URLS[n] for n in numbers)
    assert sample == sample_links(URLS[n] for n in sorted(set(numbers)))
    assert len(sample) == min(len(set(numbers)), MAX_SAMPLE)
